package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"
)

// bareKey is a key with what it holds: a text, or names of fields and their values.
type bareKey struct {
	key     string
	words   []string
	expires int64 // in ms since 1970; 0 is never
}

// bareScripts is how many keys go into a script, and barePipeline how many scripts or commands are sent at once, by so many senders.
const (
	bareInScript = 100
	barePipeline = 20
	bareSenders  = 4
)

// writeBareLua writes keys. For each: how many words it has, when it expires or 0, and the words.
const writeBareLua = `
local at = 1
for i = 1, #KEYS do
	local words = tonumber(ARGV[at])
	if words == 1 then
		redis.call('SET', KEYS[i], ARGV[at + 2])
	else
		redis.call('HSET', KEYS[i], unpack(ARGV, at + 2, at + words + 1))
	end
	if ARGV[at + 1] ~= '0' then
		redis.call('PEXPIREAT', KEYS[i], ARGV[at + 1])
	end
	at = at + words + 2
end
return 1`

// replayBareLua applies rows, each once. Of each there are three keys: its mark, a counter and a hash. ARGV 1 amount, 2 field.
const replayBareLua = `
for i = 1, #KEYS, 3 do
	if redis.call('EXISTS', KEYS[i]) == 0 then
		redis.call('INCRBY', KEYS[i + 1], ARGV[1])
		redis.call('HINCRBY', KEYS[i + 2], ARGV[2], ARGV[1])
		redis.call('SET', KEYS[i], '1')
	end
end
return 1`

// remember keeps the keys of all units, as they are.
func (p *restorePlant) remember(ctx context.Context) error {
	for cursor := uint64(0); ; {
		page, err := p.client.Do(ctx, p.client.B().Scan().Cursor(cursor).Count(1000).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		keys := slices.DeleteFunc(page.Elements, func(key string) bool { return !strings.Contains(key, "line-") && !strings.Contains(key, "family-") })
		if err := p.rememberThese(ctx, keys); err != nil {
			return err
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}

func (p *restorePlant) rememberThese(ctx context.Context, keys []string) error {
	commands := make(rueidis.Commands, 0, 3*len(keys))
	for _, key := range keys {
		b := p.client.B()
		commands = append(commands, b.Get().Key(key).Build(), b.Hgetall().Key(key).Build(), b.Pexpiretime().Key(key).Build())
	}
	replies := p.client.DoMulti(ctx, commands...)
	for i, key := range keys {
		k := bareKey{key: key}
		if text, err := replies[3*i].ToString(); err == nil {
			k.words = []string{text}
		} else {
			fields, err := replies[3*i+1].AsStrMap()
			if err != nil {
				return err
			}
			for name, value := range fields {
				k.words = append(k.words, name, value)
			}
		}
		expires, err := replies[3*i+2].AsInt64()
		if err != nil {
			return err
		}
		k.expires = max(expires, 0)
		p.keys = append(p.keys, k)
	}
	return nil
}

// send sends commands for pages of items by some senders, and returns how many items a second were done. Commands are made before time counts.
func send[T any](ctx context.Context, client rueidis.Client, items []T, inPage int, make func([]T) rueidis.Commands) (float64, error) {
	var pages []rueidis.Commands
	for page := range slices.Chunk(items, inPage) {
		pages = append(pages, make(page))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(bareSenders)
	began := time.Now()
	for _, page := range pages {
		group.Go(func() error {
			for _, reply := range client.DoMulti(ctx, page...) {
				if err := reply.Error(); err != nil && !rueidis.IsRedisNil(err) {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(len(items)) / time.Since(began).Seconds(), err
}

// load loads a script.
func (p *restorePlant) load(ctx context.Context, script string) (sha string, err error) {
	if err := p.host.try(func() { p.server.FlushAll() }); err != nil {
		return "", err
	}
	return p.client.Do(ctx, p.client.B().ScriptLoad().Script(script).Build()).ToString()
}

// writeBare writes all keys into an empty Redis, and returns how many a second.
func (p *restorePlant) writeBare(ctx context.Context) (float64, error) {
	sha, err := p.load(ctx, writeBareLua)
	if err != nil {
		return 0, err
	}
	return send(ctx, p.client, p.keys, bareInScript*barePipeline, func(page []bareKey) (commands rueidis.Commands) {
		for part := range slices.Chunk(page, bareInScript) {
			var keys, args []string
			for _, k := range part {
				keys = append(keys, k.key)
				args = append(append(args, strconv.Itoa(len(k.words)), strconv.FormatInt(k.expires, 10)), k.words...)
			}
			commands = append(commands, p.client.B().Evalsha().Sha1(sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
		}
		return commands
	})
}

// replayBare applies a row for every other line, and returns how many a second.
func (p *restorePlant) replayBare(ctx context.Context) (float64, error) {
	sha, err := p.load(ctx, replayBareLua)
	if err != nil {
		return 0, err
	}
	lines := make([]int, p.lines/2)
	for i := range lines {
		lines[i] = 2 * i
	}
	return send(ctx, p.client, lines, bareInScript*barePipeline, func(page []int) (commands rueidis.Commands) {
		for part := range slices.Chunk(page, bareInScript) {
			var keys []string
			for _, i := range part {
				line := lineID(i)
				keys = append(keys, "bare:mark:"+line, "bare:total:"+line, "bare:apps:"+line)
			}
			commands = append(commands, p.client.B().Evalsha().Sha1(sha).Numkeys(int64(len(keys))).Key(keys...).Arg("100", "app:video:individual").Build())
		}
		return commands
	})
}

// readBare reads all keys, and when they expire, and returns how many a second.
func (p *restorePlant) readBare(ctx context.Context) (float64, error) {
	if _, err := p.writeBare(ctx); err != nil {
		return 0, err
	}
	return send(ctx, p.client, p.keys, 500, func(page []bareKey) (commands rueidis.Commands) {
		for _, k := range page {
			b := p.client.B()
			if len(k.words) == 1 {
				commands = append(commands, b.Get().Key(k.key).Build())
			} else {
				commands = append(commands, b.Hgetall().Key(k.key).Build())
			}
			commands = append(commands, b.Pttl().Key(k.key).Build())
		}
		return commands
	})
}

// protocol writes commands that set all keys, as redis-cli --pipe takes them.
func (p *restorePlant) protocol() []byte {
	var out bytes.Buffer
	write := func(words ...string) {
		fmt.Fprintf(&out, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	for _, k := range p.keys {
		if len(k.words) == 1 {
			write("SET", k.key, k.words[0])
		} else {
			write(append([]string{"HSET", k.key}, k.words...)...)
		}
		if k.expires > 0 {
			write("PEXPIREAT", k.key, strconv.FormatInt(k.expires, 10))
		}
	}
	return out.Bytes()
}

// pipe has redis-cli load commands into an empty Redis, and returns how many seconds that takes.
func (p *restorePlant) pipe(ctx context.Context, text []byte) (float64, error) {
	if err := p.host.try(func() { p.server.FlushAll() }); err != nil {
		return 0, err
	}
	at, err := url.Parse(p.server.AdminDSN(1))
	if err != nil {
		return 0, err
	}
	password, _ := at.User.Password()
	command := exec.CommandContext(ctx, "redis-cli", "--no-auth-warning", "-h", at.Hostname(), "-p", at.Port(), "--user", at.User.Username(), "--pass", password, "-n", "1", "--pipe")
	command.Stdin = bytes.NewReader(text)
	began := time.Now()
	said, err := command.CombinedOutput()
	took := time.Since(began)
	if err == nil && !bytes.Contains(said, []byte("errors: 0")) {
		err = errors.New("redis-cli found errors")
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return took.Seconds(), err
}
