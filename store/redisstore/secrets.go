package redisstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// secretsBucket is where the versions of the secret are. A server that has lost it has lost them, and says nothing of versions:
// none would look like a new store, whose records were made under no older one.
const secretsBucket = 0

// Secrets implements [store.SecretKeeper].
func (s *Store) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	if err := s.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer s.leave()
	since := s.server()
	secrets, at, err := s.readSecrets(ctx)
	return secrets, at, s.notice(ctx, secretsBucket, s.confirm(ctx, secretsBucket, since, err))
}

// AddSecret implements [store.SecretKeeper].
func (s *Store) AddSecret(ctx context.Context, secret store.Secret, ahead time.Duration) error {
	return s.changeSecrets(ctx, addition(secret, ahead))
}

// RetireSecret implements [store.SecretKeeper].
func (s *Store) RetireSecret(ctx context.Context, version uint32) error {
	return s.changeSecrets(ctx, retirement(version))
}

// secretChange says what becomes of the versions that are known: one that is to be written, and until when on the store's
// clock that may be done; nil: nothing.
type secretChange func(known []store.Secret, now machine.Instant) (*store.Secret, machine.Instant, error)

func addition(secret store.Secret, ahead time.Duration) secretChange {
	return func(known []store.Secret, now machine.Instant) (*store.Secret, machine.Instant, error) {
		if admitted, err := store.AdmitSecret(known, secret, now, ahead); !admitted {
			return nil, 0, err
		}
		return &secret, store.LatestSecret(known, secret, ahead), nil
	}
}

func retirement(version uint32) secretChange {
	return func(known []store.Secret, now machine.Instant) (*store.Secret, machine.Instant, error) {
		for _, k := range known {
			if k.Version == version && k.Retired.IsZero() {
				k.Retired = now
				return &k, math.MaxInt64, nil
			}
		}
		return nil, 0, nil
	}
}

// changeSecrets writes what change makes of the versions that are known, unless one was added or the one that is written was changed
// meanwhile, or it has become too late: then it is asked again.
func (s *Store) changeSecrets(ctx context.Context, change secretChange) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	for {
		since := s.server()
		done, err := s.changeSecretsOnce(ctx, change)
		if err != nil || done { // nothing to change, too, is what another process may have just made so
			return s.notice(ctx, secretsBucket, s.confirm(ctx, secretsBucket, since, err))
		}
	}
}

// changeSecretsOnce is done when nothing is to be changed, or nothing came between.
func (s *Store) changeSecretsOnce(ctx context.Context, change secretChange) (done bool, err error) {
	known, now, err := s.readSecrets(ctx)
	if err != nil {
		return false, err
	}
	secret, until, err := change(known, now)
	if err != nil || secret == nil {
		return true, err
	}
	var before []byte
	if at := slices.IndexFunc(known, func(k store.Secret) bool { return k.Version == secret.Version }); at >= 0 {
		before = packSecret(known[at])
	}
	n, err := s.onSecrets(ctx, s.scripts.secret, strconv.Itoa(len(known)), strconv.FormatUint(uint64(secret.Version), 10),
		rueidis.BinaryString(packSecret(*secret)), strconv.FormatInt(s.milliseconds(until), 10), rueidis.BinaryString(before)).AsInt64()
	if err == nil && n == replyLost {
		return false, lostBucket(secretsBucket)
	}
	return n == 1, sent(ctx, err)
}

// onSecrets runs a script on the versions, which begins with comparing the generation of their bucket.
func (s *Store) onSecrets(ctx context.Context, script *rueidis.Lua, args ...string) rueidis.RedisResult {
	g := s.generation(secretsBucket)
	return script.Exec(ctx, s.client, []string{s.names.secrets(), s.names.generation(secretsBucket)}, append([]string{string(g[:])}, args...))
}

func (s *Store) readSecrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	reply, err := s.onSecrets(ctx, s.scripts.secrets).ToMessage()
	if err != nil {
		return nil, 0, unread(ctx, err)
	}
	if reply.IsInt64() {
		return nil, 0, lostBucket(secretsBucket)
	}
	parts, err := reply.ToArray()
	if err == nil && len(parts) != 2 {
		err = errors.New("the versions of the secret are not told with the time")
	}
	if err != nil {
		return nil, 0, unread(ctx, err)
	}
	ms, err := parts[0].AsInt64()
	if err != nil {
		return nil, 0, unread(ctx, err)
	}
	fields, err := parts[1].AsStrMap()
	if err != nil {
		return nil, 0, unread(ctx, err)
	}
	var known []store.Secret
	for version, packed := range fields {
		secret, err := unpackSecret(version, packed)
		if err != nil {
			return nil, 0, err
		}
		known = append(known, secret)
	}
	slices.SortFunc(known, func(a, b store.Secret) int { return cmp.Compare(a.Version, b.Version) })
	return known, s.instant(ms), nil
}

// now returns the server's time. It is asked for by a script, which has a key: TIME alone would be sent to any server
// of a cluster, replicas too.
func (s *Store) now(ctx context.Context) (machine.Instant, error) {
	reply, err := s.scripts.time.Exec(ctx, s.client, []string{s.names.secrets()}, nil).ToMessage()
	if err != nil {
		return 0, unread(ctx, err)
	}
	ms, err := timeOf(reply)
	if err != nil {
		return 0, unread(ctx, err)
	}
	return s.instant(ms), nil
}

func packSecret(s store.Secret) []byte {
	b := append([]byte(nil), s.Check[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.PrimaryFrom))
	return binary.BigEndian.AppendUint64(b, uint64(s.Retired))
}

func unpackSecret(version, packed string) (s store.Secret, err error) {
	n, err := strconv.ParseUint(version, 10, 32)
	if err != nil || len(packed) != len(s.Check)+16 {
		return s, fmt.Errorf("%w: what is kept of version %q of the secret", store.ErrCorrupt, version)
	}
	s.Version = uint32(n)
	rest := []byte(packed[copy(s.Check[:], packed):])
	s.PrimaryFrom, s.Retired = machine.Instant(binary.BigEndian.Uint64(rest)), machine.Instant(binary.BigEndian.Uint64(rest[8:]))
	return s, nil
}
