package metertest

import (
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/meter"
)

// Policies draws policies: all global ones, most of them with settings, and some of the line's own.
func (c *Cases) Policies() (meter.Policies, error) {
	p := meter.Policies{Calendar: c.calendar}
	for _, id := range meter.AllPolicies() {
		global, err := c.policy(id, 3)
		if err != nil {
			return p, err
		}
		p.Global = p.Global.With(global)
		if id == meter.Gate || !c.one(6) {
			continue
		}
		own, err := c.policy(id, 2)
		if err != nil {
			return p, err
		}
		p.Line = p.Line.With(own)
	}
	return p, nil
}

// policy draws a policy; one in so many has settings.
func (c *Cases) policy(id meter.PolicyID, in int) (meter.Policy, error) {
	var settings []string
	add := func(name, value string) {
		if id == meter.Gate || c.one(in) {
			settings = append(settings, name+"="+value)
		}
	}
	switch id {
	case meter.LineBlocked:
		add("blocked", pick(c, "yes", "no", "no", "no"))
	case meter.BlockedHours:
		add("hours", pick(c, "none", "22:00-06:00", "02:00-03:00", "12:00-13:00,23:30-00:30", "00:00-01:00"))
	case meter.LineCap, meter.SharedCap:
		add("cap", c.limit())
	case meter.AppCap:
		add("cap:*", c.limit())
		add("cap:video", c.limit())
	case meter.AppSpeed:
		add("qos", c.speed())
		add("speed:*", pick(c, "full", "full", c.speed()))
		add("speed:video", pick(c, "full", c.speed()))
	case meter.Uncounted:
		add("app:*", pick(c, "yes", "no", "no", "no"))
		add("app:maps", pick(c, "yes", "no"))
	case meter.Gate:
		add("open", "yes")
	}
	return meter.ParsePolicy(id, 1+c.random.Int64N(1000), strings.Join(settings, ";"))
}

func (c *Cases) limit() string {
	if c.one(4) {
		return "none"
	}
	return strconv.FormatInt(c.amount(), 10)
}

func (c *Cases) speed() string { return strconv.FormatInt(1+c.random.Int64N(100_000), 10) }
