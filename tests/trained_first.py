"""Models of a trained ensemble that can be checked like learners that train themselves."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import clone

from committee import LeafReweighter, LeafReweighterRegressor, MarginReweighter


class _TrainsFirst:
    """Trains a clone of its ensemble on the rows that it is given, and goes on from there: checks bring their own rows.

    The models themselves take what is trained already, and so cannot be fitted on rows of other columns.
    """

    _model: ClassVar[Any]

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        ensemble = clone(self.ensemble)
        weights = () if sample_weight is None else (sample_weight,)
        ensemble.fit(X, y, *weights)
        own = {name: getattr(self, name) for name in self._model.declared_parameters}
        inner = self._model(**(own | {"ensemble": ensemble}))
        inner.fit(X, y, *weights)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        vars(self).update({name: value for name, value in vars(inner).items() if name not in own})
        return self


class TrainedFirst(_TrainsFirst, MarginReweighter):
    """A re-weighter of voters."""

    _model = MarginReweighter


class LeavesTrainedFirst(_TrainsFirst, LeafReweighter):
    """A re-weighter of leaves."""

    _model = LeafReweighter


class NumbersTrainedFirst(_TrainsFirst, LeafReweighterRegressor):
    """A re-weighter of leaves of numbers."""

    _model = LeafReweighterRegressor
