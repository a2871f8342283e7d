"""Contributions of features to scores of model trees, and to probabilities by propagation through the link."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_expit

from committee import _core
from committee.data.matrices import is_sparse
from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.data.table_schema import TableSchema
from committee.vote.committee import Committee
from committee.vote.explain.tree_contributions import abstains, tree_contributions
from committee.vote.links.probability import (
    Link,
    Logistic,
    Probit,
    Share,
    Softmax,
    TemperedMargin,
    TemperedShare,
    Truncated,
)
from committee.vote.members import MemberCommittees, refuse_second_layer
from committee.vote.weighted_votes import signed
from committee.voters.forest import Forest
from committee.voters.model_forest import BoostedCommittees, LinearScores, ModelForest, TrainingRecord
from committee.voters.rounds import LinearLeaves, Rounds

_POINTS, _WEIGHTS = (a / 2.0 for a in np.polynomial.legendre.leggauss(16))
_POINTS += 0.5
_CLOSE = 1e-13
"""Tolerance of the change of the probabilities along an interval."""
_MOST_HALVINGS = 40
_MOST_INTERVALS = 64
"""Intervals per score at one width; more mean wrong derivatives."""
_SLOPES_BLOCK = 1 << 20
"""Derivatives per block of rows."""


def slopes(link: Link, F: F64, total: float) -> F64:
    """Derivatives dp_k / dF_d of a link's probabilities, ``(n, K, D)``."""
    p, K = link.probability(F, total), F.shape[1]
    if K == 1 or (K == 2 and not isinstance(link, TemperedShare)):  # the other links use the difference of two scores
        upper = _slope_of_two(link, signed(F), p, total)
        both: F64 = np.stack([-upper, upper], axis=1)[:, :, None] * np.array([-1.0, 1.0])[-K:]
        return both
    if isinstance(link, Truncated):
        most = 1.0 - 2.0 * link.floor
        told = (1.0 + np.clip(F, -most, most)).sum(axis=1)
        per_score = np.divide(np.abs(F) < most, told[:, None], out=np.zeros_like(F), where=told[:, None] > 0.0)
        return np.asarray((np.eye(K) - p[:, :, None]) * per_score[:, None, :])
    return p[:, :, None] * (np.eye(K) - p[:, None, :]) * _log_slopes(link, F, total)[:, None, :]


def _slope_of_two(link: Link, F: F64, p: F64, total: float) -> F64:
    if isinstance(link, Probit):
        return np.asarray(np.exp(-F * F / 2.0) / sqrt(2.0 * pi))
    if isinstance(link, Truncated):
        return np.where(np.abs(F) < 1.0 - 2.0 * link.floor, 0.5, 0.0)
    evidence = p[:, 0] * p[:, 1]
    if isinstance(link, TemperedShare):
        votes = np.maximum(np.column_stack([total - F, total + F]) / 2.0, 0.0) + link.prior
        return np.asarray(evidence / link.temperature * (0.5 / votes).sum(axis=1))
    return evidence * _factor(link, total)


def _log_slopes(link: Link, F: F64, total: float) -> F64:
    if isinstance(link, Logistic):
        return np.asarray(link.scale * np.exp(log_expit(-link.scale * F)))
    if isinstance(link, Probit):
        return np.asarray(sqrt(2.0 / pi) / erfcx(-F / sqrt(2.0)))
    if isinstance(link, TemperedShare):
        return np.asarray(1.0 / (link.temperature * (np.maximum(F, 0.0) + link.prior)))
    return np.full_like(F, _factor(link, total))


def _factor(link: Link, total: float) -> float:
    if isinstance(link, TemperedMargin):
        return 1.0 / link.temperature
    if isinstance(link, Logistic):
        return link.scale
    assert isinstance(link, Softmax)
    if not link.normalized:
        return link.scale
    return link.scale / total if total > 0.0 else 0.0


def mean_slopes(link: Link, base: F64, step: F64, total: float) -> F64:
    """Mean derivatives between two scores, int_0^1 dp/dF (base + t step) dt, ``(n, K, D)``."""
    n, D = base.shape
    rows = max(1, _SLOPES_BLOCK // (len(_POINTS) * max(2, D) * D))
    if n > rows:
        parts = [mean_slopes(link, base[i : i + rows], step[i : i + rows], total) for i in range(0, n, rows)]
        return np.concatenate(parts)
    mean = np.zeros((n, max(2, D), D))
    row, begin, width = np.arange(n), np.zeros(n), 1.0
    rounding = 8.0 * np.finfo(np.float64).eps * (np.abs(base) + np.abs(step)).max(axis=1)
    for halving in range(_MOST_HALVINGS + 1):
        if not len(row):
            break
        if len(row) > _MOST_INTERVALS * base.size:
            raise ArithmeticError(f"the derivatives of {link} do not sum to the changes of its probabilities")
        start, ahead = base[row], step[row]
        points = start[:, None] + (begin[:, None] + width * _POINTS)[:, :, None] * ahead[:, None]
        inside = slopes(link, points.reshape(-1, D), total).reshape(len(row), len(_POINTS), -1, D)
        part = width * np.einsum("m,nmkd->nkd", _WEIGHTS, inside)
        first, last = (link.probability(start + t[:, None] * ahead, total) for t in (begin, begin + width))
        left = last - first - np.einsum("nkd,nd->nk", part, ahead)
        done = np.abs(left).max(axis=1) <= _CLOSE + np.abs(inside).max(axis=(1, 2, 3)) * rounding[row]
        done |= halving == _MOST_HALVINGS
        # so that sum_d slope_kd step_d is the change of p_k
        np.add.at(mean, row[done], part[done] + _in_proportion(left[done], ahead[done]))
        row, begin, width = np.repeat(row[~done], 2), np.repeat(begin[~done], 2), width / 2.0
        begin[1::2] += width
    return mean


def _in_proportion(left: F64, step: F64) -> F64:
    unit = np.abs(step).max(axis=1, keepdims=True)
    unit = np.divide(step, unit, out=np.zeros_like(step), where=unit > 0.0)
    length = (unit * step).sum(axis=1, keepdims=True)
    unit = np.divide(unit, length, out=np.zeros_like(step), where=length > 0.0)
    return np.asarray(left[:, :, None] * unit[:, None, :])


def carried_shares(link: Link, shares: F64, total: float) -> F64:
    """Aumann-Shapley prices of features in probabilities, from their shares in the scores [1]_ [2]_.

    `shares` is ``(n, p + 1, D)`` with F_0 last; the result is ``(n, p + 1, K)`` with p(F_0) last.

    Equation: carried-shares (docs/theory.md).

    .. [1] R. J. Aumann, L. S. Shapley (1974). Values of non-atomic games. Princeton University Press.
    .. [2] H. Chen, S. M. Lundberg, S.-I. Lee (2022). Explaining a series of models by propagating Shapley values.
       Nature Communications 13, 4512.
    """
    if type(link) is Share:
        return _mean_shares(shares, total)
    base, feature_pieces = shares[:, -1], shares[:, :-1]
    slope = mean_slopes(link, base, feature_pieces.sum(axis=1), total)
    carried = np.einsum("npd,nkd->npk", feature_pieces, slope)
    return np.concatenate([carried, link.probability(base, total)[:, None]], axis=1)


def _mean_shares(shares: F64, total: float) -> F64:
    if total <= 0.0:
        of_none = np.zeros((*shares.shape[:2], max(2, shares.shape[2])))
        of_none[:, -1] = 1.0 / of_none.shape[2]
        return of_none
    mean = shares / total
    if mean.shape[2] > 1:
        return mean
    both = np.concatenate([-mean, mean], axis=2) / 2.0
    both[:, -1] += 0.5
    return both


_BLOCK = 1 << 17
"""Array cells per block of rows, so that the sums of a tree stay in cache."""


def contributions(voters: ModelForest, X: F64, weights: F64, n_threads: int = 1) -> F64:
    """Contribution of each feature to the weighted score: changes of node means on the path, and terms of leaf lines.

    Return ``(n, p + 1)`` for two classes, else ``(n, p + 1, K)``, with the bias last.
    """
    centre, per_voter = require_record(voters).centre, voters.trees_per_voter
    n_outputs = voters.intercept.shape[1] * per_voter
    D, p = voters.design.matrix(X), voters.n_features
    leaf = voters.forest.apply(X, n_threads)
    linear = np.zeros((len(X), n_outputs, D.shape[1]))
    rest = np.zeros((len(X), n_outputs, p + 1))
    step = max(1, _BLOCK // (n_outputs * D.shape[1]))
    for t in range(len(voters.forest)):
        outputs = slice(None) if per_voter == 1 else slice(t % per_voter, t % per_voter + 1)
        weight = weights[t // per_voter]
        path, model = weight * _path_shares(voters, t), voters.model[_nodes(voters, t)]
        for begin in range(0, len(X), step):
            block = slice(begin, begin + step)
            node = leaf[block, t]
            at = model[node]
            linear[block, outputs] += voters.coefficient[at] * (weight * (D[block] - centre[at]))[:, None, :]
            rest[block, outputs] += path[node]
    # a column of the table has the sum of its design columns: its number, its categories, "was missing"
    for c, j in enumerate(voters.design.source.tolist()):
        rest[:, :, j] += linear[:, :, c]
    return rest[:, 0] if n_outputs == 1 else np.ascontiguousarray(rest.swapaxes(1, 2))


def require_score_output(output: str) -> None:
    if output != "score":
        raise ValueError(
            f"output={output!r} is not available; contributions of model trees add up to the scores, before the link. "
            "Take 'score'."
        )


def require_record(voters: ModelForest) -> TrainingRecord:
    if voters.record is None:
        raise ValueError("These model trees hold no record of their training rows, which explanations need; fit anew.")
    return voters.record


def _nodes(voters: ModelForest, tree: int) -> slice:
    return slice(int(voters.forest.offset[tree]), int(voters.forest.offset[tree + 1]))


def node_means(voters: ModelForest, tree: int) -> F64:
    """Mean score of each node of a tree over its training rows, ``(nodes, O)``."""
    record, nodes = require_record(voters), _nodes(voters, tree)
    left, model = voters.forest.left[nodes].tolist(), voters.model[nodes]
    leaves = np.flatnonzero(model >= 0)
    at = model[leaves]
    mean, weight = np.zeros((len(left), voters.intercept.shape[1])), np.zeros(len(left))
    mean[leaves] = voters.intercept[at] + np.einsum("lkc,lc->lk", voters.coefficient[at], record.centre[at])
    weight[leaves] = record.mass[at]
    for i in reversed(range(len(left))):  # children have larger numbers than their parent
        if (a := left[i]) >= 0:
            weight[i] = weight[a] + weight[a + 1]
            mean[i] = mean[a] + weight[a + 1] / weight[i] * (mean[a + 1] - mean[a])
    return mean


def _path_shares(voters: ModelForest, tree: int) -> F64:
    mean, nodes = node_means(voters, tree), _nodes(voters, tree)
    share = np.zeros((*mean.shape, voters.n_features + 1))
    share[0, :, -1] = mean[0]
    for i, (a, j) in enumerate(
        zip(voters.forest.left[nodes].tolist(), voters.forest.feature[nodes].tolist(), strict=True)
    ):
        for child in (a, a + 1) if a >= 0 else ():
            share[child] = share[i]
            share[child, :, j] += mean[child] - mean[i]
    return share


_SHARE_BLOCK = 1 << 20
"""Array cells per block of rows."""


def leaf_probability_shares(voters: ModelForest, X: F64, weights: F64, n_threads: int = 1) -> F64:
    """Share of each feature in the weighted sum of soft model trees' probabilities, ``(n, p + 1, K)``.

    Shapley values of trees with the probabilities at leaf means, plus the lines' shares by `carried_shares`.
    """
    record, link, at_centre = require_record(voters), *soft_scores(voters)
    K, leaf = voters.n_classes, voters.model >= 0
    value = np.zeros((len(leaf), K))
    value[leaf] = link.probability(at_centre[voters.model[leaf]])
    total = _core.tree_contributions(
        X, *voters.forest.walk_arrays, node_weights(voters, record.mass), value, weights, K, n_threads
    )
    node, first_node = voters.forest.apply(X, n_threads), voters.forest.offset
    step = max(1, _SHARE_BLOCK // (X.shape[1] * (K + at_centre.shape[1])))
    for begin in range(0, len(X), step):
        rows = slice(begin, begin + step)
        D = voters.design.matrix(X[rows])
        for t, weight in enumerate(weights.tolist()):
            models = voters.model[first_node[t] : first_node[t + 1]]
            terms = np.flatnonzero(voters.coefficient[models[models >= 0]].any(axis=(0, 1)))
            if not len(terms):  # constants
                continue
            features, place = np.unique(voters.design.source[terms], return_inverse=True)
            at = models[node[rows, t]]
            shares = np.zeros((len(D), len(features) + 1, at_centre.shape[1]))
            shares[:, -1] = at_centre[at]
            for c, j in zip(terms.tolist(), place.tolist(), strict=True):
                shares[:, j] += voters.coefficient[at, :, c] * (D[:, c] - record.centre[at, c])[:, None]
            total[rows, features] += weight * carried_shares(link, shares, 1.0)[:, :-1]
    return total


def node_weights(voters: ModelForest, mass: F64) -> F64:
    """Sum of `mass` ``(L,)`` over the leaves below each node, ``(N,)``."""
    forest, node_weights = voters.forest, np.zeros(len(voters.model))
    leaf = voters.model >= 0
    node_weights[leaf] = mass[voters.model[leaf]]
    first = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    for i in np.flatnonzero(~leaf)[::-1].tolist():  # children have larger numbers than their parent
        child = first[i] + forest.left[i]
        node_weights[i] = node_weights[child] + node_weights[child + 1]
    return node_weights


def probability_contributions(committee: Committee, X: Any, *, n_threads: int = 1) -> F64:
    """Contribution of each feature to a committee's probabilities, ``(n, p + 1, K)``, with the bias last."""
    if is_sparse(X):
        raise TypeError(
            "Contributions to a sparse X would be a dense array; pass X.toarray(), of some rows if X is large"
        )
    if committee.n_classes == 1:
        data = committee.encode(X)
        shares = np.zeros((len(data), data.shape[1] + 1, 1))
        shares[:, -1] = 1.0
        return shares
    link, forest = committee.link, committee.voters
    if link.averages and isinstance(forest, Forest) and abstains(forest):
        raise ValueError(
            f"some trees abstain, and {link} divides by the weight of the others, which is no sum over trees; take "
            "contributions to the score."
        )
    return carried_shares(link, _tally_shares(committee, X, n_threads), committee.total_weight)


def _tally_shares(committee: Committee, X: Any, n_threads: int) -> F64:
    voters, weights = committee.voters, committee.weights
    refuse_second_layer(voters, "contributions are those of members that read the columns")
    if isinstance(voters, (Forest, Rounds, LinearLeaves)):
        shares = tree_contributions(committee, X, n_threads=n_threads)
    elif isinstance(voters, MemberCommittees) and not voters.reads_tables:
        data = committee.encode(X)
        shares = np.zeros((len(data), data.shape[1] + 1, voters.n_classes))
        for number, (weight, one) in enumerate(zip(weights.tolist(), voters.members, strict=True)):
            assert isinstance(one, Committee)
            try:
                shares += weight * probability_contributions(one, data, n_threads=n_threads)
            except (TypeError, ValueError) as error:
                raise type(error)(f"member {number}: {error}") from error
    elif isinstance(voters, LinearScores):
        shares = contributions(voters, committee.encode(X), weights, n_threads)
    elif isinstance(voters, BoostedCommittees) and are_soft(voters.members):
        shares = leaf_probability_shares(voters.members, committee.encode(X), voters.tree_weights(weights), n_threads)
    else:
        raise TypeError(
            f"no contributions add up to the probabilities of {type(voters).__name__}; they need voters that are "
            "native trees, lines, or SBPMT's with voting='soft' and tree='shared', not other libraries' estimators."
        )
    return shares if shares.ndim == 3 else shares[:, :, None]


def soft_scores(voters: ModelForest) -> tuple[Link, F64]:
    """Link of soft model trees, and the scores ``(L, O)`` of the mean design row of each leaf."""
    link: Link = Probit() if voters.link == "probit" else Logistic(scale=1.0)
    return link, voters.intercept + np.einsum("lkc,lc->lk", voters.coefficient, require_record(voters).centre)


def are_soft(trees: ModelForest) -> bool:
    return trees.soft and trees.trees_per_voter == 1


def shap_explanation(learner: Any, X: Any, output: str | None = None, background: Any = None) -> Any:
    """Contributions of a fitted learner, ``(n, p)`` or ``(n, p, K)``, as a ``shap.Explanation``."""
    require_package("shap", "an explanation for shap's pictures", "contributions() has its numbers as an array")
    import shap

    asked: dict[str, Any] = {} if output is None else {"output": output}
    if background is None:
        shares: F64 = learner.contributions(X, **asked)
    else:
        shares = learner.interventional_contributions(X, background, **asked)
    if shares.ndim == 3 and shares.shape[2] <= 2 and hasattr(learner, "classes_"):
        shares = shares[:, :, -1]
    table = None if learner.table_ is None else learner.table_.source
    rows = learner.validate_rows(X)
    data = learner.committee_.encode(rows) if table is None else table.encode(rows)
    names = [f"x{j}" for j in range(data.shape[1])] if table is None or table.names is None else list(table.names)
    several = shares.ndim == 3
    classes = getattr(learner, "classes_", None)
    return shap.Explanation(
        shares[:, :-1],
        base_values=shares[:, -1],
        data=data,
        display_data=data if table is None else decode_rows(data, table),
        feature_names=names,
        output_names=[str(label) for label in classes.tolist()] if several and classes is not None else None,
    )


def decode_rows(data: F64, table: TableSchema) -> NDArray[Any]:
    shown = data.astype(object)
    for j in range(data.shape[1]):
        categories = table.coded(j)
        if categories is not None:
            names = np.array([*categories, None], dtype=object)
            known = ~np.isnan(data[:, j])
            shown[:, j] = names[np.where(known, data[:, j], len(categories)).astype(np.intp)]
    return shown
