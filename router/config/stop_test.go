package config_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"bstein.dev/hux/router/config"
)

// Whatever starts hux gives it the time to end that its settings promise:
// drain, grace, and what the parts may take besides.
func TestWhoStopsHuxWaitsForIt(t *testing.T) {
	const besides = 2*time.Second + 5*time.Second // proxy.Drain, and endWithin of router/server
	settings := map[string]time.Duration{}
	for _, o := range config.Options {
		if o.Key == "grace" || o.Key == "drain" {
			settings[o.Key] = seconds(t, o.Default)
		}
	}
	const kubernetes, running, image = "../../deploy/kubernetes/hux.yaml", "../../docs/running.md", "../../Dockerfile"
	for _, c := range []struct{ what, file, pattern string }{
		{"the pod", kubernetes, `(?m)^ *terminationGracePeriodSeconds: (\d+)`},
		{"the unit", running, `(?m)^TimeoutStopSec=(\d+)$`},
		{"docker run", running, `--stop-timeout (\d+) `},
		{"the image's remark", image, `--stop-timeout (\d+)`},
	} {
		content := read(t, c.file)
		found := regexp.MustCompile(c.pattern).FindStringSubmatch(content)
		if found == nil {
			t.Errorf("%s: %s does not say how long it waits", c.file, c.what)
			continue
		}
		need := settings["grace"] + besides
		drain := settings["drain"]
		if c.file == kubernetes { // the one with a balancer, whose file says how long
			set := regexp.MustCompile(`(?m)^ *drain: (\w+)`).FindStringSubmatch(content)
			if set == nil {
				t.Fatal("the pod's balancers get no time to see that it goes")
			}
			if drain = seconds(t, set[1]); drain <= 0 {
				t.Error("the pod's drain is 0")
			}
		}
		waits, _ := strconv.Atoi(found[1])
		if time.Duration(waits)*time.Second < need+drain {
			t.Errorf("%s: %s waits %d s, and hux may take %v", c.file, c.what, waits, need+drain)
		}
	}
	if !regexp.MustCompile(`(?m)^STOPSIGNAL SIGTERM$`).MatchString(read(t, image)) {
		t.Error("the image does not name the signal that ends hux")
	}
}

func seconds(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
