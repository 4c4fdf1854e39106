package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// longestSilence is the longest pause between tries to connect again.
const longestSilence = 5 * time.Second

// listen hears what other processes tell, on a connection of its own, until the context ends. While it is
// not connected something may be missed, so everybody is woken once it is again.
func (s *Store) listen(ctx context.Context) {
	wait := gather.NewLongBackoff(longestSilence)
	for {
		if s.listenOnce(ctx) {
			wait.Reset()
		}
		if !wait.Sleep(ctx) {
			return
		}
	}
}

// listenOnce reports whether a connection could be made.
func (s *Store) listenOnce(ctx context.Context) (connected bool) {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return false
	}
	// It ends because something is wrong with it, or because nobody listens any more.
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.address.channel()}.Sanitize()); err != nil {
		return false
	}
	s.watchers.wakeAll()
	for {
		told, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true
		}
		if digest, err := machine.ParseDigest(told.Payload); err == nil {
			s.watchers.wake(digest)
		}
	}
}
