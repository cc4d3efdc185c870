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
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from inputs import (
    Fragment,
    Inputs,
    Wanted,
    decode,
    paragraphs,
    split,
    split_finished,
    strip_html,
    strip_markdown,
)

csv.field_size_limit(1 << 30)


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

    for path, data in inputs.files("chinapedia/wikipedia.abstract.en", wanted, limit=20000):
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
            yield from split_finished(re.sub(r"\[\d+\]", "", paragraph).replace("_", ""), ".!?\"')")


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


def clinc(inputs: Inputs) -> Iterator[str]:
    for _, data in inputs.files("clinc/oos-eval", lambda p: p == "data/data_full.json"):
        for part in json.loads(data).values():
            for sentence, _ in part:
                yield sentence
    for _, data in inputs.files("clinc/oos-eval", lambda p: p == "data/all_wiki_sents.txt"):
        yield from decode(data).splitlines()


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
Read = Callable[[Inputs], Iterator[str]]


def from_markdown(name: str, under: str = "", end: str = ".md") -> Read:
    """Read the Markdown files of a repository: headings as fragments, finished sentences of the rest."""

    def read(inputs: Inputs) -> Iterator[str]:
        for _, data in inputs.files(name, lambda p: p.startswith(under) and p.endswith(end)):
            raw, headings = strip_markdown(decode(data))
            for heading in headings:
                yield Fragment(re.sub(r"[*_`]", "", heading))
            for paragraph in paragraphs(raw):
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


# ---------------------------------------------------------------- the list
class Source(NamedTuple):
    name: str
    kind: str
    licence: str
    read: Read
    repositories: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    most: int | None = None  # sentences kept at most


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
        "CLINC150 (out-of-scope evaluation)", "talk", "CC BY 3.0", clinc, repositories=("clinc/oos-eval",)
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
]
