package sqlitestore

import (
	"embed"

	"github.com/reprise-dev/reprise/machine"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// The queries. Those without a comment are the hot path and stay prepared.
var (
	//go:embed query/load.sql
	loadSQL string
	//go:embed query/insert.sql
	insertSQL string
	//go:embed query/update.sql
	updateSQL string
	//go:embed query/delete.sql
	deleteSQL string

	//go:embed query/list.sql
	listSQL string // every record, by digest
	//go:embed query/list_open.sql
	listOpenSQL string // every record that is not completed, by digest
	//go:embed query/due.sql
	dueSQL string
	//go:embed query/secrets.sql
	secretsSQL string
	//go:embed query/add_secret.sql
	addSecretSQL string
	//go:embed query/retire_secret.sql
	retireSecretSQL string
	//go:embed query/contents.sql
	contentsSQL string
	//go:embed query/schema_version.sql
	schemaVersionSQL string
	//go:embed query/create_versions.sql
	createVersionsSQL string

	//go:embed query/effect_lock.sql
	effectLockSQL string
	//go:embed query/library.sql
	librarySQL string
)

// nullable writes an instant that may be missing.
func nullable(at machine.Instant) any {
	if at.IsZero() {
		return nil
	}
	return int64(at)
}

// insertArgs are those of insert.sql.
func insertArgs(r *machine.Record, packed []byte) []any {
	return []any{r.Scope.Digest[:], int64(r.State), r.Scope.Operation, int64(r.Scope.SecretVersion),
		int64(r.Revision), int64(r.LeaseEnd), nullable(r.ForgottenAt()), packed}
}

// updateArgs are those of update.sql.
func updateArgs(id int64, r *machine.Record, packed []byte) []any {
	return []any{int64(r.State), int64(r.Revision), int64(r.LeaseEnd), nullable(r.ForgottenAt()), packed, id}
}
