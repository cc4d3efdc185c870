"""The word-splitting rules: one regular expression in the syntax of Oniguruma, which `tokenizers` uses.

At each place the first alternative that fits makes the word, so longer forms stand before shorter ones and what
is most frequent, a plain word before a space, stands first. No alternative may look further ahead than it takes
or than a fixed bound: only so is the time linear in the length of any text.
"""

from __future__ import annotations

from collections.abc import Iterable

# Kept with their full stop wherever it is not followed by a letter.
ABBREVIATIONS = [
    "adj",
    "adm",
    "adv",
    "al",
    "ala",
    "alex",
    "apr",
    "ariz",
    "assn",
    "assoc",
    "asst",
    "atty",
    "attys",
    "aug",
    "ave",
    "bhd",
    "bldg",
    "blvd",
    "brig",
    "bros",
    "calif",
    "capt",
    "cf",
    "cie",
    "cmdr",
    "co",
    "col",
    "colo",
    "comdr",
    "conn",
    "corp",
    "cos",
    "cpl",
    "ct",
    "dak",
    "dec",
    "dept",
    "det",
    "dr",
    "drs",
    "elec",
    "esq",
    "est",
    "etc",
    "ext",
    "feb",
    "fla",
    "fri",
    "ft",
    "ga",
    "gen",
    "gov",
    "govs",
    "hon",
    "inc",
    "ind",
    "intl",
    "jan",
    "jos",
    "jr",
    "jul",
    "jun",
    "kan",
    "kans",
    "ky",
    "lieut",
    "lt",
    "ltd",
    "maj",
    "mar",
    "md",
    "messrs",
    "mfg",
    "mich",
    "minn",
    "mlle",
    "mme",
    "mo",
    "mon",
    "mont",
    "mr",
    "mrs",
    "ms",
    "msgr",
    "mt",
    "natl",
    "neb",
    "nev",
    "nov",
    "oct",
    "okla",
    "penn",
    "pfc",
    "ph",
    "plc",
    "pres",
    "prof",
    "pty",
    "pvt",
    "rd",
    "rep",
    "reps",
    "rev",
    "rt",
    "sen",
    "sens",
    "sep",
    "sept",
    "sgt",
    "spc",
    "sq",
    "sr",
    "st",
    "ste",
    "supt",
    "sys",
    "tel",
    "tenn",
    "thu",
    "thurs",
    "treas",
    "tue",
    "tues",
    "univ",
    "va",
    "vs",
    "vt",
    "wed",
    "wis",
    "wisc",
    "wm",
    "wyo",
    "ph.d",
]
# Common words when in lower case.
CAPITALISED_ABBREVIATIONS = ["ark", "az", "del", "ill", "la", "mass", "miss", "ore", "pa", "tex", "wash"]
ABBREVIATIONS_BEFORE_NUMBERS = ["art", "ca", "fig", "figs", "no", "nos", "op", "pp", "prop"]
# After a single letter and a full stop these begin a new sentence: "than I. The room" but "George W. Bush".
SENTENCE_STARTERS = [
    "a",
    "about",
    "according",
    "additionally",
    "after",
    "an",
    "as",
    "at",
    "but",
    "earlier",
    "he",
    "her",
    "here",
    "however",
    "if",
    "in",
    "it",
    "last",
    "many",
    "more",
    "now",
    "once",
    "one",
    "other",
    "our",
    "she",
    "since",
    "so",
    "some",
    "such",
    "that",
    "the",
    "their",
    "then",
    "there",
    "these",
    "they",
    "this",
    "we",
    "what",
    "when",
    "while",
    "yet",
    "you",
]


def any_of(words: Iterable[str], first_lower: bool = True) -> str:
    """Exactly these words in any case, as a tree of letters, which fails sooner than a list of words.

    >>> any_of(["st", "ste", "no"])
    '(?:[nN][oO]|[sS][tT](?:[eE])?)'
    """
    tails: dict[str, list[str]] = {}
    for word in sorted(words):
        if word:
            tails.setdefault(word[0], []).append(word[1:])
    branches = []
    for letter, rest in tails.items():
        cases = (letter.lower() if first_lower else "") + letter.upper()
        head = f"[{cases}]" if letter.isalpha() else f"[{letter}]"
        branches.append(head + ("" if rest == [""] else any_of(rest)))
    return f"(?:{'|'.join(branches)})" + ("?" if "" in words else "")


LETTER = r"\p{L}\p{M}\u00ad\u200c\u200d"
CHARACTER = rf"{LETTER}\p{{Nd}}"
END = rf"(?![{CHARACTER}])"
APOSTROPHE = "['’]"
CLITIC = rf"['’](?:[sSmMdD]|[lL][lL]|[rR][eE]|[vV][eE]){END}"
NOT = "[nN]['’`][tT]"

PLAIN_WORD = r"[A-Za-z]++(?=[\s,;)\"]|\z)"
MERGED = "|".join(
    rf"{any_of([first])}(?={any_of([second])}(?![{CHARACTER}'’-]))"
    for first, second in (
        ("can", "not"),
        ("gon", "na"),
        ("got", "ta"),
        ("wan", "na"),
        ("gim", "me"),
        ("lem", "me"),
    )
)
URL = r"[hH][tT][tT][pP][sS]?://[^\s\"<>|(){}]*[^\s\"<>|(){}.!?,;:'’”…]"
HOST = r"(?>[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{1,63}){0,5})"
EMAIL = rf"<?(?:mailto:)?(?>[A-Za-z0-9][A-Za-z0-9._%+-]{{0,63}})@{HOST}>?"
SITE = (
    r"(?>[A-Za-z0-9][A-Za-z0-9-]{1,62})(?:\.[A-Za-z0-9-]{2,63}){0,3}\.(?:com|net|org|edu)"
    r"/[^\s\"<>|(){}]*[^\s\"<>|(){}.!?,;:'’”…]"
)
ACRONYM = rf"[{LETTER}](?:\.[{LETTER}])+{END}\.?+"
ABBREVIATION = (
    rf"(?:{any_of(ABBREVIATIONS)}|{any_of(CAPITALISED_ABBREVIATIONS, first_lower=False)})\.(?![{LETTER}])"
    rf"|{any_of(ABBREVIATIONS_BEFORE_NUMBERS)}\.(?=\s?\p{{Nd}})"
)
INITIAL = (
    rf"[{LETTER}](?=\.\s+{any_of(SENTENCE_STARTERS)}(?:\s|\z))"
    rf"|[{LETTER}]\.(?![{LETTER}])"
)

VOWEL = "[aeiouyAEIOUY]"
ELISION = (  # words with an apostrophe inside
    rf"(?:[yY](?!{CLITIC})['’](?=[{LETTER}])|(?:[A-Zdlno]|[qQ]u)(?!{CLITIC})['’][{LETTER}]{{2,}}+|[dDjJlL](?!{CLITIC})['’])"
    rf"|{any_of(['c'])}['’](?:{any_of(['mon', 'est'])}){END}|{any_of(['ol', 'somethin', 'dunkin'])}['’]{END}"
    rf"|(?>[A-Za-z]{{1,30}}(?<={VOWEL}))(?!{CLITIC})['’][aeiouA-Z][A-Za-z]*+"
)
PIECE = rf"(?:[A-Zdlo](?!{CLITIC})['’][{LETTER}]{{2,}}+|[{CHARACTER}]++)"
COMPOUND = rf"{PIECE}(?:[-_](?!['’]){PIECE})*+(?:/[A-Za-z0-9](?:[-_]?[A-Za-z0-9])*+){{0,2}}+"
DOTTED = rf"[{LETTER}][{CHARACTER}]*+(?:[.!?][{LETTER}][{CHARACTER}]*+)++(?:-[{CHARACTER}]++)*+"
NUMBER = r"[+-]?[.,:]\p{Nd}++(?:[.,:]\p{Nd}++)*+|[+-]\p{Nd}++(?:[.,:]\p{Nd}++)*+|\p{Nd}++(?:[.,:]\p{Nd}++)++"
PHONE = r"(?:\(\d{2,3}\) ?|\d{2,4}[ -])\d{3,4}[ -]?\d{3,4}" + END
FRACTION = r"\p{Nd}{1,4}[ \u00a0]\p{Nd}{1,4}/\p{Nd}{1,4}"
EMOTICON = rf"(?:>?[:;=]-?[()\[\]DdPp|\\O3@{{]|:['’][()]){END}|-_-|\^_\^|>_<|<_<"
TAG = r"<(?!(?:pad|unk)>)[/!?]?[A-Za-z][^<>\n]{0,500}>"
EMOJI = (
    r"\p{Regional_Indicator}{2}"
    r"|[0-9#*]\ufe0f?\u20e3"
    r"|\p{Extended_Pictographic}[\ufe0f\x{1f3fb}-\x{1f3ff}]?+(?:\u200d\p{Extended_Pictographic}[\ufe0f\x{1f3fb}-\x{1f3ff}]?+)*+"
)
MARKS = r"\.{3,5}|[!?]++|-{2,}+|\*{2,}+|_++|@{2,}+|#{2,}+|''|``|<<|>>"

WORD = "|".join(
    [
        MERGED,
        PLAIN_WORD,
        URL,
        EMAIL,
        SITE,
        ACRONYM,
        ABBREVIATION,
        INITIAL,
        rf"[{LETTER}]+?(?={NOT})|{NOT}[{LETTER}]*+",
        ELISION,
        r"[A-Z]++(?:&(?:amp;)?[A-Z]++|\$)|[cC]\+\+|[cCfF]\#",
        DOTTED,
        FRACTION,
        PHONE,
        NUMBER,
        COMPOUND,
        CLITIC,
        rf"{APOSTROPHE}(?:[nN]{APOSTROPHE}|[nN]{END}|\d\ds?{END}|{any_of(['em', 'cause', 'till', 'til'])})",
        rf"{APOSTROPHE}[tT](?={any_of(['is', 'was'])})",
        TAG,
        EMOTICON,
        r"@[A-Za-z_][A-Za-z_0-9]*+",
        rf"\#[{LETTER}]++",
        "&(?:amp|lt|gt|quot|nbsp|apos|#39);",
        EMOJI,
        MARKS,
        r"[^\s\p{Cf}\p{Cc}]\p{M}*+",
    ]
)
