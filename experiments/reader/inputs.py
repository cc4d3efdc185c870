"""Read files from git repositories and Debian packages, strip markup, split paragraphs into sentences."""

from __future__ import annotations

import gzip
import html
import os
import random
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Wanted = Callable[[str], object]  # is a path wanted?


class Fragment(str):
    """A title, heading or term: a text of a few words that need not be a sentence."""

    __slots__ = ()


class Passage(str):
    """A whole abstract or paragraph, its title in front where it has one."""

    __slots__ = ()


class Title(str):
    """The title of a passage: a text of its own kind."""

    __slots__ = ()


@dataclass(frozen=True)
class Inputs:
    """Where the fetched sources are.

    `repositories` holds a clone of each repository, bare or not, in a folder owner+name; `packages` holds
    .deb files; `snli` is SNLI's training set as a Parquet file with the columns premise and hypothesis.
    """

    repositories: Path
    packages: Path
    snli: Path

    def git(self, name: str, *arguments: str) -> list[str]:
        return ["git", "-C", str(self.repositories / name.replace("/", "+")), *arguments]

    def commit(self, name: str, at: str = "HEAD") -> str:
        return subprocess.run(self.git(name, "rev-parse", at), capture_output=True, text=True).stdout.strip()

    def files(
        self, name: str, wanted: Wanted, limit: int | None = None, commit: str = "HEAD"
    ) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files at a commit; with a limit, of a random sample of them.

        Files that a partial clone lists but does not hold are skipped.
        """
        listing = subprocess.run(
            self.git(name, "ls-tree", "-r", "-l", "-z", commit), capture_output=True
        ).stdout
        items = []
        for line in filter(None, listing.split(b"\0")):
            head, raw_path = line.split(b"\t", 1)
            _, _, sha, size = head.split()
            path = raw_path.decode("utf-8", "replace")
            if size not in (b"BAD", b"-") and wanted(path):
                items.append((path, sha))
        if limit:
            random.Random(5).shuffle(items)
            items = items[:limit]
        reader = subprocess.Popen(
            self.git(name, "cat-file", "--batch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert reader.stdin
        assert reader.stdout
        for path, sha in items:
            reader.stdin.write(sha + b"\n")
            reader.stdin.flush()
            answer = reader.stdout.readline().split()
            if len(answer) < 3 or answer[1] == b"missing":
                continue
            data = reader.stdout.read(int(answer[2]))
            reader.stdout.read(1)
            yield path, data
        reader.stdin.close()
        reader.wait()

    def _package_file(self, package: str) -> Path:
        [path] = self.packages.glob(f"{package}_*.deb")
        return path

    def version(self, package: str) -> str:
        return self._package_file(package).name.split("_")[1].replace("%3a", ":")

    def package(self, package: str, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
        """Path and content (decompressed) of the wanted files of a Debian package."""
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["dpkg-deb", "-x", str(self._package_file(package)), root], check=True)
            for folder, _, names in sorted(os.walk(root)):
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    inside = path[len(root) :]
                    if os.path.islink(path) or not wanted(inside):
                        continue
                    data = Path(path).read_bytes()
                    yield inside, gzip.decompress(data) if path.endswith((".gz", ".dz")) else data


def decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# ---------------------------------------------------------------- sentences
ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|etc|Prof|Rev|Gen|Col|Capt|Lt|Sgt|No|Vol|pp|cf|ca|al|Fig|Inc|Ltd|Co|Corp"
    r"|e\.g|i\.e|U\.S|a\.m|p\.m|approx|Hon|Messrs|viz|ed|eds|dept|est|Mt|Ft)|\b[A-Z])\.$"
)
BREAK = re.compile(r"(?<=[.!?])(?:[\"'”’)\]]*)\s+(?=[\"'“‘(\[]*[A-Z0-9])")


def split(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph."""
    paragraph = re.sub(r"\s+", " ", paragraph).strip()
    start = 0
    for match in BREAK.finditer(paragraph):
        piece = paragraph[start : match.end()].strip()
        if ABBREVIATION.search(paragraph[start : match.start()]):
            continue
        if piece:
            yield piece
        start = match.end()
    if paragraph[start:]:
        yield paragraph[start:].strip()


def split_finished(paragraph: str, ends: str = ".!?") -> Iterator[str]:
    """Only those sentences of a paragraph that end in one of `ends`."""
    return (sentence for sentence in split(paragraph) if sentence[-1:] in ends)


def paragraphs(raw: str) -> list[str]:
    return re.split(r"\n\s*\n", raw)


# ---------------------------------------------------------------- markup
def strip_markdown(raw: str) -> tuple[str, list[str]]:
    """The running text of a Markdown file, and its headings."""
    raw = re.sub(r"\A---\n.*?\n---\n", "", raw, flags=re.S)
    raw = re.sub(r"```.*?```|~~~.*?~~~", "\n\n", raw, flags=re.S)
    raw = re.sub(r"<!--.*?-->|\{%.*?%\}|\{\{<.*?>\}\}|<(script|style|pre).*?</\1>", " ", raw, flags=re.S)
    raw = re.sub(r"\{\{[^}]*?\((?:\"|')([^\"']+)(?:\"|')[^}]*\}\}", r"\1", raw)
    raw = re.sub(r"\{\{.*?\}\}", " ", raw)
    raw = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", raw)
    raw = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", raw)
    raw = re.sub(r"\[([^\]]+)\]\[[^\]]*\]", r"\1", raw)
    raw = re.sub(r"`([^`\n]+)`", r"\1", raw)
    raw = re.sub(r"</?[A-Za-z][^>]*>", " ", raw)
    raw = re.sub(r"\*\*|__|(?<=\W)[*_](?=\w)|(?<=\w)[*_](?=\W)", "", raw)
    raw = re.sub(r"^\s*>?\s*\[!.*$", "", raw, flags=re.M)
    raw = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "\n\n", raw, flags=re.M)
    raw = re.sub(r"^\s*>\s?", "", raw, flags=re.M)
    headings = re.findall(r"^#{1,4}\s+(.*?)\s*#*$", raw, flags=re.M)
    raw = re.sub(r"^#{1,6}\s.*$", "\n\n", raw, flags=re.M)
    raw = re.sub(r"^\s*\|.*$|^\s*[:=\-+]{3,}.*$|^\s{4,}.*$", "\n", raw, flags=re.M)
    return html.unescape(raw), headings


BLOCK = r"</?(?:p|div|li|ul|ol|h\d|br|td|tr|table|dt|dd|section|title|item|note|paragraph)\b[^>]*>"


def strip_html(raw: str) -> str:
    raw = re.sub(r"<(script|style|pre|head|nav)\b.*?</\1>", "\n\n", raw, flags=re.S | re.I)
    raw = re.sub(BLOCK, "\n\n", raw, flags=re.I)
    return html.unescape(re.sub(r"<[^>]+>", "", raw))
