package hermes

import "strings"

// Join writes words as one command, which Split and Python's shlex read as the
// same words.
func Join(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return special(r) && !strings.ContainsRune("./:@%+=,", r) }) {
			w = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

// Split splits a command into words as a shell and Python's shlex do. It expands
// nothing. ok is false if a quote has no end.
func Split(command string) (words []string, ok bool) {
	var word strings.Builder
	inWord, quote, escaped := false, rune(0), false
	for _, r := range command {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			inWord, escaped = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			inWord, quote = true, r
		case strings.ContainsRune(" \t\r\n", r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, quote == 0 && !escaped
}
