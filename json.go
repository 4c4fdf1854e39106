package reprise

import (
	"context"
	"encoding/json"
)

// DoJSON is [Guard.Do] for actions that return a value. The value is recorded as JSON, and comes back
// from JSON on the first call too, so that first answer and replay do not differ.
func DoJSON[T any](ctx context.Context, g *Guard, call Call, action func(ctx context.Context, run *Run) (T, error)) (T, error) {
	var value T
	outcome, err := g.Do(ctx, call, func(ctx context.Context, run *Run) (Response, error) {
		v, err := action(ctx, run)
		if err != nil {
			return Response{}, err
		}
		data, err := json.Marshal(v)
		return Response{Codec: CodecJSON, Data: data}, err
	})
	if err != nil {
		return value, err
	}
	if outcome.Response.Codec != CodecJSON {
		return value, &Error{Kind: ErrIncompatible, Digest: outcome.Digest, Detail: "the answer was recorded with codec " + outcome.Response.Codec}
	}
	if err := json.Unmarshal(outcome.Response.Data, &value); err != nil {
		return value, &Error{Kind: ErrIncompatible, Digest: outcome.Digest, Detail: "the recorded answer does not fit the type", Cause: err}
	}
	return value, nil
}
