package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	agenthook "bstein.dev/hux/router/hook"

	udiff "github.com/aymanbagabas/go-udiff"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/router/hermes"
)

const installHelp = `Usage:

  hux agents install FILE [--from FILE] [--url URL] [--yes | --dry-run]
                          [--program PATH] [--as FOLDER]

Puts hux into FILE, the config.yaml of a Hermes agent, and keeps all that is in
it. It shows what would change and asks first. The secrets go into files beside
it that only their owner can read: hux/credential, hux/hook-secret and .env,
which Hermes reads by itself. A second run brings the entries up to date.

  --from      what "hux agents create --env" printed; - reads standard input.
              Without it HUX_URL, HUX_AGENT_CREDENTIAL and HUX_HOOK_SECRET hold
              that, or what an earlier run has put there
  --url       where the agent reaches hux
  --yes       do not ask
  --dry-run   change nothing
  --program   the hux binary, as the agent starts it (this one)
  --as        the folder of FILE as the agent sees it, where that is another,
              such as in a container
`

// install is a command line of hux agents install.
type install struct {
	file, from, url, program, as string
	yes, dry                     bool
}

func installAgent(args []string, stdout, stderr io.Writer) error {
	var c install
	set := flag.NewFlagSet("hux agents install", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&c.from, "from", "", "")
	set.StringVar(&c.url, "url", "", "")
	set.StringVar(&c.program, "program", "", "")
	set.StringVar(&c.as, "as", "", "")
	set.BoolVar(&c.yes, "yes", false, "")
	set.BoolVar(&c.dry, "dry-run", false, "")
	words, err := parseMixed(set, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, installHelp)
		return errHelped
	}
	if err != nil || len(words) != 1 {
		return misread("hux agents install", err)
	}
	c.file = words[0]
	files, err := c.plan(stdout)
	if err != nil {
		return err
	}
	switch {
	case len(files) == 0:
		fmt.Fprintf(stdout, "Nothing to change: %s has the hooks already.\n", c.file)
		return nil
	case c.dry:
		return nil
	case !c.yes && !agreed(stdout):
		fmt.Fprintln(stderr, "Nothing was changed. --yes goes on without asking.")
		return errSaid
	}
	for _, f := range files {
		if err := f.write(); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "Done. Restart Hermes, then try it where it runs: hux agents check %s\n", hermes.Join(c.file))
	return nil
}

// plan prints what would change, and gives the files that would be written.
func (c *install) plan(stdout io.Writer) ([]hermesFile, error) {
	folder, err := filepath.Abs(filepath.Dir(c.file))
	if err != nil {
		return nil, err
	}
	config, err := readFile(c.file)
	if err != nil {
		return nil, err
	}
	credential, err := readFile(filepath.Join(folder, "hux", "credential"))
	if err != nil {
		return nil, err
	}
	secret, err := readFile(filepath.Join(folder, "hux", "hook-secret"))
	if err != nil {
		return nil, err
	}
	env, err := readFile(filepath.Join(folder, ".env"))
	if err != nil {
		return nil, err
	}
	told, err := c.told(config.text(), credential.text(), secret.text())
	if err != nil {
		return nil, err
	}
	merged, changes, err := hermes.Merge(config.was, told.Setup)
	if err != nil {
		return nil, fmt.Errorf("%s can't be changed: %w", c.file, err)
	}
	config.is = merged
	credential.is, secret.is = []byte(told.credential+"\n"), []byte(told.secret+"\n")
	env.is = []byte(hermes.SetEnv(env.text(), hermes.SecretVariable, told.secret))
	if config.mode == 0 {
		config.mode = 0o600
	}
	for _, f := range []*hermesFile{&credential, &secret, &env} {
		f.secret = true
		if config.owned {
			f.uid, f.gid, f.owned = config.uid, config.gid, true
		}
	}
	var files []hermesFile
	for _, f := range []hermesFile{credential, secret, env, config} {
		switch {
		case f.unchanged():
			continue
		case f.secret:
			fmt.Fprintf(stdout, "%s gets a secret, and mode 0600\n", f.path)
		default:
			fmt.Fprint(stdout, udiff.Unified(f.path, f.path, f.text(), string(f.is)))
			for _, what := range changes {
				fmt.Fprintln(stdout, "  -", what)
			}
		}
		files = append(files, f)
	}
	return files, nil
}

// instructed is what an agent's hooks need to know, secrets included.
type instructed struct {
	hermes.Setup
	credential, secret string
}

// told gathers what the hooks need to know: from the command line and --from, or
// else from what an earlier run has written.
func (c *install) told(config, credential, secret string) (t instructed, err error) {
	get := os.Getenv
	if c.from != "" {
		content, err := readFrom(c.from)
		if err != nil {
			return t, err
		}
		get = func(name string) string { return hermes.Env(content, name) }
	}
	first := func(values ...string) string {
		for _, v := range values {
			if v = strings.TrimSpace(v); v != "" {
				return v
			}
		}
		return ""
	}
	installed, err := optionsOf([]byte(config))
	if err != nil {
		return t, fmt.Errorf("%s can't be changed: %w", c.file, err)
	}
	t.credential, t.secret = first(get("HUX_AGENT_CREDENTIAL"), credential), first(get(hermes.SecretVariable), secret)
	t.Agent = agenthook.AgentOf(t.credential)
	for _, value := range []string{t.credential, t.secret} {
		if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) || !hux.Agent(t.Agent).Valid() {
			return t, errors.New(`the agent's credential or the secret of its webhooks is missing: give what "hux agents create SLOT NAME --env" prints, with --from`)
		}
	}
	if t.URL, err = origin(first(c.url, get("HUX_URL"), installed.url)); err != nil {
		return t, err
	}
	folder := c.as
	if folder == "" {
		folder = filepath.Dir(c.file)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return t, err
	}
	t.CredentialFile, t.SecretFile = filepath.Join(folder, "hux", "credential"), filepath.Join(folder, "hux", "hook-secret")
	t.Program = c.program
	if t.Program == "" {
		if t.Program, err = os.Executable(); err != nil {
			return t, err
		}
	}
	if !hermes.IsProgram(t.Program) {
		return t, errors.New("--program must be the path of the hux binary, and its name begin with hux")
	}
	return t, nil
}

// origin is the scheme and the host of an address.
func origin(at string) (string, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("--url must be like https://hux.example.org")
	}
	return api.Origin(u), nil
}

func readFrom(name string) (string, error) {
	if name == "-" {
		content, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
		return string(content), err
	}
	content, err := os.ReadFile(name)
	return string(content), err
}

// agreed asks the person at the terminal. Without a terminal the answer is no.
func agreed(stdout io.Writer) bool {
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		return false
	}
	fmt.Fprint(stdout, "Write this? [y/N] ")
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // no answer is a no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// hermesFile is a file of a Hermes agent, as it was and as it is to be.
type hermesFile struct {
	path     string // behind links
	was, is  []byte
	mode     fs.FileMode // 0: there is none yet
	uid, gid int
	owned    bool // uid and gid are known
	secret   bool
}

func (f *hermesFile) text() string { return string(f.was) }

func (f *hermesFile) unchanged() bool {
	return f.mode != 0 && bytes.Equal(f.was, f.is) && (!f.secret || f.mode == 0o600)
}

// readFile reads a file, with what is needed to write it anew. A missing file
// counts as empty.
func readFile(path string) (f hermesFile, err error) {
	if _, err := os.Lstat(path); err == nil { // a link that leads nowhere is an error: it would become a file
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return f, err
		}
	}
	f.path = path
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f.mode = info.Mode().Perm()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		f.uid, f.gid, f.owned = int(stat.Uid), int(stat.Gid), true
	}
	f.was, err = os.ReadFile(path)
	return f, err
}

// write replaces the file in one step, if it is still what was read.
func (f *hermesFile) write() (err error) {
	if now, err := os.ReadFile(f.path); !bytes.Equal(now, f.was) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has changed meanwhile; do it again", f.path)
	}
	folder := filepath.Dir(f.path)
	if f.secret {
		if err := f.folder(folder); err != nil {
			return err
		}
		f.mode = 0o600
	}
	temporary, err := os.CreateTemp(folder, ".hux-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name())
		}
	}()
	if f.owned && (f.uid != os.Getuid() || f.gid != os.Getgid()) {
		err = temporary.Chown(f.uid, f.gid)
	}
	if err == nil {
		_, err = temporary.Write(f.is)
	}
	if err == nil {
		err = temporary.Chmod(f.mode)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), f.path)
}

// folder makes the folder of a secret, for its owner alone.
func (f *hermesFile) folder(path string) error {
	if err := os.Mkdir(path, 0o700); errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	if f.owned && (f.uid != os.Getuid() || f.gid != os.Getgid()) {
		return os.Lchown(path, f.uid, f.gid)
	}
	return nil
}
