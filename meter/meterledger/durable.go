package meterledger

import (
	"context"
	"crypto/rand"

	"github.com/reprise-dev/reprise/internal/database"
)

// InnoDB lets others read a commit before it is durable: it lets go of its locks, and only then writes its log, unless there is a binary log that is
// synced. Who finds that somebody has written something already, and says so, has to be right about it also if the server dies in
// that moment. Any later commit that has something to write makes durable whatever was before it. PostgreSQL shows nothing before
// it is durable, and does not mind: finding something is rare.

// durably gives a transaction something to write, if it has found all that it was to write: it leaves nothing behind.
func (l *Ledger) durably(tx *database.Tx) error {
	mark := rand.Text()
	if err := tx.Run(l.sql.putMark, mark); err != nil {
		return err
	}
	return tx.Run(l.sql.deleteMark, mark)
}

// Durable returns when everything is durable that was read from the ledger before: for whoever lets go of something because of what stands
// there.
func (l *Ledger) Durable(ctx context.Context) error { return l.db.Change(ctx, l.durably) }
