package meter_test

import (
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/meter"
)

const goodResult = "1;d=20260310;m=202603;i=100;s=200;q=300;b=50;why=line_cap,allowance_used;sp=64;f=fam;lv=12;fv=3;g=9f3c41d2"

func TestResultsThatAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := meter.ParseResult(goodResult); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{goodResult, ""}, {goodResult, "1"}, {goodResult, "1;"}, {"1;", "2;"}, {"1;", ""},
		{"i=100", "i=0100"}, {"i=100", "i=-100"}, {"i=100", "i=1e2"}, {"i=100", "i=9223372036854775807"}, {"i=100", "i=9223372036854775808"},
		{"i=100", "i="}, {"i=100", "i"}, {"i=100;", "i=0;"}, {"i=100", "i=100;i=100"}, {"i=100;s=200", "s=200;i=100"},
		{"d=20260310", "d=20260230"}, {"m=202603", "m=202613"}, {"d=20260310;", ""}, {"m=202603;", ""},
		{"b=50", "b=50;u=1"}, {"b=50", "x=50"},
		{"line_cap,allowance_used", "allowance_used,line_cap"}, {"line_cap,", "line_cap,line_cap,"}, {"line_cap", "no_cap"}, {"line_cap,", ","},
		{"sp=64", "sp=-1"}, {"q=300;", ""}, {"f=fam;", ""}, {"f=fam", "f=f:m"}, {"f=fam", "f="},
		{"lv=12;", ""}, {"lv=12", "lv=0"}, {"fv=3;", ""}, {"s=200;", ""}, {";g=9f3c41d2", ""}, {"9f3c41d2", "9F3C41D2"}, {"9f3c41d2", "xyz"},
		{"9f3c41d2", strings.Repeat("9", 33)}, {"9f3c41d2", "9f3c41d2;"}, {"9f3c41d2", "9f3c41d2 "}, {"9f3c41d2", "9f3c41d2\n"},
	} {
		text := strings.Replace(goodResult, c[0], c[1], 1)
		if r, err := meter.ParseResult(text); err == nil {
			t.Errorf("%q is read as %q", text, r.Text())
		}
	}
}

func FuzzParseResult(f *testing.F) {
	f.Add(goodResult)
	f.Add("1;d=20260310;m=202603;u=5;why=uncounted;lv=1;g=0")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := meter.ParseResult(text)
		if err != nil {
			return
		}
		if r.Text() != text {
			t.Fatalf("%q is read as %q", text, r.Text())
		}
		if amount, ok := r.Amount(); !ok || amount <= 0 {
			t.Fatalf("%q has the amount %d", text, amount)
		}
	})
}

func TestReasonsAndActions(t *testing.T) {
	t.Parallel()
	for reason, want := range map[meter.Reason]string{
		meter.BadBytes: "reject", meter.MissingFamily: "reject", meter.Overflow: "reject", "of a later version": "reject",
		meter.GateClosed: "wait", meter.MonthNotOpen: "wait", meter.UnitNotHydrated: "wait", meter.UnitClosed: "wait", meter.PoliciesMissing: "wait",
		meter.LineMoved: "look up",
	} {
		if got := reason.Action().String(); got != want {
			t.Errorf("%s: %s, want %s", reason, got, want)
		}
	}
}

func TestWide(t *testing.T) {
	t.Parallel()
	most := meter.WideOf(meter.MaxAmount)
	sum := meter.Wide{}
	for range 5 {
		sum = sum.Plus(most)
	}
	if sum.String() != "46116860184273879035" {
		t.Errorf("five times the largest amount is %v", sum)
	}
	if again, err := meter.ParseWide(sum.String()); err != nil || again != sum {
		t.Errorf("%v is read as %v, %v", sum, again, err)
	}
	if _, ok := sum.Amount(); ok {
		t.Errorf("%v is an amount", sum)
	}
	for range 4 {
		var ok bool
		if sum, ok = sum.Minus(most); !ok {
			t.Fatal("a sum cannot be taken apart")
		}
	}
	if amount, ok := sum.Amount(); !ok || amount != meter.MaxAmount {
		t.Errorf("what is left is %v", sum)
	}
	if _, ok := sum.Minus(most.Plus(meter.WideOf(1))); ok {
		t.Error("a sum became negative")
	}
	for _, text := range []string{"", "-1", "+1", "01", "1.0", "1e3", "340282366920938463463374607431768211456", "x"} {
		if w, err := meter.ParseWide(text); err == nil {
			t.Errorf("%q is read as %v", text, w)
		}
	}
}
