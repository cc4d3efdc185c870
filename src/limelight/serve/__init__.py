"""Models behind HTTP, and in a page of their own. Never imports PyTorch.

>>> from limelight.serve import create_app
>>> app = create_app({"reader": "reader"})  # an ASGI application for any server
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .app import create_app
    from .explorer.one_file import save_page
    from .http.limits import Limits

__all__ = ["Limits", "create_app", "save_page"]

__getattr__, __dir__ = lazy(
    __name__, {"app": "create_app", "explorer.one_file": "save_page", "http.limits": "Limits"}
)
