"""``committee convert``: models of other libraries as committees."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.files import check_model_file, check_writable, is_safetensors, load_learner, save_model
from committee.cli.options import split_names
from committee.cli.terminal import Debug, error_lines, info, note, notes_on_warnings
from committee.data.packages import require_package
from committee.data.text import pluralize, quoted

if TYPE_CHECKING:
    from committee.vote.adapters.boosted_model import BoostedModel

TRUSTED = (
    # arrays of nodes and their container, which run no code
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils._bunch.Bunch",
    # of the category encoder, which is read and not called
    "functools.partial",
    "sklearn.utils.validation.check_array",
)
"""Types that are read besides those that skops trusts."""

PICKLES = (".pkl", ".pickle", ".joblib")


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            help="Classifier or regressor of scikit-learn (.skops, or a pickle), XGBoost (.json, .ubj), LightGBM (.txt)"
            " or CatBoost (.json, .cbm)."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the committee, usually .safetensors.")],
    classes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Names of the classes, in the order of their numbers. Files of XGBoost and LightGBM have none.",
        ),
    ] = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Open a pickle. It can run any code: only if you trust its author.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Convert a saved model of another library to a committee with the same predictions.

    Example: committee convert booster.json --classes no,yes -o booster.safetensors
    """
    with error_lines(debug, output):
        check_writable(output, read=[source])
        check_model_file(output)
        model = read_foreign_model(source, trust_pickle=trust_pickle)
        if names := split_names(classes):
            model = _with_class_names(model, names)
        try:
            info(_summary(getattr(model, "committee_", model)))
            labels = getattr(model, "classes", None)
            booster = source.suffix.lower() not in (".skops", *PICKLES)  # whose files have no names of classes
            if not names and booster and labels is not None and labels.tolist() == list(range(len(labels))):
                note(
                    f"the classes are the numbers 0 to {model.n_classes - 1}; if rows have other labels, such as 1 to"
                    f" {model.n_classes}, name them in this order by --classes"
                )
            save_model(model, output)
        except TypeError as error:
            raise ValueError(f"{source} cannot be converted: {error}") from error


def _with_class_names(model: Any, names: tuple[str, ...]) -> Any:
    import numpy as np

    if hasattr(model, "committee_"):
        raise ValueError("--classes is for models of other libraries; leave it out")
    if not hasattr(model, "classes"):
        raise ValueError("--classes is for models of classes; this one predicts numbers, leave it out")
    whole = all(name.removeprefix("-").isdecimal() for name in names)
    labels: list[Any] = [int(name) for name in names] if whole else list(names)
    for label in labels:
        if labels.count(label) > 1:
            n = labels.count(label)
            raise ValueError(f"--classes gives {n} classes the name {label!r}; give each a name of its own")
    if len(names) != model.n_classes:
        classes = pluralize(model.n_classes, "class", "classes")
        raise ValueError(f"--classes has {pluralize(len(names), 'name')}; the model has {classes}")
    return replace(model, classes=np.array(labels))


def _summary(committee: Any) -> str:
    table = committee.table
    columns = "columns read by the voters themselves" if table is None else pluralize(table.n_features, "column")
    unnamed = "" if table is None or table.names is not None else " without names, matched by position"
    labels = getattr(committee, "classes", None)
    target = "predicts a number" if labels is None else f"classes {quoted(labels.tolist(), 8)}"
    size = f"{pluralize(committee.n_voters, 'voter')} with {pluralize(committee.n_nodes, 'node')}"
    return f"{size} on {columns}{unnamed}; {target}"


def read_foreign_model(path: Path, *, trust_pickle: bool) -> Any:
    ending = path.suffix.lower()
    if ending not in (*READERS, *PICKLES):
        if is_safetensors(path):
            load_learner(path)
            raise ValueError(f"{path} is a model file of committee already; it needs no conversion")
        raise ValueError(f"{path} has an unknown ending; use one of {', '.join((*READERS, *PICKLES))}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        return _committee(_unpickled(path, trust_pickle)) if ending in PICKLES else READERS[ending](path)
    except TypeError as error:
        raise ValueError(f"{path} cannot be converted: {error}") from error


def _committee(model: Any) -> Any:
    from sklearn.base import is_regressor

    from committee.vote.committee import Committee, RegressionCommittee

    if isinstance(model, Committee | RegressionCommittee) or hasattr(model, "committee_"):
        return model
    numbers = not isinstance(model, type) and hasattr(model, "__sklearn_tags__") and is_regressor(model)
    return (RegressionCommittee if numbers else Committee).from_estimator(model)


def _boosted_committee(model: BoostedModel, classes: Any = None) -> Any:
    from committee.vote.adapters.ensembles import parts_of_model, regression_parts_of_model
    from committee.vote.committee import Committee, RegressionCommittee

    if model.number_link is None:
        return Committee(*parts_of_model(model, classes))
    return RegressionCommittee(*regression_parts_of_model(model))


def _json(path: Path) -> Any:
    document = path.read_bytes()
    return _catboost(path, document) if b'"model_info"' in document else _xgboost(path, document)


_DAMAGES: tuple[type[Exception], ...] = (KeyError, IndexError, AttributeError, UnicodeDecodeError, json.JSONDecodeError)


@contextmanager
def _damage_named(path: Path, library: str, damages: tuple[type[Exception], ...] = _DAMAGES) -> Iterator[None]:
    try:
        yield
    except damages as error:
        missing = f": it has no {error}" if isinstance(error, KeyError) else ""
        message = f"{path} is not a model of {library}, or is damaged, or of an unknown version{missing}; save it anew"
        raise ValueError(message) from error


def _loaded(path: Path, library: str, load: Callable[[Any], Any]) -> Any:
    try:
        module = import_module(library.lower())
    except ImportError as error:
        raise ValueError(
            f"{path} is read by {library.lower()}, which is not installed; run: pip install {library.lower()}, or save"
            " the model as .json"
        ) from error
    damage: type[Exception] = module.CatBoostError if library == "CatBoost" else module.core.XGBoostError
    try:
        return load(module)
    except damage as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"{path} is not a model of {library}: {reason}; save the model as .json") from error


def _catboost_binary(path: Path) -> Any:
    from committee.vote.adapters.ensembles import BOOSTERS

    def load(catboost: Any) -> Any:
        model = catboost.CatBoost()
        model.load_model(str(path))
        return model

    return _boosted_committee(*BOOSTERS["catboost"](_loaded(path, "CatBoost", load)))


def _catboost(path: Path, document: bytes) -> Any:
    from committee.vote.adapters.catboost_model import catboost_model

    with _damage_named(path, "CatBoost"):
        model, classes = catboost_model(document)
    return _boosted_committee(model, classes)


def _xgboost_binary(path: Path) -> Any:
    def load(xgboost: Any) -> bytes:
        booster = xgboost.Booster()
        booster.load_model(path)
        return bytes(booster.save_raw("json"))

    return _xgboost(path, _loaded(path, "XGBoost", load))


def _xgboost(path: Path, document: bytes) -> Any:
    from committee.vote.adapters.xgboost_model import xgboost_model

    with _damage_named(path, "XGBoost"):
        parsed = json.loads(document)
        if not isinstance(parsed, dict):
            raise KeyError("learner")
        best = parsed["learner"].get("attributes", {}).get("best_iteration")
        # after early stopping the classifier predicts with the rounds up to the best one
        model = xgboost_model(document, None if best is None else int(best) + 1)
    return _boosted_committee(model)


def _lightgbm_text(path: Path) -> Any:
    from committee.vote.adapters.lightgbm_model import lightgbm_model

    text = path.read_text("utf-8", errors="replace")
    if not text.startswith("tree\n"):
        raise ValueError(f"{path} is not a model of LightGBM: its first line is not 'tree'; write it by save_model")
    with _damage_named(path, "LightGBM"):
        return _boosted_committee(lightgbm_model(text, keep_names=True))


def _skops(path: Path) -> Any:
    require_package("skops", "a .skops file")
    from zipfile import BadZipFile

    from skops.io import get_untrusted_types, load

    with _damage_named(path, "skops", (BadZipFile, *_DAMAGES)):
        if unknown := sorted(set(get_untrusted_types(file=path)) - set(TRUSTED)):
            raise ValueError(
                f"{path} holds types that skops does not trust: {', '.join(unknown)}; load it in Python, and use"
                " from_estimator of Committee or RegressionCommittee"
            )
        with notes_on_warnings():
            model = load(path, trusted=list(TRUSTED))
        return _committee(model)


def _unpickled(path: Path, trusted: bool) -> Any:
    if not trusted:
        raise ValueError(
            f"{path} is a pickle, which can run any code when it is opened; if you trust its author, add"
            " --trust-pickle, or save the model as .skops"
        )
    note(f"{path} is opened as a pickle: any code in it runs")
    from joblib import load

    with notes_on_warnings():
        try:
            return load(path)
        except Exception as error:  # any code runs, and may fail in any way
            raise ValueError(f"{path} cannot be opened as a pickle: {type(error).__name__}: {error}") from error


READERS: dict[str, Callable[[Path], Any]] = {
    ".skops": _skops,
    ".json": _json,
    ".cbm": _catboost_binary,
    ".ubj": _xgboost_binary,
    ".txt": _lightgbm_text,
}
