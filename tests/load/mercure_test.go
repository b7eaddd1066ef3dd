package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// hub does what of Mercure's protocol the driver relies on.
type hub struct {
	mu        sync.Mutex
	published []url.Values
	followers []chan string
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != hubPath {
		http.NotFound(w, r)
		return
	}
	if r.Method == http.MethodPost {
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.published = append(h.published, r.PostForm)
		id := fmt.Sprintf("urn:uuid:%d", 7*len(h.published))
		for _, f := range h.followers {
			f <- "id: " + id + "\ndata: " + r.PostForm.Get("data") + "\n\n"
		}
		fmt.Fprint(w, id)
		return
	}
	updates := make(chan string, 1000)
	h.mu.Lock()
	h.followers = append(h.followers, updates)
	h.mu.Unlock()
	for update := ":\n"; ; {
		fmt.Fprint(w, update)
		w.(http.Flusher).Flush()
		select {
		case update = <-updates:
		case <-r.Context().Done():
			return
		}
	}
}

// TestMercure publishes to followers of a hub.
func TestMercure(t *testing.T) {
	const topic, data = "cnv_one", `{"schema":"hux.event.v1","summary":"a & b = 100 %"}`
	var h hub
	s := httptest.NewServer(&h)
	defer s.Close()
	addr := strings.TrimPrefix(s.URL, "http://")
	to := &target{name: mercure.name, addr: addr, headers: []string{"Host: " + addr}, update: url.Values{"data": {data}}.Encode()}
	a := gather(to, topic, 0, 5)
	a.expect(20)
	write(to, topic, 20, 0, 4)
	a.await()
	if got := a.dismiss(); got != (faults{}) {
		t.Errorf("lost, doubled, reordered: %v", got)
	}
	for _, form := range h.published {
		if form.Get("topic") != topic || form.Get("data") != data {
			t.Fatalf("published %v", form)
		}
	}
}

// TestNumber holds what followers got against each other.
func TestNumber(t *testing.T) {
	whole := []uint64{70, 50, 90, 10}
	for _, test := range []struct {
		name string
		ids  []uint64
		want faults
	}{
		{"the same", whole, faults{}},
		{"lost in the middle", []uint64{70, 10}, faults{lost: 2}},
		{"lost at the end", []uint64{70, 50, 90}, faults{lost: 1}},
		{"lost all", nil, faults{lost: 4}},
		{"reordered", []uint64{70, 90, 50, 10}, faults{reordered: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &follower{seqs: slices.Clone(test.ids)}
			number([]*follower{{seqs: slices.Clone(whole)}, f})
			var got faults
			if got.count(f.seqs, 0, 4); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
	doubled, got := &follower{seqs: []uint64{70, 50, 50, 90}}, faults{}
	number([]*follower{doubled})
	if got.count(doubled.seqs, 0, 3); got != (faults{doubled: 1}) {
		t.Errorf("%v, want one doubled", got)
	}
}
