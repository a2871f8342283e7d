"""Results of the QuadBoost comparison, as tables (text, CSV, Markdown) and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.quadboost.methods import (
    ADABOOST,
    ANEW_L2,
    ANEW_LINF,
    GINI,
    L1,
    L2,
    LINF,
    LPBOOST,
    METHODS,
    VANILLA,
    PublishedErrors,
    published_comparison,
)
from committee.papers.shared.cells import Key
from committee.papers.shared.pages import (
    BLUE,
    LEVEL,
    ORANGE,
    PairedComparison,
    compared,
    grid_of,
    legend_below,
    number,
    percent,
    plain,
    signs_text,
    standard_error,
    unpacked,
    write_csv,
    write_page,
)
from committee.report.displays.base import INK, new_figure
from committee.report.page import BLANK, Grid
from committee.report.statistics import About, average_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# in the order of the document's Table 2
PAIRS = tuple(combinations((LINF, L2, LPBOOST, ADABOOST, VANILLA, L1), 2))


@dataclass(frozen=True, eq=False)
class TableResult:
    published: PublishedErrors
    right: dict[str, NDArray[np.bool_]]  # by method: test rows predicted right in each split, ``(repeats, test_rows)``
    cells: dict[str, tuple[Cell, ...]]  # by method: the cell of each split

    def wrong(self, method: str) -> NDArray[np.int64]:
        return np.asarray((~self.right[method]).sum(axis=1), dtype=np.int64)

    def errors(self, method: str) -> F64:
        return np.asarray(self.wrong(method) / self.published.test_rows, dtype=np.float64)

    def error(self, method: str) -> float:
        return float(self.wrong(method).sum() / self.right[method].size)

    def mean(self, method: str, figure: str) -> float | None:
        values = [cell[figure] for cell in self.cells[method]]
        return None if None in values else float(np.mean(values))

    def alone(self, a: str, b: str) -> F64:
        return np.asarray((self.right[a] & ~self.right[b]).sum(axis=1), dtype=np.float64)


def mean_errors(results: Sequence[TableResult]) -> F64:
    return np.array([[result.error(method) for method in METHODS] for result in results])


def document_errors(results: Sequence[TableResult]) -> F64:
    return np.array([[result.published.error[method] for method in METHODS] for result in results])


def ranks_of_splits(results: Sequence[TableResult]) -> F64:
    errors = np.array([[result.errors(method) for method in METHODS] for result in results])
    return np.array([average_ranks(errors[:, :, r], higher_is_better=False) for r in range(errors.shape[2])])


@dataclass(frozen=True)
class Duel:
    ours: PairedComparison  # from the mean counts over the splits, as more splits of the same rows are not more rows
    splits: F64  # probability from each split alone, as in the document, ``(repeats,)``
    document: PairedComparison  # of the errors in the document's Table 1


def duel(results: Sequence[TableResult], a: str, b: str, about: About = "these tables") -> Duel:
    alone = _alone(results, a, b)
    ours = _errors(results, a, b)
    theirs = np.array([[result.published.error[method] for result in results] for method in (a, b)])
    single = [compared(ours, split, about).probability for split in np.moveaxis(alone, 2, 0)]
    return Duel(compared(ours, alone.mean(axis=2), about), np.array(single), compared(theirs))


def _errors(results: Sequence[TableResult], a: str, b: str) -> F64:
    return np.array([[result.error(method) for result in results] for method in (a, b)])


def _alone(results: Sequence[TableResult], a: str, b: str) -> F64:
    return np.array([(result.alone(a, b), result.alone(b, a)) for result in results])


def results_of(
    rows: Sequence[PublishedErrors], methods: Sequence[str], repeats: int, cells: Mapping[Key, Cell]
) -> list[TableResult]:
    found = []
    for row in rows:
        own = {method: tuple(cells[row.name, repeat, method] for repeat in range(repeats)) for method in methods}
        right = {m: np.array([unpacked(cell["right"], row.test_rows) for cell in own[m]]) for m in own}
        found.append(TableResult(row, right, own))
    return found


CLAIMS = ((L2, VANILLA), (LINF, VANILLA), (L2, L1), (VANILLA, ADABOOST), (L1, LPBOOST))
"""Pairs of which the document finds the first method better."""

_SHORT = {L1: "L1", L2: "L2", LINF: "Linf", VANILLA: "vanilla", LPBOOST: "LPBoost", ADABOOST: "AdaBoost"}


def grids(results: Sequence[TableResult]) -> list[Grid]:
    of = [error_grid, rank_grid, pair_grid, claim_grid, stump_grid, choice_grid, seconds_grid]
    if ANEW_L2 in results[0].cells:
        of.insert(5, reweighting_grid)
    return [grid(results) for grid in of]


def error_grid(results: Sequence[TableResult]) -> Grid:
    body = []
    for result in results:
        row = result.published
        cells = [_beside(result.error(method), row.error[method]) for method in METHODS]
        body.append((row.title, f"{row.training_rows}", f"{row.test_rows:,}", *cells))
    ours, theirs = mean_errors(results).mean(axis=0), document_errors(results).mean(axis=0)
    body.append((f"mean of {len(results)}", "", "", *map(_beside, ours, theirs)))
    repeats = len(next(iter(results[0].right.values())))
    title = f"Table 1: test error in percent, mean of {repeats} split(s) (the document's one split in brackets)"
    return grid_of(title, ("table", "train", "test", *(_SHORT[m] for m in METHODS)), body)


def _beside(ours: float, theirs: float) -> str:
    return f"{100 * ours:.1f} ({100 * theirs:.1f})"


def rank_grid(results: Sequence[TableResult]) -> Grid:
    ours = average_ranks(mean_errors(results), higher_is_better=False)
    single = ranks_of_splits(results)
    theirs = average_ranks(document_errors(results), higher_is_better=False)
    error = mean_errors(results).mean(axis=0)
    body = []
    for k in np.argsort(ours, kind="stable").tolist():
        risk = [result.mean(METHODS[k], "risk") for result in results]
        voters = [result.mean(METHODS[k], "voters") or 0.0 for result in results]
        means = (ours[k], single[:, k].mean(), theirs[k], 100 * error[k])
        rank, one_split, document, in_percent = (f"{mean:.2f}" for mean in means)
        ends = f"{single[:, k].min():.2f} - {single[:, k].max():.2f}"
        mean_risk = BLANK if None in risk else number(float(np.mean(np.array(risk, dtype=np.float64))))
        body.append((METHODS[k], rank, one_split, ends, document, in_percent, mean_risk, f"{np.median(voters):,.0f}"))
    columns = ("method", "rank", "rank, one split", "range", "rank, document", "error", "risk", "voters")
    title = (
        f"Average ranks over {len(results)} table(s): by mean errors; by the errors of one split (mean and range over"
        " the splits); by the document's errors; mean test error in percent, mean quadratic test risk, median number"
        " of voters"
    )
    return grid_of(title, columns, body)


def pair_grid(results: Sequence[TableResult]) -> Grid:
    document = published_comparison()
    body = []
    for a, b in PAIRS:
        found = duel(results, a, b)
        like = duel(results, a, b, "tables like these").ours.probability
        starred = {(a, b), (b, a)} & set(document.significant)
        ends = f"{found.splits.min():.2f} - {found.splits.max():.2f}"
        theirs = f"{document.better[a, b]:.2f}{'*' if starred else ''}", signs_text(found.document.signs)
        ours = number(found.ours.probability, 2), ends, number(like, 2), signs_text(found.ours.signs)
        body.append((f"{_SHORT[a]} - {_SHORT[b]}", *ours, *theirs))
    columns = (
        *("A - B", "P(A better)", "range, one split", "P, like these", "won-lost-tied"),
        *("document: P", "document: won-lost-tied"),
    )
    title = (
        "Table 2: probability that A is better than B on most of these tables (Poisson-binomial test), its range over"
        " single splits, and on tables like these; tables won-lost-tied by A and the p of the sign test, starred at"
        f" {LEVEL:g}; the document's probability, and the sign test of its Table 1"
    )
    return grid_of(title, columns, body)


def claim_grid(results: Sequence[TableResult]) -> Grid:
    body = []
    for a, b in CLAIMS:
        found = duel(results, a, b)
        figures = number(found.ours.probability, 2), number(found.ours.signs.pvalue)
        less = percent(found.ours.less, "+"), percent(found.document.less, "+")
        body.append((f"{_SHORT[a]} beats {_SHORT[b]}", verdict(found), *figures, *less))
    columns = ("finding", "here", "P(better)", "sign p", "difference", "document")
    title = (
        "The document's findings: error of the first method minus that of the second in points, mean over the tables"
    )
    return grid_of(title, columns, body, text=2)


def verdict(found: Duel) -> str:
    signs = found.ours.signs
    if signs.pvalue <= LEVEL:
        return "holds" if signs.wins > signs.losses else "the reverse holds"
    probability = found.ours.probability
    if probability >= 1.0 - LEVEL:
        return "likely, sign test not significant"
    if probability <= LEVEL:
        return "the reverse is likely"
    return "undecided"


def stump_grid(results: Sequence[TableResult]) -> Grid:
    body = [_two_kinds("chosen", [[result.errors(m) for m in (ADABOOST, GINI)] for result in results])]
    curves = [[[cell["test_errors"] for cell in r.cells[m]] for m in (ADABOOST, GINI)] for r in results]
    for rounds in curves[0][0][0]:
        known = [side for side in (0, 1) if rounds in curves[0][side][0]]
        errors = [[np.array([cell[rounds] for cell in of[side]]) for side in known] for of in curves]
        body.append(_two_kinds(f"{int(rounds):,}", errors))
    columns = ("rounds", "best edge", "Gini", "difference", "won-lost-tied")
    title = (
        "AdaBoost: test error in percent where each round takes the stump of the best edge or that of the least Gini"
        " index, and the first minus the second; tables won-lost-tied by the first, p of the sign test"
    )
    return grid_of(title, columns, body)


def _two_kinds(name: str, errors: Sequence[Sequence[F64]]) -> tuple[str, ...]:
    means = np.array([[of_split.mean() for of_split in of] for of in errors])
    average = means.mean(axis=0)
    if len(average) == 1:
        return (name, percent(average[0]), BLANK, BLANK, BLANK)
    found = compared(means.T)
    return (name, percent(average[0]), percent(average[1]), percent(found.less, "+"), signs_text(found.signs))


def reweighting_grid(results: Sequence[TableResult]) -> Grid:
    body = []
    for method in (L2, ANEW_L2, LINF, ANEW_LINF):
        found = compared(_errors(results, method, VANILLA), _alone(results, method, VANILLA).mean(axis=2))
        error = np.mean([result.error(method) for result in results])
        rounds = [cell["params"]["rounds"] for result in results for cell in result.cells[method]]
        figures = percent(found.less, "+"), signs_text(found.signs), number(found.probability, 2)
        body.append((method, percent(float(error)), *figures, f"{np.median(rounds):,.0f}"))
    columns = ("method", "error", "minus vanilla", "won-lost-tied", "P(better)", "median T")
    title = (
        "A voter that is chosen again counts as one more, or has its weight recomputed (anew): test error in percent;"
        " against vanilla QuadBoost the difference, tables won-lost-tied with the p of the sign test, and the"
        " Poisson-binomial probability; median number of rounds"
    )
    return grid_of(title, columns, body)


def choice_grid(results: Sequence[TableResult]) -> Grid:
    body = []
    for method in (*METHODS, GINI):
        params = [cell["params"] for result in results for cell in result.cells[method]]
        strengths = [found.get("alpha", found.get("C")) for found in params]
        rounds = [found.get("rounds") for found in params]
        body.append((method, *_spread(strengths, "{:.3g}"), *_spread(rounds, "{:,.0f}")))
    columns = ("method", "strength 10 %", "50 %", "90 %", "rounds 10 %", "50 %", "90 %")
    title = "Chosen by cross-validation, quantiles: lambda of L1 and L2, alpha_max of Linf, C of LPBoost; rounds"
    return grid_of(title, columns, body)


def _spread(values: Sequence[float | None], form: str) -> list[str]:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return ["-"] * 3
    # values of the grid, none between two of them
    return [form.format(value) for value in np.quantile(known, (0.1, 0.5, 0.9), method="inverted_cdf")]


def seconds_grid(results: Sequence[TableResult]) -> Grid:
    document = published_comparison().seconds
    methods = (*METHODS, GINI)
    choose = {m: float(np.mean([result.mean(m, "choose_seconds") or 0.0 for result in results])) for m in methods}
    fit = {m: float(np.mean([result.mean(m, "fit_seconds") or 0.0 for result in results])) for m in methods}
    body = tuple(
        (
            method,
            f"{choose[method]:.3f}",
            f"{choose[method] / max(choose[VANILLA], 1e-9):.1f}",
            f"{1000 * fit[method]:.2f}",
            f"{fit[method] / max(fit[VANILLA], 1e-9):.1f}",
            f"{document[method]:.3f}" if method in document else BLANK,
            f"{document[method] / document[VANILLA]:.1f}" if method in document else BLANK,
        )
        for method in methods
    )
    columns = ("method", "choice s", "x vanilla", "fit ms", "x vanilla", "document s", "x vanilla")
    title = "Running times, mean over the tables: the whole cross-validation, one fit; the document's"
    return grid_of(title, columns, body)


def write(results: Sequence[TableResult], tables: Sequence[Grid], out: Path) -> None:
    write_csv((line for result in results for line in _cell_lines(result)), out / "table1.csv")
    write_csv((_pair_line(results, a, b) for a, b in PAIRS), out / "table2.csv")
    write_page(tables, out / "tables.md")


def _cell_lines(result: TableResult) -> Iterator[dict[str, object]]:
    row = result.published
    for method in (*METHODS, GINI):
        for cell, error in zip(result.cells[method], result.errors(method), strict=True):
            yield {
                "table": row.title,
                "name": row.name,
                "method": method,
                "repeat": cell["repeat"],
                "test_rows": row.test_rows,
                "error": f"{error:.6f}",
                "document_error": row.error.get(method, ""),
                "risk": "" if cell["risk"] is None else f"{cell['risk']:.6f}",
                "cv_error": f"{cell['cv_error']:.6f}",
                "voters": cell["voters"],
                "choose_seconds": cell["choose_seconds"],
                "fit_seconds": cell["fit_seconds"],
                **{name: cell["params"].get(name, "") for name in ("alpha", "rounds", "C", "nu")},
            }


def _pair_line(results: Sequence[TableResult], a: str, b: str) -> dict[str, object]:
    found = duel(results, a, b)
    like = duel(results, a, b, "tables like these").ours.probability
    line: dict[str, object] = {
        "a": a,
        "b": b,
        "a_better": f"{found.ours.probability:.6f}",
        "a_better_like_these": f"{like:.6f}",
        "document_a_better": published_comparison().better[a, b],
    }
    for prefix, signs in (("", found.ours.signs), ("document_", found.document.signs)):
        line |= {f"{prefix}wins": signs.wins, f"{prefix}losses": signs.losses, f"{prefix}ties": signs.ties}
        line[f"{prefix}sign_p"] = f"{signs.pvalue:.6f}"
    return line


def draw(results: Sequence[TableResult]) -> Figure:
    figure = new_figure(10.0, 3.0 + 0.17 * len(results))
    left, *others = figure.subplots(1, 3, width_ratios=(4, 3, 3))
    _ranks(left, results)
    for ax, method in zip(others, (L2, LINF), strict=True):
        _gains(ax, results, method)
    others[1].set_yticklabels([])
    legend_below(figure, left, 3)
    return figure


def _ranks(ax: Axes, results: Sequence[TableResult]) -> None:
    ours = average_ranks(mean_errors(results), higher_is_better=False)
    theirs = average_ranks(document_errors(results), higher_is_better=False)
    single = ranks_of_splits(results)
    order = np.argsort(ours, kind="stable")
    place = np.arange(len(METHODS))
    ax.hlines(
        place, single.min(axis=0)[order], single.max(axis=0)[order], color=ORANGE, alpha=0.35, linewidth=5,
        label="ours, single splits",
    )  # fmt: skip
    ax.plot(ours[order], place, color=ORANGE, marker="o", linestyle="", label="ours")
    ax.plot(theirs[order], place, color=BLUE, marker="D", linestyle="", markerfacecolor="white", label="the document")
    ax.set_yticks(place, [METHODS[k] for k in order])
    ax.invert_yaxis()
    ax.set_xlabel("average rank (1 is best)")
    plain(ax, f"{len(results)} tables")


def _gains(ax: Axes, results: Sequence[TableResult], method: str) -> None:
    place = np.arange(len(results))
    differences = [100.0 * (result.errors(method) - result.errors(VANILLA)) for result in results]
    theirs = [100.0 * (result.published.error[method] - result.published.error[VANILLA]) for result in results]
    ax.errorbar(
        [d.mean() for d in differences], place, xerr=[2.0 * standard_error(d) for d in differences],
        color=ORANGE, marker="o", markersize=4, linestyle="", linewidth=1.0,
    )  # fmt: skip
    ax.plot(theirs, place, color=BLUE, marker="D", markersize=4, linestyle="", markerfacecolor="white")
    ax.axvline(0.0, color=INK, linewidth=0.8)
    ax.set_yticks(place, [result.published.title for result in results], fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel("difference of test errors, percentage points")
    plain(ax, f"{method} minus {VANILLA}")
