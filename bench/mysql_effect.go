package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/mysqlstore"
)

const (
	bareMySQLOrders = "CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, what varchar(100) NOT NULL) ENGINE = InnoDB"
	bareMySQLOrder  = "INSERT INTO orders (what) VALUES ('a book')"
)

// benchMySQLEffects compares mysqlstore.Do, with one business row, with the same written by hand, on the pool that
// serves the latter best.
func benchMySQLEffects(ctx context.Context, s settings, t *table) (err error) {
	m, err := startMySQL(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if _, err := m.bare.db.ExecContext(ctx, bareMySQLOrders); err != nil {
		return err
	}
	on := contest{ours: m.store, limit: m.bare}
	for _, target := range []target{{1, 0.7}, {64, 0.7}} {
		err := mysqlContender().compare(ctx, s, t, "Do with one row", "by hand, prepared", on, target,
			func() error { return m.effect(ctx) }, func() error { return m.bare.guardedOrder(ctx) })
		if err != nil {
			return err
		}
	}
	return nil
}

// effect places an order under a fresh key.
func (m *mysqlServer) effect(ctx context.Context) error {
	_, err := mysqlstore.Do(ctx, m.bare.db, invocation(newBegin()), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		_, err := tx.ExecContext(ctx, bareMySQLOrder)
		return machine.NewResponse("raw/1", answer256), err
	})
	return err
}

// guardedOrder places an order under a fresh key: claim, order and answer in one transaction.
func (b *bareMySQL) guardedOrder(ctx context.Context) error {
	digest := random[machine.Digest]()
	tx, err := b.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := once(tx.StmtContext(ctx, b.insert).ExecContext(ctx, digest[:], digest[:])); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, bareMySQLOrder); err != nil {
		return err
	}
	if err := once(tx.StmtContext(ctx, b.update).ExecContext(ctx, answer256, digest[:])); err != nil {
		return err
	}
	return tx.Commit()
}
