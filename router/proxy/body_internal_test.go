package proxy

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"bstein.dev/hux/hux"
)

func TestWhyABodyIsNotSpooled(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	dir := t.TempDir()
	file, err := tempFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, c := range map[string]struct {
		file *os.File
		body io.Reader
		want hux.Code
	}{
		"no room":            {full, strings.NewReader("x"), hux.QuotaExceeded},
		"the client's fault": {file, iotest.ErrReader(os.ErrDeadlineExceeded), hux.BadRequest},
	} {
		_, err := spool(c.file, c.body)
		if e := (*hux.Error)(nil); !errors.As(err, &e) || e.Code != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := spool(file, strings.NewReader("whole")); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(file); string(got) != "whole" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
		t.Errorf("a name is left: %v, %v", entries, err)
	}
}
