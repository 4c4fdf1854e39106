package storetest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"

	"github.com/reprise-dev/reprise/machine"
)

// runFields takes one record through all transitions. Every reply and record is compared with the
// model's; here it is shown that the walk fills every field, so that none is left out (O4).
func runFields(d *database) {
	c := newCaller(machine.Scope{
		Operation: strings.Repeat("ü ", 80) + "'\"%_", SecretVersion: math.MaxUint32, Digest: sum("fields"),
	}, "holder")
	c.claim.Fingerprints[0].Version, c.claim.Policy = math.MaxUint32, math.MaxUint32
	c.claim.Interruption = machine.Rerun
	filled := map[string]bool{}
	step := func(want machine.Outcome, command machine.Command) {
		d.Helper()
		c.learn(d.expect(want, command))
		record := reflect.ValueOf(*d.inspect(c.claim.Scope))
		for i := range record.NumField() {
			filled[record.Type().Field(i).Name] = filled[record.Type().Field(i).Name] || !record.Field(i).IsZero()
		}
	}
	failure := func() machine.Fail {
		f := c.fail(false)
		f.Reason = "not UTF-8: \xff, and a zero: \x00"
		return f
	}
	step(machine.Acquired, c.claim)
	step(machine.Renewed, c.renew())
	step(machine.Started, c.start())
	step(machine.Renewed, c.renew())
	step(machine.Failed, failure())
	step(machine.SettledNow, c.settle(false))
	taking := seen(another(c), c.hold.Revision)
	taking.claim.Fingerprints, taking.claim.Policy = c.claim.Fingerprints, c.claim.Policy
	c.claim, c.hold = taking.claim, taking.hold
	step(machine.TakenOver, c.begin())
	step(machine.Failed, failure())
	step(machine.SettledNow, c.settle(true))
	d.advance(window)
	d.refuse(machine.Gone, c.claim)
	for name := range filled {
		if !filled[name] && name != "Generation" && name != "Extensions" { // no command makes those
			d.Errorf("the walk never filled %s", name)
		}
	}
}

// runAnswers keeps answers of all shapes. Nothing is an answer too (O5).
func runAnswers(d *database) {
	noise := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8(sum("noise")).Read(noise)
	sealed, unkept := machine.NewResponse("text/1", []byte("plain")), machine.NewResponse("text/1", []byte("201"))
	sealed.Sealed, sealed.Data = "key 1", []byte("sealed bytes")
	unkept.NotKept = true
	for name, response := range map[string]machine.Response{
		"no data":      machine.NewResponse("text/1", nil),
		"empty data":   machine.NewResponse("text/1", []byte{}),
		"one zero":     machine.NewResponse("text/1", []byte{0}),
		"not UTF-8":    machine.NewResponse("text/1", []byte("\xff\xfe'\\\r\n\x00%s")),
		"1 MiB":        machine.NewResponse("text/1", noise),
		"not kept":     unkept,
		"sealed":       sealed,
		"another form": machine.NewResponse("http/1", []byte("text")),
	} {
		c := newCaller(d.scope(name), "holder")
		executing(d, c)
		completion := c.complete()
		completion.Response = response
		d.expect(machine.CompletedNow, completion)
		d.refuse(machine.AlreadyCompleted, completion)
		for range 2 {
			got := d.refuse(machine.Replay, another(c).begin()).Response
			if got.IsZero() || !bytes.Equal(got.Data, response.Data) || got.Digest != response.Digest || got.NotKept != response.NotKept {
				d.Errorf("%s: replayed with codec %q, %d bytes, kept %v", name, got.Codec, len(got.Data), !got.NotKept)
			}
		}
	}
}

// runKeys shows that keys are compared as bytes: none of these is another one's key.
func runKeys(d *database) {
	var digests []machine.Digest
	for _, ending := range []string{"a", "A", "a ", "a\x00", "\x00a", "ä", "\xe4", "%", "_", "'", "\\", "ss", "ß"} {
		var padded, first machine.Digest
		for i := range padded {
			padded[i], first[i] = 'k', 'k'
		}
		copy(padded[len(padded)-len(ending):], ending)
		copy(first[:], ending)
		digests = append(digests, padded, first)
	}
	for i, digest := range digests {
		c := newCaller(machine.Scope{Operation: "POST /keys", SecretVersion: 1, Digest: digest}, fmt.Sprint(i))
		c.learn(d.expect(machine.Acquired, c.begin()))
		d.expect(machine.CompletedNow, machine.Complete{
			Hold: c.hold, Response: machine.NewResponse("text/1", []byte(fmt.Sprint(i))), Window: window, Remember: remember,
		})
	}
	for i, digest := range digests {
		reply := d.refuse(machine.Replay, newCaller(machine.Scope{Operation: "POST /keys", SecretVersion: 1, Digest: digest}, "x").claim)
		if string(reply.Response.Data) != fmt.Sprint(i) {
			d.Errorf("key %q has the answer of key %s", digest[:], reply.Response.Data)
		}
	}
}

// runInvalid sends what makes no sense. It is answered, and is no error of the store.
func runInvalid(d *database) {
	c := newCaller(d.scope("invalid"), "holder")
	executing(d, c)
	noOwner, noFingerprint, noLease := twin(c), twin(c), c.renew()
	noOwner.hold.Owner, noFingerprint.claim.Fingerprints, noLease.Lease = machine.Token{}, nil, 0
	noResponse, noWho := c.complete(), c.settle(true)
	noResponse.Response, noWho.Who = machine.Response{}, ""
	for _, command := range []machine.Command{noOwner.renew(), noFingerprint.claim, noLease, noResponse, noWho} {
		d.refuse(machine.Invalid, command)
	}
}
