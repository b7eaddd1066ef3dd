package autonomy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

// denies reports whether a denial of a target is about a call, and allows
// whether an allowance of it is.
func denies(tool, target string, args map[string]any) (denies, allows bool) {
	call := autonomy.Call{Tool: tool, Capabilities: autonomy.Capabilities(tool, args)}.Aimed(args)
	grant := func(effect autonomy.Effect) autonomy.Grant {
		return autonomy.Grant{
			Capability: call.Capabilities[0], Capabilities: call.Capabilities, Effect: effect, State: "active",
			Match: autonomy.Match{Tool: tool, Target: target}, ExpiresAt: hux.Time{Time: time.Now().Add(time.Hour)},
		}
	}
	policy := autonomy.Policy{Level: autonomy.Autonomous}
	verdict := autonomy.Judge(call, policy, []autonomy.Grant{grant(autonomy.Deny)}, time.Now())
	return verdict.Effect == autonomy.Deny, grant(autonomy.Allow).Matches(call)
}

func TestADenialHoldsInOtherSpellings(t *testing.T) {
	const key = "/home/a/.ssh/id_rsa"
	read, send, visit := "read_file", "send_message", "browser_navigate"
	for _, c := range []struct {
		tool, denied, asked string
		denies              bool
	}{
		{read, key, "~/.ssh/id_rsa", true},
		{read, key, "~a/.ssh/id_rsa", true},
		{read, key, ".ssh/id_rsa", true},
		{read, key, "./id_rsa", true},
		{read, key, "/proc/self/root/home/a/.ssh/id_rsa", true},
		{read, key, "/proc/1/root/proc/self/root/home/a/.ssh/id_rsa", true},
		{read, key, "/proc/thread-self/cwd/.ssh/id_rsa", true},
		{read, key, "/proc/self/task/7/cwd/id_rsa", true},
		{read, key, "/proc/self/fd/3", true},
		{read, key, "/dev/fd/3", true},
		{read, key, "/dev/stdin", true},
		{read, key, "/HOME/a/.ssh/ID_RSA", true},
		{read, key, "/home/a/x/../.ssh/id_rsa", true},
		{read, key, "$HOME/.ssh/id_rsa", true},
		{read, key, "%USERPROFILE%/.ssh/id_rsa", true},
		{read, key, "file:///home/a/.ssh/id_rsa", true},
		{read, key, `C:\home\a\.ssh\id_rsa`, true},
		{read, key, " /home/a/.ssh/id_rsa ", true},
		{read, key, "/home/a/.ssh/id_rsa\n", true},
		{read, key, "/home/a/.ssh/id\u200b_rsa", true},
		{read, key, "／home/a/.ssh/id_rsa", true},
		{read, key, "~", true},
		{read, "~/.ssh/id_rsa", key, true},
		{read, ".ssh/id_rsa", key, true},
		{read, "/home/a/Müller", norm.NFD.String("/home/a/Müller"), true},
		{read, "/etc/passwd", "/private/etc/passwd", true},
		{read, key, "/home/a/.ssh/id_rsa.pub", false},
		{read, key, "/home/b/.ssh/id_rsa", false},
		{read, key, "/srv/home/a/.ssh/id_rsa", false},
		{read, key, "notes.txt", false},
		{read, key, "~/notes.txt", false},
		{read, key, "/proc/cpuinfo", false},
		{read, key, "/ssh/id_rsa", false},

		{send, "telegram:123", "Telegram:123", true},
		{send, "telegram:123", "telegram: 123", true},
		{send, "telegram:123", "telegram:123:456", true},
		{send, "telegram:123", "telegram:-100123", true},
		{send, "telegram:123", "telegram:@name", true},
		{send, "telegram:123", "telegram", true},
		{send, "telegram:123", "origin", true},
		{send, "telegram:123", "tg:123", true},
		{send, "telegram:123", "telegram:9,telegram:123", true},
		{send, "telegram: 123", "telegram:123", true},
		{send, "telegram", "telegram:123", true},
		{send, "telegram:@Name", "telegram:name", true},
		{send, "whatsapp:491234", "whatsapp:+49 1234@s.whatsapp.net", true},
		{send, "telegram:123", "telegram:1234", false},
		{send, "telegram:123", "discord:123", false},
		{send, "telegram:123", "discord", false},
		{send, "telegram:@name", "telegram:@other", false},
		{send, "telegram:123:456", "telegram:123:457", false},

		{visit, "127.0.0.1", "http://localhost:8080/", true},
		{visit, "127.0.0.1", "http://0x7f000001/", true},
		{visit, "127.0.0.1", "http://0177.0.0.1/", true},
		{visit, "127.0.0.1", "http://2130706433/", true},
		{visit, "127.0.0.1", "http://127.1/", true},
		{visit, "127.0.0.1", "http://[::ffff:127.0.0.1]/", true},
		{visit, "localhost", "http://[0:0::1]/", true},
		{visit, "localhost", "http://a.localhost/", true},
		{visit, "[fe80::1]", "http://[fe80:0::1%25eth0]/", true},
		{visit, "evil.example", "https://user:pass@EVIL.example.:8443/x", true},
		{visit, "evil.example", "https://evil。example/", true},
		{visit, "evil.example", "https://ev%69l.example/", true},
		{visit, "evil.example", "evil.example", true},
		{visit, "evil.example", "https://evil.example.org/", false},
		{visit, "evil.example", "https://a.evil.example/", false},
		{visit, "127.0.0.1", "https://example.org/", false},
	} {
		argument := map[string]string{read: "path", send: "target", visit: "url"}[c.tool]
		got, allows := denies(c.tool, c.denied, map[string]any{argument: c.asked})
		if got != c.denies || got && allows && c.tool == read {
			t.Errorf("%s of %q: asked for %q it denies %v, and allows %v", c.tool, c.denied, c.asked, got, allows)
		}
	}
	for _, tool := range []string{read, send, visit} {
		if got, _ := denies(tool, "x.example", map[string]any{"other": "y"}); !got {
			t.Errorf("%s with nothing to be aimed at is allowed", tool)
		}
	}
}

// However a denied target is spelled, it is never allowed.
func TestNoSpellingOfADeniedTargetIsAllowed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	swap := func(s string) string {
		return strings.Map(func(c rune) rune {
			if r.IntN(4) == 0 {
				return []rune(strings.ToUpper(string(c)))[0]
			}
			return c
		}, s)
	}
	name := func() string { return pick("a", "etc", "Müller", "id_rsa", ".ssh", "kö nig", "x.txt", "Å") }
	for range 20000 {
		var parts []string
		for range 1 + r.IntN(4) {
			parts = append(parts, name())
		}
		denied := "/" + strings.Join(parts, "/")
		tail := r.IntN(len(parts))
		asked := pick("", "/proc/self/root", "/proc/42/root", "/./", "//", "/private") + denied
		if tail > 0 {
			asked = pick("~/", "./", "", "~root/", "/proc/self/cwd/", "/proc/9/cwd/./") + strings.Join(parts[tail:], "/")
		}
		asked = strings.ReplaceAll(asked, "/", pick("/", "//", "/./", "/x/../"))
		asked = pick(norm.NFC.String(asked), norm.NFD.String(asked), swap(asked), " "+asked, asked+"/", asked+"/.", asked+"\u200d")
		if got, _ := denies("read_file", denied, map[string]any{"path": asked}); !got {
			t.Fatalf("%q is denied, %q is not", denied, asked)
		}

		chat := fmt.Sprint(1 + r.IntN(1e6))
		to := swap("telegram") + pick(":", " : ", ": ", " :") + pick("", "+", "-100", "0", "@", "#") + chat + pick("", ":7", ": 7", "@s.whatsapp.net", " ")
		if got, _ := denies("send_message", "telegram:"+chat, map[string]any{"target": to}); !got {
			t.Fatalf("a message to %s is denied, to %q is not", chat, to)
		}

		a, b := r.IntN(256), r.IntN(256)
		whole := uint32(10<<24 | a<<16 | b)
		host := pick(fmt.Sprintf("10.%d.0.%d", a, b), fmt.Sprintf("0xa.%d.0.%d", a, b), fmt.Sprintf("012.%d.0.%d", a, b), fmt.Sprint(whole), fmt.Sprintf("%#x", whole),
			fmt.Sprintf("%#o", whole), fmt.Sprintf("10.%d.%d", a, b), fmt.Sprintf("[::ffff:10.%d.0.%d]", a, b), fmt.Sprintf("[0:0:0:0:0:ffff:a%02x:%x]", a, b))
		url := swap(pick("http", "https")) + "://" + pick("", "u@", "u:p@", "other.example@") + host + pick("", ":80", ":8443") + pick("", "/", "/x?y#z")
		if got, _ := denies("browser_navigate", fmt.Sprintf("10.%d.0.%d", a, b), map[string]any{"url": url}); !got {
			t.Fatalf("10.%d.0.%d is denied, %q is not", a, b, url)
		}
	}
}
