package meterredis

import (
	"fmt"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// Refused reports whether an error says that Redis does not let this user do what was asked: that does not pass by itself.
func Refused(err error) bool { return redisstore.NotPermitted(err) }

// notWritten translates the error of a script that writes what can be written again. An answer that says nothing of the state of Redis is of
// what was to be written: it would be the same again, and nobody is to wait for another one.
func notWritten(what string, err error) error {
	if answer, ok := redisstore.Answer(err); ok {
		return fmt.Errorf("%s: %w", what, answer)
	}
	return store.Indeterminate(fmt.Errorf("%s: it can be written again: %w", what, err))
}
