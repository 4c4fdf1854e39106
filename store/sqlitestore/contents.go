package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reprise-dev/reprise/store"
)

// A path may lead to a store, to nothing, to what is left of a store, or to the database of another
// program. Which one it is is found before anything is changed.

// locate returns the absolute path of the database file itself, after looking at what is there. It does not
// open the file: SQLite deletes the log beside an empty one.
func locate(path string, mustExist bool) (string, error) {
	if path == "" || path == ":memory:" {
		return "", fmt.Errorf("%q is not the path of a file: name one, or use the memory store", path)
	}
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = follow(path)
	}
	if err != nil {
		return "", err
	}
	log, logErr := os.Stat(path + "-wal") // before the file: a new file has its first page before it has a log
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return "", fmt.Errorf("%s is a directory: name a file in it", path)
	case err == nil && info.Size() > 0:
		return path, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: give this user the right to read and write it and its directory", err)
	case logErr == nil && log.Size() > 0:
		return "", noStore("%s is missing or empty, and its log %[1]s-wal is not: the database was deleted or cut off. Restore it from a backup, or move the log away", path)
	case mustExist && err == nil:
		return "", noStore("%s is empty: restore it from a backup, or make a store of it with `reprise store init --new`", path)
	case mustExist:
		return "", noStore("there is no database at %s: check the path, or create it with `reprise store init --new`", path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("the directory of %s cannot be used: create it first, or choose another path: %w", path, err)
	}
	return path, nil
}

// maxLinks is how many links lead to a file at most, as with SQLite's.
const maxLinks = 100

// follow returns where a path leads that is a symbolic link, also if nothing is there yet. SQLite does so too, and keeps the
// log beside the file, and not beside the link.
func follow(path string) (string, error) {
	at := path
	for range maxLinks {
		to, err := os.Readlink(at)
		if err != nil {
			return at, nil // it is none, or what is wrong with it is told by who opens it
		}
		if !filepath.IsAbs(to) {
			directory, err := filepath.EvalSymlinks(filepath.Dir(at))
			if err != nil {
				return "", err
			}
			to = filepath.Join(directory, to)
		}
		at = to
	}
	return "", fmt.Errorf("%s is a link that leads to nothing but links: name a file", path)
}

// noStore is the error where there is no store, or not any more.
func noStore(format, path string) error {
	return fmt.Errorf("%w: %w", fmt.Errorf(format, path), fs.ErrNotExist)
}

// contents are what a database holds.
type contents struct {
	version int64  // of the schema of a store; 0 if there is none
	other   bool   // something else, and no store
	torn    bool   // tables of a store, and no version: what makes them notes it with them
	missing string // the tables that a store of the version has not, and should
}

// readContents changes nothing. Whoever makes a store makes the table of versions first, and is one step
// further when the first version is in it.
func readContents(ctx context.Context, conn *sql.Conn) (c contents, err error) {
	latest, err := latestSchema()
	if err != nil {
		return contents{}, err
	}
	var tables, parts, all int
	look := func() error {
		return conn.QueryRowContext(ctx, contentsSQL).Scan(&tables, &c.missing, &parts, &all)
	}
	if err := look(); err != nil {
		return contents{}, err
	}
	if tables == 0 {
		return contents{other: all > 0 && parts == 0, torn: parts > 0}, nil
	}
	var version sql.NullInt64
	if err := conn.QueryRowContext(ctx, schemaVersionSQL).Scan(&version); err != nil {
		return contents{}, err
	}
	if c.version = version.Int64; c.version >= latest && c.missing != "" {
		err = look() // another process may have made them in between
	}
	if c.version < latest || c.version > latest+1 {
		c.missing = ""
	}
	c.torn = c.version == 0 && parts > 0
	return c, err
}

// refuse refuses the database of another program, a store of which a part was taken away, and a database without one where there must be
// one.
func (c contents) refuse(path string, mustExist bool) error {
	switch {
	case c.other:
		return fmt.Errorf("%s is a database of something else (it has tables, and none is %s): choose another path, or open it with Options.Beside if it is this program's own", path, versionTable)
	case c.torn:
		return fmt.Errorf("%w: %s has tables of a store, and %s does not say of which version: it was emptied or dropped. Nothing was changed. "+
			"Restore the file from a backup; if the tables are whole, put back the rows as another store has them. Only if nothing of the store matters: move the file away", store.ErrSchema, path, versionTable)
	case c.missing != "":
		return fmt.Errorf("%w: %s has schema %d, and no %s: somebody has dropped it. Nothing was changed. Stop what uses the store, and restore the file from a backup: "+
			"without its records and its secret, retries run again. Only if nothing of the store matters: move the file away", store.ErrSchema, path, c.version, c.missing)
	case mustExist && c.version == 0:
		return noStore("%s is a database without a store: restore it from a backup, or make a store of it with `reprise store init --new`", path)
	}
	return nil
}

// check refuses what the options do not allow to work with, and a schema that this version cannot work
// with: its own and the next one are accepted, so that processes of two versions can share a file during
// an upgrade.
func (c contents) check(path string, options Options, latest int64) error {
	if err := c.refuse(path, options.MustExist); err != nil {
		return err
	}
	var next string
	switch {
	case options.NoMigration && c.version < latest:
		next = "run `reprise migrate up` first"
	case c.version > latest+1:
		next = "upgrade this program, or restore a backup of the file from before its upgrade"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s has schema %d, and this version works with %d and %d: %s", store.ErrSchema, path, c.version, latest, latest+1, next)
}
