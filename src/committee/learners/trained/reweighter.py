"""An ensemble that is trained already, with weights that suit its margins, and as few voters as these need."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, replace
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64
from committee.data.parallel import n_threads, one_blas_thread
from committee.learners.base import shared_parameters as shared
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.trained.class_metric import class_metric
from committee.learners.trained.contract_metric import check_contract
from committee.learners.trained.few_trees import refuse_few
from committee.learners.trained.leaf_reweighter import LeafReweighter
from committee.learners.trained.pruning_levels import (
    DepthPruning,
    LeafPruning,
    Limits,
    PruningLevel,
    SubtreePruning,
    TreePruning,
)
from committee.learners.trained.reweighted import reweighted
from committee.learners.trained.score_metric import metric_name
from committee.learners.trained.stored_reweighter import StoredReweighter
from committee.learners.trained.trained_ensemble import (
    RowsGiven,
    refuse_missing,
    trained_committee,
)
from committee.learners.trained.unseen_rows import refuse_weighted_draws, unseen_in_fit
from committee.learners.trained.voter_contract import VoterContract, warn_that_none_is_within
from committee.learners.trained.voter_path import PrunedVote, PruningPath, pruning_path
from committee.objectives.margins.margin_variance import Form
from committee.objectives.margins.named_objectives import objective_of
from committee.objectives.margins.objective import Objective
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.vote.signed_votes import SignedVotes


@with_parameters
class MarginReweighter(StoredReweighter):
    """New weights for the voters of a trained ensemble, by an objective of its margins.

    The ensemble is frozen: it is neither trained nor changed, `clone` keeps it as it is, and its own parameters cannot
    be set through this object. Its voters' votes for the rows given to `fit` make one matrix, on which the objective's
    program is solved; `prune` then drops voters.

    Attributes
    ----------
    committee_ : Committee
        The voters that have any weight, with their new weights. The sum of absolute weights is the ensemble's own, so
        that scores keep their scale, and so is its intercept, to which the weights suit themselves (in the free form of
        the variance it shrinks as they cancel each other). The link is the ensemble's, or `Softmax` where weights are
        negative and that is `Share`.
    classes_ : array (n_classes,)
        The ensemble's.
    weights_ : float64 array (T,)
        A weight for each of the ensemble's voters, in units of its spread; they sum to one if the ensemble's own were
        not negative.
    voters_ : intp array
        Numbers of the voters of ``committee_`` among those of the ensemble that `fit` was called with.
    own_weights_ : float64 array (T,)
        The ensemble's own in the same units, absolute values summing to one.
    objective_ : Objective
        As it was solved.
    value_, value_before_ : float
        The objective at the new and at the own weights.
    gap_ : float
        By how much `value_` can fall short of the best; NaN where nothing proves it.
    status_ : str
        What the solver said.
    n_rows_used_ : int
        Lines that the program held; with two classes, rows.
    n_rounds_ : int
        Programs that were solved.
    pruning_path_ : PruningPath
        After `prune`, of what it returns.
    lost_, lost_error_ : float
        After `committee.prune` with `max_loss`: how much more the vote loses than the whole ensemble on rows that its
        voters have not seen and folds that did not find its weights, and the standard error of that.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        From `fit`, which checks everything before it sets anything.

    References
    ----------
    W. Martinez, J. B. Gray, On the current state of research in explaining ensemble performance using margins.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee.learners.trained.reweighter import MarginReweighter
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(100, random_state=0).fit(X[::2], y[::2])
    >>> smaller = MarginReweighter(forest, on="oob").fit(X[::2], y[::2])
    >>> smaller.committee_.n_voters < 100, smaller.value_ > smaller.value_before_
    (True, True)
    >>> smaller.prune(max_voters=10).committee_.n_voters <= 10
    True
    """

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
        """One of `OBJECTIVES`: "uniform", "rank", "percentile" (no margin decreases), "range", "variance",
        "min_margin", "soft_margin", "mincq", "doom", "tandem" (a bound on the error, not of training rows). Or such an
        object, with options that have no parameter here.""",
        "no_validation",
        type_words="str or Objective",
    )
    _: KW_ONLY
    on: RowsGiven = parameter(
        "train",
        """Rows that `fit` is given. "train": the training rows, whose margins the voters themselves have made large.
        "oob": the training rows too, each with the votes of the voters that were not trained on it, times T / T_i.
        "validation": rows that the ensemble has not seen. The first and the last only differ in what is known of the
        rows.""",
    )
    slack: float = parameter(
        0.0, """By how much each margin may decrease; of "uniform", "rank" and "percentile".""", Real
    )
    xi: float | None = parameter(None, """Share of rows; of "percentile" (0.2 if None) and "range" (0.05).""", Real)
    k: float | None = parameter(None, """Power of "rank" (5).""", Real)
    nu: float | None = parameter(None, """Share of rows of "soft_margin" (0.5).""", Real)
    form: Form | None = parameter(None, """Of "variance" ("simplex").""")
    target: float | None = parameter(None, """Of "variance": what margins are brought close to (their mean).""", Real)
    coverage: float | None = parameter(
        None, """Share of rows of "variance" in its forms "lts" and "lms" (0.5).""", Real
    )
    mu: float | None = parameter(None, """First moment of "mincq" (that of the own weights).""", Real)
    steepness: float | None = parameter(None, """Of "doom" (5).""", Real)
    n_jobs: int | None = shared.n_jobs("Threads that walk the voters")

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the weights.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows that `on` says more of; the votes on them stay for `prune`, but not pickled.
        y : array-like (n,)
            Their labels, all known to the ensemble.
        sample_weight : array-like (n,), default=None
            Row weights; 0 leaves a row out. With ``on="oob"`` those that the ensemble was trained with.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            If the ensemble is not fitted.
        TypeError
            If it is no classifier, or of a kind that is not known.
        ValueError
            If it has fewer than two voters, `X` or `y` do not suit it, a parameter is out of its range
            or of another objective, the objective has no solution, or the out-of-bag rows are not known.
        RuntimeError
            If a solver fails.
        """
        self._validate_params()
        objective = self._objective()
        if self.on == "train" and objective.on_unseen_rows:
            raise ValueError(
                f"objective={objective.name!r} is about rows that the voters have not seen, but on='train' says that "
                "they were trained on these; use on='oob' or on='validation'."
            )
        ensemble = self.trained
        committee = trained_committee(ensemble)
        if committee.n_voters < 2:
            raise ValueError(f"ensemble has {committee.n_voters} voter; weights need at least 2 to share out.")
        refuse_missing(ensemble, committee, X)
        votes = SignedVotes.of(committee, X, y, n_threads=n_threads(self.n_jobs))
        weight = self._weights(y, sample_weight, votes.n_rows)
        unseen = unseen_in_fit(ensemble, committee, X, y, sample_weight, votes) if self.on == "oob" else None
        lines = MarginMatrix.of(votes, weight, unseen)
        with one_blas_thread():  # how many there are would be in the last bits of sums over rows
            solved = objective.solve(lines)
        new = solved.weights * lines.sign
        voters = np.flatnonzero(new)
        weighed = reweighted(committee, voters, new[voters])
        with self._as_before_if_it_fails():
            for name in ("pruning_path_", "lost_", "lost_error_"):
                self.__dict__.pop(name, None)
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
        """The objective with the parameters that are its own; those of others are refused."""
        given = {
            name: getattr(self, name) for name in ("xi", "k", "nu", "form", "target", "coverage", "mu", "steepness")
        }
        return objective_of(self.objective, {**given, "slack": self.slack or None})

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
        """Return a smaller classifier: voters dropped from those without weight on, least weight first.

        A path of committees goes from all voters of any weight to one, each step keeping the four fifths of greatest
        weight. Limit and price then choose one of them; its ``pruning_path_`` has the table.

        Parameters
        ----------
        max_voters : int, default=None
            Most voters that stay; None: no limit.
        min_gain : float, default=None
            Voters stay as long as they gain this much accuracy: the smallest committee is taken that is less than this
            below the best larger one. None: the largest that the limits allow, which without one drops only voters of
            weight 0.
        level : {"voter", "leaf", "subtree", "depth", "tree"}, default="voter"
            All but "voter": all leaves that stay vote anew, see `committee.prune`; a `LeafReweighter` is returned. It
            takes `max_nodes` (a tenth if None) and `min_gain`, and needs `X` and `y`, which are what `on` says.
        max_nodes : float or int, default=None
            Most tree nodes: a share (0, 1] of the ensemble's, or a whole number of at least 1; one voter stays even so.
        resolve : bool, default=False
            Solve the objective again for the voters that are left after each step, which takes many times as long.
            False: they keep their weights in proportion. Which is better differs from objective to objective: for small
            committees "mincq" gains by it, "soft_margin" loses, "doom" hardly cares.
        X, y, sample_weight : optional
            Rows that solve and judge the path, such as held-out ones; None: those of `fit`, seen as `on` says.

        Returns
        -------
        MarginReweighter or LeafReweighter
            Fitted, and without the voters that are dropped: its `ensemble` is its own small committee, so that it takes
            no more room than that, and its ``weights_`` are theirs. This object stays as it is.

        Raises
        ------
        NotFittedError
            If this object is not fitted.
        ValueError
            If `max_voters` is no whole number of at least 1, `max_nodes` no share or number, `min_gain` is negative,
            only one of `X` and `y` is given, or none is and the votes of `fit` are gone, as they are after pickling.
        """
        check_is_fitted(self, "committee_")
        way = pruning_level(level)(self.on, self.objective, self.n_jobs)
        limits = Limits(max_nodes, max_voters, min_gain)
        smaller: MarginReweighter | LeafReweighter = way.of_reweighted(self, limits, resolve, X, y, sample_weight)
        return smaller

    def without_voters(
        self,
        limits: Limits,
        resolve: bool = False,
        X: Any = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Return a copy with the voters that the limits leave; see `prune` for the rest."""
        lines = self._lines_for_pruning(X, y, sample_weight)
        again = self.objective_ if resolve else None
        path = pruning_path(self._all, lines, self.weights_ * lines.sign, objective=again)
        return self._taken(path, path.steps[path.chosen(limits.max_voters, limits.min_gain, limits.max_nodes)], lines)

    def within_loss(self, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Return a copy with the fewest voters that keep a contract on the rows of the fit; see `prune`, the function.

        If none do it has all voters with their own weights, and a warning says so.
        """
        committee, lines, threads = self._all, self._lines, n_threads(self.n_jobs)
        assert lines is not None and limits.max_loss is not None
        metric = class_metric(limits.metric or "accuracy", committee.classes)
        labels = committee.class_indices(y)
        weight = self._weights(y, sample_weight, len(labels))
        counts = np.ones(len(labels), dtype=bool) if weight is None else weight > 0.0
        if self.on == "oob":
            refuse_weighted_draws(self.trained)
            unseen = unseen_in_fit(self.trained, committee, X, y, sample_weight)
            refuse_few(unseen[counts], limits.max_loss)
            counts &= unseen.any(axis=1)
        data = _safe_indexing(committee.encode(X), np.flatnonzero(counts))
        rows = VoterContract(committee, lines, data, labels[counts], metric, self.objective_, threads)
        path = rows.judged(pruning_path(committee, lines, self.weights_ * lines.sign))
        path = replace(path, metric=metric_name(limits.metric or "accuracy"), max_loss=limits.max_loss)
        chosen = path.within(limits.max_loss, limits.max_voters, limits.max_nodes)
        if chosen is None:
            first = path.steps[path.chosen(limits.max_voters, None, limits.max_nodes)]
            warn_that_none_is_within(path, first, limits.max_loss, path.metric)
            whole = self._taken(path, path.before, lines)
            whole.ensemble = whole._all = whole.committee_ = committee
            whole.lost_ = whole.lost_error_ = 0.0
            return whole
        small = self._taken(path, path.steps[chosen], lines)
        small.lost_, small.lost_error_ = float(path.lost()[chosen]), path.steps[chosen].lost_error
        return small

    def _taken(self, path: PruningPath, step: PrunedVote, lines: MarginMatrix) -> Self:
        """A copy that has the voters of a step of its path."""
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

    def _lines_for_pruning(self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> MarginMatrix:
        if (X is None) != (y is None):
            raise ValueError("X and y go together; one of them is missing.")
        if X is not None and y is not None:
            votes = SignedVotes.of(self._all, X, y, n_threads=n_threads(self.n_jobs))
            return MarginMatrix.of(votes, self._weights(y, sample_weight, votes.n_rows))
        lines: MarginMatrix | None = getattr(self, "_lines", None)
        if lines is None:
            raise ValueError("The votes of fit are not kept in a file; give X and y to prune, or fit again.")
        return lines

    def margins(self, X: Any, y: ArrayLike) -> F64:
        """Normalised margin of every row, ``(n,)``; see `Committee.margins`."""
        check_is_fitted(self)
        return self.committee_.margins(self.validate_rows(X), y, n_threads=n_threads(self.n_jobs))


class VoterPruning(PruningLevel):
    """Whole voters go, whatever they are, least weight first; the others have weights by an objective."""

    def of_ensemble(
        self, ensemble: Any, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> MarginReweighter:
        """See `PruningLevel`."""
        if limits.max_loss is not None:
            check_contract(limits.max_loss, limits.min_gain, self.on)
        model = MarginReweighter(ensemble, self.objective, on=self.on, n_jobs=self.n_jobs).fit(X, y, sample_weight)
        if limits.max_loss is None:
            return model.without_voters(limits)
        return model.within_loss(limits, X, y, sample_weight)

    def of_reweighted(
        self, model: MarginReweighter, limits: Limits, resolve: bool, X: Any, y: Any, sample_weight: Any
    ) -> MarginReweighter:
        """See `PruningLevel`."""
        return model.without_voters(limits, resolve, X, y, sample_weight)


LEVELS: dict[str, type[PruningLevel]] = {
    "leaf": LeafPruning,
    "subtree": SubtreePruning,
    "depth": DepthPruning,
    "tree": TreePruning,
    "voter": VoterPruning,
}
"""Every way to prune under its name; a further one is one more class, in a file of its own, and one more entry."""


def pruning_level(name: str) -> type[PruningLevel]:
    """Return the level of a name, or refuse it."""
    if name not in LEVELS:
        raise ValueError(f"level={name!r} is unknown; choose {', '.join(map(repr, LEVELS))}.")
    return LEVELS[name]
