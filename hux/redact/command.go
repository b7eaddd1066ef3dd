package redact

import "strings"

// commandText masks a command, or code, word by word.
func (r rules) commandText(s string) string {
	var out strings.Builder
	var before [2]string // the words before, the nearer one first; "" behind an operator
	key := pem{}
	for len(s) > 0 {
		gap := gapLen(s)
		space := s[:gap]
		if strings.Trim(space, " \t") != "" {
			before = [2]string{}
		}
		s = s[gap:]
		word := s[:wordLen(s)]
		s = s[len(word):]
		out.WriteString(space)
		if word == "" {
			continue
		}
		switch masked := r.word(space, word); {
		case key.within(word):
			r.found["private_key"] = true
			out.WriteString(Masked)
		case masked != word:
			out.WriteString(masked)
		default:
			out.WriteString(r.after(before, word))
		}
		before = [2]string{word, before[0]}
	}
	return out.String()
}

// operator reports whether a shell may begin something else at s[0], or at the
// dollar sign before it.
func operator(s string) bool {
	return strings.IndexByte(";|&<>()`\n\r", s[0]) >= 0 || strings.HasPrefix(s, "$(")
}

// gapLen is how long the blanks and operators at the beginning of s are.
func gapLen(s string) int {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || operator(s[i:])) {
		i++
	}
	return i
}

func wordLen(s string) int {
	i := 0
	for i < len(s) && s[i] != ' ' && s[i] != '\t' && !operator(s[i:]) {
		i++
	}
	return i
}

// word masks a word by itself. An ampersand before it may make it a URL's
// parameter.
func (r rules) word(space, word string) string {
	if strings.HasSuffix(space, "&") || strings.HasSuffix(space, ";") {
		return r.text("&" + word)[1:]
	}
	return r.text(word)
}

// after masks a word that what stands before it says is a secret: an option, a
// header's or a member's name, an assignment of a programming language. It is
// never NAME=, behind which a shell's command begins.
func (r rules) after(before [2]string, word string) string {
	last, first := before[0], before[1]
	switch {
	case scheme(word):
	case scheme(last):
		if masked := r.behind(last, word); masked != word || !names(first) {
			return masked
		}
		return r.behind(first, word)
	case last == "=", last == ":", last == ":=", last == "=>":
		return r.behind(first+" "+last, word)
	case names(last):
		return r.behind(last, word)
	}
	return word
}

// names reports whether a word is an option, or what stands before a colon.
func names(word string) bool {
	return (strings.HasPrefix(word, "-") || strings.HasSuffix(word, ":")) && !strings.Contains(word, "=")
}

// behind masks a word that is a secret behind that text.
func (r rules) behind(before, word string) string {
	trial := rules{found: map[string]bool{}}
	masked, kept := strings.CutPrefix(trial.text(" "+before+" "+word), " "+before+" ")
	if !kept || masked == word || strings.ContainsAny(strings.ReplaceAll(masked, Masked, ""), " \t") {
		return word
	}
	for rule := range trial.found {
		r.found[rule] = true
	}
	return masked
}

// scheme reports whether word says how a credential that follows it is written.
func scheme(word string) bool {
	switch strings.ToLower(strings.Trim(word, `"'`)) {
	case "bearer", "basic", "token", "digest", "negotiate":
		return true
	}
	return false
}

// pem follows the words of a private key.
type pem struct{ inside bool }

// within reports whether word is of a key's text.
func (p *pem) within(word string) bool {
	const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	switch {
	case strings.Contains(word, "KEY-----"):
		p.inside = true
	case strings.Contains(word, "-----END"):
		p.inside = false
	}
	return p.inside && len(word) >= 32 && word[0] != '/' && strings.Trim(word, base64) == ""
}
