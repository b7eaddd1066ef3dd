package hermes

import "strings"

// Env is the value of a variable in a file of NAME=value lines; "" if it has
// none.
func Env(text, name string) (value string) {
	for line := range strings.Lines(text) {
		if v, ok := assigns(line, name); ok {
			value = strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return value
}

// SetEnv gives a variable a value in a file of NAME=value lines, and keeps all
// else.
func SetEnv(text, name, value string) string {
	eol, found := "\n", false
	if strings.Contains(text, "\r\n") {
		eol = "\r\n"
	}
	var w strings.Builder
	for line := range strings.Lines(text) {
		if _, ok := assigns(line, name); ok {
			found = true
			end := line[len(strings.TrimRight(line, "\r\n")):]
			line = name + "=" + value + end
		}
		w.WriteString(line)
	}
	if !found {
		if text != "" && !strings.HasSuffix(text, "\n") {
			w.WriteString(eol)
		}
		w.WriteString(name + "=" + value + eol)
	}
	return w.String()
}

func assigns(line, name string) (value string, ok bool) {
	line = strings.TrimSpace(line)
	if rest, exported := strings.CutPrefix(line, "export "); exported {
		line = strings.TrimSpace(rest)
	}
	key, value, ok := strings.Cut(line, "=")
	return value, ok && strings.TrimSpace(key) == name
}
