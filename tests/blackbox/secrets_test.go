package blackbox_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// secrets are the values that must appear in no log and, in clear, in no file:
// tokens, cookies, one-time codes, subjects, names, e-mails, queries.
type secrets struct {
	mu     sync.Mutex
	values map[string]string // value → what it is
	tamper func(answer map[string]any)
}

// forge changes the token answers of the provider from now on; nil for no
// longer.
func (s *secrets) forge(tamper func(answer map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tamper = tamper
}

// shortest is the length below which a value is too likely by chance.
const shortest = 12

func (s *secrets) add(what, value string) {
	if len(value) < shortest {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[value] = what
}

func (s *secrets) absent(t testing.TB, where string, content []byte) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for value, what := range s.values {
		if bytes.Contains(content, []byte(value)) || bytes.Contains(content, []byte(url.QueryEscape(value))) {
			t.Errorf("%s has the %s in clear", where, what)
		}
	}
}

// watchTokens notes every token that a provider gives out.
func (s *secrets) watchTokens(provider http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/token") {
			provider.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		provider.ServeHTTP(rec, r)
		var answer map[string]any
		if json.Unmarshal(rec.Body.Bytes(), &answer) == nil {
			for name, v := range answer {
				if token, ok := v.(string); ok && strings.HasSuffix(name, "_token") {
					s.add(name, token)
				}
			}
		}
		body := rec.Body.Bytes()
		s.mu.Lock()
		tamper := s.tamper
		s.mu.Unlock()
		if tamper != nil && rec.Code == http.StatusOK {
			tamper(answer)
			body, _ = json.Marshal(answer) // it came from JSON
		}
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	})
}

// observe notes what an answer gives a browser: cookies, and what is secret in
// a redirect.
func (s *secrets) observe(res *http.Response) {
	for _, c := range res.Cookies() {
		s.add("cookie "+c.Name, c.Value)
	}
	to, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		return
	}
	for name, values := range to.Query() {
		switch name {
		case "code", "state", "nonce", "id_token_hint", "code_challenge", "logout_token":
			for _, v := range values {
				s.add("parameter "+name, v)
			}
		}
	}
}

// count is how many there are.
func (s *secrets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values)
}
