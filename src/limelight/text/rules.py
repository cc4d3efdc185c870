"""The word-splitting rules: two regular expressions in the syntax of Oniguruma, which `tokenizers` uses.

First, `CHARACTERS` cuts scripts without spaces between words. Then `WORD` finds the words in each piece.

The first alternative that matches makes the word: longer forms come before shorter ones, the most frequent
come first, and the rest is grouped by first character. No alternative looks much further ahead than it
matches, and repeated groups are bounded. This keeps the time linear in the length of any text, and Oniguruma
from giving up, as it does after ten million backtracking steps. A word beyond a bound is split in two.
"""

import re
from functools import cache

# They keep their full stop, unless a letter follows it.
ABBREVIATIONS = """
adj adm adv al ala alex apr ariz assn assoc asst atty attys aug ave bhd bldg blvd brig bros calif capt cf cie
cmdr co col colo comdr conn corp cos cpl ct dak dec dept det dr drs elec esq est etc ext feb fla fri ft ga gen
gov govs hon inc ind intl jan jos jr jul jun kan kans ky lieut lt ltd maj mar md messrs mfg mich minn mlle mme
mo mon mont mr mrs ms msgr mt natl neb nev nov oct okla penn pfc ph ph.d plc pres prof pty pvt rd rep reps rev
rt sen sens sep sept sgt spc sq sr st ste supt sys tel tenn thu thurs treas tue tues univ va vs vt wed wis
wisc wm wyo
"""
# These are other words in lower case,
CAPITALISED_ABBREVIATIONS = "ark az del ill la mass miss ore pa tex wash"
# and these if no number follows.
NUMBER_ABBREVIATIONS = "art ca fig figs no nos op pp prop"
# After one letter and a full stop they begin a sentence: "my wife and I. The room", but "George W. Bush".
SENTENCE_STARTERS = """
a about according additionally after an as at but earlier he her here however if in it last many more now once
one other our she since so some such that the their then there these they this we what when while yet you
"""
CURRENCIES = "au ca cad cdn hk nt nz sg us usd"  # before a dollar sign
# Written as one word, split as two.
MERGED_WORDS = (("can", "not"), ("gon", "na"), ("got", "ta"), ("wan", "na"), ("gim", "me"), ("lem", "me"))


def any_of(words: str, *, capitalised: bool = False) -> str:
    """These words in any case, as a tree of letters, which fails sooner than a list of words.

    >>> any_of("st ste no")
    '(?:[nN][oO]|[sS][tT](?:[eE])?)'
    """
    return _tree(words.split(), capitalised)


def _tree(words: list[str], capitalised: bool) -> str:
    tails: dict[str, list[str]] = {}
    for word in sorted(filter(None, words)):
        tails.setdefault(word[0], []).append(word[1:])
    branches = []
    for first, rest in tails.items():
        cases = first.upper() if capitalised else first + first.upper() * first.isalpha()
        branches.append(f"[{cases}]" + (_tree(rest, False) if any(rest) else ""))
    if "" in words:
        return _group(*branches) + "?"
    return _group(*branches) if len(branches) > 1 else branches[0]


def _group(*alternatives: str) -> str:
    return f"(?:{'|'.join(alternatives)})"


def _starting(first: str, *alternatives: str) -> str:
    """Alternatives that are tried only at a character of the class `first`."""
    return f"(?=[{first}]){_group(*alternatives)}"


INVISIBLE = r"\u00ad\u200c\u200d"  # soft hyphen and joiners, which may occur inside a word
LETTER = rf"\p{{L}}\p{{M}}{INVISIBLE}"
CHARACTER = rf"{LETTER}\p{{Nd}}"
WORD_END = rf"(?![{CHARACTER}])"
BLANK = r"(?=\s|\z)"

CLITIC = rf"['’](?:[sSmMdD]|[lL][lL]|[rR][eE]|[vV][eE]){WORD_END}"
NOT = "[nN]['’`][tT]"

PLAIN = (  # nine words in ten
    *(rf"{any_of(first)}(?={any_of(second)}(?![{CHARACTER}'’-]))" for first, second in MERGED_WORDS),
    r"[A-Za-z]++(?=[\s,;)\"]|\z)",
    rf"[.,]{BLANK}",
)

_URL_STOP = r"\s\"<>|(){}"
_URL_MARK = ".!?,;:'’”…"
URL_REST = rf"(?>(?:[{_URL_MARK}]*+[^{_URL_STOP}{_URL_MARK}]++){{1,500}})"  # does not end in a mark
URL = rf"[hH][tT][tT][pP][sS]?://{URL_REST}"
LABEL = "[A-Za-z0-9-]"  # what the parts of a domain consist of
SITE = rf"(?>{LABEL}{{2,63}})(?:\.{LABEL}{{2,63}}){{0,3}}\.(?:com|net|org|edu)/{URL_REST}"
HOST = rf"(?>{LABEL}{{1,63}}(?:\.{LABEL}{{1,63}}){{0,5}})"
EMAIL = rf"<?(?:mailto:)?(?>[A-Za-z0-9][A-Za-z0-9._%+-]{{0,63}})@{HOST}>?"

FULL_STOPS = (
    rf"(?>{any_of(ABBREVIATIONS)}|{any_of(CAPITALISED_ABBREVIATIONS, capitalised=True)})\.(?![{LETTER}])",
    rf"{any_of(NUMBER_ABBREVIATIONS)}\.(?=\s?\p{{Nd}})",
    rf"[A-Za-z]{{2}}[A-Za-z]*+(?=[.!?]{BLANK})",
    rf"[{LETTER}](?>(?:\.[{LETTER}]){{1,20}}){WORD_END}(?!\.[{LETTER}])\.?+",
    rf"[{LETTER}](?=\.\s++{any_of(SENTENCE_STARTERS)}{BLANK})",
    rf"[{LETTER}]\.(?![{LETTER}])",
)
APOSTROPHES = (
    rf"[A-Za-z]++(?={CLITIC})",
    rf"(?=[{LETTER}]++['’`])[{LETTER}]{{1,30}}?(?={NOT})",
    rf"{NOT}[{LETTER}]*+",
    rf"[yY]['’](?=[{LETTER}])",
    rf"(?:[A-Zdlno]|[qQ]u)['’](?=[{LETTER}]{{2}})[{LETTER}]++",
    "[dDjJlL]['’]",
    rf"[cC]['’]{any_of('mon est')}|[sS]['’]{any_of('more mores')}{WORD_END}",
    rf"{any_of('ol somethin dunkin')}['’]{WORD_END}",
    r"(?>[A-Za-z]{1,30})(?<=[aeiouyAEIOUY])['’][aeiouA-Z][A-Za-z]*+",
)
PIECE = rf"(?:[A-Zdlo](?!{CLITIC})['’](?=[{LETTER}]{{2}})[{LETTER}]++|[{CHARACTER}]++)"
HYPHENATED = rf"(?>(?:-[{CHARACTER}]++){{0,100}})"
SLASHED = r"/[A-Za-z0-9]++(?>(?:[-_][A-Za-z0-9]++){0,100})"
COMPOUND = rf"{PIECE}(?>(?:[-_]{PIECE}){{0,100}})(?>(?:{SLASHED}){{0,2}})(?:\.(?=[,;:]))?+"
DOTTED = rf"[{LETTER}][{CHARACTER}]*+(?>(?:[.!?][{LETTER}][{CHARACTER}]*+){{1,100}}){HYPHENATED}"
SYMBOLS_IN_WORDS = (
    r"[A-Z]++(?:&(?:amp;)?[A-Z]++|\$)",
    rf"[A-Za-z]{{1,2}}&[A-Za-z]{WORD_END}",
    rf"{any_of(CURRENCIES)}\$",
    r"[cC]\+\+|[cCfF]\#",
)

NUMBER = r"\p{Nd}++(?>(?:[.,:]\p{Nd}++){0,100})"
_DIGITS = r"\p{Nd}{3,4}"
NUMBERS = (
    r"\p{Nd}{1,4}[ \u00a0]\p{Nd}{1,4}/\p{Nd}{1,4}",  # 2 1/2
    rf"\p{{Nd}}{{2,4}}[ -]{_DIGITS}[ -]?{_DIGITS}{WORD_END}",  # a telephone number
    rf"\p{{Nd}}++(?=[.,]\p{{Nd}})(?>(?:[.,]\p{{Nd}}++){{1,100}})[{LETTER}]*+(?=-[{CHARACTER}]){HYPHENATED}",
    rf"(?=\p{{Nd}}++[.,:]\p{{Nd}}){NUMBER}",
)

TAG = r"<(?!(?:pad|unk)>)[/!?]?[A-Za-z][^<>\n]{0,500}>"  # never a name that the vocabulary reserves
EMOTICON = rf"(?:>?[:;=][-o]?[()\[\]DdPp|\\O3@{{]|:['’][()]){WORD_END}|-_-|\^_\^|>_<|<_<"
_PICTURE = (
    r"\p{Extended_Pictographic}[\ufe0f\x{1f3fb}-\x{1f3ff}]?+[\x{e0020}-\x{e007f}]*+"  # skin tone, region
)
EMOJI = rf"\p{{Regional_Indicator}}{{2}}|{_PICTURE}(?>(?:\u200d{_PICTURE}){{0,20}})|[0-9\#*]\ufe0f?\u20e3"

WORD = rf"(?![\s{INVISIBLE}])" + _group(
    *PLAIN,
    _starting(LETTER, *FULL_STOPS, *APOSTROPHES, URL, EMAIL, SITE, DOTTED, *SYMBOLS_IN_WORDS, COMPOUND),
    "[!?]++",
    _starting(
        "'’",
        CLITIC,
        rf"['’](?:[nN](?:['’]|{WORD_END})|\p{{Nd}}\p{{Nd}}{BLANK}|\p{{Nd}}0s{WORD_END})",
        rf"['’](?:{any_of('em cause till til')}|[tT](?={any_of('is was')}))",
    ),
    _starting(r"\p{Nd}", *NUMBERS, EMAIL, SITE, EMOJI, COMPOUND),
    _starting("<>:;=^-", TAG, EMAIL, EMOTICON),
    rf"[+-]?[.,:]{NUMBER}|[+-]{NUMBER}",
    rf"\(\p{{Nd}}{{2,3}}\) ?{_DIGITS}[ -]?{_DIGITS}{WORD_END}",
    rf"@[A-Za-z_][A-Za-z_0-9]*+|\#[{LETTER}]++|&(?:amp|lt|gt|quot|nbsp|apos|\#\p{{Nd}}{{1,6}});",
    r"\.(?>\.{2,4})|--++|\*\*++|_++|@@++|\#\#++|''|``|<<|>>",
    EMOJI,
    r"[^\s\p{Cf}\p{Cc}]\p{M}*+",
)

# Scripts without spaces between words: each character with its marks is a word, and a run of katakana is one.
# By code points, so that every program splits alike, whichever version of Unicode it knows.
_RADICALS_AND_NUMERALS = r"\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b"
HAN = rf"{_RADICALS_AND_NUMERALS}\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\x{{20000}}-\x{{3ffff}}"
HIRAGANA = r"\u3041-\u3096\u309d-\u309f\x{1b000}-\x{1b16f}"
KATAKANA = r"\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
THAI_TO_KHMER = r"\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"  # Lao and Burmese too
_FOLLOWS = r"\p{M}\u0e33\u0eb3\u30fc\u200c\u200d"  # written onto the letter before, or one with it
CHARACTERS = (
    rf"[{KATAKANA}][{KATAKANA}\p{{M}}]*+"
    rf"|(?=[\p{{L}}\p{{Nl}}])[{HAN}{HIRAGANA}{THAI_TO_KHMER}][{_FOLLOWS}]*+"
    rf"(?>(?:(?<=[\u1039\u17d2])\p{{L}}[{_FOLLOWS}]*+){{0,20}})"  # stacked consonants
)

# What Unicode's properties amount to in ASCII text; most to a character that cannot occur.
_ASCII = {
    r"\p{L}": "A-Za-z",
    r"\p{M}": r"\u0300",
    r"\p{Nd}": r"\d",
    r"\p{Cf}": r"\u00ad",
    r"\p{Cc}": r"\x00-\x1f\x7f",
    r"\p{Extended_Pictographic}": r"\u2600",
    r"\p{Regional_Indicator}": r"\U0001f1e6",
}


@cache
def ascii_rules() -> re.Pattern[str]:
    """The same rules for Python's `re`, which is faster than `tokenizers`, but for ASCII texts only."""
    rules = WORD.replace(r"\z", r"\Z")
    for unicode, ascii in _ASCII.items():
        rules = rules.replace(unicode, ascii)
    rules = re.sub(r"\\x\{(\w+)\}", lambda code: rf"\U{code[1]:0>8}", rules)
    return re.compile(rules, re.ASCII)


# A regular expression in pieces: escapes, classes, openings of groups, quantifiers, other characters.
_PIECES = re.compile(
    r"\\[xpu]\{\w+\}|\\u\w{4}|\\.|\[(?:\\.|[^\]\\])*\]|\(\?(?:[:=!>]|<[=!])|(?:[*+?]|\{[\d,]+\})[+?]?|.",
    re.DOTALL,
)
_JAVASCRIPT = {r"\s": r"\p{White_Space}", r"\z": "$", r"\#": "#", r"\"": '"', r"\x{": r"\u{"}


@cache
def javascript_rules(rules: str = WORD) -> str:
    r"""The same rules, `WORD` or `CHARACTERS`, for JavaScript, with its flag `u`.

    It has no possessive quantifiers and atomic groups, but a lookahead never gives back what it matched.

    >>> javascript_rules(r"(?:\s++|x)?")
    '(?:(?:(?=(?<a1>\\p{White_Space}+))\\k<a1>)|x)?'
    """
    open_groups: list[list[str]] = [[]]  # the opening of each group, and what is in it so far
    atomic = 0
    for piece in _PIECES.findall(rules):
        inside = open_groups[-1]
        if piece.startswith("("):
            open_groups.append([piece])
        elif piece == ")":
            opening, *content = open_groups.pop()
            inner, inside = "".join(content), open_groups[-1]
            atomic += opening == "(?>"
            inside.append(_atomic(inner, atomic) if opening == "(?>" else f"{opening}{inner})")
        elif len(piece) > 1 and piece.endswith("+") and piece[0] in "*+?":
            atomic += 1
            inside[-1] = _atomic(inside[-1] + piece[:-1], atomic)
        elif re.fullmatch(r"[*+?]\??|\{[\d,]+\}\??", piece):
            inside[-1] += piece
        else:
            inside.append(re.sub(r"\\(?:x\{|.)", lambda found: _JAVASCRIPT.get(found[0], found[0]), piece))
    return "".join(open_groups[0])


def _atomic(inner: str, number: int) -> str:
    return f"(?:(?=(?<a{number}>{inner}))\\k<a{number}>)"
