import re

from hermes_cli.config import load_config


def _resolve_hook_callback_timeout():
    found = re.search(r"hook_callback_timeout: (\d+)", load_config()["text"])
    return float(found[1]) if found else 30.0
