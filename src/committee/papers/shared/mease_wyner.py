"""Mease and Wyner's simulation of two classes, which several papers use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIMENSION, EFFECTIVE, NOISE = 10, 5, 0.1
"""d and E as the SBPMT paper has them; it leaves q open, and 0.1 is Mease and Wyner's."""


def mease_wyner(n: int, random: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw rows of the simulation: P(y = 1 | x) = q + (1 - 2q) [x_1 + ... + x_E > E/2], x uniform on the cube.

    X is ``(n, 10)``, y is -1 or +1; the best rule errs on a tenth.

    References
    ----------
    D. Mease, A. Wyner (2008). Evidence contrary to the statistical view of boosting. JMLR 9.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.papers.shared.mease_wyner import mease_wyner
    >>> X, y = mease_wyner(1000, np.random.default_rng(0))
    >>> rule = np.where(X[:, :5].sum(axis=1) > 2.5, 1, -1)
    >>> bool(0.07 < (rule != y).mean() < 0.13)
    True
    """
    X = random.random((n, DIMENSION))
    above = X[:, :EFFECTIVE].sum(axis=1) > EFFECTIVE / 2
    y = np.where(random.random(n) < NOISE + (1.0 - 2.0 * NOISE) * above, 1, -1)
    return X, y
