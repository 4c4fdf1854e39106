//go:build unix

package servicetest

import (
	"crypto/rand"
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// mariadbTemplateBytes is more than the template takes, and than the server writes without being used.
	mariadbTemplateBytes = 96 << 20
	// mariadbLogSize is that of the redo log, which a template would otherwise mostly consist of.
	mariadbLogSize = "16M"
)

// mariadbUsers makes all users of a server but the one that owns its views.
//
//go:embed mariadb_users.sql
var mariadbUsers string

// mariadbTemplate holds data/, with both users, and the file password. The password differs from machine
// to machine: whoever knows it can read files as the user of the tests.
func mariadbTemplate(server string, a account) template {
	installer, missing := program("mariadb-install-db")
	version, err := exec.Command(server, "--version").Output()
	fill := func(path string) error {
		if err := errors.Join(missing, err); err != nil {
			return err
		}
		password, passwordFile := rand.Text(), filepath.Join(path, "password")
		users := filepath.Join(path, "users.sql")
		for file, content := range map[string]string{passwordFile: password, users: strings.ReplaceAll(mariadbUsers, "PASSWORD", password)} {
			if err := errors.Join(os.WriteFile(file, []byte(content), 0o600), a.own(file)); err != nil {
				return err
			}
		}
		return a.run(installer, "--no-defaults", "--datadir="+filepath.Join(path, "data"), "--extra-file="+users,
			"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size="+mariadbLogSize)
	}
	return template{kind: "mariadb", key: server + "\n" + string(version) + mariadbUsers + mariadbLogSize, account: a, fill: fill}
}
