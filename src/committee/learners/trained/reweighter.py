"""An ensemble that is trained already, with weights that suit its margins, and as few voters as these need."""

from __future__ import annotations

import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from committee.data.named import read_named
from committee.data.parallel import N_JOBS, n_threads
from committee.learners.trained.leaf_reweighter import LeafReweighter
from committee.learners.trained.pruning import PruningPath, pruning_path
from committee.learners.trained.scikit_forest import scikit_forest
from committee.learners.trained.trained_ensemble import (
    TrainedEnsembleClassifier,
    refuse_missing,
    row_weights,
    trained_committee,
)
from committee.learners.trained.unseen_rows import check_against_memory, unseen_rows
from committee.objectives.margins.margin_variance import Form
from committee.objectives.margins.named_objectives import OBJECTIVES
from committee.objectives.margins.objective import Objective, Reweighting
from committee.objectives.programs.lines import Lines
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Share, Softmax
from committee.vote.signed_votes import SignedVotes

F64 = NDArray[np.float64]
Rows = Literal["train", "oob", "validation"]

OPTIONS: dict[str, tuple[str, ...]] = {
    "xi": ("percentile", "range"),
    "k": ("rank",),
    "nu": ("soft_margin",),
    "form": ("variance",),
    "mu": ("mincq",),
    "steepness": ("doom",),
}
"""Parameters of `MarginReweighter` that belong to single objectives."""

_STORED: dict[str, type] = {
    "objective_": dict,
    "voters_": np.ndarray,
    "value_": float,
    "value_before_": float,
    "gap_": float,
    "status_": str,
    "n_rows_used_": int,
    "n_rounds_": int,
}
"""Fitted attributes of a `MarginReweighter` that a file has beside its committee, and what they are there."""


class MarginReweighter(TrainedEnsembleClassifier):
    """New weights for the voters of a trained ensemble, by an objective of its margins.

    The ensemble is frozen: it is neither trained nor changed, `clone` keeps it as it is, and its own parameters cannot
    be set through this object. Its voters' votes for the rows given to `fit` make one matrix, on which the objective's
    program is solved; `prune` then drops voters.

    Parameters
    ----------
    ensemble : fitted classifier or Committee
        A learner of this library, or what `Committee.from_estimator` takes; a ``FrozenEstimator`` around it is opened.
    objective : str or Objective, default="soft_margin"
        One of `OBJECTIVES`: "uniform", "rank", "percentile" (no margin falls), "range", "variance", "min_margin",
        "soft_margin", "mincq", "doom", "tandem" (a bound on the error, not of training rows). Or such an object, with
        options that have no parameter here.
    on : {"train", "oob", "validation"}, default="train"
        What `fit` is given. "train": the training rows, whose margins the voters themselves have made large. "oob": the
        training rows too, each with the votes of the voters that were not trained on it, times T / T_i. "validation":
        rows that the ensemble has not seen. The first and the last only differ in what is known of the rows.
    slack : float, default=0.0
        By how much each margin may fall; of "uniform", "rank" and "percentile".
    xi : float, default=None
        Share of rows; of "percentile" (0.2 if None) and "range" (0.05).
    k : float, default=None
        Power of "rank" (5).
    nu : float, default=None
        Share of rows of "soft_margin" (0.5).
    form : {"free", "simplex", "lad", "chebyshev"}, default=None
        Of "variance" ("simplex").
    mu : float, default=None
        First moment of "mincq" (that of the own weights).
    steepness : float, default=None
        Of "doom" (5).
    n_jobs : int or None, default=None
        Threads that ask the voters.

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

    _stored_attributes: ClassVar[tuple[str, ...]] = tuple(_STORED)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ensemble": "no_validation",
        "objective": "no_validation",
        "on": [StrOptions(set(get_args(Rows)))],
        "slack": [Real],
        "form": [StrOptions(set(get_args(Form))), None],
        **{name: [Real, None] for name in ("xi", "k", "nu", "mu", "steepness")},
        "n_jobs": N_JOBS,
    }

    voters_: NDArray[np.intp]
    weights_: F64
    own_weights_: F64
    objective_: Objective
    committee_: Committee
    classes_: NDArray[Any]
    pruning_path_: PruningPath

    def __init__(
        self,
        ensemble: Any,
        objective: str | Objective = "soft_margin",
        *,
        on: Rows = "train",
        slack: float = 0.0,
        xi: float | None = None,
        k: float | None = None,
        nu: float | None = None,
        form: Literal["free", "simplex", "lad", "chebyshev"] | None = None,
        mu: float | None = None,
        steepness: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.ensemble = ensemble
        self.objective = objective
        self.on = on
        self.slack = slack
        self.xi = xi
        self.k = k
        self.nu = nu
        self.form = form
        self.mu = mu
        self.steepness = steepness
        self.n_jobs = n_jobs

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_lines", None)  # votes are larger than models
        return state

    # -- new weights ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the weights.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows that `on` says more of; the votes on them are kept for `prune`, but not pickled.
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
        objective = self._objective()
        if self.on not in get_args(Rows):
            raise ValueError(f"on={self.on!r} is unknown; choose from {', '.join(get_args(Rows))}.")
        if self.on == "train" and objective.on_unseen_rows:
            raise ValueError(
                f"objective={objective.name!r} is about rows that the voters have not seen, but on='train' says that "
                "they were trained on these; use on='oob' or on='validation'."
            )
        ensemble = self._trained()
        committee = _committee_of(ensemble)
        refuse_missing(ensemble, committee, X)
        votes, lines = self._ask(ensemble, committee, X, y, sample_weight)
        found = objective.solve(lines)
        new = found.weights * lines.sign
        voters = np.flatnonzero(new)
        reweighted = _reweighted(committee, voters, new[voters])
        # all that could fail has been done
        self.__dict__.pop("pruning_path_", None)
        table = self._take_columns(ensemble, committee, X)
        committee, reweighted = replace(committee, table=table), replace(reweighted, table=table)
        self.objective_, self.classes_ = objective, committee.classes
        self.committee_, self.voters_ = reweighted, voters
        self.weights_, self.own_weights_ = new, votes.weights
        self._report(found)
        self._all, self._lines = committee, lines
        return self

    def _report(self, found: Reweighting) -> None:
        self.value_, self.value_before_, self.gap_ = found.value, found.before, found.gap
        self.status_, self.n_rows_used_, self.n_rounds_ = found.status, found.n_rows_used, found.rounds

    def _objective(self) -> Objective:
        """The objective with the parameters that are its own; those of others are refused."""
        given = {name: getattr(self, name) for name in OPTIONS if getattr(self, name) is not None}
        if self.slack:
            given["slack"] = self.slack
        if isinstance(self.objective, Objective):
            if given:
                name = next(iter(given))
                raise ValueError(
                    f"{name}={given[name]!r} and an objective that is an object; give it to {self.objective!r}."
                )
            return self.objective
        if not isinstance(self.objective, str) or self.objective not in OBJECTIVES:
            raise ValueError(
                f"objective={self.objective!r} is unknown; choose from {', '.join(OBJECTIVES)}, or give an Objective."
            )
        owners = {**OPTIONS, "slack": ("uniform", "rank", "percentile")}
        for name, value in given.items():
            if self.objective not in owners[name]:
                raise ValueError(
                    f"{name}={value!r} has no meaning for objective={self.objective!r}, only for "
                    f"{', '.join(owners[name])}; leave it out."
                )
        return OBJECTIVES[self.objective](**given)

    def _ask(
        self, ensemble: Any, committee: Committee, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[SignedVotes, Lines]:
        votes = SignedVotes.of(committee, X, y, n_threads=n_threads(self.n_jobs))
        weight = None if sample_weight is None else row_weights(sample_weight, votes.n_rows)
        asked = unseen_rows(ensemble, committee.n_voters, y, sample_weight) if self.on == "oob" else None
        if asked is not None and weight is None and getattr(ensemble, "oob_decision_function_", None) is not None:
            check_against_memory(ensemble, committee, votes, asked)
        return votes, Lines.of(votes, weight, asked)

    def prune(
        self,
        max_voters: int | None = None,
        min_gain: float | None = None,
        *,
        level: Literal["voter", "leaf"] = "voter",
        max_nodes: float | None = None,
        resolve: bool = False,
        X: Any = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self | LeafReweighter:
        """A smaller classifier: voters dropped from those without weight on, least weight first.

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
        level : {"voter", "leaf"}, default="voter"
            "leaf": sub-trees go too, and all leaves that stay vote anew; a `LeafReweighter` is returned. It takes
            `max_nodes` (a tenth if None) and `min_gain`, and needs `X` and `y`, which are what `on` says.
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
        if max_voters is not None and not (isinstance(max_voters, Integral) and max_voters >= 1):
            raise ValueError(f"max_voters={max_voters!r} must be a whole number of at least 1, or None.")
        if level == "leaf":
            return self._cut(max_voters, max_nodes, min_gain, X, y, sample_weight)
        if level != "voter":
            raise ValueError(f"level={level!r} is unknown; choose 'voter' or 'leaf'.")
        whole = isinstance(max_nodes, Integral)
        if max_nodes is not None and not (
            isinstance(max_nodes, Real) and (max_nodes >= 1 if whole else 0.0 < max_nodes <= 1.0)
        ):
            raise ValueError(f"max_nodes={max_nodes!r} must be a share in (0, 1], a whole number above 0, or None.")
        if min_gain is not None and not (isinstance(min_gain, Real) and min_gain >= 0.0):
            raise ValueError(f"min_gain={min_gain!r} must be a share of rows that is not negative, or None.")
        lines = self._lines_for_pruning(X, y, sample_weight)
        again = self.objective_ if resolve else None
        path = pruning_path(self._all, lines, self.weights_ * lines.sign, objective=again)
        step = path.steps[path.chosen(max_voters, min_gain, max_nodes)]
        weights = step.weights * lines.sign[step.voters]
        every = np.zeros(len(self.weights_))
        every[step.voters] = step.weights
        pruned = copy.copy(self)
        pruned.ensemble = pruned._all = pruned.committee_ = _reweighted(self._all, step.voters, weights)
        pruned.voters_, pruned.pruning_path_ = step.voters, path
        pruned.weights_ = pruned.own_weights_ = weights
        pruned.value_, pruned.gap_ = self.objective_.value(lines, every), float("nan")
        pruned.value_before_ = self.objective_.value(lines, lines.own)
        pruned._lines = lines.select(step.voters, np.abs(step.weights) / np.abs(step.weights).sum())
        return pruned

    def _cut(
        self, max_voters: Any, max_nodes: Any, min_gain: Any, X: Any, y: Any, sample_weight: Any
    ) -> LeafReweighter:
        if max_voters is not None:
            raise ValueError(f"max_voters={max_voters!r} with level='leaf', which limits nodes; give max_nodes alone.")
        if X is None or y is None:
            raise ValueError("level='leaf' looks at rows again; give X and y, those of fit or others as `on` says.")
        share = 0.1 if max_nodes is None else max_nodes
        leaves = LeafReweighter(self, max_nodes=share, min_gain=min_gain, on=self.on, n_jobs=self.n_jobs)
        return leaves.fit(X, y, sample_weight)

    def _lines_for_pruning(self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Lines:
        if (X is None) != (y is None):
            raise ValueError("X and y go together; one of them is missing.")
        if X is not None and y is not None:
            votes = SignedVotes.of(self._all, X, y, n_threads=n_threads(self.n_jobs))
            return Lines.of(votes, None if sample_weight is None else row_weights(sample_weight, votes.n_rows))
        lines: Lines | None = getattr(self, "_lines", None)
        if lines is None:
            raise ValueError("The votes of fit are not kept in a file; give X and y to prune, or fit again.")
        return lines

    # -- the vote, and its file -------------------------------------------------------------------------------

    def as_sklearn(self) -> RandomForestClassifier:
        """scikit-learn's forest of the trees with weight, which elects the same classes; see `scikit_forest`."""
        check_is_fitted(self)
        return scikit_forest(self.committee_)

    def margins(self, X: Any, y: ArrayLike) -> F64:
        """Normalised margin of every row, ``(n,)``; see `Committee.margins`."""
        check_is_fitted(self)
        return self.committee_.margins(self.validate_rows(X), y, n_threads=n_threads(self.n_jobs))

    def _for_file(self) -> Self:
        """With the objectives by name, and the voters by their numbers in the ensemble, which is not in a file."""
        stored = copy.copy(self)
        stored.objective_ = _named_objective("objective_", self.objective_)
        if isinstance(self.objective, Objective):
            stored.objective = _named_objective("objective", self.objective)
        return stored

    def _from_file(self) -> None:
        """A loaded re-weighter's ensemble is its own small committee, and its weights are the committee's."""
        committee = self.committee_
        for name, kind in _STORED.items():
            if not isinstance(getattr(self, name, None), kind):
                raise ValueError(f"{name} is {getattr(self, name, 'absent')!r}, which is not what fit sets")
        if isinstance(self.objective, dict):
            self.objective = _objective_named(self.objective)
        self._objective()
        self.objective_ = _objective_named(self.objective_)
        if self.voters_.ndim != 1 or self.voters_.dtype.kind != "i" or (self.voters_ < 0).any():
            raise ValueError("voters_ are not numbers of voters")
        weights = committee.weights * committee.voters.spread
        if not np.abs(weights).sum() > 0.0:
            raise ValueError("no voter has any weight")
        self.weights_ = self.own_weights_ = weights / np.abs(weights).sum()
        self.ensemble = self._all = committee


def _committee_of(ensemble: Any) -> Committee:
    committee = trained_committee(ensemble)
    if committee.n_voters < 2:
        raise ValueError(f"ensemble has {committee.n_voters} voter; weights need at least 2 to share out.")
    return committee


def _reweighted(committee: Committee, voters: NDArray[np.intp], weights: F64) -> Committee:
    """Some of the voters with their weights, in units of spread; their absolute sum stays the committee's own."""
    spread = committee.voters.spread
    total = float(np.abs(committee.weights) @ spread)
    each = weights * total / np.abs(weights).sum()
    each = np.divide(each, spread[voters], out=np.zeros(len(voters)), where=spread[voters] > 0.0)
    link: Link | None = Softmax() if isinstance(committee.link, Share) and (each < 0.0).any() else None
    chosen = committee.select(voters, each, link=link)
    if committee.intercept is None:
        return chosen
    # it counts as in the lines, where every voter or its opposite has it: less where weights cancel each other
    sign = np.where(committee.weights[voters] < 0.0, -1.0, 1.0)
    return replace(chosen, intercept=committee.intercept * (float(weights @ sign) / float(np.abs(weights).sum())))


def _named_objective(name: str, objective: Objective) -> Any:
    if type(objective) not in OBJECTIVES.values():
        raise TypeError(
            f"{name} is a {type(objective).__module__}.{type(objective).__qualname__}, and a model file holds only "
            f"committee's own objectives ({', '.join(OBJECTIVES)}). Use skops.io.dump or joblib.dump for this model."
        )
    return objective.to_json()


def _objective_named(stored: Any) -> Objective:
    try:
        return read_named(stored, OBJECTIVES, "objective")
    except TypeError as error:  # text where a number must be
        raise ValueError(f"objective is {stored!r}: {error}") from error
