"""The vote: voters, their weights, and everything that follows from the two."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from committee.vote.links.probability import Link, Share
from committee.vote.links.probability import from_json as link_from_json
from committee.vote.scores import Scores, elected, lead, signed
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.protocol import Voters

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.files.documents import Document, Header

BLOCK = 1 << 22
"""Votes held at a time while they are brought into their final form."""


@dataclass(frozen=True, eq=False, repr=False)
class Committee(WeightedVotes):
    """T voters h_t with weights w_t, and the vote they cast.

    The score is the weighted sum of the votes,

        F(x) = F_0 + sum_t w_t h_t(x),

    with F_0 = 0 where there is no intercept.

    A label voter names one class (a one in that class's column of the tally, zeros elsewhere) or abstains
    (zeros); a score voter gives a number per class, or one signed number for two classes. The (first) largest
    score elects its class. With two classes F is signed, second minus first, and F > 0 elects the second.

    A committee is immutable and knows nothing of how it was trained: everything that can be asked about a
    vote - margins, probabilities, pruning, new weights - works alike for every learner whose ``committee_``
    this is, and for other libraries' ensembles through `from_estimator`.

    Parameters
    ----------
    voters : Voters
        T voters: a `Forest`, `Rounds` or `EstimatorVoters`.
    weights : array-like (T,)
        Weight of each voter, finite. Negative ones are allowed except with the share link. If all are zero,
        F is zero everywhere: the first class is elected, all probabilities are equal and all margins zero.
    classes : array-like (K,)
        The labels that the voters' class indices stand for; all different.
    link : Link
        From scores to probabilities: `Softmax`, `Logistic`, `Probit` or `Share`. Whatever the link, the elected
        class has the (first) largest probability. `Share` compares means, so scores of the same mean are tied.
    table : TableSchema, default=None
        How a user's table becomes the voters' matrix. None: a `Forest` takes numeric arrays, coded as in
        training, and `EstimatorVoters` take whatever their members take.
    intercept : array-like (D,), default=None
        F_0, one finite number per column of the tally: one per class, or one alone for two classes. In margins it
        counts as a voter of weight 1 that says the same of every row. None: no such voter.

    Raises
    ------
    ValueError
        If there is no voter, the weights are not T finite numbers, the classes are not different or not as
        many as the voters know, the intercept is not D finite numbers or the link is one that averages votes, or the
        share link meets negative weights or leaves that are no shares.

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
    table: "TableSchema | None" = None
    intercept: NDArray[np.float64] | None = None

    read_link: ClassVar[Callable[..., Link]] = staticmethod(link_from_json)

    def __post_init__(self) -> None:
        self._check_parts()
        classes = np.array(self.classes)
        if classes.ndim != 1 or not len(classes) or len(set(classes.tolist())) < len(classes):
            raise ValueError(f"classes is {classes!r}; it must be a vector of different labels.")
        if self.voters.n_classes != len(classes):
            raise ValueError(
                f"classes has {len(classes)} labels; the voters choose from {self.voters.n_classes} classes."
            )
        classes.flags.writeable = False
        object.__setattr__(self, "classes", classes)
        self.link.check_votes(self.voters, self.weights)
        if self.intercept is not None and (isinstance(self.link, Share) or getattr(self.link, "normalized", False)):
            raise ValueError(
                f"intercept is no vote to average, as {self.link} does; use another link, or no intercept."
            )

    @classmethod
    def from_estimator(cls, estimator: Any) -> "Committee":
        """The committee inside a fitted classifier, which stays as it is.

        Parameters
        ----------
        estimator : fitted classifier
            scikit-learn's ``RandomForestClassifier``, ``ExtraTreesClassifier``, ``BaggingClassifier``,
            ``AdaBoostClassifier``, ``VotingClassifier``, ``GradientBoostingClassifier`` or
            ``HistGradientBoostingClassifier``, XGBoost's ``XGBClassifier``, LightGBM's
            ``LGBMClassifier`` or either's ``Booster``, CatBoost's ``CatBoostClassifier``, or any learner of this
            library. Ensembles whose members are all decision trees become native ones: a `Forest`, or `Rounds` of
            several scores. A ``Pipeline`` that ends in trees and looks at one column at a time is taken as a whole.

        Returns
        -------
        Committee
            With the predictions of the original, and its probabilities (scikit-learn's hard
            ``VotingClassifier`` has none; the committee gives vote shares). Boosters add in float32 what is
            added in float64 here.

        Raises
        ------
        NotFittedError
            If `estimator` is not fitted.
        TypeError
            If it is no classifier, or none of the above.
        ValueError
            If it predicts several outputs, or is a booster of anything but trees that vote for classes.

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
        from committee.vote.adapters.pipelines import is_pipeline, on_input_of
        from committee.vote.adapters.scikit_learn import no_adapter, parts_of  # imports scikit-learn's ensembles

        if is_pipeline(estimator):
            return cls(*on_input_of(estimator, parts_of(estimator[-1])))
        parts = parts_of(estimator)
        if parts is not None:
            return cls(*parts)
        if type(estimator).__module__.partition(".")[0] == "committee":
            check_is_fitted(estimator)
        committee = getattr(estimator, "committee_", None)
        if not isinstance(committee, Committee):
            raise no_adapter(estimator)
        return committee

    @classmethod
    def read_header(cls, document: "Document") -> "Header":
        """Columns and classes of a document."""
        from committee.files.documents import Header, read_classes

        return Header.from_document(document, read_classes)

    # -- size ---------------------------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    def __repr__(self) -> str:
        return f"Committee({self.n_voters} voters, {self.n_classes} classes, {self.link.name} link)"

    # -- the vote -----------------------------------------------------------------------------------------

    def predict_proba(self, X: Any, *, n_threads: int = 1) -> Scores:
        """Class probabilities, by the committee's link.

        Parameters and errors are those of `decision_function`.

        Returns
        -------
        float64 array (n, K)
            Rows sum to one. The first largest entry of a row is the class that `predict` gives.

        Examples
        --------
        ``committee.predict_proba(X).max(axis=1)`` is how sure the committee is.
        """
        return self.probability_of(self.voters.tally(self.encode(X), self.weights, n_threads))

    def probability_of(self, votes: Scores) -> Scores:
        """Class probabilities of rows whose weighted sums of votes ``(n, D)`` are known, D as the voters have it.

        Examples
        --------
        ``committee.probability_of(committee.voters.tally(data, committee.weights, 1))`` is ``predict_proba`` of
        encoded rows.
        """
        return self._probability(self._settled(votes), self.total_weight)

    def votes(self, X: Any, *, n_threads: int = 1) -> NDArray[np.int8] | NDArray[np.int16] | Scores:
        """The vote matrix H: what each voter says about each row; the intercept is none of them.

        Parameters and errors are those of `decision_function`.

        Returns
        -------
        array
            Two classes: ``(n, T)``, int8 in {-1, 0, +1} for label voters (0 abstains), signed float64 for
            score voters (second class minus first), so that F = F_0 + H w. More classes: int16 ``(n, T)`` class
            indices (-1 abstains) for label voters, float64 ``(n, T, K)`` for score voters.

        Examples
        --------
        ``(committee.votes(X) == 0).mean(axis=0)`` is how often each voter abstains (two classes).
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
        """Normalised margin of each row: how clearly the vote is right (positive) or wrong (negative).

        With y = +1 for the second of two classes and -1 for the first,

            m_i = y_i F(x_i) / sum_t |w_t| s_t,

        and with more classes m_i = (F_y - max_{k != y} F_k) / sum_t |w_t| s_t [1]_. The spread s_t is 1 for a
        label voter, and for a score voter the most that one of its votes can favour a class over another; an
        abstaining voter counts in the sum, and so does an intercept, as a voter of weight 1: by its own spread,
        |F_0| or max_k F_0k - min_k F_0k. Outside ties a row is right if and only if its margin is positive.

        Equation: margin (docs/theory.md).

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to vote on.
        y : array-like (n,)
            Their true labels, all out of `classes`.
        n_threads : int, default=1
            Ceiling on the number of threads; the result does not depend on it.

        Returns
        -------
        float64 array (n,)
            Within [-1, 1]; 0 if no voter has any weight or spread.

        Raises
        ------
        ValueError
            If `X` does not have the columns that the voters were trained on, `y` has another number of rows
            or labels that the committee does not know.

        References
        ----------
        .. [1] R. Schapire, Y. Freund, P. Bartlett, W. S. Lee (1998). Boosting the margin: a new explanation
           for the effectiveness of voting methods. Annals of Statistics 26(5).

        Examples
        --------
        ``np.mean(committee.margins(X, y) <= 0.1)`` is the share of rows with a margin of at most 0.1.
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

    def staged_predict_proba(self, X: Any, *, n_threads: int = 1) -> Iterator[Scores]:
        """Class probabilities by the first 1, 2, ..., T voters; each votes once.

        Parameters and errors are those of `decision_function`.

        Yields
        ------
        float64 array (n, K)
            As `predict_proba`; the last one is its result.

        Examples
        --------
        ``[log_loss(y, p) for p in committee.staged_predict_proba(X)]`` is the log loss as voters are added.
        """
        return (self._probability(*stage) for stage in self._stages(self.encode(X), n_threads))

    # -- the steps ----------------------------------------------------------------------------------------

    def _settle(self, tally: Scores, total: float) -> Scores:
        return self.link.settle(tally, total) if self.voters.kind == "score" else tally

    @property
    def intercept_spread(self) -> float:
        """The most that the intercept can change a margin."""
        if self.intercept is None:
            return 0.0
        return float(abs(self.intercept[0]) if len(self.intercept) == 1 else np.ptp(self.intercept))

    def _scores(self, tally: Scores) -> Scores:
        """F of a tally: signed for two classes."""
        return signed(tally) if self.n_classes == 2 else tally

    def _answer(self, F: Scores, total: float) -> NDArray[Any]:
        """Elected classes."""
        return self.classes[elected(F) if self.n_classes > 1 else np.zeros(len(F), dtype=np.intp)]

    def _probability(self, tally: Scores, total: float) -> Scores:
        if self.n_classes == 1:  # a single column would be read as the signed score of two classes
            return np.ones((len(tally), 1))
        return self.link.probability(tally, total if self.voters.kind == "score" else None)

    def class_indices(self, y: ArrayLike) -> NDArray[np.intp]:
        """Index in `classes` of each label; ``ValueError`` for labels that are none of them."""
        try:
            distinct, inverse = np.unique(column_or_1d(y), return_inverse=True)
        except TypeError as error:  # labels of types that cannot be compared
            raise ValueError(f"y mixes labels of different types ({error}); use one type.") from error
        place = {label: k for k, label in enumerate(self.classes.tolist())}
        index = np.array([place.get(label, -1) for label in distinct.tolist()], dtype=np.intp)
        if unknown := [label for label in distinct.tolist() if label not in place]:
            raise ValueError(
                f"y has labels that the committee does not know: {unknown[:5]}; its classes are "
                f"{self.classes.tolist()}."
            )
        return index[inverse]


def _sign_votes(H: NDArray[Any]) -> NDArray[np.int8] | Scores:
    """Votes between two classes as signed numbers, positive for the second."""
    if H.ndim == 3:
        return signed(H)
    # class 0, class 1, and at the end what index -1 finds: no vote
    labels: NDArray[np.int8] = np.array([-1, 1, 0], dtype=np.int8)[H]
    return labels
