"""Certificates: upper bounds on the error of a trained ensemble on new rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.bounds.held_out_rows import HeldOutPlan, held_out_errors, unlabelled_margins
from committee.bounds.margin_moments import c_bound_pac_bayes
from committee.bounds.pac_bayes import binomial, first_order, partition, tandem
from committee.bounds.result import Bound, check_delta
from committee.bounds.voter_losses import ROUNDING, VoterLosses
from committee.data.number_types import F64
from committee.data.text import pluralize, warn_user
from committee.learners.bagging.random_forest import RandomForestClassifier
from committee.learners.base.predictors import BaseClassifier
from committee.learners.blend.committees import CommitteeClassifier
from committee.learners.reweighting.leaf_reweighter import LeafReweighter
from committee.learners.trained_ensembles.out_of_bag import (
    check_oob_votes,
    check_reserve_loss,
    out_of_bag_mask,
    refuse_weighted_draws,
    suspicious_accuracy,
    undrawn_rows,
)
from committee.learners.trained_ensembles.trained_ensemble import TrainedEnsembleClassifier
from committee.vote.committee import Committee
from committee.vote.signed_votes import SignedVotes
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest

JudgedOn: TypeAlias = Literal["validation", "oob"]
Votes: TypeAlias = Literal["own", "labels"]


def voter_losses(
    ensemble: Any,
    X: Any,
    y: ArrayLike,
    *,
    on: JudgedOn = "validation",
    votes: Votes = "own",
    sample_weight: ArrayLike | None = None,
    n_threads: int = 1,
) -> VoterLosses:
    """Return the losses of an ensemble's voters on rows that they have not seen.

    Parameters and errors are those of `certify`. ``votes="labels"`` lets voters that give scores vote for the class of
    the largest score.

    Returns
    -------
    VoterLosses

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.learners.trained_ensembles import voter_losses
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    >>> voter_losses(forest, X, y, on="oob").n_voters
    20
    """
    for name, value, known in (("on", on, ("validation", "oob")), ("votes", votes, ("own", "labels"))):
        if value not in known:
            raise ValueError(f"{name} is {value!r}; it must be {known[0]!r} or {known[1]!r}.")
    committee, named = _committee_and_rows(ensemble, X)
    if committee.n_classes < 2:
        raise ValueError(
            "the ensemble was trained on rows of one class, which it always predicts; its error is the share of new "
            "rows of other classes, which no vote bounds. Train it on rows of at least two classes."
        )
    signed = SignedVotes.of(committee, named, y, n_threads=n_threads)
    if sample_weight is not None and on != "oob":
        raise ValueError(
            "sample_weight is that of the fit, for on='oob'; held-out rows count once each, so leave it out."
        )
    unseen = untouched = candidates = None
    if on == "oob":
        refuse_weighted_draws(_source_ensemble(ensemble))
        unseen = out_of_bag_mask(ensemble, committee.n_voters, y, sample_weight, X)
        check_oob_votes(ensemble, committee, signed, unseen)
        check_reserve_loss(ensemble, X, y)
        untouched, candidates = undrawn_rows(ensemble, unseen), _n_candidates(ensemble)
    S: NDArray[Any] = signed.matrix.reshape(signed.n_rows, -1, signed.n_voters)
    weights = signed.weights
    wrong: NDArray[np.bool_] | None = None
    if votes == "labels" and committee.voters.kind != "label":
        S = _label_votes(S, signed)
        weights = committee.weights / np.abs(committee.weights).sum()
        wrong = (S @ weights).min(axis=1) <= ROUNDING  # not ahead of every other class
    elif on == "validation" or untouched is not None:
        wrong = committee.predict(named, n_threads=n_threads) != np.asarray(y)
    negative = weights < 0.0
    if negative.any():
        S = S * np.where(negative, -1, 1).astype(S.dtype)
    S = S[:, 0] if S.shape[1] == 1 else S.min(axis=1)
    if S.dtype != np.int8:
        S = np.clip(S, -1.0, 1.0)  # above 1 by rounding, or by more for regressors
    turned, K = bool(negative.any()), committee.n_classes
    named_by_all = _names_classes(committee, votes) and not (turned and K > 2)
    return VoterLosses(S, unseen, np.abs(weights), turned, K, untouched, candidates, wrong, named_by_all)


def _committee_and_rows(ensemble: Any, X: Any) -> tuple[Committee, Any]:
    committee = ensemble if isinstance(ensemble, Committee) else Committee.from_estimator(ensemble)
    return committee, ensemble.validate_rows(X) if isinstance(ensemble, BaseClassifier) else X


def _names_classes(committee: Committee, votes: Votes) -> bool:
    voters: Any = committee.voters
    if committee.intercept is not None:
        return False
    if voters.kind != "label":
        return votes == "labels"
    if isinstance(voters, Forest):
        return voters.label is not None and bool((voters.label[voters.feature < 0] >= 0).all())
    return isinstance(voters, EstimatorVoters)


def _source_ensemble(ensemble: Any) -> Any:
    while isinstance(ensemble, TrainedEnsembleClassifier):
        if isinstance(ensemble, LeafReweighter) and ensemble.on != "validation":
            raise ValueError(
                f"ensemble is a LeafReweighter with on={ensemble.on!r}, whose leaves' votes were fitted to the "
                "training rows: no out-of-bag rows are left to judge them. Use held-out rows instead."
            )
        ensemble = ensemble.trained
    return ensemble


def _n_candidates(ensemble: Any) -> int | None:
    if isinstance(ensemble, TrainedEnsembleClassifier) and ensemble.on != "validation":
        below = ensemble.trained
        return _n_candidates(below) or Committee.from_estimator(below).n_voters
    trained = _source_ensemble(ensemble)
    chosen = isinstance(trained, RandomForestClassifier) and trained.n_estimators == "oob"
    return int(trained.max_estimators) if chosen else None


def _label_votes(S: F64, signed: SignedVotes) -> NDArray[np.int8]:
    rival = signed.rival.reshape(signed.n_rows, -1)
    beats = (S > 0.0) | ((S == 0.0) & np.less(signed.own_class[:, None], rival)[:, :, None])
    right: NDArray[np.bool_] = beats.all(axis=1)
    votes = np.zeros(S.shape, dtype=np.int8)
    np.put_along_axis(votes, S.argmin(axis=1)[:, None], np.int8(-1), axis=1)
    return np.where(right[:, None], np.int8(1), votes)


@dataclass(frozen=True, eq=False)
class Certificate:
    """Upper bounds on the error of a vote on new rows: a headline, and a table of all bounds.

    Parameters
    ----------
    ensemble : str
        Type of the ensemble.
    on, delta, votes
        Arguments of `certify`.
    n_rows : int
        Number of rows from which the bounds are computed.
    headline : Bound
        The test-set bound with all of delta, if it is in the table and the rows are held out or `n_untouched` is at
        least 30; else the least of the table. The choice between the two does not depend on labels.
    bounds : dict of str to Bound
        The table, by names in `CERTIFICATES` and "unlabelled_margins": its bounds hold simultaneously with probability
        1 - delta. ``certificate["tandem"]`` returns a single bound.
    test_error : float or None
        Error on rows whose labels the bounds do not use.
    n_untouched : int, default=0
        Out-of-bag rows that no voter was trained on, which "test_set" and "binomial" use.
    held_out : HeldOutPlan or None
        Number of held-out rows, and the bound that they would give at the out-of-bag error of the vote; None unless
        this error is known, and the bound below `headline` and the error of guessing.
    takes_reserve : bool, default=False
        True if the ensemble has a parameter ``reserve`` that holds rows out.
    """

    ensemble: str
    on: JudgedOn
    n_rows: int
    delta: float
    headline: Bound
    bounds: dict[str, Bound]
    test_error: float | None = None
    n_untouched: int = 0
    votes: Votes = "own"
    held_out: HeldOutPlan | None = None
    takes_reserve: bool = False

    def __getitem__(self, name: str) -> Bound:
        return self.bounds[name]

    @property
    def best(self) -> Bound:
        """The smallest bound of the table, which may be chosen afterwards as all bounds hold simultaneously."""
        return min(self.bounds.values(), key=lambda bound: bound.value)

    @property
    def vacuous(self) -> bool:
        """True if no bound is below the error of guessing, 1 - 1 / K."""
        return self.headline.vacuous and self.best.vacuous

    def rows(self) -> list[dict[str, Any]]:
        """Return a record per bound: ``bound``, ``value``, ``vacuous``, ``gap`` (value less test error), ``advice``."""
        return [
            {
                "bound": bound.name,
                "value": bound.value,
                "vacuous": bound.vacuous,
                "gap": None if self.test_error is None else bound.value - self.test_error,
                "advice": bound.advice,
            }
            for bound in self.bounds.values()
        ]

    def sentences(self, source: str = "") -> tuple[str, str, str]:
        """Return three texts: the headline and `held_out`, how the headline was found, and what it assumes.

        `source` is the origin of the rows, such as " of new.csv".
        """
        return self._number() + self._remedy(), self._how(source), self._needs()

    def _remedy(self) -> str:
        plan = self.held_out
        if plan is None:
            return ""
        how = f"fit with reserve={plan.share:g}, or give" if self.takes_reserve else "give"
        return (
            f" From {pluralize(plan.rows, 'held-out row')} a bound of about {percent(plan.value)} is to be expected, as"
            f" {100.0 * plan.error:.1f} % are wrong out of bag: {how} rows that had no part in the fit, with"
            " on='validation'."
        )

    def _number(self) -> str:
        most = percent(min(self.headline.value, 1.0))
        if self.headline.vacuous:
            return (
                f"Nothing is proved of the error on new rows: the bound is {most}, and the error of guessing "
                f"at random {percent(self.headline.trivial)}."
            )
        vote = "" if self.votes == "own" else " by the vote in which each voter names one class"
        surely = percent(1.0 - self.delta, down=True)
        return f"With probability {surely} at most {most} of new rows are misclassified{vote}."

    def _how(self, source: str) -> str:
        terms = self.headline.terms
        if self._by_errors:
            n, wrong = int(terms["rows"]), int(terms["wrong"])
            which = "that no voter was trained on" if self.on == "oob" else "held out"
            return (
                f"Computed from the {pluralize(n, 'row')}{source} {which}, of which the vote gets {wrong} wrong "
                f"({100.0 * wrong / n:.1f} %): the test-set bound (exact binomial), with all of delta."
            )
        rows = (
            f"{pluralize(self.n_rows, 'row')}{source}, each judged by the voters that were not trained on it"
            if self.on == "oob"
            else f"{pluralize(self.n_rows, 'row')}{source} held out"
        )
        least = "" if len(self.bounds) == 1 else f", the least of {len(self.bounds)} bounds that share delta"
        return f"Computed from {rows}: {self.headline.name}{least}."

    def _needs(self) -> str:
        new = "Assumes: new rows are drawn independently from the distribution of these rows"
        if self.on == "oob":
            return f"{new}, and the training draws do not depend on the labels."
        part = "not used for training, weights or choices" if self._by_errors else "not used to train the voters"
        return f"{new}, and these rows were {part}."

    @property
    def _by_errors(self) -> bool:
        return "wrong" in self.headline.terms

    def __repr__(self) -> str:
        return str(self)  # the dataclass's repr has the votes of all voters

    def __str__(self) -> str:
        lines = [*self.sentences()]
        if self.test_error is not None:
            lines.append(f"Test error {self.test_error:.4f}.")
        rows = {"validation": "held-out rows", "oob": "rows, out of bag"}[self.on]
        untouched = f", {self.n_untouched} of which no voter was trained on" if self.n_untouched else ""
        lines.append(
            f"{self.ensemble}, {self.n_rows} {rows}{untouched}; the bounds below hold together with probability "
            f"{1.0 - self.delta:g}:"
        )
        width = max(len(bound.name) for bound in self.bounds.values())
        for row in self.rows():
            value = min(row["value"], 1.0)
            gap = "" if self.test_error is None else f"{value - self.test_error:+8.4f}"
            lines.append(
                f"  {row['bound']:{width}s}  {value:7.4f}{gap}  {'vacuous' if row['vacuous'] else '':7s}  "
                f"{row['advice']}"
            )
        return "\n".join(lines)


def percent(share: float, *, down: bool = False) -> str:
    thousandths = round(1000.0 * share, 6)  # 1 - 0.95 gives 50.00000000000004
    tenths = int(thousandths) if down else ceil(thousandths)
    return f"{tenths / 10:g} %"


CERTIFICATES: dict[str, Callable[..., Bound]] = {  # functions of losses and delta
    "test_set": held_out_errors,
    "binomial": binomial,
    "partition": partition,
    "first_order": first_order,
    "tandem": tandem,
    "c_bound_separate": partial(c_bound_pac_bayes, form="separate"),
    "c_bound": partial(c_bound_pac_bayes, form="joint"),
}

WHOLE_VOTE = ("test_set", "binomial")  # bounds that need rows which no voter has seen
UNLABELLED = "unlabelled_margins"  # the bound that needs unlabelled rows too

HEADLINE = "test_set"  # bound that is the headline, with all of delta, if enough rows are new to the whole vote

LEAST_UNTOUCHED = 30  # undrawn rows for `HEADLINE`; as it depends on no label, the choice costs no share of delta


def certify(
    ensemble: Any,
    X: Any,
    y: ArrayLike,
    delta: float = 0.05,
    on: JudgedOn = "validation",
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    *,
    bounds: tuple[str, ...] | None = None,
    votes: Votes = "own",
    sample_weight: ArrayLike | None = None,
    X_unlabelled: Any = None,
    n_threads: int = 1,
) -> Certificate:
    """Return upper bounds on the error of a trained ensemble on new rows: a headline, and a table of all bounds.

    The headline is the test-set bound, with all of delta, where rows are new to the whole vote (held-out rows, or with
    "oob" at least 30 that no voter was trained on); else the least bound of the table. These share delta evenly, but
    for "partition", which has that of "binomial", or out of bag of "first_order". The ensemble's absolute weights are
    the posterior, equal weights the prior.

    Parameters
    ----------
    ensemble : fitted classifier or Committee
        Any that `Committee.from_estimator` takes. It is not changed.
    X : table or array-like (n, p)
        ``on="validation"``: held-out rows. ``on="oob"``: all training rows, in their order.
        **Training rows as held-out rows give meaningless bounds**, and are not always recognised.
    y : array-like (n,)
        Labels.
    delta : float, default=0.05
        Probability with which the headline may fail; and, separately, one or more bounds of the table.
    on : {"validation", "oob"}, default="validation"
        "validation": rows that are new to the ensemble. A warning is issued if it errs on less than half as many of
        them as ``oof_score_`` or ``oob_score_`` say, beyond chance. "oob": each voter, and each pair of voters, is
        evaluated on its out-of-bag rows. For `RandomForestClassifier` and `SubaggingClassifier` (with
        ``oob_score=True`` and an int or None as ``random_state``), `SBPMTClassifier`, scikit-learn's forests and
        bagging. Rows that no voter was trained on, such as the `reserve` of a `RandomForestClassifier` or a
        `CommitteeClassifier`, evaluate the whole vote too.
    X_test, y_test : table or array-like and array-like, default=None
        Rows for the test error.
    bounds : tuple of str, default=None
        Names out of "test_set", "binomial" (both by held-out or undrawn rows), "partition" (of voters that name one
        class each), "first_order", "tandem", "c_bound_separate", "c_bound", "unlabelled_margins" (with `X_unlabelled`).
        None: all that the rows can give. "test_set" needs weights that were fixed before these rows were seen; leave it
        out for an ensemble re-weighted on them.
    votes : {"own", "labels"}, default="own"
        "own": the ensemble's vote as it is. "labels": the vote in which each voter names one class, whose test error is
        then given.
    sample_weight : array-like (n,), default=None
        ``on="oob"``: weights of the ensemble's fit. Rows of weight 0 are left out; others count once.
    X_unlabelled : table or array-like, default=None
        Unlabelled rows that had no part in training; they may be `X_test`. With ``votes="own"``.
    n_threads : int, default=1
        Ceiling on the number of threads.

    Returns
    -------
    Certificate

    Raises
    ------
    TypeError
        If `ensemble` is not a classifier whose voters are known.
    ValueError
        If an argument is out of range, a bound is unknown or not for these rows, only one of X_test and y_test is
        given, `y` holds an unknown label, the ensemble has one class, or with ``on="oob"`` the draws of rows are
        unknown, or depended on weights.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import RandomForestClassifier, certify
    >>> X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> forest = RandomForestClassifier(max_samples=0.3, oob_score=True, random_state=0).fit(X, y)
    >>> certificate = certify(forest, X, y, on="oob", X_test=X_test, y_test=y_test)
    >>> certificate.test_error < certificate.headline.value < 0.4
    True
    """
    delta = check_delta(delta)
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together; one of them is missing.")
    known = (*CERTIFICATES, UNLABELLED)
    if isinstance(bounds, str):
        raise ValueError(f"bounds={bounds!r} is one name; give a tuple of names: ({bounds!r},).")
    for name in bounds or ():
        if name not in known:
            raise ValueError(f"bounds holds {name!r}; choose from {', '.join(known)}.")
    if bounds is not None and not bounds:
        raise ValueError(f"bounds is empty; give some of {', '.join(known)}, or None for all.")
    if X_unlabelled is not None and votes != "own":
        raise ValueError(f"X_unlabelled is given with votes={votes!r}; it is for votes='own' alone.")
    losses = voter_losses(ensemble, X, y, on=on, votes=votes, sample_weight=sample_weight, n_threads=n_threads)
    if on == "validation" and getattr(getattr(ensemble, "provenance_", None), "rows", None) is None:
        doubt = suspicious_accuracy(ensemble, 1.0 - float(losses.errors.mean()), losses.n_rows, fewer=0.5)
        if doubt is not None:
            warn_user(f"{doubt}, as bounds hold for new rows. Give rows not used in training, or on='oob'.")
    committee, _ = _committee_and_rows(ensemble, X)
    bounded = votes == "labels" or getattr(committee.voters, "bounded", True)
    possible = _possible(losses, X_unlabelled is not None, bounded=bounded)
    names = possible if bounds is None else tuple(bounds)
    for name in names:
        if name not in possible:
            needs = "on='validation', or rows that no voter was trained on (reserve)"
            if not bounded and name != "test_set":
                needs = "bounded votes, and regressors may predict any number; votes='labels' is bounded"
            elif name == UNLABELLED:
                needs = "X_unlabelled"
            elif name == "partition":
                needs = "voters that name one class each, as with votes='labels', no intercept, and for more than two "
                needs += "classes no negative weights"
            raise ValueError(f"bounds holds {name!r}, which needs {needs}; here choose from {', '.join(possible)}.")
    test_error = None if y_test is None else _error(ensemble, X_test, y_test, votes, n_threads)
    share = delta / _n_events(names, losses)
    by_name = {}
    for name in names:
        if name == UNLABELLED:
            by_name[name] = unlabelled_margins(losses, _leads(ensemble, X_unlabelled, n_threads), share)
        else:
            by_name[name] = CERTIFICATES[name](losses.of_untouched() if name in WHOLE_VOTE else losses, delta=share)
    n_untouched = 0 if losses.untouched is None else int(losses.untouched.sum())
    if HEADLINE in names and (losses.unseen is None or n_untouched >= LEAST_UNTOUCHED):
        headline = CERTIFICATES[HEADLINE](losses.of_untouched(), delta=delta)
    else:
        headline = min(by_name.values(), key=lambda bound: bound.value)
    kind, plan = type(ensemble).__name__, _plan(losses, headline, delta)
    takes_reserve = isinstance(ensemble, RandomForestClassifier | CommitteeClassifier)
    return Certificate(
        kind, on, losses.n_rows, delta, headline, by_name, test_error, n_untouched, votes, plan, takes_reserve
    )


def _plan(losses: VoterLosses, headline: Bound, delta: float) -> HeldOutPlan | None:
    if losses.unseen is None or "wrong" in headline.terms or np.isnan(error := losses.error):
        return None
    plan = HeldOutPlan.of(error, int(losses.unseen.any(axis=1).sum()), delta)
    return plan if plan.value < min(headline.value, headline.trivial) else None


def _possible(losses: VoterLosses, unlabelled: bool, *, bounded: bool) -> tuple[str, ...]:
    whole = losses.unseen is None or (losses.untouched is not None and bool(losses.untouched.any()))
    if not bounded:
        return ("test_set",)
    names = tuple(
        name
        for name in CERTIFICATES
        if (whole or name not in WHOLE_VOTE) and (losses.names_classes or name != "partition")
    )
    return (*names, UNLABELLED) if unlabelled else names


def _n_events(names: tuple[str, ...], losses: VoterLosses) -> int:
    same = "binomial" if losses.unseen is None else "first_order"
    return len({same if name == "partition" else name for name in names})


def _leads(ensemble: Any, X: Any, n_threads: int) -> NDArray[np.float64]:
    committee, named = _committee_and_rows(ensemble, X)
    return committee.margins(named, committee.predict(named, n_threads=n_threads), n_threads=n_threads)


def _error(ensemble: Any, X: Any, y: ArrayLike, votes: Votes, n_threads: int) -> float:
    if votes == "labels":
        losses = voter_losses(ensemble, X, y, votes=votes, n_threads=n_threads)
        return float(losses.errors.mean())
    return float((np.asarray(ensemble.predict(X)) != np.asarray(y)).mean())
