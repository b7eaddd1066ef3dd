package main

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Mercure is a hub of server-sent events (mercure.rocks): a POST of a form
// publishes an update to a topic, a GET follows topics. Here a topic stands for
// a conversation.
const (
	mercureName = "Mercure"
	hubPath     = "/.well-known/mercure"
)

var mercure = peer{name: mercureName, program: "mercure", module: "github.com/dunglas/mercure", files: []string{"Mercure.Caddyfile"},
	args: []string{"run", "--adapter", "caddyfile", "--config", "{{.Dir}}/Mercure.Caddyfile"}}

// addMercure starts the hub, if there is one, to which data is published at
// each post. It is nil where there is none.
func (r *rig) addMercure(ctx context.Context, o options, data []byte) (*target, error) {
	if o.peers == "-" {
		return nil, nil //nolint:nilnil // as said above
	}
	dirs := filepath.SplitList(o.peers)
	n := len(r.targets)
	if err := r.addPeer(ctx, mercure, dirs); err != nil || len(r.targets) == n {
		return nil, err
	}
	t := r.targets[n]
	program, err := find(mercure.program, dirs)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "mercure-token", "--iss", r.issuer, "--aud", "http://"+t.addr+hubPath, //nolint:gosec // the program measured
		"--key", "@-", "--ttl", "24h", "--publish", "*", "--subscribe", "*")
	cmd.Stdin = strings.NewReader(r.secret)
	token, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("making a token of %s: %w", mercureName, err)
	}
	t.headers = append(t.headers, "Authorization: Bearer "+strings.TrimSpace(string(token)))
	t.update = url.Values{"data": {string(data)}}.Encode()
	r.notes = append(r.notes, mercureName+" is "+t.version+".")
	return t, nil
}

// publish is a request that publishes the target's update to a topic.
func (t *target) publish(topic string) []byte {
	body := t.update + "&topic=" + url.QueryEscape(topic)
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\n%s\r\nUser-Agent: hux-load\r\nAccept: */*\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s",
		hubPath, strings.Join(t.headers, "\r\n"), len(body), body)
}

// An update has no number: its id is kept, as a hash, and numbered in the end.
var idSeed = maphash.MakeSeed()

func (f *follower) keep(id []byte) error {
	f.ids = append(f.ids, maphash.Bytes(idSeed, id))
	return nil
}

// number counts what each follower got of a hub by the order of the one who got
// most; an update that this one did not get comes last.
func number(followers []*follower) {
	order := slices.SortedFunc(slices.Values(followers), func(a, b *follower) int { return len(b.ids) - len(a.ids) })
	numbers := map[uint64]uint64{}
	for _, f := range order {
		for _, id := range f.ids {
			if numbers[id] == 0 {
				numbers[id] = uint64(len(numbers)) + 1
			}
			f.count(numbers[id])
		}
	}
}
