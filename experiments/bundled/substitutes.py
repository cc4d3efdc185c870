"""Substitutes for words that the vectors' source lacks: each gets the mean of the words listed with it.

The source has no single letters, no words that begin with a digit or an apostrophe, and none that end in a
full stop. The listed words are frequent ones used in the same places: "not" and the verbs before it for
"n't", "another" for "a", other times for "1994".
"""

from __future__ import annotations

from string import ascii_lowercase

CLITICS = """
n't             | not do did does
's              | its his is
'm              | am we you
're             | are we you they
've             | have we you they
'll             | will we you they
'd              | would had we they
'em             | them em
'til            | until till
'cause          | because
'n              | and
"""

# u, r and n as people type them: you, are, and.
LETTERS = """
a               | an another one
i               | me my we you
u               | you letter
r               | are letter
n               | and letter
"""

MARKS = """
''              | " ” said
``              | " “ `
-- --- – —      | - , ;
... ....        | … . ?
..              | … .
!! !!! !!!!     | !
?? ???          | ?
?! !?           | ? !
-lrb-           | (
-rrb-           | )
-lsb-           | [
-rsb-           | ]
-lcb-           | {
-rcb-           | }
:) :-) =) (: :] | smile happy glad !
:( :-( =( ): :[ | sad unhappy sorry
:'(             | sad unhappy sorry
:d :-d =d xd    | laugh happy fun !
:p :-p          | laugh happy fun !
;) ;-) ;d ;p    | smile joke kidding
:/ :-/ :\\ :|    | hmm unsure annoyed
<3              | love heart
"""

ABBREVIATIONS = """
mr.             | mr
mrs.            | mrs
ms.             | mrs she
dr.             | dr doctor
prof.           | professor
st.             | st
jr.             | jr son
sr.             | sr father
sen.            | senator
rep.            | rep representative
gov.            | governor
gen.            | general
col.            | colonel
lt.             | lieutenant
capt.           | captain
sgt.            | sergeant
rev.            | reverend
inc.            | inc company
corp.           | corp corporation
co.             | company
ltd.            | ltd company
bros.           | bros brothers
dept.           | department
univ.           | university
no.             | number
vs.             | vs versus
etc.            | etc
ave.            | avenue
blvd.           | boulevard
mt.             | mount
ft.             | fort
jan.            | january
feb.            | february
apr.            | april
aug.            | august
sep. sept.      | september
oct.            | october
nov.            | november
dec.            | december
a.m.            | am morning noon
p.m.            | pm afternoon noon
u.s.            | us american states
u.s.a.          | usa us america
u.k.            | uk britain
u.n.            | un nations
d.c.            | dc washington
e.g.            | eg example
i.e.            | ie namely
ph.d.           | phd doctorate
"""

UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen"""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"""


def table() -> dict[str, list[str]]:
    """Every substituted word, with the words whose mean it gets.

    >>> table()["n't"], table()["25"]
    (['not', 'do', 'did', 'does'], ['twenty', 'five'])
    """
    letters = {letter: ["letter", "letters", "alphabet", "alpha", "beta"] for letter in ascii_lowercase}
    initials = {f"{letter}.": ["john", "james", "william"] for letter in ascii_lowercase}
    clitics = parse(CLITICS) | parse(CLITICS.replace("'", "’"))
    listed = parse(LETTERS) | parse(MARKS) | parse(ABBREVIATIONS)
    return clitics | letters | initials | listed | numbers() | years()


def parse(lines: str) -> dict[str, list[str]]:
    pairs = [line.rsplit("| ", 1) for line in lines.strip().splitlines()]
    return {word: parts.split() for words, parts in pairs for word in words.split()}


def numbers() -> dict[str, list[str]]:
    """Numerals and ordinals, spelled out."""
    large = [n * size for size in (100, 1000, 10_000, 100_000) for n in range(1, 10)] + [1_000_000]
    endings = {1: "st", 2: "nd", 3: "rd"}
    ordinals = {f"{n}{endings.get(n, 'th')}": [word] for n, word in enumerate(ORDINALS.split(), start=1)}
    return ordinals | {form: spelled(n) for n in (*range(100), *large) for form in (str(n), f"{n:,}")}


def spelled(number: int) -> list[str]:
    """Spell out a number: 25 is twenty five, 3000 is three thousand, and 100 is hundred."""
    for size, name in ((1_000_000, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= size:
            return [*(spelled(number // size) if number > size else []), name]
    if number < 20:
        return [UNITS.split()[number]]
    tens, unit = divmod(number, 10)
    return [TENS.split()[tens - 2]] + ([UNITS.split()[unit]] if unit else [])


def years() -> dict[str, list[str]]:
    """Years, from words for their decade: the source has decades as "mid-1990s", up to the 2000s."""
    near = {year: f"mid-{min(year, 2000) // 10}0s" for year in range(1900, 2030)}
    decades = {f"{year}s": [near[year]] for year in near if year % 10 == 0}
    short = {f"{year % 100}s": [near[year]] for year in range(1920, 2000, 10)}
    return {str(year): ["year", "january", decade] for year, decade in near.items()} | decades | short
