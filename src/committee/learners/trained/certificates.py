"""What is proved of the error of a fitted ensemble: one number first, then every bound that it can have."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.bounds.arguments import risk_of_failure
from committee.bounds.binomial_tail import binomial
from committee.bounds.gibbs_loss import first_order
from committee.bounds.held_out_rows import held_out_errors
from committee.bounds.margin_moments import c_bound_pac_bayes
from committee.bounds.result import Bound
from committee.bounds.tandem_loss import tandem
from committee.bounds.unlabelled_rows import unlabelled_margins
from committee.bounds.voter_losses import VoterLosses
from committee.bounds.weight_sums import partition
from committee.learners.base.estimator import BaseClassifier
from committee.learners.trained.certificate import Certificate
from committee.learners.trained.ensemble_losses import JudgedOn, Votes, voter_losses
from committee.vote.committee import Committee

CERTIFICATES: dict[str, Callable[..., Bound]] = {
    "test_set": held_out_errors,
    "binomial": binomial,
    "partition": partition,
    "first_order": first_order,
    "tandem": tandem,
    "c_bound_separate": partial(c_bound_pac_bayes, form="separate"),
    "c_bound": partial(c_bound_pac_bayes, form="joint"),
}
"""Bounds by name, each a function of losses and delta; a further one is a file in `bounds/` and an entry."""

WHOLE_VOTE = ("test_set", "binomial")
"""Those that need rows which none of the voters has seen."""

UNLABELLED = "unlabelled_margins"
"""The one that needs rows without labels too."""

HEADLINE = "test_set"
"""The one number where the rows can give it, with all of delta: as close as a bound by these rows can be."""

LEAST_UNTOUCHED = 30
"""Rows that no voter has drawn from which on they make the headline: a few that all draws left by chance prove next to
nothing. Their number depends on no label, so that the choice needs no part of delta."""


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
    """What the error of a fitted ensemble on new rows cannot exceed: one number, and a table of bounds.

    Which bound the one number is does not depend on the rows. Where they are new to the whole vote it is the test-set
    bound ("test_set"), with all of delta; else the least of the table, whose bounds share delta evenly, so that the
    smallest may be believed. The ensemble's absolute weights are the posterior, equal weights the prior.

    Parameters
    ----------
    ensemble : fitted classifier or Committee
        Any that `Committee.from_estimator` takes. It is not changed.
    X : table or array-like (n, p)
        ``on="validation"``: rows that had no part in training. ``on="oob"``: all the rows that it was fitted on, in
        their order. Rows count once each, whatever weight they were fitted with. **Training rows as held-out rows give
        numbers that mean nothing**, and cannot be distinguished here.
    y : array-like (n,)
        Their labels.
    delta : float, default=0.05
        Probability with which the one number may fail; and, apart from it, any of the bounds of the table.
    on : {"validation", "oob"}, default="validation"
        "oob": each voter, and each pair of voters, is judged by the rows that its draws left out. For voters trained on
        draws: `RandomForestClassifier` and `SubaggingClassifier` (of a whole ``random_state``, ``oob_score=True``),
        `SBPMTClassifier`, scikit-learn's forests and bagging. Rows that no voter has drawn, such as the `reserve` of a
        `RandomForestClassifier` or a `CommitteeClassifier`, count for every voter and every pair, and judge the whole
        vote too.
    X_test, y_test : table or array-like and array-like, default=None
        Rows for the test error, if it is to stand beside the bounds.
    bounds : tuple of str, default=None
        Names out of "test_set", "binomial" (both by held-out rows, or those out of bag that no voter has drawn),
        "partition" (of voters that name one class each), "first_order", "tandem", "c_bound_separate", "c_bound",
        "unlabelled_margins" (with `X_unlabelled`); None: all that the rows can give. "test_set" is for an ensemble
        whose weights, too, were fixed before these rows were seen; leave it out for one re-weighted on them.
    votes : {"own", "labels"}, default="own"
        "own": the ensemble's vote as it is. "labels": of voters that give scores, the vote in which each names one
        class; the test error is then of this vote too.
    sample_weight : array-like (n,), default=None
        ``on="oob"``: the weights that the ensemble was fitted with; rows of weight 0 are left out.
    X_unlabelled : table or array-like, default=None
        Rows without labels that had no part in training; they may be `X_test`. With ``votes="own"``.
    n_threads : int, default=1
        Ceiling on the number of threads.

    Returns
    -------
    Certificate

    Raises
    ------
    TypeError
        If `ensemble` is no classifier whose voters are known.
    ValueError
        If an argument is out of its range, a bound is unknown or not for these rows, only one of X_test and y_test is
        given, `y` holds a label that the ensemble does not know, or ``on="oob"`` and its draws are not known to be of
        these rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import RandomForestClassifier
    >>> from committee.learners.trained import certify
    >>> X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> forest = RandomForestClassifier(max_samples=0.3, oob_score=True, random_state=0).fit(X, y)
    >>> certificate = certify(forest, X, y, on="oob", X_test=X_test, y_test=y_test)
    >>> certificate.test_error < certificate.headline.value < 0.4
    True
    >>> print(certificate.sentences()[1].partition(": ")[2])
    first order, the least of 4 bounds that share delta.
    """
    delta = risk_of_failure(delta)
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together; one of them is missing.")
    known = (*CERTIFICATES, UNLABELLED)
    if isinstance(bounds, str):
        raise ValueError(f"bounds={bounds!r} is one name; give a tuple of them: ({bounds!r},).")
    for name in bounds or ():
        if name not in known:
            raise ValueError(f"bounds holds {name!r}; known are {', '.join(known)}.")
    if bounds is not None and not bounds:
        raise ValueError(f"bounds is empty; give some of {', '.join(known)}, or None for all.")
    if X_unlabelled is not None and votes != "own":
        raise ValueError(f"X_unlabelled is given with votes={votes!r}; it is for votes='own' alone.")
    losses = voter_losses(ensemble, X, y, on=on, votes=votes, sample_weight=sample_weight, n_threads=n_threads)
    bounded = votes == "labels" or _has_bounded_votes(ensemble)
    possible = _possible(losses, X_unlabelled is not None, bounded=bounded)
    names = possible if bounds is None else tuple(bounds)
    for name in names:
        if name not in possible:
            needs = "on='validation', or rows that no voter has drawn (reserve)"
            if not bounded and name != "test_set":
                needs = "votes with a bound: regressors may say any number of new rows; votes='labels' has one"
            elif name == UNLABELLED:
                needs = "X_unlabelled"
            elif name == "partition":
                needs = "voters that name one class each, such as votes='labels'"
            raise ValueError(f"bounds holds {name!r}, which needs {needs}; there are {', '.join(possible)}.")
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
    return Certificate(
        type(ensemble).__name__, on, losses.n_rows, delta, headline, by_name, test_error, n_untouched, votes
    )


def _has_bounded_votes(ensemble: Any) -> bool:
    committee = ensemble if isinstance(ensemble, Committee) else Committee.from_estimator(ensemble)
    return getattr(committee.voters, "bounded", True)


def _possible(losses: VoterLosses, unlabelled: bool, *, bounded: bool) -> tuple[str, ...]:
    """Bounds that the rows and the votes can give; of votes without a bound that by their errors alone."""
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
    """How many inequalities may fail, each with its share of delta; the partition bound is by that of another."""
    same = "binomial" if losses.unseen is None else "first_order"
    return len({same if name == "partition" else name for name in names})


def _leads(ensemble: Any, X: Any, n_threads: int) -> NDArray[np.float64]:
    """Lead of the elected class of each row over the second, as a share of all weight."""
    committee = ensemble if isinstance(ensemble, Committee) else Committee.from_estimator(ensemble)
    named = ensemble.validate_rows(X) if isinstance(ensemble, BaseClassifier) else X
    return committee.margins(named, committee.predict(named, n_threads=n_threads), n_threads=n_threads)


def _error(ensemble: Any, X: Any, y: ArrayLike, votes: Votes, n_threads: int) -> float:
    """Share of wrong rows: of an ensemble's predictions, or of the vote of its voters' labels, ties being wrong."""
    if votes == "labels":
        losses = voter_losses(ensemble, X, y, votes=votes, n_threads=n_threads)
        return float(losses.errors.mean())
    return float((np.asarray(ensemble.predict(X)) != np.asarray(y)).mean())
