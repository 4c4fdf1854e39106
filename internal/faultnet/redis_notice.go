package faultnet

import "strings"

// redisNotice is something that the server says about a channel, as {"subscribe", "orders"} or {"message",
// "orders"}, or another push. In RESP2 it is a list, which looks like a reply.
type redisNotice struct {
	kind    string
	channel string
	push    bool
}

// redisNoticeOf returns the notice that a value may be.
func redisNoticeOf(value []byte) redisNotice {
	notice := redisNotice{push: value[0] == '>'}
	if !notice.push && value[0] != '*' {
		return notice
	}
	if words := redisWords(value, 2); len(words) == 2 {
		notice.kind, notice.channel = string(words[0]), string(words[1])
	}
	return notice
}

// confirms reports whether it confirms a subscription, or its end, by that command.
func (n redisNotice) confirms(command string) bool {
	_, _, ok := subscription(n.kind)
	return ok && strings.ToUpper(n.kind) == command
}

// subscription says what a notice confirms: one of a family ("", "p" for patterns, "s" for shards), or the
// end of one.
func subscription(kind string) (family string, ends, ok bool) {
	family, ends = strings.CutSuffix(kind, "unsubscribe")
	if !ends {
		family, ok = strings.CutSuffix(kind, "subscribe")
	}
	return family, ends, (ends || ok) && (family == "" || family == "p" || family == "s")
}

// redisSubscriptions is what a connection has subscribed to: channels by the family of subscriptions.
type redisSubscriptions struct {
	channels map[string]map[string]bool
	pushes   bool // they were confirmed by pushes, and so are their messages
}

// explain reports whether a list is a notice: a connection of RESP2 that has subscribed gets no other lists
// that look like one.
func (s *redisSubscriptions) explain(notice redisNotice) bool {
	_, _, ok := subscription(notice.kind)
	return s.any() && !s.pushes && (ok || strings.HasSuffix(notice.kind, "message"))
}

// note remembers what a notice says of subscriptions, if it does.
func (s *redisSubscriptions) note(notice redisNotice) {
	family, ends, ok := subscription(notice.kind)
	switch {
	case !ok:
		return
	case ends:
		delete(s.channels[family], notice.channel)
		return
	case s.channels == nil:
		s.channels = map[string]map[string]bool{}
	}
	if s.channels[family] == nil {
		s.channels[family] = map[string]bool{}
	}
	s.channels[family][notice.channel] = true
	s.pushes = notice.push
}

// count returns how many channels there are of the family of a notice.
func (s *redisSubscriptions) count(notice redisNotice) int {
	family, _, _ := subscription(notice.kind)
	return len(s.channels[family])
}

func (s *redisSubscriptions) any() bool {
	for _, channels := range s.channels {
		if len(channels) > 0 {
			return true
		}
	}
	return false
}
