"""A table of numbers and categories with gaps, and the scores of a model tree on it."""

import numpy as np
import polars as pl

N = 400


def mixed_table(seed=0, n=N, n_classes=2):
    """Numbers and categories, both with gaps, and classes that hang on all of them."""
    rng = np.random.default_rng(seed)
    age, size = rng.normal(40.0, 9.0, n), rng.exponential(1e6, n)
    colour, flag = rng.choice(["blue", "green", "red"], n), rng.choice(["no", "yes"], n)
    F = 0.1 * (age - 40) + (colour == "red") * 1.5 - (flag == "yes") + rng.normal(0, 0.7, n)
    y = np.digitize(F, np.quantile(F, np.arange(1, n_classes) / n_classes))
    gap = rng.random((2, n)) < 0.15
    frame = pl.DataFrame(
        {
            "age": [None if g else float(a) for a, g in zip(age, gap[0], strict=True)],
            "size": size,
            "colour": [None if g else str(c) for c, g in zip(colour, gap[1], strict=True)],
            "flag": flag,
        }
    )
    return frame, np.array(["a", "b", "c", "d"])[y]


def scores(model, X):
    """Linear scores of a single model tree, ``(n, O)``."""
    return model.committee_.voters.scores(model.table_.encode(X))[:, 0]


def column(shares, k):
    return shares if shares.ndim == 2 else shares[:, :, k]
