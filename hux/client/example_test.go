package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
)

// An agent tells what it does in the conversation that a session of the WebUI
// belongs to, and follows it until its run is over.
func Example() {
	router := httptest.NewServer(standIn())
	defer router.Close()
	ctx := context.Background()

	c, err := client.New(client.Options{BaseURL: router.URL, Token: client.Static("hux_…")})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := c.During("20260302_091455_a1b2c3", "run-7")
	conversation, err := agent.OpenConversation(ctx, client.ConversationCreate{
		ExternalRef: &client.ConversationCreateExternalRef{System: "webui", ID: "20260302_091455_a1b2c3"},
	})
	if client.CodeOf(err) == hux.FeatureDisabled {
		fmt.Println("this router has no conversations")
		return
	} else if err != nil {
		fmt.Println(err)
		return
	}
	for _, kind := range []string{"run.started", "run.finished"} {
		if _, err := agent.PostEvent(ctx, conversation.ID, client.EventCreate{Kind: kind, Summary: "A run of the tests", RunID: new("run-7")}); err != nil {
			fmt.Println(err)
			return
		}
	}
	for event, err := range agent.Follow(ctx, conversation.ID, client.StreamOptions{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(event.Seq, event.Kind)
		if event.Kind == "run.finished" {
			break
		}
	}
	// Output:
	// 1 run.started
	// 2 run.finished
}

// standIn answers as a router with one conversation would.
func standIn() http.Handler {
	var kinds []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hux/v1/conversations", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"schema":"hux.conversation.v1","id":"cnv_0198f3a17c3e7d54b1a2c3d4e5f60718"}`)
	})
	mux.HandleFunc("POST /hux/v1/conversations/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		var body client.EventCreate
		_ = json.NewDecoder(r.Body).Decode(&body)
		kinds = append(kinds, body.Kind)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"schema":"hux.event.v1","seq":%d}`, len(kinds))
	})
	mux.HandleFunc("GET /hux/v1/conversations/{id}/events/stream", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, kind := range kinds {
			fmt.Fprintf(w, "id: %d\ndata: {\"seq\":%d,\"kind\":%q}\n\n", i+1, i+1, kind)
		}
	})
	return mux
}
