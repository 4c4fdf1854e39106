package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Upstream, plain proxy and Reprise are processes of their own, as they would be at work: none shares a
// scheduler or a garbage collector with another, or with the load.

// childRole is the variable that makes this program a server instead of a benchmark.
const childRole = "REPRISE_BENCH_CHILD"

// serveChild serves and never returns if this process is a child; otherwise it does nothing.
func serveChild() error {
	role, target, _ := strings.Cut(os.Getenv(childRole), " ")
	switch role {
	case "":
		return nil
	case "upstream":
		return serve(http.HandlerFunc(answer))
	case "plain":
		upstream, err := url.Parse(target)
		if err != nil {
			return err
		}
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream); r.SetXForwarded() }}
		// With the default of two idle connections it would dial for most requests, and be no limit.
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 1024
		proxy.Transport = transport
		return serve(proxy)
	}
	return fmt.Errorf("%s=%q names no role", childRole, role)
}

// answer is the service behind the proxies: it reads the request and answers with 256 bytes.
func answer(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/orders/1")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer256) // if the client is gone, nobody is there to be told
}

// serve listens on a free port, says on which, and serves until standard input ends: with its parent.
func serve(handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return (&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}).Serve(listener)
}

// child is a server in another process.
type child struct {
	address string
	command *exec.Cmd
	stdin   io.Closer
}

// startOwn starts this program in a role.
func startOwn(ctx context.Context, role string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{command: exec.CommandContext(ctx, self)}
	c.command.Env = append(os.Environ(), childRole+"="+role)
	c.command.Stderr = os.Stderr
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	c.address = strings.TrimSpace(line)
	return c, err
}

// buildReprise builds the command and returns its path.
func buildReprise(ctx context.Context, s settings) (string, error) {
	binary := filepath.Join(s.dir, "reprise")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/reprise")
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build reprise: %w\n%s", err, out)
	}
	return binary, nil
}

// startReprise starts `reprise proxy` in front of an upstream.
func startReprise(ctx context.Context, s settings, binary, upstream, dsn string) (*child, error) {
	return startServing(ctx, s, "reprise", binary, "proxy", "--upstream", "http://"+upstream, "--principal", "none", "--store", dsn)
}

// startServing starts a command that serves, and waits until it takes connections. What it prints is in a file of its name.
func startServing(ctx context.Context, s settings, name, binary string, args ...string) (*child, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(s.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	c := &child{address: address}
	c.command = exec.CommandContext(ctx, binary, append(args, "--listen", address)...)
	c.command.Env = append(os.Environ(), "REPRISE_SECRET="+strings.Repeat("benchmark", 5))
	c.command.Dir, c.command.Stdout, c.command.Stderr, c.stdin = s.dir, log, log, log
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	for range 500 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return c, conn.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	text, _ := os.ReadFile(log.Name())
	return nil, errors.Join(fmt.Errorf("%s does not listen on %s:\n%s", name, address, text), c.stop())
}

func (c *child) stop() error {
	_ = c.stdin.Close()
	_ = c.command.Process.Signal(os.Interrupt)
	err := c.command.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil // it was told to end, and did
	}
	return err
}

// freeAddress returns an address on which nobody listened a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
