"""A re-weighter that can be checked like learners that train themselves."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone

from committee import MarginReweighter


class TrainedFirst(MarginReweighter):
    """Trains a clone of its ensemble on the rows that it is given, and re-weights that: checks bring rows of their own.

    `MarginReweighter` itself takes what is trained already, and so cannot be fitted on rows of other columns.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        ensemble = clone(self.ensemble)
        weights = () if sample_weight is None else (sample_weight,)
        ensemble.fit(X, y, *weights)
        inner = MarginReweighter(ensemble, **{k: v for k, v in self.get_params().items() if k != "ensemble"})
        inner.fit(X, y, *weights)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        vars(self).update({name: value for name, value in vars(inner).items() if name not in self.get_params()})
        return self
