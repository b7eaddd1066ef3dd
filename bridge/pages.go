package bridge

import (
	"bytes"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"bstein.dev/hux/bridge/reference"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Page names one of our pages.
type Page string

// Our pages. Home, Activity, Panel, Decisions, Autonomy, SignOut, Status and
// Contract belong to a signed-in user; they say nothing of that user by
// themselves but ask the API, so that they may be served before it is known who
// asks. Panel and Decisions alone may be framed, by the chat origin.
const (
	Home      Page = "home"            // the console's first page
	Activity  Page = "activity"        // conversations and what happens in them
	Panel     Page = "panel"           // what the bridge frames beside the WebUI
	Decisions Page = "decisions"       // what waits for a decision; the bridge frames it over the WebUI's composer
	Autonomy  Page = "autonomy"        // level, permissions, budgets, grants, receipts
	Again     Page = "signed-in-again" // the end of signing in again
	SignOut   Page = "sign-out"        // asks before it signs out
	Clear     Page = "clear"           // clears the chat host, at a sign-out and before another user
	SignedOut Page = "signed-out"      // after sign-out
	Status    Page = "status"          // operators: slots and findings
	Contract  Page = "contract"        // what the contract says, record by record
	NoSlot    Page = "no-slot"         // instead of the WebUI: nothing assigned
	SlotDown  Page = "slot-down"       // instead of the WebUI: it does not answer
	Failure   Page = "failure"         // anything else that went wrong
)

// Facts is what a page is told by the server; each shows what it has a place
// for. Everything is shown as text.
type Facts struct {
	Detail    string   // SignedOut, NoSlot, SlotDown, Failure: a sentence or two for the user
	Code      hux.Code // Failure: what went wrong
	RequestID string   // Failure: names the request in the log
	Again     string   // Failure: the URL to begin again at; "" for one that is no use to begin again
	Retry     bool     // Failure: the page tries again by itself, at Again or where it is
	Unsure    bool     // SignedOut: the chat may still be signed in
	Ending    bool     // Clear: at a sign-out; else at a sign-in
	Ticket    string   // Clear: for the request that clears
	Onward    string   // Clear: the URL to go on at after it
	Otherwise string   // Clear: the URL to offer if it fails; "" for none

	Contract *reference.Page // Contract: where it is opened
}

// PagesOptions says what the pages need to know of the outside.
type PagesOptions struct {
	ChatURL    *url.URL // origin of the WebUI, which may frame Panel
	ConsoleURL *url.URL // origin of the pages; nil with one origin
	// SignOut lists the origins that signing out leads through with one origin,
	// besides that, such as the provider's: a browser holds form-action against
	// each redirect that follows a form. With two there is a page between.
	SignOut []*url.URL
}

// Pages renders our pages.
type Pages struct {
	chat, console string // origins
	panel, page   string // policies
	templates     map[Page]*template.Template
}

// NewPages parses the embedded templates.
func NewPages(o PagesOptions) (*Pages, error) {
	forms, connect := "'self'", "'self'"
	if o.ConsoleURL == nil {
		o.ConsoleURL = o.ChatURL
		for _, u := range o.SignOut {
			forms += " " + api.Origin(u)
		}
	} else {
		connect += " " + api.Origin(o.ChatURL) // to clear it
	}
	p := &Pages{chat: api.Origin(o.ChatURL), console: api.Origin(o.ConsoleURL), templates: map[Page]*template.Template{}}
	policy := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " + connect + "; " +
		"base-uri 'none'; form-action " + forms + "; frame-ancestors "
	p.page, p.panel = policy+"'none'", policy+p.chat

	layout, err := template.New("layout").Funcs(template.FuncMap{"prose": reference.Prose}).ParseFS(files, "pages/layout.html")
	if err != nil {
		return nil, err
	}
	names, err := files.ReadDir("pages")
	if err != nil {
		return nil, err
	}
	for _, entry := range names {
		name, isHTML := strings.CutSuffix(entry.Name(), ".html")
		if !isHTML || name == "layout" {
			continue
		}
		t, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if p.templates[Page(name)], err = t.ParseFS(files, path.Join("pages", entry.Name())); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Write answers r with a page. What follows from the status besides the body,
// such as Retry-After, is the caller's to set before.
func (p *Pages) Write(w http.ResponseWriter, r *http.Request, status int, page Page, facts Facts) {
	t := p.templates[page]
	if t == nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	var body bytes.Buffer
	err := t.ExecuteTemplate(&body, "layout", struct {
		Facts
		Page                           Page
		Status                         int
		Chat, Console, Assets, Version string
	}{facts, page, status, p.chat, p.console, Prefix + Version + "/pages", Version})
	if err != nil { // a defect in a template, which the tests execute all of
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer, which would make the Origin of our own forms "null". A
	// failure has none, and the URL of a sign-in that failed may hold a code.
	h.Set("Referrer-Policy", "same-origin")
	if page == Failure {
		h.Set("Referrer-Policy", "no-referrer")
	}
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if page == Panel || page == Decisions {
		h.Set("Content-Security-Policy", p.panel)
	} else {
		h.Set("Content-Security-Policy", p.page)
		h.Set("X-Frame-Options", "DENY")
	}
	// A window opened by the WebUI's page keeps no handle on one of ours.
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body.Bytes()) // a client that left is no error of ours
	}
}
