// Package inspect looks at the meter and changes nothing: what Redis and SQL hold of a line or a family, why nothing is decided
// for it ([Inspector.Line], [Inspector.Family]), and whether all that was recorded fits together ([Inspector.Audit]).
package inspect

import (
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Inspector looks. It may be used by several goroutines.
type Inspector struct {
	// Meter is that in Redis; nil if it cannot be opened, and Unopened says why then.
	Meter    *meterredis.Meter
	Unopened error
	Ledger   *meterledger.Ledger
	Calendar meter.Calendar
	Horizon  meter.Horizon
	// Still says that nothing is decided meanwhile, because the gate is closed and all that was let through has ended: then every key is
	// judged as it is.
	Still bool
	// Epoch is that of the fence that every bucket should have; 0 is any.
	Epoch int64
	// Shadow says that the meter is a shadow, which has a generation that SQL knows nothing of and decides nothing. It is still.
	Shadow bool
}

func (i *Inspector) still() bool { return i.Still || i.Shadow }
