"""The paper's model, one file per section, its symbols kept."""

from ...errors import needs_torch

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise needs_torch("limelight.network") from None
