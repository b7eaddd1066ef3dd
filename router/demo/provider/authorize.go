package provider

import (
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// session is one browser's sign-in at the provider (single sign-on).
type session struct {
	sid     string // the sid claim, which clients see; the cookie is another secret
	subject string
	since   time.Time // auth_time
	clients []string  // who got tokens of it, and is told when it ends
}

// code is an authorization code that waits to be redeemed.
type code struct {
	client    string
	redirect  string
	challenge string
	nonce     string
	scope     string
	session   session // as it was
	expires   time.Time
	grant     string // set once redeemed: what a second try takes back
}

// authRequest is an authorization request (RFC 6749 section 4.1.1) that
// passed every check.
type authRequest struct {
	client    Client
	redirect  string
	state     string
	nonce     string
	scope     string
	challenge string
	prompt    string
	maxAge    time.Duration // -1 for any
}

// sameOrigin refuses a form sent by another site's page.
var sameOrigin = http.NewCrossOriginProtection()

// serveAuthorize is the authorization endpoint: the form it shows posts to the
// same address, so a request is checked anew each time and nothing about one
// under way is kept.
func (p *Provider) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	req, problem := p.parseAuthRequest(r.URL.Query())
	if problem != nil {
		if problem.redirect == "" {
			p.page(w, http.StatusBadRequest, pageData{Title: "Sign-in failed", Failed: problem.detail})
			return
		}
		p.back(w, r, problem.redirect, url.Values{
			"error": {problem.code}, "error_description": {problem.detail}, "state": {problem.state}})
		return
	}
	if r.Method == http.MethodPost {
		if sameOrigin.Check(r) != nil {
			p.page(w, http.StatusForbidden, pageData{Title: "Sign-in failed", Failed: "Another site's page sent this form."})
			return
		}
		p.signIn(w, r, req)
		return
	}
	s := p.current(r)
	if s != nil && (req.prompt == "login" || req.maxAge >= 0 && p.now().Sub(s.since) > req.maxAge) {
		s = nil
	}
	switch {
	case s != nil:
		p.issueCode(w, r, req, s)
	case req.prompt == "none":
		p.back(w, r, req.redirect, url.Values{"error": {"login_required"}, "state": {req.state}})
	default:
		p.signInPage(w, http.StatusOK, "", "")
	}
}

// requestProblem is why an authorization request is refused. Without a
// redirect the browser is told, since nobody trustworthy asked.
type requestProblem struct{ code, detail, redirect, state string }

func (p *Provider) parseAuthRequest(q url.Values) (*authRequest, *requestProblem) {
	for name, values := range q {
		if len(values) > 1 {
			return nil, &requestProblem{detail: "The parameter " + strconv.Quote(name) + " came twice."}
		}
	}
	client, ok := p.clients[q.Get("client_id")]
	if !ok {
		return nil, &requestProblem{detail: "No application has this client_id."}
	}
	redirect := q.Get("redirect_uri")
	if !slices.Contains(client.RedirectURIs, redirect) {
		return nil, &requestProblem{detail: "This redirect_uri is not registered for the application."}
	}
	refuse := func(code, detail string) (*authRequest, *requestProblem) {
		return nil, &requestProblem{code: code, detail: detail, redirect: redirect, state: q.Get("state")}
	}
	req := &authRequest{
		client: client, redirect: redirect, state: q.Get("state"), nonce: q.Get("nonce"),
		scope: q.Get("scope"), challenge: q.Get("code_challenge"), prompt: q.Get("prompt"), maxAge: -1,
	}
	switch {
	case q.Has("request") || q.Has("request_uri"):
		return refuse("request_not_supported", "Request objects are not supported.")
	case q.Get("response_type") != "code":
		return refuse("unsupported_response_type", "Only the code flow is supported.")
	case q.Has("response_mode") && q.Get("response_mode") != "query":
		return refuse("invalid_request", "Only the response mode query is supported.")
	case !slices.Contains(strings.Fields(req.scope), "openid"):
		return refuse("invalid_scope", "The scope openid is required.")
	case q.Get("code_challenge_method") != "S256" || !isVerifier(req.challenge):
		return refuse("invalid_request", "PKCE with the method S256 is required.")
	case !slices.Contains([]string{"", "none", "login"}, req.prompt):
		return refuse("invalid_request", "This prompt is not supported.")
	}
	if q.Has("max_age") {
		seconds, err := strconv.Atoi(q.Get("max_age"))
		if err != nil || seconds < 0 || seconds > 1<<30 {
			return refuse("invalid_request", "max_age must be a number of seconds.")
		}
		req.maxAge = time.Duration(seconds) * time.Second
	}
	return req, nil
}

// isVerifier reports whether s has the shape of a code verifier or challenge
// (RFC 7636 sections 4.1 and 4.2).
func isVerifier(s string) bool {
	return len(s) >= 43 && len(s) <= 128 && strings.Trim(s,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") == ""
}

func (p *Provider) signIn(w http.ResponseWriter, r *http.Request, req *authRequest) {
	name := strings.TrimSpace(r.PostFormValue("username"))
	p.mu.Lock()
	who := p.person(name)
	if who == nil || !same(who.Password, r.PostFormValue("password")) {
		p.mu.Unlock()
		p.signInPage(w, http.StatusUnauthorized, name, "That name and password do not belong together.")
		return
	}
	s := &session{sid: uuid.NewString(), subject: who.Subject, since: p.now()}
	cookie := rand.Text()
	p.sessions.Put(cookie, s)
	p.mu.Unlock()
	p.setCookie(w, cookie, int(sessionLifetime.Seconds()))
	p.issueCode(w, r, req, s)
}

// issueCode sends the browser back with a code.
func (p *Provider) issueCode(w http.ResponseWriter, r *http.Request, req *authRequest, s *session) {
	value := rand.Text()
	p.mu.Lock()
	if !slices.Contains(s.clients, req.client.ID) {
		s.clients = append(s.clients, req.client.ID)
	}
	p.codes.Put(value, &code{
		client: req.client.ID, redirect: req.redirect, challenge: req.challenge,
		nonce: req.nonce, scope: req.scope, session: *s, expires: p.now().Add(codeLifetime),
	})
	p.mu.Unlock()
	p.back(w, r, req.redirect, url.Values{"code": {value}, "state": {req.state}, "session_state": {s.sid}})
}

// back redirects to a registered address with parameters, among them the
// issuer (RFC 9207).
func (p *Provider) back(w http.ResponseWriter, r *http.Request, redirect string, params url.Values) {
	target, err := url.Parse(redirect)
	if err != nil {
		p.page(w, http.StatusBadRequest, pageData{Title: "Sign-in failed", Failed: "The application's redirect_uri is not a URL."})
		return
	}
	params.Set("iss", p.issuer)
	q := target.Query()
	for name, values := range params {
		if values[0] != "" {
			q[name] = values
		}
	}
	target.RawQuery = q.Encode()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

// current is the browser's session, or nil.
func (p *Provider) current(r *http.Request) *session {
	c, err := r.Cookie(p.cookieName())
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.sessions.Get(c.Value)
	if !ok || p.now().Sub(s.since) > sessionLifetime || p.bySubject(s.subject) == nil {
		return nil
	}
	return s
}

func (p *Provider) cookieName() string {
	if p.secure {
		return "__Host-hux_demo_provider"
	}
	return "hux_demo_provider"
}

func (p *Provider) setCookie(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: p.cookieName(), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: p.secure, SameSite: http.SameSiteLaxMode,
	})
}

var (
	//go:embed signin.html
	pageSource string
	//go:embed signin.css
	pageStyle string

	pageTemplate = template.Must(template.New("page").Parse(pageSource))
	pagePolicy   = func() string {
		sum := sha256.Sum256([]byte(pageStyle))
		// No form-action: browsers hold redirects after a form to it, and the
		// client's address and where it leads on are not ours to know.
		return "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; style-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}()
)

// pageData is what a page of the provider shows; one of People, Failed,
// Confirm and Done is set.
type pageData struct {
	Title   string
	People  []Person
	Name    string // as typed
	Wrong   string // why the last try failed
	Failed  string // a dead end, and why
	Confirm bool   // ask before signing out
	Done    string // said at the end
}

// Style is the pages' style sheet, which the policy allows by its hash.
func (pageData) Style() template.CSS { return template.CSS(pageStyle) } //nolint:gosec // embedded

func (p *Provider) signInPage(w http.ResponseWriter, status int, name, wrong string) {
	p.mu.Lock()
	var people []Person
	for _, who := range p.people {
		if !slices.Contains(who.Roles, "hux-worker") { // a program comes with a token, not to a page
			people = append(people, *who)
		}
	}
	p.mu.Unlock()
	p.page(w, status, pageData{Title: "Sign in", People: people, Name: name, Wrong: wrong})
}

func (p *Provider) page(w http.ResponseWriter, status int, data pageData) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // the forms need an Origin
	w.WriteHeader(status)
	if err := pageTemplate.Execute(w, data); err != nil {
		slog.Debug("demo: a page was not sent whole", "cause", err)
	}
}

// Initial is the letter in a person's badge.
func (who Person) Initial() string { return strings.ToUpper(string([]rune(who.FullName)[:1])) }

// Part is the person's part in the demo, in a few words.
func (who Person) Part() string {
	if slices.Contains(who.Roles, "hux-operator") {
		return "operator"
	}
	return ""
}
