package meterrestore

import (
	"context"

	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
)

func (p *Plan) waiting(ctx context.Context, m *meterredis.Meter) ([]restore.Finding, error) {
	return nil, nil
}
