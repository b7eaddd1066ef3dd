package redact

import (
	"encoding/base64"
	"math/bits"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// MaskText gives s with the secret-shaped parts of it replaced by Masked, and
// the ids of the rules that found them, sorted. It takes time in proportion to
// the length of s. Masking what is masked changes nothing.
func MaskText(s string) (masked string, ruleIDs []string) {
	r := rules{found: map[string]bool{}}
	masked = r.text(s)
	return masked, r.list()
}

// Secretive reports whether s looks like a secret, at least in part.
func Secretive(s string) bool {
	masked, _ := MaskText(s)
	return masked != s
}

// maxPasses is how often the rules run over a text, since what one leaves may
// be for another to see. Text that does not come to rest is masked whole.
const maxPasses = 6

func (r rules) text(s string) string {
	for range maxPasses {
		masked := r.pass(s)
		if masked == s {
			return s
		}
		s = masked
	}
	r.found["restless"] = true
	return Masked
}

func (r rules) pass(s string) string {
	if len(s) < 4 {
		return s
	}
	s = r.privateKeys(s)
	s = r.assignments(s)
	s = r.urls(s)
	for found := triggered(s); found != 0; found &= found - 1 {
		s = r.shaped(s, shapes[triggers[bits.TrailingZeros64(found)].shape])
	}
	return s
}

// privateKeys masks PEM blocks; one that has no end goes on to the end.
func (r rules) privateKeys(s string) string {
	const begin, end, dashes = "-----BEGIN ", "-----END ", "-----"
	var out strings.Builder
	last := 0
	for at := 0; ; {
		n := strings.Index(s[at:], begin)
		if n < 0 {
			break
		}
		from := at + n
		at = from + len(begin)
		label, _, ok := strings.Cut(s[at:min(len(s), at+64)], dashes)
		if !ok || !strings.Contains(label, "PRIVATE KEY") {
			continue
		}
		if n := strings.Index(s[at:], end); n < 0 {
			at = len(s)
		} else {
			at += n + len(end)
			if n := strings.Index(s[at:min(len(s), at+64)], dashes); n >= 0 {
				at += n + len(dashes)
			}
		}
		r.found["private_key"] = true
		out.WriteString(s[last:from])
		out.WriteString(Masked)
		last = at
	}
	if last == 0 {
		return s
	}
	out.WriteString(s[last:])
	return out.String()
}

// urls masks what stands before the @ of a URL's authority.
func (r rules) urls(s string) string {
	var out strings.Builder
	last := 0
	for at := 0; ; {
		n := strings.Index(s[at:], "://")
		if n < 0 {
			break
		}
		from := at + n + len("://")
		run := s[from:]
		if n := strings.Index(run, "://"); n >= 0 {
			run = run[:n]
		}
		if n := strings.IndexAny(run, " \t\r\n\"'`<>\\"); n >= 0 {
			run = run[:n]
		}
		if n := userinfo(run, s[at:from-len("://")]); n > 0 && run[:n] != Masked {
			r.found["url_credentials"] = true
			out.WriteString(s[last:from])
			out.WriteString(Masked)
			last = from + n
		}
		at = from
	}
	if last == 0 {
		return s
	}
	out.WriteString(s[last:])
	return out.String()
}

// userinfo is how long the credentials at the beginning of run are, which is
// what follows "://" after before; 0 where there are none.
func userinfo(run, before string) int {
	path := strings.IndexAny(run, "/?#")
	authority := run
	if path >= 0 {
		authority = run[:path]
	}
	if n := strings.LastIndexByte(authority, '@'); n >= 0 {
		if !strings.Contains(authority[:n], ":") && named(before) {
			return 0 // ssh://git@host says who, and no secret
		}
		return n
	}
	// A password with a slash in it: user:pa/ss@host, but not host:80/a@b.
	if user, rest, ok := strings.Cut(authority, ":"); ok && user != "" && path >= 0 && strings.Trim(rest, "0123456789") != "" {
		return max(0, strings.LastIndexByte(run, '@'))
	}
	return 0
}

// named reports whether before ends in a scheme whose user name is no secret.
func named(before string) bool {
	for _, scheme := range [...]string{"ssh", "git", "sftp", "rsync", "svn", "irc"} {
		if strings.HasSuffix(before, scheme) {
			return true
		}
	}
	return false
}

// shape is a rule for values that can be told by what they look like: group 1
// of the pattern is the secret. triggers are what every match contains.
type shape struct {
	rule     string
	triggers []string
	pattern  *regexp.Regexp
	unless   func(value string) bool
}

// edge is where a value may begin that has an ordinary beginning.
const edge = `(?:^|[^A-Za-z0-9]|%[0-9A-Fa-f]{2})`

var shapes = []shape{
	{"bearer", []string{"earer", "EARER"}, regexp.MustCompile("(?i)bearer(?:[ \\t]|%20|\\+)+[\"']?([^\\s\"'`,;)}\\]>]{6,})"), ordinary},
	{"basic", []string{"asic", "ASIC"}, regexp.MustCompile(`(?i)basic[ \t]+([A-Za-z0-9+/_-]{4,}={0,2})`), noUserAndPassword},
	{"user_option", []string{"-u", "--user"}, regexp.MustCompile(`(?:\s-u|--user)[ =]*["']?([^\s:"'=][^\s:"']*:[^\s"']+)`), noPassword},
	{"jwt", []string{"eyJ"}, regexp.MustCompile(`(eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*){0,3})`), nil},
	{"openai_key", []string{"sk-"}, regexp.MustCompile(edge + `(sk-[A-Za-z0-9_-]{8,})`), wordy},
	{"github_token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, regexp.MustCompile(`((?:gh[pousr]|github_pat)_[A-Za-z0-9_]{8,})`), nil},
	{"gitlab_token", []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-"}, regexp.MustCompile(`(gl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_.-]{8,})`), nil},
	{"slack_token", []string{"xox", "xapp-"}, regexp.MustCompile(`((?:xox[a-z]|xapp)-[A-Za-z0-9-]{6,})`), nil},
	{"webhook_url", []string{"hooks.slack.com/", "/api/webhooks/"}, regexp.MustCompile(`(?:hooks\.slack\.com/[a-z]+|/api/webhooks)/([A-Za-z0-9/_-]{8,})`), nil},
	{"aws_access_key", []string{"AKIA", "ASIA"}, regexp.MustCompile(`(A(?:KI|SI)A[A-Z0-9]{12,})`), nil},
	{"google_key", []string{"AIza", "ya29.", "GOCSPX-"}, regexp.MustCompile(`((?:AIza|ya29\.|GOCSPX-)[A-Za-z0-9_.-]{16,})`), nil},
	{"stripe_key", []string{"_live_", "_test_", "whsec_"}, regexp.MustCompile(`((?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{8,})`), nil},
	{"telegram_token", []string{":AA"}, regexp.MustCompile(`([0-9]{6,12}:AA[A-Za-z0-9_-]{20,})`), nil},
	{"vault_token", []string{"hvs.", "hvb."}, regexp.MustCompile(edge + `(hv[sb]\.[A-Za-z0-9_-]{8,})`), nil},
	{"registry_token", []string{"npm_", "pypi-", "hf_", "dckr_pat_", "dop_v1_"}, regexp.MustCompile(edge + `((?:npm_|pypi-|hf_|dckr_pat_|dop_v1_)[A-Za-z0-9_-]{16,})`), nil},
	{"age_key", []string{"AGE-SECRET-KEY-"}, regexp.MustCompile(`(AGE-SECRET-KEY-[A-Z0-9]{8,})`), nil},
	{"agent_credential", []string{"hux_agt_", "hux_whk_"}, regexp.MustCompile(`(hux_(?:agt|whk)_[A-Za-z0-9_-]{8,})`), nil},
}

// trigger is a text that makes a shape worth looking for.
type trigger struct {
	text  string
	shape int // in shapes
}

// triggers are those of all shapes, at most 64, and firsts what they begin
// with: bit t of firsts[n][c] says that trigger t may have the byte c at n.
var (
	triggers []trigger
	firsts   [3][256]uint64
)

func init() {
	for i, shape := range shapes {
		for _, text := range shape.triggers {
			bit := uint64(1) << len(triggers)
			triggers = append(triggers, trigger{text, i})
			for n := range firsts {
				for c := range 256 {
					if n >= len(text) || text[n] == byte(c) {
						firsts[n][c] |= bit
					}
				}
			}
		}
	}
}

// triggered reports which triggers s contains, the first of each shape only,
// in one pass.
func triggered(s string) uint64 {
	var found, shapesFound uint64
	for i := 0; i+2 < len(s); i++ {
		may := firsts[0][s[i]] & firsts[1][s[i+1]] & firsts[2][s[i+2]]
		for ; may != 0; may &= may - 1 {
			t := bits.TrailingZeros64(may)
			if of := uint64(1) << triggers[t].shape; shapesFound&of == 0 && strings.HasPrefix(s[i:], triggers[t].text) {
				shapesFound |= of
				found |= 1 << t
			}
		}
	}
	return found
}

// shaped masks what shape finds in s.
func (r rules) shaped(s string, shape shape) string {
	var out strings.Builder
	last := 0
	for _, m := range shape.pattern.FindAllStringSubmatchIndex(s, -1) {
		value := s[m[2]:m[3]]
		if strings.HasPrefix(value, Masked[:len(Masked)-1]) || shape.unless != nil && shape.unless(value) {
			continue
		}
		r.found[shape.rule] = true
		out.WriteString(s[last:m[2]])
		out.WriteString(Masked)
		last = m[3]
	}
	if last == 0 {
		return s
	}
	out.WriteString(s[last:])
	return out.String()
}

// ordinary reports whether v is a word that follows "bearer" in prose.
func ordinary(v string) bool {
	switch strings.ToLower(strings.TrimRight(v, ".:!?")) {
	case "tokens", "authentication", "authorization", "scheme", "schemes", "credential", "credentials", "header", "headers":
		return true
	}
	return false
}

// wordy reports whether v is letters and hyphens alone, as a name is.
func wordy(v string) bool {
	return strings.Trim(v, "abcdefghijklmnopqrstuvwxyz-_") == ""
}

// noPassword reports whether v is a user's and a group's number, or a URL.
func noPassword(v string) bool {
	return strings.Trim(v, "0123456789:") == "" || strings.Contains(v, "://")
}

// noUserAndPassword reports whether v is not the base64 of user:password.
func noUserAndPassword(v string) bool {
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(v, "-_") {
		encoding = base64.RawURLEncoding
	}
	text, err := encoding.DecodeString(strings.TrimRight(v, "="))
	return err != nil || !strings.Contains(string(text), ":")
}

// Name is a text that people give, as it is kept: in NFC, without secrets, and of
// at most that many characters, which a mask could bring it beyond.
func Name(s string, most int) string {
	s, _ = MaskText(norm.NFC.String(s))
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most])
	}
	return s
}
