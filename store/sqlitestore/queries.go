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
)

// nullable writes an instant that may be missing.
func nullable(at machine.Instant) any {
	if at.IsZero() {
		return nil
	}
	return int64(at)
}
