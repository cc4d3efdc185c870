"""Adam on the words that occur is Adam on the whole table."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from limelight.network.parts import rows_of
from limelight.training.context import Processes
from limelight.training.label_objective import LabelObjective
from limelight.training.loss import loss
from limelight.training.starting_network import build_network
from limelight.training.step import Stepper
from training import toys

STEPS = 12


def started(pair: bool = False) -> Stepper:
    """With 16 rows, not every word occurs."""
    data, recipe = toys.dataset(rows=16, pair=pair), toys.recipe(optimizer="adam", learning_rate=0.05)
    return Stepper(build_network(data, recipe).double(), LabelObjective(data, recipe), Processes())


def rows(number: int) -> np.ndarray:
    return np.arange(4 * number, 4 * number + 4) % 16


@pytest.mark.parametrize("pair", [False, True])
def test_it_is_adam_on_the_whole_table(pair: bool) -> None:
    stepper = started(pair)
    other = started(pair)
    network, recipe = other.network, other.recipe
    network.words.sparse = False
    adam = torch.optim.Adam(network.parameters(), lr=0.05)
    for number in range(STEPS):
        stepper.step(rows(number), number)
        batch = other.feed.batch(torch.from_numpy(rows(number)))
        adam.zero_grad()
        output = network(batch.ids, batch.lengths, batch.ids2, batch.lengths2)
        loss(output, batch, recipe, rows_of(other.objective.recipe.model).attention).total.backward()
        adam.step()
    stepper.finish()
    assert stepper.seen_words is not None
    assert len(stepper.seen_words.ids) < len(network.words.weight)
    for name, w in stepper.network.state_dict().items():
        torch.testing.assert_close(w, network.state_dict()[name], rtol=0, atol=1e-9, msg=name)
    mean = adam.state[network.words.weight]["exp_avg"]
    torch.testing.assert_close(stepper.tensors()["optimiser.words.weight.mean"], mean, rtol=0, atol=1e-9)


def test_its_state_goes_to_another_stepper_and_on_to_the_bit() -> None:
    one, two = started(), started()
    for number in range(3):
        one.step(rows(number), number)
    one.finish()
    two.load({name: w.clone() for name, w in one.network.state_dict().items()})
    two.restore({name: x.clone() for name, x in one.tensors().items()})
    for stepper in (one, two):
        stepper.step(rows(3), 3)
        stepper.finish()
    for name, w in one.network.state_dict().items():
        assert torch.equal(w, two.network.state_dict()[name]), name
    for name, x in one.tensors().items():
        assert torch.equal(x, two.tensors()[name]), name


def test_only_the_steps_read_the_copy() -> None:
    stepper = started()
    before = stepper.network.words.weight.detach().clone()
    stepper.step(rows(0), 0)
    assert stepper.network.words.row_subset is None
    assert torch.equal(stepper.network.words.weight, before)
    stepper.finish()
    assert not torch.equal(stepper.network.words.weight, before)
