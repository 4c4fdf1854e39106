package dsn

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

//go:embed session.sql
var mysqlSession string

// InSession returns what makes connections that are alike, however the server is set, and then as a statement of the caller's sets them;
// empty for none.
func InSession(config *mysql.Config, statement string) (driver.Connector, error) {
	inner, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("the DSN: %w", err)
	}
	return sessions{inner, statement}, nil
}

type sessions struct {
	driver.Connector
	statement string
}

// Connect implements driver.Connector.
func (s sessions) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (s sessions) prepare(ctx context.Context, conn driver.Conn) error {
	e, ok := conn.(driver.ExecerContext)
	if !ok {
		return errors.New("the driver cannot execute a statement")
	}
	for _, statement := range []string{Statement(mysqlSession), s.statement} {
		if statement == "" {
			continue
		}
		if _, err := e.ExecContext(ctx, statement, nil); err != nil {
			return err
		}
	}
	return nil
}
