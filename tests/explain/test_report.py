"""The report: its numbers, computed here once more; its safety, its size, and how it looks in a browser."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from browsers import needs_chromium
from explain.models import describe_rows, random_model, to_report
from limelight.explain import explain_by, measure_trust, save_report
from limelight.explain.model_report import measure_calibration
from limelight.reading.captions import METHODS, MORE, NOT_MEASURED
from limelight.runtime.model import Model
from limelight.text.labels import Label
from limelight.text.metrics import wilson
from reading.parse import Parsed
from reading.test_browser import PHONE, check_scrolling, opened, photograph
from refusing import refuses
from trained import LABELS, network_of, recipe_of, texts_of, tokenizer, weights_of


def some_texts(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    texts = [text or "w1" for text in texts_of(n, seed=seed)]
    return texts, [LABELS[k] for k in np.random.default_rng(seed).integers(len(LABELS), size=n)]


def visible(html: str) -> str:
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


def test_the_numbers_are_right():
    model = random_model()
    texts, labels = some_texts(150)
    html = to_report(model, texts, labels, name="soup", data="test.csv")
    text = visible(html)
    P = model.predict_proba(texts)
    answers, right = [LABELS[k] for k in P.argmax(1)], np.array(model.predict(texts)) == np.array(labels)
    low, high = binomtest(int(right.sum()), 150).proportion_ci(method="wilson")
    assert f"Accuracy {100 * right.mean():.2f}% 95% interval {100 * low:.1f}% to {100 * high:.1f}%" in text
    assert f"Macro F1 {f1_score(labels, answers, average='macro'):.3f}" in text
    assert f"Calibration error {naive_calibration_error(P.max(1), right):.3f}" in text
    precision, recall, f1, counts = precision_recall_fscore_support(
        labels, answers, labels=LABELS, zero_division=0
    )
    confusion = confusion_matrix(labels, answers, labels=LABELS)
    for k, label in enumerate(LABELS):
        row = f"{label} {counts[k]} {confusion[:, k].sum()} {precision[k]:.3f} {recall[k]:.3f} {f1[k]:.3f}"
        wrong = sorted((-confusion[k, j], j) for j in range(len(LABELS)) if j != k and confusion[k, j])
        assert f"{row} {' , '.join(f'{LABELS[j]} ({-n})' for n, j in wrong)}" in text
        for j, other in enumerate(LABELS):
            what = f"{label} predicted as {other}" if j != k else f"{label} predicted correctly"
            assert f"{what}: {confusion[k, j]} of {counts[k]} (" in html


def naive_calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    total = 0.0
    for k in range(10):
        inside = (confidence > k / 10) & (confidence <= (k + 1) / 10)
        if inside.any():
            total += inside.sum() * abs(right[inside].mean() - confidence[inside].mean())
    return total / len(right)


def test_intervals_are_those_of_scipy():
    for right, total in ((0, 5), (5, 5), (37, 90)):
        expected = binomtest(right, total).proportion_ci(method="wilson")
        assert wilson(right / total, total) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert measure_calibration(np.array([1.0, 0.0]), np.array([True, False])).error == 0


def test_a_row_shows_the_words_it_prefers_not_the_frequent_ones(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("limelight.reading.rows.MIN_LIFT", 1.0)
    monkeypatch.setattr("limelight.reading.rows.MIN_OCCURRENCES", 1)
    model = random_model()
    readings = model.read_many(some_texts(40)[0])
    for row, found in enumerate(describe_rows(readings)):
        beyond: dict[str, float] = {}
        for each in readings:
            for word, weight in zip(each.words, each.attention[row], strict=True):
                beyond[word] = beyond.get(word, 0.0) + (weight - 1 / len(each.words)) / len(readings)
        best = max(beyond, key=beyond.__getitem__)
        assert found[0][0] == best
        assert found[0][1] == pytest.approx(beyond[best], abs=1e-6)


def test_nothing_in_a_text_or_label_becomes_markup():
    evil = ("<script>alert(1)</script>", 'a"b', "<b>&amp;")
    recipe = recipe_of({"rows": 2})
    model = Model.from_parts(
        weights=weights_of(network_of(recipe)), recipe=recipe, tokenizer=tokenizer(), labels=evil, threads=1
    )
    texts = ["<img src=x onerror=alert(1)> w1 & w2", 'w3 "><script>alert(2)</script>', "w4 \x1b[31m"] * 4
    labels: list[Label] = [*evil] * 4
    html = to_report(model, texts, labels, name="<i>me</i>", data="<u>.csv")
    tags = Parsed(html).tags
    assert not {"script", "img", "u"} & set(tags)
    assert "<script>alert(1)</script>" in visible(html) or "&lt;script&gt;alert(1)" in html
    assert "\x1b" not in html
    assert "http" not in html.replace(MORE, "")  # nothing from outside


def test_a_report_is_small_and_the_same_twice(tmp_path: Path):
    model = random_model()
    texts, labels = some_texts(2000)
    save_report(tmp_path / "report.html", model, texts, labels)
    written = (tmp_path / "report.html").read_bytes()
    assert 20_000 < len(written) < 5_000_000
    assert written.decode() == to_report(model, texts, labels)


@pytest.mark.parametrize(
    "options", [{"pair": "gated"}, {"pooling": "max"}, {"pair": "concat", "head": "pruned"}]
)
def test_pairs_and_baselines_have_reports_too(options: dict):
    model = random_model(**options)
    texts, labels = some_texts(30)
    second = texts[::-1] if model.pair else None
    text = visible(to_report(model, texts, labels, second))
    right = np.array(model.predict(texts, second)) == np.array(labels)
    assert f"Accuracy {100 * right.mean():.2f}%" in text
    assert "On 20 of these texts, the probability of the predicted class fell by" in text


def test_a_model_without_errors_and_a_very_long_text():
    model = random_model()
    texts = ["w1 w2", "w3", "w4 " * 450]
    right = model.predict(texts)
    assert " None. " in visible(to_report(model, texts, right))
    wrong = [next(label for label in LABELS if label != answer) for answer in right]
    assert "(wrong)" in visible(to_report(model, texts, wrong))
    assert "(right)" not in visible(to_report(model, texts, wrong))


def test_what_decided_comes_first_and_the_page_says_how_far_to_trust_it():
    texts, labels = some_texts(30)
    text = visible(to_report(random_model(head="linear"), texts, labels))
    headings = [
        "Words that decide The words",
        "Metrics Confusion",
        "Class by class For",
        "How far to trust it On 20 of",
    ]
    assert [text.index(each) for each in headings] == sorted(text.index(each) for each in headings)
    assert METHODS["sum"] in text


def model_of_classes(names: list[str]) -> Model:
    recipe = recipe_of({"rows": 2})
    weights = weights_of(network_of(recipe, classes=len(names)))
    return Model.from_parts(weights=weights, recipe=recipe, tokenizer=tokenizer(), labels=names, threads=1)


def test_with_many_classes_every_class_is_there_and_says_what_it_is_mistaken_for():
    names = [f"class {k} with a long name" for k in range(150)]
    model = model_of_classes(names)
    texts = some_texts(60)[0]
    predicted = model.predict(texts)
    labels: list[Label] = [names[(names.index(str(each)) + 1) % 150] for each in predicted]
    html = to_report(model, texts, labels)
    truth, count = max(((each, labels.count(each)) for each in labels), key=lambda pair: pair[1])
    row = html.split("Metrics by class</h3>")[1].split(f"<bdi>{truth}</bdi></a>")[1].split("</tr>")[0]
    wrong = names[names.index(str(truth)) - 1]
    assert f"<bdi>{wrong}</bdi> <small>({count})</small>" in row
    assert "Confusion matrix" not in html
    for k, name in enumerate(names, 1):
        assert html.count(f'<a href="#class-{k}"><bdi>{name}</bdi></a>') == 2
        assert f'id="class-{k}">\n<h3><bdi>{name}</bdi></h3>' in html


def test_trust_is_what_was_saved_or_measured_on_a_few_short_texts():
    model, long = random_model(), "w4 " * 3_000
    page = visible(to_report(model, [long, "w1 w2"], model.predict([long, "w1 w2"])))
    assert "On 1 of these texts" in page
    assert NOT_MEASURED in visible(to_report(model, [long], model.predict([long])))
    model.facts["trust"] = {"texts": 77, "data": "held-out texts", "without": 0.33, "random": 0.07}
    assert "On 77 held-out texts" in visible(to_report(model, ["w1"], ["good"]))


def test_the_figures_are_of_all_texts_and_the_words_of_a_sample():
    model, (texts, labels) = random_model(), some_texts(120)
    right = np.array(model.predict(texts)) == np.array(labels)
    page = to_report(model, texts, labels, most=10)
    assert f"<b>{100 * right.mean():.2f}%</b>" in page
    assert "From 10 of the texts, chosen at random." in page
    assert "chosen at random. The stronger" not in to_report(model, texts, labels)


def test_accuracies_stand_beside_baselines():
    model, (texts, labels) = random_model(), some_texts(40)
    right = float((np.array(model.predict(texts)) == np.array(labels)).mean())
    largest = max(labels.count(label) for label in LABELS) / 40
    model.facts["results"] = {"dev": {"accuracy": 0.5, "rows": 9}}
    model.facts["baselines"] = {"dev": {"tf_idf": 0.625, "largest_class": 0.25}}
    text = visible(to_report(model, texts, labels, data="test.csv"))
    beside = text.split("simple baselines Of Accuracy")[1]
    assert re.findall(r"\d+\.\d\d%", beside)[:5] == [f"{x:.2%}" for x in (right, largest, 0.5, 0.625, 0.25)]
    assert "At training, on dev, TF-IDF + logistic regression 62.50%" in text
    for odd in (3, {"dev": 3}, {"dev": {"tf_idf": "much"}}):  # a folder from elsewhere may hold anything
        model.facts["baselines"] = odd
        assert "TF-IDF" not in to_report(model, texts, labels)
        model.facts["results"] = odd
        assert "At training" not in to_report(model, texts, labels)


def test_what_cannot_be_reported_on_is_one_line():
    model = random_model()
    with refuses("length-mismatch"):
        to_report(model, ["w1"], [])
    with refuses("label-unknown"):
        to_report(model, ["w1"], ["superb"])


@needs_chromium
def test_a_browser_shows_it_in_light_and_dark(tmp_path: Path):
    model = random_model()
    texts, labels = some_texts(60)
    file = tmp_path / "report.html"
    save_report(file, model, texts, labels, name="soup", data="test.csv")
    with opened(file) as page:
        assert page.locator(".matrix td").count() == 9
    dark, light = photograph(file)
    assert min(len(dark), len(light)) > 10_000
    assert dark != light


@needs_chromium
def test_wide_tables_on_a_phone_scroll_in_their_box_and_show_it(tmp_path: Path):
    texts, labels = some_texts(30)
    file = tmp_path / "report.html"
    save_report(file, random_model(), texts, labels)
    with opened(file, **PHONE) as page:
        page.get_by_role("link", name="Metrics").click()
        check_scrolling(page, page.get_by_role("region", name="Metrics by class"))


@needs_chromium
def test_the_contents_lead_to_every_section_and_open_it(tmp_path: Path):
    texts, labels = some_texts(30)
    file = tmp_path / "report.html"
    save_report(file, random_model(), texts, labels)
    with opened(file) as page:
        links = page.locator("nav a")
        folded = page.evaluate("document.body.scrollHeight")
        for k in range(links.count()):
            target = page.locator(links.nth(k).get_attribute("href") or "none")
            links.nth(k).click()
            page.wait_for_timeout(50)
            assert target.evaluate("e => e.checkVisibility()")
            assert target.evaluate("e => e.getBoundingClientRect().top < innerHeight")
        assert page.locator("details:not([open])").count() == 0
        assert page.evaluate("document.body.scrollHeight") > 2 * folded


@needs_chromium
def test_on_paper_nothing_is_cut_off_or_closed(tmp_path: Path):
    names = [f"class_{k}_with_a_name_of_many_letters_in_one_word" for k in range(77)]
    texts, file = [*some_texts(99)[0], "w1 " * 900], tmp_path / "report.html"
    save_report(file, model_of_classes(names), texts, [names[k % 77] for k in range(100)])
    with opened(file, viewport={"width": 718, "height": 1000}) as page:  # A4 without its margins
        page.emulate_media(media="print")
        assert page.evaluate(CUT_OFF) == []


CUT_OFF = """() => [...document.querySelectorAll("body *")].filter(e => {
    const s = getComputedStyle(e), box = e.getBoundingClientRect()
    const cuts = s.overflowX !== "visible" || s.overflowY !== "visible"
    const larger = e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1
    return !e.closest("svg") && box.width && ((cuts && larger && e.tagName !== "I") || box.right > 718.5
        || (e.tagName === "DETAILS" && ![...e.children].every(each => each.checkVisibility())))
}).map(e => e.outerHTML.slice(0, 200))"""


def test_columns_of_a_table_and_trained_classifiers_are_taken(tmp_path: Path):
    texts, labels = some_texts(30)
    model = random_model()
    plain = to_report(model, texts, labels)
    assert to_report(model, pd.Series(texts), pd.Series(labels)) == plain
    assert to_report(SimpleNamespace(model_=model), np.array(texts), np.array(labels)) == plain
    trust = measure_trust(model, texts)
    again = measure_trust(SimpleNamespace(model_=model), pd.Series(texts))
    assert again["Leave one out"].comprehensiveness == trust["Leave one out"].comprehensiveness
    reading = model.read(texts[0])
    found = [explain_by(each, reading, "leave-one-out") for each in (model, SimpleNamespace(model_=model))]
    np.testing.assert_array_equal(found[0].decided, found[1].decided)
    with refuses("argument-type"):
        to_report("model", texts, labels)
    with refuses("file-type"):
        save_report(tmp_path / "r.png", model, texts, labels)
    assert not any(tmp_path.iterdir())


# ---------------------------------------------------------------- telling words on the page, and odd input


def test_the_words_of_the_page_are_those_that_decided():
    model = random_model(head="linear")
    texts, labels = some_texts(80)
    page = to_report(model, texts, labels)
    for k, label in enumerate(LABELS):
        given = [each for each in model.read_many(texts) if each.label == label]
        if not given:
            continue
        block = page.split(f'id="class-{k + 1}"')[1].split("</table>")[0]
        found = re.findall(r'row"><bdi>(.*?)</bdi></th><td>(\d+)</td><td>\d+</td><td>\+([\d.]+)<', block)
        assert found
        for word, count, weight in found:
            sums = [
                sum(each.decided[k] for k, w in enumerate(each.words) if w == word)  # type: ignore[index]
                for each in given
                if word in each.words
            ]
            if " " not in word:
                assert (len(sums), float(weight)) == (
                    int(count),
                    pytest.approx(100 * np.mean(sums), abs=0.06),
                )
        assert f"<mark>{found[0][0]}</mark>" in block


ODD = ["", "   ", "w1 😍 <b>w2</b> &amp; w3", "w4 " * 300, "שלום w5 \u202e w6", "w7\x00\x1b"]


@pytest.mark.parametrize("task", ["classification", "ordinal", "multi-label"])
@pytest.mark.parametrize("pair", [None, "gated"])
def test_odd_texts_and_all_tasks(task: str, pair: str | None):
    recipe = recipe_of({"rows": 2, "task": task}, pair)
    labels = [1, 2, 3] if task == "ordinal" else ["<i>a</i>", "b", "c"]
    model = Model.from_parts(
        weights=weights_of(network_of(recipe, pair is not None)), recipe=recipe, tokenizer=tokenizer(),
        labels=labels, pair=pair is not None, threads=1,
    )  # fmt: skip
    truth: list = [(labels[0], labels[2]), (), *[(labels[1],)] * 4] if task == "multi-label" else labels * 2
    second = ODD[::-1] if pair else None
    page = to_report(model, ODD, truth, second)
    assert "<i>a" not in page
    assert "<b>w2" not in page
    assert page.count('class="class"') == 3
    one = to_report(model, ODD[2:3], truth[:1], second and second[2:3])
    assert "Words that decide" in one
