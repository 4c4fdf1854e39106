package retryclient

import (
	"net/http"
	"slices"
)

// verdict is what an answer means for the call.
type verdict struct {
	refused error  // the kind of a refusal that ends the call
	again   bool   // ask again, as long as the options allow
	effect  effect // of the tries so far
}

// effect is what an answer tells about the effect of all tries so far.
type effect int

const (
	// settled: it is the answer of the operation, or it proves that nothing happened so far.
	settled effect = iota
	// unsaid: nothing came of this try, and it tells nothing about earlier ones.
	unsaid
	// possible: the effect may have happened.
	possible
)

// judge decides about an answer. It is doubtful where an earlier try may have taken effect.
func judge(response *http.Response, p problem, retry []int, doubtful bool) verdict {
	if response.Header.Get("Idempotency-Replayed") == "true" {
		return verdict{effect: settled} // final, however often it is asked for
	}
	switch p.Type {
	case problemUnknown:
		// With Retry-After it is the next try that finds out.
		return verdict{again: response.Header.Get("Retry-After") != "", effect: possible}
	case problemUnreadable:
		return verdict{effect: possible}
	case problemInProgress:
		return verdict{again: true, effect: possible}
	case problemKeyReused:
		return verdict{refused: ErrKeyReused}
	case problemExpired:
		return verdict{refused: ErrExpired}
	case problemNotKept:
		return verdict{refused: ErrNotKept}
	case problemIncompatible:
		return verdict{refused: ErrIncompatible}
	case problemUnreachable:
		if response.Header.Get("Reprise-Recorded") == "false" {
			// It could not ask its store and runs requests all the same: that it sent nothing on is about this try.
			return verdict{again: true, effect: unsaid}
		}
		// The server had the key, sent nothing on, and keeps the key free: whatever was tried before under
		// this key had no effect either, or the key would not have been given out again.
		return verdict{again: true, effect: settled}
	case problemNoAnswer:
		return verdict{again: true, effect: possible}
	case problemUnavailable, problemLost, problemNoPrincipal:
		return verdict{again: true, effect: unsaid}
	case problemNoKey, problemBadKey, problemWhoAsks, problemBadPrincipal, problemTooLarge, problemIncomplete, problemMisconfigured:
		return verdict{effect: unsaid}
	}
	again := slices.Contains(retry, response.StatusCode)
	switch response.StatusCode {
	case http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		// Usually said by whoever stands before the service, without looking at the key.
		return verdict{again: again, effect: unsaid}
	}
	if doubtful && response.StatusCode == http.StatusConflict {
		// Servers without problem types say so of a key whose first request still runs, and of a conflict in
		// the service. The first try meets no request of its own; a later one asks until it is told more.
		again = true
	}
	if again {
		return verdict{again: true, effect: possible}
	}
	return verdict{effect: settled}
}
