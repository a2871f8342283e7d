"""What the document leaves open, measured: entropy of the weights beside the edge, growth by it, both stopwatches."""

from __future__ import annotations

import numpy as np

from committee.papers.matryoshka.plan import PROBABILISTIC
from committee.papers.matryoshka.results import NestingResults, bound_signs, duel, log_loss, measure, setting_of, wrong
from committee.papers.shared.pages import grid_of, number, percent
from committee.papers.shared.paired import signs_text
from committee.report.grid import BLANK, Grid


def grids(results: NestingResults) -> list[Grid]:
    """Entropies and edges, growth, and clocks, in the order of the page."""
    return [entropy_grid(results), growth_grid(results), clock_grid(results)]


def entropy_grid(results: NestingResults) -> Grid:
    """Entropies while the voters double, and their rank correlation with the edges of a run."""
    most = results.plan.base
    ends = [2**k for k in range(most.bit_length())]
    body = []
    for method in PROBABILISTIC:
        cells = [cell for table in results.tables for cell in results.of_table(table, setting_of(method, most))]
        there = ([cell["entropies"][k] for cell in cells if len(cell["entropies"]) > k] for k in range(len(ends)))
        shares = (percent(float(np.exp(np.median(found)))) if found else BLANK for found in there)
        rho = [cell["edge_by_entropy"] for cell in cells if cell["edge_by_entropy"] is not None]
        signs = f"{sum(r < 0.0 for r in rho)}-{sum(r > 0.0 for r in rho)}"
        body.append((method, *shares, number(float(np.median(rho)) if rho else None, 2), signs))
    columns = ("voters", *(f"{end}" if end <= 2 else f"{end // 2 + 1}-{end}" for end in ends), "rho", "runs - +")
    title = (
        f"Entropy of the weights in the order of training, T = {most}: as a percentage of the rows, median over tables"
        " and splits of the median in a run; Spearman's correlation of entropy and edge over the voters of a run, its"
        " median, and in how many runs it is negative and positive"
    )
    return grid_of(title, columns, body)


def growth_grid(results: NestingResults) -> Grid:
    """The boosting tree grown at leaves chosen in each way."""
    settings = results.plan.by_choice()
    tables = results.shared(settings)
    body = []
    for setting in settings:
        bound, error, path, seconds = (
            results.mean(setting, measure(name), tables)
            for name in ("bound", "train_error", "path_error", "fit_seconds")
        )
        test, loss = (results.mean(setting, what, tables) for what in (wrong(), log_loss()))
        versus = (BLANK, BLANK)
        if setting != settings[0]:
            signs = bound_signs(results, setting, settings[0]), duel(results, setting, settings[0]).signs
            versus = signs_text(signs[0]), signs_text(signs[1])
        figures = number(bound), percent(error), percent(test), percent(path), number(loss), f"{1000 * seconds:.0f}"
        body.append((setting.choose, *figures, *versus))
    columns = ("grown by", "bound C", "train error", "E[H]", "one path", "ln E[H]", "fit ms", "bounds", "errors")
    title = (
        f"Growth of the boosting tree, T = {results.plan.base}: bound, expected training error, test errors in percent,"
        f" log loss, milliseconds; means over {len(tables)} table(s) and {results.repeats} split(s); tables on which"
        " bound and test error are lower, higher, even against growth by mass, p of the sign test"
    )
    return grid_of(title, columns, body)


def clock_grid(results: NestingResults) -> Grid:
    """AdaBoost told from draws that a clock ends."""
    settings = results.plan.by_clock()
    tables = results.shared(settings)
    body = []
    for setting in settings:
        drawn, seconds = (results.mean(setting, measure(name), tables) for name in ("draws", "fit_seconds"))
        bounds = (results.geometric_mean(setting, name, tables) for name in ("bound", "true_bound"))
        error, loss = (results.mean(setting, what, tables) for what in (wrong(), log_loss()))
        signs = BLANK if setting == settings[0] else signs_text(duel(results, setting, settings[0]).signs)
        way = "known" if setting.n_draws is None else str(setting.n_draws).replace("_", " ")
        figures = number(drawn, 1), *map(number, bounds), percent(error), number(loss), f"{1000 * seconds:.0f}"
        body.append((way, *figures, signs))
    columns = ("draws", "mean", "told C", "true C", "error", "ln", "fit ms", "errors")
    title = (
        f"Both stopwatches, AdaBoost, MAP, T = {results.plan.base}: mean number of draws, told and true bound"
        " (geometric means), test error by E[H] in percent, log loss, milliseconds; tables with less, more, equal error"
        " against known probabilities, p of the sign test"
    )
    return grid_of(title, columns, body)
