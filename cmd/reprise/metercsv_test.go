package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A file that is no CSV from some place on is refused with that place, in whichever column it is; one that cannot be read says so.
func TestImportOfWhatIsNoCSV(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a quotation mark in the first column": `ap"p,chat,,,,`,
		"one in another column":                `app,ch"at,,,,`,
		"one that is not closed":               `"app,chat,,,,`,
		"one that ends in between":             `"app"x,chat,,,,`,
	} {
		in := strings.NewReader(importColumns + "\napp,video,,,,\n" + text + "\n")
		if _, err := readImport("new.csv", in); err == nil || !strings.Contains(err.Error(), "nothing was imported\nnew.csv:3: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("the disk is broken")
	in := io.MultiReader(strings.NewReader(importColumns+"\napp,video,,,,\n"), iotest.ErrReader(broken))
	if _, err := readImport("new.csv", in); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "new.csv: ") {
		t.Errorf("a file that cannot be read: %v", err)
	}
}
