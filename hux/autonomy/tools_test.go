package autonomy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux/autonomy"
)

func command(c string) map[string]any { return map[string]any{"command": c} }

func TestCapabilities(t *testing.T) {
	shell := "write execute network"
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"read_file", map[string]any{"path": "kubectl apply"}, "read"},
		{"write_file", map[string]any{"path": "x", "content": "kubectl apply -f y"}, "write"},
		{"web_search", nil, "network"},
		{"web_extract", nil, "network"},
		{"browser_navigate", nil, "network"},
		{"memory", nil, "memory_write"},
		{"send_message", nil, "message"},
		{"clarify", nil, "read"},
		{"vision_analyze", nil, "read network"},
		{"terminal", command("ls"), shell},
		{"computer_use", nil, shell},
		{"mcp_files_list", nil, shell},
		{"", nil, shell},
		{"deploy", nil, "execute network deploy"},
		{"mcp_cluster_rollout", nil, shell + " deploy"},
		{"deployedness", nil, shell},

		{"terminal", command("kubectl get pods"), shell},
		{"terminal", command("kubectl get pods; git apply x.patch"), shell},
		{"terminal", command("kubectl get pods | grep apply"), shell},
		{"terminal", command("ls deploy/kubernetes"), shell},
		{"terminal", command("make test"), shell},
		{"terminal", command("docker build ."), shell},
		{"terminal", command("kubectl apply -f x.yaml"), shell + " deploy"},
		{"terminal", command("cd x && sudo /usr/bin/kubectl -n shop \\\n  rollout restart deployment/shop"), shell + " deploy"},
		{"terminal", command(`bash -c "kubectl apply -f x.yaml"`), shell + " deploy"},
		{"terminal", command("echo $(helm upgrade shop .)"), shell + " deploy"},
		{"terminal", command("FOO=1 make deploy-prod"), shell + " deploy"},
		{"terminal", command("npm run deploy:prod"), shell + " deploy"},
		{"terminal", command("./deploy.sh prod"), shell + " deploy"},
		{"terminal", command("flux reconcile kustomization apps"), shell + " deploy"},
		{"terminal", map[string]any{"args": []any{"kubectl", "delete", "pod", "x"}}, shell + " deploy"},
		{"execute_code", map[string]any{"code": "import subprocess\nsubprocess.run(['kubectl', 'apply', '-f', 'x'])"}, shell + " deploy"},
		{"terminal", command("kubectl 2>&1 apply -f x"), shell + " deploy"},
		{"terminal", command("kubectl < x apply"), shell + " deploy"},
		{"terminal", command("kubectl --server='https://a;b' apply"), shell + " deploy"},
		{"terminal", command("kubectl -l 'a|b' delete pod"), shell + " deploy"},
		{"terminal", command(`ku\bectl ap"pl"y -f x`), shell + " deploy"},
		{"terminal", command(`C:\bin\kubectl.exe apply`), shell + " deploy"},
		{"terminal", command("kubectl1.29 apply; true"), shell + " deploy"},
		{"terminal", command("helm3 upgrade shop ."), shell + " deploy"},
		{"terminal", command("kubectl exec -it p -- sh"), shell + " deploy"},
		{"terminal", command("kubectl label ns x a=b"), shell + " deploy"},
		{"terminal", command("docker compose -f x.yaml up -d"), shell + " deploy"},
		{"terminal", command("docker compose logs"), shell},
		{"terminal", command("gh workflow run build.yml"), shell + " deploy"},
		{"terminal", command("gh workflow list"), shell},
		{"terminal", map[string]any{"command": "kubectl", "args": []any{"apply", "-f", "x"}}, shell + " deploy"},
		{"terminal", map[string]any{"command": "kubectl", "args": []any{"get", "pods"}}, shell},
		{"terminal", map[string]any{"program": []any{"kubectl"}, "arguments": "apply -f x"}, shell + " deploy"},
		{"deployService", nil, shell + " deploy"},
		{"redeployAll", nil, shell + " deploy"},
		{"mcp_host_deployProject", nil, shell + " deploy"},
		{"mcp_run", map[string]any{"steps": []any{map[string]any{"cmd": "terraform apply"}}}, shell + " deploy"},
		{"delegate_task", map[string]any{"goal": "run terraform apply"}, "execute deploy"},
	} {
		var want []autonomy.Capability
		for _, w := range strings.Fields(c.want) {
			want = append(want, autonomy.Capability(w))
		}
		if got := autonomy.Capabilities(c.tool, c.args); !slices.Equal(got, want) {
			t.Errorf("%s %v: %v, want %v", c.tool, c.args, got, want)
		}
	}
}

// Any call needs something that there is, each once and in order.
func TestCapabilitiesAreTotal(t *testing.T) {
	tools := []string{"terminal", "read_file", "web_extract", "execute_code", "unheard_of"}
	err := quick.Check(func(n uint8, tool, key, text string, list []string) bool {
		args := map[string]any{key: text, "list": append([]any{nil, 1.5, map[string]any{text: list}}, text)}
		tool = append(tools, tool)[int(n)%(len(tools)+1)]
		found := autonomy.Capabilities(tool, args)
		last := -1
		for _, c := range found {
			i := slices.Index(autonomy.AllCapabilities, c)
			if i <= last {
				return false
			}
			last = i
		}
		shown := autonomy.Show(tool, args)
		autonomy.Target(tool, args)
		return len(found) > 0 && utf8.RuneCountInString(shown.Summary) <= 280 && !strings.ContainsAny(shown.Summary, "\n\r\u202e")
	}, nil)
	if err != nil {
		t.Error(err)
	}
}

func TestEvidenceHash(t *testing.T) {
	hash := func(tool, args, target string) string {
		t.Helper()
		var in struct {
			Args map[string]any `json:"args"`
		}
		decoder := json.NewDecoder(strings.NewReader(`{"args":` + args + `}`))
		decoder.UseNumber()
		if err := decoder.Decode(&in); err != nil {
			t.Fatal(err)
		}
		h, err := autonomy.EvidenceHash(tool, in.Args, target)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	same := hash("terminal", `{"command":"ls","timeout":30}`, "")
	if got := hash("terminal", `{ "timeout": 30.0, "command": "\u006cs" }`, ""); got != same {
		t.Error("the order of members and the spelling count")
	}
	for name, other := range map[string]string{
		"tool": hash("shell", `{"command":"ls","timeout":30}`, ""), "argument": hash("terminal", `{"command":"ls -a","timeout":30}`, ""),
		"target": hash("terminal", `{"command":"ls","timeout":30}`, "x"), "one more": hash("terminal", `{"command":"ls","timeout":30,"x":null}`, ""),
	} {
		if other == same {
			t.Errorf("another %s has the same hash", name)
		}
	}
	if hash("x", `{}`, "") != hash("x", `null`, "") {
		t.Error("no arguments and none at all differ")
	}
	if _, err := autonomy.EvidenceHash("x", map[string]any{"n": json.Number("9007199254740993")}, ""); err == nil {
		t.Error("a number that has no one form is hashed")
	}
}

// The examples are of one call, and say its hash.
func TestExamplesAreOfOneCall(t *testing.T) {
	read := func(name string, into any) {
		t.Helper()
		text, err := contract.Examples.ReadFile("examples/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	var asked autonomy.DecisionCreate
	var answer autonomy.Decision
	var approval autonomy.Approval
	var decide autonomy.ApprovalDecide
	read("hux.decision.create.v1", &asked)
	read("hux.decision.v1", &answer)
	read("hux.approval.v1", &approval)
	read("hux.approval.decide.v1", &decide)
	hash, err := autonomy.EvidenceHash(asked.Tool, asked.Args, *asked.Target)
	if err != nil || answer.EvidenceHash != hash || decide.EvidenceHash != hash || *approval.Request.Evidence[0].Hash != hash {
		t.Errorf("%s, %v", hash, err)
	}
	if match := autonomy.MatchOf(asked.Tool, asked.Args, hash); approval.Request.GrantMatch != match {
		t.Errorf("%+v", match)
	}
	if shown := autonomy.Show(asked.Tool, asked.Args); shown.Summary != approval.Request.Summary {
		t.Errorf("%q", shown.Summary)
	}
}

func TestShow(t *testing.T) {
	shown := autonomy.Show("terminal", map[string]any{"command": "curl -H 'Authorization: Bearer abc.def'\nls \u202etxt", "env": map[string]any{"API_TOKEN": "s3cret-value"}})
	text, err := json.Marshal(shown)
	if err != nil || strings.Contains(string(text), "abc.def") || strings.Contains(string(text), "s3cret") || len(shown.Rules) == 0 {
		t.Errorf("%s %v", text, err)
	}
	if strings.ContainsAny(shown.Summary, "\n\u202e") || !strings.HasPrefix(shown.Summary, "terminal: curl") {
		t.Errorf("%q", shown.Summary)
	}
	for in, want := range map[string]string{
		"a\u2800b\u034fc\ufe0fd\U000e0100e\u17b4f\U0001d159g\ufffch\u00a0i\u2003j\u202ek": "terminal: a⟨U+2800⟩b⟨U+034F⟩c⟨U+FE0F⟩d⟨U+E0100⟩e⟨U+17B4⟩f⟨U+1D159⟩g⟨U+FFFC⟩h⟨U+00A0⟩i⟨U+2003⟩j⟨U+202E⟩k",
		"ls" + strings.Repeat("\n", 300) + "&& rm -rf ~":                                  "terminal: ls && rm -rf ~",
	} {
		if shown := autonomy.Show("terminal", command(in)); shown.Summary != want || shown.Args["command"] != in {
			t.Errorf("%q is shown as %q", in, shown.Summary)
		}
	}
	if long := autonomy.Show("terminal", command(strings.Repeat("ä", 400))); utf8.RuneCountInString(long.Summary) != 280 || !strings.HasSuffix(long.Summary, "…") {
		t.Errorf("%q", long.Summary)
	}
	if none := autonomy.Show("todo", nil); none.Summary != "todo" || none.Args == nil {
		t.Errorf("%+v", none)
	}
}
