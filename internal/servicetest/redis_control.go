//go:build unix

package servicetest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Dial connects to a DSN of the server, which may lead through a proxy. The connection ends with the test.
func (s *RedisServer) Dial(dsn string) (*RedisConn, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := dialRedis(ctx, u, s.ca())
	if err == nil {
		s.t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

// Do sends a command as the user who may do everything, to database 0, and returns its reply: see
// [RedisConn.Do].
func (s *RedisServer) Do(command ...string) any {
	s.t.Helper()
	reply, err := s.try(command...)
	s.check("execute "+strings.Join(command, " "), err)
	return reply
}

// Config sets a setting while the server runs, as CONFIG SET does.
func (s *RedisServer) Config(setting, value string) {
	s.t.Helper()
	s.Do("CONFIG", "SET", setting, value)
}

// Advance puts the clock of the server forward, which takes the option Clock. Its timers do not notice; what
// expires does.
func (s *RedisServer) Advance(by time.Duration) {
	s.t.Helper()
	s.check("put the clock forward", s.clock.advance(by))
}

// FlushAll empties all databases. Their memory is free when it returns.
func (s *RedisServer) FlushAll() {
	s.t.Helper()
	s.Do("FLUSHALL", "SYNC")
}

// Info returns what INFO says, by name: run_id, role, used_memory, ….
func (s *RedisServer) Info() map[string]string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	info, err := s.info(ctx)
	s.check("INFO", err)
	return info
}

// Version is the version of Redis that the server is, or says that it is like: 7.0.15.
func (s *RedisServer) Version() string {
	s.t.Helper()
	return s.Info()["redis_version"]
}

// Ended is closed when the process that runs now, or ran last, has ended, by itself too.
func (s *RedisServer) Ended() <-chan struct{} {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.d.process == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return s.d.process.gone
}

// try sends a command as the user who may do everything.
func (s *RedisServer) try(command ...string) (any, error) {
	if s.shared {
		return nil, errors.New("other tests use this server: start one of your own, or dial your database")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.execute(ctx, command...)
}

// ask is as try, of a server that answers within a moment.
func (r *redis) ask(command ...string) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	return r.execute(ctx, command...)
}

// moment is how long a server may take that is asked again and again.
const moment = time.Second

func (r *redis) execute(ctx context.Context, command ...string) (any, error) {
	conn, err := r.admin(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(command...)
}

func (r *redis) info(ctx context.Context) (map[string]string, error) {
	reply, err := r.execute(ctx, "INFO")
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, fmt.Errorf("INFO said %v", reply)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[name] = value
		}
	}
	return info, nil
}
