"""Candidates of a committee of ensembles, the parameter `candidates`, and fits of users' estimators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from committee.data.matrices import is_out_of_core
from committee.data.number_types import F64, Index
from committee.data.rows import GivenRows, Rows, TargetRows, counts_rows, given_table
from committee.data.text import quoted, suggest_names, warn_user
from committee.learners.base.estimator import CommitteeEstimator, fit_weighted, seeded, weight_argument
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Identity
from committee.vote.links.probability import Share
from committee.vote.members import reads_tables, refuse_second_layer
from committee.voters.estimators import EstimatorVoters, RegressorVoters

Effort = Literal["fast", "default", "best"]

EFFORT = "default"
"""Entry that stands for the candidates of `effort`."""
SECOND_LAYER = "second_layer"
VOTES = 200.0
"""Number of votes that an estimator's probabilities count as."""
_TOLERANCE = 1e-3
"""Largest accepted distance of a sum of probabilities to 1."""
_SET_BY_COMMITTEE = ("categorical_features", "calibrate", "n_jobs")


@dataclass(frozen=True)
class Candidate:
    name: str
    learner: type[Any]
    parameters: dict[str, Any] = field(default_factory=dict)
    out_of_bag: bool = False
    """Whether it is fitted once, with out-of-bag predictions."""
    lines: bool = False
    """Whether it is a candidate because of its linear leaves, which need dense rows."""
    moved: bool = False
    """Whether it predicts means, and is shifted by the best constant on held-out rows."""
    n_fits: int | None = None
    """Number of folds on which it is fitted; None: all."""
    max_rows: int | None = None
    """Most training rows of a fit on a fold; None: all."""
    seconds: float | None = None
    """Seconds after which a fit takes no further round or voter."""
    estimator: Any = None
    """Estimator of another library, which is trained in place of a `learner`."""

    @property
    def settings(self) -> dict[str, Any]:
        return {} if self.estimator is not None else dict(self.learner(**self.parameters).get_params(deep=False))


@dataclass(frozen=True)
class LeftOut:
    name: str
    reason: str
    loss: float = float("nan")
    seconds: float = float("nan")
    failed: bool = field(default=False, repr=False)


# --- entries ----------------------------------------------------------------------------------------------------------


def named_estimators(candidates: Any) -> list[tuple[str, Any]]:
    entries = candidates if isinstance(candidates, list | tuple) else []
    entries = [one for one in entries if hasattr(_estimator(one), "get_params")]
    if not entries:
        return []
    from sklearn.pipeline import _name_estimators  # predictions of a model need no pipeline

    last_steps = [_last_step(one) for one in entries if not _is_pair(one)]
    names = iter([name for name, _ in _name_estimators(last_steps)])
    return [(one[0] if _is_pair(one) else next(names), _estimator(one)) for one in entries]


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)


def _estimator(entry: Any) -> Any:
    return entry[1] if _is_pair(entry) else entry


def _last_step(estimator: Any) -> Any:
    from sklearn.pipeline import Pipeline

    return _last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) and estimator.steps else estimator


def check_candidates(candidates: Any, known: Sequence[str], reserved: Sequence[str], *, numbers: bool) -> None:
    if not candidates:
        raise ValueError("candidates is empty; give at least one, such as 'default', or None.")
    names: list[str] = []
    for number, entry in enumerate(candidates):
        if not isinstance(entry, str):
            _check_estimator(f"candidates[{number}]={_estimator(entry)!r}", _estimator(entry), numbers=numbers)
        elif entry == EFFORT or entry in known:
            names.append(entry)
        else:
            raise ValueError(f"candidates has {entry!r}; {suggest_names(entry, [EFFORT, *known])}")
    for name in (own := [name for name, _ in named_estimators(candidates)]):
        if name in reserved or name in (EFFORT, *known) or "__" in name or not name:
            raise ValueError(
                f"candidates has an estimator with the name {name!r}, which is that of a parameter or candidate, empty "
                "or with '__' in it; give another one, as (name, estimator)."
            )
    if twice := [name for name in (*names, *own) if (*names, *own).count(name) > 1]:
        raise ValueError(f"candidates has {twice[0]!r} twice; give each one once, and estimators different names.")


def _check_estimator(shown: str, estimator: Any, *, numbers: bool) -> None:
    kind = "regressor" if numbers else "classifier"
    if isinstance(estimator, type) or not (hasattr(estimator, "get_params") and hasattr(estimator, "fit")):
        raise ValueError(
            f"{shown} is no {kind} with fit and get_params as scikit-learn's; give such an object, a pair of a name "
            "and one, or the name of a candidate of the library."
        )
    of_other_kind = is_classifier if numbers else is_regressor
    if (hasattr(estimator, "__sklearn_tags__") and of_other_kind(estimator)) or not hasattr(estimator, "predict"):
        raise ValueError(f"{shown} is not a {kind}, and the members vote for {'numbers' if numbers else 'classes'}.")
    if not numbers and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{shown} has no predict_proba, and the vote is one of probabilities; give it within sklearn.calibration's "
            "CalibratedClassifierCV(..., ensemble=False)."
        )


def _candidate(name: str, estimator: Any) -> Candidate:
    declared = estimator.declared_parameters if isinstance(estimator, CommitteeEstimator) else {}
    if not {"categorical_features", "random_state"} <= declared.keys():
        return Candidate(name, object, estimator=estimator)
    given = estimator.get_params(deep=False)
    changed = [key for key, value in given.items() if repr(value) != repr(declared[key].default)]
    settings = {key: given[key] for key in changed if key not in _SET_BY_COMMITTEE}
    return Candidate(name, type(estimator), settings)


# --- fits -------------------------------------------------------------------------------------------------------------


def train_estimator(
    candidate: Candidate,
    rows: Rows | TargetRows,
    given: GivenRows,
    index: Index,
    weights: F64,
    seed: int,
    n_jobs: int | None,
) -> Committee | RegressionCommittee:
    """Train a user's estimator on the rows `index` of the user's table, and return the committee of it alone."""
    model = seeded(clone(candidate.estimator), seed)
    if n_jobs is not None:
        params = model.get_params().items()
        threads = [name for name, value in params if value is None and name.rpartition("__")[2] == "n_jobs"]
        model.set_params(**dict.fromkeys(threads, n_jobs))
    equal = bool((weights == weights[0]).all())
    if not equal and weight_argument(model) is None:
        index, equal = np.repeat(index, weights.astype(np.intp)), True  # whole weights are repeated rows
    y = rows.labels[index].astype(np.int64) if isinstance(rows, Rows) else rows.target[index]
    try:
        model = fit_weighted(model, given[index].table, y, None if equal else weights)
        if isinstance(rows, TargetRows):
            voters = RegressorVoters([model], np.zeros(1, dtype=np.intp), np.ones(1), 1, 1)
            return RegressionCommittee(voters, np.ones(1), Identity())
        classes = np.arange(int(rows.labels.max()) + 1)
        return Committee(EstimatorVoters([model], classes, soft=True), np.full(1, VOTES), classes, Share())
    except Exception as error:
        raise _failure("fit", error) from error


def predict_estimator(committee: Committee | RegressionCommittee, given: GivenRows) -> F64:
    """Evidence of the classes ``(n, K)``, or numbers ``(n, 1)``, that a user's estimator predicts."""
    try:
        if isinstance(committee, RegressionCommittee):
            return np.asarray(committee.predict(given.table), dtype=np.float64).reshape(-1, 1)
        votes = committee.voters.tally(given.table, committee.weights)
        if not (np.isfinite(votes).all() and (votes >= 0.0).all()):
            raise ValueError("predict_proba has numbers that are no probabilities")
        if (worst := float(np.abs(votes.sum(axis=1) / VOTES - 1.0).max())) > _TOLERANCE:
            raise ValueError(f"rows of predict_proba differ from a sum of 1 by up to {worst:.2g}")
        return committee.link.evidence(votes, committee.total_weight)
    except Exception as error:
        raise _failure("prediction", error) from error


def _failure(what: str, error: Exception) -> RuntimeError:
    first_line = next(iter(str(error).splitlines()), "")
    return RuntimeError(f"its {what} raised {type(error).__name__}{f': {first_line}' if first_line else ''}")


# --- the parameter ----------------------------------------------------------------------------------------------------


class CandidateChoice(CommitteeEstimator):
    candidates: Any
    effort: Effort
    _numbers: ClassVar[bool] = False

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get parameters, as scikit-learn's; with those of estimators among `candidates`, by their names."""
        params = super().get_params(deep)
        if deep:
            for name, estimator in named_estimators(self.candidates):
                params[name] = estimator
                params |= {f"{name}__{key}": value for key, value in estimator.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn's; ``name=estimator`` replaces the estimator of that name in `candidates`."""
        if "candidates" in params:
            self.candidates = params.pop("candidates")
        if replaced := dict(named_estimators(self.candidates)).keys() & params.keys():
            named = iter(named_estimators(self.candidates))
            names = [None if isinstance(one, str) else next(named)[0] for one in self.candidates]
            self.candidates = [
                (name, params.pop(name)) if name in replaced else one
                for name, one in zip(names, self.candidates, strict=True)
            ]
        return super().set_params(**params)

    @abstractmethod
    def _of_library(self, n: float = 0.0, n_scores: int = 1, *, every: bool = False) -> list[Candidate]:
        """Candidates of the effort for n rows and `n_scores` classes, or `every` one of the library."""

    def _wanted(self, n: float = 0.0, n_scores: int = 1) -> list[Candidate]:
        of_effort = self._of_library(n, n_scores)
        if self.candidates is None:
            return of_effort
        known = {one.name: one for one in self._of_library(n, n_scores, every=True)}
        check_candidates(self.candidates, list(known), list(self.declared_parameters), numbers=self._numbers)
        estimators, wanted = iter(named_estimators(self.candidates)), list[Candidate]()
        for entry in self.candidates:
            if not isinstance(entry, str):
                wanted.append(_candidate(*next(estimators)))
            elif entry == EFFORT:
                wanted += [one for one in of_effort if one.name not in self.candidates]
            else:
                wanted.append(known[entry])
        return wanted

    @property
    def _has_foreign(self) -> bool:
        return bool(named_estimators(self.candidates)) and any(one.estimator is not None for one in self._wanted())

    def _check_foreign(self, table: Any, rows: Any) -> None:
        if not self._has_foreign:
            return
        if is_out_of_core(table):
            raise ValueError(
                "candidates has estimators of other libraries, which need all rows at once, and X is read in pieces; "
                "give rows in memory, or only candidates of this library."
            )
        foreign = [one for one in self._wanted() if one.estimator is not None]
        for one in [] if counts_rows(rows.weights) else foreign:
            if weight_argument(one.estimator) is None:
                raise ValueError(
                    f"candidates has {one.name!r}, {one.estimator!r}, whose fit takes no sample_weight, and the rows "
                    "have weights, of rows or classes, that are no small whole numbers. Leave out the candidate "
                    "or the weights."
                )
        warn_user(
            f"candidates has {quoted(one.name for one in foreign)}, of other libraries: model.save refuses a committee "
            "with such members. Keep it by joblib.dump or skops.io.dump, which hold all, or leave them out."
        )

    def _no_checkpoint(self, X: Any) -> str | None:
        if self._has_foreign:
            return "candidates has estimators that are trained by code that is not the library's, and cannot be kept"
        return super()._no_checkpoint(X)

    def _given(self, table: Any, numbers: Index, cells: Any) -> GivenRows:
        whole = given_table(table, getattr(self.table_, "left_out", ()))
        some = whole if _num_samples(whole) == len(cells) else _safe_indexing(whole, numbers)
        return GivenRows(some, cells)

    def _refuse_foreign(self: Any, error: type[Exception], what: str, otherwise: str = "") -> None:
        members = getattr(self, "member_names_", [])  # one class has none
        if foreign := [name for name in members if reads_tables(self.member(name).voters.members[0])]:
            names = ", ".join(map(repr, foreign))
            remedy = f"Use model.without({names}), the vote of the other members{otherwise}."
            if len(foreign) == len(members):
                remedy = f"Train one with candidates of committee, such as 'default'{otherwise}."
            raise error(f"{what}, and {names} {'is' if len(foreign) == 1 else 'are'} of another library. {remedy}")

    def _refuse_other_members(self: Any, error: type[Exception], what: str) -> None:
        """Refuse members of other libraries, and a second layer."""
        self._refuse_foreign(error, what)
        refuse_second_layer(self.committee_.voters, what, error)

    def _for_file(self) -> Self:
        self._refuse_foreign(
            TypeError,
            "a model file holds members of committee's own classes alone, so that loading it never runs anyone's code",
            ", or use skops.io.dump or joblib.dump, which hold all",
        )
        model = super()._for_file()
        if self.candidates is None or all(isinstance(one, str) for one in self.candidates):
            return model
        model = copy(model)
        model.candidates = [one for one in self.candidates if isinstance(one, str)] or None
        return model
