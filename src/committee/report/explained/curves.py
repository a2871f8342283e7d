"""ROC curves, and curves of precision by recall, of each class against all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64

MOST_POINTS = 200


@dataclass(frozen=True, eq=False)
class RankedClass:
    """Rows ranked by the score of one class, and how well that finds its own.

    Examples
    --------
    >>> import numpy as np
    >>> found = RankedClass.of("b", np.array([False, False, True, True]), np.array([0.1, 0.4, 0.35, 0.8]))
    >>> found.area, round(found.average_precision, 4), found.share
    (0.75, 0.8333, 0.5)
    """

    name: str
    share: float
    """Share of the rows that are of the class."""
    false_positives: F64
    true_positives: F64
    """Shares of the others and of its own rows above each score: the ROC curve."""
    area: float
    """Below the ROC curve."""
    recall: F64
    precision: F64
    average_precision: float
    """The area below the curve of precision by recall."""

    @classmethod
    def of(cls, name: str, is_class: NDArray[np.bool_], score: F64) -> RankedClass:
        """Rank rows of which some, but not all, are of the class."""
        from sklearn import metrics

        false, true, _ = metrics.roc_curve(is_class, score)
        precision, recall, _ = metrics.precision_recall_curve(is_class, score)
        return cls(
            name,
            float(is_class.mean()),
            *_thinned(false, true),
            float(metrics.roc_auc_score(is_class, score)),
            *_thinned(recall, precision),
            float(metrics.average_precision_score(is_class, score)),
        )


def ranked_classes(y: NDArray[Any], classes: NDArray[Any], scores: F64, most: int) -> list[RankedClass]:
    """The most frequent classes that have rows but not all of them; of two classes the second alone.

    Parameters
    ----------
    y : array (n,)
        Labels.
    classes : array (K,)
        Labels of the columns of `scores`.
    scores : array (n, K)
    most : int
        Classes at most.
    """
    counts = np.array([np.count_nonzero(y == label) for label in classes.tolist()])
    told = [k for k in np.argsort(-counts, kind="stable").tolist() if 0 < counts[k] < len(y)]
    if len(classes) == 2 and len(told) == 2:
        told = [1]
    return [RankedClass.of(str(classes[k]), y == classes[k], scores[:, k]) for k in sorted(told[:most])]


def _thinned(x: F64, y: F64) -> tuple[F64, F64]:
    """Fewer points of a curve, its ends among them."""
    if len(x) <= MOST_POINTS:
        return x, y
    kept = np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).astype(np.intp))
    return x[kept], y[kept]
