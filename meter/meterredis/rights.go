package meterredis

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/store/redisstore"
)

// Rights returns what the user that a DSN names lacks to restore the meter there, on whichever of the servers, and how to grant it; nothing if
// he may do all of it. A shadow is that of a drill, which has names of its own. Nothing is changed, and nothing has to be there.
func Rights(ctx context.Context, dsn string, shadow bool, log *slog.Logger) (lacks string, err error) {
	dsn = withPrefix(dsn)
	d, err := redisstore.ParseDSN(dsn)
	if err != nil {
		return "", err
	}
	prefixes := []string{d.Prefix()}
	for _, kind := range kinds() {
		prefixes = append(prefixes, string(kind)+":")
	}
	calls := restoreCalls(prefixes)
	if shadow {
		calls = append(restoreCalls([]string{shadowPrefix}), []string{"UNLINK", shadowPrefix + nobody}, []string{"PEXPIRE", shadowPrefix + nobody, "1"})
	}
	found, err := redisstore.Lacks(ctx, dsn, calls, redisstore.Options{Log: log})
	if err != nil {
		return "", err
	}
	u, err := url.Parse(dsn)
	return told(found, cmp.Or(u.User.Username(), "default")), err
}

// restoreCalls is a call of each command that restoring makes, in scripts and beside them, and of one that reads and one that writes on a name with
// each prefix. They are names of no key.
func restoreCalls(prefixes []string) (calls [][]string) {
	k := prefixes[0] + nobody
	calls = [][]string{
		{"INFO", "server"}, {"TIME"}, {"SCAN", "0"}, {"SCRIPT", "LOAD", "return 1"}, {"EVALSHA", strings.Repeat("0", 40), "1", k}, {"EVAL", "return 1", "1", k},
		{"GET", k}, {"EXISTS", k}, {"TYPE", k}, {"HGET", k, "f"}, {"HMGET", k, "f"}, {"HGETALL", k}, {"DUMP", k}, {"PTTL", k}, {commandExpiry, k}, {"XRANGE", k, "-", "+", "COUNT", "1"},
		{"SET", k, "v", "XX"}, {"DEL", k}, {"HSET", k, "f", "v"}, {"HDEL", k, "f"}, {"LPUSH", k, "v"}, {"PEXPIREAT", k, "1"}, {"PERSIST", k},
	}
	for _, prefix := range prefixes {
		calls = append(calls, []string{"EXISTS", prefix + nobody}, []string{"DEL", prefix + nobody})
	}
	return calls
}

// nobody ends a name that no key has.
const nobody = "{0000}:nobody"

// commandExpiry is one that a server older than Redis 7 does not have, and is not asked for there.
const commandExpiry = "PEXPIRETIME"

// told says what somebody lacks, and the rule that gives it.
func told(found []redisstore.Lack, user string) string {
	var lacks, rules, servers, unknown []string
	for _, l := range found {
		command, grant := l.Call[0], "+"+strings.ToLower(l.Call[0])
		if command == "SCRIPT" {
			command, grant = "SCRIPT "+l.Call[1], grant+"|"+strings.ToLower(l.Call[1])
		}
		switch {
		case l.Unknown && command == commandExpiry:
			continue
		case l.Unknown:
			unknown = append(unknown, command)
			continue
		case l.Key:
			name := l.Call[slices.IndexFunc(l.Call, func(word string) bool { return strings.HasSuffix(word, nobody) })]
			name = strings.TrimSuffix(name, nobody) + "*"
			command, grant = "the keys "+name, "~"+name
		}
		lacks, rules, servers = append(lacks, command), append(rules, grant), append(servers, l.Server)
	}
	var says []string
	if len(lacks) > 0 {
		says = append(says, fmt.Sprintf("the user %s of Redis may not use %s: ACL SETUSER %s %s, on %s",
			user, strings.Join(each(lacks), ", "), user, strings.Join(each(rules), " "), strings.Join(each(servers), " and ")))
	}
	if len(unknown) > 0 {
		says = append(says, fmt.Sprintf("this Redis has no %s, or another name for it", strings.Join(each(unknown), ", ")))
	}
	return strings.Join(says, "; ")
}

// each has every text once, in order.
func each(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}
