"""`python -m limelight`, the same as `limelight`."""

from limelight.cli import start

start()
