package config

import (
	"fmt"
	"strconv"
	"time"
)

// meterKeys are those of `reprise meter`.
func meterKeys() []entry[Meter] {
	keys := []entry[Meter]{
		{Key{Name: "redis", Type: "DSN", Flag: true,
			Doc: "The Redis that decides: `redis://USER@HOST/DATABASE`, `redis+sentinel://…` or `redis+cluster://…`, with TLS as `rediss`. `?prefix=TEXT` begins the names of its records (default meter:); balances and counters have the names that this page lists. A `maxmemory-policy` other than noeviction is refused. A password does not belong on the command line: put the DSN into this file or into the variable."},
			setText(func(c *Meter) *string { return &c.Redis })},
		{Key{Name: "ledger", Type: "DSN", Flag: true,
			Doc: "The SQL that knows: `mysql://USER@HOST/DATABASE` of MariaDB or MySQL, or `postgres://USER@HOST/DATABASE`. Its tables are made by `reprise migrate up --ledger DSN`."},
			setText(func(c *Meter) *string { return &c.Ledger })},
		{Key{Name: "listen", Type: "ADDRESS:PORT", Default: "127.0.0.1:8081", Flag: true,
			Doc: "Where `serve` answers. On a loopback address only requests to a loopback name are answered. Any other address needs `token-file`."},
			setAddress(func(c *Meter) *string { return &c.Listen }, false)},
		{Key{Name: "token-file", Type: "file", Flag: true,
			Doc: "A file with the token that requests below /v1/ carry as `Authorization: Bearer TOKEN`: one line of at least 16 characters."},
			setText(func(c *Meter) *string { return &c.TokenFile })},
		{Key{Name: "zone", Type: "time zone", Default: "UTC",
			Doc: "The time zone of days, months and blocked hours, by its name in the IANA database, such as Europe/Berlin. Not to be changed while there are rows, and the same for every process."},
			setZone},
		{Key{Name: "anchor", Type: "day from 1 to 31", Default: "1",
			Doc: "The day on which billing months begin; in a shorter month its last day. Not to be changed while there are rows."},
			setNumber(func(c *Meter) *int64 { return &c.Anchor }, 1, 31)},
		{Key{Name: "retention", Type: "duration", Default: "7d",
			Doc: "How old an event may be that is accepted. Records of events are kept a day longer than that after their rows. The same for every process: `hydrate --renew` changes it."},
			setDuration(func(c *Meter) *time.Duration { return &c.Retention }, time.Hour)},
		{Key{Name: "tolerance", Type: "duration", Default: "1h",
			Doc: "How far in the future an event may be that is accepted: by how much clocks differ. At most 48h, because months are opened so long before they begin. The same for every process: `hydrate --renew` changes it."},
			setDuration(func(c *Meter) *time.Duration { return &c.Tolerance }, 0)},
		{Key{Name: "keep-rows", Type: "duration", Default: "0",
			Doc: "For how long rows of the done log are kept that are summed up in daily totals and monthly snapshots, which stay. Never shorter than records of events are. 0 keeps them for ever."},
			setDurationOrNone(func(c *Meter) *time.Duration { return &c.KeepRows }, day)},
		{Key{Name: "batch", Type: "number", Default: "1000", Flag: true,
			Doc: "How many decided events share a commit of the done log at most."},
			setNumber(func(c *Meter) *int64 { return &c.Batch }, 1, 10_000)},
		{Key{Name: "stream-limit", Type: "number", Default: "100000",
			Doc: "How many events wait in each of the 16 streams at most. When one is full the intake answers 429 for its lines, and nothing is dropped."},
			setNumber(func(c *Meter) *int64 { return &c.StreamLimit }, 10_000, 100_000_000)},
		{Key{Name: "take-over", Type: "duration", Default: "30s",
			Doc: "After what silence of a worker its deliveries are taken over by others. Longer than a batch takes."},
			setDuration(func(c *Meter) *time.Duration { return &c.TakeOver }, time.Second)},
		{Key{Name: "durable", Type: "true or false", Default: "false", Flag: true,
			Doc: "Whether events are put into SQL before they are answered. Without it they wait in Redis, and those that are not decided yet are lost with it."},
			setBool(func(c *Meter) *bool { return &c.Durable })},
		{Key{Name: "max-body", Type: "size", Default: "4MiB", Doc: "How large the body of a request may be."},
			setSize(func(c *Meter) *int64 { return &c.MaxBody })},
		{Key{Name: "max-wait", Type: "duration", Default: "10s", Doc: "For how long `?wait=true` and the move of a line wait before they are answered otherwise."},
			setDurationOrNone(func(c *Meter) *time.Duration { return &c.MaxWait }, leastWait)},
		{Key{Name: "drain-timeout", Type: "duration", Default: "30s", Flag: true,
			Doc: "How long requests and batches that run may go on after SIGTERM. What is cut off is gone on with by other processes."},
			setDurationOrNone(func(c *Meter) *time.Duration { return &c.DrainTimeout }, leastDrain)},
		{Key{Name: "log.format", Type: "auto, text or json", Default: "auto", Flag: true,
			Doc: "How log lines look on standard error. auto is text on a terminal and JSON elsewhere."},
			setWord(func(c *Meter) *string { return &c.Log.Format }, "auto", "text", "json")},
		{Key{Name: "log.level", Type: "debug, info, warn or error", Default: "info", Flag: true, Doc: "What is logged."},
			setWord(func(c *Meter) *string { return &c.Log.Level }, "debug", "info", "warn", "error")},
	}
	for i := range keys {
		keys[i].Of = "meter"
	}
	return keys
}

func setZone(c *Meter, v value) error {
	name, err := v.single()
	if err != nil {
		return err
	}
	if name == "" || name == "Local" {
		return fmt.Errorf("%q is not a time zone; name one, such as Europe/Berlin or UTC: it has to be the same on every machine", name)
	}
	if c.Zone, err = time.LoadLocation(name); err != nil {
		return fmt.Errorf("%q is not a time zone; write one such as Europe/Berlin or UTC", name)
	}
	return nil
}

func setNumber[T any](field func(*T) *int64, least, most int64) func(*T, value) error {
	return func(t *T, v value) error {
		s, err := v.single()
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > most {
			return fmt.Errorf("%q is not a number from %d to %d", s, least, most)
		}
		*field(t) = n
		return nil
	}
}

// maxTolerance is how long before they begin months are opened.
const maxTolerance = 48 * time.Hour

// checkMeter finds what is wrong beyond single values.
func checkMeter(l *loader, c *Meter, places map[string]Place) {
	if c.Tolerance > maxTolerance {
		l.refuse(places["tolerance"], "tolerance", "%s is more than %s, and months are opened no earlier than that before they begin", Spell(c.Tolerance), Spell(maxTolerance))
	}
	if c.Retention > 400*day {
		l.refuse(places["retention"], "retention", "%s is more than 400d: as long every event's record stays in Redis", Spell(c.Retention))
	}
}

// MeterMarkdown returns the table of docs/meter.md.
func MeterMarkdown() string { return rows(MeterKeys()) }
