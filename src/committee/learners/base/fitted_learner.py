"""Predictions and explanations of a fitted learner, by its committee."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from committee.data.columns import take_named
from committee.data.matrices import is_matrix, is_out_of_core
from committee.data.out_of_core.scan import as_pieces
from committee.data.out_of_core.training_pieces import TargetCollector
from committee.data.parallel import n_threads
from committee.data.text import NamedCalls
from committee.vote.committee import Committee, RegressionCommittee
from committee.voters.forest import ImportanceKind

if TYPE_CHECKING:
    from committee.vote.explain.tree_contributions import Output


class FittedLearner(NamedCalls, ABC):
    committee_: Committee | RegressionCommittee
    n_features_in_: int
    n_jobs: int | None

    @abstractmethod
    def validate_rows(self, X: Any) -> Any:
        """Check names and number of columns; return X as the committee takes it."""

    def _answers(
        self, X: Any, method: str, targets: TargetCollector | None = None, offset: ArrayLike | str | None = None
    ) -> NDArray[Any]:
        # the result of a method of the committee; labels and weights of rows in pieces are gathered in `targets`
        if isinstance(offset, str):
            X, offset = take_named(X, offset=offset)
        if "committee_" not in self.__dict__:
            check_is_fitted(self)  # takes as long as the vote on one row, as it collects all tags of the learner
        predict = getattr(self.committee_, method)
        # one row needs one thread, and no joblib backend
        threads = 1 if is_matrix(X) and len(X) == 1 and self.n_jobs != 0 else n_threads(self.n_jobs)

        def of_rows(rows: Any, offset: ArrayLike | None = None) -> NDArray[Any]:
            given = {} if offset is None else {"offset": offset}  # only additive scores take an offset
            found: NDArray[Any] = predict(self.validate_rows(rows), n_threads=threads, **given)
            return found

        if not is_out_of_core(X):
            return of_rows(X, offset)
        return predict_pieces(X, of_rows, getattr(self, "feature_names_in_", None), targets, offset)

    def contributions(self, X: Any, *, output: Output | None = None, parts: bool = False) -> Any:
        """Exact Shapley values of the features in the trees' output for each row.

        In linear leaves these are the Shapley values of the leaves' constants, and what a linear term adds to the
        constant goes to the term's column. See `committee.vote.explain.tree_contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"score", "probability", "prediction"}, default=None
            "score": the weighted sum over the trees. "probability": the mean of forests' class shares, which is
            `predict_proba` without a temperature. "prediction": numbers, if they are a sum or a mean over the trees.
            None: "probability" for forests and trees of classes, "prediction" for such numbers, else "score".
        parts : bool, default=False
            Whether parts of dates (see `DateEncoder`) are columns of their own; `contribution_names` names them.

        Returns
        -------
        float64 array
            Features in order, and last the expectation over the training rows; they add up to the output. ``(n, p + 1,
            K)`` for probabilities, for scores of K > 2 classes and for K numbers; else ``(n, p + 1)``.

        Raises
        ------
        TypeError
            If the voters are not native trees, or `X` is sparse.
        ValueError
            If the learner's `output` is not a sum over its trees, or these have no weights of training rows.
        """
        check_is_fitted(self)
        from committee.vote.explain.tree_contributions import default_output, tree_contributions

        rows, output = self.validate_rows(X), output or default_output(self.committee_)
        shares = tree_contributions(self.committee_, rows, output=output, n_threads=n_threads(self.n_jobs))
        return self._by_part(shares, parts=parts)

    def contribution_names(self, *, parts: bool = False) -> NDArray[Any]:
        """Names of the features of `contributions`, without the expectation, which is last.

        Parameters
        ----------
        parts : bool, default=False
            As in `contributions`: the parts of dates follow the columns of the table.

        Returns
        -------
        array of str (p,), longer with `parts` of dates
        """
        check_is_fitted(self)
        table = self.committee_.table
        if table is None:
            return np.array([f"x{j}" for j in range(self.n_features_in_)], dtype=object)
        return np.array(table.explained if parts else table.source.explained, dtype=object)

    def interventional_contributions(self, X: Any, background: Any, *, output: Output | None = None) -> Any:
        """Interventional Shapley values: features outside a coalition have the values of background rows.

        Unlike in `contributions`, a column on which the output does not depend gets 0 even if trees split on it,
        however it is correlated with others.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        background : table or array-like (m, p)
            Rows, such as 100 drawn from the training table; the time grows with n times m.
        output : {"score", "probability", "prediction"}, default=None
            As in `contributions`.

        Returns
        -------
        float64 array
            As that of `contributions`; the last place is the mean output of the background.

        Raises
        ------
        TypeError, ValueError
            As `contributions`, but trees need no weights of training rows; or if there is no background row.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
        >>> shares = model.interventional_contributions(X[:5], X[::10])
        >>> shares.shape, bool(abs(shares.sum(axis=1) - model.predict(X[:5])).max() < 1e-9)
        ((5, 11), True)
        """
        check_is_fitted(self)
        from committee.vote.explain.tree_contributions import (
            check_background,
            default_output,
            interventional_contributions,
        )

        check_background(background)
        output = output or default_output(self.committee_)
        rows, others = self.validate_rows(X), self.validate_rows(background)
        threads = n_threads(self.n_jobs)
        return self._by_source(
            interventional_contributions(self.committee_, rows, others, output=output, n_threads=threads)
        )

    def interactions(self, X: Any, *, output: Output | None = None) -> Any:
        """Shapley interaction values of trees of at most 64 leaves.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain; the result holds n p^2 numbers for each output.
        output : {"score", "probability", "prediction"}, default=None
            As in `contributions`.

        Returns
        -------
        float64 array
            ``(n, p, p)``, or ``(n, p, p, K)`` where `contributions` has K numbers: symmetric, with half of the
            interaction of two features in each of its two places. Sums over the second p are `contributions` without
            its last place.

        Raises
        ------
        TypeError, ValueError
            As `contributions`, or if a tree has more than 64 leaves.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> GradientBoostingRegressor(n_estimators=20).fit(X, y).interactions(X[:5]).shape
        (5, 10, 10)
        """
        check_is_fitted(self)
        from committee.vote.explain.tree_contributions import default_output, tree_interactions

        rows, output = self.validate_rows(X), output or default_output(self.committee_)
        pairs = tree_interactions(self.committee_, rows, output=output, n_threads=n_threads(self.n_jobs))
        return self._by_source(self._by_source(pairs), axis=2)

    def explanation(self, X: Any, *, output: Output | None = None, background: Any = None) -> Any:
        """Contributions as an explanation of the package shap, for its plots.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"score", "probability", "prediction"}, default=None
            Sum of the values. None: the default of the learner's `contributions`.
        background : table or array-like (m, p), default=None
            Rows for `interventional_contributions`; None: `contributions`.

        Returns
        -------
        shap.Explanation
            Values ``(n, p)`` and base values ``(n,)``, of the second of two classes; of K > 2 classes or several
            numbers ``(n, p, K)`` and ``(n, K)``, with the names of classes, for ``[..., k]``. Also the columns' names,
            the encoded rows, and in ``display_data`` these with the names of categories.

        Raises
        ------
        MissingExtraError
            If shap is not installed.
        TypeError, ValueError
            As `contributions`.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
        >>> model.explanation(X[:5]).feature_names[:3]  # shap.plots.waterfall(model.explanation(X)[0])
        ['age', 'sex', 'bmi']
        """
        check_is_fitted(self)
        from committee.vote.explain.contributions import shap_explanation

        return shap_explanation(self, X, output, background)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of each row in each tree of the voters.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.

        Returns
        -------
        int32 array (n, number of trees), or (n, rounds, scores)
            Node numbers within each tree; ``(n, rounds, scores)`` where a round has a tree for each score. Trees of
            committees of trees are listed committee by committee.

        Raises
        ------
        TypeError
            If the voters are not native trees.
        """
        check_is_fitted(self)
        return self.committee_.apply(self.validate_rows(X), n_threads=n_threads(self.n_jobs))

    def decision_path(self, X: Any) -> tuple[csr_array, NDArray[np.int64]]:
        """Nodes that each row passes in each tree of the voters.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.

        Returns
        -------
        indicator : sparse array (n, nodes)
            1 where a row passes a node, from the root to the leaf.
        n_nodes_ptr : int64 array (trees + 1,)
            Tree t has the columns ``n_nodes_ptr[t]:n_nodes_ptr[t + 1]``, in the node numbers of `apply`.

        Raises
        ------
        TypeError
            If the voters are not native trees.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from committee import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> indicator, first = RandomForestClassifier(2, max_depth=1).fit(X, y).decision_path(X[:1])
        >>> first.tolist(), int(indicator.sum())
        ([0, 3, 6], 4)
        """
        check_is_fitted(self)
        return self.committee_.decision_path(self.validate_rows(X), n_threads=n_threads(self.n_jobs))

    @property
    def estimators_(self) -> list[Committee] | list[RegressionCommittee]:
        """Committees of one voter each: a tree of a forest, a round of boosting, a fit of a member of a blend.

        Each keeps the voter's weight and the intercept; ``len(model)`` is their number.
        """
        check_is_fitted(self)
        committee: Any = self.committee_
        return [committee[t] for t in range(committee.n_voters)]

    def __len__(self) -> int:
        check_is_fitted(self)
        return self.committee_.n_voters

    def __bool__(self) -> bool:
        return True  # also before the fit, where there is no length

    def _staged(self, X: Any, method: str, offset: ArrayLike | str | None = None) -> Iterator[NDArray[Any]]:
        check_is_fitted(self)
        if isinstance(offset, str):
            X, offset = take_named(X, offset=offset)
        given = {} if offset is None else {"offset": offset}
        stages: Iterator[NDArray[Any]] = getattr(self.committee_, method)(
            self.validate_rows(X), n_threads=n_threads(self.n_jobs), **given
        )
        return stages

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the voters' weighted split gain, ``(p,)``."""
        check_is_fitted(self)
        return self._by_source(self.committee_.feature_importances_, axis=0)

    def feature_importances(self, kind: ImportanceKind = "gain") -> NDArray[np.float64]:
        """Share of each feature in the splits of the voters' trees, ``(p,)``: `feature_importances_` for "gain".

        See the committee's `feature_importances`. "count" and "cover" need native trees.
        """
        check_is_fitted(self)
        if kind == "gain":
            return self.feature_importances_
        return self._by_source(self.committee_.feature_importances(kind), axis=0)

    def _by_part(self, shares: NDArray[np.float64], *, parts: bool) -> NDArray[np.float64]:
        table = self.committee_.table
        return table.by_part(shares, 1) if parts and table is not None else self._by_source(shares)

    def _by_source(self, shares: NDArray[np.float64], axis: int = 1) -> NDArray[np.float64]:
        # one number per column of the user's table, which has no derived columns
        table = self.committee_.table
        return shares if table is None else table.by_source(shares, axis)


def predict_pieces(
    X: Any,
    predict: Callable[..., NDArray[Any]],
    names: NDArray[Any] | None,
    targets: TargetCollector | None = None,
    offset: ArrayLike | str | None = None,
) -> NDArray[Any]:
    if isinstance(offset, str):
        raise ValueError(
            f"offset={offset!r} names a column, and X is read in pieces; give an array of the offsets of all rows."
        )
    pieces = as_pieces(X).for_model(None if names is None else names.tolist(), () if targets is None else targets.named)
    offsets = None if offset is None else np.asarray(offset)
    predictions, first = list[NDArray[Any]](), 0
    for piece in pieces:
        if not len(piece):
            continue
        with piece.named_in_errors():
            if targets is not None:
                targets.take(piece)
            rows = piece.with_columns(pieces.columns, pieces.without).X
            own = () if offsets is None else (offsets[first : first + len(piece)],)
            predictions.append(predict(rows, *own))
            first += len(piece)
    if not predictions:
        raise ValueError("the pieces have 0 rows; at least one is needed.")
    if offsets is not None and first != len(offsets):
        raise ValueError(f"offset has shape {offsets.shape}, and X has {first} rows; give an offset for each row.")
    return np.concatenate(predictions)
