"""Runs a shell hook as a Hermes of HERMES_STANDIN_VERSION does. It reads of
config.yaml what hux agents install writes, and no other YAML."""
import dataclasses
import json
import os
import re
import shlex
import subprocess

old = os.environ.get("HERMES_STANDIN_VERSION", "").startswith("0.19.")


@dataclasses.dataclass
class ShellHookSpec:
    event: str
    command: str
    matcher: str = ".*"
    timeout: int = 60
    fail_closed: bool = False

    def matches_tool(self, tool):
        return re.fullmatch(self.matcher, tool) is not None


def iter_configured_hooks(config):
    specs, event = [], ""
    for line in config["text"].splitlines():
        if found := re.fullmatch(r"  (\w+):", line):
            event = found[1]
        elif found := re.fullmatch(r"    - matcher: (.+)", line):
            specs.append(ShellHookSpec(event, "", json.loads(found[1])))
        elif found := re.fullmatch(r"      (command|timeout|fail_closed): (.+)", line):
            if event != "outbound":
                setattr(specs[-1], found[1], json.loads(found[2]))
    return specs


def _resolve_effective_accept(config, given):
    return given or "hooks_auto_accept: true" in config["text"]


def _is_allowlisted(event, command):
    return False


def run_once(spec, kwargs):
    call = {
        "hook_event_name": spec.event, "tool_name": kwargs["tool_name"], "tool_input": kwargs["args"], "session_id": kwargs["session_id"],
        "extra": {"tool_call_id": kwargs["tool_call_id"], "turn_id": kwargs["turn_id"]},
    }
    closed = spec.fail_closed and not old
    try:
        done = subprocess.run(shlex.split(spec.command), input=json.dumps(call), capture_output=True, text=True, timeout=spec.timeout)
    except (OSError, subprocess.TimeoutExpired):
        return {"parsed": {"action": "block", "message": "failed closed"} if closed else None, "error": "command not found"}
    parsed = None
    try:
        answer = json.loads(done.stdout or "{}")
        if answer.get("decision") == "block":
            parsed = {"action": "block", "message": answer["reason"]}
    except ValueError:
        if closed:
            parsed = {"action": "block", "message": "unparseable"}
    if parsed is None and done.returncode == 2 and not old:
        parsed = {"action": "block", "message": done.stderr}
    return {"parsed": parsed, "stderr": done.stderr}
