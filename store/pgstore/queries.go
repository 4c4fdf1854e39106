package pgstore

import (
	"embed"
	"strings"

	"github.com/reprise-dev/reprise/internal/dsn"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

//go:embed query/*.sql
var queryFiles embed.FS

// queries are the statements in query/, for one schema. The files say "reprise" for the schema; where it
// has another name, that is replaced.
type queries struct {
	// Reading and writing records.
	look, lookAnswered, lookMany, begin, end, commit, lock, underWay, load string
	insertOpen, updateOpen, deleteOpen, insertAnswered, deleteAnswered     string
	now                                                                    string
	// Waiting for changes.
	awaitEnd, notify string
	// Bulk.
	list, listAnswers, scanOpen, scanAnswered, purgeOpen, purgeAnswered string
	mayTidy, tidy                                                       string
	importLock, importMany                                              string
	// Secrets.
	secrets, addSecret, retireSecret, lockSecrets string
	// Connections and the schema.
	session, transaction                    string
	schemaVersion, schemaExists, lockSchema string
	schemaParts                             string
	createSchema, createVersions, setPath   string
	versionApplied, grants                  string
}

func newQueries(schema string) (*queries, error) {
	q := &queries{}
	for name, statement := range map[string]*string{
		"look": &q.look, "look_answered": &q.lookAnswered, "look_many": &q.lookMany, "begin": &q.begin, "end": &q.end, "commit": &q.commit, "lock": &q.lock, "under_way": &q.underWay, "load": &q.load,
		"insert_open": &q.insertOpen, "update_open": &q.updateOpen, "delete_open": &q.deleteOpen,
		"insert_answered": &q.insertAnswered, "delete_answered": &q.deleteAnswered,
		"now":       &q.now,
		"await_end": &q.awaitEnd, "notify": &q.notify,
		"list": &q.list, "list_answers": &q.listAnswers, "scan_open": &q.scanOpen, "scan_answered": &q.scanAnswered,
		"purge_open": &q.purgeOpen, "purge_answered": &q.purgeAnswered, "may_tidy": &q.mayTidy, "tidy": &q.tidy,
		"import_lock": &q.importLock, "import": &q.importMany,
		"secrets": &q.secrets, "add_secret": &q.addSecret, "retire_secret": &q.retireSecret, "lock_secrets": &q.lockSecrets,
		"session": &q.session, "transaction": &q.transaction,
		"schema_version": &q.schemaVersion, "schema_exists": &q.schemaExists, "schema_parts": &q.schemaParts, "lock_schema": &q.lockSchema,
		"create_schema": &q.createSchema, "create_versions": &q.createVersions, "set_path": &q.setPath,
		"version_applied": &q.versionApplied, "grants": &q.grants,
	} {
		text, err := queryFiles.ReadFile("query/" + name + ".sql")
		if err != nil {
			return nil, err
		}
		*statement = inSchema(dsn.Statement(string(text)), schema)
	}
	return q, nil
}

// inSchema puts a statement into another schema than the one that the files name.
func inSchema(sql, schema string) string {
	return strings.ReplaceAll(strings.ReplaceAll(sql, "reprise.", schema+"."), "SCHEMA reprise", "SCHEMA "+schema)
}
