"""The documents as a site: every link leads to a page of it, every page is in the navigation, and it builds.

Links are checked without mkdocs, which `make docs` installs; once it has, the site is built here as well.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
MKDOCS = HERE / ".venv" / "docs" / "bin" / "mkdocs"
(PAGES,) = (
    ast.literal_eval(node.value)
    for node in ast.parse((HERE / "scripts" / "docs_site.py").read_text()).body
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGES"
)
SITE = {path for pattern in PAGES for path in HERE.glob(pattern)}  # as mkdocs.yml's hook finds them
MADE = {HERE / "docs" / "reference.md"}
WHERE = ("", "docs/**/", "experiments/**/", "js/", "packages/**/", "src/**/")
DOCUMENTS = sorted(str(path.relative_to(HERE)) for where in WHERE for path in HERE.glob(f"{where}*.md"))
OURS = re.compile(r"(?:experiments|tests|scripts|src|examples)/[\w./-]+\.(?:py|md|js|cu)\b")
ROOMS = [path.name for path in (HERE / "src" / "limelight").iterdir() if path.is_dir()]
IN_A_ROOM = re.compile(rf"`((?:{'|'.join(ROOMS)})/[\w/]+\.(?:py|cu|js))`")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What a link can have after #, made from the headings as GitHub does."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def wrong_link(page: Path, link: str) -> str:
    """What is wrong with a link, or ""."""
    path, _, anchor = link.partition("#")
    target = Path(os.path.normpath(page.parent / path)) if path else page
    if not target.exists() and target not in MADE:
        return f"{link} leads nowhere"
    if page in SITE and not target.is_dir() and target not in SITE | MADE and target.suffix != ".ipynb":
        return f"{link} is no page of the site; write the name alone"
    if anchor and target not in MADE and anchor not in anchors(target):
        return f"{link}: its page has no such heading"
    return ""


@pytest.mark.parametrize("page", DOCUMENTS)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", FENCE.sub("", (HERE / page).read_text()))
    assert [wrong for link in links if (wrong := wrong_link(HERE / page, link))] == []


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("predict.md#tables", ""),
        ("#set-up", "no such heading"),
        ("nothing.md", "leads nowhere"),
        ("predict.md#nothing", "no such heading"),
        ("../Makefile", "no page of the site"),
        ("../experiments", ""),
        ("../notebooks/first-model.ipynb", ""),
    ],
)
def test_a_wrong_link_is_noticed(link: str, wrong: str):
    found = wrong_link(HERE / "docs" / "train.md", link)
    assert wrong in found
    assert bool(found) == bool(wrong)


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page():
    settings = (HERE / "mkdocs.yml").read_text()
    listed = re.findall(r"^ +- .+: ([\w./-]+\.md)$", settings.partition("\nnav:")[2], re.MULTILINE)
    pages = [page for page in DOCUMENTS if page.startswith("docs/") and "/log/2" not in page]
    assert set(pages) - set(listed) == set()
    notebooks = {f"notebooks/{path.stem}.md" for path in (HERE / "notebooks").glob("*.ipynb")}
    assert set(listed) - notebooks - {str(path.relative_to(HERE)) for path in SITE | MADE} == set()


@pytest.mark.skipif(not MKDOCS.exists(), reason="no mkdocs: run `make docs` once")
def test_the_site_is_built_without_a_warning(tmp_path: Path):
    command = [str(MKDOCS), "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(
        command, cwd=HERE, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert (built.returncode, built.stderr) == (0, "")
    assert 'id="limelight.load"' in (tmp_path / "site" / "docs" / "reference.html").read_text()


@pytest.mark.parametrize(
    "page", [page for page in DOCUMENTS if "/log/" not in page and page != "CHANGELOG.md"]
)
def test_named_files_are_there(page):
    """The log and the changelog keep the names of their time."""
    text = (HERE / page).read_text()
    named = [*OURS.findall(text), *(f"src/limelight/{path}" for path in IN_A_ROOM.findall(text))]
    assert [path for path in named if not (HERE / path).exists()] == []
