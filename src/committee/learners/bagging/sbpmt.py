"""SBPMT: subagging of boosted probit model trees."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.adaboost.emphasis import is_chance
from committee.learners.bagging.draws import OutOfBagVotes, balanced_draw, draws_of, out_of_bag, packed_draws
from committee.learners.bagging.subsampled_vote import SubsampledVote
from committee.learners.bagging.tree_emphasis import EMPHASES, EmphasisName
from committee.learners.base import shared_parameters as shared
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.trees.joint_likelihood import JointLikelihood, leaf_losses
from committee.learners.trees.model_tree_limits import ModelTreeLimits, check_leaf_steps
from committee.learners.trees.model_tree_table import ModelTree, ModelTreeTable
from committee.learners.trees.model_tree_voters import ModelTreeVoters
from committee.vote.committee import Committee
from committee.vote.explain.contributions import contributions, refuse_output
from committee.vote.explain.importances import feature_importances
from committee.vote.explain.leaf_models import leaf_models
from committee.vote.links.probability import Share
from committee.voters.committees import BoostedCommittees
from committee.voters.model_forest import LinkName, ModelForest

if TYPE_CHECKING:
    import polars as pl

    from committee.learners.base.fit_record import Form, Parts
    from committee.vote.explain.tree_scores import Output


@dataclass(frozen=True)
class BoostedTrees:
    """The model trees of one subsample and their weights."""

    trees: ModelForest
    alpha: list[float]
    errors: list[float]
    risks: list[float]


def _boosted_form(n_features: int, n_classes: int) -> Form[BoostedTrees]:
    """Return how they become arrays of a checkpoint."""
    from committee.learners.bagging.voter_parts import parts_of, voters_of
    from committee.learners.base.fit_record import Form

    def parts_of_boosted(boosted: BoostedTrees) -> Parts:
        figures = np.array([boosted.alpha, boosted.errors, boosted.risks])
        return [*parts_of(boosted.trees), figures]

    def boosted_trees(*parts: NDArray[Any]) -> BoostedTrees:
        trees = voters_of(ModelForest, parts[:-1], n_features, n_classes)
        alpha, errors, risks = parts[-1].tolist()
        if not len(trees) == len(alpha) >= 1:
            raise ValueError("a member has not a weight for each of its trees")
        return BoostedTrees(trees, alpha, errors, risks)

    return Form(parts_of_boosted, boosted_trees)


def boost(
    table: ModelTreeTable,
    limits: ModelTreeLimits,
    weights: F64,
    drawn: NDArray[np.int32],
    n_rounds: int,
    emphasis: EmphasisName,
    seed: int,
) -> BoostedTrees:
    """AdaBoost of model trees on the drawn rows (Algorithm 4).

    err = sum w_i [G(x_i) != y_i]; alpha = ln((1 - err) / err) + ln(J - 1) ("samme"), or with half the first
    logarithm ("half", the paper's); wrong rows' weights grow by exp(alpha). The others are in tree_emphasis.py. A tree
    that errs nowhere (in AdaBoost.M2: is in no doubt) decides the committee alone; one no better than chance is left
    out, unless it is the first.

    Equation: sbpmt-boosting (docs/theory.md).
    """
    w = np.zeros(len(table.labels))
    w[drawn] = weights[drawn] / weights[drawn].sum()
    if not w[drawn].all():
        raise ValueError(
            f"sample_weight holds {weights[drawn].min():.3g}, which is no share of the total "
            f"{weights[drawn].sum():.3g} that a number can hold; give such rows weight 0, which leaves them out."
        )
    voters = ModelTreeVoters(table, limits.link)
    figures: list[tuple[float, float, float]] = []
    weighing = EMPHASES[emphasis](table.labels, w, table.n_classes, limits.link)
    for t in range(n_rounds):
        w = weighing.of_rows
        tree = table.fit(limits, w, drawn, seed + t, weighing.of_scores)
        wrong = tree.predicted != table.labels[drawn]
        error = float(w[drawn][wrong].sum())
        risk = leaf_risk(tree, table.labels[drawn], w[drawn], limits)
        alone = weighing.decides_alone(tree, error)
        alpha = None if alone else weighing.alpha(tree, wrong, error)
        if alone:
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
    """Weighted risk of a model tree's scores on the rows it was trained on: what its leaves have lowered.

    Two classes: sum w_i Q(y_i f(x_i)), Q = -ln Phi (or the logit's ln(1 + exp(-x))). More: the sum over the
    classes' scores, "class k or not". A row that is wrong has Q >= ln 2 in one of them, so that the weighted
    error is at most risk / ln 2. So it is of scores boosted together, whose risk is -ln P(y).
    """
    if limits.leaf_steps == "gradient":
        return float(weights @ JointLikelihood(limits.link).losses(tree.scores, labels))
    return float(weights @ leaf_losses(limits.link, tree.scores, labels, joint=False).sum(axis=1))


@with_parameters
class SBPMTClassifier(SubsampledVote):
    """Subagging of boosted probit model trees (SBPMT).

    `n_estimators` times, a share `max_samples` of the rows is drawn without replacement and
    `n_boosting_rounds` probit model trees are boosted on it by AdaBoost. The committees so made vote together: by
    their trees' probabilities, or, as in the paper, each with one vote for its weighted majority.

    The defaults are one setting for all tables, near the best of those that were tried: more rounds or subsamples have
    a lower log loss and take more than twice the time, and hard votes have fewer errors on some tables
    (docs/defaults.md). The paper's own are ``max_depth=6, min_impurity_decrease=0, max_features=None, emphasis="half",
    voting="hard"``.

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
        ``start`` says where each committee begins and whose ``alpha`` is their weight.
    risks_ : float64 array (n_trees,)
        Risk of each tree's leaves under the same weights (the probit risk of Theorem 6; more than two classes:
        summed over the classes' scores); ``errors_ <= risks_ / ln 2``.
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
    >>> model = SBPMTClassifier(random_state=0, oob_score=True).fit(X, y)
    >>> model.oob_score_ > 0.95
    True
    """

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("committees",)
    stored_attributes: ClassVar[tuple[str, ...]] = (
        "oob_score_",
        "oob_margins_",
        "oob_decision_function_",
        "errors_",
        "risks_",
        "draws_",
        "n_samples_fit_",
        "complete_",
        "temperature_",
    )

    n_estimators: int | Literal["all"] = shared.n_subsamples("The paper's; it advises M > ln(n)^2 for its bound.")
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
    emphasis: EmphasisName = parameter(
        "samme",
        """
        The AdaBoost on each subsample. "samme": alpha = ln((1 - err) / err) + ln(J - 1), and wrong rows' weights grow
        by exp(alpha). "half": the paper's, with half the first logarithm. "m1": AdaBoost.M1, without ln(J - 1), which
        ends where a tree errs on half of the weight. "m2" and "mh": AdaBoost.M2, by the trees' probabilities, and
        AdaBoost.MH, by the classes that they name; both weigh each label of each row. For two classes "samme", "m1" and
        "mh" are one.
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
    class_weight: Any = shared.class_weight_of_draws()
    max_bins: int = shared.max_bins("For the trees.")
    categorical_features: Any = shared.categorical_features("Leaves see them as 0/1 columns.")
    random_state: Any = shared.random_state("the subsamples and the features of `max_features`")
    n_jobs: int | None = shared.n_jobs("Subsamples trained at the same time")

    def _check_parameters(self) -> None:
        check_leaf_steps(self)
        super()._check_parameters()

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        """Draw rows, and boost model trees on each draw."""
        random = tasks.random()
        draws = draws_of(rows.labels, len(self.classes_), self.n_estimators, self.max_samples, False, random)
        seeds = random.randint(2**31 - 1, size=len(draws))
        form = partial(_boosted_form, rows.X.shape[1], len(self.classes_))
        with tasks.in_parallel(self._jobs(rows, draws, seeds), self.n_jobs, form) as boosted:
            runs = tasks.each("voter", boosted, lambda runs: {"committee_": self._vote_of(runs)})
        complete = self.n_estimators == "all" and len(runs) == len(draws)
        committee, draws = self._vote_of(runs), draws[: len(runs)]
        if all(is_chance(run.errors[0], len(self.classes_)) for run in runs):
            warnings.warn(
                f"No model tree beats chance on any of {len(runs)} subsamples: the committee says no more than "
                "the class frequencies.",
                stacklevel=4,
            )
        fitted = {
            "committee_": committee,
            "errors_": np.array([error for run in runs for error in run.errors]),
            "risks_": np.array([risk for run in runs for risk in run.risks]),
            "draws_": packed_draws(draws, tasks.sample_weight),
            "n_samples_fit_": len(rows.labels),
            "complete_": complete,
        }
        if not (self.oob_score or self._calibrates):
            return fitted
        votes = OutOfBagVotes.of(committee, rows, draws)
        if self.oob_score:
            fitted |= out_of_bag(votes, rows, tasks.sample_weight)
        return self._calibrated_out_of_bag(fitted, rows, votes.tally, votes.voting, random, tasks)

    def _jobs(
        self, rows: Rows, draws: list[NDArray[np.int64]], seeds: NDArray[np.integer[Any]]
    ) -> Iterator[tuple[Any, Any, Any]]:
        """Boosting on each draw, for joblib."""
        table = ModelTreeTable(rows, self.table_, len(self.classes_), self.max_bins, 1)
        limits = ModelTreeLimits.of(self, int(draws[0].sum()))
        for counts, seed in zip(draws, seeds, strict=True):
            drawn = np.flatnonzero(counts).astype(np.int32)
            weights = rows.weights
            if self.class_weight == "balanced_subsample":
                weights = balanced_draw(rows.labels, len(self.classes_), weights, counts)
            yield delayed(boost)(table, limits, weights, drawn, self.n_boosting_rounds, self.emphasis, int(seed))

    @property
    def leaf_models_(self) -> pl.DataFrame:
        """Every leaf of every tree in words, with its linear score; see `committee.vote.explain.leaf_models`."""
        return leaf_models(self._committees, self.classes_, self.table_)

    def contributions(self, X: Any, *, output: Output = "score", return_vote: bool = False) -> F64 | tuple[F64, F64]:
        """Share of each feature in a row's mean linear score over the trees.

        The mean is over the committees, and within each over its trees by their weights alpha. It is not what the
        committees vote with, which are probabilities or the classes that trees name. The two nearly always agree,
        and where they do not the contributions explain the mean score alone. ``return_vote`` gives both.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"score"}, default="score"
            What is shared out; of model trees, scores alone.
        return_vote : bool, default=False
            Also return the vote.

        Returns
        -------
        contributions : float64 array (n, p + 1) for two classes, else (n, p + 1, K)
            Features in order and last the bias. They add up to the mean score: positive speaks for
            ``classes_[1]``, or for class k.
        vote : float64 array (n, K)
            What the committees say of each class, in the mean; only if ``return_vote``.

        Raises
        ------
        ValueError
            If `output` is another than "score".
        """
        refuse_output(output)
        committees = self._committees
        encoded = self.table_.encode(self.validate_rows(X))
        threads = n_threads(self.n_jobs)
        shares = contributions(committees.members, encoded, committees.tree_shares(self.committee_.weights), threads)
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
