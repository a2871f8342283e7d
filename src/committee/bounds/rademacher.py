"""Rademacher complexities without random signs: of finite classes, of weighted votes, and expected over samples."""

from __future__ import annotations

from math import inf, log, sqrt

from committee.bounds.arguments import count, number, risk_of_failure


def massart(ln_size: float, n_rows: int) -> float:
    """Rademacher complexity of a finite class of voters within [-1, 1], Massart's bound sqrt(2 ln|B| / n).

    It holds for every sample, and so for the expected complexity too.

    Equation: massart (docs/theory.md).

    Parameters
    ----------
    ln_size : float
        ln|B|, a voter and its opposite counted as two: ln(2 N) for N stumps that may be turned round.
    n_rows : int
        Rows n.

    References
    ----------
    P. Massart (2000). Some applications of concentration inequalities to statistics. Annales de la Faculte des
    Sciences de Toulouse 9, Lemma 5.2.

    Examples
    --------
    >>> from math import log
    >>> from committee.bounds import massart
    >>> round(massart(log(2 * 300), 500), 4)
    0.16
    """
    return sqrt(2.0 * number("ln_size", ln_size, 0.0, inf) / count("n_rows", n_rows))


def ensemble_complexity(complexity: float, n_voters: int, p: float = 1.0) -> float:
    """Lemma 1: complexity of the votes sum_t alpha_t h_t of T voters with ||alpha||_p <= 1, T^(1 - 1/p) R.

    The supremum over the weights is the q-norm of the voters' correlations with the signs, 1/p + 1/q = 1, largest
    if all T voters are the best one; so it is an equality, if a voter may be taken more than once. As
    ||alpha||_1 <= T^(1 - 1/p) ||alpha||_p, it is at every p what p = 1 says of the smallest 1-norm that is known.

    Parameters
    ----------
    complexity : float
        Rademacher complexity R of the voters, a symmetric class.
    n_voters : int
        Voters T that vote.
    p : float, default=1.0
        Which norm; 1 <= p <= inf.

    References
    ----------
    L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille, J.-F. Roy. Efficient learning of ensembles with
    QuadBoost, Lemma 1.

    Examples
    --------
    >>> from committee.bounds import ensemble_complexity
    >>> [ensemble_complexity(0.05, 100, p) for p in (1, 2, float("inf"))]
    [0.05, 0.5, 5.0]
    """
    R, p = number("complexity", complexity, 0.0, inf), number("p", p, 1.0, inf)
    return float(R * float(count("n_voters", n_voters)) ** (1.0 - 1.0 / p))


def expected_complexity(empirical: float, n_rows: int, delta: float = 0.05) -> float:
    """Upper bound on the expected Rademacher complexity R_n by that of one sample, R_S.

    With probability 1 - delta, and L = ln(1 / delta) / (2 n),

        R_n <= min((sqrt(L) + sqrt(L + R_S))^2, R_S + sqrt(L)).

    One row more raises n R_S by a number between 0 and 1, and all these numbers together do not exceed n R_S: it is
    self-bounding, from which the first; the bounded differences alone give the second.

    Parameters
    ----------
    empirical : float
        R_S, or an upper limit of it, of a symmetric class of voters within [-1, 1].
    n_rows : int
        Rows n.
    delta : float, default=0.05
        It fails with at most this probability.

    References
    ----------
    S. Boucheron, G. Lugosi, P. Massart (2000). A sharp concentration inequality with applications. Random Structures
    and Algorithms 16.

    Examples
    --------
    >>> from committee.bounds import expected_complexity
    >>> round(expected_complexity(0.05, 500), 4), round(expected_complexity(0.05, 50_000), 4)
    (0.0812, 0.0525)
    """
    R, n = number("empirical", empirical, 0.0, inf), count("n_rows", n_rows)
    L = log(1.0 / risk_of_failure(delta)) / (2.0 * n)
    return min((sqrt(L) + sqrt(L + R)) ** 2, R + sqrt(L))
