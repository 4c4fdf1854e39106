package meterhttp

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// Policy is a version of a policy.
type Policy struct {
	ID       meter.PolicyID    `json:"policy"`
	Line     string            `json:"line_id,omitempty"` // whose own it is; empty for everybody's
	Version  int64             `json:"version"`           // 0: there is none
	Settings map[string]string `json:"settings"`
}

// whoByHTTP stands in the history of policies.
const whoByHTTP = "http"

// policyOf reads which policy is meant: 1 to 8 in the path, and the line, if it is one's own.
func (s *Service) policyOf(w http.ResponseWriter, r *http.Request) (id meter.PolicyID, line string, ok bool) {
	n, err := strconv.ParseUint(r.PathValue("id"), 10, 8)
	if id = meter.PolicyID(n); err != nil || !id.Valid() {
		fail(w, problem(ProblemNotFound, "Policies are 1 to 8."))
		return 0, "", false
	}
	line = r.URL.Query().Get("line")
	if line == "" {
		return id, "", true
	}
	known, err := s.Ledger.Lines(r.Context(), []string{line})
	switch _, there := known[line]; {
	case err != nil:
		s.failWith(w, r, err, ProblemPolicyRefused)
	case !there:
		fail(w, problem(ProblemNotFound, "There is no such line."))
	default:
		return id, line, true
	}
	return 0, "", false
}

func (s *Service) getPolicy(w http.ResponseWriter, r *http.Request) {
	id, line, ok := s.policyOf(w, r)
	if !ok {
		return
	}
	policies, err := s.Ledger.Policies(r.Context(), linesOf(line))
	if err != nil {
		s.failWith(w, r, err, ProblemPolicyRefused)
		return
	}
	set := policies.Global
	if line != "" {
		set = policies.Lines[line]
	}
	tellPolicy(w, line, id, set.Get(id))
}

func linesOf(line string) []string {
	if line == "" {
		return nil
	}
	return []string{line}
}

func tellPolicy(w http.ResponseWriter, line string, id meter.PolicyID, p meter.Policy) {
	told := Policy{ID: id, Line: line, Version: p.Version(), Settings: map[string]string{}}
	if told.Version > 0 {
		for _, f := range p.Fields() {
			if f.Name != "version" {
				told.Settings[f.Name] = f.Value
			}
		}
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%d"`, told.Version))
	answer(w, http.StatusOK, told)
}

// putPolicy adds the next version, in SQL and then in Redis: in every bucket, or in that of the line. The same request again
// completes one that stopped in between.
func (s *Service) putPolicy(w http.ResponseWriter, r *http.Request) {
	id, line, ok := s.policyOf(w, r)
	if !ok {
		return
	}
	if id == meter.Gate {
		fail(w, problem(ProblemGateManaged, "Policy 8 is opened and closed by hydration and restore alone, which know whether Redis is complete."))
		return
	}
	version, settings := int64(-1), map[string]string(nil)
	fields, ok := s.readObject(w, r, map[string]any{"version": &version, "settings": &settings})
	if !ok {
		return
	}
	if !fields["settings"] {
		fail(w, refused(ProblemRequestMalformed, &meter.Refusal{Reason: meter.MissingField, Field: "settings", Detail: "Send the settings as an object of texts; {} for none."}))
		return
	}
	seen, ok := seenVersion(w, r, version)
	if !ok {
		return
	}
	var list []meter.Field
	for name, value := range settings {
		list = append(list, meter.Field{Name: name, Value: value})
	}
	if _, err := meter.NewPolicy(id, seen+1, list...); err != nil {
		fail(w, refused(ProblemPolicyRefused, &meter.Refusal{Reason: "bad_policy", Field: "settings", Detail: err.Error()}))
		return
	}
	s.policies.Lock()
	defer s.policies.Unlock()
	p, err := s.Ledger.PutPolicy(r.Context(), line, id, seen, list, whoByHTTP)
	if errors.Is(err, meterledger.ErrConflict) {
		fail(w, problem(ProblemVersionConflict, err.Error()))
		return
	}
	if err == nil {
		err = s.spread(r, line, p)
	}
	if err != nil {
		s.failWith(w, r, err, ProblemPolicyRefused)
		return
	}
	tellPolicy(w, line, id, p)
}

// seenVersion is the version that the caller has seen: of If-Match, or of the field.
func seenVersion(w http.ResponseWriter, r *http.Request, field int64) (int64, bool) {
	match := r.Header.Get("If-Match")
	if match == "" {
		if field < 0 {
			fail(w, problem(ProblemVersionMissing, `Say which version you have seen: If-Match: "VERSION", or the field version; 0 if there was none.`))
		}
		return field, field >= 0
	}
	n, err := strconv.ParseInt(strings.Trim(match, `"`), 10, 64)
	if err != nil || n < 0 || field >= 0 && field != n {
		fail(w, problem(ProblemRequestMalformed, `If-Match: write "VERSION", and in the field version the same or nothing.`))
		return 0, false
	}
	return n, true
}

// spread writes a policy to Redis.
func (s *Service) spread(r *http.Request, line string, p meter.Policy) error {
	if line == "" {
		return s.Meter.PutPolicy(r.Context(), p)
	}
	known, err := s.Ledger.Lines(r.Context(), []string{line})
	if err != nil {
		return err
	}
	policies, err := s.Ledger.Policies(r.Context(), []string{line})
	if err != nil {
		return err
	}
	return s.Meter.PutLinePolicies(r.Context(), line, known[line].Family, policies.Lines[line])
}
