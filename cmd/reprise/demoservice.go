package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

const (
	// powerCut is the item whose order is made, and not answered: the service dies in between.
	powerCut = "power cut"
	// makingTakes is how long an order takes, so that copies of a request meet each other.
	makingTakes = 150 * time.Millisecond
)

// newDemoServiceCommand is the order service of the demonstration, as a process of its own.
func newDemoServiceCommand() *cobra.Command {
	var listen, book string
	cmd := &cobra.Command{
		Use:    "service",
		Short:  "The order service of the demonstration",
		Hidden: true,
		Args:   noArguments,
		RunE:   func(cmd *cobra.Command, _ []string) error { return serveOrders(cmd.Context(), listen, book) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address")
	cmd.Flags().StringVar(&book, "book", "orders.txt", "file to which each order is added")
	return cmd
}

// serveOrders serves until the context ends.
func serveOrders(ctx context.Context, listen, book string) error {
	orders, err := openOrders(book)
	if err != nil {
		return err
	}
	defer func() { _ = orders.book.Close() }() // each order was synced
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", orders.make)
	mux.HandleFunc("GET /orders", orders.count)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// orders makes orders and counts them. It knows nothing of keys: asked twice, it makes two. The count
// is in a file, so that it outlives the service.
type orders struct {
	mu   sync.Mutex
	book *os.File
	made int
}

func openOrders(path string) (*orders, error) {
	book, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	lines, err := io.ReadAll(book)
	if err != nil {
		return nil, errors.Join(err, book.Close())
	}
	o := &orders{book: book}
	for _, b := range lines {
		if b == '\n' {
			o.made++
		}
	}
	return o, nil
}

// order is what is asked for and what is answered.
type order struct {
	Order int    `json:"order"`
	Item  string `json:"item"`
}

func (o *orders) make(w http.ResponseWriter, r *http.Request) {
	var wanted order
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&wanted); err != nil || wanted.Item == "" {
		http.Error(w, `send an order such as {"item": "coffee"}`, http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(makingTakes):
	case <-r.Context().Done():
		return
	}
	var err error
	if wanted.Order, err = o.add(wanted.Item); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if wanted.Item == powerCut {
		cutPower()
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", wanted.Order))
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(wanted)
}

// cutPower ends this process without a word to anybody.
func cutPower() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err == nil {
		select {} // until it is dead
	}
}

// add puts an order into the book and returns its number.
func (o *orders) add(item string) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := fmt.Fprintf(o.book, "%q\n", item); err != nil {
		return 0, err
	}
	o.made++
	return o.made, o.book.Sync()
}

// tally is the answer to how many orders were made.
type tally struct {
	Made int `json:"made"`
}

func (o *orders) count(w http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(tally{o.made})
}
