"""`python -m limelight`, the same as `limelight`."""

from .cli import start

start()
