package meter_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/meter"
)

// A line with 1000 bytes of its own, in a family with 5000, which may take 600 of these in a month.
func ExampleApply() {
	calendar, err := meter.NewCalendar(time.UTC, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	policies := meter.Policies{Calendar: calendar}
	for _, id := range meter.AllPolicies() {
		settings := map[meter.PolicyID]string{meter.AppSpeed: "qos=64", meter.SharedCap: "cap=600", meter.Gate: "open=yes"}
		policy, err := meter.ParsePolicy(id, 1, settings[id])
		if err != nil {
			fmt.Println(err)
			return
		}
		policies.Global = policies.Global.With(policy)
	}
	state := meter.State{
		Line: "+4915112345", Family: "smith", App: "video", Day: 20260301, Month: 202603, Known: true,
		Generation: "9f3c", Unit: meter.Unit{Generation: "9f3c", Phase: meter.PhaseRows, Open: true, MonthOpen: true},
		Individual: meter.Allowance{Granted: true, Amount: 1000, QoS: 300},
		Shared:     meter.SharedAllowance{Granted: true, Amount: 5000},
	}
	for _, bytes := range []int{800, 700, 500} {
		event, err := meter.DecodeEvent(fmt.Appendf(nil,
			`{"event_id":"e-%d","line_id":"+4915112345","app_id":"video","bytes":%[1]d,"occurred_at":"2026-03-01T12:00:00Z"}`, bytes))
		if err != nil {
			fmt.Println(err)
			return
		}
		var result meter.Result
		if state, result, err = meter.Apply(state, event, policies); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Text())
	}
	fmt.Println(state.Individual.Amount, state.Shared.Amount, state.Individual.QoS)

	// Output:
	// 1;d=20260301;m=202603;i=800;f=smith;lv=1;g=9f3c
	// 1;d=20260301;m=202603;i=200;s=500;f=smith;lv=2;fv=1;g=9f3c
	// 1;d=20260301;m=202603;s=100;q=300;b=100;why=shared_cap,allowance_used,qos_used;sp=64;f=smith;lv=3;fv=2;g=9f3c
	// 0 4400 0
}

// An error says what to change, and its reason is a word for programs.
func ExampleDecodeEvent() {
	_, err := meter.DecodeEvent([]byte(`{"event_id":"e-1","line_id":"+4915112345","app_id":"video","bytes":1e6,"occurred_at":"2026-03-01T12:00:00Z"}`))
	fmt.Println(err)
	fmt.Println(errors.Is(err, meter.BadBytes))

	// Output:
	// bad_bytes: bytes: "1e6": write a whole number from 1 to 9223372036854775807, in digits alone
	// true
}
