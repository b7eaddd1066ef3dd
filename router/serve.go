package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"bstein.dev/hux/router/server"
)

const serveHelp = `Usage: hux serve [--config FILE] [--name value …]

Serves until it gets SIGTERM or an interrupt; then it tells open streams and
ends within the grace time.
`

// ballast is how many bytes are held and never touched, so that they take
// address space and no memory. The garbage collector counts them, and lets as
// much more gather between two runs: with the little that the router keeps
// alive it would run every few hundred requests, at a fifth of all its time.
const ballast = 16 << 20

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, warnings, err := loadConfig(args, serveHelp+settings(), stdout, stderr)
	if err != nil {
		return err
	}
	setLog(stderr, slog.LevelInfo)
	defer runtime.KeepAlive(make([]byte, ballast))
	if err := refuseDemo(c.Data); err != nil {
		return err
	}
	for _, w := range warnings {
		slog.Warn(w)
	}
	s, err := server.New(c, server.Options{Version: version(), Warnings: warnings})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	slog.Info("serving", "listen", l.Addr().String(), "chat", c.PublicURL.String(), "slots", len(c.Slots))
	return errors.Join(s.Run(ctx, l), s.Close())
}

// demoMark is a file that the demo leaves in its data directory. Its key lies
// beside it and its people have known passwords, so nothing real may go on
// from there.
const demoMark = "demo.key"

func refuseDemo(data string) error {
	_, err := os.Stat(filepath.Join(data, demoMark))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return fmt.Errorf("data: %s was made by hux demo, and serve takes nothing of a demo; name another directory", data)
}
