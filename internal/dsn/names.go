package dsn

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// PostgresRole writes the name of a role as SQL has it.
func PostgresRole(name string) string { return pgx.Identifier{name}.Sanitize() }

// MySQLAccount writes a user as SQL has it: name, for any host, or name@host.
func MySQLAccount(user string) string {
	name, host := user, "%"
	if at := strings.LastIndexByte(user, '@'); at >= 0 {
		name, host = user[:at], user[at+1:]
	}
	quoted := func(part string) string { return "`" + strings.ReplaceAll(part, "`", "``") + "`" }
	return quoted(name) + "@" + quoted(host)
}
