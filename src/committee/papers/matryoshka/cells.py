"""One cell of the rebuilt comparison of nested trees: a setting, fitted on a split of a table and measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.matryoshka.plan import REFERENCE, Setting
from committee.papers.shared.bundled_tables import Folder
from committee.papers.shared.cells import timed
from committee.papers.shared.folds import Fold, NamedTable
from committee.papers.shared.paired import packed
from committee.papers.shared.tables import read_from_folder

if TYPE_CHECKING:
    from committee.voters.vote_graph import VoteGraph

EXPECTED, LIKELY, MAJORITY = "expected", "likely_path", "majority"
WALKS = (EXPECTED, LIKELY, MAJORITY)
"""Ways for a committee to go by: E[H], H along the likelier answers, the sign of most paths."""

RARE = 0.001
"""Voters that a row meets with less probability than this add little to its E[H]."""


def read_named(name: str, folder: Folder) -> NamedTable:
    """Read a table from the folder, and refuse one that has not two classes."""
    table = read_from_folder(name, folder)
    if len(table.labels.classes) != 2:
        raise ValueError(
            f"table {name!r} has {len(table.labels.classes)} classes, but two are compared here; name others with"
            " --tables"
        )
    return NamedTable(name, table)


def nesting_cell(fold: Fold, setting: Setting, n_paths: int | None) -> Cell:
    """Fit a setting on the training rows of a split, and measure; without `n_paths` no more than needs no paths."""
    model = setting.make(fold.seed + fold.repeat).set_params(categorical_features=fold.categorical)
    X, y = fold.rows[0], fold.positive[0]
    _, seconds = timed(lambda: model.fit(X, y))
    return {
        "training_rows": len(y),
        "test_rows": len(fold.positive[1]),
        "fit_seconds": round(seconds, 5),
        **(_of_reference(model, fold) if setting.method == REFERENCE else measured(model, fold, n_paths)),
    }


def measured(model: Any, fold: Fold, n_paths: int | None) -> dict[str, Any]:
    """Measure a learner of probabilistic voters, fitted on a split.

    ``bound`` is as the learner has it, and ``true_bound`` of its graph with known probabilities; ``train_error`` and
    ``path_error`` are the expected errors of one sampled path on training and test rows (None without paths); ``right``
    and ``log_loss`` are by walk, without paths no majority of them (``right`` are bits of the test rows as hexadecimal
    digits); ``met`` and ``steps``, the voters that a test row meets on a sampled and on the likeliest path, and
    ``needed``, those that it meets on a path in a thousand; ``draws``, the mean number; and the `course` of the bound.
    `n_paths` are sampled of each row where they are too many to add up.
    """
    from committee.vote.committee import Committee

    (X_train, X_test), (y_train, y_test) = fold.rows, fold.positive
    graph = model.graph_
    on_likely = replace(graph, walk=LIKELY)
    likely = Committee(on_likely, np.ones(len(graph)), model.classes_, model.committee_.link, model.table_)
    encoded = model.table_.encode(X_test)
    right, log_loss = {}, {}
    for walk, committee in ((EXPECTED, model.committee_), (LIKELY, likely)):
        P = committee.predict_proba(X_test)[:, 1]
        right[walk] = packed((P > 0.5) == y_test)
        log_loss[walk] = mean_log_loss(P, y_test, 0.0)
    train_error = path_error = None
    if n_paths is not None:
        model.set_params(n_paths=n_paths)
        on_train, P = model.vote_probability(X_train)[0], model.vote_probability(X_test)[0]
        train_error = float(np.abs(y_train - on_train).mean())
        path_error = float(np.abs(y_test - P).mean())
        right[MAJORITY] = packed((P > 0.5) == y_test)
        log_loss[MAJORITY] = mean_log_loss(P, y_test, 0.25 / len(y_train))
    return {
        "voters": len(graph),
        "bound": model.bound_,
        "true_bound": exponential_loss(graph, model.table_.encode(X_train), y_train),
        "train_error": train_error,
        "path_error": path_error,
        "right": right,
        "log_loss": log_loss,
        "met": float(model.cost(X_test).mean()),
        "steps": float(on_likely.cost(encoded).mean()),
        "needed": float((graph.reach(encoded) >= RARE).sum(axis=1).mean()),
        "draws": float(model.n_draws_.mean()),
        **course(model.bounds_, model.edges_),
        **entropy_course(model.entropies_, model.edges_),
    }


def _of_reference(model: Any, fold: Fold) -> dict[str, Any]:
    """The same of AdaBoost on ordinary stumps, of which every row takes the one path there is."""
    (X_train, X_test), (y_train, y_test) = fold.rows, fold.positive
    P = model.predict_proba(X_test)[:, 1]
    right, voters = (P > 0.5) == y_test, len(model.normalisers_)
    bounds = np.cumprod(model.normalisers_)
    margins = np.where(y_train, 1.0, -1.0) * model.decision_function(X_train)
    return {
        "voters": voters,
        "bound": float(bounds[-1]),
        "true_bound": float(np.exp(-margins).mean()),
        "train_error": float((model.predict(X_train) != y_train).mean()),
        "path_error": float(1.0 - right.mean()),
        "right": {EXPECTED: packed(right)},
        "log_loss": {EXPECTED: mean_log_loss(P, y_test, 0.0)},
        "met": float(voters),
        "steps": float(voters),
        "needed": float(voters),
        "draws": 0.0,
        **course(bounds, 0.5 - model.estimator_errors_),
    }


def exponential_loss(graph: VoteGraph, X: F64, positive: NDArray[np.bool_]) -> float:
    r"""Mean of E exp(-H(x_i) y_i) over rows, by one pass forward through the graph of one score.

    With w_t(i) the sum of p exp(-H y_i) over all ways to node t, :math:`w_{next} \mathrel{+}= w_t q \exp(\mp v y_i)`;
    what leaves the graph adds up to the mean. On the training rows this is the bound C, if the learner knew q.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, eq. 7.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.papers.matryoshka.cells import exponential_loss
    >>> from committee.voters.probabilistic_voters import SoftStumps
    >>> from committee.voters.vote_graph import VoteGraph
    >>> stump = SoftStumps.of([(0, 0.0, 0.0, True, 0.5, None)], n_features=1)
    >>> graph = VoteGraph(stump, np.array([[-1, -1]], np.int32), np.array([[1.0, -1.0]]), np.array([0, 1]), 2)
    >>> loss = exponential_loss(graph, np.array([[-2.0], [3.0]]), np.array([True, True]))
    >>> round(loss, 12) == round(float(np.cosh(1.0)), 12)
    True
    """
    q = np.ascontiguousarray(graph.voters.probabilities(X).T)
    y = np.where(positive, 1.0, -1.0)
    weight = np.zeros((len(graph.next), len(X)))
    weight[0] = 1.0
    left = np.zeros(len(X))
    for t, (following, votes) in enumerate(zip(graph.next.tolist(), graph.vote.tolist(), strict=True)):
        for onward, vote, chance in zip(following, votes, (q[t], 1.0 - q[t]), strict=True):
            here = left if onward < 0 else weight[onward]
            here += weight[t] * chance * np.exp(-vote * y)
    return float(left.mean())


def course(bounds: F64, edges: F64) -> dict[str, Any]:
    """The course of training: bounds after 1, 2, 4, ... voters, the median of the edges since the last of them, others.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.papers.matryoshka.cells import course
    >>> found = course(np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.3, 0.2, 0.1, 0.0]))
    >>> found["bounds"], found["edges"], found["edge_median"]
    ([0.9, 0.8, 0.6], [0.3, 0.2, 0.05], 0.15)
    """
    ends = [2**k for k in range(len(bounds).bit_length())]
    medians = [float(np.median(edges[end // 2 : end])) for end in ends]
    return {
        "bounds": [round(float(bounds[end - 1]), 6) for end in ends],
        "edges": [round(median, 6) for median in medians],
        "edge_first": round(float(edges[0]), 6),
        "edge_median": round(float(np.median(edges)), 6),
        "edge_least": round(float(edges.min()), 6),
    }


def entropy_course(entropies: F64, edges: F64) -> dict[str, Any]:
    """Medians of the entropies as `course` has those of the edges, and their rank correlation with the edges.

    That is None where either does not vary, as of few voters.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.papers.matryoshka.cells import entropy_course
    >>> entropy_course(np.array([0.0, -0.5, -0.7, -1.0]), np.array([0.1, 0.2, 0.3, 0.4]))
    {'entropies': [0.0, -0.5, -0.85], 'edge_by_entropy': -1.0}
    """
    ends = [2**k for k in range(len(entropies).bit_length())]
    medians = [round(float(np.median(entropies[end // 2 : end])), 6) for end in ends]
    varied = len(edges) > 2 and np.ptp(edges) > 0.0 and np.ptp(entropies) > 0.0
    rho = round(float(spearmanr(entropies, edges).statistic), 6) if varied else None
    return {"entropies": medians, "edge_by_entropy": rho}


def mean_log_loss(P: F64, positive: NDArray[np.bool_], floor: float) -> float:
    """Mean of -ln of the probability given to the class that a row has, which is taken to be at least `floor`."""
    given = np.where(positive, P, 1.0 - P)
    return float(-np.log(np.maximum(given, max(floor, np.finfo(np.float64).eps))).mean())
