"""Models behind HTTP, and in a page of their own. Never imports PyTorch.

>>> from limelight.serve import create_app
>>> app = create_app({"reader": "reader"})  # an ASGI application for any server
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .app import create_app
    from .limits import Limits

__all__ = ["Limits", "create_app"]

__getattr__, __dir__ = lazy(__name__, {"app": "create_app", "limits": "Limits"})
