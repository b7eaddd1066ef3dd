package autonomy_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/hux/autonomy"
)

// The commands of the first list are by who wrote the rules; those of the second
// by somebody who had not seen them. ⏎ stands for a line break.
var (
	//go:embed testdata/commands.tsv
	commands string
	//go:embed testdata/commands_independent.tsv
	independent string
)

// deploys reports whether a shell's text, or a list of words in JSON, counts as
// a deployment.
func deploys(text string) bool {
	var words []any
	args := map[string]any{"command": text}
	if json.Unmarshal([]byte(text), &words) == nil {
		args["command"] = words
	}
	return slices.Contains(autonomy.Capabilities("terminal", args), autonomy.Deploy)
}

// No command that deploys goes unasked, and at most one of twenty others is
// asked about.
func TestCommands(t *testing.T) {
	for name, list := range map[string]string{"our own": commands, "independent": independent} {
		count, wrong := map[string]int{}, map[string]int{}
		for line := range strings.Lines(list) {
			label, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if !ok || label != "deploy" && label != "other" {
				t.Fatalf("%q is no line of the list", line)
			}
			count[label]++
			if deploys(strings.ReplaceAll(text, "⏎", "\n")) != (label == "deploy") {
				wrong[label]++
				t.Logf("%s: %s", label, text)
			}
		}
		t.Logf("%s: missed %d of %d, false alarms %d of %d", name, wrong["deploy"], count["deploy"], wrong["other"], count["other"])
		if count["deploy"] < 75 || count["other"] < 75 || wrong["deploy"] > 0 || wrong["other"]*20 > count["other"] {
			t.Errorf("%s: the rates are not what the documentation says", name)
		}
	}
}

// Whatever a text is, it is read in time, and what lies beyond the bounds asks.
func TestCommandsAreReadInBounds(t *testing.T) {
	for _, part := range []string{
		"$(", "(", "{ ", "if ", "`", "${x:-", "((", "a && ", "f() ", "sudo ", "foo docker run x ", "foo aws a ", "docker run x ", "xx kubectl ", "kubectl ", "echo a | ", "bash -c \"", "-a ",
		"eval ", "x='", "<(", "case x in x) ", "X=$X$X;", "{a,b}", "aws a ", "ls;", "find -exec ", "ssh a ",
	} {
		start := time.Now()
		n := 32 << 10 / len(part)
		deploys(strings.Repeat(part, n))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%d times %q took %v", n, part, took)
		}
	}
	double := "A=kubectl"
	for c := 'B'; c <= 'Z'; c++ {
		double += fmt.Sprintf(";%c=$%c$%[2]c$%[2]c$%[2]c", c, c-1)
	}
	for name, text := range map[string]string{
		"larger": double + ";$Z", "long": "echo " + strings.Repeat("a", 64<<10), "deep": strings.Repeat("(", 60) + "ls" + strings.Repeat(")", 60), "no shell's": "echo 'x", "if": strings.Repeat("if ", 60) + "ls",
	} {
		if !deploys(text) {
			t.Errorf("what is %s is not asked about", name)
		}
	}
}

func FuzzCommand(f *testing.F) {
	for line := range strings.Lines(commands) {
		_, text, _ := strings.Cut(line, "\t")
		f.Add(strings.ReplaceAll(text, "⏎", "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		deploys(text)
		if !strings.Contains(text, "\n") && !strings.ContainsAny(text, `'"\#<`+"`") && len(text) < 1000 && !deploys("kubectl apply -f x;"+text) {
			t.Errorf("%q hides what stands before it", text)
		}
		autonomy.Capabilities("execute_code", map[string]any{"code": text, "list": []any{text, text}})
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%v", took)
		}
	})
}
