package redisstore

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
)

// NewDecidedEffect returns an effect that first decides, and then changes something, each by a fragment of Lua. It costs the server about half of
// what [NewEffect] takes, because its record is written only once, and its calls are not watched.
//
// The first fragment sees KEYS and ARGV, noEffect as other effects do, and read, which is redis.call for commands that only read: each
// call names its command, as read('GET', KEYS[1]) does, and another one is an error of this function. The texts of the first keys, as many
// as reads says, are in the table texts, and cost less than by calls; what is absent or no text is false. It assigns its answer,
// a text or a number, to the variable answer, or returns noEffect(reason).
//
// The second fragment goes on in the same scope, with call, which is redis.call. What can fail comes first there: an
// error of its first call leaves the key to be tried again. After that nobody can undo what was written, and the key is abandoned. It has no
// noEffect: what was decided stands.
//
//	redisstore.NewDecidedEffect("charge", 1, `
//		local left = tonumber(texts[1] or '0')
//		if left < tonumber(ARGV[1]) then
//			return noEffect('insufficient funds')
//		end
//		answer = left - ARGV[1]
//	`, `
//		call('DECRBY', KEYS[1], ARGV[1])
//	`)
func NewDecidedEffect(name string, reads int, decide, change string) (*Effect, error) {
	if strings.TrimSpace(name) == "" || strings.TrimSpace(decide) == "" || strings.TrimSpace(change) == "" {
		return nil, errors.New("an effect needs a name, and two fragments of Lua")
	}
	if err := onlyReads(decide); err != nil {
		return nil, fmt.Errorf("what decides the effect %s: %w", name, err)
	}
	if found := regexp.MustCompile(`\b(redis|noEffect|loadstring|load|getfenv|setfenv|_G)\b`).FindString(withoutComments(change)); found != "" {
		return nil, fmt.Errorf("what changes something in the effect %s says %s: it has call, and what was decided stands", name, found)
	}
	if err := oneDatabase(name, change); err != nil {
		return nil, err
	}
	return makeEffect(name, true, effectDecidedLua, reads, "decide", decide, "change", change)
}

// readingCommands are those that change nothing.
const readingCommands = " GET MGET GETRANGE STRLEN EXISTS TYPE TTL PTTL EXPIRETIME PEXPIRETIME HGET HMGET HGETALL HEXISTS HLEN HKEYS HVALS HSTRLEN" +
	" LLEN LRANGE LINDEX LPOS SCARD SISMEMBER SMISMEMBER SMEMBERS ZCARD ZSCORE ZMSCORE ZRANGE ZRANK ZCOUNT ZREVRANK GETBIT BITCOUNT TIME ECHO PING "

// onlyReads says what in a fragment could be a write: it could not be told from a read when the fragment fails.
func onlyReads(fragment string) error {
	fragment = withoutComments(fragment)
	word := regexp.MustCompile(`\bread\b(?:\('([A-Za-z]+)')?`)
	for _, found := range word.FindAllStringSubmatch(fragment, -1) {
		if found[1] == "" || !strings.Contains(readingCommands, " "+strings.ToUpper(found[1])+" ") {
			return fmt.Errorf("%q is no read('COMMAND', …) of a command that only reads", found[0])
		}
	}
	if taken := regexp.MustCompile(`\b(redis|call|pcall|loadstring|load|getfenv|setfenv|_G)\b`).FindString(fragment); taken != "" {
		return fmt.Errorf("it says %s: it has read for commands that only read, and answer for what it comes to", taken)
	}
	return nil
}

// oneDatabase refuses a fragment that goes to another database: what follows it, which is the record, would go there as well.
func oneDatabase(name, fragment string) error {
	if found := regexp.MustCompile(`(?i)['"\[]select['"\]]`).FindString(withoutComments(fragment)); found != "" {
		return fmt.Errorf("the effect %s says %s: its record would be written to the other database; name the database in the store's DSN", name, found)
	}
	return nil
}

// withoutComments returns a fragment in which each comment is a blank. Dashes in a string begin none, and one in long brackets goes over lines.
func withoutComments(fragment string) string {
	tokens := regexp.MustCompile(`(?s)--\[\[.*?\]\]|--\[=\[.*?\]=\]|--[^\n]*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\[\[.*?\]\]|\[=\[.*?\]=\]`)
	return tokens.ReplaceAllStringFunc(fragment, func(token string) string {
		if strings.HasPrefix(token, "--") {
			return " "
		}
		return token
	})
}

// makeEffect puts an effect into its frame. texts is how many of the first keys are read with the record; places are names of places
// in the shape, each with the fragment that takes it.
func makeEffect(name string, decided bool, shape string, texts int, places ...string) (*Effect, error) {
	function, run, found := strings.Cut(shape, "--[[run]]\n")
	keys := ""
	for i := range texts {
		keys += fmt.Sprintf("KEYS[%d], ", i+1)
	}
	frame := strings.NewReplacer("--[[effect]]\n", function, "--[[run]]\n", run, "--[[texts]]", keys).Replace(effectLua)
	frame = strings.ReplaceAll(frame, "--[[reads]]", readingCommands)
	text, old := frame, forOlder(frame)
	for i := 0; i+1 < len(places); i += 2 {
		place := "--[[" + places[i] + "]]"
		found = found && strings.Count(frame, place) == 1
		text, old = strings.Replace(text, place, places[i+1], 1), strings.Replace(old, place, places[i+1], 1)
	}
	if !found {
		return nil, errors.New("the script has no place for an effect")
	}
	return &Effect{
		name: name, script: rueidis.NewLuaScript(text), older: rueidis.NewLuaScript(old), digest: [...]string{scriptDigest(text), scriptDigest(old)},
		decided: decided, empty: machine.NewResponse(EffectCodec, nil), known: new(atomic.Pointer[effectForms]),
	}, nil
}
