import os


def load_hermes_dotenv():
    with open(os.path.join(os.environ["HERMES_HOME"], ".env"), encoding="utf-8") as f:
        for line in f:
            name, _, value = line.strip().partition("=")
            os.environ[name] = value
