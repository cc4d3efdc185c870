import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.reading.rows import MIN_SHARED, RowGroup, focus, group_rows


def overlap(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.minimum(first, second).sum())


def test_equal_rows_are_one_group():
    A = np.array([[0.7, 0.2, 0.1], [0.0, 0.0, 1.0], [0.7, 0.2, 0.1], [0.0, 0.0, 1.0], [0.7, 0.2, 0.1]])
    assert {group.rows for group in group_rows((A,))} == {(0, 2, 4), (1, 3)}


def test_the_group_that_tells_most_comes_first():
    even, one, two = [0.25] * 4, [1.0, 0, 0, 0], [0, 0.5, 0.5, 0]
    A = np.array([even, even, even, two, one, one])
    assert group_rows((A,)) == (RowGroup((4, 5), 1.0), RowGroup((3,), 0.5), RowGroup((0, 1, 2), 0.0))


def test_no_chain_joins_rows_that_differ():
    A = np.array([[1.0, 0.0, 0.0], [0.62, 0.38, 0.0], [0.24, 0.76, 0.0]])
    assert overlap(A[0], A[1]) > MIN_SHARED
    assert overlap(A[1], A[2]) > MIN_SHARED
    assert overlap(A[0], A[2]) < MIN_SHARED
    assert sorted(len(group.rows) for group in group_rows((A,))) == [1, 2]


def test_a_pair_is_grouped_by_both_texts():
    same = np.array([[1.0, 0.0], [1.0, 0.0]])
    other = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert [group.rows for group in group_rows((same, same))] == [(0, 1)]
    assert [group.rows for group in group_rows((same, other))] == [(0,), (1,)]


def test_texts_without_words_do_not_count():
    A, empty = np.array([[1.0, 0.0], [1.0, 0.0]]), np.zeros((2, 0))
    assert group_rows((A, empty)) == group_rows((A,)) == (RowGroup((0, 1), 1.0),)
    assert group_rows((empty,)) == ()


def test_focus_ends():
    assert focus(np.full(8, 1 / 8)) == 0.0
    assert focus(np.eye(8)[3]) == 1.0
    assert focus(np.array([1.0])) == 0.0


@examples(60)
@given(r=st.integers(1, 12), n=st.integers(1, 9), seed=st.integers(0, 2**31))
def test_every_row_once_and_groups_are_tight(r: int, n: int, seed: int):
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.full(n, 0.3), size=r)
    groups = group_rows((A,))
    assert sorted(row for group in groups for row in group.rows) == list(range(r))
    for group in groups:
        assert all(overlap(A[i], A[j]) >= MIN_SHARED - 1e-9 for i in group.rows for j in group.rows)
    order = rng.permutation(r)
    again = {frozenset(order[list(group.rows)].tolist()) for group in group_rows((A[order],))}
    assert again == {frozenset(group.rows) for group in groups}
