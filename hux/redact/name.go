package redact

import "strings"

// strength is what a name says of its value.
type strength int

const (
	plain   strength = iota
	counted          // secret, unless it is a number: a model's tokens, tests that pass
	secret
)

// words are secret as a word of a name, wherever it stands.
var words = map[string]bool{
	"password": true, "passwords": true, "passwd": true, "passphrase": true, "pwd": true, "passcode": true,
	"secret": true, "secrets": true, "credential": true, "credentials": true, "creds": true,
	"authorization": true, "cookie": true, "cookies": true, "apikey": true, "apikeys": true, "bearer": true,
	"jwt": true, "otp": true, "totp": true, "mnemonic": true,
}

// endings make a word secret that is written in one: clientsecret, authtoken.
var endings = []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey", "secretkey", "token", "cookie"}

// keyOf are the words that make a key of theirs a secret one.
var keyOf = map[string]bool{
	"api": true, "access": true, "private": true, "secret": true, "signing": true, "encryption": true, "master": true,
	"account": true, "auth": true, "shared": true, "service": true, "ssh": true, "deploy": true, "license": true, "webhook": true,
}

// afterToken are the words that may follow "token" and leave it one.
var afterToken = map[string]bool{"value": true, "string": true, "raw": true, "plain": true, "header": true, "secret": true, "new": true, "old": true}

// maxName is how much of a name is looked at, from its end, in bytes.
const maxName = 128

// strengthOf judges a name by its words: those between separators and those
// that begin with a capital.
func strengthOf(name string) strength {
	name = name[max(0, len(name)-maxName):]
	var (
		buffer [maxName]byte
		before string // the word before
		tail   strength
	)
	judge := func(word []byte) strength {
		for len(word) > 0 && word[len(word)-1] >= '0' && word[len(word)-1] <= '9' {
			word = word[:len(word)-1]
		}
		switch w := string(word); {
		case w == "":
			return plain
		case words[w], (w == "key" || w == "keys") && keyOf[before]:
			return secret
		case w == "token" || w == "auth":
			tail = secret
		case w == "tokens" || w == "pass":
			tail = counted
		case tail == secret && before == "token" && afterToken[w]:
		default:
			tail = plain
			for _, ending := range endings {
				if len(w) > len(ending) && strings.HasSuffix(w, ending) {
					return secret
				}
			}
		}
		before = string(word)
		return plain
	}
	n := 0
	for i := range len(name) {
		c := name[i]
		upper := c >= 'A' && c <= 'Z'
		if upper {
			c |= 0x20
		}
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		// A capital begins a word after a small letter, and before one.
		starts := upper && i > 0 && (small(name[i-1]) || i+1 < len(name) && small(name[i+1]))
		if n > 0 && (!letter || starts) {
			if judge(buffer[:n]) == secret {
				return secret
			}
			n = 0
		}
		if letter {
			buffer[n] = c
			n++
		}
	}
	if judge(buffer[:n]) == secret {
		return secret
	}
	return tail
}

func small(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// isCount reports whether v is a number of things, and no secret.
func isCount(v string) bool {
	if len(v) > 12 {
		return false
	}
	return strings.Trim(v, "0123456789.,_kKmM") == "" && v[0] >= '0' && v[0] <= '9'
}
