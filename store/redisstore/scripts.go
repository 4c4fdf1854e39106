package redisstore

import (
	"crypto/sha1" //nolint:gosec // it is how Redis names scripts
	_ "embed"
	"encoding/hex"
	"strings"

	"github.com/redis/rueidis"
)

//go:embed script/load.lua
var loadLua string

//go:embed script/swap.lua
var swapLua string

//go:embed script/claim.lua
var claimLua string

//go:embed script/finish.lua
var finishLua string

//go:embed script/index.lua
var indexLua string

//go:embed script/peek.lua
var peekLua string

//go:embed script/release.lua
var releaseLua string

//go:embed script/drop.lua
var dropLua string

//go:embed script/watch.lua
var watchLua string

//go:embed script/time.lua
var timeLua string

//go:embed script/secret.lua
var secretLua string

//go:embed script/secrets.lua
var secretsLua string

//go:embed script/expiry.lua
var expiryLua string

// What scripts answer instead of a result.
const (
	replyMoved = -2 // the record is another one than the caller knows
	replyLost  = -3 // the bucket's generation is missing, or another one
)

// scripts are sent by their digest. A server that does not know one is sent its text: it has run nothing then.
type scripts struct {
	load, swap, index, peek, drop, release, watch, time, secret, secrets *rueidis.Lua
	claim, finish                                                        inTransaction
}

// inTransaction is a script for transactions. There the caller sends the text of one that the server does not know.
type inTransaction struct{ text, digest string }

func newInTransaction(text string) inTransaction {
	return inTransaction{text, scriptDigest(text)}
}

// scriptDigest is the name by which a server knows a script.
func scriptDigest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // it is how Redis names scripts
	return hex.EncodeToString(sum[:])
}

// wayOfSending makes the command that runs a script.
type wayOfSending func(s inTransaction, b rueidis.Builder, keys, args []string) rueidis.Completed

func (s inTransaction) byDigest(b rueidis.Builder, keys, args []string) rueidis.Completed {
	return b.Evalsha().Sha1(s.digest).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
}

func (s inTransaction) byText(b rueidis.Builder, keys, args []string) rueidis.Completed {
	return b.Eval().Script(s.text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
}

// newScripts are those for servers of any version, or for older ones than Redis 7.
func newScripts(older bool) scripts {
	textOf := func(text string) string {
		if older {
			return forOlder(text)
		}
		return text
	}
	script := func(text string) *rueidis.Lua { return rueidis.NewLuaScript(textOf(text)) }
	return scripts{
		load: script(loadLua), swap: script(swapLua), index: script(indexLua), peek: script(peekLua),
		drop: script(dropLua), release: script(releaseLua), watch: script(watchLua), time: script(timeLua), secret: script(secretLua), secrets: script(secretsLua),
		claim: newInTransaction(claimLua), finish: newInTransaction(textOf(finishLua)),
	}
}

// forOlder returns a script that does without PEXPIRETIME.
func forOlder(text string) string { return expiryLua + withoutExpiryTime(text) }

func withoutExpiryTime(text string) string {
	return strings.NewReplacer("redis.call('PEXPIRETIME', KEYS[1])", "expiryOf(KEYS[1])", "redis.call('PEXPIRETIME', key)", "expiryOf(key)").Replace(text)
}
