"""Starts shell hooks as the installed agent does: a line of JSON in, a hook's event and what the agent knows of the
call; a line out, what the agent makes of the hook's end, or null where it goes on."""

import dataclasses
import json
import sys

from agent.shell_hooks import ShellHookSpec, run_once

known = {field.name for field in dataclasses.fields(ShellHookSpec)}
for line in sys.stdin:
    hook, call = json.loads(line)
    spec = ShellHookSpec(**{name: value for name, value in hook.items() if name in known})
    print(json.dumps(run_once(spec, call)["parsed"]), flush=True)
