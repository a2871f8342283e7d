"""QuadBoost's rounds beside one histogram pass and scikit-learn's AdaBoost; its path beside scikit-learn's LASSO."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier as Peer
from sklearn.linear_model import lasso_path
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bench_histogram import kernel
from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Spread, collect, interleave, timed
from benchmarks.tables import collisions
from committee import QuadBoostClassifier, _core, quadboost_path
from committee.data.bins import Binned
from committee.data.table_schema import TableSchema
from committee.learners.boosting.dictionaries import StumpPool
from committee.learners.boosting.quadboost_rounds import QuadRun, Schedule, ScoreTargets
from committee.objectives.programs.penalties import L1Penalty, NoPenalty
from committee.voters.stump_dictionary import StumpDictionary

F64 = NDArray[np.float64]


def one_round(findings: Findings, n: int, rounds: int) -> None:
    """A round without penalty over every stump, beside one histogram pass over the same table."""
    X, y = collisions(n, seed=0)
    binned = Binned.of(X, None, TableSchema.learn(X), 255)
    weights = np.full(n, 1.0 / n)
    dictionary = StumpDictionary.of(binned, weights)
    target = ScoreTargets(2.0 * y[None] - 1.0, weights, intercept=True, labels=True)
    pool = StumpPool(binned, dictionary, 1, centred=True)
    run = QuadRun.on_residuals([pool], target, NoPenalty(), Schedule(0.0)).runs[0]
    run.advance(2)
    trial = collect(
        {
            "round": lambda: timed(lambda: run.advance(1), 10),
            "histogram": kernel(binned.codes, binned.bins.n_bins, y.astype(np.uint16), weights, None),
        },
        rounds,
    )
    work = f"QuadBoost, one round over all {len(dictionary):,} stumps, {n:,} x 28"
    findings.record(work, trial)
    ratio = trial.ratio("round", "histogram")
    findings.add(Figure(f"{work}: in histogram passes", "own histogram", "", ratio, target=2.0, at_least=False))


def wide_rounds(findings: Findings, n: int, p: int, rounds: int) -> None:
    """A round over every stump of many columns: most of it is the look at all stumps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    binned = Binned.of(X, None, TableSchema.learn(X), 255)
    weights = np.full(n, 1.0 / n)
    dictionary = StumpDictionary.of(binned, weights)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0, 1.0, -1.0)
    target = ScoreTargets(y[None], weights, intercept=True, labels=True)
    run = QuadRun.on_residuals(
        [StumpPool(binned, dictionary, 1, centred=True)], target, L1Penalty(0.01), Schedule(0.0)
    ).runs[0]
    run.advance(2)
    trial = interleave({"committee": lambda: run.advance(1)}, 3 * rounds)
    work = f"QuadBoost, one round over all {len(dictionary):,} stumps, {n:,} x {p:,}"
    findings.record(work, trial)
    milliseconds = Spread.of(1e3 * trial.seconds("committee"))
    findings.add(Figure(work, "", "ms", milliseconds, clock="cpu"))


def thousand_rounds(findings: Findings, rounds: int) -> None:
    """The paper's size: 500 rows, 30 columns, ten stumps for each; a whole fit of 1,000 rounds."""
    X, y = collisions(500, seed=0)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(500, 2))])
    for penalty in (None, "l2"):
        model = QuadBoostClassifier(penalty, n_estimators=1000, fit_intercept=False, tol=0.0)
        trial = interleave({"committee": lambda model=model: model.fit(X, y)}, rounds)
        work = f"QuadBoost fit, penalty={penalty}, 1,000 rounds, 500 x 30"
        findings.record(work, trial)
        findings.add(
            Figure(
                work,
                "",
                "ms",
                Spread.of(1e3 * trial.seconds("committee")),
                target=20.0,
                at_least=False,
                remark=f"{model.committee_.n_voters} voters",
            )
        )


def beside_adaboost(findings: Findings, n: int, rounds: int) -> None:
    """Twenty rounds, against scikit-learn's AdaBoost of as many stumps; and the test errors of both."""
    train, test = collisions(n, seed=0), collisions(100_000, seed=1)
    peer = Peer(DecisionTreeClassifier(max_depth=1), n_estimators=20, random_state=0)
    models = {
        "all stumps": QuadBoostClassifier(None, n_estimators=20, dictionary="all_stumps"),
        "10 stumps a column": QuadBoostClassifier(None, n_estimators=20),
    }
    works: dict[str, Any] = {name: lambda model=model: model.fit(*train) for name, model in models.items()}
    trial = interleave({**works, "scikit-learn": lambda: peer.fit(*train)}, rounds)
    for name, model in models.items():
        work = f"QuadBoost, 20 rounds, {name}, {n:,} x 28: fit"
        findings.add_ratio(work, "scikit-learn AdaBoost", trial, "scikit-learn", name, 50)
        ours, theirs = (float(np.mean(m.predict(test[0]) != test[1])) for m in (model, peer))
        findings.add(
            Figure(
                f"QuadBoost, 20 rounds, {name}, {n:,} x 28: test error less theirs",
                "scikit-learn AdaBoost",
                "",
                Spread.of(ours - theirs),
                remark=f"ours {ours:.4f}, theirs {theirs:.4f}",
            )
        )


def beside_lasso(findings: Findings, n: int, rounds: int) -> None:
    """A hundred strengths over a thousand stumps; scikit-learn is given the votes as a dense, centred matrix."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 100))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.15 * X[:, 4:20].sum(axis=1) + rng.normal(size=n)
    y = np.where(score > 0, 1.0, -1.0)
    signs = y - y.mean()
    reached: dict[str, Any] = {}
    first = quadboost_path(X, y)
    codes = first.dictionary.bins.encode(X)

    def matrix() -> F64:
        H = first.dictionary.votes(codes, np.arange(len(first.dictionary))).astype(np.float64, order="F")
        H -= H.mean(axis=0)
        return H

    H = matrix()
    weights = np.full(n, 1.0 / n)

    def products() -> F64:
        cells = _core.Cells(codes, first.dictionary.bins.n_bins, 1)
        return first.dictionary.gram(cells.pairs(weights), first.dictionary.mean)

    # scikit-learn's tolerance is for half our risk
    for tol in (1e-4, 1e-6):
        trial = collect(
            {
                "committee": lambda tol=tol: timed(
                    lambda: reached.update(ours=quadboost_path(X, y, alphas=first.alphas, tol=2 * tol)), 1
                ),
                "scikit-learn": lambda tol=tol: timed(
                    lambda: reached.update(
                        theirs=lasso_path(H, signs, alphas=first.alphas, tol=tol, max_iter=100_000, copy_X=False)
                    ),
                    1,
                ),
                "votes as a matrix": lambda: timed(matrix, 1),
                "our products": lambda: timed(products, 1),
            },
            rounds,
        )
        ours, (_, coefs, gaps) = reached["ours"], reached["theirs"]
        work = f"LASSO path of 100 strengths, {n:,} x {len(first.dictionary):,} stumps, tol {tol:g}"
        findings.add_ratio(work, "scikit-learn lasso_path", trial, "scikit-learn", "committee", 10)
        share = float(np.mean(signs**2))
        findings.add(
            Figure(
                f"{work}: our largest duality gap over theirs",
                "scikit-learn lasso_path",
                "",
                Spread.of(ours.gaps.max() / (2 * np.max(gaps))),
                remark=f"ours {ours.gaps.max() / share:.1e}, theirs {2 * np.max(gaps) / share:.1e} of the mean square; "
                f"{ours.n_voters[-1]} and {np.count_nonzero(coefs[:, -1])} voters at the end",
            )
        )


def measure(findings: Findings, quick: bool) -> None:
    """Rounds at 100,000 x 28 and 500 x 30; fits beside AdaBoost; a path beside LASSO."""
    n, n_path, rounds = (10_000, 2_000, 3) if quick else (100_000, 10_000, 7)
    findings.settings = {"rows": [n, 500, n_path], "rounds": rounds, "threads": 1}
    one_round(findings, n, 3 * rounds)
    wide_rounds(findings, n // 50, n // 100, rounds)
    thousand_rounds(findings, 3 * rounds)
    beside_adaboost(findings, n, rounds)
    beside_lasso(findings, n_path, rounds)


if __name__ == "__main__":
    command("quadboost", measure)
