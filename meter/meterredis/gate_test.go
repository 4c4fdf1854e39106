package meterredis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
)

// Whoever asks for the gate while another one waits for a server that is silent waits as long as its own context says, and not for that one.
func TestGateOfASilentServer(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	m := newMeter(t, server.DSN(0))
	server.Pause()
	patient := make(chan error, 1)
	go func() { patient <- m.GateOpen(context.WithoutCancel(t.Context())) }()
	for range 3 { // the first may come before the patient one
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if err := m.GateOpen(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("asked for a moment: %v", err)
		}
		cancel()
	}
	select {
	case err := <-patient:
		t.Errorf("they waited for the one that had more time: %v", err)
	default:
	}
	server.Resume()
	<-patient
}
