package redisstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/dsn"
)

// DefaultPrefix begins the names of all keys if a DSN names no other prefix.
const DefaultPrefix = "reprise:"

// DSN is a DSN that could be read. Printed, it is without its passwords.
type DSN struct {
	url      *url.URL
	topology string // "", "cluster" or "sentinel"
	hosts    []string
	master   string
	database int
	prefix   string
	terms    terms
	eviction string // the policy that is accepted beside noeviction
}

// ParseDSN reads what [Open] takes, and connects to nothing:
//
//	redis://user:password@host:6379/0?prefix=reprise:&wait=1&replicas=2
//	redis+cluster://user:password@host:6379,host:6379
//	redis+sentinel://user:password@host:26379,host:26379/MASTER/0
//
// With rediss all connections are encrypted; ca=FILE names the certificate to trust, where that is not
// one of the system's. wait is how many replicas must have a change before it is acknowledged, 0 if it is not said. replicas is
// how many the primary has at most, if somebody may rely on it: then a failover that lost nothing is accepted by
// itself. eviction names a maxmemory-policy other than noeviction that is put up with, although it makes
// Redis throw records away. Sentinels that have a password of their own take sentinel-user and sentinel-password. An error
// repeats no password.
func ParseDSN(dsn string) (DSN, error) {
	const form = "expected redis://user:password@host:6379/0, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/MASTER/0"
	u, err := url.Parse(dsn)
	if err != nil || u.Opaque != "" {
		// The errors of net/url quote what they could not read, which is mostly a part of the password.
		return DSN{}, errors.New("the store's DSN cannot be read, " + form + ": in a password, write % / ? # @ : and spaces as %25 %2F %3F %23 %40 %3A %20")
	}
	d := DSN{url: u, prefix: DefaultPrefix}
	scheme, topology, _ := strings.Cut(u.Scheme, "+")
	if d.topology = topology; scheme != "redis" && scheme != "rediss" || !known(topology) {
		return DSN{}, fmt.Errorf("the store's DSN begins with %q, %s", u.Scheme, form)
	}
	if d.hosts, err = hostsOf(u.Host, topology); err != nil {
		return DSN{}, err
	}
	if err := d.readPath(); err != nil {
		return DSN{}, err
	}
	return d, d.readQuery()
}

func known(topology string) bool {
	return topology == "" || topology == "cluster" || topology == "sentinel"
}

// hostsOf splits the hosts of a DSN and completes their ports.
func hostsOf(list, topology string) (hosts []string, err error) {
	port := "6379"
	if topology == "sentinel" {
		port = "26379"
	}
	for host := range strings.SplitSeq(list, ",") {
		if host == "" {
			return nil, fmt.Errorf("the store's DSN names no host: write one after @ or //")
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		hosts = append(hosts, host)
	}
	if topology == "" && len(hosts) > 1 {
		return nil, fmt.Errorf("the store's DSN names %d hosts: write redis+cluster:// or redis+sentinel:// to say what they are", len(hosts))
	}
	return hosts, nil
}

// masterName is what Sentinel takes for a name. A place to be filled in, such as {MASTER}, is none.
var masterName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// readPath reads /0, or /MASTER/0 for Sentinel.
func (d *DSN) readPath() (err error) {
	path := strings.Trim(d.url.Path, "/")
	if d.topology == "sentinel" {
		if d.master, path, _ = strings.Cut(path, "/"); d.master == "" {
			return errors.New("the store's DSN does not name the master that the Sentinels watch: write redis+sentinel://host:port/MASTER/0")
		}
		if !masterName.MatchString(d.master) {
			return fmt.Errorf("the store's DSN names the master %q: Sentinels know one by a name of A-Z a-z 0-9 . - _, which `SENTINEL MASTERS` lists", d.master)
		}
	}
	if path == "" {
		return nil
	}
	if d.database, err = strconv.Atoi(path); err != nil || d.database < 0 {
		return fmt.Errorf("the store's DSN names the database %q: a number expected", path)
	}
	if d.topology == "cluster" && d.database != 0 {
		return fmt.Errorf("the store's DSN names the database %d: a cluster has database 0 alone", d.database)
	}
	return nil
}

func (d *DSN) readQuery() (err error) {
	query, err := dsn.Query(d.url)
	if err != nil {
		return fmt.Errorf("the store's DSN: %w", err)
	}
	for name := range query {
		value := query.Get(name)
		switch name {
		case "prefix":
			if d.prefix = value; d.prefix == "" || strings.ContainsAny(d.prefix, "{}*?[]\\") {
				return fmt.Errorf("prefix=%s in the store's DSN: at least one character, and none of {}*?[]\\, expected: write prefix=shop: for one; the slots of a cluster are seen to without braces", d.prefix)
			}
		case "wait":
			d.terms.wait, err = replicasOf(name, value)
		case "replicas":
			d.terms.replicas, err = replicasOf(name, value)
		case "eviction":
			d.eviction, err = evictionOf(value)
		case "ca":
			if !strings.HasPrefix(d.url.Scheme, "rediss") {
				return errors.New("the store's DSN has ca, and no TLS: write rediss:// for it")
			}
		case "sentinel-user", "sentinel-password":
		default:
			return fmt.Errorf("the store's DSN has %q after the question mark: prefix, wait, replicas, eviction, ca, sentinel-user and sentinel-password are known", name)
		}
		if err != nil {
			return err
		}
	}
	return d.terms.check()
}

func replicasOf(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s=%s in the store's DSN: a number of replicas expected", name, value)
	}
	return n, nil
}

// Prefix begins the names of all keys of the store.
func (d DSN) Prefix() string { return d.prefix }

// String returns the DSN as a person may see it: without a password.
func (d DSN) String() string {
	u := *d.url
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	query.Del("sentinel-password")
	u.RawQuery = query.Encode()
	return u.String()
}

// options are those of a client that sends nothing twice by itself.
func (d DSN) options() (rueidis.ClientOption, error) {
	o := rueidis.ClientOption{
		InitAddress: d.hosts, SelectDB: d.database, ForceSingleClient: d.topology != "cluster",
		DisableRetry: true, DisableCache: true, ClientName: "reprise", MaxFlushDelay: flushDelay,
		Dialer: net.Dialer{Timeout: 5 * time.Second},
	}
	if d.url.User != nil {
		o.Username = d.url.User.Username()
		o.Password, _ = d.url.User.Password()
	}
	var err error
	if strings.HasPrefix(d.url.Scheme, "rediss") {
		if o.TLSConfig, err = d.tls(); err != nil {
			return o, err
		}
	}
	if d.topology == "sentinel" {
		o.InitAddress = []string{d.master} // a name: each connection asks for the address
		o.DialCtxFn = newDialer(d, o, nil).dialPrimary
	}
	return o, nil
}

func (d DSN) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	file := d.url.Query().Get("ca")
	if file == "" {
		return config, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.New("ca in the store's DSN: " + err.Error()) // not wrapped: a file that is not there is no store that is not there
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca in the store's DSN: %s holds no certificate in PEM", file)
	}
	return config, nil
}

// flushDelay is for how long commands of concurrent callers are collected, so that fewer writes to the connection carry
// them. A lone caller does not wait.
const flushDelay = 20 * time.Microsecond
