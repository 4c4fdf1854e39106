package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/httpguard"
)

// answered is what matters of an answer.
type answered struct{ status, order, says string }

// summary puts answers into one line: what is the same of all is said once.
func summary(answers []answered) evidence {
	if len(answers) == 1 {
		return evidence{status: answers[0].status, order: answers[0].order, says: answers[0].says}
	}
	statuses, orders, replayed := map[string]int{}, map[string]int{}, 0
	for _, a := range answers {
		statuses[a.status]++
		orders[a.order]++
		if a.says == "replayed" {
			replayed++
		}
	}
	var counted, numbers []string
	for status, n := range statuses {
		counted = append(counted, fmt.Sprintf("%d x %s", n, status))
	}
	for order := range orders {
		numbers = append(numbers, order)
	}
	slices.Sort(counted)
	slices.Sort(numbers)
	return evidence{status: strings.Join(counted, ", "), order: strings.Join(numbers, ", "), says: fmt.Sprintf("%d replayed", replayed)}
}

// send makes one request to the proxy.
func (d *demo) send(ctx context.Context, client *http.Client, caller, key, item string) (answered, error) {
	body := fmt.Sprintf(`{"item": %q}`, item)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+d.proxyAddress+"/orders", strings.NewReader(body))
	if err != nil {
		return answered{}, err
	}
	request.Header.Set("Authorization", caller)
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return answered{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answered{}, err
	}
	a := answered{status: fmt.Sprint(response.StatusCode)}
	var content struct {
		Order int    `json:"order"`
		Type  string `json:"type"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		a.says = strings.TrimSpace(string(text))
		return a, nil
	}
	if a.says = strings.TrimPrefix(content.Type, httpguard.ProblemPrefix); response.Header.Get(httpguard.HeaderReplayed) == "true" {
		a.says = "replayed"
	}
	if content.Order > 0 {
		a.order = fmt.Sprint(content.Order)
	}
	return a, nil
}

// made asks the service itself how many orders it has made.
func (d *demo) made(ctx context.Context) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.serviceAddress+"/orders", nil)
	if err != nil {
		return 0, err
	}
	response, err := d.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var t tally
	err = json.NewDecoder(response.Body).Decode(&t)
	return t.Made, err
}

// reprise runs a command of this program in the demonstration's directory, and returns what it printed.
func (d *demo) reprise(ctx context.Context, args ...string) (string, error) {
	out, err := runSelf(ctx, d.dir, args...)
	if err != nil {
		return "", err
	}
	return out, nil
}

// runSelf runs a command of this program in a directory, and returns what it printed, also where it failed.
func runSelf(ctx context.Context, dir string, args ...string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	var out, failure bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, plainEnvironment()
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("reprise %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(failure.String()))
	}
	return out.String(), nil
}
