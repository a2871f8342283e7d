"""Bounds of a fitted SBPMT, AdaBoost or subagging by its training rows or record."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from committee.bounds.boosting import boosting_vc, exponential_loss, margin_product, model_tree_vc_dimension
from committee.bounds.margin_curves import voting, voting_certified
from committee.bounds.rademacher import ln_tree_class, splits_of_bins, splits_of_rows
from committee.bounds.result import Bound, check_delta, check_number
from committee.bounds.subsamples import majority, overlap, subagging, unpack_draws
from committee.data.bins import Bins, most_bins
from committee.data.number_types import F64
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.learners.bagging.subagging import SubaggingClassifier
from committee.learners.boosting.adaboost import AdaBoostClassifier
from committee.learners.trees.model_tree import depth_for
from committee.learners.trees.tree import TreeVoter

BY_LABELS = (
    "With voting='soft' the committees vote by probabilities, which the theorem does not cover: the bound is on the "
    "weighted vote of the same trees by the classes that they name."
)


def for_sbpmt(
    model: SBPMTClassifier,
    X: Any,
    y: ArrayLike,
    delta: float = 0.05,
    *,
    theta: float = 0.0,
    vc_dimension: float | None = None,
) -> dict[str, Bound]:
    """Return all bounds that apply to a fitted SBPMT.

    - ``"margins"``: share of a committee's training rows with margin <= theta, mean over the committees. Theorem 5 for
      two classes and AdaBoost's own weights (``emphasis="samme"``, "m1" and "mh"), else the exponential-loss
      product. The term ``observed`` is the share itself. Not where labels have weights: "m2", and "mh" of more classes.
    - ``"boosting"``, two classes: Theorem 4, error of a committee on new rows by its training error. All M
      hold together with probability 1 - delta; the value is their mean.
    - ``"probit_risk"``, two classes, not "m2": Theorem 6, the same by the risk of the leaves. With "half", and for a
      committee with a tree of risk ln(2) / 2 or more, min(1, exponential-loss product of risk / ln 2) replaces
      exp(-2 sum gamma_t^2).
    - ``"majority"``, hard votes: error of the whole vote by the committees' mean out-of-bag error.
    - ``"subagging"``, hard votes: Theorem 3 with the exact A, B, C of the draws; p_sub at each row is estimated by the
      share of wrong votes among the committees that did not see it.

    The last two rest on an estimate and are no guarantees. The first three are for trees that name a class each; with
    soft votes they bound that vote of the same trees.

    Parameters
    ----------
    model : SBPMTClassifier
        Fitted, without row weights other than 0 and 1 and without `class_weight` (the theorems count rows).
    X, y : table or array-like (n, p) and array-like (n,)
        Training rows and labels.
    delta : float, default=0.05
        Theorems 4 and 6 fail with at most this probability.
    theta : float, default=0.0
        Margin of ``"margins"``, in [-1, 1].
    vc_dimension : float, default=None
        VC-dimension of the trees; None: `model_tree_vc_dimension` of the largest tree that the parameters allow.

    Returns
    -------
    dict of str to Bound

    Raises
    ------
    TypeError
        If model is of another class.
    ValueError
        If X has another number of rows than the fit, y holds an unknown label, a number is out of range, or the model
        has class weights, one class alone, or drew groups.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import SBPMTClassifier
    >>> from committee.learners.trained_ensembles import for_sbpmt
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SBPMTClassifier(n_leaf_steps=5, max_depth=2, random_state=0).fit(X, y)
    >>> bounds = for_sbpmt(model, X, y)
    >>> bounds["margins"].terms["observed"] <= bounds["margins"].value, bounds["boosting"].vacuous
    (True, True)
    """
    theta, delta = check_number("theta", theta, -1.0, 1.0), check_delta(delta)
    _check_model(model, SBPMTClassifier)
    if model.class_weight is not None:
        raise ValueError(
            f"model was fitted with class_weight={model.class_weight!r}, and these theorems count every row once; fit "
            "it without, or use certify."
        )
    if hasattr(model, "n_groups_"):
        raise ValueError(
            f"model drew {model.n_groups_} groups, or different rows with their copies, and these theorems are of "
            "draws of rows; fit it without groups and with each row once, or use certify on held-out rows."
        )
    encoded, labels = _training_rows(model, X, y)
    drawn = unpack_draws(model.draws_)[:, : len(labels)]
    margins = _committee_margins(model, encoded, labels)
    bounds = {"margins": _margins(model, margins, drawn, theta)} if _weighs_rows(model) else {}
    if len(model.classes_) == 2:
        d = _vc_dimension(model, int(drawn[0].sum())) if vc_dimension is None else vc_dimension
        bounds |= _on_new_rows(model, margins, drawn, d, delta)
    if model.voting == "soft":
        bounds = {name: replace(bound, remarks=(*bound.remarks, BY_LABELS)) for name, bound in bounds.items()}
    if model.voting == "hard":
        bounds |= _of_the_vote(model, margins, drawn)
    return bounds


def for_adaboost(model: AdaBoostClassifier, theta: float = 0.0) -> Bound:
    """Return a bound on the share of a fitted AdaBoost's training rows with margin <= theta.

    Discrete votes of two classes at full steps, none of error 0: Theorem 5. Other discrete votes: the exponential-loss
    product. Others, by the Z_t in ``normalisers_`` and the total weight S = sum alpha_t spread_t: exp(theta S / 2) prod
    Z_t if votes abstain, exp(theta S) prod Z_t if they are confidence-rated, and (K / 2) exp(theta S / 2) prod Z_t for
    AdaBoost.MH, K > 2 classes, as on a row with margin <= theta the losses of the right class and of its rival sum to 2
    exp(-theta S / 2) or more.

    Parameters
    ----------
    model : AdaBoostClassifier
        Fitted. Rows held out for early stopping do not count, others count with their weight.
    theta : float, default=0.0
        Margin, in [-1, 1]; 0 bounds the training error.

    Returns
    -------
    Bound

    Raises
    ------
    TypeError
        If model is of another class.
    ValueError
        If theta is out of range, the model has one class alone, or the votes abstain between more than two classes:
        their Z_t bound no share of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.learners.trained_ensembles import for_adaboost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(vote="confidence").fit(X, y)
    >>> 1 - model.score(X, y) <= for_adaboost(model).value < 0.01
    True
    """
    theta = check_number("theta", theta, -1.0, 1.0)
    _check_model(model, AdaBoostClassifier)
    alpha, K = model.committee_.weights, len(model.classes_)
    errors = model.estimator_errors_
    if model.vote_ == "discrete":
        classical = K == 2 and model.learning_rate == 1.0 and errors.min() > 0.0 and errors.max() <= 0.5
        return margin_product(errors, theta) if classical else exponential_loss(errors, alpha, theta)
    if model.vote_ == "abstaining" and K > 2:
        raise ValueError(
            f"model has vote='abstaining' and {K} classes; the Z_t of such votes bound no share of rows. "
            "Use vote='discrete' or 'confidence'."
        )
    total = float(np.abs(alpha) @ model.committee_.voters.spread)
    total *= 1.0 if model.vote_ == "confidence" and K == 2 else 0.5
    Z = model.normalisers_
    product, factor, classes = float(Z.prod()), exp(theta * total), K / 2
    return Bound(
        name="exponential-loss product",
        statement=f"share of training rows with margin <= {theta:g} is at most the value",
        value=classes * product * factor,
        terms={
            "rounds": float(len(Z)),
            "largest_normaliser": float(Z.max()),
            "product_of_normalisers": product,
            "margin_factor": factor,
            "class_factor": classes,
        },
        advice="Voters of smaller Z, or more rounds." + (" A smaller theta." if theta > 0.0 else ""),
        inputs={"normalisers": Z, "theta": theta},
        remarks=(f"Theorem 5 does not apply to vote={model.vote_!r}: it is for votes of one class each.",),
    )


def for_vote(
    model: AdaBoostClassifier | SubaggingClassifier,
    X: Any,
    y: ArrayLike,
    eta: float = 0.05,
    *,
    ln_size: float | None = None,
) -> dict[str, Bound]:
    """Return voting bounds on the error of a fitted committee on new rows, by its margins.

    - ``"lectures"``: `voting` with C = 1 and |B| the number of trees that bins and growth limits allow, or by
      `ln_size`. Not a certificate.
    - ``"certified"``: `voting_certified`. A threshold lies between the values of two training rows, and is counted by
      them: ``rows_per_voter`` is two for every split of a tree.

    For stumps of two classes |B| is twice the number of thresholds, and two constants.

    Parameters
    ----------
    model : AdaBoostClassifier or SubaggingClassifier
        Fitted, with votes for one class each, or abstaining. The bounds hold for all committees at once, however rows
        were weighted, drawn or held out.
    X, y : table or array-like (n, p) and array-like (n,)
        All training rows, each counted once, and labels.
    eta : float, default=0.05
        Each bound fails with at most this probability.
    ln_size : float, default=None
        ln|B| of voters that were fixed before the rows were seen (``rows_per_voter`` is then 0); needed if the voters
        are not native trees of limited growth.

    Returns
    -------
    dict of str to Bound

    Raises
    ------
    TypeError
        If model is of another class.
    ValueError
        If votes are scores, |B| is unknown, a number is out of range, or the model has one class alone.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.learners.trained_ensembles import for_vote
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bound = for_vote(AdaBoostClassifier().fit(X, y), X, y)["certified"]
    >>> bound.vacuous, f"{bound.terms['rows_to_be_useful']:.0e} rows would bring it down to 1/2"
    (True, '4e+04 rows would bring it down to 1/2')
    """
    _check_model(model, AdaBoostClassifier, SubaggingClassifier)
    committee = model.committee_
    if committee.voters.kind != "label":
        raise ValueError(
            f"the voters of {type(model).__name__} give scores, of which there are infinitely many: the voting bound "
            "is for votes of one class each. Use vote='discrete' or 'abstaining', or voting='hard'."
        )
    named = model.validate_rows(X)
    margins = committee.margins(named, y)
    rows, K = 0, len(model.classes_)
    by_bins = by_rows = ln_size
    if by_bins is None or by_rows is None:
        by_bins, by_rows, rows = _size_of_class(model, model.table_.encode(named))
    return {
        "lectures": voting(margins, by_bins, eta),
        "certified": voting_certified(margins, by_rows, eta, n_classes=K, rows_per_voter=rows),
    }


def _check_model(model: Any, *learners: type[AdaBoostClassifier | SubaggingClassifier | SBPMTClassifier]) -> None:
    if not isinstance(model, learners):
        names = " or ".join(learner.__name__ for learner in learners)
        raise TypeError(f"model is of type {type(model).__name__}; these bounds are for {names}. Else use certify.")
    check_is_fitted(model)
    if len(model.classes_) < 2:
        raise ValueError(
            f"model was fitted on the class {model.classes_[0]} alone, and these bounds need two; fit it on several."
        )


def _size_of_class(model: AdaBoostClassifier | SubaggingClassifier, X: F64) -> tuple[float, float, int]:
    if isinstance(model, SubaggingClassifier):
        tree = TreeVoter() if model.estimator is None else model.estimator
        native, outputs = type(tree) is TreeVoter, len(model.classes_)
    else:
        tree, native = model, model.voter is None
        outputs = len(model.classes_) + (model.vote_ == "abstaining")
    if not native or (tree.max_depth is None and tree.max_leaf_nodes is None):
        voters = "trees of unlimited growth" if native else "classifiers that the library does not know"
        raise ValueError(
            f"|B| is unknown: the voters are {voters}. Give its logarithm as ln_size, or set max_depth or "
            "max_leaf_nodes of native trees."
        )
    leaves = most_leaves(tree, len(X), tree.max_depth)
    bins = Bins.learn(X, None, model.table_.n_categories, most_bins(tree.max_bins))  # the fit may have fewer bins
    by_bins = splits_of_bins(replace(bins, n_categories=model.table_.n_levels), np.asarray(np.isnan(X).any(axis=0)))
    by_rows = splits_of_rows(len(X), model.table_.n_levels)
    return ln_tree_class(by_bins, leaves, outputs), ln_tree_class(by_rows, leaves, outputs), 2 * (leaves - 1)


def most_leaves(tree: Any, n_rows: int, max_depth: int | None) -> int:
    by_depth = None if max_depth is None else 2 ** min(max_depth, 60)
    limits = (n_rows // tree.min_samples_leaf, by_depth, tree.max_leaf_nodes)
    return int(max(1, min(limit for limit in limits if limit is not None)))


def _training_rows(model: SBPMTClassifier, X: Any, y: ArrayLike) -> tuple[F64, NDArray[np.int64]]:
    encoded: F64 = model.table_.encode(model.validate_rows(X))
    target = column_or_1d(y)
    check_consistent_length(encoded, target)
    n = len(target)
    if -(-n // 8) != model.draws_.shape[1] or n < model.n_samples_fit_:
        raise ValueError(
            f"X has {n} rows, but model was fitted on {model.n_samples_fit_} (not counting those of zero weight); "
            "give the rows that it was fitted on."
        )
    unknown = ~np.isin(target, model.classes_)
    if unknown.any():
        raise ValueError(f"y holds {target[unknown][0]!r}, which is no class of the model; give the y of its fit.")
    return encoded, np.searchsorted(model.classes_, target)


def _committee_margins(model: SBPMTClassifier, encoded: F64, labels: NDArray[np.int64]) -> F64:
    # (M, n), in votes by labels also of soft voting; a committee at a time, as shares are K times larger
    voters: Any = model.committee_.voters
    voters = replace(voters, members=replace(voters.members, soft=False))
    margins = np.empty((len(voters), len(labels)))
    rows = np.arange(len(labels))
    for m in range(len(voters)):
        share = voters[m].shares(encoded)[:, 0]
        own = share[rows, labels]
        share[rows, labels] = -np.inf
        margins[m] = own - share.max(axis=1)
    return margins


def _errors_risks_and_weights(model: SBPMTClassifier) -> list[tuple[F64, F64, F64]]:
    # of each committee's trees
    voters: Any = model.committee_.voters
    cut = voters.start[1:-1]
    each = [np.split(values, cut) for values in (model.errors_, model.risks_, voters.alpha)]
    return list(zip(*each, strict=True))


def _is_classical(model: SBPMTClassifier) -> bool:
    return model.emphasis in ("samme", "m1", "mh") and len(model.classes_) == 2


def _weighs_rows(model: SBPMTClassifier) -> bool:
    # a round multiplies the weights of its wrong rows by exp(alpha), and changes nothing else
    return model.emphasis in ("samme", "half", "m1") or _is_classical(model)


def _margins(model: SBPMTClassifier, margins: F64, drawn: NDArray[np.bool_], theta: float) -> Bound:
    classical = _is_classical(model)
    each = []
    for errors, _, alpha in _errors_risks_and_weights(model):
        # a perfect tree is alone in its committee, and every margin 1, whatever its weight
        exact = errors[0] == 0.0 or (classical and errors.max() <= 0.5)
        each.append(margin_product(errors, theta) if exact else exponential_loss(errors, alpha, theta))
    observed = [float((m[d] <= theta).mean()) for m, d in zip(margins, drawn, strict=True)]
    remark = (
        f"Theorem 5 is for two classes and AdaBoost's own weights; the model has {len(model.classes_)} classes and "
        f"emphasis={model.emphasis!r}. The product of the exponential loss holds for any."
    )
    values = [bound.value for bound in each]
    return Bound(
        name="Theorem 5, margin product" if classical else "exponential-loss product",
        statement=f"mean over committees of the share of their training rows with margin <= {theta:g} is at most "
        "the value",
        value=float(np.mean(values)),
        terms={
            "observed": float(np.mean(observed)),
            "smallest": min(values),
            "largest": max(values),
            "rounds": float(np.mean([bound.terms["rounds"] for bound in each])),
        },
        advice="Trees of smaller weighted error: more steps in the leaves, deeper trees."
        + (" More rounds." if model.n_boosting_rounds < 50 else "")
        + (" emphasis='samme', whose steps make each factor as small as it can be." if not classical else ""),
        inputs={"theta": theta, "emphasis": model.emphasis, "n_classes": len(model.classes_)},
        remarks=() if classical else (remark,),
    )


def _on_new_rows(
    model: SBPMTClassifier, margins: F64, drawn: NDArray[np.bool_], vc_dimension: float, delta: float
) -> dict[str, Bound]:
    M, m = len(drawn), int(drawn[0].sum())
    classical = _is_classical(model)
    training_error = float(np.mean([(row[d] <= 0.0).mean() for row, d in zip(margins, drawn, strict=True)]))
    by_risk = []
    for _, risks, alpha in _errors_risks_and_weights(model):
        edge = 0.5 - risks / log(2.0)
        if classical and edge.min() > 0.0:
            by_risk.append(exp(-2.0 * float(edge @ edge)))
        else:
            by_risk.append(min(1.0, exponential_loss(np.minimum(risks / log(2.0), 1.0), alpha).value))
    statement = (
        f"mean over the {M} committees of their error on new rows is at most the value, with probability "
        f"{1.0 - delta:g} over the training rows"
    )
    rounds = model.n_boosting_rounds
    boosting = replace(boosting_vc(training_error, m, rounds, vc_dimension, delta / M), statement=statement)
    if not _weighs_rows(model):
        return {"boosting": boosting}
    probit = boosting_vc(float(np.mean(by_risk)), m, rounds, vc_dimension, delta / M)
    other = (
        f"Theorem 6 does not apply to emphasis={model.emphasis!r}: it is for AdaBoost's own weights. The product of "
        "the exponential loss, with risk / ln 2 for the error, takes the place of exp(-2 sum gamma_t^2)."
    )
    return {
        "boosting": boosting,
        "probit_risk": replace(
            probit,
            name="Theorem 6, probit risk" if classical else "probit-risk product",
            statement=statement,
            terms={"largest_risk": float(model.risks_.max()), **probit.terms},
            advice="More steps in the leaves, which lower the risk. " + probit.advice,
            remarks=() if classical else (other,),
        ),
    }


def _of_the_vote(model: SBPMTClassifier, margins: F64, drawn: NDArray[np.bool_]) -> dict[str, Bound]:
    unseen = ~drawn
    if model.n_samples_fit_ < drawn.shape[1]:
        unseen &= drawn.any(axis=0)  # a row in no draw is taken for one of zero weight
    n_voters = unseen.sum(axis=0)
    if not n_voters.any():
        return {}
    wrong = ((margins <= 0.0) & unseen).sum(axis=0)[n_voters > 0] / n_voters[n_voters > 0]
    estimated = (
        "p_sub is estimated by the votes of the committees that did not see a row "
        f"({n_voters[n_voters > 0].mean():.1f} in the mean), all of one sample: an estimate, not a guarantee.",
    )
    vote = subagging(wrong, overlap(drawn, model.n_samples_fit_))
    plain = majority(float(wrong.mean()), len(drawn))
    return {"majority": replace(plain, remarks=estimated), "subagging": replace(vote, remarks=estimated + vote.remarks)}


def _vc_dimension(model: SBPMTClassifier, n_drawn: int) -> float:
    depth = depth_for(n_drawn, model.min_samples_leaf) if model.max_depth == "auto" else model.max_depth
    members: Any = model.committee_.voters
    n_columns, n_levels = len(members.members.design), model.table_.n_levels
    return model_tree_vc_dimension(most_leaves(model, n_drawn, depth), n_columns, n_levels)
