"""New weights for the voters of a trained ensemble, by an objective of its margins."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from committee.data.columns import take_named, warn_of_other_order
from committee.data.number_types import F64
from committee.data.parallel import n_threads, one_blas_thread
from committee.data.text import warn_user
from committee.data.typed_json import read_named_parameters
from committee.learners.base import shared_parameters as shared
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.reweighting.leaf_reweighter import LeafReweighter, Limits, prune_leaves
from committee.learners.reweighting.pruning_metrics import check_max_loss, classification_metric, metric_name
from committee.learners.reweighting.pruning_paths import (
    PrunedVote,
    PruningPath,
    evaluate_path,
    pruning_path,
    reweighted,
)
from committee.learners.reweighting.unseen_rows import refuse_few_oob_trees
from committee.learners.trained_ensembles.out_of_bag import checked_out_of_bag_mask, refuse_weighted_draws
from committee.learners.trained_ensembles.trained_ensemble import (
    RowsGiven,
    TrainedEnsembleClassifier,
    refuse_missing,
    trained_committee,
)
from committee.objectives.margins.margin_costs import Form
from committee.objectives.margins.named_objectives import OBJECTIVES, objective_of
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.committee import Committee
from committee.vote.signed_votes import SignedVotes

_STORED: dict[str, type] = {  # fitted attributes in a model file
    "objective_": dict,
    "voters_": np.ndarray,
    "value_": float,
    "value_before_": float,
    "gap_": float,
    "status_": str,
    "n_rows_used_": int,
    "n_rounds_": int,
}


@with_parameters
class MarginReweighter(TrainedEnsembleClassifier):
    """New weights for the voters of a trained ensemble, by an objective of its margins.

    The voters' votes on the rows of `fit` form a matrix, on which the objective's program is solved. The method `prune`
    drops voters. The ensemble is neither trained nor changed, and `clone` does not copy it.

    Attributes
    ----------
    committee_ : Committee
        The voters whose weight is not 0. The sum of absolute weights times spread and the intercept are the ensemble's,
        so that scores keep their scale. (The free form of the variance, where weights may cancel, has a smaller
        intercept.) The link is the ensemble's, or `Softmax` in place of `Share` where weights are negative.
    weights_, own_weights_ : float64 array (T,)
        New weights, and the ensemble's own, times the voters' spread (the largest lead that a vote can give a class).
        Each array sums to one if no weight is negative. After `prune` both are those of the voters that stay.
    voters_ : intp array
        Numbers of the voters of ``committee_`` in the ensemble; after `prune`, in that of the model that was pruned.
    objective_ : Objective
        The objective with its options.
    value_, value_before_ : float
        Value of the objective at the new and at the own weights.
    gap_ : float
        Bound on the distance of `value_` to the optimum; NaN if none is proved.
    status_, n_rounds_, n_rows_used_ : str, int, int
        The solver's status, the number of programs that it solved, and the number of lines in the last one; a row has a
        line for each wrong class.
    pruning_path_ : PruningPath
        Path of `prune`, in the model that it returns.
    lost_, lost_error_ : float
        After `committee.prune` with `max_loss`: cross-validated loss increase against the whole ensemble on rows that
        the voters have not seen, and its standard error.

    References
    ----------
    W. Martinez, J. B. Gray, On the current state of research in explaining ensemble performance using margins.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import MarginReweighter
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(100, random_state=0).fit(X[::2], y[::2])
    >>> smaller = MarginReweighter(forest, on="oob").fit(X[::2], y[::2])
    >>> smaller.committee_.n_voters < 100, smaller.value_ > smaller.value_before_
    (True, True)
    >>> smaller.prune(max_voters=10).committee_.n_voters <= 10
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (*_STORED, "lost_", "lost_error_")
    _not_pickled: ClassVar[tuple[str, ...]] = ("_lines",)

    voters_: NDArray[np.intp] = fitted()
    weights_: F64 = fitted()
    own_weights_: F64 = fitted()
    objective_: Objective = fitted()
    pruning_path_: PruningPath = fitted()
    lost_: float = fitted()
    lost_error_: float = fitted()

    objective: str | Objective = parameter(
        "soft_margin",
        """One of `OBJECTIVES`: "uniform", "rank", "percentile" (in these three no margin decreases by more than
        `slack`), "range", "variance", "min_margin", "soft_margin", "mincq", "doom", "tandem" (an error bound, for rows
        that voters have not seen). Or an `Objective`, for options without a parameter here.""",
        "no_validation",
        type_words="str or Objective",
    )
    _: KW_ONLY
    on: RowsGiven = parameter(
        "train",
        """Rows that `fit` is given. "train": the training rows, whose margins the voters themselves have made large.
        "oob": the training rows with the votes of each row's T_i out-of-bag voters, times T / T_i. "validation": rows
        that the ensemble has not seen.""",
    )
    slack: float = parameter(0.0, """Largest decrease of each margin; for "uniform", "rank" and "percentile".""", Real)
    xi: float | None = parameter(None, """Share of rows; for "percentile" (0.2 if None) and "range" (0.05).""", Real)
    k: float | None = parameter(None, """Power, for "rank" (5 if None).""", Real)
    nu: float | None = parameter(None, """Share of rows, for "soft_margin" (0.5 if None).""", Real)
    form: Form | None = parameter(None, """Form of "variance" ("simplex" if None).""")
    target: float | None = parameter(None, """Target of the margins, for "variance" (their mean if None).""", Real)
    coverage: float | None = parameter(
        None, """Share of rows, for the forms "lts" and "lms" of "variance" (0.5 if None).""", Real
    )
    mu: float | None = parameter(None, """First moment, for "mincq" (that of the own weights if None).""", Real)
    steepness: float | None = parameter(None, """Steepness of the sigmoid, for "doom" (5 if None).""", Real)
    n_jobs: int | None = shared.n_jobs("Threads that walk the voters")

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        self._validate_params()
        named = {"y": y, "sample_weight": sample_weight}
        X, y, sample_weight = take_named(X, **named)
        objective = self._objective()
        if self.on == "train" and objective.on_unseen_rows:
            raise ValueError(
                f"objective={objective.name!r} needs rows that the voters have not seen, and with on='train' they were "
                "trained on these; use on='oob' or on='validation'."
            )
        ensemble = self.trained
        committee = trained_committee(ensemble)
        if committee.n_voters < 2:
            raise ValueError(f"ensemble has {committee.n_voters} of the 2 voters that re-weighting needs; train more.")
        refuse_missing(ensemble, committee, X)
        warn_of_other_order(X, y=y, sample_weight=sample_weight)
        votes = SignedVotes.of(committee, X, y, n_threads=n_threads(self.n_jobs))
        weight = self._weights(y, sample_weight)
        unseen = None
        if self.on == "oob":
            unseen = checked_out_of_bag_mask(ensemble, committee, X, y, sample_weight, votes)
        lines = MarginMatrix.of(votes, weight, unseen)
        with one_blas_thread():  # the number of threads would change the last bits of sums over rows
            solved = objective.solve(lines)
        new = solved.weights * lines.sign
        voters = np.flatnonzero(new)
        weighed = reweighted(committee, voters, new[voters])
        with self._as_before_if_it_fails():
            for name in ("pruning_path_", "lost_", "lost_error_"):
                self.__dict__.pop(name, None)
            self._remember_named(named)
            table = self._take_columns(ensemble, committee, X)
            committee, weighed = replace(committee, table=table), replace(weighed, table=table)
            self.objective_, self.classes_ = objective, committee.classes
            self.committee_, self.voters_ = weighed, voters
            self.weights_, self.own_weights_ = new, votes.weights
            self.value_: float = solved.value
            self.value_before_: float = solved.before
            self.gap_: float = solved.gap
            self.status_: str = solved.status
            self.n_rows_used_: int = solved.n_rows_used
            self.n_rounds_: int = solved.rounds
            self._all, self._lines = committee, lines
        return self

    def _objective(self) -> Objective:
        names = ("xi", "k", "nu", "form", "target", "coverage", "mu", "steepness")
        return objective_of(
            self.objective, {**{name: getattr(self, name) for name in names}, "slack": self.slack or None}
        )

    def prune(
        self,
        max_voters: int | None = None,
        min_gain: float | None = None,
        *,
        level: Literal["voter", "leaf", "subtree", "depth", "tree"] = "voter",
        max_nodes: float | None = None,
        resolve: bool = False,
        X: Any = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> MarginReweighter | LeafReweighter:
        """Return a smaller classifier: voters are dropped, those of least weight first.

        A path of committees goes from all voters of nonzero weight to one, each step keeping the four fifths of
        greatest weight; the limits choose one of them. ``pruning_path_`` has the table.

        Parameters
        ----------
        max_voters : int, default=None
            Most voters that stay; None: no limit.
        min_gain : float, default=None
            Decrease of accuracy that is too large: of the committees within the limits the smallest is chosen whose
            accuracy is less than `min_gain` below the best. None: the largest is.
        level : {"voter", "leaf", "subtree", "depth", "tree"}, default="voter"
            Part that is dropped. All but "voter" return a `LeafReweighter`, see `committee.prune`; they take
            `max_nodes` (a tenth if None) and `min_gain`, and need `X` and `y`, rows as `on` describes them.
        max_nodes : float or int, default=None
            Most tree nodes: a share (0, 1] of the ensemble's, or a whole number; at least one voter stays.
        resolve : bool, default=False
            Solve the objective again after each step, which takes many times as long. False: weights stay in
            proportion. For small committees, resolving is better with "mincq" and worse with "soft_margin".
        X, y, sample_weight : optional
            Rows on which the path is solved and evaluated, such as held-out ones; None: those of `fit`.

        Returns
        -------
        MarginReweighter or LeafReweighter
            Fitted. The `ensemble` of a `MarginReweighter` is its own small committee, that of a `LeafReweighter` is
            this object, which is not changed.

        Raises
        ------
        NotFittedError
            If this object is not fitted.
        ValueError
            If a limit is out of range, only one of `X` and `y` is given, or none is and the votes of `fit` are lost, as
            they are after pickling.
        """
        check_is_fitted(self, "committee_")
        prune_level = level_function(level)
        limits = Limits(max_nodes, max_voters, min_gain)
        if level != "voter":
            weight = None if y is None else self.fit_weights(y, sample_weight)
            options = {"on": self.on, "objective": self.objective, "n_jobs": self.n_jobs}
            smaller: MarginReweighter | LeafReweighter = prune_level(self, limits, X, y, weight, **options)
            if isinstance(smaller, LeafReweighter):
                smaller.ensemble = self
            return smaller
        if (X is None) != (y is None):
            raise ValueError("X and y go together; one of them is missing.")
        lines: MarginMatrix | None = getattr(self, "_lines", None)
        if X is not None and y is not None:
            votes = SignedVotes.of(self._all, X, y, n_threads=n_threads(self.n_jobs))
            lines = MarginMatrix.of(votes, self._weights(y, sample_weight))
        if lines is None:
            raise ValueError("The votes of fit are not kept in a file or pickle; give X and y to prune, or fit again.")
        again = self.objective_ if resolve else None
        path = pruning_path(self._all, lines, self.weights_ * lines.sign, objective=again)
        return self._at_step(path, path.steps[path.chosen(max_voters, min_gain, max_nodes)], lines)

    def within_loss(self, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Return a copy with the fewest voters within `max_loss` on the rows of `fit`, or all voters with a warning."""
        committee, lines, threads = self._all, self._lines, n_threads(self.n_jobs)
        assert lines is not None and limits.max_loss is not None
        named = limits.metric or "accuracy"
        metric = classification_metric(named, committee.classes)
        labels = committee.class_indices(y)
        weight = self._weights(y, sample_weight)
        counts = np.ones(len(labels), dtype=bool) if weight is None else weight > 0.0
        if self.on == "oob":
            refuse_weighted_draws(self.trained)
            unseen = checked_out_of_bag_mask(self.trained, committee, X, y, sample_weight)
            refuse_few_oob_trees(unseen[counts], limits.max_loss)
            counts &= unseen.any(axis=1)
        data = _safe_indexing(committee.encode(X), np.flatnonzero(counts))
        path = pruning_path(committee, lines, self.weights_ * lines.sign)
        path = evaluate_path(path, committee, lines, data, labels[counts], metric, self.objective_, threads)
        path = replace(path, metric=metric_name(named), max_loss=limits.max_loss)
        chosen = path.within(limits.max_loss, limits.max_voters, limits.max_nodes)
        if chosen is None:
            first = path.steps[path.chosen(limits.max_voters, None, limits.max_nodes)]
            warn_user(
                f"with {len(first.voters)} of {committee.n_voters} voters the loss by metric={path.metric!r} rises by "
                f"{first.lost:.2g} ± {first.lost_error:.1g} on rows that they have not seen, which may be more than "
                f"max_loss={limits.max_loss:g}, so that the ensemble is kept whole; raise max_loss or the limits, or "
                "give more rows.",
            )
            whole = self._at_step(path, path.before, lines)
            whole.ensemble = whole._all = whole.committee_ = committee
            whole.lost_ = whole.lost_error_ = 0.0
            return whole
        small = self._at_step(path, path.steps[chosen], lines)
        small.lost_, small.lost_error_ = float(path.lost()[chosen]), path.steps[chosen].lost_error
        return small

    def _at_step(self, path: PruningPath, step: PrunedVote, lines: MarginMatrix) -> Self:
        weights = step.weights * lines.sign[step.voters]
        every = np.zeros(len(self.weights_))
        every[step.voters] = step.weights
        pruned = copy.copy(self)
        pruned.ensemble = pruned._all = pruned.committee_ = reweighted(self._all, step.voters, weights)
        pruned.voters_, pruned.pruning_path_ = step.voters, path
        pruned.weights_ = pruned.own_weights_ = weights
        pruned.value_, pruned.gap_ = self.objective_.value(lines, every), float("nan")
        pruned.value_before_ = self.objective_.value(lines, lines.own)
        pruned._lines = lines.select(step.voters, np.abs(step.weights) / np.abs(step.weights).sum())
        return pruned

    def margins(self, X: Any, y: ArrayLike) -> F64:
        """Return the normalised margin of every row, ``(n,)``; see `Committee.margins`."""
        check_is_fitted(self)
        return self.committee_.margins(self.validate_rows(X), y, n_threads=n_threads(self.n_jobs))

    # --- model files ---------------------------------------------------------------------------------------------

    def _for_file(self) -> Self:
        stored = copy.copy(self)
        stored.objective_ = _stored_objective("objective_", self.objective_)
        if isinstance(self.objective, Objective):
            stored.objective = _stored_objective("objective", self.objective)
        return stored

    def _from_file(self) -> None:
        committee: Committee = self.committee_
        for name, kind in _STORED.items():
            if not isinstance(getattr(self, name, None), kind):
                raise ValueError(f"{name} is {getattr(self, name, 'absent')!r}, which is not what fit sets")
        if isinstance(self.objective, dict):
            self.objective = read_named_parameters(self.objective, OBJECTIVES, "objective")
        self._objective()
        self.objective_ = read_named_parameters(self.objective_, OBJECTIVES, "objective")
        if self.voters_.ndim != 1 or self.voters_.dtype.kind != "i" or (self.voters_ < 0).any():
            raise ValueError("voters_ are not numbers of voters")
        weights = committee.weights * committee.voters.spread
        if not np.abs(weights).sum() > 0.0:
            raise ValueError("no voter has any weight")
        self.weights_ = self.own_weights_ = weights / np.abs(weights).sum()
        self.ensemble = self._all = committee


def _stored_objective(name: str, objective: Objective) -> Any:
    if type(objective) not in OBJECTIVES.values():
        raise TypeError(
            f"{name} is a {type(objective).__module__}.{type(objective).__qualname__}, and a model file holds only "
            f"committee's own objectives ({', '.join(OBJECTIVES)}). Use skops.io.dump or joblib.dump for this model."
        )
    return objective.to_json()


# --- levels of pruning -----------------------------------------------------------------------------------------------


def prune_voters(
    ensemble: Any,
    limits: Limits,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    on: RowsGiven,
    objective: Any,
    n_jobs: int | None,
) -> MarginReweighter | LeafReweighter:
    if limits.max_loss is not None:
        check_max_loss(limits.max_loss, limits.min_gain, on)
    model = MarginReweighter(ensemble, objective, on=on, n_jobs=n_jobs).fit(X, y, sample_weight)
    if limits.max_loss is not None:
        return model.within_loss(limits, X, y, sample_weight)
    return model.prune(limits.max_voters, limits.min_gain, max_nodes=limits.max_nodes)


LEVELS: dict[str, Callable[..., Any]] = {  # functions that prune an ensemble
    "leaf": prune_leaves,
    "subtree": partial(prune_leaves, growth=(2.0, 4.0, 8.0)),
    "depth": partial(prune_leaves, growth=(2.0, 4.0, 8.0, 16.0), cut="depth"),
    "tree": partial(prune_leaves, growth=1.0),
    "voter": prune_voters,
}


def level_function(name: str) -> Callable[..., Any]:
    if name not in LEVELS:
        raise ValueError(f"level={name!r} is unknown; choose {', '.join(map(repr, LEVELS))}.")
    return LEVELS[name]
