//go:build unix

package servicetest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Persistence says what a Redis server writes to its disk.
type Persistence int

const (
	// PersistAlways: every write is on the disk before it is acknowledged (an append-only file, synced
	// always).
	PersistAlways Persistence = iota
	// PersistEverySecond: an append-only file that is synced once a second. Kill can lose what was
	// acknowledged while a sync was slow; a machine without power loses a second.
	PersistEverySecond
	// PersistUnsynced: an append-only file that is never synced. What was acknowledged survives Kill all
	// the same; only a machine that loses power would lose it.
	PersistUnsynced
	// PersistSnapshots: a snapshot when it is stopped. Kill loses all that came since the last one.
	PersistSnapshots
	// PersistNothing: it forgets everything when it ends.
	PersistNothing
)

func (p Persistence) settings() map[string]string {
	aof := func(sync string) map[string]string {
		return map[string]string{"save": "", "appendonly": "yes", "appendfsync": sync}
	}
	switch p {
	case PersistEverySecond:
		return aof("everysec")
	case PersistUnsynced:
		return aof("no")
	case PersistSnapshots:
		return map[string]string{"save": "3600 1", "appendonly": "no"} // and no hour passes
	case PersistNothing:
		return map[string]string{"save": "", "appendonly": "no"}
	default:
		return aof("always")
	}
}

// The users of a server that is started here.
const (
	redisAdmin = "default" // may do everything
	redisUser  = "app"     // may do what does not reach beyond its database
)

// redisUserRules leave out administration, and what would reach the databases of others. What is taken
// back with a + is there for servers that take all of CLUSTER for administration.
const redisUserRules = "~* &* +@all -@admin +role -flushall -swapdb -script +script|load +script|exists" +
	" +cluster|slots +cluster|shards +cluster|nodes +cluster|info +cluster|keyslot +cluster|myid"

// configFile is the path of the configuration. The server itself rewrites it when its role changes.
func (r *redis) configFile() string { return filepath.Join(r.folder.path, "redis.conf") }

// configure writes the configuration of a server on a port.
func (r *redis) configure(port int) error {
	r.port = port
	lines := r.dataLines()
	if r.role.sentinel {
		lines = r.listenLines()
	}
	_, err := r.folder.file(filepath.Base(r.configFile()), strings.Join(append(lines, ""), "\n"))
	return err
}

// listenLines say where and how a server or a sentinel listens.
func (r *redis) listenLines() []string {
	lines := []string{"bind 127.0.0.1", fmt.Sprintf("dir %q", r.data())}
	if certificates := r.secrets.certificates; certificates != "" {
		lines = append(lines, "port 0", fmt.Sprintf("tls-port %d", r.port),
			fmt.Sprintf("tls-cert-file %q", filepath.Join(certificates, certificateFile)),
			fmt.Sprintf("tls-key-file %q", filepath.Join(certificates, keyFile)),
			fmt.Sprintf("tls-ca-cert-file %q", filepath.Join(certificates, caFile)),
			"tls-auth-clients no", "tls-replication yes", "tls-cluster yes")
	} else {
		lines = append(lines, fmt.Sprintf("port %d", r.port))
	}
	return append(lines, r.role.lines...)
}

// dataLines are the configuration of a server that has data.
func (r *redis) dataLines() []string {
	settings := map[string]string{
		"requirepass":              r.secrets.password,
		"masterauth":               r.secrets.password,
		"databases":                strconv.Itoa(redisDatabases),
		"repl-diskless-sync":       "yes",
		"repl-diskless-sync-delay": "0",   // a replica need not wait for others
		"repl-ping-replica-period": "1",   // until a master has said something, its cluster knows no replica
		"rdb-del-sync-files":       "yes", // a replica that keeps nothing has nothing after a restart
	}
	maps.Copy(settings, r.options.Persistence.settings())
	maps.Copy(settings, r.options.Settings)

	lines := r.listenLines()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := settings[name]
		if value == "" {
			value = `""`
		}
		lines = append(lines, name+" "+value)
	}
	users := map[string]string{redisUser: redisUserRules}
	maps.Copy(users, r.options.Users)
	for _, name := range slices.Sorted(maps.Keys(users)) {
		lines = append(lines, fmt.Sprintf("user %s on >%s %s", name, r.secrets.password, users[name]))
	}
	return lines
}
