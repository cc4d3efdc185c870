"""`limelight demo aspects`, and the reviews that are made up for it."""

from __future__ import annotations

import csv

import limelight
from limelight.bundled.made_reviews import HOTELS, made_reviews


def test_reviews_are_the_same_every_time_and_fit_their_stars():
    rows = made_reviews(300)
    assert rows == made_reviews(300) != made_reviews(300, seed=1)
    assert {row["stars"] for row in rows} == {1, 2, 3, 4, 5}
    assert {row["hotel"] for row in rows} == set(HOTELS)
    bitter = [row["stars"] for row in rows if "We will not be back" in row["text"]]
    assert sum(bitter) / len(bitter) < 3


def test_the_made_reviews_have_the_aspects_they_were_made_from():
    found = limelight.find_aspects([row["text"] for row in made_reviews(405)], 6)
    names = ["room", "staff", "breakfast", "bathroom", "location", "price"]
    assert all(sum(name in each.seeds for each in found) == 1 for name in names)


def test_demo_of_aspects(call, refused, tmp_path):
    out = tmp_path / "demo"
    code, said, _ = call("demo", "aspects", "--preset", "tiny", "--sentences", "100", "--out", out)
    assert code == 0
    model = limelight.load(out / "model")
    assert len(model.aspects) >= 3
    assert all(f"\n{each.name}: {', '.join(each.seeds)}\n" in said for each in model.aspects)
    with (out / "reviews.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 120
    assert "<h1" in (out / "report.html").read_text()
    assert "aspects" in refused("demo", "aspect")
