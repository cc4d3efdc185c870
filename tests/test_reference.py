"""The reference's own gradient, held against plain central differences."""

from __future__ import annotations

import numpy as np

import reference
from limelight.config.recipe import ModelRecipe


def test_the_complex_step_agrees_with_central_differences():
    rng = np.random.default_rng(0)
    d, u, r, d_a, b, classes = 3, 2, 2, 3, 4, 3
    shapes = {
        "words.weight": (6, d),
        "encoder.W_ih_0": (2, 4 * u, d),
        "encoder.W_hh_0": (2, 4 * u, u),
        "encoder.b_0": (2, 4 * u),
        "pooling.W_s1": (d_a, 2 * u),
        "pooling.W_s2": (r, d_a),
        "head.W_1": (b, r * 2 * u),
        "head.b_1": (b,),
        "head.W_2": (classes, b),
        "head.b_2": (classes,),
    }
    values = {name: rng.normal(0, 0.5, shape) for name, shape in shapes.items()}

    def loss(v):
        logits, _, A = reference.network(ModelRecipe(), v, [3, 1, 4, 5])
        return reference.cross_entropy(logits, 1) + reference.penalty([A])

    step = 1e-5
    for name, slopes in reference.gradient(loss, values).items():
        for index in np.ndindex(*slopes.shape):
            unit = np.zeros(slopes.shape)
            unit[index] = step
            difference = loss({**values, name: values[name] + unit}) - loss(
                {**values, name: values[name] - unit}
            )
            np.testing.assert_allclose(difference / (2 * step), slopes[index], rtol=0, atol=1e-8)
