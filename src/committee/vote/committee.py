"""Committees: weighted voters for classes and for numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted, column_or_1d

from committee.data.table_schema import TableSchema
from committee.data.text import pluralize
from committee.files.documents import Document, Header, read_classes
from committee.vote.links import mean, probability
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link
from committee.vote.weighted_votes import Scores, WeightedVotes, elected, lead, signed
from committee.voters.protocol import Voters

BLOCK = 1 << 22
"""Votes per block of voters."""


@dataclass(frozen=True, eq=False, repr=False)
class Committee(WeightedVotes):
    """T voters h_t with weights w_t that vote for classes, F(x) = F_0 + sum_t w_t h_t(x).

    A label voter names one class (1 in its column of the tally) or abstains (zeros). A score voter gives a number per
    class, or one signed number for two classes. The first largest score elects its class. For two classes F is signed,
    second minus first, and F > 0 elects the second. Committees are immutable and independent of the training: margins,
    probabilities, pruning and new weights work for every learner's ``committee_`` and for `from_estimator`.

    Parameters
    ----------
    voters : Voters
        T voters, such as `Forest`, `Rounds` or `EstimatorVoters`.
    weights : array-like (T,)
        Finite weights, not negative with a link that averages. If all are 0, `intercept` elects, or else the first
        class.
    classes : array-like (K,)
        Distinct labels in the order of the voters' class indices.
    link : Link
        From scores to probabilities, such as `Softmax`, `Logistic`, `Probit` and `Share`. The elected class has the
        first largest probability. `Share` compares means, so that scores with the same mean are tied.
    table : TableSchema, default=None
        Encoder of tables. None: native trees take numeric arrays with categories as codes, other voters what their
        members take.
    intercept : array-like (D,), default=None
        F_0, one finite number per column of the tally. In margins it counts as a voter of weight 1.

    Raises
    ------
    ValueError
        If there is no voter, numbers are not finite, sizes or classes do not match the voters, the link averages votes
        and there is an intercept or a negative weight, or the share link gets votes that are no class shares.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee.vote.committee import Committee
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> committee = Committee.from_estimator(forest)
    >>> committee
    Committee(20 voters, 3 classes, share link)
    >>> bool((committee.predict(X) == forest.predict(X)).all())
    True
    """

    voters: Voters
    weights: NDArray[np.float64]
    classes: NDArray[Any]
    link: Link
    table: TableSchema | None = None
    intercept: NDArray[np.float64] | None = None

    read_link: ClassVar[Callable[..., Link]] = staticmethod(probability.from_json)

    def __post_init__(self) -> None:
        self._check_parts()
        classes = np.array(self.classes)
        if classes.ndim != 1 or not len(classes) or len(set(classes.tolist())) < len(classes):
            raise ValueError(f"classes is {classes!r}; it must be a vector of one or more different labels.")
        if self.voters.n_classes != len(classes):
            raise ValueError(
                f"classes has {len(classes)} labels; the voters choose from {self.voters.n_classes} classes."
            )
        classes.flags.writeable = False
        object.__setattr__(self, "classes", classes)
        self.link.check_votes(self.voters, self.weights)
        if self.intercept is not None:
            self._check_addable("intercept")

    @classmethod
    def from_estimator(cls, estimator: Any) -> Committee:
        """Return the committee of a fitted classifier, which stays unchanged.

        Parameters
        ----------
        estimator : fitted classifier
            A learner of this library; scikit-learn's ``RandomForestClassifier``, ``ExtraTreesClassifier``,
            ``BaggingClassifier``, ``AdaBoostClassifier``, ``VotingClassifier``, ``GradientBoostingClassifier`` or
            ``HistGradientBoostingClassifier``, or a decision tree; ``XGBClassifier``, ``LGBMClassifier`` or the
            ``Booster`` of either; ``CatBoostClassifier``; or a ``Pipeline`` of single-column steps that ends in
            another library's model of trees.

        Returns
        -------
        Committee
            With the predictions and probabilities of the original, up to rounding: XGBoost adds in float32, the
            committee in float64. In place of probabilities, which scikit-learn's hard ``VotingClassifier`` lacks, the
            committee gives vote shares.

        Raises
        ------
        NotFittedError
            If `estimator` is not fitted.
        TypeError
            If it is not a supported classifier.
        ValueError
            If it predicts several outputs, or has an objective or settings that are not supported.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.ensemble import AdaBoostClassifier
        >>> from committee.vote.committee import Committee
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> committee = Committee.from_estimator(AdaBoostClassifier(n_estimators=10).fit(X, y))
        >>> committee.n_voters, committee.n_nodes
        (10, 30)
        """
        from committee.vote.adapters.ensembles import no_adapter, parts_of  # imports scikit-learn's ensembles
        from committee.vote.adapters.pipelines import is_pipeline, move_to_pipeline_input

        if is_pipeline(estimator):
            return cls(*move_to_pipeline_input(estimator, parts_of(estimator[-1])))
        parts = parts_of(estimator)
        if parts is not None:
            return cls(*parts)
        committee = _committee_of(estimator)
        if not isinstance(committee, Committee):
            raise no_adapter(estimator)
        return committee

    @classmethod
    def read_header(cls, document: Document) -> Header:
        """Read columns, classes and table from the document of a model file."""
        return Header.from_document(document, read_classes)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    def __repr__(self) -> str:
        return self._representation(pluralize(self.n_classes, "class", "classes"))

    def predict_proba(self, X: Any, *, offset: ArrayLike | None = None, n_threads: int = 1) -> Scores:
        """Return class probabilities ``(n, K)``; parameters and errors are those of `decision_function`.

        Rows sum to 1. The first largest entry of a row is the predicted class.
        """
        return self._probability(self._tally(self.encode(X), n_threads, offset), self.total_weight)

    def probability_of(self, votes: Scores) -> Scores:
        """Return class probabilities ``(n, K)`` of weighted sums of votes ``(n, D)``; the intercept is added."""
        return self._probability(self._settled(votes), self.total_weight)

    def answer_of(self, data: Any, n_threads: int = 1) -> Scores:
        """Return class probabilities ``(n, K)`` of rows as `encode` returns them."""
        return self._probability(self._tally(data, n_threads), self.total_weight)

    def votes(self, X: Any, *, n_threads: int = 1) -> NDArray[np.int8] | NDArray[np.int16] | Scores:
        """Return the votes of each voter on each row.

        Parameters and errors are those of `decision_function`, without `offset`.

        Returns
        -------
        array
            Two classes: ``(n, T)``, int8 in {-1, 0, +1} for label voters (0 abstains), signed float64 for score voters,
            so that F = F_0 + H w. More classes: class indices int16 ``(n, T)`` (-1 abstains) or scores float64 ``(n, T,
            K)``.
        """
        data = self.encode(X)
        if self.n_classes != 2:
            return self.voters.votes(data, n_threads)
        # the first voter gives the number of rows; the next blocks are as large as memory should allow
        first = _sign_votes(self.voters[:1].votes(data, n_threads))
        H = np.empty((len(first), self.n_voters), dtype=first.dtype)
        H[:, :1] = first
        step = max(1, BLOCK // max(1, len(first)))
        for start in range(1, self.n_voters, step):
            block = self.voters[start : start + step].votes(data, n_threads)
            H[:, start : start + step] = _sign_votes(block)
        return H

    def margins(self, X: Any, y: ArrayLike, *, n_threads: int = 1) -> Scores:
        """Return the normalised margin of each row: positive if the vote is right, negative if it is wrong.

        With y = +1 for the second of two classes and -1 for the first,

            m_i = y_i F(x_i) / sum_t |w_t| s_t,

        and for more classes m_i = (F_y - max_{k != y} F_k) / sum_t |w_t| s_t [1]_. The spread s_t is 1 for a label
        voter, and for a score voter a bound on the lead of one class over another in its votes. An intercept counts as
        a voter of weight 1 with the spread |F_0| or max_k F_0k - min_k F_0k. Outside ties a row is right if and only if
        its margin is positive.

        Equation: margin (docs/theory.md).

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to vote on.
        y : array-like (n,)
            True labels, all in `classes`.
        n_threads : int, default=1
            Largest number of threads; the result does not depend on it.

        Returns
        -------
        float64 array (n,)
            Within [-1, 1]; 0 if no voter has any weight or spread.

        Raises
        ------
        ValueError
            If `X` has other columns than the training table, or `y` another number of rows or unknown labels.

        References
        ----------
        .. [1] R. Schapire, Y. Freund, P. Bartlett, W. S. Lee (1998). Boosting the margin: a new explanation for the
           effectiveness of voting methods. Annals of Statistics 26(5).
        """
        truth = self.class_indices(y)
        F = self._scores(self._tally(self.encode(X), n_threads))
        if len(F) != len(truth):
            raise ValueError(f"y has {len(truth)} labels; X has {len(F)} rows.")
        if F.ndim == 1:
            ahead = np.where(truth == 1, F, -F)
        elif self.n_classes == 1:
            ahead = F[:, 0]
        else:
            ahead = lead(F, truth)
        total = float(np.abs(self.weights) @ self.voters.spread) + self.intercept_spread
        # F and the total are sums in different orders, so their quotient may pass 1 by a rounding; that of regressors,
        # whose votes on new rows may pass those on training rows, by more
        return np.clip(ahead / total, -1.0, 1.0) if total > 0 else np.zeros(len(ahead))

    def staged_predict_proba(self, X: Any, *, offset: ArrayLike | None = None, n_threads: int = 1) -> Iterator[Scores]:
        """Yield the class probabilities ``(n, K)`` of the first 1, 2, ..., T voters; each votes once.

        Parameters and errors are those of `decision_function`.
        """
        return (self._probability(*stage) for stage in self._stages(self.encode(X), n_threads, offset))

    def _settle(self, tally: Scores, total: float) -> Scores:
        return self.link.settle(tally, total) if self.voters.kind == "score" else tally

    @property
    def intercept_spread(self) -> float:
        """Largest lead that the intercept gives a class over another."""
        if self.intercept is None:
            return 0.0
        return float(abs(self.intercept[0]) if len(self.intercept) == 1 else np.ptp(self.intercept))

    def _scores(self, tally: Scores) -> Scores:
        return signed(tally) if self.n_classes == 2 else tally

    def _answer(self, F: Scores, total: float) -> NDArray[Any]:
        return self.classes[elected(F) if self.n_classes > 1 else np.zeros(len(F), dtype=np.intp)]

    def _probability(self, tally: Scores, total: float) -> Scores:
        if self.n_classes == 1:  # a single column would be read as the signed score of two classes
            return np.ones((len(tally), 1))
        return self.link.probability(tally, total if self.voters.kind == "score" else None)

    def class_indices(self, y: ArrayLike) -> NDArray[np.intp]:
        """Return the index in `classes` of each label; raise ``ValueError`` for unknown labels."""
        try:
            distinct, inverse = np.unique(column_or_1d(y), return_inverse=True)
        except TypeError as error:  # labels of types that cannot be compared
            raise ValueError(f"y mixes labels of different types ({error}); use one type.") from error
        place = {label: k for k, label in enumerate(self.classes.tolist())}
        index = np.array([place.get(label, -1) for label in distinct.tolist()], dtype=np.intp)
        if unknown := [label for label in distinct.tolist() if label not in place]:
            raise ValueError(
                f"y has labels that are not classes of the committee: {unknown[:5]}; its classes are "
                f"{self.classes.tolist()}. Leave out rows of other labels."
            )
        return index[inverse]


def _sign_votes(H: NDArray[Any]) -> NDArray[np.int8] | Scores:
    if H.ndim == 3:
        return signed(H)
    # class 0, class 1, and at the end what index -1 finds: no vote
    return np.asarray(np.array([-1, 1, 0], dtype=np.int8)[H])


@dataclass(frozen=True, eq=False, repr=False)
class RegressionCommittee(WeightedVotes):
    """T voters h_t with weights w_t that predict numbers: the link of F(x) = F_0 + sum_t w_t h_t(x).

    Parameters
    ----------
    voters : Voters
        T score voters of D outputs, such as a `Forest` with ``n_classes`` = D, or `Rounds`.
    weights : array-like (T,)
        Finite weights.
    link : MeanLink
        From scores to predictions: `Identity`, `Log` (exp(F)), `Average` (mean vote) or `Ordered` (sorted quantiles) of
        `committee.vote.links.mean`.
    table : TableSchema, default=None
        Encoder of tables. None: numeric arrays with categories as codes.
    intercept : array-like (D,), default=None
        F_0. It counts as a voter of weight 1 in the total weight of the `Average` link.

    Raises
    ------
    ValueError
        If there is no voter, the voters name classes, or weights or intercept have the wrong size or are not finite.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import TreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> committee = TreeRegressor(max_depth=2).fit(X, y).committee_
    >>> committee
    RegressionCommittee(1 voter, 1 output, identity link)
    >>> committee.predict(X[:2]).round(1).tolist()
    [225.9, 96.3]
    """

    voters: Voters
    weights: NDArray[np.float64]
    link: MeanLink
    table: TableSchema | None = None
    intercept: NDArray[np.float64] | None = None

    read_link: ClassVar[Callable[..., MeanLink]] = staticmethod(mean.from_json)

    def __post_init__(self) -> None:
        voters = self.voters
        if voters.kind != "score" or voters.n_classes != voters.n_outputs:
            raise ValueError(
                f"voters cast votes for {voters.n_classes} classes; regression needs scores, one number per output. "
                "Use Committee for classes."
            )
        self._check_parts()

    @classmethod
    def from_estimator(cls, estimator: Any) -> RegressionCommittee:
        """Return the committee of a fitted regressor, which stays unchanged.

        Parameters
        ----------
        estimator : fitted regressor
            A learner of this library; scikit-learn's ``RandomForestRegressor``, ``ExtraTreesRegressor``,
            ``GradientBoostingRegressor``, ``HistGradientBoostingRegressor``, or ``BaggingRegressor`` or
            ``VotingRegressor`` of decision trees, or a decision tree; ``XGBRegressor``, ``LGBMRegressor`` or the
            ``Booster`` of either; ``CatBoostRegressor``; or a ``Pipeline`` as for `Committee.from_estimator`.

        Returns
        -------
        RegressionCommittee
            With the predictions of the original, up to rounding: XGBoost adds in float32, the committee in float64.

        Raises
        ------
        NotFittedError
            If `estimator` is not fitted.
        TypeError
            If it is not a supported regressor.
        ValueError
            If another library's regressor predicts several outputs, has an unsupported objective, settings or members,
            or is an ``AdaBoostRegressor``.
        """
        own = _committee_of(estimator)
        if isinstance(own, RegressionCommittee):
            return own
        from committee.vote.adapters.ensembles import regression_parts_of  # imports scikit-learn's ensembles
        from committee.vote.adapters.pipelines import is_pipeline, move_to_pipeline_input

        if is_pipeline(estimator):
            return cls(*move_to_pipeline_input(estimator, regression_parts_of(estimator[-1])))
        return cls(*regression_parts_of(estimator))

    @classmethod
    def read_header(cls, document: Document) -> Header:
        """Read columns and table from the document of a model file."""
        return Header.from_document(document, None)

    @property
    def n_outputs(self) -> int:
        """Number of outputs D."""
        return self.voters.n_outputs

    def __repr__(self) -> str:
        return self._representation(pluralize(self.n_outputs, "output"))

    def answer_of(self, data: Any, n_threads: int = 1) -> Scores:
        """Return predictions ``(n, D)`` of rows as `encode` returns them."""
        tally = self._tally(data, n_threads)
        return np.asarray(self._answer(self._scores(tally), self.total_weight)).reshape(len(tally), -1)

    def votes(self, X: Any, *, n_threads: int = 1) -> Scores:
        """Return the votes of each voter, ``(n, T)`` for one output, else ``(n, T, D)``, without the intercept.

        Parameters and errors are those of `decision_function`, without `offset`.
        """
        H = self.voters.votes(self.encode(X), n_threads).astype(np.float64, copy=False)
        return H[:, :, 0] if H.shape[2] == 1 else H

    def _scores(self, tally: Scores) -> Scores:
        return tally[:, 0] if tally.shape[1] == 1 else tally

    def _answer(self, F: Scores, total: float) -> Scores:
        return self.link.mean(F, total)


def as_committee(model: Any, target: str) -> Committee | RegressionCommittee:
    if isinstance(model, Committee | RegressionCommittee):
        return model
    if hasattr(model, "alpha") and hasattr(model, "estimator") and type(model).__module__.startswith("committee."):
        raise TypeError(
            f"{type(model).__name__} predicts sets or intervals, for which {target} has no models; export its "
            "estimator_, and compute the sets or intervals from the exported model's predictions."
        )
    tagged = hasattr(model, "__sklearn_tags__") or hasattr(model, "_estimator_type")
    regresses = tagged and not isinstance(model, type) and is_regressor(model)
    return (RegressionCommittee if regresses else Committee).from_estimator(model)


def _committee_of(estimator: Any) -> Any:
    # None of an estimator of another library
    if type(estimator).__module__.partition(".")[0] == "committee":
        check_is_fitted(estimator)
    return getattr(estimator, "committee_", None)
