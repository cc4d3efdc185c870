"""Build the typeface of PNG pictures in src/limelight/bundled from Liberation Sans.

apt-get download fonts-liberation2 && dpkg-deb -x fonts-liberation2_2.1.5-1_all.deb liberation
pip install fonttools==4.68.0
python experiments/bundled/build_font.py liberation/usr/share/fonts/truetype/liberation2
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

DATA = Path(__file__).parents[2] / "src" / "limelight" / "bundled"
FAMILY = (
    "Limelight Sans"  # a changed font must not bear the reserved names Liberation, Arimo, Tinos and Cousine
)
WEIGHTS = {
    "Regular": "8d91388f1d3604b3b8ae0e3ee2d140e50cd6122f9214514f4aca772540a4076d",
    "Bold": "ba0e0dc3f7aca5b0afbc31e800531ee43be3aa79ae35b2ef1f6470a9547765c4",
}
# What a text in a European language, in Vietnamese or Hebrew needs, and the signs among the words.
RANGES = (
    (0x0020, 0x017F),  # Latin
    (0x01A0, 0x01B0),  # Vietnamese
    (0x01CD, 0x01DC),  # the tones of Pinyin
    (0x0218, 0x021B),  # Romanian
    (0x02B0, 0x036F),  # modifier letters and combining accents
    (0x0370, 0x045F),  # Greek, Cyrillic
    (0x0490, 0x04FF),  # Cyrillic beyond the Slavic languages
    (0x0590, 0x05FF),  # Hebrew
    (0x1E00, 0x1EFF),  # Vietnamese, Welsh
    (0x2000, 0x22FF),  # punctuation, currencies, letter-like signs, arrows, mathematics
    (0x25A0, 0x26FF),  # shapes and signs
    (0xFB00, 0xFB4F),  # ligatures, Hebrew letters with points
    (0xFFFD, 0xFFFD),
)
ABOUT = (0, 5, 13, 14)  # names that stay: copyright, version, licence and where it is found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder with LiberationSans-Regular.ttf and -Bold.ttf")
    folder = parser.parse_args().folder
    for weight, sha256 in WEIGHTS.items():
        source = folder / f"LiberationSans-{weight}.ttf"
        if hashlib.sha256(source.read_bytes()).hexdigest() != sha256:
            raise SystemExit(f"{source} is not the one of Liberation Fonts 2.1.5: its SHA-256 differs")
        target = DATA / f"sans-{weight.lower()}.ttf"
        font = subset(source)
        rename(font, weight)
        font.save(target)
        print(target.name, len(font.getBestCmap()), "characters,", target.stat().st_size, "bytes")


def subset(source: Path) -> TTFont:
    """The ranges alone, without hints: they are for coarse screens, and the renderer does not read them."""
    font = TTFont(source, recalcTimestamp=False)  # the same bytes every time
    options = Options(hinting=False, notdef_outline=True, name_IDs=ABOUT, drop_tables=["FFTM", "gasp"])
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[code for first, last in RANGES for code in range(first, last + 1)])
    subsetter.subset(font)
    return font


def rename(font: TTFont, weight: str) -> None:
    names = font["name"]
    names.names = [name for name in names.names if name.platformID == 3]  # once is enough
    full = f"{FAMILY} {weight}"
    for number, text in {1: FAMILY, 2: weight, 3: full, 4: full, 6: full.replace(" ", "")}.items():
        names.setName(text, number, 3, 1, 0x409)


if __name__ == "__main__":
    main()
