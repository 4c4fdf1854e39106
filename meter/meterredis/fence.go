package meterredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/store"
)

//go:embed script/fence.lua
var fenceLua string

// ErrFenced is the error of a write whose epoch is not that of the bucket's fence, or of a bucket without one: somebody else restores
// by now, or Redis was lost again.
var ErrFenced = errors.New("the bucket has another fence, or none")

// WriteFence writes an epoch into every bucket of a generation. Writes of units that carry another one are refused from then on. A
// newer epoch in any of them is [ErrFenced].
func (m *Meter) WriteFence(ctx context.Context, epoch int64) error {
	var calls []rueidis.LuaExec
	var names []string
	for b, bucket := range buckets() {
		g, key := m.store.BucketGeneration(b)
		calls = append(calls, rueidis.LuaExec{Keys: []string{m.names.fence(bucket), key}, Args: []string{rueidis.BinaryString(g[:]), number(epoch)}})
		names = append(names, bucket)
	}
	for i, reply := range m.fence.ExecMulti(ctx, m.client, calls...) {
		n, err := reply.AsInt64()
		switch {
		case err != nil:
			return failed("write the fence of bucket "+names[i], err)
		case n == -2:
			return fmt.Errorf("bucket %s: %w", names[i], ErrFenced)
		case n == -3:
			return fmt.Errorf("%w: bucket %s has another generation than this process knows, or none", store.ErrLost, names[i])
		}
	}
	return nil
}
