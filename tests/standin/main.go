// Standin serves the stand-in WebUI of the demo as a process of its own, for
// tests of `hux serve`.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"bstein.dev/hux/router/demo/standin"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to serve on")
	header := flag.String("header", "X-Hux-User", "header that names the user")
	title := flag.String("title", "", "title on the page")
	flag.Parse()
	if err := serve(*listen, standin.Options{Header: *header, Title: *title}); err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

func serve(listen string, options standin.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	webui := standin.New(options)
	server := &http.Server{Addr: listen, Handler: webui, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		webui.Close()
		done <- server.Close()
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return <-done
}
