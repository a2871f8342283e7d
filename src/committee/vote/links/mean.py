"""Mean links: from a regression committee's score F to the number it predicts.

A mean link is a small frozen object that a model file stores as its name. `MEAN_LINKS` is the table of names; a
further link is one more class here and one more line there.
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
"""exp(700) is 1e304: logarithms are kept within +-700, so that every mean is a number and none is zero."""


class MeanLink(NamedParameters, ABC):
    """Base of mean links: `mean`, its inverse `score`, and going to and from JSON."""

    def mean(self, F: ArrayLike, total: float | None = None) -> Numbers:
        """Predictions of scores.

        Parameters
        ----------
        F : float array (n,) or (n, D)
            Scores of rows; finite.
        total : float, default=None
            Weight of the voters, for the link that looks at the mean vote instead of its sum.

        Returns
        -------
        float64 array
            A new one, in the shape of `F`.

        Raises
        ------
        ValueError
            If the link needs `total`, and it is missing or not above zero.

        Examples
        --------
        >>> from committee.vote.links.mean import Average
        >>> Average().mean([3.0, 6.0], total=3.0).tolist()
        [1.0, 2.0]
        """
        return self._mean(np.asarray(F, dtype=np.float64), total)

    @abstractmethod
    def _mean(self, F: Numbers, total: float | None) -> Numbers:
        """The equation alone."""

    @abstractmethod
    def score(self, mean: ArrayLike) -> Numbers:
        """The score, of voters with total weight 1, whose mean is `mean`."""


@dataclass(frozen=True)
class Identity(MeanLink):
    """The score is the prediction.

    Examples
    --------
    >>> from committee.vote.links.mean import Identity
    >>> Identity().mean([-1.0, 2.0]).tolist()
    [-1.0, 2.0]
    """

    name: ClassVar[str] = "identity"

    def _mean(self, F: Numbers, total: float | None) -> Numbers:
        return F.copy()

    def score(self, mean: ArrayLike) -> Numbers:
        """The prediction itself."""
        return np.array(mean, dtype=np.float64)


@dataclass(frozen=True)
class Log(MeanLink):
    """The score is the logarithm of the mean: mean = exp(F), for counts, amounts and other positive targets.

    Scores are kept within +-700, so that a mean is positive and finite whatever the score.

    Examples
    --------
    >>> from committee.vote.links.mean import Log
    >>> Log().mean([0.0, 1.0]).round(3).tolist()
    [1.0, 2.718]
    """

    name: ClassVar[str] = "log"

    def _mean(self, F: Numbers, total: float | None) -> Numbers:
        return np.exp(np.clip(F, -LARGEST_LOG, LARGEST_LOG))

    def score(self, mean: ArrayLike) -> Numbers:
        """The logarithm."""
        return np.log(np.clip(np.asarray(mean, dtype=np.float64), exp(-LARGEST_LOG), exp(LARGEST_LOG)))


@dataclass(frozen=True)
class Average(MeanLink):
    """The mean vote: F over the weight of the voters, as in a forest [1]_.

    References
    ----------
    .. [1] L. Breiman (2001). Random forests. Machine Learning 45(1).

    Examples
    --------
    >>> from committee.vote.links.mean import Average
    >>> Average().mean([10.0], total=4.0).tolist()
    [2.5]
    """

    name: ClassVar[str] = "average"

    def _mean(self, F: Numbers, total: float | None) -> Numbers:
        if total is None or not total > 0:
            raise ValueError(f"total is {total}; the mean vote needs the voters' weight, which must be above zero.")
        return F / total

    def score(self, mean: ArrayLike) -> Numbers:
        """The mean itself: that of one voter with weight 1."""
        return np.array(mean, dtype=np.float64)


@dataclass(frozen=True)
class Ordered(MeanLink):
    """Several quantiles that do not cross: the scores of a row in increasing order.

    Estimated apart, a higher quantile can come out below a lower one. Sorting them (monotone rearrangement)
    never increases the error of the curve [1]_.

    References
    ----------
    .. [1] V. Chernozhukov, I. Fernandez-Val, A. Galichon (2010). Quantile and probability curves without
       crossing. Econometrica 78(3).

    Examples
    --------
    >>> from committee.vote.links.mean import Ordered
    >>> Ordered().mean([[1.0, 3.0, 2.0]]).tolist()
    [[1.0, 2.0, 3.0]]
    """

    name: ClassVar[str] = "ordered"

    def _mean(self, F: Numbers, total: float | None) -> Numbers:
        return np.sort(F, axis=1) if F.ndim == 2 else F.copy()

    def score(self, mean: ArrayLike) -> Numbers:
        """The quantiles themselves."""
        return np.array(mean, dtype=np.float64)


MEAN_LINKS: dict[str, type[MeanLink]] = {link.name: link for link in (Identity, Log, Average, Ordered)}
"""Every mean link under the name that a file stores."""


def from_json(stored: object) -> MeanLink:
    """The mean link that `MeanLink.to_json` wrote; see `read_named` for what is refused.

    Examples
    --------
    >>> from committee.vote.links.mean import Log, from_json
    >>> from_json(Log().to_json())
    Log()
    """
    return read_named_parameters(stored, MEAN_LINKS, "mean link")
