"""What npm would publish: packed, unpacked as npm does, and used from Node and from a page."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import tarfile
import threading
from pathlib import Path

import numpy as np
import pytest

from browsers import needs_chromium, new_context
from limelight.runtime.reader import load

ROOT = Path(__file__).parents[2]
TEXT = "The soup was cold."
pytestmark = pytest.mark.skipif(not shutil.which("npm"), reason="no npm on this machine")


@pytest.fixture(scope="module")
def modules(tmp_path_factory) -> Path:
    """A folder with node_modules in it."""
    folder = tmp_path_factory.mktemp("npm")
    command = ["node", ROOT / "scripts" / "pack_js.mjs", folder]
    subprocess.run(command, check=True, capture_output=True)
    for packed in folder.glob("*.tgz"):
        with tarfile.open(packed) as file:
            file.extractall(folder / "unpacked", filter="data")
            inside = json.loads((folder / "unpacked/package/package.json").read_text())
        (folder / "node_modules").mkdir(exist_ok=True)
        (folder / "unpacked/package").rename(folder / "node_modules" / inside["name"])
    return folder


def test_node_finds_both_packages_by_name(modules):
    script = f"""
    import folder from "limelight-reader"
    import {{ load }} from "limelight-text"
    console.log(JSON.stringify([...(await load(folder)).embed({json.dumps(TEXT)})]))
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], cwd=modules, check=True, capture_output=True
    )
    np.testing.assert_allclose(json.loads(done.stdout), load("reader").encode(TEXT), atol=2e-5)


def test_every_name_that_a_module_exports_has_a_type(modules):
    package = modules / "node_modules" / "limelight-text"
    script = 'import("./index.js").then(found => console.log(Object.keys(found).join(" ")))'
    names = subprocess.run(["node", "-e", script], cwd=package, check=True, capture_output=True, text=True)
    types = (package / "index.d.ts").read_text()
    assert all(f" {name}" in types for name in names.stdout.split())


@needs_chromium
def test_a_page_uses_them(modules):
    names = {"limelight-text": "index.js", "limelight-reader": "index.js"}
    imports = {name: f"/node_modules/{name}/{file}" for name, file in names.items()}
    (modules / "index.html").write_text(
        f'<!doctype html><script type="importmap">{json.dumps({"imports": imports})}</script>'
        '<script type="module">import folder from "limelight-reader"\n'
        'import { load } from "limelight-text"\n'
        f"window.found = load(folder).then(reader => [...reader.embed({json.dumps(TEXT)})])</script>"
    )
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(modules))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            with new_context() as context:
                page = context.new_page()
                page.goto(f"http://127.0.0.1:{server.server_port}/")
                found = page.evaluate("window.found")
        finally:
            server.shutdown()
    np.testing.assert_allclose(found, load("reader").encode(TEXT), atol=2e-5)
