package webui

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// pending is an approval that the WebUI waits for.
type pending struct {
	ID          string
	Tool        string
	Command     string
	Description string
	Args        any    // as schema.Parse gives it
	RunID       string // of the agent's gateway; an answer must name RunID and Token
	Token       string
	Unfit       string // why nobody can be asked about it; then ID, RunID and Token are all that is known
}

// PendingPath is where a page of the WebUI asks for the approval that its
// session waits for.
const PendingPath = "/api/approval/pending"

const tooLarge = "it is too large"

// maxSkimmed is how many bytes of an answer that is too large are searched for
// the approval's ids.
const maxSkimmed = 16 << 20

// pending reads the first approval that a session waits for; nil if it waits for
// none. Further ones show only once the first is answered.
func (c *client) pending(ctx context.Context, session string) (p *pending, err error) {
	err = c.read(ctx, http.MethodGet, PendingPath, ofSession(session), nil, func(in io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(in, maxAnswer+1))
		if err != nil {
			return err
		}
		if len(text) <= maxAnswer {
			if p, err = readPending(text); err == nil {
				return nil
			}
			if p, _ = skim(bytes.NewReader(text)); p.ID == "" && !json.Valid(text) {
				return err // it is no answer
			}
			p.Unfit = "it can't be read"
			if e := (*hux.Error)(nil); errors.As(err, &e) && e.Code == hux.TooLarge {
				p.Unfit = tooLarge
			}
			return nil
		}
		if p, err = skim(io.MultiReader(bytes.NewReader(text), io.LimitReader(in, maxSkimmed))); err != nil {
			return err // its id may be in what did not come
		}
		p.Unfit = tooLarge
		return nil
	})
	return p, err
}

// readPending reads an answer as strictly as the API reads the body of an
// agent's question: nothing in it may have two meanings, and numbers keep their
// digits.
func readPending(text []byte) (*pending, error) {
	var answer struct {
		Pending map[string]json.RawMessage `json:"pending"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Pending == nil {
		return nil, err
	}
	p := &pending{}
	var failed error
	read := func(name string) any {
		if answer.Pending[name] == nil {
			return nil
		}
		v, err := schema.Parse(answer.Pending[name])
		if err != nil {
			failed = err
		}
		return v
	}
	for name, member := range map[string]*string{
		"approval_id": &p.ID, "tool": &p.Tool, "command": &p.Command, "description": &p.Description,
		"run_id": &p.RunID, "_gateway_mirror_token": &p.Token,
	} {
		v := read(name)
		text, ok := v.(string)
		if !ok && v != nil {
			failed = errors.New(name + " is no text")
		}
		*member = text
	}
	p.Args = read("args")
	return p, failed
}

// maxName is the longest of the names that skim keeps, in bytes.
const maxName = 1 << 10

// skim finds in a body of any size the ids that an answer to the approval must
// name. It holds no more of the body than one name at a time. What it finds may
// be used for a denial only. The error is the reader's, if that fails before its
// end.
func skim(in io.Reader) (*pending, error) {
	p := &pending{}
	members := map[string]*string{"approval_id": &p.ID, "run_id": &p.RunID, "_gateway_mirror_token": &p.Token}
	r := bufio.NewReader(in)
	depth, name := 0, ""
	for {
		c, err := r.ReadByte()
		if err == io.EOF {
			return p, nil
		}
		if err != nil {
			return nil, err
		}
		switch c {
		case '{', '[':
			depth++
			name = ""
		case '}', ']':
			depth--
		case ',':
			name = ""
		case '"':
			text, ok := skimString(r)
			switch {
			case depth != 2 || !ok: // of {"pending": {…}}
			case name == "":
				name = text
			case members[name] != nil:
				*members[name] = text
			}
		}
	}
}

// skimString reads a JSON string up to its end. ok is false if it is longer than
// maxName or no string.
func skimString(r *bufio.Reader) (text string, ok bool) {
	quoted := []byte{'"'}
	for {
		c, err := r.ReadByte()
		if err != nil {
			return "", false
		}
		if len(quoted) <= maxName {
			quoted = append(quoted, c)
		}
		switch c {
		case '\\':
			if c, err = r.ReadByte(); err != nil {
				return "", false
			}
			quoted = append(quoted, c)
			if len(quoted) > maxName {
				quoted = quoted[:maxName+1]
			}
		case '"':
			return text, len(quoted) <= maxName && json.Unmarshal(quoted, &text) == nil
		}
	}
}
