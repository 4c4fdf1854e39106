// Package reprise makes retries safe: the same call takes effect once and gets the same answer back.
//
//	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: secret})
//	guard, err := reprise.New(store, reprise.Policy{Secrets: secrets})
//	order, err := reprise.DoJSON(ctx, guard, reprise.Call{
//		Operation: "create order", Principal: customer, Key: key, Payload: body,
//	}, func(ctx context.Context, run *reprise.Run) (Order, error) {
//		return shop.Create(ctx, body)
//	})
//
// A key is claimed before the action runs, and the answer is recorded before it is handed out. A
// duplicate gets that answer, or is told that the first is still running. If the process dies in
// between, nobody knows whether the effect happened: the key then says so (ErrUnknown) until somebody
// settles it, unless the policy says that the action is safe to run again.
//
// # Errors
//
// Every error is an [*Error]. errors.Is finds in it:
//
//	ErrInvalid       the call or the policy makes no sense; nothing was sent
//	ErrInProgress    another call holds the key: ask again after Error.RetryAfter
//	ErrMismatch      the key was used for another request: a mistake of the caller
//	ErrExpired       answered once; the answer has expired; the action will not run again
//	ErrNotKept       answered once; the answer was too large to keep; Error.Response is a note of it
//	ErrIncompatible  answered once, in a form that this version of the program cannot read
//	ErrUnknown       nobody knows whether the effect happened; settle it with `reprise ops settle`
//	ErrNoEffect      the action failed without effect (Error.Cause says how): try again
//	ErrUnavailable   the action did not run: the store cannot be asked; try again
//	ErrLost          the action did not run: the store has lost its data (also ErrUnavailable)
//	ErrOutdated      the action did not run: the claim came too late, three times; try again (also ErrUnavailable)
//	ErrCorrupt       the action did not run: the key's record cannot be read
//	ErrSecret        the action did not run: the secret is not the store's
//	ErrLeaseLost     from Run.Start and Run.Complete: the key is no longer held; stop
//	ErrClosed        the guard was closed
package reprise
