"""The vote on numbers: voters that each add to a score, and the prediction that follows from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.files.documents import Document, Header
from committee.vote.links.mean import MeanLink
from committee.vote.links.mean import from_json as link_from_json
from committee.vote.scores import Scores
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.protocol import Voters

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


@dataclass(frozen=True, eq=False, repr=False)
class RegressionCommittee(WeightedVotes):
    """T voters h_t with weights w_t, and the number that they predict together.

    The score is where it starts and the weighted sum of the votes,

        F(x) = F_0 + sum_t w_t h_t(x),

    and the link makes the prediction of it: F itself, exp(F), the weighted mean of the votes, or several
    quantiles in order. It is to regression what `Committee` is to classification, and as immutable.

    Parameters
    ----------
    voters : Voters
        T score voters of D outputs: a `Forest` whose ``n_classes`` is D, or `Rounds`.
    weights : array-like (T,)
        Weight of each voter, finite.
    link : MeanLink
        From scores to predictions: `Identity`, `Log`, `Average` or `Ordered` of `committee.vote.links.mean`.
    table : TableSchema, default=None
        How a user's table becomes the voters' matrix. None: numeric arrays, coded as in training.
    intercept : array-like (D,), default=None
        F_0. It counts as a voter of weight 1 in the total weight that the `Average` link divides by; None is no
        voter, and F starts at zero.

    Raises
    ------
    ValueError
        If there is no voter, the voters name classes instead of numbers, the weights are not T finite numbers or
        the intercept is not D of them.

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
    table: "TableSchema | None" = None
    intercept: NDArray[np.float64] | None = None

    read_link: ClassVar[Callable[..., MeanLink]] = staticmethod(link_from_json)

    def __post_init__(self) -> None:
        voters = self.voters
        if voters.kind != "score" or voters.n_classes != voters.n_outputs:
            raise ValueError(
                f"voters cast votes for {voters.n_classes} classes; regression needs scores, one number per output. "
                "Use Committee for classes."
            )
        self._check_parts()

    @classmethod
    def from_estimator(cls, estimator: Any) -> "RegressionCommittee":
        """The committee inside a fitted regressor, which stays as it is.

        Parameters
        ----------
        estimator : fitted regressor
            scikit-learn's ``RandomForestRegressor``, ``ExtraTreesRegressor``, ``GradientBoostingRegressor``,
            ``HistGradientBoostingRegressor``, or ``BaggingRegressor`` or ``VotingRegressor`` of decision trees,
            XGBoost's ``XGBRegressor``, LightGBM's ``LGBMRegressor`` or either's ``Booster``, CatBoost's
            ``CatBoostRegressor``, of one number, or any learner of this library.

        Returns
        -------
        RegressionCommittee
            With the predictions of the original; boosters add in float32 what is added in float64 here.

        Raises
        ------
        NotFittedError
            If `estimator` is not fitted.
        TypeError
            If it is no regressor, or none of the above.
        ValueError
            If it predicts several outputs, or is a booster of anything but trees with an objective of one number.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.ensemble import RandomForestRegressor
        >>> from committee import RegressionCommittee
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(5, random_state=0).fit(X, y)
        >>> committee = RegressionCommittee.from_estimator(forest)
        >>> bool(abs(committee.predict(X) - forest.predict(X)).max() < 1e-9)
        True
        """
        own = getattr(estimator, "committee_", None)
        if isinstance(own, RegressionCommittee):
            return own
        from committee.vote.adapters.pipelines import is_pipeline, on_input_of
        from committee.vote.adapters.regressors import regression_parts_of  # imports scikit-learn's ensembles

        if is_pipeline(estimator):
            return cls(*on_input_of(estimator, regression_parts_of(estimator[-1])))
        return cls(*regression_parts_of(estimator))

    @classmethod
    def read_header(cls, document: Document) -> Header:
        """Columns of a document."""
        return Header.from_document(document, None)

    @property
    def n_outputs(self) -> int:
        """Numbers predicted for each row, D."""
        return self.voters.n_outputs

    def __repr__(self) -> str:
        voters, outputs = (
            f"{n} {what}" + "s" * (n != 1) for n, what in ((self.n_voters, "voter"), (self.n_outputs, "output"))
        )
        return f"RegressionCommittee({voters}, {outputs}, {self.link.name} link)"

    # -- the vote -----------------------------------------------------------------------------------------

    def votes(self, X: Any, *, n_threads: int = 1) -> Scores:
        """The vote matrix H: what each voter says about each row; the intercept is none of them.

        Parameters and errors are those of `decision_function`.

        Returns
        -------
        float64 array
            ``(n, T)`` for one output, otherwise ``(n, T, D)``.

        Examples
        --------
        ``committee.votes(X).std(axis=1)`` is how far the trees of a forest disagree on each row.
        """
        H = self.voters.votes(self.encode(X), n_threads).astype(np.float64, copy=False)
        return H[:, :, 0] if H.shape[2] == 1 else H

    def _scores(self, tally: Scores) -> Scores:
        """F of a tally: a vector for one output."""
        return tally[:, 0] if tally.shape[1] == 1 else tally

    def _answer(self, F: Scores, total: float) -> Scores:
        """Predicted numbers."""
        return self.link.mean(F, total)
