//go:build unix

package servicetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// clusterView is what one server says of who has which slots, by slots.
type clusterView []slotRange

// slotRange is a range of slots with the addresses of those that have it: the master first, then replicas
// that have its data.
type slotRange struct {
	from, to  int64
	addresses []string
}

func (v clusterView) has(address string) bool {
	return slices.ContainsFunc(v, func(r slotRange) bool { return slices.Contains(r.addresses, address) })
}

// of returns those that have a slot: the master first, none if nobody has.
func (v clusterView) of(slot int) []string {
	for _, r := range v {
		if r.from <= int64(slot) && int64(slot) <= r.to {
			return r.addresses
		}
	}
	return nil
}

// view asks a server who has which slots.
func (r *redis) view() (clusterView, error) {
	reply, err := r.ask("CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	var view clusterView
	ranges, _ := reply.([]any)
	for _, said := range ranges {
		fields, _ := said.([]any)
		if len(fields) < 3 {
			return nil, fmt.Errorf("CLUSTER SLOTS said %v", reply)
		}
		var known slotRange
		known.from, _ = fields[0].(int64)
		known.to, _ = fields[1].(int64)
		for _, node := range fields[2:] {
			hostAndPort, _ := node.([]any)
			if len(hostAndPort) < 2 {
				return nil, fmt.Errorf("CLUSTER SLOTS said %v", reply)
			}
			known.addresses = append(known.addresses, fmt.Sprintf("%v:%v", hostAndPort[0], hostAndPort[1]))
		}
		slices.Sort(known.addresses[1:])
		view = append(view, known)
	}
	slices.SortFunc(view, func(a, b slotRange) int { return cmp.Compare(a.from, b.from) })
	return view, nil
}

// agreedView returns what all servers that respond say. They also say that the cluster is ok, and those
// that are replicas have what their masters have.
func (c *RedisCluster) agreedView() (clusterView, error) {
	var agreed clusterView
	responding := whichRespond(c.nodes)
	for i, node := range responding {
		if err := node.says("ok"); err != nil {
			return nil, err
		}
		view, err := node.view()
		if err != nil {
			return nil, err
		}
		if i > 0 && fmt.Sprint(view) != fmt.Sprint(agreed) {
			return nil, fmt.Errorf("the servers do not agree: %v, %v", agreed, view)
		}
		agreed = view
	}
	for _, node := range responding {
		if node.is("master") == nil {
			continue
		}
		if err := node.linked(); err != nil {
			return nil, err
		}
		if !agreed.has(node.Addr()) {
			return nil, errors.New("a replica is not known to the others")
		}
	}
	if agreed == nil {
		return nil, errNoneResponds
	}
	return agreed, nil
}

// says reports whether a server says that its cluster is in a state: ok or fail.
func (r *redis) says(state string) error {
	reply, err := r.ask("CLUSTER", "INFO")
	if text := fmt.Sprint(reply); err == nil && !strings.HasPrefix(text, "cluster_state:"+state) {
		err = fmt.Errorf("CLUSTER INFO of %s: %s", r.address(), text)
	}
	return err
}

// knownNodes returns how many servers a server knows, itself included, of which it has heard.
func (r *redis) knownNodes() (int, error) {
	reply, err := r.ask("CLUSTER", "NODES")
	if err != nil {
		return 0, err
	}
	known := 0
	for line := range strings.Lines(fmt.Sprint(reply)) {
		if !strings.Contains(line, "handshake") {
			known++
		}
	}
	return known, nil
}
