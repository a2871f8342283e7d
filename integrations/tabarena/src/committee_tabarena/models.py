"""AutoGluon's model classes for committee's learners, as TabArena runs them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from autogluon.core.constants import REGRESSION
from autogluon.core.models import AbstractModel
from autogluon.core.utils.utils import normalize_pred_probas

from committee_tabarena.answers import in_all_classes, of_rows_not_seen
from committee_tabarena.asked import Asked, committee_of, gradient_boosting_of, held_out, refit, sbpmt_of

RAW_TYPES = ["bool", "int", "float", "category"]
"""Kinds of columns that go to the learners as they are; text and dates are for the runner to turn into these."""
OVERHEAD = 300_000_000
"""Bytes of a process that has imported what a fit needs."""


class LearnerModel(AbstractModel):  # type: ignore[misc]
    """Base of the models: frames with categories and missing values go to the learner as they are."""

    seed_name = "random_state"
    _supported_problem_types: ClassVar[list[str]] = ["binary", "multiclass", REGRESSION]
    _default_auxiliary_params_extra: ClassVar[dict[str, Any]] = {"valid_raw_types": RAW_TYPES}
    learner_of: Callable[[Asked], Any]
    """Makes the learner, unfitted."""
    copies_of_table: ClassVar[float] = 6.0
    """Memory of a fit, in tables of doubles."""
    knows_unseen: ClassVar[bool] = False
    """A fit on all rows can say of each what parts say that have not seen it."""

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        X_val: pd.DataFrame | None = None,
        y_val: pd.Series | None = None,
        time_limit: float | None = None,
        sample_weight: Any = None,
        num_cpus: int = 1,
        **kwargs: Any,
    ) -> None:
        begun = time.monotonic()
        X = self.preprocess(X, y=y)
        X_val = None if X_val is None else self.preprocess(X_val)
        left = None if time_limit is None else time_limit - (time.monotonic() - begun)
        asked = Asked(
            self._get_model_params(),
            num_cpus,
            left,
            validated=X_val is not None,
            numbers=self.problem_type == REGRESSION,
        )
        learner = self.learner_of(asked)
        self.model = learner.fit(X, y, sample_weight=sample_weight, **held_out(learner, X_val, y_val))
        self.params_trained.update(refit(self.model))

    def _predict_proba(self, X: pd.DataFrame, **kwargs: Any) -> Any:
        X = self.preprocess(X, **kwargs)
        return self._answers(self.model.predict(X) if self.problem_type == REGRESSION else self.model.predict_proba(X))

    def predict_proba_oof(self, X: pd.DataFrame, normalize: bool | None = None, **kwargs: Any) -> Any:
        """Return what the fit says of its own training rows without having seen them."""
        answers = self._answers(of_rows_not_seen(self.model))
        if self.normalize_pred_probas if normalize is None else normalize:
            answers = normalize_pred_probas(answers, self.problem_type)
        return answers.astype(np.float32)

    def _answers(self, answers: Any) -> Any:
        if self.problem_type == REGRESSION:
            return answers
        return self._convert_proba_to_unified_form(in_all_classes(answers, self.model.classes_, self.num_classes))

    def _get_maximum_resources(self) -> dict[str, float]:
        return {"num_gpus": 0}

    def _more_tags(self) -> dict[str, bool]:
        return {"can_refit_full": True, "valid_oof": self.knows_unseen}

    @classmethod
    def _estimate_memory_usage_static(cls, *, X: pd.DataFrame, num_classes: int | None = 1, **kwargs: Any) -> int:
        n, p = X.shape
        answers = 8 * n * max(1, num_classes or 1) * 8
        return int(OVERHEAD + 8 * n * p * cls.copies_of_table + answers)

    @classmethod
    def warmup(cls, **kwargs: Any) -> None:
        """Import what a fit needs; the kernels are compiled already."""
        import committee

        for name in ("CommitteeClassifier", "GradientBoostingRegressor", "SBPMTClassifier"):
            getattr(committee, name)


class CommitteeModel(LearnerModel):
    """The zero-tuning committee of ensembles, of classes or numbers."""

    ag_key = "COMMITTEE"
    ag_name = "Committee"
    learner_of = staticmethod(committee_of)
    copies_of_table: ClassVar[float] = 12.0
    knows_unseen: ClassVar[bool] = True


class CommitteeOnceModel(CommitteeModel):
    """The committee trained once on all rows where others are bagged: it says of rows not seen what a bag would."""

    ag_key = "COMMITTEE_ONCE"
    ag_name = "CommitteeOnce"
    _default_ag_args_ensemble_extra: ClassVar[dict[str, Any]] = {"use_child_oof": True}


class CommitteeBoostingModel(LearnerModel):
    """Gradient boosting, of classes or numbers."""

    ag_key = "COMMITTEE_GB"
    ag_name = "CommitteeBoosting"
    learner_of = staticmethod(gradient_boosting_of)


class SBPMTModel(LearnerModel):
    """SBPMT, of classes alone; AutoGluon leaves it out where numbers are to be predicted."""

    ag_key = "SBPMT"
    ag_name = "SBPMT"
    _supported_problem_types: ClassVar[list[str]] = ["binary", "multiclass"]
    learner_of = staticmethod(sbpmt_of)
    knows_unseen: ClassVar[bool] = True
