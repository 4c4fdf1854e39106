package redisstore

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// greeting asks a server who it is, on a connection that nothing was sent on yet.
type greeting struct {
	conn net.Conn
	in   *bufio.Reader
}

func (g greeting) close() {
	if g.conn != nil {
		_ = g.conn.Close() // nothing was asked of it that matters
	}
}

// enter signs in.
func (g greeting) enter(d DSN) error {
	if password, ok := d.url.User.Password(); ok {
		words := []string{"AUTH", password}
		if user := d.url.User.Username(); user != "" {
			words = []string{"AUTH", user, password}
		}
		if _, err := g.ask(words...); err != nil {
			return err
		}
	}
	if d.database == 0 {
		return nil
	}
	_, err := g.ask("SELECT", strconv.Itoa(d.database))
	return err
}

// transact makes sure that this user may send transactions. Of one that is refused at its beginning, the commands would be run
// all the same.
func (g greeting) transact() error {
	answers, err := g.askMany([][]string{{"MULTI"}, {"EXEC"}})
	for _, a := range answers {
		if a.err != "" {
			return a.err
		}
	}
	return err
}

// replyError is an error reply.
type replyError string

func (e replyError) Error() string { return string(e) }

// errSilent is what came in place of a reply.
var errSilent = errors.New("no answer came")

// maxGreeting is how long a reply may be.
const maxGreeting = 1 << 20

// answer is a reply of one text, or of several as words of one; empty for none; or an error reply.
type answer struct {
	text string
	err  replyError
}

// ask sends a command and returns its reply.
func (g greeting) ask(words ...string) (string, error) {
	answers, err := g.askMany([][]string{words})
	if err == nil && answers[0].err != "" {
		err = answers[0].err
	}
	if err != nil {
		return "", err
	}
	return answers[0].text, nil
}

// askMany sends commands at once, and returns their replies.
func (g greeting) askMany(commands [][]string) ([]answer, error) {
	var b strings.Builder
	for _, words := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	if _, err := io.WriteString(g.conn, b.String()); err != nil {
		return nil, err
	}
	answers := make([]answer, len(commands))
	for i, words := range commands {
		text, err := g.read(words[0])
		if reply, ok := errors.AsType[replyError](err); ok {
			text, err = "", nil
			answers[i].err = reply
		}
		if err != nil {
			return nil, err
		}
		answers[i].text = text
	}
	return answers, nil
}

// read reads the reply to a command.
func (g greeting) read(asked string) (string, error) {
	line, err := g.in.ReadString('\n')
	if err != nil || len(line) < 3 {
		return "", fmt.Errorf("%w to %s: %w", errSilent, asked, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	kind, text := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '+', ':':
		return text, nil
	case '-':
		return "", replyError(text)
	case '$':
		size, err := strconv.Atoi(text)
		if err != nil || size > maxGreeting {
			return "", fmt.Errorf("what answers %s with a text of %q bytes is no Redis: check host and port", asked, text)
		}
		if size < 0 {
			return "", nil
		}
		value := make([]byte, size+2)
		_, err = io.ReadFull(g.in, value)
		return string(value[:size]), err
	case '*':
		return g.readWords(asked, text)
	}
	return "", fmt.Errorf("what answers %s with %q is no Redis: check host and port", asked, line)
}

// readWords reads the texts of a list.
func (g greeting) readWords(asked, length string) (string, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n > maxGreeting {
		return "", fmt.Errorf("what answers %s with a list of %q is no Redis: check host and port", asked, length)
	}
	words := make([]string, max(0, n))
	for i := range words {
		if words[i], err = g.read(asked); err != nil {
			return "", err
		}
	}
	return strings.Join(words, " "), nil
}
