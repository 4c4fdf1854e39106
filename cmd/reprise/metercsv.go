package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// importColumns are those of an import file, in this order.
const importColumns = "kind,id,family,individual,qos,shared"

// imported is what a file has, with the lines of the file.
type imported struct {
	families []meterledger.Family
	lines    []meterledger.Line
	apps     []string
	at       map[string]int // the file's line of each, by kind and id
	mistakes []string
}

// readImport reads a file. All its mistakes are one error, each with its line.
func readImport(name string, in io.Reader) (*imported, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1
	all := &imported{at: map[string]int{}}
	header, err := r.Read()
	if err != nil || strings.Join(header, ",") != importColumns {
		return nil, fmt.Errorf("%s:1: the first line names the columns: write %s", name, importColumns)
	}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if failed, ok := errors.AsType[*csv.ParseError](err); ok {
			all.mistake(name, failed.Line, "%v", failed.Err)
			break // what follows cannot be told apart
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := r.FieldPos(0) // of a record that could be read: another one may have no field
		all.take(name, line, record)
	}
	all.checkFamilies(name)
	return all, all.err()
}

const maxMistakes = 20

func (m *imported) mistake(name string, line int, format string, arguments ...any) {
	m.mistakes = append(m.mistakes, fmt.Sprintf("%s:%d: ", name, line)+fmt.Sprintf(format, arguments...))
}

func (m *imported) err() error {
	if len(m.mistakes) == 0 {
		return nil
	}
	if more := len(m.mistakes) - maxMistakes; more > 0 {
		m.mistakes = append(m.mistakes[:maxMistakes], fmt.Sprintf("and %d more", more))
	}
	return errors.New("nothing was imported\n" + strings.Join(m.mistakes, "\n"))
}

// take reads a record: kind, id, family, individual, qos, shared.
func (m *imported) take(name string, at int, record []string) {
	if columns := strings.Count(importColumns, ",") + 1; len(record) != columns {
		m.mistake(name, at, "has %d fields, and there are %d columns", len(record), columns)
		return
	}
	kind, id, family := record[0], record[1], record[2]
	if !meter.ValidID(id) {
		m.mistake(name, at, "%q is no id: write 1 to %d of A-Z a-z 0-9 . _ - + @", id, meter.MaxID)
		return
	}
	if before := m.at[kind+" "+id]; before > 0 {
		m.mistake(name, at, "%s %s is in line %d already", kind, id, before)
		return
	}
	m.at[kind+" "+id] = at
	amount := func(column int, wanted bool) int64 {
		text := record[column]
		if !wanted && text != "" {
			m.mistake(name, at, "%s has no %s: leave it empty", kind, strings.Split(importColumns, ",")[column])
		}
		if !wanted {
			return 0
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
			m.mistake(name, at, "%s is %q: write a whole number from 0 to %d, in digits alone", strings.Split(importColumns, ",")[column], text, int64(meter.MaxAmount))
		}
		return n
	}
	if kind != "line" && family != "" {
		m.mistake(name, at, "%s is in no family: leave it empty", kind)
	}
	isLine := kind == "line"
	individual, qos, shared := amount(3, isLine), amount(4, isLine), amount(5, kind == "family")
	switch kind {
	case "family":
		m.families = append(m.families, meterledger.Family{ID: id, Shared: shared})
	case "line":
		m.lines = append(m.lines, meterledger.Line{ID: id, Family: family, Individual: individual, QoS: qos})
	case "app":
		m.apps = append(m.apps, id)
	default:
		m.mistake(name, at, "kind is %q: write family, line or app", kind)
	}
}

// checkFamilies looks at what lines say of their families, as far as the file tells.
func (m *imported) checkFamilies(name string) {
	for _, l := range m.lines {
		if l.Family != "" && !meter.ValidID(l.Family) {
			m.mistake(name, m.at["line "+l.ID], "%q is no id of a family", l.Family)
		}
	}
}

// against compares with what is there: families that are nowhere, and lines that would have to move.
func (m *imported) against(name string, lines map[string]meterledger.Line, families map[string]meterledger.Family) error {
	for _, l := range m.lines {
		at := m.at["line "+l.ID]
		if _, there := families[l.Family]; l.Family != "" && !there && m.at["family "+l.Family] == 0 {
			m.mistake(name, at, "family %s is neither in this file nor in the ledger", l.Family)
		}
		if before, there := lines[l.ID]; there && before.Family != l.Family {
			m.mistake(name, at, "line %s is in family %q: an import moves nobody; PUT /v1/lines/%s does", l.ID, before.Family, l.ID)
		}
	}
	return m.err()
}

// ids are those of the lines, and of the families that are not in the file.
func (m *imported) ids() (lines, families []string) {
	for _, l := range m.lines {
		lines = append(lines, l.ID)
		if l.Family != "" && m.at["family "+l.Family] == 0 {
			families = append(families, l.Family)
		}
	}
	slices.Sort(families)
	return lines, slices.Compact(families)
}
