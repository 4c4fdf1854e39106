// Package patience says for whom a duplicate waits, where that is not for as long as its context lasts. A guarded
// request goes on when its client has gone, because its action is recorded then; but nobody is left who would get
// another's answer.
package patience

import "context"

// Key is what a context is asked for: its value is the context of who waits.
type Key struct{}

// Of returns the context of who waits: ctx itself, unless it says somebody else's.
func Of(ctx context.Context) context.Context {
	if who, ok := ctx.Value(Key{}).(context.Context); ok {
		return who
	}
	return ctx
}
