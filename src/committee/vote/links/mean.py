"""Mean links: from a regression committee's score F to the predicted number.

A model file stores the name of a link. A new link is one class here and one entry of `MEAN_LINKS`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import exp
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.typed_json import NamedParameters, read_named_parameters

Numbers = NDArray[np.float64]

LARGEST_LOG = 700.0
"""Bound of logarithms: exp(700) is 1e304."""


class MeanLink(NamedParameters, ABC):
    averages: ClassVar[bool] = False
    """True if scores are divided by the weight of the voters."""

    def mean(self, F: ArrayLike, total: float | None = None) -> Numbers:
        """Predictions for scores ``(n,)`` or ``(n, D)``; `total` is the weight of the voters."""
        return self._mean(np.asarray(F, dtype=np.float64), total)

    @abstractmethod
    def _mean(self, F: Numbers, total: float | None) -> Numbers: ...

    def score(self, mean: ArrayLike) -> Numbers:
        """Score for which voters of total weight 1 predict `mean`."""
        return np.array(mean, dtype=np.float64)


@dataclass(frozen=True)
class Identity(MeanLink):
    name: ClassVar[str] = "identity"

    def _mean(self, F: Numbers, total: float | None) -> Numbers:
        return F.copy()


@dataclass(frozen=True)
class Log(MeanLink):
    name: ClassVar[str] = "log"

    def _mean(self, F: Numbers, total: float | None) -> Numbers:
        return np.exp(np.clip(F, -LARGEST_LOG, LARGEST_LOG))

    def score(self, mean: ArrayLike) -> Numbers:
        return np.log(np.clip(np.asarray(mean, dtype=np.float64), exp(-LARGEST_LOG), exp(LARGEST_LOG)))


@dataclass(frozen=True)
class Average(MeanLink):
    """Mean vote: F over the weight of the voters, as in a forest (L. Breiman 2001, Machine Learning 45)."""

    name: ClassVar[str] = "average"
    averages: ClassVar[bool] = True

    def _mean(self, F: Numbers, total: float | None) -> Numbers:
        if total is None or not total > 0:
            raise ValueError(f"total is {total}; the mean vote needs the voters' weight, which must be above zero.")
        return F / total


@dataclass(frozen=True)
class Ordered(MeanLink):
    """Quantiles sorted in increasing order.

    V. Chernozhukov, I. Fernandez-Val, A. Galichon (2010). Quantile and probability curves without crossing.
    Econometrica 78.
    """

    name: ClassVar[str] = "ordered"

    def _mean(self, F: Numbers, total: float | None) -> Numbers:
        return np.sort(F, axis=1) if F.ndim == 2 else F.copy()


MEAN_LINKS: dict[str, type[MeanLink]] = {link.name: link for link in (Identity, Log, Average, Ordered)}


def from_json(stored: object) -> MeanLink:
    """Read a link from its JSON values."""
    return read_named_parameters(stored, MEAN_LINKS, "mean link")
