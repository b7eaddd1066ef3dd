package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

var errTooLong = fmt.Errorf("a record of more than %d MiB; it and what follows are not read", schema.MaxRecord>>20)

// documents reads a text that is one record, or one record a line, with one
// record in memory at a time.
type documents struct {
	r       *bufio.Reader
	text    []byte // what is read of the record
	lines   int    // that were begun
	begun   bool
	perLine bool
}

func newDocuments(r io.Reader) *documents { return &documents{r: bufio.NewReaderSize(r, 64<<10)} }

// marked reports whether the text begins with a byte order mark, which no eye
// sees (RFC 8259, 8.1).
func (d *documents) marked() bool {
	start, _ := d.r.Peek(3)
	return string(start) == "\ufeff"
}

// next is the next record and the line that it begins in; it counts until next
// is called again. A text without any is one record, which is empty. The error
// is io.EOF, errTooLong or that of reading.
func (d *documents) next() (text []byte, line int, err error) {
	for d.text = d.text[:0]; len(bytes.TrimSpace(d.text)) == 0; {
		d.text = d.text[:0]
		switch err := d.readLine(); {
		case errors.Is(err, io.EOF) && !d.begun:
			d.begun = true
			return nil, 1, nil
		case err != nil:
			return nil, d.lines, err
		}
	}
	line = d.lines
	if !d.begun {
		d.begun, d.perLine = true, wholeRecord(d.text)
	}
	for !d.perLine && err == nil {
		err = d.readLine()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, line, err
	}
	return d.text, line, nil
}

// readLine adds a line to the text, with its end. It is io.EOF where there is
// none.
func (d *documents) readLine() error {
	for before := len(d.text); ; {
		part, err := d.r.ReadSlice('\n')
		if len(d.text) == before && len(part) > 0 {
			d.lines++
		}
		d.text = append(d.text, part...)
		switch {
		case len(d.text) > schema.MaxRecord+1: // and the end of the line
			return errTooLong
		case err == nil, errors.Is(err, io.EOF) && len(d.text) > before:
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// wholeRecord reports whether a first line looks like a record of its own: a
// good one or a bad one, but not the beginning of one.
func wholeRecord(line []byte) bool {
	line = bytes.TrimSpace(line)
	if !bytes.HasPrefix(line, []byte("{")) || !bytes.HasSuffix(line, []byte("}")) {
		return false
	}
	var record json.RawMessage
	return !errors.Is(json.NewDecoder(bytes.NewReader(line)).Decode(&record), io.ErrUnexpectedEOF)
}

// readDocument reads a file that is one record.
func readDocument(name string) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, schema.MaxRecord+1))
	if err == nil && len(text) > schema.MaxRecord {
		err = fmt.Errorf("%s: %w", hux.Plain(name), errTooLong)
	}
	return text, err
}

// openFile opens a file for reading; - is standard input.
func openFile(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(name)
}
