"""Which published figures are of an earlier reader, and their commands run again.

    python experiments/remeasure.py                                          # lists them; `make check` does
    python experiments/remeasure.py --run OUT --set DATA=/data --set CORPUS=/corpus [--only "the demo"]

A section of docs/results.md whose figures depend on a reader says which it was, by the first digits of the checksum in
its config.json: `<!-- reader d7560bc2 -->`. --run runs the indented commands of those of another reader, in a shell
from the root of the checkout, and keeps what they print as OUT/SECTION-CHECKSUM/1.txt. What stands there is not run
again, so a run that was stopped goes on. Words in capitals are places, given by --set; commands with one that is not
given, and sections measured on an H200, are left out and named. --only runs one section, whatever it was measured with.
The new figures are entered by hand, with the new checksum.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results.md"
READERS = {
    "reader": ROOT / "src/limelight/bundled/reader",
    "reader-fast": ROOT / "src/limelight/bundled/reader-fast",
    "reader-multilingual": ROOT / "packages/multilingual/src/limelight_multilingual/reader",
}
MARK = re.compile(r"^<!-- (reader.*?) -->$", re.MULTILINE)
PLACE = re.compile(r"\b(?<![-.$])[A-Z]{4,}\b(?![.=(])")


@dataclass(frozen=True)
class Section:
    """A heading of the results, which reader its figures are of, and how they were measured."""

    title: str
    readers: dict[str, str]  # by name, the first digits of the checksum
    commands: tuple[str, ...]
    needs_gpu: bool

    @property
    def slug(self) -> str:
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")

    def earlier(self, checksums: dict[str, str]) -> list[str]:
        """The readers that have been replaced since."""
        return [name for name, digits in self.readers.items() if not checksums[name].startswith(digits)]


def read_sections(text: str) -> list[Section]:
    """The sections that name a reader.

    >>> [one] = read_sections("### Few labels\\n<!-- reader d756 -->\\nSaid:\\n\\n    run a \\\\\\n      DATA\\n    b\\n")
    >>> one.title, one.readers, one.commands
    ('Few labels', {'reader': 'd756'}, ('run a DATA', 'b'))
    """
    sections = []
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
        if not (mark := MARK.search(part)):
            continue
        readers = dict(each.split() for each in mark[1].split(", "))
        code = "\n".join(line for line in part.splitlines() if line.startswith("    "))
        commands = re.sub(r"\s*\\\n\s*", " ", code).splitlines()
        commands = [re.split(r"\s{2,}(?=#|and |[0-9])", line.strip())[0] for line in commands]
        sections.append(Section(part.partition("\n")[0], readers, tuple(commands), "H200" in part))
    return sections


def bundled_checksums() -> dict[str, str]:
    """Of each reader that comes along."""
    return {
        name: json.loads((folder / "config.json").read_text())["sha256"] for name, folder in READERS.items()
    }


def run(section: Section, checksums: dict[str, str], out: Path, places: dict[str, str]) -> None:
    """Every command whose output is not there yet."""
    digits = "-".join(checksums[name][:8] for name in section.readers)
    folder = out / f"{section.slug}-{digits}"
    folder.mkdir(parents=True, exist_ok=True)
    for number, command in enumerate(section.commands, 1):
        kept = folder / f"{number}.txt"
        if kept.exists():
            continue
        for name, place in places.items():
            command = re.sub(rf"\b{name}\b", place.replace("\\", r"\\"), command)
        if missing := PLACE.search(command):
            print(f"left out: {command}: give --set {missing[0]}=...")
            continue
        print(f"{section.title}: {command}", flush=True)
        partial = kept.with_suffix(".partial")
        with partial.open("w") as file:
            code = subprocess.run(
                command, shell=True, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, check=False
            ).returncode
        if code:
            print(f"failed with {code}: see {partial}")
            return  # what follows may need it
        partial.replace(kept)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--run", metavar="OUT", type=Path, help="run the commands, keep what they print here")
    parser.add_argument("--set", metavar="NAME=PLACE", action="append", default=[], help="what DATA is, say")
    parser.add_argument("--only", metavar="SECTION", help="this section alone, whatever its figures are of")
    options = parser.parse_args(argv)
    sections, checksums = read_sections(RESULTS.read_text()), bundled_checksums()
    if options.only:
        sections = [each for each in sections if each.title.lower() == options.only.lower()]
        if not sections:
            sys.exit(f"no section of docs/results.md with a reader is called {options.only!r}")
    else:
        sections = [each for each in sections if each.earlier(checksums)]
    places = dict(each.partition("=")[::2] for each in options.set)
    for section in sections:
        if not options.run:
            names = ", ".join(section.earlier(checksums)) or "none"
            print(f"docs/results.md, {section.title}: measured with an earlier {names}")
        elif section.needs_gpu and not options.only:
            print(f"left out: {section.title}: measured on an H200; --only runs it")
        else:
            run(section, checksums, options.run, places)


if __name__ == "__main__":
    main()
