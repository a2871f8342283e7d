"""Model files of the conformal learners."""

from __future__ import annotations

from copy import copy
from pkgutil import resolve_name
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from committee.data.number_types import check_array, check_range
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.files.kinds import COMMITTEES, describe_model, learner_class
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.stored_learner import (
    StoredLearner,
    describe_attributes,
    describe_unfitted,
    rebuild_unfitted,
)
from committee.learners.conformal.out_of_sample import Source


class ConformalFiles(CommitteeEstimator):
    """Base of the conformal learners that writes and reads their documents."""

    def to_document(self, tensors: Tensors) -> Document:
        if not hasattr(self, "known_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit before it is saved.")
        inside = self.committee_
        if hasattr(self.estimator_, "to_document"):
            inside = copy(self.estimator_)
            if isinstance(inside, StoredLearner):
                inside.table_ = self.table_  # with the number formats of files, which the command line adds
        document = {
            **describe_unfitted(self, left_out=self.trained_parameters),
            "trained_before": self._trained is not None,
            **self._named_columns(),
            "model": describe_model(inside, tensors.member(0)),
            "attributes": describe_attributes(self.stored_values(), tensors.part("attributes")),
        }
        if hasattr(self, "difficulty_"):
            document["difficulty"] = describe_model(self.difficulty_, tensors.member(1))
        if hasattr(self, "fold_models_"):
            models = enumerate(self.fold_models_, start=2)
            document["folds"] = [describe_model(model, tensors.member(number)) for number, model in models]
        return document

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        model: Any = rebuild_unfitted(document, tensors.depth)
        model._validate_params()
        inside = _model_of(field(document, "model", dict), tensors.member(0))
        frozen = field(document, "trained_before", bool)
        if hasattr(inside, "fit"):
            model.estimator = FrozenEstimator(inside) if frozen else clone(inside)
        else:
            model.estimator = inside  # a committee
        model._take_model(inside)
        model._read_named_columns(document)
        if "difficulty" in document:
            model.difficulty_ = _model_of(field(document, "difficulty", dict), tensors.member(1))
        if "folds" in document:
            models = field(document, "folds", list)
            if not all(isinstance(one, dict) for one in models):
                raise ValueError("folds are not all models")
            model.fold_models_ = [_model_of(one, tensors.member(k)) for k, one in enumerate(models, start=2)]
        model._read_attributes(document, tensors)
        model._from_file()
        rebuilt: Self = model
        return rebuilt

    def _from_file(self) -> None:
        held = vars(self)

        def check(name: str, kind: type, *shape: int) -> NDArray[Any]:
            array: NDArray[Any] = field(held, name, np.ndarray)
            check_array(name, array, kind, shape)
            return array

        n = len(field(held, "scores_", np.ndarray))
        check("scores_", np.float64, n)
        if field(held, "groups_", list, None) == []:
            raise ValueError("groups_ is an empty list")
        check_range("row_categories_", check("row_categories_", np.int64, n), 0, len(self.row_categories) - 1)
        if "score_weights_" in held:
            weights = check("score_weights_", np.float64, n)
            if not (np.isfinite(weights) & (weights >= 0.0)).all() or not weights.any():
                raise ValueError("score_weights_ are not finite numbers of at least 0, some above 0")
        if held.get("source_") not in get_args(Source):
            raise ValueError(f"source_ is {held.get('source_')!r}; it must be one of {', '.join(get_args(Source))}")
        if not 0.0 < field(held, "alpha_", float) < 1.0:
            raise ValueError(f"alpha_ is {held['alpha_']!r}; it must be above 0 and below 1")
        if "seed_" in held:
            field(held, "seed_", int)
        if "fold_of_rows_" in held or "fold_models_" in held:
            models = field(held, "fold_models_", list)
            check_range("fold_of_rows_", check("fold_of_rows_", np.int64, n), -1, len(models) - 1)
        if "unseen_" in held:
            check("unseen_", np.uint8, n, (self.committee_.n_voters + 7) // 8)
        one_class = len(getattr(self, "classes_", (0, 1))) == 1  # no votes of it are kept out of bag
        if self.method == "plus" and self.leave_out_ is None and not one_class:
            raise ValueError("method is 'plus', and there are no models without some rows")
        self._sort_scores()


def _model_of(document: Document, tensors: Tensors) -> Any:
    name = field(document, "class", str)
    kind = resolve_name(COMMITTEES[name]) if name in COMMITTEES else learner_class(name, tensors.depth)
    return kind.from_document(document, tensors)
