"""SBPMT: subagging of boosted probit model trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64, Mask
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.data.text import warn_user
from committee.learners.bagging.subagging import DRAW_ATTRIBUTES, OOB_ATTRIBUTES, SubsampledVote
from committee.learners.bagging.subsamples import Counts, draw_weights
from committee.learners.base import shared_parameters as shared
from committee.learners.base.fit_record import Codec, Parts, voters_from_arrays, voters_to_arrays
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.boosting.adaboost import is_chance, samme_weight
from committee.learners.trees.model_tree import (
    ModelTree,
    ModelTreeLimits,
    ModelTreeTable,
    ModelTreeVoters,
    check_leaf_steps,
)
from committee.learners.trees.newton_boost import JointLikelihood, leaf_losses
from committee.vote.committee import Committee
from committee.vote.explain.contributions import contributions, require_score_output
from committee.vote.explain.importances import feature_importances
from committee.vote.explain.rules import leaf_models
from committee.vote.explain.tree_contributions import Output
from committee.vote.links.probability import Share
from committee.voters.model_forest import BoostedCommittees, LinkName, ModelForest

if TYPE_CHECKING:
    import polars as pl

EmphasisName = Literal["samme", "half", "m1", "m2", "mh"]

# most classes of a leaf whose scores are boosted on all its rows; with more, rows of other classes are sampled
MOST_CLASSES = 64


# --- emphasis ---------------------------------------------------------------------------------------------------------


class Samme:
    """Weights of rows and trees in a run of AdaBoost on model trees, by SAMME (Zhu et al. 2009).

    alpha = ln((1 - err) / err) + ln(K - 1), and wrong rows' weights grow by exp(alpha).

    Equation: sbpmt-emphasis (docs/theory.md).
    """

    _share_of_odds = 1.0
    _binary = False
    """True if chance is a loss of 1/2 for any number of classes."""

    def __init__(self, labels: NDArray[np.uint16], weights: F64, n_classes: int, link: LinkName) -> None:
        self.w: F64 = weights
        self.n_classes: int = n_classes
        self.link = link

    @property
    def of_scores(self) -> F64 | None:
        """Row weights for each class's score, ``(n, K)``; None if they are those of the rows."""
        return None

    def loss(self, tree: ModelTree, wrong: Mask) -> float:
        """Return the weighted loss; `wrong` masks ``tree.drawn``."""
        return float(self.w[tree.drawn][wrong].sum())

    def alpha(self, loss: float) -> float | None:
        n_guesses = 2 if self._binary else self.n_classes
        if is_chance(loss, n_guesses):
            return None
        many = np.log(n_guesses - 1.0)
        return float(self._share_of_odds * (samme_weight(loss, loss, n_guesses) - many) + many)

    def move(self, tree: ModelTree, wrong: Mask, alpha: float) -> None:
        self.w[tree.drawn[wrong]] *= np.exp(alpha)
        self.w /= self.w.sum()


class Half(Samme):
    """SAMME with 1/2 ln((1 - err) / err) in alpha, as in the SBPMT paper."""

    _share_of_odds = 0.5


class M1(Samme):
    """AdaBoost.M1 (Freund and Schapire 1997): alpha = ln((1 - err) / err) for any K."""

    _binary = True


class LabelEmphasis(Samme, ABC):
    """A weight D[i, k] for each row and label."""

    _binary = True

    def __init__(self, labels: NDArray[np.uint16], weights: F64, n_classes: int, link: LinkName) -> None:
        super().__init__(labels, weights, n_classes, link)
        self.own: Mask = labels[:, None] == np.arange(n_classes)
        self.D: F64 = np.where(self.weighs(), weights[:, None], 0.0)
        self._settle()

    @abstractmethod
    def weighs(self) -> Mask: ...

    def _settle(self) -> None:
        self.D /= self.D.sum()
        self.w = self.D.sum(axis=1)


class M2(LabelEmphasis):
    """AdaBoost.M2 (Freund and Schapire 1997): trees give each class a plausibility, its probability p_k(x).

    With the pseudo-loss e = 1/2 sum_{i, k != y_i} D[i, k] (1 - p_{y_i}(x_i) + p_k(x_i)), alpha = ln((1 - e) / e), and
    D[i, k] is multiplied by exp(-alpha (1 + p_{y_i} - p_k) / 2).
    """

    def weighs(self) -> Mask:
        return ~self.own

    @property
    def of_scores(self) -> F64 | None:
        # of a row's own class, the sum over the others
        return None if self.n_classes == 2 else np.where(self.own, self.w[:, None], self.D)

    def loss(self, tree: ModelTree, wrong: Mask) -> float:
        return float((self.D[tree.drawn] * self._doubts(tree)).sum())

    def move(self, tree: ModelTree, wrong: Mask, alpha: float) -> None:
        doubts = self._doubts(tree)
        # factors that all weights share cancel in the division by their sum
        self.D[tree.drawn] *= np.exp(alpha * (doubts - doubts.max()))
        self._settle()

    def _doubts(self, tree: ModelTree) -> F64:
        # (1 - p_y + p_k) / 2 of the drawn rows
        P = np.exp(JointLikelihood(self.link).log_shares(tree.scores))
        doubts: F64 = 0.5 * (1.0 - P[self.own[tree.drawn]][:, None] + P)
        return doubts


class MH(LabelEmphasis):
    """AdaBoost.MH (Schapire and Singer 1999) of trees that name a class G(x): h_k(x) = 1 for k = G(x), else -1.

    With Y_ik = +-1 for "row i is of class k or not" and r = sum_ik D[i, k] Y_ik h_k(x_i), alpha is
    ln((1 + r) / (1 - r)), and D[i, k] is multiplied by exp(-alpha Y_ik h_k(x_i) / 2).
    """

    def weighs(self) -> Mask:
        return np.ones(self.own.shape, dtype=bool)

    @property
    def of_scores(self) -> F64 | None:
        return None if self.n_classes == 2 else self.D

    def loss(self, tree: ModelTree, wrong: Mask) -> float:
        return float(self.D[tree.drawn][self._errors(tree)].sum())  # (1 - r) / 2

    def move(self, tree: ModelTree, wrong: Mask, alpha: float) -> None:
        self.D[tree.drawn] *= np.where(self._errors(tree), np.exp(alpha), 1.0)
        self._settle()

    def _errors(self, tree: ModelTree) -> Mask:
        named = tree.predicted[:, None] == np.arange(self.n_classes)
        errors: Mask = named != self.own[tree.drawn]
        return errors


EMPHASES: dict[str, type[Samme]] = {"samme": Samme, "half": Half, "m1": M1, "m2": M2, "mh": MH}


# --- boosting on a subsample ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoostedTrees:
    trees: ModelForest
    alpha: list[float]
    errors: list[float]
    risks: list[float]


def _boosted_codec(n_features: int, n_classes: int) -> Codec[BoostedTrees]:
    def encode(boosted: BoostedTrees) -> Parts:
        figures = np.array([boosted.alpha, boosted.errors, boosted.risks])
        return [*voters_to_arrays(boosted.trees), figures]

    def decode(*parts: NDArray[Any]) -> BoostedTrees:
        trees = voters_from_arrays(ModelForest, parts[:-1], n_features, n_classes)
        alpha, errors, risks = parts[-1].tolist()
        if not len(trees) == len(alpha) >= 1:
            raise ValueError("a member must have one weight for each of its trees")
        return BoostedTrees(trees, alpha, errors, risks)

    return Codec(encode, decode)


def boost(
    table: ModelTreeTable,
    limits: ModelTreeLimits,
    weights: F64,
    drawn: NDArray[np.int32],
    n_rounds: int,
    emphasis: EmphasisName,
    seed: int,
) -> BoostedTrees:
    """Boost model trees on the drawn rows by AdaBoost (Algorithm 4 of the SBPMT paper).

    Equation: sbpmt-boosting (docs/theory.md).
    """
    w = np.zeros(len(table.labels))
    w[drawn] = weights[drawn] / weights[drawn].sum()
    if not w[drawn].all():
        raise ValueError(
            f"sample_weight holds {weights[drawn].min():.3g}, which is rounded to 0 as a share of the total "
            f"{weights[drawn].sum():.3g}; give such rows weight 0, which leaves them out."
        )
    voters = ModelTreeVoters(table, limits.link)
    figures: list[tuple[float, float, float]] = []
    weighing = EMPHASES[emphasis](table.labels, w, table.n_classes, limits.link)
    for t in range(n_rounds):
        w = weighing.w
        tree = table.fit(limits, w, drawn, seed + t, weighing.of_scores)
        wrong = tree.predicted != table.labels[drawn]
        error = float(w[drawn][wrong].sum())
        risk = leaf_risk(tree, table.labels[drawn], w[drawn], limits)
        loss = weighing.loss(tree, wrong)
        alpha = None if loss <= 0.0 else weighing.alpha(loss)
        if loss <= 0.0:  # the only tree of the committee
            voters, figures = ModelTreeVoters(table, limits.link), []
        elif alpha is None and figures:
            break
        voters.add(tree)
        figures.append((1.0 if alpha is None else alpha, error, risk))
        if alpha is None:
            break
        weighing.move(tree, wrong, alpha)
    alpha_of_trees, errors, risks = map(list, zip(*figures, strict=True))
    return BoostedTrees(voters.voters(), alpha_of_trees, errors, risks)


def leaf_risk(tree: ModelTree, labels: NDArray[np.uint16], weights: F64, limits: ModelTreeLimits) -> float:
    """Weighted risk of a model tree's scores on its training rows; the weighted error is at most risk / ln 2."""
    if limits.leaf_steps == "gradient":
        return float(weights @ JointLikelihood(limits.link).losses(tree.scores, labels))
    if tree.scores.shape[1] > limits.most_classes > 0:  # the same up to rounding, without a loss for each row and class
        return float(sum(each.leaves.sums(each.weights) @ each.risk.sum(axis=1) for each in tree.trees))
    return float(weights @ leaf_losses(limits.link, tree.scores, labels, joint=False).sum(axis=1))


@with_parameters
class SBPMTClassifier(SubsampledVote):
    """Subagging of boosted probit model trees (SBPMT).

    `n_estimators` times, a share `max_samples` of the rows is drawn without replacement and
    `n_boosting_rounds` probit model trees are boosted on it by AdaBoost. These committees vote together: by
    their trees' probabilities, or, as in the paper, each with one vote for its weighted majority.

    The defaults are one setting for all tables, near the best of those that were tried (docs/defaults.md). The paper's
    own are ``max_depth=6, min_impurity_decrease=0, max_features=None, emphasis="half", voting="hard"``.

    Attributes
    ----------
    committee_ : Committee
        M committees, one vote each.
    leaf_models_ : polars.DataFrame
        Every leaf of every tree in words, with its linear score in the user's units.
    feature_importances_ : array (p,)
        Share of each feature in the decrease of the trees' training risk, by splits and in the leaves.
    oob_score_, oob_margins_, oob_decision_function_
        As in `SubaggingClassifier`.
    errors_ : float64 array (n_trees,)
        Error of each tree under the weights it was trained on; trees as in ``committee_.voters``, whose
        ``start`` is the first tree of each committee and whose ``alpha`` is their weight.
    risks_ : float64 array (n_trees,)
        Risk of each tree's leaves under the same row weights (with the probit link that of Theorem 6; more than two
        classes: summed over the classes' scores, or the joint one of gradient steps); ``errors_ <= risks_ / ln 2``.
    estimators_samples_ : list of int64 arrays
        Row numbers of each committee's training rows, ascending.

    References
    ----------
    T. Qin, W.-M. Huang. On subbagging boosted probit model trees.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import SBPMTClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> SBPMTClassifier(random_state=0, oob_score=True).fit(X, y).oob_score_ > 0.95
    True
    """

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("committees",)
    stored_attributes: ClassVar[tuple[str, ...]] = (*OOB_ATTRIBUTES, "errors_", "risks_", *DRAW_ATTRIBUTES)

    n_estimators: int | Literal["all"] = shared.n_subsamples("21 is the paper's; it advises M > ln(n)^2 for its bound.")
    n_boosting_rounds: int = parameter(5, "Boosting rounds T on each subsample.", COUNT)
    n_leaf_steps: int | Literal["cv"] = shared.n_leaf_steps()
    _: KW_ONLY
    max_samples: float | int = shared.max_samples(0.7, "Every class keeps at least one row.")
    max_depth: int | Literal["auto"] | None = shared.model_tree_depth("auto")
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    min_samples_leaf: int = shared.min_samples_leaf(20, "20 is the paper's.")
    min_weight_leaf: float = shared.min_weight_leaf()
    min_impurity_decrease: float | Literal["auto"] = shared.model_tree_decrease("auto")
    max_features: int | float | str | None = shared.max_features(0.5, "Half of them make the committees differ more.")
    feature_weights: Any = shared.feature_weights(of="`max_features` draws", more="Leaves use all columns.")
    emphasis: EmphasisName = parameter(
        "samme",
        """
        The AdaBoost on each subsample. "samme": alpha = ln((1 - err) / err) + ln(K - 1), and wrong rows' weights grow
        by exp(alpha). "half": the paper's, with half the first logarithm. "m1": AdaBoost.M1, without ln(K - 1), which
        ends where a tree errs on half of the weight. "m2" and "mh": AdaBoost.M2, by the trees' probabilities, and
        AdaBoost.MH, by the classes that they name; both weigh each label of each row. For two classes "samme", "m1" and
        "mh" are the same.
        """,
    )
    voting: Literal["hard", "shares", "soft"] = parameter(
        "soft",
        """"hard": a committee casts one vote. "shares": it gives the shares of its members' weights. "soft": it gives
        its members' probabilities, averaged by their weights; the best probabilities of the three.""",
    )
    leaf_steps: Literal["newton", "gradient"] = shared.leaf_steps()
    link: LinkName = shared.leaf_link()
    tree: Literal["shared", "per_class"] = shared.trees_of_classes()
    selection: Literal["error", "likelihood"] = shared.selection()
    tol: float = shared.newton_tol("Boosting of a leaf")
    oob_score: bool = shared.oob_score()
    class_weight: Any = shared.class_weight(of_draws=True)
    max_bins: int = shared.max_bins("For the trees.")
    categorical_features: Any = shared.categorical_features("Leaves use categories as 0/1 columns.")
    random_state: Any = shared.random_state("the subsamples and the features of `max_features`")
    n_jobs: int | None = shared.n_jobs("Subsamples trained at the same time")

    def _check_parameters(self) -> None:
        check_leaf_steps(self)
        super()._check_parameters()

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        random = tasks.random(rows)
        draws, group = self._draws(rows, tasks, random, False)
        seeds = random.randint(2**31 - 1, size=len(draws))
        form = _boosted_codec(rows.X.shape[1], len(self.classes_))
        with tasks.in_parallel(self._jobs(rows, draws, seeds), self.n_jobs, form) as boosted:
            runs = tasks.each("voter", boosted, lambda runs: {"committee_": self._vote_of(runs)})
        used = draws[: len(runs)]
        if all(is_chance(run.errors[0], len(self.classes_)) for run in runs):
            warn_user(
                f"No model tree beats chance on any of {len(runs)} subsamples: the committee is no better than "
                "guessing.",
            )
        fitted = {
            "committee_": self._vote_of(runs),
            "errors_": np.array([error for run in runs for error in run.errors]),
            "risks_": np.array([risk for run in runs for risk in run.risks]),
            **self._record_of_draws(used, len(draws), rows, tasks, group),
        }
        return self._finished_by_draws(fitted, rows, used, random, tasks)

    def _jobs(self, rows: Rows, draws: list[Counts], seeds: NDArray[np.integer[Any]]) -> Iterator[tuple[Any, Any, Any]]:
        table = ModelTreeTable(rows, self.table_, len(self.classes_), self.max_bins, 1)
        limits = ModelTreeLimits.of(self, int(draws[0].sum()), MOST_CLASSES)
        for counts, seed in zip(draws, seeds, strict=True):
            drawn = np.flatnonzero(counts).astype(np.int32)
            weights = draw_weights(rows, len(self.classes_), self.class_weight, counts)
            yield delayed(boost)(table, limits, weights, drawn, self.n_boosting_rounds, self.emphasis, int(seed))

    @property
    def leaf_models_(self) -> pl.DataFrame:
        """Rule and linear score of every leaf of every tree; see `committee.vote.explain.rules`."""
        return leaf_models(self._committees, self.classes_, self.table_)

    def contributions(
        self, X: Any, *, output: Output | None = None, parts: bool = False, return_vote: bool = False
    ) -> F64 | tuple[F64, F64]:
        """Contributions of the features to a row's mean linear score over the trees.

        The mean is over the committees, and within each over its trees by their weights alpha. The vote, of
        probabilities or of classes, may rarely elect another class; ``return_vote`` gives both.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"score"}, default=None
            Model trees explain scores alone.
        parts : bool, default=False
            Whether parts of dates are columns of their own, as for `FittedLearner.contributions`.
        return_vote : bool, default=False
            Also return the vote.

        Returns
        -------
        contributions : float64 array (n, p + 1) for two classes, else (n, p + 1, K)
            Features in order and last the bias. They add up to the mean score: positive for
            ``classes_[1]``, or for class k.
        vote : float64 array (n, K)
            Mean vote of the committees for each class; only if ``return_vote``.

        Raises
        ------
        ValueError
            If `output` is another than "score".
        """
        require_score_output(output or "score")
        if self.n_classes_ == 1:
            shares = super().contributions(X, parts=parts)
            return (shares, self.predict_proba(X)) if return_vote else shares
        committees = self._committees
        encoded = self.table_.encode(self.validate_rows(X))
        threads = n_threads(self.n_jobs)
        of_trees = committees.tree_shares(self.committee_.weights)
        shares = self._by_part(contributions(committees.members, encoded, of_trees, threads), parts=parts)
        if not return_vote:
            return shares
        tally = committees.tally(encoded, self.committee_.weights, threads)
        return shares, tally / self.committee_.weights.sum()

    @property
    def feature_importances_(self) -> F64:
        """Share of each feature in the decrease of the trees' training risk, ``(p,)``."""
        committees = self._committees
        return feature_importances(committees.members, committees.tree_shares(self.committee_.weights))

    @property
    def _committees(self) -> BoostedCommittees:
        check_is_fitted(self)
        voters = self.committee_.voters
        if not isinstance(voters, BoostedCommittees):
            raise AttributeError("this model has no model trees: it was trained on rows of one class.")
        return voters

    def _vote_of(self, committees: list[BoostedTrees]) -> Committee:
        members = ModelForest.concatenate([c.trees for c in committees])
        alpha = np.array([a for c in committees for a in c.alpha])
        start = np.cumsum([0, *(len(c.trees) for c in committees)], dtype=np.int64)
        members = replace(members, soft=self.voting == "soft")
        voters = BoostedCommittees(members, alpha, start, soft=self.voting != "hard")
        return Committee(voters, np.ones(len(committees)), self.classes_, Share(), self.table_)
