"""The file of a conformal learner: the model inside, the scores, and what answers without some rows."""

from __future__ import annotations

from copy import copy
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from committee.data.array_checks import check_array, check_range
from committee.data.number_types import Mask
from committee.data.typed_json import field
from committee.learners.base.stored_learner import (
    StoredLearner,
    describe_attributes,
    describe_unfitted,
    rebuild_unfitted,
)
from committee.learners.conformal.leave_out import FoldModels, LeaveOut, UnseenVotes
from committee.learners.conformal.unseen_answers import answer, as_committee

if TYPE_CHECKING:
    from committee.files.tensors import Document, Tensors

SOURCES = ("out of bag", "out of fold", "held out")


class StoredConformal(StoredLearner):
    """Writing and reading of conformal learners, and what they keep to answer without some rows."""

    fold_models_: list[Any]
    known_: Any

    def _keep_leave_out(self, leave_out: LeaveOut | None, scored: Mask) -> None:
        """Keep what answers without each of the scored rows, out of all, in the form that a file holds."""
        if isinstance(leave_out, FoldModels):
            self.fold_models_ = list(leave_out.models)
            self.fold_of_rows_ = np.full(len(scored), -1)
            self.fold_of_rows_[scored] = leave_out.fold
        elif isinstance(leave_out, UnseenVotes):
            unseen = np.zeros((len(scored), leave_out.unseen.shape[1]), dtype=bool)
            unseen[scored] = leave_out.unseen
            self.unseen_ = np.packbits(unseen, axis=1)

    @property
    def leave_out_(self) -> LeaveOut | None:
        """What answers without each of the scored rows; None where ``method="base"``."""
        if hasattr(self, "fold_models_"):
            return FoldModels(self.fold_models_, self.fold_of_rows_, answer)
        if hasattr(self, "unseen_"):
            n_voters = self.committee_.n_voters
            return UnseenVotes(self.committee_, np.unpackbits(self.unseen_, axis=1, count=n_voters).astype(bool))
        return None

    def to_document(self, tensors: Tensors) -> Document:
        """As `StoredLearner.to_document`; the estimator is in the file as it was trained."""
        from committee.files.kinds import describe_model

        if not hasattr(self, "known_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit before it is saved.")
        inside = self.committee_
        if hasattr(self.estimator_, "to_document"):
            inside = copy(self.estimator_)
            if isinstance(inside, StoredLearner):
                inside.table_ = self.table_  # which commands tell how files were written
        document = {
            **describe_unfitted(self, left_out=self.trained_parameters),
            "trained_before": self._trained is not None,
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
        """As `StoredLearner.from_document`."""
        model: Any = rebuild_unfitted(document, tensors.depth)
        model._validate_params()
        inside = _model_of(field(document, "model", dict), tensors.member(0))
        frozen = field(document, "trained_before", bool)
        if hasattr(inside, "fit"):
            model.estimator = FrozenEstimator(inside) if frozen else clone(inside)
        else:
            model.estimator = inside  # a committee
        model._take_model(inside)
        if "difficulty" in document:
            model.difficulty_ = _model_of(field(document, "difficulty", dict), tensors.member(1))
        if "folds" in document:
            models = field(document, "folds", list)
            if not all(isinstance(one, dict) for one in models):
                raise ValueError("folds hold what is no model")
            model.fold_models_ = [_model_of(one, tensors.member(k)) for k, one in enumerate(models, start=2)]
        model._read_attributes(document, tensors)
        model._from_file()
        rebuilt: Self = model
        return rebuilt

    def _take_model(self, model: Any) -> None:
        """Take over the model that answers, and what it knows of the columns."""
        if hasattr(model, "predict_proba") != hasattr(type(self), "predict_proba"):
            raise ValueError(f"the model is a {type(model).__name__}, which a {type(self).__name__} does not have")
        self.estimator_: Any = model
        self.committee_ = as_committee(model)
        known: Any = getattr(model, "table_", getattr(model, "table", None))
        self.table_ = known
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        if not hasattr(self, "n_features_in_") and (width := self.committee_.voters.n_features) is not None:
            self.n_features_in_ = width
        if hasattr(type(self), "predict_proba"):
            inside: Any = self.committee_
            self.classes_ = getattr(model, "classes_", inside.classes)

    def _ready(self) -> None:
        """Sort the scores."""
        raise NotImplementedError

    def _from_file(self) -> None:
        """Check what was read, and sort the scores."""
        held = vars(self)
        scores = field(held, "scores_", np.ndarray)
        check_array("scores_", scores, np.float64, (len(scores),))
        categories = field(held, "row_categories_", np.ndarray)
        check_array("row_categories_", categories, np.int64, (len(scores),))
        groups = field(held, "groups_", list, None)
        if groups == []:
            raise ValueError("groups_ is no list of groups")
        per_class = len(self.classes_) if getattr(self, "per_class", False) else 1
        check_range("row_categories_", categories, 0, (1 if groups is None else len(groups)) * per_class - 1)
        if "score_weights_" in held:
            check_array("score_weights_", held["score_weights_"], np.float64, (len(scores),))
            if not (np.isfinite(held["score_weights_"]) & (held["score_weights_"] >= 0.0)).all():
                raise ValueError("score_weights_ hold what is no weight")
            if not held["score_weights_"].any():
                raise ValueError("score_weights_ are all 0")
        if held.get("source_") not in SOURCES:
            raise ValueError(f"source_ is {held.get('source_')!r}; it must be one of {', '.join(SOURCES)}")
        if not 0.0 < field(held, "alpha_", float) < 1.0:
            raise ValueError(f"alpha_ is {held['alpha_']!r}; it must be above 0 and below 1")
        if "seed_" in held:
            field(held, "seed_", int)
        self._check_leave_out(len(scores))
        self._ready()

    def _check_leave_out(self, n: int) -> None:
        """Check what answers without some rows."""
        held = vars(self)
        if "fold_of_rows_" in held or "fold_models_" in held:
            models = field(held, "fold_models_", list)
            folds = field(held, "fold_of_rows_", np.ndarray)
            check_array("fold_of_rows_", folds, np.int64, (n,))
            check_range("fold_of_rows_", folds, -1, len(models) - 1)
        if "unseen_" in held:
            width = (self.committee_.n_voters + 7) // 8
            check_array("unseen_", field(held, "unseen_", np.ndarray), np.uint8, (n, width))
        if self.method == "plus" and self.leave_out_ is None:
            raise ValueError("method is 'plus', and nothing answers without some rows")


def _model_of(document: Document, tensors: Tensors) -> Any:
    """Return a learner or a committee that is a part of a model."""
    from committee.files.kinds import COMMITTEES, learner_class

    name = field(document, "class", str)
    kind = resolve_name(COMMITTEES[name]) if name in COMMITTEES else learner_class(name, tensors.depth)
    return kind.from_document(document, tensors)
