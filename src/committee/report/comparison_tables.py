"""A comparison as tables and sentences, the same for the terminal and for the HTML report."""

from __future__ import annotations

from math import isclose
from statistics import median

from committee.data.text import pluralize
from committee.report.comparison import LEVEL, AgainstBest, Comparison, ModelResult
from committee.report.metrics import Metric, averaged, default_metrics, four_digit_decimals, known_metric, metrics_of
from committee.report.models import BASELINE
from committee.report.page import BLANK, Grid

MOST_DEVIATIONS = 3
"""Most metrics for which the table of scores shows standard deviations."""

MOST_NAMES = 4

LARGE_LOSS, LARGE_ERROR = 1.25, 1.5
"""Least ratios to the loss, or 1 - score, of the best model that are called large."""


def size_text(comparison: Comparison, value: float) -> str:
    if comparison.task == "classes":
        return f"{value:.4f}"
    best = abs(comparison.ranked[0].mean(comparison.metric) or 0.0) if comparison.ranked else 0.0
    if not 1e-4 <= best < 1e12:
        return f"{value:.4g}"
    return f"{value:,.{four_digit_decimals(best)}f}"


def _pvalue(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def grids(comparison: Comparison) -> list[Grid]:
    made = (quality_grid, failures_grid, difference_grid, cost_grid)
    return [grid for each in made if (grid := each(comparison)).rows]


def quality_grid(comparison: Comparison) -> Grid:
    metrics = _metrics("quality", comparison)
    headings = (averaged(metric.heading, name, comparison.table.classes) for name, metric in metrics.items())
    columns = ("", "model", *headings, "rank")
    brief = len(metrics) > MOST_DEVIATIONS
    rows = []
    for model in comparison.models:
        row = [BLANK if model.place is None else str(model.place), model.name]
        if model.error is not None or not model.fold_results:
            row += ["failed" if model.error is not None else "not run", *[BLANK] * (len(columns) - 3)]
        else:
            rank = BLANK if model.average_rank is None else f"{model.average_rank:.2f}"
            texts = [_text(model, name) for name in metrics]
            row += [*(text.partition(" ±")[0] if brief else text for text in texts), rank]
        rows.append(tuple(row))
    return Grid(
        "Cross-validated scores",
        columns,
        tuple(rows),
        "rl" + "r" * (len(columns) - 2),
        _notes(comparison),
        tuple(model.name for model in comparison.models),
        0 if comparison.ranked else None,
    )


def difference_grid(comparison: Comparison) -> Grid:
    rows, keys = [], []
    for model in comparison.ranked:
        test = model.against_best
        if test is not None:
            low, high = (size_text(comparison, end) for end in test.interval)
            p = _pvalue(test.adjusted_pvalue) + ("*" if test.significant else "")
            rows.append((model.name, size_text(comparison, test.difference), f"{low} to {high}", p))
            keys.append(model.name)
    best = comparison.ranked[0].name if comparison.ranked else ""
    title = f"Difference to {best} in {comparison.metric_words}"
    columns = ("model", "worse by", "95% interval", "p")
    return Grid(title, columns, tuple(rows), "lrrr", _notes(comparison), tuple(keys))


def failures_grid(comparison: Comparison) -> Grid:
    rows = []
    for model in comparison.models:
        if model.error is not None:
            fold, _, error = model.error.partition(": ")
            rows.append((model.name, fold.removeprefix("fold "), error))
    return Grid("Failed models", ("model", "fold", "error"), tuple(rows), "lrl")


def cost_grid(comparison: Comparison) -> Grid:
    metrics = _metrics("cost", comparison)
    columns = ("model", *(metric.heading for metric in metrics.values()))
    shown = [model for model in comparison.models if model.error is None and model.fold_results]
    rows = tuple((model.name, *(_text(model, name) for name in metrics)) for model in shown)
    title = "Time and size" if comparison.task == "numbers" else "Time, size and training margins"
    keys = tuple(model.name for model in shown)
    return Grid(title, columns, rows, "l" + "r" * len(metrics), _notes(comparison), keys)


def _metrics(table: str, comparison: Comparison) -> dict[str, Metric]:
    known = metrics_of(comparison.task == "numbers")
    return {
        name: known[name]
        for name in dict.fromkeys((*comparison.metrics, *known))
        if known[name].table == table and (known[name].shown or name in comparison.metrics)
    }


def _text(model: ModelResult, metric: str) -> str:
    values = model.values(metric)
    return known_metric(metric).text(values) if values.size else BLANK


def table_sentence(comparison: Comparison) -> str:
    table = comparison.table
    numeric = table.columns - table.categorical
    missing = "no missing cells"
    if table.missing_cells:
        share = table.missing_cells / max(table.rows * table.columns, 1)
        missing = f"{pluralize(table.missing_cells, 'missing cell')} ({share:.1%})"
    target = f"{len(table.classes)} classes of {table.target!r}"
    if table.numbers is not None:
        target = f"numbers of {table.target!r} from {table.numbers[0]:.6g} to {table.numbers[2]:.6g}"
    repeats = f" x {comparison.repeats} repeats" if comparison.repeats > 1 else ""
    assigned = comparison.assignment and f" {comparison.assignment}"
    stratified = " stratified" if table.classes and not assigned else ""
    return (
        f"{table.name}: {pluralize(table.rows, 'row')}, {pluralize(table.columns, 'column')} ({numeric:,} numeric,"
        f" {table.categorical:,} categorical), {target}, {missing};"
        f" {comparison.folds}{stratified} folds{assigned}{repeats}, seed {comparison.seed}"
        f"{', weighted rows' if comparison.weighted else ''}"
    )


def parameters_set(comparison: Comparison) -> list[tuple[str, str]]:
    return [
        (model, ", ".join(f"{name}={value}" for name, value in values.items()))
        for model, values in comparison.parameters.items()
    ]


def _notes(comparison: Comparison) -> dict[str, str]:
    notes = dict(measures(comparison))
    notes |= dict.fromkeys(("voters", "nodes"), notes["voters, nodes"])
    return notes | {heading: notes["margins"] for heading in ("mean margin", "min margin") if "margins" in notes}


def measures(comparison: Comparison) -> list[tuple[str, str]]:
    words = comparison.metric_words
    others = max(len(comparison.ranked) - 1, 0)
    quality, cost = (
        [
            (averaged(metric.note[0], name, comparison.table.classes), metric.note[1])
            for name, metric in _metrics(table, comparison).items()
            if metric.note
        ]
        for table in ("quality", "cost")
    )
    compared = any(model.name == BASELINE for model in comparison.models)
    shares = "; its probabilities are the shares of the classes" if comparison.task == "classes" else ""
    jobs = comparison.jobs
    run = "one fit at a time" if jobs == 1 else f"{jobs} fits in parallel, which makes times less exact"
    return [
        *([(BASELINE, f"Always predicts {constant_prediction(comparison)}{shares}.")] if compared else []),
        *quality,
        ("rank", f"Rank by {words} among the models within each fold (1 is best, ties averaged), averaged."),
        (
            "worse by",
            f"Difference between the mean {words} of the model and that of the best model, positive if worse.",
        ),
        (
            "95% interval",
            "95 % confidence interval of that difference, from the same t-test as p, for each model alone. It may"
            " exclude 0 although p, which is adjusted for the number of models, is above 0.05.",
        ),
        (
            "p",
            "Paired test of each model against the best: corrected resampled t-test (Nadeau and Bengio 2003)"
            f" on the folds' {words}, two-sided, adjusted by Holm's rule for {pluralize(others, 'comparison')}. A star"
            f" marks p at most {LEVEL}. The best model is selected on the same folds, so the differences are slightly"
            " optimistic.",
        ),
        *((name, sentence.format(run=run)) for name, sentence in cost),
    ]


def verdict(comparison: Comparison) -> list[str]:
    sentences = _stopped(comparison)
    if comparison.ranked:
        counts = comparison.table.classes
        defaults = counts and default_metrics(counts.values(), comparison.folds, at_random=not comparison.assignment)
        if comparison.metrics == defaults and comparison.metric != "accuracy":
            label = min(counts, key=lambda label: counts[label])
            share = counts[label] / sum(counts.values())
            sentences.append(f"Ranked by {comparison.metric_words}, as class {label!r} has {share:.1%} of the rows.")
        best, *others = comparison.ranked
        sentences.append(_best(comparison, best, others))
        tested = [(each, each.against_best) for each in others if each.against_best is not None]
        sentences += _tested(comparison, best, tested)
        sentences += _against_baseline(comparison, best)
    for model in comparison.models:
        if model.error is not None:
            fold = model.error.partition(":")[0]
            sentences.append(f"{model.name} failed in {fold}; see the table of failed models.")
        elif model.place is None and model.fold_results and comparison.folds_done != 0:
            some = " in some folds" if model.values(comparison.metric).size else ""
            sentences.append(f"{model.name} has no {comparison.metric_words}{some} and is not ranked.")
    return sentences


def _stopped(comparison: Comparison) -> list[str]:
    if comparison.stopped is None:
        return []
    n, done = comparison.folds * comparison.repeats, comparison.folds_done or 0
    stopped = f"Stopped by {comparison.stopped}"
    if done:
        alone = "; one fold allows no test" if done == 1 else ""
        return [f"{stopped} after {done} of {n} folds; the models are compared on these{alone}."]
    missing = [each.name for each in comparison.models if not each.fold_results]
    return [
        f"{stopped} before every model finished one fold; the models are not ranked. Not run: {', '.join(missing)}."
    ]


def _best(comparison: Comparison, best: ModelResult, others: list[ModelResult]) -> str:
    metric = comparison.metric
    kind, words, value = known_metric(metric).best, comparison.metric_words, best.mean(metric) or 0.0
    text = size_text(comparison, value)
    tied = [each.name for each in others if isclose(each.mean(metric) or 0.0, value, rel_tol=1e-9)]
    if tied:
        return (
            f"{_listed([best.name, *tied])} share the {kind} mean {words} ({text}); {best.name} has the best average"
            " rank of these, and all others are tested against it."
        )
    return f"{best.name} has the {kind} mean {words} ({text})."


def _tested(comparison: Comparison, best: ModelResult, tested: list[tuple[ModelResult, AgainstBest]]) -> list[str]:
    sentences = []
    worse = [(model, test) for model, test in tested if test.significant]
    others = [(model, test) for model, test in tested if not test.significant]
    large = [(model, test) for model, test in others if test.in_every_fold and _is_large(comparison, best, model)]
    level = [pair for pair in others if pair not in large]
    folds = len(best.fold_results)
    if worse:
        sentences.append(f"Significantly worse than {best.name}: {_differences(comparison, worse)}.")
    if large:
        sentences.append(f"Large, but not significant with {folds} folds: {_differences(comparison, large)}.")
    if level:
        text = size_text(comparison, max(test.difference for _, test in level))
        differences = "difference" if len(level) == 1 else "differences up to"
        by = f" (mean {differences} {text})" if text.strip("0.,") else ""
        names = _listed([model.name for model, _ in level])
        sentences.append(f"Not significantly different from {best.name}: {names}{by}.")
        least = median(test.least_shown for _, test in level)
        if least > 0.0:
            text = size_text(comparison, least)
            sentences.append(f"With {folds} folds, differences below about {text} cannot be detected.")
    return sentences


def _against_baseline(comparison: Comparison, best: ModelResult) -> list[str]:
    base = next((model for model in comparison.ranked if model.name == BASELINE), None)
    if base is None:
        return []
    words, always = comparison.metric_words, constant_prediction(comparison)
    if best is base:
        return [f"No model has a better mean {words} than the baseline, which always predicts {always}."]
    if base.against_best is not None and not base.against_best.significant:
        return [f"{best.name} is not significantly better than the baseline, which always predicts {always}."]
    accuracy, constant = best.mean("accuracy"), base.mean("accuracy")
    if comparison.metric == "accuracy" or accuracy is None or constant is None or accuracy > constant:
        return []
    return [
        f"By accuracy {best.name} is no better than always predicting {always} ({accuracy:.4f} and {constant:.4f}): its"
        f" gain is in {words}, and other thresholds of the probabilities predict rarer classes more often."
    ]


def constant_prediction(comparison: Comparison) -> str:
    if comparison.task == "numbers":
        return f"the {comparison.parameters.get(BASELINE, {}).get('strategy', 'mean')} of the training rows"
    if comparison.weighted:
        return "the class of the most weight"
    counts = comparison.table.classes
    return f"{max(counts, key=lambda label: counts[label])!r}, the most frequent class"


def _is_large(comparison: Comparison, best: ModelResult, model: ModelResult) -> bool:
    metric = comparison.metric
    first, other = best.mean(metric), model.mean(metric)
    assert first is not None and other is not None
    if known_metric(metric).best == "highest":
        return 1.0 - other >= LARGE_ERROR * (1.0 - first)
    return other >= LARGE_LOSS * first


def _differences(comparison: Comparison, tested: list[tuple[ModelResult, AgainstBest]]) -> str:
    if len(tested) > MOST_NAMES:
        least, *_, most = sorted(tested, key=lambda pair: pair[1].difference)
        ends = [f"{size_text(comparison, test.difference)} ({model.name})" for model, test in (least, most)]
        return f"{len(tested)} models, by {ends[0]} to {ends[1]}"
    texts = []
    for model, test in tested:
        low, high = (size_text(comparison, end) for end in test.interval)
        p = _pvalue(test.adjusted_pvalue)
        sign = "" if p.startswith("<") else "= "
        texts.append(f"{model.name} by {size_text(comparison, test.difference)} ({low} to {high}; p {sign}{p})")
    return ", ".join(texts)


def model_warnings(comparison: Comparison) -> list[str]:
    by_text: dict[str, list[str]] = {}
    for model in comparison.models:
        for text in model.warnings:
            by_text.setdefault(text, []).append(model.name)
    return [f"{_listed(names)} warned: {text}" for text, names in by_text.items()]


def _listed(names: list[str]) -> str:
    if len(names) <= MOST_NAMES + 1:
        return ", ".join(names)
    return ", ".join(names[:MOST_NAMES]) + f" and {len(names) - MOST_NAMES} more"
