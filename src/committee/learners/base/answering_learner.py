"""What a fitted learner answers for rows, in memory or in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.data.arrays import is_matrix
from committee.data.in_pieces import is_in_pieces
from committee.data.parallel import n_threads
from committee.learners.base.explained_learner import ExplainedLearner

if TYPE_CHECKING:
    from committee.data.pieces.targets import TargetsSoFar


class AnsweringLearner(ExplainedLearner):
    """Base of learners that answer by their committee."""

    def _answers(self, X: Any, method: str, targets: TargetsSoFar | None = None) -> NDArray[Any]:
        """Return what a method of the committee answers for the rows of X.

        Labels and weights that pieces bring are gathered in `targets`.
        """
        if "committee_" not in self.__dict__:
            check_is_fitted(self)  # which asks for all tags of the learner, as long as the vote on one row takes
        answer = getattr(self.committee_, method)
        # one row is for one thread, and joblib need not be asked for its backend
        threads = 1 if is_matrix(X) and len(X) == 1 and self.n_jobs != 0 else n_threads(self.n_jobs)

        def of_rows(rows: Any) -> NDArray[Any]:
            found: NDArray[Any] = answer(self.validate_rows(rows), n_threads=threads)
            return found

        if not is_in_pieces(X):
            return of_rows(X)
        from committee.learners.base.pieced_rows import by_pieces  # few tables come in pieces

        return by_pieces(X, of_rows, getattr(self, "feature_names_in_", None), targets)

    def _score_of_pieces(self, X: Any, y: Any, sample_weight: Any, metric: str) -> float:
        """Judge the predictions for rows in pieces by one of scikit-learn's metrics, in one pass."""
        from sklearn import metrics

        from committee.data.pieces.targets import TargetsSoFar

        targets = TargetsSoFar(y, sample_weight)
        predicted = self._answers(X, "predict", targets)
        if (labels := targets.labels()) is None:
            raise ValueError("score needs labels: give y, the name of its column, or pieces that bring them")
        return float(getattr(metrics, metric)(labels, predicted, sample_weight=targets.weights()))
