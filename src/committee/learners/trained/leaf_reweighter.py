"""An ensemble of trees that is trained already, with a part of its nodes and a new vote for every leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64, Index, Mask
from committee.data.parallel import n_threads
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.trained.base_leaf_reweighter import BaseLeafReweighter, FitRows, WholeVote
from committee.learners.trained.class_judge import LINK, ClassJudge
from committee.learners.trained.class_metric import class_metric
from committee.learners.trained.few_trees import refuse_few, tells_of_all
from committee.learners.trained.leaf_cut import LeafRows
from committee.learners.trained.trained_ensemble import (
    TrainedEnsembleClassifier,
    row_weights,
    trained_committee,
)
from committee.learners.trained.unseen_rows import unseen_in_fit
from committee.learners.trained.unseen_vote import BLOCK, vote_of_unseen
from committee.vote.committee import Committee
from committee.voters.forest import Forest


@with_parameters
class LeafReweighter(BaseLeafReweighter, TrainedEnsembleClassifier):
    """A tenth of a forest's nodes, or any other part, with votes of the leaves that make up for the rest.

    The trees stay that are right most often on rows that they have not seen (or those of greatest weight, where no tree
    has such rows) and fit into the limit, or more of them with their weakest sub-trees cut off; cross-validation
    chooses. Then all leaves of all trees get new votes at once, by a logistic regression in which they deviate from
    their old ones as far as the rows give reason. With ``on="oob"`` each row speaks of the leaves of those trees only
    that have not seen it: to these it is a new row, so that the votes do not believe what the trees have learned by
    heart. Scores are log-odds, and the probabilities calibrated.

    The ensemble itself is frozen: it is neither trained nor changed, and `clone` keeps it as it is.

    Attributes
    ----------
    committee_ : Committee
        The trees that are left, each of weight 1 / K.
    classes_ : array (n_classes,)
        The ensemble's.
    voters_ : intp array (K,)
        Numbers of these trees among the ensemble's, in the order of the committee. Boosters of several classes have
        a tree for each in every round; their trees are numbered round by round, and each gets votes for all classes.
    C_, growth_ : float
        Those that cross-validation chose; NaN where the ensemble is kept whole.
    lost_, lost_error_ : float
        How much more the vote loses of `metric` than the whole ensemble on rows that its trees have not seen, and the
        standard error of that; NaN where no such rows are known, with ``on="train"`` or of a forest that drew heavy
        rows more often. The same rows choose the size, so that of many sizes a lucky one may be taken.
    n_nodes_before_, nbytes_before_, n_voters_before_ : int
        Of the ensemble.
    path_ : LeafPath
        The best cut at each limit, as a table or a picture; not in a model file, nor in a pickle.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        From `fit`, which checks everything before it sets anything.

    References
    ----------
    S. Ren, X. Cao, Y. Wei, J. Sun (2015). Global refinement of random forest. CVPR.
    B. Liu, R. Mazumder (2023). ForestPrune: compact depth-pruned tree ensembles. AISTATS.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import LeafReweighter
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(200, random_state=0).fit(X[::2], y[::2])
    >>> small = LeafReweighter(forest, max_nodes=0.1).fit(X[::2], y[::2])
    >>> small.committee_.n_nodes <= 0.1 * small.n_nodes_before_
    True
    >>> bool(small.score(X[1::2], y[1::2]) > 0.94)
    True
    """

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("shared_forest", "rounds", "forest")  # rounds kept whole
    _answer_word: ClassVar[str] = "labels"
    _stratifies: ClassVar[bool] = True

    committee_: Committee = fitted()
    classes_: NDArray[Any] = fitted()

    _: KW_ONLY
    metric: Any = parameter(
        "accuracy",
        """What `max_loss` counts. "accuracy": share of rows that are right. "log_loss". "brier": squared distance of
        the probabilities. Or a score of all rows together, what is lost being in its units: the name of a scorer of
        scikit-learn, such as "roc_auc", "balanced_accuracy" or "f1" (of two classes the second is the positive one),
        its function, or what ``make_scorer`` makes. Or a function of class numbers ``(n,)`` and probabilities
        ``(n, K)`` that gives the loss of each row, less being better. A model with a function that is none of
        scikit-learn's cannot be saved.""",
        str,
        callable,
        type_words='{"accuracy", "brier", "log_loss"}, name of a scorer, or callable',
        after="max_loss",
    )

    def _committee_of(self, ensemble: Any) -> Committee:
        return trained_committee(ensemble)

    def _read_answers(self, committee: Any, y: ArrayLike) -> Index | F64:
        found: Index = committee.class_indices(y)
        return found

    def _check_answers(self, answers: Index | F64) -> None:
        if len(np.unique(answers)) < 2:
            raise ValueError("y holds fewer than two classes in the rows that count; votes need two to tell apart.")

    def _unseen(self, ensemble: Any, committee: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Mask:
        return unseen_in_fit(ensemble, committee, X, y, sample_weight)

    def _whole_vote(
        self,
        ensemble: Any,
        committee: Any,
        forest: Forest,
        rows: FitRows,
        parts: Sequence[Index],
        given: tuple[ArrayLike, ArrayLike | None],
    ) -> WholeVote:
        labels = np.asarray(rows.y, dtype=np.intp)
        contract = class_metric(self.metric, committee.classes)
        known = vote_of_unseen(committee, forest, rows.matrix, labels, rows.unseen, n_threads(self.n_jobs))

        probability = known.probability  # what trees are right on takes too much memory to be kept

        def aimed(reached: LeafRows) -> LeafRows:
            if self.on != "train":
                return reached
            # labels that the trees know by heart would be believed too much
            return reached.towards(probability, self._of_classes(committee, *given))

        tells = self._tells_loss(ensemble)
        if tells and rows.unseen is not None:
            if self.max_loss is not None:
                refuse_few(rows.unseen, self.max_loss)
            tells = tells_of_all(rows.unseen)
        kept = contract.kept(labels, known.probability, known.by_halves, known.unseen) if tells else None
        weights = np.abs(committee.weights).repeat(len(forest) // committee.n_voters)
        worth = [_worth(weights, rows, known.right, part) for part in parts]
        return WholeVote(worth, ClassJudge(contract), kept, aimed)

    def _small(self, committee: Any, voters: Forest, weights: F64, table: Any) -> Committee:
        return Committee(voters, weights, committee.classes, LINK, table)

    def _take_answers(self, committee: Any) -> None:
        self.classes_ = committee.classes

    def _of_classes(self, committee: Committee, y: ArrayLike, sample_weight: ArrayLike | None) -> F64:
        """Weights of the classes ``(K,)``; 1 each by default, and for those that no row has."""
        found = np.ones(committee.n_classes)
        if self.class_weight is not None:
            labels = np.asarray(y)
            weights = np.ones(len(labels)) if sample_weight is None else row_weights(sample_weight, len(labels))
            known = self._class_weights(labels, weights)
            found[committee.class_indices(known.classes)] = known.of_rows(known.classes)
        return found


def _worth(weights: F64, rows: FitRows, right: Mask | None, part: Index) -> F64:
    """How often trees are right on rows that they have not seen, out of a part; else their weights."""
    if right is None or rows.unseen is None:
        return weights
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    hits, judged = np.zeros(len(weights)), np.zeros(len(weights))
    for at in range(0, len(part), BLOCK):  # a product makes float64 of the masks
        block = part[at : at + BLOCK]
        hits += weight[block] @ right[block]
        judged += weight[block] @ rows.unseen[block]
    worth: F64 = hits / np.maximum(judged, np.finfo(float).tiny)
    return worth
