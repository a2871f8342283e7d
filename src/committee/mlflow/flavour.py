"""MLflow flavour: save, log and load models as this library's files, which execute no code when read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from committee.files.store import load

if TYPE_CHECKING:
    from mlflow.models.model import ModelInfo


NAME = "committee"

FILE = "model.safetensors"

Asked: TypeAlias = Literal["predict", "predict_proba", "decision_function"]
"""Method that a served model calls."""

ASKED: tuple[Asked, ...] = ("predict", "predict_proba", "decision_function")


def save_model(
    model: Any, path: str | Path, *, mlflow_model: Any = None, predict_fn: Asked = "predict", **options: Any
) -> None:
    """Save a fitted model as a folder that `load_model` and ``mlflow.pyfunc.load_model`` read.

    Parameters
    ----------
    model : fitted learner or committee
        Any object with `save`.
    path : path
        New or empty folder.
    mlflow_model : mlflow.models.Model, default=None
        Model that the flavour is added to, by default a new one.
    predict_fn : {"predict", "predict_proba", "decision_function"}, default="predict"
        Method that ``mlflow.pyfunc`` and model servers call; also ``model_config={"predict_fn": ...}``.
    **options
        Passed to ``mlflow.pyfunc.save_model``: ``signature``, ``input_example`` (rows from which the signature is
        inferred), ``pip_requirements`` (default: this version of the library, and ``extra_pip_requirements``),
        ``model_config``, ``metadata`` and others. Category columns of the example are written as values.

    Raises
    ------
    FileExistsError
        If `path` is a file, or a folder that is not empty.
    ImportError
        If the package mlflow is not installed.
    TypeError
        If the model has no `save`, or ``model_config`` is not a dictionary.
    ValueError
        If `predict_fn` is unknown, missing in the model, or, unless "predict", differs from ``model_config``.

    Examples
    --------
    ``committee.mlflow.save_model(model, "folder")``, then ``committee.mlflow.load_model("folder")``.
    """
    _need_mlflow()
    from mlflow import pyfunc
    from mlflow.models import Model, infer_signature

    config = _config(options.pop("model_config", None), predict_fn)
    _check(model, config["predict_fn"])
    example = options.get("input_example")
    if example is not None:
        with_parameters = isinstance(example, tuple) and len(example) == 2 and isinstance(example[1], dict)
        example, parameters = example if with_parameters else (example, None)
        rows = as_served(example)
        options["input_example"] = rows if parameters is None else (rows, parameters)
        if options.get("signature") is None:
            options["signature"] = infer_signature(rows, getattr(model, config["predict_fn"])(rows), parameters)
    if not {"pip_requirements", "conda_env"} & options.keys():
        extra = options.pop("extra_pip_requirements", None) or []  # mlflow takes one of both
        extra = [f"-r {extra}"] if isinstance(extra, str) else extra
        options["pip_requirements"] = [f"committee=={version('committee')}", *extra]
    entry = Model() if mlflow_model is None else mlflow_model
    entry.add_flavor(NAME, data=f"data/{FILE}", version=version("committee"), model_class=type(model).__name__)
    with TemporaryDirectory() as folder, _made_aside(Path(path).resolve()) as made:
        model.save(Path(folder) / FILE)
        pyfunc.save_model(
            path=str(made),
            loader_module=__name__,
            data_path=str(Path(folder) / FILE),
            mlflow_model=entry,
            model_config=config,
            **options,
        )


@contextmanager
def _made_aside(path: Path) -> Iterator[Path]:
    if path.exists() and not (path.is_dir() and next(path.iterdir(), None) is None):
        raise FileExistsError(f"{path} exists and is not an empty folder; give another folder, or remove it first.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        made = Path(folder) / path.name
        yield made
        if not path.exists():
            made.replace(path)
        else:  # an empty folder, which may be a mount or the current one
            for part in made.iterdir():
                part.replace(path / part.name)


def _config(given: Any, predict_fn: Asked) -> dict[str, Any]:
    if given is not None and not isinstance(given, dict):
        raise TypeError(f"model_config is a {type(given).__name__}; it must be a dictionary.")
    config = {"predict_fn": predict_fn} | (given or {})
    if config["predict_fn"] != predict_fn != "predict":
        raise ValueError(
            f"predict_fn is {predict_fn!r}, but model_config has {config['predict_fn']!r}; give one of them."
        )
    return config


def log_model(model: Any, name: str | None = None, *, predict_fn: Asked = "predict", **options: Any) -> ModelInfo:
    """Log a fitted model to MLflow, as `save_model` saves it.

    Parameters
    ----------
    model, predict_fn
        As for `save_model`.
    name : str, default=None
        Name of the logged model.
    **options
        Passed to ``mlflow.models.Model.log`` and `save_model`, such as ``registered_model_name`` or ``input_example``.

    Returns
    -------
    mlflow.models.model.ModelInfo

    Raises
    ------
    ImportError, TypeError, ValueError
        As `save_model`.

    Examples
    --------
    ``info = committee.mlflow.log_model(model, name="forest")`` logs a model, and
    ``committee.mlflow.load_model(info.model_uri)`` loads it.
    """
    _need_mlflow()
    from mlflow.models import Model

    _check(model, _config(options.get("model_config"), predict_fn)["predict_fn"])
    flavour = sys.modules[__name__]
    info: ModelInfo = Model.log(
        artifact_path=None, name=name, flavor=flavour, model=model, predict_fn=predict_fn, **options
    )
    return info


def load_model(model_uri: str, dst_path: str | None = None) -> Any:
    """Load a model saved by `save_model` or logged by `log_model`.

    Parameters
    ----------
    model_uri : str
        Folder, or MLflow URI such as ``"models:/forest/1"`` or ``info.model_uri``.
    dst_path : str, default=None
        Download folder, by default one of MLflow's.

    Returns
    -------
    learner or committee

    Raises
    ------
    ImportError
        If the package mlflow is not installed.
    ModelFileError
        If the file is damaged.
    ValueError
        If the model is of another flavour.

    Examples
    --------
    ``committee.mlflow.load_model("models:/forest@champion").predict(X)``
    """
    _need_mlflow()
    from mlflow.artifacts import download_artifacts
    from mlflow.models import Model

    folder = Path(download_artifacts(artifact_uri=model_uri, dst_path=dst_path))
    flavours = Model.load(str(folder)).flavors
    if NAME not in flavours:
        known = ", ".join(sorted(flavours))
        raise ValueError(f"{model_uri} has the flavours {known}; none is {NAME!r}. Use mlflow.pyfunc.load_model.")
    return load(folder / flavours[NAME]["data"])


class Served:
    def __init__(self, model: Any, predict_fn: Asked) -> None:
        self.model = model
        self.predict_fn: Asked = predict_fn

    def predict(self, model_input: Any, params: Any = None) -> Any:
        return getattr(self.model, self.predict_fn)(model_input)

    def get_raw_model(self) -> Any:
        return self.model


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> Served:
    asked: Asked = (model_config or {}).get("predict_fn", "predict")
    model = load(path)
    _check(model, asked)
    return Served(model, asked)


def _need_mlflow() -> None:
    if find_spec("mlflow") is None:
        raise ImportError(
            "committee.mlflow needs mlflow, which is not installed: pip install mlflow, or mlflow-skinny; model.save "
            "and committee.load work without it."
        )


def _check(model: Any, predict_fn: str) -> None:
    if not hasattr(model, "save"):
        raise TypeError(
            f"model is a {type(model).__name__}, which is not a learner or committee of this library; "
            "mlflow.sklearn.log_model takes those of scikit-learn, and Committee.from_estimator converts ensembles of "
            "other libraries."
        )
    if predict_fn not in ASKED:
        raise ValueError(f"predict_fn is {predict_fn!r}; it must be one of {', '.join(map(repr, ASKED))}.")
    if not hasattr(model, predict_fn):
        raise ValueError(f"predict_fn is {predict_fn!r}, which {type(model).__name__} does not have; give 'predict'.")


def as_served(example: Any) -> Any:
    import narwhals as nw
    import pandas as pd

    if isinstance(example, list | tuple):
        flat = [cell for row in example if isinstance(row, list | tuple) for cell in row]
        named = any(isinstance(row, dict) for row in example)
        return pd.DataFrame(list(example)) if named or any(isinstance(c, str) for c in flat) else np.asarray(example)
    if isinstance(example, pd.DataFrame):
        kinds = example.dtypes.to_numpy()
        if not any(isinstance(kind, pd.CategoricalDtype) for kind in kinds):
            return example
        columns = [example.iloc[:, j] for j in range(len(kinds))]
        values = [c.astype(object).infer_objects() if isinstance(c.dtype, pd.CategoricalDtype) else c for c in columns]
        return pd.concat(values, axis=1)
    frame = nw.from_native(example, eager_only=True, pass_through=True)
    return pd.DataFrame(frame.to_dict(as_series=False)) if isinstance(frame, nw.DataFrame) else example
