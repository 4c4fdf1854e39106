package meter_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter"
)

// wantReason checks an error's reason; an empty one is no error. Every refusal says something.
func wantReason(t testing.TB, err error, reason meter.Reason) {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	var refusal *meter.Refusal
	if !errors.As(err, &refusal) || !errors.Is(err, reason) {
		t.Errorf("got %v, want %s", err, reason)
	} else if refusal.Detail == "" || !strings.HasPrefix(err.Error(), string(reason)+": ") {
		t.Errorf("%q does not say what to do", err)
	}
}

const good = `{"event_id":"e-1","line_id":"+4915112345","app_id":"video","bytes":1048576,"occurred_at":"2026-03-01T12:00:00Z"}`

func TestDecodeEvent(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		old, new string // what to replace in the good one
		reason   meter.Reason
	}{
		"good":                      {"", "", ""},
		"spaces":                    {`,`, " ,\n\t ", ""},
		"an escape":                 {`"e-1"`, `"\u0065-1"`, ""},
		"an escaped name":           {`"bytes"`, `"byt\u0065s"`, ""},
		"quotes in an id":           {`"e-1"`, `"a\"\\\/b"`, ""},
		"largest":                   {`1048576`, `9223372036854775807`, ""},
		"2^63":                      {`1048576`, `9223372036854775808`, meter.BadBytes},
		"many digits":               {`1048576`, strings.Repeat("9", 400), meter.BadBytes},
		"zero":                      {`1048576`, `0`, meter.BadBytes},
		"negative":                  {`1048576`, `-1`, meter.BadBytes},
		"negative zero":             {`1048576`, `-0`, meter.BadBytes},
		"a sign":                    {`1048576`, `+1`, meter.WrongType},
		"a fraction":                {`1048576`, `1.5`, meter.BadBytes},
		"a fraction of nothing":     {`1048576`, `1.0`, meter.BadBytes},
		"an exponent":               {`1048576`, `1e6`, meter.BadBytes},
		"a leading zero":            {`1048576`, `01`, meter.BadBytes},
		"hexadecimal":               {`1048576`, `0x10`, meter.BadBytes},
		"NaN":                       {`1048576`, `NaN`, meter.WrongType},
		"a text for a number":       {`1048576`, `"1048576"`, meter.WrongType},
		"null for a number":         {`1048576`, `null`, meter.WrongType},
		"an array for a number":     {`1048576`, `[1]`, meter.WrongType},
		"a number for a text":       {`"e-1"`, `1`, meter.WrongType},
		"null for a text":           {`"video"`, `null`, meter.WrongType},
		"an object for a text":      {`"video"`, `{"id":"video"}`, meter.WrongType},
		"unknown field":             {`{`, `{"family":"f",`, meter.UnknownField},
		"other case":                {`"bytes"`, `"Bytes"`, meter.UnknownField},
		"twice":                     {`{`, `{"bytes":1,`, meter.DuplicateField},
		"twice, once escaped":       {`{`, `{"byt\u0065s":1,`, meter.DuplicateField},
		"missing":                   {`"app_id":"video",`, ``, meter.MissingField},
		"empty id":                  {`"e-1"`, `""`, meter.BadID},
		"blank id":                  {`"e-1"`, `" "`, meter.BadID},
		"longest event id":          {`"e-1"`, `"` + strings.Repeat("e", 128) + `"`, ""},
		"event id too long":         {`"e-1"`, `"` + strings.Repeat("e", 129) + `"`, meter.BadID},
		"longest line id":           {`+4915112345`, strings.Repeat("9", 64), ""},
		"line id too long":          {`+4915112345`, strings.Repeat("9", 65), meter.BadID},
		"app id too long":           {`video`, strings.Repeat("v", 65), meter.BadID},
		"a control character":       {`e-1`, `e\u0000-1`, meter.BadID},
		"a raw control character":   {`e-1`, "e\x01", meter.BadID},
		"a newline":                 {`video`, `vi\ndeo`, meter.BadID},
		"not ASCII":                 {`video`, `vidéo`, meter.BadID},
		"a part of a key":           {`+4915112345`, `a:b`, meter.BadID},
		"a slot tag":                {`+4915112345`, `{0001}`, meter.BadID},
		"every app":                 {`video`, `*`, meter.BadID},
		"a part of a policy":        {`video`, `a=b;c`, meter.BadID},
		"a slash in a line":         {`+4915112345`, `a/b`, meter.BadID},
		"a slash in an event":       {`e-1`, `a/b`, ""},
		"not UTF-8":                 {`e-1`, "e\xff", meter.Malformed},
		"a lone surrogate":          {`e-1`, `\ud800`, meter.BadID},
		"bad escape":                {`e-1`, `\x41`, meter.Malformed},
		"other offset":              {`12:00:00Z`, `13:00:00+01:00`, ""},
		"a fraction of a second":    {`12:00:00Z`, `12:00:00.123456789Z`, ""},
		"no offset":                 {`12:00:00Z`, `12:00:00`, meter.BadTime},
		"no date":                   {`2026-03-01T`, ``, meter.BadTime},
		"no such date":              {`2026-03-01`, `2026-02-30`, meter.BadTime},
		"a comma":                   {`12:00:00Z`, `12:00:00,5Z`, meter.BadTime},
		"one digit of an hour":      {`12:00:00Z`, `1:00:00Z`, meter.BadTime},
		"before all calendars":      {`2026-03-01`, `0001-01-01`, meter.BadTime},
		"a dot and no digits":       {`12:00:00Z`, `12:00:00.Z`, meter.BadTime},
		"an offset without colon":   {`12:00:00Z`, `12:00:00+0100`, meter.BadTime},
		"an offset of two days":     {`12:00:00Z`, `12:00:00+48:00`, meter.BadTime},
		"an offset of 99 minutes":   {`12:00:00Z`, `12:00:00+01:99`, meter.BadTime},
		"UTC, told to be unknown":   {`12:00:00Z`, `12:00:00-00:00`, ""},
		"small letters":             {`T12:00:00Z`, `t12:00:00z`, meter.BadTime},
		"a leap second":             {`12:00:00Z`, `23:59:60Z`, meter.BadTime},
		"seconds since 1970":        {`"2026-03-01T12:00:00Z"`, `1772366400`, meter.WrongType},
		"empty":                     {good, ``, meter.Malformed},
		"nothing":                   {good, `{}`, meter.MissingField},
		"an array":                  {good, `[` + good + `]`, meter.Malformed},
		"two":                       {good, good + good, meter.Malformed},
		"more behind":               {good, good + `x`, meter.Malformed},
		"a NUL behind":              {good, good + "\x00", meter.Malformed},
		"white space behind":        {good, good + "\r\n", ""},
		"cut off":                   {`"2026-03-01T12:00:00Z"}`, `"2026-03-01T12:00`, meter.Malformed},
		"no brace":                  {`Z"}`, `Z"`, meter.Malformed},
		"a comma too many":          {`Z"}`, `Z",}`, meter.Malformed},
		"no comma":                  {`,"app_id"`, ` "app_id"`, meter.Malformed},
		"no colon":                  {`"bytes":`, `"bytes" `, meter.Malformed},
		"no quotes around the name": {`"bytes"`, `bytes`, meter.Malformed},
		"a comment":                 {`{`, `{/* */`, meter.Malformed},
		"a byte order mark":         {good, "\ufeff" + good, meter.Malformed},
		"too much":                  {good, good + strings.Repeat(" ", 4096), meter.TooLarge},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, err := meter.DecodeEvent([]byte(strings.ReplaceAll(good, c.old, c.new)))
			if c.old == "" {
				_, err = meter.DecodeEvent([]byte(good))
			}
			wantReason(t, err, c.reason)
		})
	}
}

func TestDigestTellsContents(t *testing.T) {
	t.Parallel()
	e := meter.Event{ID: "e-1", Line: "line", App: "video", Bytes: 5, At: instant(t, "2026-03-01T12:00:00Z")}
	same := e
	same.At = instant(t, "2026-03-01T13:00:00.000000999+01:00")
	if e.Digest() != same.Digest() {
		t.Error("the same instant in another zone is other content")
	}
	seen := map[meter.Digest]meter.Event{e.Digest(): e}
	for _, change := range []func(*meter.Event){
		func(e *meter.Event) { e.ID = "e-2" },
		func(e *meter.Event) { e.Line, e.ID = "linee", "-1" },
		func(e *meter.Event) { e.App = "chat" },
		func(e *meter.Event) { e.Bytes++ },
		func(e *meter.Event) { e.At = e.At.Add(time.Microsecond) },
	} {
		other := e
		change(&other)
		if before, ok := seen[other.Digest()]; ok {
			t.Errorf("%+v and %+v have one digest", before, other)
		}
		seen[other.Digest()] = other
	}
	// The digest is stored: it stays what it was.
	const first = "496ed98675795de3a722d13f194f26d638faa7ae4af9c0d39e8967357bcb0dd8"
	if got := e.Digest().String(); got != first {
		t.Errorf("the digest of the first form has changed: %s", got)
	}
	if e.Identity() != "line/e-1" {
		t.Errorf("identity %q", e.Identity())
	}
}

// FuzzDecodeEvent: what is taken is what encoding/json reads too, and is written so that it is read again.
func FuzzDecodeEvent(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(strings.ReplaceAll(good, `"e-1"`, `"\u0065\"\\"`)))
	f.Add([]byte(`{"bytes":1e3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := meter.DecodeEvent(text)
		if err != nil {
			var refusal *meter.Refusal
			if !errors.As(err, &refusal) || refusal.Reason.Action() != meter.Reject {
				t.Fatalf("%v is not a refusal of the event", err)
			}
			return
		}
		var known struct {
			EventID string    `json:"event_id"`
			LineID  string    `json:"line_id"`
			AppID   string    `json:"app_id"`
			Bytes   int64     `json:"bytes"`
			At      time.Time `json:"occurred_at"`
		}
		if err := json.Unmarshal(text, &known); err != nil {
			t.Fatalf("took what is not JSON: %v", err)
		}
		if e.ID != known.EventID || e.Line != known.LineID || e.App != known.AppID || e.Bytes != known.Bytes || e.At.UnixMicro() != known.At.UnixMicro() {
			t.Fatalf("read %+v, and encoding/json %+v", e, known)
		}
		again, err := meter.DecodeEvent(e.AppendJSON(nil))
		if err != nil || again != e {
			t.Fatalf("%s is read as %+v, %v", e.AppendJSON(nil), again, err)
		}
	})
}
