import os


def load_config():
    with open(os.path.join(os.environ["HERMES_HOME"], "config.yaml"), encoding="utf-8") as f:
        return {"text": f.read()}
