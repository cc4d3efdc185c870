"""Training: a job -> its run -> epochs -> steps. PyTorch is loaded when `fit` or `Fitted` is first used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .._lazy import lazy
from ..errors import needs_torch

if TYPE_CHECKING:
    from .callbacks import Callback
    from .run import Fitted, fit

__all__ = ["Callback", "Fitted", "fit", "need_torch"]

__getattr__, __dir__ = lazy(__name__, {"callbacks": "Callback", "run": "Fitted fit"})


def need_torch() -> None:
    """Load PyTorch, or say how to install it.

    Its threads wait for each other in a busy loop unless told otherwise before it is loaded: on a machine
    that has other work too, training then takes several times as long.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import torch  # noqa: F401
    except ImportError:
        raise needs_torch("training") from None
