"""Probit model trees: a tree whose leaves are boosted linear scores."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import BaseClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import with_parameters
from committee.learners.trees.model_tree_limits import ModelTreeLimits, check_leaf_steps
from committee.learners.trees.model_tree_table import ModelTreeTable
from committee.learners.trees.model_tree_voters import ModelTreeVoters
from committee.vote.committee import Committee
from committee.vote.explain.contributions import contributions, refuse_output
from committee.vote.explain.importances import feature_importances
from committee.vote.explain.leaf_models import leaf_models
from committee.vote.links.probability import Share
from committee.voters.model_forest import LinkName, ModelForest

if TYPE_CHECKING:
    import polars as pl

    from committee.vote.explain.tree_scores import Output


@with_parameters
class ProbitModelTreeClassifier(BaseClassifier):
    """A probit model tree (PMT): a classification tree with a boosted linear score in every leaf.

    The tree splits by weighted Gini, missing values and categories natively. In each leaf ProbitBoost takes
    `n_leaf_steps` Newton steps on the risk -ln Phi(y f): every step regresses the working response
    z = y / (x + lambda(x)) on one feature with weights w = lambda(x) (x + lambda(x)), x = y f,
    lambda = phi / Phi, and adds the line of the feature with the least weighted squared error. More than two
    classes: one score per class ("class k or not"), the largest elects. A leaf that holds one class says so. Steps
    along the gradient, and their risk, are those of `ProbitBoostClassifier`.

    Attributes
    ----------
    committee_ : Committee
        A committee of one, voting with probabilities.
    leaf_models_ : polars.DataFrame
        Every leaf in words, with its linear score in the user's units.
    feature_importances_ : array (p,)
        Share of each feature in the decrease of the training risk, by splits and in the leaves.
    risk_path_ : array (n_leaves, n_outputs, n_leaf_steps + 1)
        Mean risk of the training rows of each leaf before and after every step; of ``n_leaf_steps="cv"`` for 100.

    Notes
    -----
    One tree alone, as in the paper, is meant to name classes and to be a member of a committee: a hundred steps in a
    leaf of some twenty rows make its probabilities far too sure. ``n_leaf_steps="cv"`` takes most of that away, and
    `SBPMTClassifier` votes with probabilities that are calibrated.

    A separable leaf would send its line to infinity: steps that would take a training score past
    +-20 (probit; 40 for logit) are not taken, and a step that does not lower the risk is halved until it does,
    so the weighted risk never rises (Lemma 3).

    References
    ----------
    T. Qin, W.-M. Huang. On subbagging boosted probit model trees, section 3. S. Zheng, W. Liu (2012).
    Functional gradient ascent for probit regression. Pattern Recognition 45.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import ProbitModelTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = ProbitModelTreeClassifier().fit(X[::2], y[::2])
    >>> tree.score(X[1::2], y[1::2]) > 0.9
    True
    """

    n_leaf_steps: int | Literal["cv"] = shared.n_leaf_steps()
    _: KW_ONLY
    leaf_steps: Literal["newton", "gradient"] = shared.leaf_steps()
    link: LinkName = shared.leaf_link()
    tree: Literal["shared", "per_class"] = shared.trees_of_classes()
    max_depth: int | Literal["auto"] | None = shared.model_tree_depth(6)
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    min_samples_leaf: int = shared.min_samples_leaf(20, "20 is the paper's.")
    min_weight_leaf: float = shared.min_weight_leaf()
    min_impurity_decrease: float | Literal["auto"] = shared.model_tree_decrease(0.01)
    max_features: int | float | str | None = shared.max_features()
    selection: Literal["error", "likelihood"] = shared.selection()
    tol: float = shared.newton_tol("Boosting of a leaf")
    max_bins: int = shared.max_bins("For the tree.")
    categorical_features: Any = shared.categorical_features("Leaves see them as 0/1 columns.")
    random_state: Any = shared.random_state("the features of `max_features` and the parts of cross-validation")
    n_jobs: int | None = shared.n_jobs()

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("model_trees",)
    stored_attributes: ClassVar[tuple[str, ...]] = ("risk_path_",)

    def _check_parameters(self) -> None:
        check_leaf_steps(self)

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        prepared = ModelTreeTable(rows, self.table_, len(self.classes_), self.max_bins, n_threads(self.n_jobs))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        everyone = np.arange(len(rows.labels), dtype=np.int32)
        tree = prepared.fit(ModelTreeLimits.of(self, len(everyone)), rows.weights, everyone, seed, record=True)
        voters = ModelTreeVoters(prepared, self.link)
        voters.add(tree)
        return {
            "committee_": Committee(
                replace(voters.voters(), soft=True), np.ones(1), self.classes_, Share(), self.table_
            ),
            "risk_path_": tree.risk,
        }

    @property
    def leaf_models_(self) -> pl.DataFrame:
        """Every leaf in words with its linear score, one row for each class."""
        return leaf_models(self._trees, self.classes_, self.table_)

    def contributions(self, X: Any, *, output: Output = "score") -> F64:
        """Exact share of each feature in a row's linear score; see `committee.vote.explain.contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"score"}, default="score"
            What is shared out; of model trees, scores alone.

        Returns
        -------
        float64 array (n, p + 1) for two classes, else (n, p + 1, K)
            Features in order and last the bias, the mean score of the training rows. They add up to the score,
            whose sign (largest) elects the class: positive speaks for ``classes_[1]``, or for class k.

        Raises
        ------
        ValueError
            If `output` is another than "score".
        """
        refuse_output(output)
        trees = self._trees
        encoded = self.table_.encode(self.validate_rows(X))
        return contributions(trees, encoded, np.ones(1), n_threads(self.n_jobs))

    @property
    def feature_importances_(self) -> F64:
        """Share of each feature in the decrease of the training risk, ``(p,)``."""
        return feature_importances(self._trees, np.ones(1))

    @property
    def _trees(self) -> ModelForest:
        check_is_fitted(self)
        voters = self.committee_.voters
        if not isinstance(voters, ModelForest):
            raise AttributeError("this model has no model trees: it was trained on rows of one class.")
        return voters
