"""Compile src/limelight/text/_native.c if there is a C compiler; without one, Python does the same.

The file works with every version of Python from 3.11 on. With LIMELIGHT_PURE set, nothing is compiled.
"""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

NAME, SOURCE = "limelight.text._native", "src/limelight/text/_native.c"
FLAGS = [] if os.name == "nt" else ["-O2", "-g0"]


class CompileNative(BuildHookInterface):
    """Puts the compiled file beside its source: into the wheel, or where an editable install finds it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or os.environ.get("LIMELIGHT_PURE"):
            return
        if sysconfig.get_config_var("Py_GIL_DISABLED"):  # such a Python loads no file for all versions
            return
        try:
            compiled = compile_native(Path(self.root))
        except Exception as error:  # no compiler, no headers of Python: each platform has its own errors
            self.app.display_warning(f"not compiled: {error}")
            for built in Path(self.root, SOURCE).parent.glob("_native.*"):
                if built.suffix in (".so", ".pyd"):  # of an earlier build: an editable install would use it
                    built.unlink()
            return
        build_data["artifacts"].append(compiled.relative_to(self.root).as_posix())
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        # pip knows macOS from 11 on by its first number alone
        platform = re.sub(r"^macosx_(1[1-9]|[2-9]\d)(_\d+)?_(?=[a-z])", r"macosx_\1_0_", platform)
        build_data["tag"] = f"cp311-abi3-{platform}"


def compile_native(root: Path) -> Path:
    """The compiled file."""
    extension = Extension(NAME, [SOURCE], py_limited_api=True, extra_compile_args=FLAGS)
    command = build_ext(
        Distribution({"name": "limelight", "ext_modules": [extension], "package_dir": {"": "src"}})
    )
    command.inplace = command.force = True  # an earlier build's file is newer than the source
    command.build_temp = "build/native"
    before = Path.cwd()
    os.chdir(root)  # the source as a relative name: no folder of this machine gets into the file
    try:
        command.ensure_finalized()
        command.run()
        return root / command.get_ext_fullpath(NAME)
    finally:
        os.chdir(before)
