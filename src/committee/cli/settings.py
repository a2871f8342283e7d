"""Parameters of learners that are set by ``-p NAME=VALUE``, or ``-p MODEL:NAME=VALUE`` where there are several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from committee import MODELS

CONSTANTS = {"true": True, "false": False, "none": None}
"""As command lines write them, in any case."""


def set_parameters(learner: Any, name: str, settings: list[str]) -> None:
    """Set parameters, each by a text ``NAME=VALUE``; `name` is what the learner is called in errors.

    Raises
    ------
    ValueError
        If a text is none such, or there is no such parameter.

    Examples
    --------
    >>> from committee import TreeVoter
    >>> tree = TreeVoter()
    >>> set_parameters(tree, "tree", ["max_depth=3"])
    >>> tree
    TreeVoter(max_depth=3)
    """
    from committee.data.text import suggest_names

    for setting in settings:
        parameter, equals, text = setting.partition("=")
        parameter = parameter.strip()
        if not equals or not parameter:
            raise ValueError(f"-p {setting!r} must read NAME=VALUE, as in -p n_estimators=200")
        known = learner.get_params()
        if parameter not in known:
            raise ValueError(f"{name} has no parameter {parameter!r}; {suggest_names(parameter, list(known))}")
        learner.set_params(**{parameter: value_of(text)})


def value_of(text: str) -> Any:
    """Value of a parameter: a Python literal, true, false or none, the name of a learner (for a voter), or else text.

    Examples
    --------
    >>> value_of("3"), value_of("mean"), value_of("tree")
    (3, 'mean', TreeVoter())
    >>> value_of("true"), value_of("none")
    (True, None)
    """
    import ast

    from committee import model as new_model

    if text in MODELS:
        return new_model(text)
    if (word := text.strip().lower()) in CONSTANTS:
        return CONSTANTS[word]
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text


def parameters_of_models(settings: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Values by the name of the model and of the parameter; a model's name may hold colons itself.

    Raises
    ------
    ValueError
        If one does not read MODEL:NAME=VALUE.

    Examples
    --------
    >>> parameters_of_models(["scikit-learn:random_forest:n_estimators=50"])
    {'scikit-learn:random_forest': {'n_estimators': 50}}
    """
    found: dict[str, dict[str, Any]] = {}
    for setting in settings:
        named, equals, text = setting.partition("=")
        model, colon, parameter = (part.strip() for part in named.rpartition(":"))
        if not (equals and colon and model and parameter):
            raise ValueError(f"-p {setting!r} must read MODEL:NAME=VALUE, as in -p random_forest:n_estimators=200")
        found.setdefault(model, {})[parameter] = value_of(text)
    return found
