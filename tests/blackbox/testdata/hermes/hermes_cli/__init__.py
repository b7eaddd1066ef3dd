"""What hux agents check asks of a Hermes; the version is HERMES_STANDIN_VERSION."""
import os

__version__ = os.environ["HERMES_STANDIN_VERSION"]
