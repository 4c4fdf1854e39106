package mysqlstore

import (
	"embed"
	"strings"

	"github.com/reprise-dev/reprise/internal/dsn"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

//go:embed query/*.sql
var queryFiles embed.FS

// clock is how the store's time is read. Tests have one that can be moved.
type clock struct {
	// now is the time at which it is evaluated: after a lock that the same statement takes.
	now string
	// start is the time at which its statement began: before the snapshot of what that reads. It does not
	// depend on the session's time zone.
	start string
}

// serverClock is the server's.
var serverClock = clock{
	now:   "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
	start: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
}

// queries are the statements in query/.
type queries struct {
	// These are prepared.
	begin, end, look string
	// Reading and writing records.
	groupTime, beginMany, endMany, within text
	start, commit, rollback, flush        text
	lookMany, dirty, underWay, stands     text
	present, free, patient, hasty         text
	hold, holdAbsent, write, deleteText   text
	now, before                           text
	// Bulk.
	snapshot, list, listUnfinished, answers, due, importMany text
	// Secrets.
	secrets, addSecret, retireSecret text
	// Connections and the schema.
	session, lockDatabase, unlockDatabase, server                      text
	schemaVersion, createVersions, firstVersion, versionApplied, grant text
	schemaParts                                                        text
}

func newQueries(c clock) (*queries, error) {
	q := &queries{}
	for name, statement := range map[string]*text{
		"group_time": &q.groupTime, "begin_many": &q.beginMany, "end_many": &q.endMany, "within": &q.within,
		"start": &q.start, "commit": &q.commit, "rollback": &q.rollback, "flush": &q.flush,
		"look_many": &q.lookMany, "dirty": &q.dirty, "under_way": &q.underWay, "stands": &q.stands, "present": &q.present, "free": &q.free, "patient": &q.patient, "hasty": &q.hasty,
		"hold": &q.hold, "hold_absent": &q.holdAbsent, "write": &q.write, "delete": &q.deleteText,
		"now": &q.now, "before": &q.before,
		"snapshot": &q.snapshot, "list": &q.list, "list_unfinished": &q.listUnfinished, "answers": &q.answers, "due": &q.due, "import": &q.importMany,
		"secrets": &q.secrets, "add_secret": &q.addSecret, "retire_secret": &q.retireSecret,
		"session": &q.session, "lock_database": &q.lockDatabase, "unlock_database": &q.unlockDatabase, "server": &q.server,
		"schema_version": &q.schemaVersion, "create_versions": &q.createVersions, "first_version": &q.firstVersion,
		"version_applied": &q.versionApplied, "grants": &q.grant, "schema_parts": &q.schemaParts,
	} {
		sql, err := c.read(name)
		if err != nil {
			return nil, err
		}
		*statement = newText(sql)
	}
	for name, statement := range map[string]*string{"begin": &q.begin, "end": &q.end, "look": &q.look} {
		sql, err := c.read(name)
		if err != nil {
			return nil, err
		}
		*statement = sql
	}
	return q, nil
}

// read returns a statement of query/, in which the files say reprise_clock() and reprise_start() for the time.
func (c clock) read(name string) (string, error) {
	sql, err := queryFiles.ReadFile("query/" + name + ".sql")
	return strings.NewReplacer("reprise_clock()", c.now, "reprise_start()", c.start).Replace(dsn.Statement(string(sql))), err
}
