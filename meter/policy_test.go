package meter_test

import (
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/metertest"
)

func TestPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id    meter.PolicyID
		text  string
		hints string // what the error has to say
	}{
		{meter.LineBlocked, "blocked=true", "yes or no"},
		{meter.LineBlocked, "blocked=", "yes or no"},
		{meter.LineBlocked, "blocked", "name=value"},
		{meter.LineBlocked, "block=yes", "it has blocked"},
		{meter.LineBlocked, "blocked:video=yes", "it has blocked"},
		{meter.LineBlocked, "blocked=no;blocked=yes", "set twice"},
		{meter.LineBlocked, "blocked=yes;", "name=value"},
		{meter.BlockedHours, "hours=", "22:00-06:00"},
		{meter.BlockedHours, "hours=22-6", "22:00-06:00"},
		{meter.BlockedHours, "hours=24:00-06:00", "22:00-06:00"},
		{meter.BlockedHours, "hours=22:00-24:01", "22:00-06:00"},
		{meter.BlockedHours, "hours=22:60-23:00", "22:00-06:00"},
		{meter.BlockedHours, "hours=22:00-00:00", "22:00-06:00"}, // write 24:00
		{meter.BlockedHours, "hours=12:00-12:00", "22:00-06:00"}, // all day, or nothing?
		{meter.BlockedHours, "hours=12:00-14:00,13:00-15:00", "apart"},
		{meter.BlockedHours, "hours=12:00-14:00,14:00-15:00", "apart"},
		{meter.BlockedHours, "hours=14:00-15:00,12:00-13:00", "in order"},
		{meter.BlockedHours, "hours=22:00-06:00,23:00-23:30", "in order"},
		{meter.BlockedHours, "hours=05:00-07:00,22:00-06:00", "apart"},
		{meter.BlockedHours, "hours=05:00-07:00,22:00-05:00", "apart"},
		{meter.BlockedHours, "hours=-1:00-06:00", "22:00-06:00"},
		{meter.LineCap, "cap=-1", "bytes"},
		{meter.LineCap, "cap=1.5", "bytes"},
		{meter.LineCap, "cap=1e9", "bytes"},
		{meter.LineCap, "cap=007", "bytes"},
		{meter.LineCap, "cap=9223372036854775808", "bytes"},
		{meter.LineCap, "cap=unlimited", "or none"},
		{meter.LineCap, "cap:video=5", "it has cap"},
		{meter.AppCap, "cap=5", "cap:APP or cap:*"},
		{meter.AppCap, "cap:=5", "names no app"},
		{meter.AppCap, "cap:a b=5", "names no app"},
		{meter.AppCap, "cap:**=5", "names no app"},
		{meter.AppCap, "cap:video=5;cap:*=5", "cap:*=5;cap:video=5"}, // another order
		{meter.AppSpeed, "speed:video=0", "kbit/s"},
		{meter.AppSpeed, "speed:video=1000000001", "kbit/s"},
		{meter.AppSpeed, "qos=full", "kbit/s"},
		{meter.AppSpeed, "speed=5", "qos"},
		{meter.SharedCap, "cap=5 ", "bytes"},
		{meter.Uncounted, "app:maps=1", "yes or no"},
		{meter.Gate, "", "neither"},
		{meter.Gate, "open=maybe", "yes or no"},
		{0, "", "1 to 8"},
		{9, "", "1 to 8"},
		{meter.AppCap, strings.Repeat("cap:a=1;", 1001) + "cap:a=1", "at most 1000"},
		{meter.LineCap, "version=7", "it has cap"},
	} {
		p, err := meter.ParsePolicy(c.id, 1, c.text)
		if err == nil {
			t.Errorf("policy %v took %q as %q", c.id, c.text, p.Text())
		} else if !strings.Contains(err.Error(), c.hints) {
			t.Errorf("policy %v refuses %q without saying %q: %v", c.id, c.text, c.hints, err)
		}
	}
	if _, err := meter.NewPolicy(meter.LineCap, 0); err == nil {
		t.Error("version 0 was taken")
	}
}

func TestHashesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, hash := range []map[string]string{
		{}, {"cap": "5"}, {"version": "0"}, {"version": "x", "cap": "5"}, {"version": "1", "cap": "x"}, {"version": "1", "other": "5"},
	} {
		if _, err := meter.ReadPolicy(meter.LineCap, hash); err == nil {
			t.Errorf("%v is read as a policy", hash)
		}
	}
	for _, hash := range []map[string]string{
		{"3:cap": "5"}, {"9:cap": "5", "9:version": "1"}, {"cap": "5", "version": "1"}, {"8:open": "yes", "8:version": "1"}, {"03:cap": "5", "03:version": "1"},
	} {
		if _, err := meter.ReadLinePolicies(hash); err == nil {
			t.Errorf("%v is read as the policies of a line", hash)
		}
	}
}

// TestPoliciesComeBack: what was written as a text or a hash is read as the same.
func TestPoliciesComeBack(t *testing.T) {
	t.Parallel()
	cases := metertest.NewCases(1, calendarOf(t, "Europe/Berlin", 1))
	for range 500 {
		drawn, err := cases.Policies()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range meter.AllPolicies() {
			p := drawn.Global.Get(id)
			if again := policy(t, id, p.Text()); again.Text() != p.Text() {
				t.Errorf("%q is read as %q", p.Text(), again.Text())
			}
			again, err := meter.ReadPolicy(id, hashOf(p.Fields()))
			if err != nil || again.Text() != p.Text() || again.Version() != p.Version() || again.ID() != id {
				t.Errorf("%v is read as %v, %v", p.Fields(), again.Fields(), err)
			}
		}
		line := hashOf(drawn.Line.LineFields())
		set, err := meter.ReadLinePolicies(line)
		if err != nil || !maps.Equal(hashOf(set.LineFields()), line) {
			t.Errorf("%v is read as %v, %v", line, set.LineFields(), err)
		}
	}
}

func hashOf(fields []meter.Field) map[string]string {
	hash := map[string]string{}
	for _, f := range fields {
		hash[f.Name] = f.Value
	}
	return hash
}

// TestHoursAreMinutes compares windows with a count of all minutes of a day.
func TestHoursAreMinutes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		from, to := rapid.IntRange(0, 1439).Draw(r, "from"), rapid.IntRange(1, 1440).Draw(r, "to")
		if from == to {
			return
		}
		clock := func(m int) string {
			return string([]byte{'0' + byte(m/600), '0' + byte(m/60%10), ':', '0' + byte(m%60/10), '0' + byte(m%10)})
		}
		p := parsePolicies(t, meter.Calendar{}, "2:hours="+clock(from)+"-"+clock(to))
		blocked := map[int]bool{}
		minutes := to - from
		if minutes < 0 {
			minutes += 1440
		}
		for i := range minutes {
			blocked[(from+i)%1440] = true
		}
		minute := rapid.SampledFrom([]int{from, to % 1440, (from + 1439) % 1440, (to + 1439) % 1440, rapid.IntRange(0, 1439).Draw(r, "any")}).Draw(r, "minute")
		at := instant(t, "2026-03-10T"+clock(minute)+":59Z")
		if got := p.Rule("video", at).Hours; got != blocked[minute] {
			r.Fatalf("%s-%s: %s is blocked: %v", clock(from), clock(to), clock(minute), got)
		}
	})
}

func FuzzParsePolicy(f *testing.F) {
	f.Add(uint8(2), "hours=12:00-13:30,22:00-06:00")
	f.Add(uint8(4), "cap:*=5000000000;cap:video=none")
	f.Add(uint8(5), "qos=64;speed:*=full;speed:video=1500")
	f.Add(uint8(8), "open=yes")
	f.Fuzz(func(t *testing.T, id uint8, text string) {
		p, err := meter.ParsePolicy(meter.PolicyID(id), 1, text)
		if err != nil {
			return
		}
		if p.Text() != text {
			t.Fatalf("%q is read as %q", text, p.Text())
		}
		again, err := meter.ReadPolicy(p.ID(), hashOf(p.Fields()))
		if err != nil || again.Text() != text {
			t.Fatalf("%v is read as %q, %v", p.Fields(), again.Text(), err)
		}
	})
}
