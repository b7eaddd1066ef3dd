package main

import (
	"errors"
	"io"
	"net/url"
	"text/template"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/router/server"
)

// What an agent's Hermes is told. Hermes waits 300 s for a hook at most;
// without fail_closed it would go on where the hook can't be started.
var (
	hookConfig = template.Must(template.New("config.yaml").Parse(`# For config.yaml of the Hermes of {{.ID}}, slot {{.Slot}}.
hooks:
  pre_tool_call: # asks before a tool runs
    - matcher: ".*"
      command: "hux hook"
      timeout: 300
      fail_closed: true
  post_tool_call: # tells that it has run
    - matcher: ".*"
      command: "hux hook event"
      timeout: 10
  outbound: # tells the same without a process; what is told twice counts once
    - name: hux
      url: "{{.URL}}/hux/v1/ingest/hermes/{{.ID}}"
      events: [pre_tool_call, post_tool_call]
      matcher: ".*"
      secret_env: HUX_HOOK_SECRET
      timeout: 10
hooks_auto_accept: true # a gateway has nobody who could accept them
`))
	hookEnv = template.Must(template.New("env").Parse(`# For the process of the Hermes of {{.ID}}, slot {{.Slot}}. Both secrets change with: hux agents rotate
HUX_URL={{.URL}}
# as "hux agents create" or "rotate" printed it, or --credential-file in the commands:
# HUX_AGENT_CREDENTIAL=
HUX_HOOK_SECRET={{.Secret}}
`))
)

// printHook prints what is to be put into config.yaml, or into the environment.
func printHook(w io.Writer, hook server.AgentHook, at string, env bool) error {
	if at != "" {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("--url must be like https://hux.example.org")
		}
		hook.URL = api.Origin(u)
	}
	if env {
		return hookEnv.Execute(w, hook)
	}
	return hookConfig.Execute(w, hook)
}
