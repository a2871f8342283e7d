"""The least second moment of the margins at a given mean: MinCq on fixed voters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from committee.data.number_types import F64
from committee.objectives.margins.objective import Objective, Reweighting, is_finite_number
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.objectives.programs.simplex_quadratic import simplex_quadratic


@dataclass(frozen=True)
class MinCq(Objective):
    """Minimise the second moment of the margins at a fixed first moment [1]_,

        min  mean (S w)^2   s.t.  mean (S w) = mu,  sum w = 1,  w >= 0,

    which at mu > 0 minimises the C-bound 1 - mean^2 / second moment at that mean. Means are weighted, and run over
    lines: with more than two classes a row's lines share its weight. Of voters that name classes this is, but for
    constants, the variance of the weight q_i that names the right class, which the margin against any fixed share of
    Laviolette et al. [2]_ has too, and that of the wrong votes among the rivals, harmless if they do not agree.

    Equation: mincq (docs/theory.md).

    Parameters
    ----------
    mu : float, default=None
        First moment; None: that of the ensemble's own weights, whose second moment is then never exceeded. The original
        learner fixes a small mu instead, for voters and their opposites with weights between 0 and 1/T each.

    References
    ----------
    .. [1] P. Germain, A. Lacasse, F. Laviolette, M. Marchand, J.-F. Roy (2015). Risk bounds for the majority vote: from
       a PAC-Bayesian analysis to a learning algorithm. JMLR 16.
    .. [2] F. Laviolette, E. Morvant, L. Ralaivola, J.-F. Roy (2017). Risk upper bounds for general ensemble methods
       with an application to multiclass classification. Neurocomputing 219.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.programs.margin_matrix import MarginMatrix
    >>> from committee.objectives.margins.second_moment import MinCq
    >>> S = np.where(np.random.default_rng(0).random((50, 9)) < 0.7, 1, -1).astype(np.int8)
    >>> lines = MarginMatrix.of_matrix(S)
    >>> solved = MinCq().solve(lines)
    >>> solved.value < solved.before, bool(np.isclose(lines.margins(solved.weights).mean(), S.mean()))
    (True, True)
    """

    name: ClassVar[str] = "mincq"
    maximises: ClassVar[bool] = False
    mu: float | None = None

    def __post_init__(self) -> None:
        if self.mu is not None and not is_finite_number(self.mu):
            raise ValueError(f"mu={self.mu!r} must be a finite number or None.")

    def value(self, lines: MarginMatrix, weights: F64) -> float:
        """The second moment."""
        return float(lines.line_weight @ lines.values(weights) ** 2)

    def solve(self, lines: MarginMatrix) -> Reweighting:
        """The best weights.

        Raises
        ------
        ValueError
            If no weights have that first moment: it is outside those of the single voters.
        """
        mean_votes = lines.mean_votes()
        mu = float(mean_votes @ lines.own) if self.mu is None else float(self.mu)
        least, most = float(mean_votes.min()), float(mean_votes.max())
        if not least - 1e-12 <= mu <= most + 1e-12:
            raise ValueError(
                f"mu={mu:.6g} is the mean margin of no weights: those of single voters are between {least:.6g} and "
                f"{most:.6g}; choose mu between, or None."
            )
        weights, gap = simplex_quadratic(lines.gram(), mean_votes=mean_votes, mean=mu)
        value, before = self.value(lines, weights), self.value(lines, lines.own)
        if self.mu is None and value > before:  # by rounding
            weights, value = lines.own.copy(), before
        return Reweighting(weights, value, before, "Optimal", len(lines), 1, gap)
