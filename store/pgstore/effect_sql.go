package pgstore

import (
	_ "embed"
	"strings"

	"github.com/reprise-dev/reprise/internal/dsn"
)

// The statements of effects. They are used in other people's pools and transactions, so they are not
// prepared with the store's.
var (
	//go:embed query/lock_effect.sql
	lockEffectSQL string
	//go:embed query/load.sql
	loadSQL string
	//go:embed query/delete_open_effect.sql
	deleteOpenSQL string
	//go:embed query/delete_answered_effect.sql
	deleteAnsweredSQL string
	//go:embed query/insert_open.sql
	insertOpenSQL string
	//go:embed query/insert_effect.sql
	insertEffectSQL string
	//go:embed query/join_effect.sql
	joinEffectSQL string
	//go:embed query/join_claim.sql
	joinClaimSQL string
	//go:embed query/join_lock.sql
	joinLockSQL string
	//go:embed query/notify.sql
	notifySQL string
	//go:embed query/same_transaction.sql
	sameTransactionSQL string
	//go:embed query/recovering.sql
	recoveringSQL string
)

// effectStatements are these, for one schema.
type effectStatements struct {
	lock, load, deleteOpen, deleteAnswered string
	insert, join, claim, lockFound, notify string
	insertOpen                             string
	channel                                string
}

func (e Effects) statements() (effectStatements, error) {
	schema := e.Schema
	if schema == "" {
		schema = DefaultSchema
	}
	s := effectStatements{
		lock: lockEffectSQL, load: loadSQL, deleteOpen: deleteOpenSQL, deleteAnswered: deleteAnsweredSQL,
		insert: insertEffectSQL, join: joinEffectSQL, claim: joinClaimSQL, lockFound: joinLockSQL, notify: notifySQL, insertOpen: insertOpenSQL,
		channel: address{schema: schema}.channel(),
	}
	if schema == DefaultSchema {
		return s, nil
	}
	if err := dsn.CheckSchema(schema); err != nil {
		return s, err
	}
	for _, statement := range []*string{&s.lock, &s.load, &s.deleteOpen, &s.deleteAnswered, &s.insert, &s.join, &s.claim, &s.lockFound, &s.insertOpen} {
		*statement = strings.ReplaceAll(*statement, "reprise.", schema+".")
	}
	return s, nil
}

// remove returns the statement that takes a held record's row away.
func (s effectStatements) remove(h *held) string {
	if h.answered {
		return s.deleteAnswered
	}
	return s.deleteOpen
}
