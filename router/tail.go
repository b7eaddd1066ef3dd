package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
)

const tailHelp = `Usage: hux tail CONVERSATION [--url URL] [--token-file FILE] [--after SEQ] [--json]

Follows what happens in a conversation, cnv_…: all of it so far, or what comes
after the event with the number SEQ, and then each event as it happens, one a
line. A lost connection is taken up again where it ended.

  --url          where hux answers programs (http://127.0.0.1:8080)
  --token-file   holds a token of the sign-in provider or an agent's credential,
                 and is read again for each connection; without it HUX_TOKEN
  --json         each event as the JSON that hux sent

It ends with status 1 when the token or the conversation is refused.
`

func tail(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	set := flag.NewFlagSet("hux tail", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	base := set.String("url", "http://127.0.0.1:8080", "")
	tokenFile := set.String("token-file", "", "")
	after := set.Int64("after", 0, "")
	asJSON := set.Bool("json", false, "")
	words, err := parseMixed(set, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, tailHelp)
		return errHelped
	}
	switch {
	case err != nil:
		return misread("hux tail", err)
	case len(words) != 1:
		return misused{"hux tail", "name one conversation"}
	case *after < 0:
		return misused{"hux tail", "--after is the number of an event"}
	}
	if !hux.ValidID("cnv", words[0]) {
		return errors.New("a conversation is named by its id, cnv_ and 32 hex digits")
	}
	api, err := client.New(client.Options{
		BaseURL: *base, UserAgent: "hux-tail/" + hux.ContractVersion,
		Token: func(context.Context) (string, error) { return tokenFrom(*tokenFile) },
	})
	if err != nil {
		return errors.New("--url must be like https://hux.example.org")
	}
	show := printLine(stdout)
	if *asJSON {
		show = func(raw []byte) error { _, err := fmt.Fprintf(stdout, "%s\n", hux.OneLine(raw)); return err }
	}
	events := client.Stream[json.RawMessage](ctx, api, "/conversations/"+words[0]+"/events/stream", client.StreamOptions{
		After: *after,
		Reset: func(string) { fmt.Fprintln(stderr, "hux: the log's numbers start over; here it is from the beginning") },
		Lost: func(err error) {
			if err != nil { // without one the router was restarted, or this reader was too slow
				fmt.Fprintf(stderr, "hux: %s; trying again\n", hux.Plain(err.Error()))
			}
		},
	})
	for raw, err := range events {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return explain(err, *base)
		}
		if err := show(*raw); err != nil {
			return err
		}
	}
	return nil
}

// explain says what a refusal means to the one who called hux tail.
func explain(err error, base string) error {
	var refused *client.Error
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Code == "":
		return fmt.Errorf("%s is not hux's API: status %d", base, refused.Status)
	case refused.Status == http.StatusUnauthorized:
		return errors.New("the token is not accepted: it is wrong, or its time is over")
	case refused.Status == http.StatusNotFound:
		return fmt.Errorf("no such conversation for this token: %s", hux.Plain(refused.Detail))
	}
	return fmt.Errorf("refused with status %d: %s", refused.Status, hux.Plain(refused.Detail))
}

func tokenFrom(file string) (string, error) {
	token := os.Getenv("HUX_TOKEN")
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token = string(content)
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", errors.New("who asks? Give a token in HUX_TOKEN or with --token-file")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("that is no token: it has spaces or characters that none has")
	}
	return token, nil
}

// printLine shows events to people.
func printLine(w io.Writer) func(raw []byte) error {
	return func(raw []byte) error {
		var e client.Event
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("an event that can't be read: %w", err)
		}
		status, who := "-", string(e.Provenance.Actor.Kind)
		if e.Status != nil {
			status = *e.Status
		}
		if e.ReportedBy != nil {
			who += "'s " + *e.ReportedBy
		}
		if e.RunID != nil {
			who += ", run " + *e.RunID
		}
		if e.Tombstone != nil {
			e.Summary = "(forgotten)"
		}
		_, err := fmt.Fprintf(w, "%s %5d  %-18s %-9s  %s  [%s]\n", e.CreatedAt.Local().Format("15:04:05"), e.Seq, hux.Plain(e.Kind), hux.Plain(status), hux.Plain(e.Summary), hux.Plain(who))
		return err
	}
}
