"""Messages of the library in the words of the command line: what is a parameter in Python is an option there."""

from __future__ import annotations

import re
from typing import Any

OPTIONS = {
    "categorical_features": "--categorical",
    "delta": "--delta",
    "effort": "--effort",
    "folds": "--folds",
    "level": "--level",
    "max_loss": "--max-loss",
    "max_nodes": "--max-nodes",
    "max_voters": "--max-voters",
    "memory_limit": "--memory-limit",
    "metric": "--metric",
    "min_gain": "--min-gain",
    "objective": "--objective",
    "on": "--on",
    "quantile": "--quantile",
    "scratch": "--scratch",
    "task": "--task",
    "time_limit": "--time-limit",
}
"""Parameters that have an option of their own; others are set by ``-p``."""

_VALUE = r"(?:'(?P<text>[^']*)'|(?P<plain>[\w.+-]*\w))"
_ARGUMENT = re.compile(rf"(?<![\w'(\[-])(?<!-p )(?P<name>[a-z]\w*)={_VALUE}")
_IN_BRACKETS = re.compile(rf"\((?P<name>[a-z]\w*)={_VALUE}\)")
_CALL = re.compile(r"\b([A-Z]\w+)\([^()]*\)")
_REFUSED = re.compile(r"The '(?P<name>\w+)' parameter of \w+ must be (?P<wanted>.*?)\. Got (?P<value>.*?) instead\.")
_BEGINS = re.compile(r"^(?P<name>[a-z]+_[a-z_]+|[a-z]+(?= is)) (?=must be |is [^;]*; it must be )")
_NAMED = re.compile(r"^(drop|categorical) names (?=')")
_TYPES: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"an int in the range \[(\d+), inf\)"), r"a whole number of at least \1"),
    (re.compile(r"a float in the range \(([\d.]+), inf\)"), r"a number above \1"),
    (re.compile(r"a float in the range \[([\d.]+), inf\)"), r"a number of at least \1"),
    (re.compile(r"a float in the range \[([\d.]+), ([\d.]+)\]"), r"a number from \1 to \2"),
    (re.compile(r"a float in the range \(([\d.]+), ([\d.]+)\]"), r"a number above \1 and at most \2"),
    (re.compile(r"a float in the range \[([\d.]+), ([\d.]+)\)"), r"a number from \1 to below \2"),
    (re.compile(r"a float in the range \(([\d.]+), ([\d.]+)\)"), r"a number above \1 and below \2"),
    (re.compile(r"a float in the range [\[(]-inf, inf[\])]"), "a number"),
    (re.compile(r"an int in"), "a whole number in"),
    (re.compile(r"a float in"), "a number in"),
    (re.compile(r"a str among \{(.*?)\}"), lambda found: _one_of(found[1])),
    (re.compile(r"an instance of 'bool'(,| or) an instance of 'numpy.bool'"), "True or False"),
    (re.compile(r"an instance of 'bool'"), "True or False"),
)
"""What values must be, in plain words."""

_PHRASES = {
    "y holds one class only": "the target holds one class only",
    " (rows of zero weight do not count)": "",
    ", and has no attributes of a training": "",
    "left_out_ names the others": "the table of members names the others",
    "is not among categorical_features; name it there": "was learned as numbers; name it by --categorical when fitting",
    "name it in categorical_features": "name it by --categorical",
    "memory_limit leaves": "--memory-limit leaves",
    "cannot be converted: estimator is": "cannot be converted: it is",
    "for which there is no adapter": "a kind that is not read",
    "those that RegressionCommittee.from_estimator takes; any fitted classifiers can vote as EstimatorVoters": (
        "forests and boosters"
    ),
}


def in_options(text: str) -> str:
    """Return a message of the library with options in the place of Python's parameters.

    Examples
    --------
    >>> in_options("TreeVoter() has none; use on='validation', or fit it with oob_score=True.")
    'TreeVoter has none; use --on validation, or fit it with -p oob_score=True.'
    >>> in_options("The 'effort' parameter of CommitteeClassifier must be a str among {'best'}. Got 'some' instead.")
    "--effort must be 'best', and is 'some'."
    """
    for phrase, spoken in _PHRASES.items():
        text = text.replace(phrase, spoken)
    text = _CALL.sub(r"\1", text)
    text = _BEGINS.sub(_begun, text)
    text = _NAMED.sub(r"--\1 names ", text)
    text = _REFUSED.sub(_refused, text)
    text = _IN_BRACKETS.sub(lambda found: f"({_spoken(found)})", text)
    return _ARGUMENT.sub(_spoken, text)


def _spoken(found: re.Match[str]) -> str:
    value = found["plain"] if found["text"] is None else found["text"]
    name = found["name"]
    return f"{OPTIONS[name]} {value}" if name in OPTIONS else f"-p {name}={value}"


def _one_of(texts: str) -> str:
    """Values out of a set, which Python writes in another order in every run, in the order of the alphabet."""
    values = sorted(texts.split(", "))
    return values[0] if len(values) == 1 else f"one of {', '.join(values)}"


def _begun(found: re.Match[str]) -> str:
    name = found["name"]
    return f"{OPTIONS.get(name, f'-p {name}')} "


def _refused(found: re.Match[str]) -> str:
    name = OPTIONS.get(found["name"], f"-p {found['name']}")
    wanted = found["wanted"]
    for written, spoken in _TYPES:
        wanted = written.sub(spoken, wanted)
    return f"{name} must be {wanted}, and is {found['value']}."
