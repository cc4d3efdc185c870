"""`make mutants`: the changes it makes, the tests it chooses, the list of what cannot be noticed."""

from __future__ import annotations

import ast
from types import ModuleType, SimpleNamespace

import pytest

import mutant_tests
import mutants
from mutating import Mutant


def changes(source: str) -> list[str]:
    """The lines after each change, of a function's body."""
    body = "".join(f"    {line}\n" for line in source.splitlines())
    found = mutants.mutants("a.py", f"def f():\n{body}")
    return [each.change.split(" -> ")[1] for each in found]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b < c", ["a = b <= c", "a = b >= c"]),
        ("a = b == c", ["a = b != c"]),
        ("a = b + c", ["a = b - c"]),
        ("a = b & c", ["a = b | c", "a = b", "a = c"]),
        ("a = b and c", ["a = b or c", "a = c", "a = b"]),
        ("a = not b", ["a = b"]),
        ("a = b[1:]", ["a = b[:]", "a = b[2:]"]),
        ("a = 0.5", ["a = 1.0"]),
        ("a = True", ["a = False"]),
        ("a = b if c else d", ["a = d if c else b"]),
        ("a = [b for b in c if b]", ["a = [b for b in c]"]),
        ("a = g(b, c, d=e)", ["a = g(c, b, d=e)", "a = g(b, c)"]),
        ("a = max(b, c)", ["a = min(b, c)"]),
        ("return a", ["return None"]),
        ("a.b = c", ["pass"]),
        ("a.append(b)", ["pass"]),
        ("a += b", ["pass", "a -= b"]),
        ("raise LimelightError('1 of 2', code='a' + 'b')", ["pass"]),
        ("a: int | None = b", []),
        ("a = f'{b + 1}'", []),
        ("a = zip(b, strict=True)", []),
        ("warnings.warn('a' * 2, stacklevel=2)", ["pass"]),
    ],
)
def test_changes_of_a_line(source, expected):
    assert changes(source) == expected


def test_a_mutant_is_the_file_with_one_change():
    source = "SIZE = 1\n\nclass A:\n\n    def f(self, x):\n        if x > 0:\n            return x\n"
    first, *_, last = mutants.mutants("a.py", source)
    assert first.key == "a.py::: SIZE = 1 -> SIZE = 2"
    assert last.key == "a.py::A.f: return x -> return None"
    assert first.source() == ast.unparse(ast.parse(source.replace("1", "2")))
    assert last.source() == ast.unparse(ast.parse(source.replace("return x", "return None")))
    assert [each.lines for each in mutants.mutants("a.py", source)] == [
        (1, 10**9),
        (6, 6),
        (6, 6),
        (6, 6),
        (7, 7),
    ]


def test_the_same_change_of_two_lines_has_two_names():
    found = mutants.mutants("a.py", "def f(x):\n    g(x)\n    g(x)\n")
    assert [each.change for each in found] == ["g(x) -> pass", "g(x) -> pass #2"]


def test_the_tests_are_those_that_execute_a_line_without_slow_ones():
    recorded = {
        "slow": {
            "seconds": {"slow::a": 3.0, "slow::b": 99.0, "slow::c": 0.1},
            "lines": {"slow::a": {"a.py": [6]}},
        },
        "quick": {"seconds": {"quick::a": 0.2, "quick::b": 0.1}, "lines": {"": {"a.py": [4, 6]}}},
        "other": {"seconds": {"other::a": 0.1}, "lines": {"other::a": {"a.py": [5], "b.py": [6]}}},
    }
    mutant = Mutant("a.py", "f", "", (6, 7), ast.Module([], []), None, "", None)
    assert list(mutants.tests_of(mutant, recorded)) == ["quick::b", "quick::a", "slow::a"]
    mutant.lines = mutants.EVERYWHERE
    found = mutants.tests_of(mutant, recorded)
    assert list(found) == ["other::a", "quick::b", "quick::a", "slow::c", "slow::a"]
    assert found["slow::a"] == 3.0


SOURCE = """
from functools import cache, cached_property
LIMIT = 1
class A:
    @property
    def a(self): return 1
    @cached_property
    def b(self): return 1
    @classmethod
    def c(cls, given=1): return given
    @staticmethod
    def d(*, given=1): return given
@cache
def e(): return 1
"""


@pytest.mark.parametrize("name", ["A.a", "A.b", "A.c", "A.d", "e"])
def test_a_function_gets_the_code_of_other_source_wherever_it_is_held(name):
    module = ModuleType("module")
    module.__file__ = "module.py"
    exec(SOURCE, vars(module))
    e, values = module.e, {"A.a": lambda: module.A().a, "A.b": lambda: module.A().b, "A.c": module.A.c}
    values |= {"A.d": module.A.d, "e": lambda: e.__wrapped__()}
    assert mutant_tests.swap_function(module, name, SOURCE.replace("1", "2"))
    assert {each for each, value in values.items() if value() == 2} == {name}
    assert module.LIMIT == 1
    assert not any(mutant_tests.swap_function(module, each, SOURCE) for each in ("", "A", "LIMIT", "f"))


def test_only_tests_that_changed_or_whose_files_did_are_recorded_again(monkeypatch, tmp_path):
    sources, recordings = {"a.py": "a", "b.py": "b"}, []

    def record(files):
        recordings.append(files[0])
        return {"seconds": {}, "lines": {"": {f"{files[0][0]}.py": [1]}}}

    (tmp_path / "a_test.py").write_text("")
    (tmp_path / "b_test.py").write_text("")
    monkeypatch.setattr(mutants, "KEPT", tmp_path)
    monkeypatch.setattr(mutants, "_test_files", lambda: {"a": ["a_test.py"], "b": ["b_test.py"]})
    monkeypatch.setattr(mutants, "_files", lambda: list(sources))
    monkeypatch.setattr(mutants, "_text", sources.__getitem__)
    copy = SimpleNamespace(folder=tmp_path, record=record)
    first = mutants.record(copy)
    assert mutants.record(copy) == first
    assert recordings == ["a_test.py", "b_test.py"]
    sources["b.py"] = "b + 1"
    mutants.record(copy)
    (tmp_path / "a_test.py").write_text("assert a")
    again = mutants.record(copy)
    assert recordings[2:] == ["b_test.py", "a_test.py"]
    assert first["a"]["digest"] != again["a"]["digest"] != first["b"]["digest"] != again["b"]["digest"]


def test_a_sample_depends_on_the_seed_alone():
    first, again, other = (mutants.sample(["reading", "runtime"], 11, seed) for seed in (0, 0, 1))
    keys = [[each.key for room in found.values() for each in room] for found in (first, again, other)]
    assert [len(room) for room in first.values()] == [6, 6]
    assert keys[0] == keys[1] != keys[2]


def test_what_is_listed_as_equivalent_is_in_the_code_and_has_a_reason():
    listed = mutants.equivalents()
    files = {each["file"] for each in listed}
    known = {each.key for file in files for each in mutants.mutants(file, mutants._text(file))}
    assert [each for each in listed if mutants.key_of(each) not in known] == []
    assert all(len(each["reason"]) > 10 for each in listed)


def test_a_table_and_a_list_of_survivors(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(mutants, "KEPT", tmp_path)
    chosen = {"one": mutants.mutants("a.py", "def f():\n" + "    g()\n" * 20)}
    results = {each.key: {"killed": k > 0, "tests": 3} for k, each in enumerate(chosen["one"])}
    assert mutants.report(chosen, results, 7) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| one | 20 | 19 | 0 | 1 | 5.0% |",
        "| all | 20 | 19 | 0 | 1 | 5.0% |",
        "survived: a.py::f: g() -> pass",
    ]
    results["a.py::f: g() -> pass #2"] = {"killed": False, "tests": 0}
    assert mutants.report(chosen, results, 7) == 1
    assert "survived (no test executes it): a.py::f: g() -> pass #2" in capsys.readouterr().out
