package standin

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// scene is what the agent does with a message that has its word in it.
type scene struct {
	Word  string // "" for a message with none of the words
	Say   string // such a message, which the page suggests
	About string // what it shows

	steps []step // each is asked about before it runs
	end   string
	play  func(t *turn, text string) error // instead of steps and end
}

// step is something that is said, and a tool that is used then.
type step struct {
	text string
	call call
}

// command is a call of the shell.
func command(line, result string) call {
	return call{tool: "terminal", preview: line, args: map[string]any{"command": line}, result: result}
}

// note is a call that writes a file, whose path a grant may be tied to.
func note(path, content string) call {
	return call{tool: "write_file", preview: path, args: map[string]any{"path": path, "content": content}, target: path, result: fmt.Sprintf("%d bytes written", len(content))}
}

// read is a call that only reads, which no level asks about.
func read(path, result string) call {
	return call{tool: "read_file", preview: path, args: map[string]any{"path": path}, target: path, result: result}
}

// soonest is the shortest time that an approval may be given.
const soonest = 10 * time.Second

// script is what the agent can do. A message plays the first scene whose word
// is in it, and else the first of all.
func script() []scene {
	return []scene{
		{Word: "", Say: "Hello, what can you do?", About: "an answer in a few seconds, with a tool", play: playHello},
		{Word: "approve", Say: "Please clean up, I will approve it", About: "a question of the WebUI's own", play: playApproval},
		{Word: "long", Say: "Tell me a long story", About: "half a minute, to stop or to reload in", play: playLong},
		{Word: "fail", Say: "Now fail, please", About: "an answer that breaks off", play: playFailure},
		{
			Word: "ask", Say: "Run the tests, but ask", About: "allow it once, and it is asked again",
			steps: []step{
				{"A command could do anything, so I ask. Allow it once.\n\n", command("make test", "ok")},
				{"And the same once more.\n\n", command("make test", "ok")},
			},
			end: "Once is once: the same command had to be asked about again.",
		},
		{
			Word: "session", Say: "Run the tests all session", About: "a grant for this chat, of exactly what was shown",
			steps: []step{
				{"Allow this one for the session.\n\n", command("make check", "ok")},
				{"Now the same again.\n\n", command("make check", "ok")},
				{"And nearly the same.\n\n", command("make check && make install", "installed")},
			},
			end: "A grant covers what you were shown, and no longer command that begins like it.",
		},
		{
			Word: "always", Say: "Keep my notes, always", About: "a grant for one file, in every chat",
			steps: []step{
				{"Let me write this file always.\n\n", note("notes.md", "The tests pass.")},
				{"Another text, the same file.\n\n", note("notes.md", "The tests pass, and the build is clean.")},
				{"And another file.\n\n", note("plans.md", "Nothing yet.")},
			},
			end: "Send this again in a new chat: nobody asks about notes.md until you revoke the grant, or it expires.",
		},
		{
			Word: "deny", Say: "Delete the build, which I deny", About: "what you forbid does not run",
			steps: []step{{"This deletes a directory. Say no.\n\n", command("rm -r build/", "build/ is gone")}},
			end:   "I try no other way.",
		},
		{
			Word: "expire", Say: "Wait for me, and let it expire", About: "nobody decides for ten seconds",
			steps: []step{{"You have ten seconds, and I wait no longer. Do nothing.\n\n", call{
				tool: "send_message", preview: "team", args: map[string]any{"target": "team", "message": "The tests pass."}, target: "team", lives: soonest, result: "sent",
			}}},
			end: "What nobody allows does not happen.",
		},
		{
			Word: "deploy", Say: "Deploy it, and I refuse", About: "asked each time, whatever the level and the grants",
			steps: []step{{"This changes what others use. You can allow it once or deny it, and nothing beyond.\n\n", command("kubectl apply -f prod.yaml", "deployment configured")}},
			end:   "The next one would be asked about again, even at the level Autonomous.",
		},
		{
			Word: "budget", Say: "Fill the report within a budget", About: "set a budget of two tool calls a run first",
			steps: []step{
				{"Four rows for one file. Allow the first for the session.\n\n", note("report.csv", "row 1")},
				{"The second.\n\n", note("report.csv", "row 2")},
				{"The third.\n\n", note("report.csv", "row 3")},
				{"The fourth.\n\n", note("report.csv", "row 4")},
			},
			end: "With a budget of two tool calls in a run, two rows go by themselves and the next one is asked about. You set it under HUX, You, Autonomy.",
		},
		{Word: "stop", Say: "Begin three things, and I stop you", About: "a receipt tells what had been done", play: playStop},
	}
}

// play finds the scene of a message and plays it.
func (t *turn) play(text string) error {
	if err := t.think("The message has ", "to be read first, ", "then the script decides."); err != nil {
		return err
	}
	s := sceneOf(text)
	if s.play != nil {
		return s.play(t, text)
	}
	for _, step := range s.steps {
		if err := t.say(step.text); err != nil {
			return err
		}
		if err := t.use(step.call); err != nil {
			return err
		}
	}
	return t.say(s.end)
}

func sceneOf(text string) scene {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	scenes := script()
	for _, s := range scenes[1:] {
		if slices.Contains(words, s.Word) {
			return s
		}
	}
	return scenes[0]
}

func playHello(t *turn, text string) error {
	if err := t.say("You said: “" + quote(text) + "” Let me look at the workspace.\n\n"); err != nil {
		return err
	}
	look := call{tool: "search_files", preview: "*", args: map[string]any{"pattern": "*"}, result: "README.md\nnotes.txt\nreport.csv"}
	if err := t.use(look); err != nil {
		return err
	}
	var words []string
	for _, s := range script()[1:] {
		words = append(words, s.Word)
	}
	return t.say("There are three files: README.md, notes.txt and report.csv. I am a script, so this is all that I know. " +
		"A message with one of these words plays a scene: " + strings.Join(words, ", ") + ".\n\n" +
		"What an agent writes is shown as plain text: <b>this is not bold</b>.")
}

// playApproval asks as the WebUI itself does, and not before each tool.
func playApproval(t *turn, _ string) error {
	if err := t.say("That needs a command which I may not run without you.\n\n"); err != nil {
		return err
	}
	c := command("rm -r build/", "build/ is gone")
	choice, err := t.ask(c.preview, "deletes a directory with everything in it")
	if err != nil {
		return err
	}
	if choice == "deny" {
		return t.say("You said no, so nothing was deleted.")
	}
	if err := t.work(&c); err != nil {
		return err
	}
	return t.say("You allowed it (" + choice + "), and the directory is gone. Only in the script, of course.")
}

func playLong(t *turn, _ string) error {
	if err := t.use(read("notes.txt", "12 paragraphs")); err != nil {
		return err
	}
	for i := 1; i <= 12; i++ {
		paragraph := fmt.Sprintf("Paragraph %d of 12. ", i) +
			"This goes on for about half a minute, long enough to stop it with the button, to reload the page in the middle, " +
			"or to cut the connection and see the rest arrive without a gap. Each word is an event of its own, with a number, " +
			"and the browser asks for what comes after the last one it saw.\n\n"
		if err := t.say(paragraph); err != nil {
			return err
		}
	}
	return nil
}

func playFailure(t *turn, _ string) error {
	if err := t.say("I start as usual, and then "); err != nil {
		return err
	}
	return &appError{"Model unavailable", "The scripted agent failed, as you asked.", "Send anything else to go on."}
}

// playStop is at three things when it is stopped: a file is written, a page is
// on its way, and a program runs. The program ends with the run; of the page
// nobody knows whether its server has counted the visit, so nothing is told.
func playStop(t *turn, _ string) error {
	if err := t.say("I ask about all three at once. Allow them.\n\n"); err != nil {
		return err
	}
	file := note("draft.md", "The beginning of it.")
	page := call{tool: "web_extract", preview: "https://example.org/prices", args: map[string]any{"urls": []any{"https://example.org/prices"}}, target: "example.org", result: "12 prices"}
	program := command("npm run watch", "watching")
	if err := t.mayRunAll(&file, &page, &program); err != nil {
		return err
	}
	if file.allowed {
		if err := t.work(&file); err != nil {
			return err
		}
	}
	for _, c := range []*call{&page, &program} {
		if c.allowed {
			t.start(c)
		}
	}
	if !file.allowed && !page.allowed && !program.allowed {
		return t.say("You allowed none of them, so there is nothing to stop.")
	}
	err := t.say("All that you allowed is under way. Stop me now.\n\n")
	if err == nil {
		err = t.u.options.Wait(t.ctx, time.Minute)
	}
	if err != nil {
		if program.allowed {
			t.report("cancelled", &program)
		}
		return err
	}
	for _, c := range []*call{&page, &program} {
		if c.allowed {
			t.finishTool(c)
		}
	}
	return t.say("Nobody has stopped me, so all of it has come to its end.")
}
