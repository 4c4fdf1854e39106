package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// terms are how many replicas have a change before it is acknowledged, and how many there are. They are the same for
// all processes, so they are kept with the identities: a server is accepted by itself on the strength of what
// others have waited for.
type terms struct{ wait, replicas int }

func (t terms) String() string {
	text := "wait=" + strconv.Itoa(t.wait)
	if t.replicas > 0 {
		text += "&replicas=" + strconv.Itoa(t.replicas)
	}
	return text
}

// check returns what is wrong with terms.
func (t terms) check() error {
	switch {
	case t.replicas > 0 && t.wait == 0:
		return fmt.Errorf("replicas=%d in the store's DSN is for wait=1 and more", t.replicas)
	case t.replicas > 0 && t.replicas < t.wait:
		return fmt.Errorf("wait=%d&replicas=%d in the store's DSN: no change can have reached more replicas than there are", t.wait, t.replicas)
	}
	return nil
}

// witnesses is how many replicas beside one that was promoted must be shown to have no more than it: among them
// and it is one of those that had a change when it was acknowledged. It is negative where nobody knows.
func (t terms) witnesses() int {
	if t.wait == 0 || t.replicas == 0 {
		return -1
	}
	return t.replicas - t.wait
}

// roster is what a bucket keeps of its servers: the identities of those that are accepted, and the terms.
type roster struct {
	identities []string
	terms      terms
}

// String is the form in which it is kept: words, of which those of the terms have an equals sign.
func (a roster) String() string {
	words := slices.Clone(a.identities)
	if a.terms.wait > 0 {
		words = append(words, "wait="+strconv.Itoa(a.terms.wait), "replicas="+strconv.Itoa(a.terms.replicas))
	}
	return strings.Join(words, " ")
}

func parseRoster(text string) (a roster) {
	for word := range strings.FieldsSeq(text) {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			a.identities = append(a.identities, word)
			continue
		}
		n, _ := strconv.Atoi(value) // what cannot be read fits no DSN
		switch name {
		case "wait":
			a.terms.wait = n
		case "replicas":
			a.terms.replicas = n
		}
	}
	return a
}

func (a roster) has(id Identity) bool { return slices.Contains(a.identities, id.String()) }

// hasHistory reports whether a server with such a history is among the accepted ones.
func (a roster) hasHistory(id string) bool {
	return slices.ContainsFunc(a.identities, func(known string) bool { return strings.HasSuffix(known, ":"+id) })
}

// agrees returns an error if processes with another DSN rely on other terms.
func (a roster) agrees(mine terms) error {
	if len(a.identities) == 0 || a.terms == mine {
		return nil
	}
	return fmt.Errorf("this store is kept with %v, and the DSN says %v: all processes need the same. Change the DSN; or, to change the store, "+
		"stop all processes and run `reprise store init --accept-loss --who NAME --why REASON --store …` with the new DSN", a.terms, mine)
}
