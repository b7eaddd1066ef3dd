"""Tries the hooks of hux with the runner of the Hermes that this interpreter
has, and prints what came of it as one line of JSON. No tool runs."""
import dataclasses
import hashlib
import json
import os
import sys

command, telling, mark = sys.argv[1:4]
found = {"version": "", "failed": [], "trials": {}}


def attempt(name, f):
    try:
        return f()
    except BaseException as e:
        found["failed"].append(name + ": " + type(e).__name__ + ": " + str(e)[:200])


def version():
    import hermes_cli

    known = str(getattr(hermes_cli, "__version__", ""))
    if known[:1].isdigit() and not known.startswith("0.0.0"):
        return known
    from importlib import metadata

    for name in metadata.packages_distributions().get("hermes_cli", []):
        return metadata.version(name)
    from hermes_cli.version_info import get_version_info

    return str(get_version_info().base_version)


def secret():
    try:
        from hermes_cli.env_loader import load_hermes_dotenv

        load_hermes_dotenv()
    finally:
        value = os.environ.get("HUX_HOOK_SECRET", "")
        found["secret"] = hashlib.sha256(value.encode()).hexdigest() if value else ""


def ended(result):
    parsed = result.get("parsed") or {}
    blocked = parsed.get("action") == "block"
    return {"blocked": blocked, "said": str(parsed.get("message") or result.get("error") or result.get("stderr") or "")[:400]}


def hooks():
    from agent import shell_hooks
    from hermes_cli import plugins
    from hermes_cli.config import load_config

    config = load_config()
    accepted = shell_hooks._resolve_effective_accept(config, False)
    consent = {e: accepted or shell_hooks._is_allowlisted(e, c) for e, c in (("pre_tool_call", command), ("post_tool_call", telling))}
    found["consent"] = all(consent.values())
    found["safe_mode"] = os.environ.get("HERMES_SAFE_MODE", "").strip().lower() in ("1", "true", "yes", "on")
    limit = getattr(plugins, "_resolve_hook_callback_timeout", None)
    found["callback"] = limit() if limit else None
    spec = next((s for s in shell_hooks.iter_configured_hooks(config) if s.event == "pre_tool_call" and s.command == command), None)
    found["seen"] = spec is not None
    if spec is None:
        return
    found["every_tool"] = spec.matches_tool("hux_check")

    def run(spec, do):
        kwargs = {"tool_name": "hux_check", "args": {"do": do}, "session_id": "hux_check", "tool_call_id": "hux_check", "turn_id": "hux_check"}
        return ended(shell_hooks.run_once(spec, kwargs))

    found["trials"] = {
        "asks": run(spec, "ask"),
        "killed": run(spec, "die"),
        "missing": run(dataclasses.replace(spec, command="/nonexistent/hux hook"), "ask"),
    }


found["version"] = attempt("version", version) or ""
attempt("environment", secret)
attempt("hooks", hooks)
print("\n" + mark + json.dumps(found))
