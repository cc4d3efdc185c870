"""What mkdocs needs to know of this repository: `make docs`, with mkdocs.yml.

The pages lie in the site as they lie here, README.md first, so that a link works on both. The API reference
is made from the docstrings, a notebook's page from its cells.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "limelight"
PAGES = ("*.md", "docs/**/*.*", "experiments/**/*.md", "src/limelight/bundled/**/*.md")
EXAMPLE = re.compile(r"^>>> .*?(?=\n\n(?!>>> )|\Z)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^][]+)\]\((?!\w+:)([^)#]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """The pages and pictures of the repository, in the place of those of one folder."""
    theirs = [file for file in files if file.src_dir != config.docs_dir]  # those of plugins
    found = sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})
    names = [path.relative_to(ROOT).as_posix() for path in found]
    ours = [File(name, str(ROOT), config.site_dir, config.use_directory_urls) for name in names]
    made = {"docs/reference.md": reference()}
    made |= {f"notebooks/{path.stem}.md": notebook(path) for path in (ROOT / "notebooks").glob("*.ipynb")}
    return Files([*theirs, *ours, *(File.generated(config, name, content=made[name]) for name in made)])


def reference() -> str:
    """A page with everything that `import limelight` offers, in the order of `__all__`."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (names,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    return "# Reference\n\n" + "\n\n".join(f"::: limelight.{name}" for name in names) + "\n"


def notebook(path: Path) -> str:
    """A notebook as a page: its prose, and its code to copy."""
    cells = json.loads(path.read_text())["cells"]
    return "\n\n".join(
        "".join(cell["source"])
        if cell["cell_type"] == "markdown"
        else f"```python\n{''.join(cell['source'])}\n```"
        for cell in cells
    )


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A site lists no folders, so links to them become plain text; links to notebooks go to their pages."""

    def link(match: re.Match[str]) -> str:
        text, target = match.groups()
        if (ROOT / page.file.src_uri).parent.joinpath(target).is_dir():
            return text
        return f"[{text}]({target.removesuffix('.ipynb') + '.md' if target.endswith('.ipynb') else target})"

    return LINK.sub(link, markdown)


class Examples(griffe.Extension):
    """The examples of a docstring are code: in Markdown, `>>>` alone would be a quotation."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(lambda code: f"```pycon\n{code[0]}\n```", obj.docstring.value)
