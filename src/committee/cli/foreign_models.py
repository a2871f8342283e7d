"""Models that other libraries saved, read as committees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from committee.cli.terminal import note, notes_on_warnings
from committee.data.packages import require_package
from committee.vote.adapters.boosted_model import BoostedModel
from committee.vote.adapters.ensembles import BOOSTERS, parts_of_model, regression_parts_of_model
from committee.vote.committee import Committee, RegressionCommittee

TRUSTED = (
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils._bunch.Bunch",
    # of the encoder of categories, which is looked at and not called
    "functools.partial",
    "sklearn.utils.validation.check_array",
)
"""Types beyond those of skops that are read: arrays of nodes, which run no code and are checked, and their shells."""

PICKLES = (".pkl", ".pickle", ".joblib")


def foreign_committee(path: Path, *, trust_pickle: bool) -> Any:
    """Read a committee, or a learner of this library, from a file of another kind, by its ending.

    Parameters
    ----------
    path : path
        .skops, .json or .ubj of XGBoost, .txt of LightGBM, .json or .cbm of CatBoost, or a pickle.
    trust_pickle : bool
        Whether a pickle may be opened, which can run any code.

    Raises
    ------
    ValueError
        If the file is of no such kind, broken, or holds a model that is no vote for classes or one number.
    """
    ending = path.suffix.lower()
    if ending not in (*READERS, *PICKLES):
        raise ValueError(f"{path} has an unknown ending; known are {', '.join((*READERS, *PICKLES))}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        if ending in PICKLES:
            return _voting(_unpickled(path, trust_pickle))
        return READERS[ending](path)
    except TypeError as error:
        raise ValueError(f"{path} cannot be converted: {error}") from error


def _voting(model: Any) -> Any:
    """The committee of an estimator; learners of this library and committees are what they are."""
    from sklearn.base import is_regressor

    if isinstance(model, Committee | RegressionCommittee) or hasattr(model, "committee_"):
        return model
    numbers = not isinstance(model, type) and hasattr(model, "__sklearn_tags__") and is_regressor(model)
    return (RegressionCommittee if numbers else Committee).from_estimator(model)


def _of_trees(model: BoostedModel, classes: NDArray[Any] | None = None) -> Committee | RegressionCommittee:
    """The committee of boosted trees, of classes or of numbers."""
    if model.number_link is None:
        return Committee(*parts_of_model(model, classes))
    return RegressionCommittee(*regression_parts_of_model(model))


def _json(path: Path) -> Committee | RegressionCommittee:
    """Of XGBoost or of CatBoost."""
    document = path.read_bytes()
    return _of_catboost(path, document) if b'"model_info"' in document else _of_xgboost(path, document)


def _catboost_binary(path: Path) -> Committee | RegressionCommittee:
    """CatBoost's own form, which CatBoost itself makes JSON of."""
    try:
        import catboost
    except ImportError as error:
        raise ValueError(
            f"{path} is read by catboost, which is not installed: pip install catboost; or save it as .json"
        ) from error
    model = catboost.CatBoost()
    try:
        model.load_model(str(path))
    except catboost.CatBoostError as error:
        raise ValueError(f"{path} is no model of CatBoost: {str(error).splitlines()[0]}") from error
    return _of_trees(*BOOSTERS["catboost"](model))


def _of_catboost(path: Path, document: bytes) -> Committee | RegressionCommittee:
    from committee.vote.adapters.catboost_model import catboost_model

    try:
        model, classes = catboost_model(document)
    except (KeyError, IndexError, AttributeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{path} is no model of CatBoost, or one of a version that is not known{_lacks(error)}"
        ) from error
    return _of_trees(model, classes)


def _xgboost_ubj(path: Path) -> Committee | RegressionCommittee:
    """Universal binary JSON, which XGBoost itself makes JSON of."""
    try:
        import xgboost
    except ImportError as error:
        raise ValueError(
            f"{path} is read by xgboost, which is not installed: pip install xgboost; or save .json"
        ) from error
    booster = xgboost.Booster()
    try:
        booster.load_model(path)
        document = bytes(booster.save_raw("json"))
    except xgboost.core.XGBoostError as error:
        raise ValueError(f"{path} is no model of XGBoost: {str(error).splitlines()[0]}") from error
    return _of_xgboost(path, document)


def _of_xgboost(path: Path, document: bytes) -> Committee | RegressionCommittee:
    from committee.vote.adapters.xgboost_model import xgboost_model

    try:
        best = json.loads(document)["learner"].get("attributes", {}).get("best_iteration")
        # what early stopping left is all that the classifier predicts with
        model = xgboost_model(document, None if best is None else int(best) + 1)
    except (KeyError, IndexError, AttributeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{path} is no model of XGBoost, or one of a version that is not known{_lacks(error)}"
        ) from error
    return _of_trees(model)


def _lightgbm_text(path: Path) -> Committee | RegressionCommittee:
    from committee.vote.adapters.lightgbm_model import lightgbm_model

    text = path.read_text("utf-8", errors="replace")
    if not text.startswith("tree\n"):
        raise ValueError(f"{path} is no model of LightGBM: it does not begin with the line 'tree'")
    try:
        return _of_trees(lightgbm_model(text, keep_names=True))
    except (KeyError, IndexError) as error:
        raise ValueError(f"{path} is a model of LightGBM that is cut off or not known{_lacks(error)}") from error


def _lacks(error: Exception) -> str:
    """What a file has not that a reader looked for, if the error is of that."""
    return f": it has no {error}" if isinstance(error, KeyError) else ""


def _skops(path: Path) -> Any:
    """scikit-learn's models as skops keeps them, which runs no code of the file."""
    require_package("skops", "a .skops file")
    from zipfile import BadZipFile

    from skops.io import get_untrusted_types, load

    try:
        unknown = sorted(set(get_untrusted_types(file=path)) - set(TRUSTED))
        if unknown:
            raise ValueError(f"{path} holds {', '.join(unknown)}, which skops does not trust; convert it in Python")
        with notes_on_warnings():
            model = load(path, trusted=list(TRUSTED))
        return _voting(model)
    except (BadZipFile, KeyError, IndexError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no file of skops, or a broken one{_lacks(error)}") from error


def _unpickled(path: Path, trusted: bool) -> Any:
    if not trusted:
        raise ValueError(
            f"{path} is a pickle, which can run any code when it is opened. If you trust who made it, say"
            " --trust-pickle; a .skops file needs no trust"
        )
    note(f"{path} is opened as a pickle: whatever code is in it runs")
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
    ".ubj": _xgboost_ubj,
    ".txt": _lightgbm_text,
}
"""Readers by the ending of files; a further one is one more function and one more line."""
