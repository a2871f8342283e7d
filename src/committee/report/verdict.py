"""Findings of a comparison in sentences: best model, differences, detectable difference, failed models."""

from __future__ import annotations

from math import isclose
from statistics import median

from committee.report.comparison import Comparison
from committee.report.metric_choice import known_metric
from committee.report.model_result import AgainstBest, ModelResult
from committee.report.tables import metric_words, pvalue, size_text

MOST_NAMES = 4
"""Longer lists of models are summed up; the tables have every one."""

LARGE_LOSS, LARGE_ERROR = 1.25, 1.5
"""A difference is large if the loss is so many times the best's, or what a score lacks of one."""


def verdict(comparison: Comparison) -> list[str]:
    """Return the findings in sentences: best model, differences and their significance, failed models."""
    sentences = _stopped(comparison)
    if comparison.ranked:
        best, *others = comparison.ranked
        sentences.append(_best(comparison, best, others))
        tested = [(each, each.against_best) for each in others if each.against_best is not None]
        sentences += _tested(comparison, best, tested)
    for model in comparison.models:
        if model.error is not None:
            fold = model.error.partition(":")[0]
            sentences.append(f"{model.name} failed in {fold}; see the table of failed models.")
        elif model.place is None and model.fold_results and comparison.folds_done != 0:
            sentences.append(f"{model.name} has no {metric_words(comparison.metric)} and is not ranked.")
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
    kind, words, value = known_metric(metric).best, metric_words(metric), best.mean(metric) or 0.0
    text = size_text(comparison, value)
    tied = [each.name for each in others if isclose(each.mean(metric) or 0.0, value, rel_tol=1e-9)]
    if tied:
        return (
            f"{_listed([best.name, *tied])} share the {kind} mean {words} ({text}); {best.name} has the best average"
            " rank, and the others are tested against it."
        )
    return f"{best.name} has the {kind} mean {words} ({text})."


def _tested(comparison: Comparison, best: ModelResult, tested: list[tuple[ModelResult, AgainstBest]]) -> list[str]:
    sentences = []
    worse = [(model, test) for model, test in tested if test.significant]
    open_ = [(model, test) for model, test in tested if not test.significant]
    large = [(model, test) for model, test in open_ if test.in_every_fold and _is_large(comparison, best, model)]
    level = [pair for pair in open_ if pair not in large]
    if worse:
        sentences.append(f"Significantly worse than {best.name}: {_names(comparison, worse)}.")
    if large:
        folds = len(best.fold_results)
        sentences.append(f"Large, but not significant with {folds} folds: {_names(comparison, large)}.")
    if level:
        most = max(test.difference for _, test in level)
        names = _listed([model.name for model, _ in level])
        text = size_text(comparison, most)
        by = f" (worse by at most {text})" if text.strip("0.,") else ""
        sentences.append(f"Not significantly different from {best.name}: {names}{by}.")
        least = median(test.least_shown for _, test in level)
        if least > 0.0:
            sentences.append(
                f"With {len(best.fold_results)} folds, differences below about {size_text(comparison, least)} cannot be"
                " detected."
            )
    return sentences


def _is_large(comparison: Comparison, best: ModelResult, model: ModelResult) -> bool:
    metric = comparison.metric
    first, other = best.mean(metric), model.mean(metric)
    assert first is not None and other is not None
    if known_metric(metric).best == "highest":
        return 1.0 - other >= LARGE_ERROR * (1.0 - first)
    return other >= LARGE_LOSS * first


def _names(comparison: Comparison, tested: list[tuple[ModelResult, AgainstBest]]) -> str:
    """Each with its difference, interval and p; of many how many they are, and the least and the greatest."""
    if len(tested) > MOST_NAMES:
        least, *_, most = sorted(tested, key=lambda pair: pair[1].difference)
        ends = [f"{size_text(comparison, test.difference)} ({model.name})" for model, test in (least, most)]
        return f"{len(tested)} models, by {ends[0]} to {ends[1]}"
    texts = []
    for model, test in tested:
        low, high = (size_text(comparison, end) for end in test.interval)
        p = pvalue(test.adjusted_pvalue)
        sign = "" if p.startswith("<") else "= "
        texts.append(f"{model.name} by {size_text(comparison, test.difference)} ({low} to {high}; p {sign}{p})")
    return ", ".join(texts)


def _listed(names: list[str]) -> str:
    if len(names) <= MOST_NAMES + 1:
        return ", ".join(names)
    return ", ".join(names[:MOST_NAMES]) + f" and {len(names) - MOST_NAMES} more"
