"""The paper's model, one file per section, its symbols kept."""

from ...errors import LimelightError

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise LimelightError(
        "limelight.network needs PyTorch: pip install '.[train]'", code="needs-extra"
    ) from None
