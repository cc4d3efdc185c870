"""`python -m limelight`, the same as `limelight`."""

import sys

from .cli import main

sys.exit(main())
