"""AdaBoost of voters that answer at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.nesting.growth import Growth
from committee.learners.nesting.look_ahead import look_ahead
from committee.learners.nesting.nested_fit import NestedClassifier


@with_parameters
class ProbabilisticAdaBoostClassifier(NestedClassifier):
    """AdaBoost of voters that say +1 with a probability q(x).

    H(x) = sum_t alpha_t(x) h_t(x) is a random number: voter t adds alpha_+ where it says + and takes alpha_- where it
    says -. With W^{ab} the weight of class b to which the voter says a, in expectation,

        alpha_+ = 1/2 ln (W^{++} / W^{+-}),    alpha_- = 1/2 ln (W^{--} / W^{-+}),
        D_i <- D_i (q_i exp(-alpha_+ y_i) + (1 - q_i) exp(alpha_- y_i)) / Z,

    W smoothed by 1 / (4 n), and the expected training error is at most the product of the Z. Voters with q in {0, 1}
    make it confidence-rated AdaBoost. More than two classes: one against the rest.

    Attributes
    ----------
    committee_ : Committee
        The voters, and where their answers lead (`graph_`).

    References
    ----------
    .. [1] E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 3.
    .. [2] R. Schapire, Y. Singer (1999). Improved boosting algorithms using confidence-rated predictions.
       Machine Learning 37.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import ProbabilisticAdaBoostClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = ProbabilisticAdaBoostClassifier(n_estimators=50).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.93
    True
    """

    _looks_ahead: ClassVar[bool] = True

    n_estimators: int = parameter(
        50, "Most voters of a score; fewer when none beats chance or the run is ended otherwise.", COUNT
    )

    def _most_voters(self, count: float) -> int:
        return self.n_estimators

    def _grow(self, growth: Growth) -> Iterator[None]:
        """Both answers lead on to the next voter."""
        if self.n_draws == "look_ahead":
            yield from look_ahead(growth)
            return
        leaf = growth.root()
        while (found := growth.branching(leaf)) is not None:
            leaf = growth.join(leaf, found)
            yield
