"""MLflow's functions for models of this library: saved as its own files, which run no code when they are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from committee.files.store import load
from committee.mlflow.example import as_served

if TYPE_CHECKING:
    from mlflow.models.model import ModelInfo

NAME = "committee"
"""Of the flavour."""

FILE = "model.safetensors"
"""The model, in the folder in which MLflow puts data."""

Asked: TypeAlias = Literal["predict", "predict_proba", "decision_function"]
"""What a served model answers with."""

ASKED: tuple[Asked, ...] = ("predict", "predict_proba", "decision_function")


def save_model(
    model: Any, path: str | Path, *, mlflow_model: Any = None, predict_fn: Asked = "predict", **options: Any
) -> None:
    """Save a fitted model as a folder that MLflow reads: `load_model`, and ``mlflow.pyfunc.load_model``.

    Parameters
    ----------
    model : fitted learner or committee
        Whatever has `save`.
    path : path
        The folder, which must not be there.
    mlflow_model : mlflow.models.Model, default=None
        Where the flavour is entered; None: a new one.
    predict_fn : {"predict", "predict_proba", "decision_function"}, default="predict"
        What ``mlflow.pyfunc`` and model servers answer with; ``model_config={"predict_fn": ...}`` says the same.
    **options
        Passed to ``mlflow.pyfunc.save_model``: ``signature``, ``input_example``, some rows by which it is found out,
        ``pip_requirements``, ``extra_pip_requirements``, ``model_config``, ``metadata`` and others. Without
        ``pip_requirements`` the model asks for this version of the library. Rows may be any that the model takes;
        columns of categories are written as their values, text or numbers, which is what a server receives.

    Raises
    ------
    FileExistsError
        If `path` is a file, or a folder that is not empty.
    ImportError
        If the package mlflow is not installed.
    TypeError
        If the model has no `save`, or ``model_config`` is no dictionary.
    ValueError
        If `predict_fn` is none of the above, the model does not have it, or ``model_config`` names another one.

    Examples
    --------
    ``committee.mlflow.save_model(model, "folder")`` writes it, and ``committee.mlflow.load_model("folder")`` reads it.
    """
    _need_mlflow()
    from mlflow import pyfunc
    from mlflow.models import Model, infer_signature

    config = _config(options.pop("model_config", None), predict_fn)
    _check(model, config["predict_fn"])
    example = options.get("input_example")
    if example is not None:
        rows, parameters = as_served(example)
        options["input_example"] = rows if parameters is None else (rows, parameters)
        if options.get("signature") is None:
            options["signature"] = infer_signature(rows, getattr(model, config["predict_fn"])(rows), parameters)
    if not {"pip_requirements", "conda_env"} & options.keys():
        options["pip_requirements"] = [f"committee=={version('committee')}"]
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
    """A folder beside `path`, which is moved there once it is whole; if it fails, nothing is left."""
    if path.exists() and not (path.is_dir() and next(path.iterdir(), None) is None):
        raise FileExistsError(f"{path} is there already; give a folder that is not, or remove it first.")
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
    """What the model is loaded with: the caller's, and what it answers with."""
    if given is not None and not isinstance(given, dict):
        raise TypeError(f"model_config is a {type(given).__name__}; it must be a dictionary.")
    config = {"predict_fn": predict_fn} | (given or {})
    if config["predict_fn"] != predict_fn != "predict":
        raise ValueError(
            f"predict_fn is {predict_fn!r}, and that of model_config is {config['predict_fn']!r}; give one of them."
        )
    return config


def log_model(model: Any, name: str | None = None, *, predict_fn: Asked = "predict", **options: Any) -> ModelInfo:
    """Log a fitted model to MLflow, as `save_model` saves it.

    Parameters
    ----------
    model : fitted learner or committee
        Whatever has `save`.
    name : str, default=None
        Of the logged model.
    predict_fn : {"predict", "predict_proba", "decision_function"}, default="predict"
        What ``mlflow.pyfunc`` and model servers answer with.
    **options
        Passed to ``mlflow.models.Model.log``, such as ``registered_model_name``, ``signature`` or ``input_example``,
        and from there to `save_model`.

    Returns
    -------
    mlflow.models.model.ModelInfo

    Raises
    ------
    ImportError
        If the package mlflow is not installed.
    TypeError
        If the model has no `save`, or ``model_config`` is no dictionary.
    ValueError
        If `predict_fn` is none of the above, the model does not have it, or ``model_config`` names another one.

    Examples
    --------
    ``info = committee.mlflow.log_model(model, name="forest")`` logs it, and
    ``committee.mlflow.load_model(info.model_uri)`` is the same model.
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
    """Load a model that was saved or logged here.

    Parameters
    ----------
    model_uri : str
        Where it is: a folder, or what MLflow calls it, such as ``"models:/forest/1"`` or ``info.model_uri``.
    dst_path : str, default=None
        A folder to which it is downloaded; None: one of MLflow's.

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
    ``committee.mlflow.load_model("models:/forest@champion").predict(X)`` asks a registered model.
    """
    _need_mlflow()
    from mlflow.artifacts import download_artifacts
    from mlflow.models import Model

    folder = Path(download_artifacts(artifact_uri=model_uri, dst_path=dst_path))
    flavours = Model.load(str(folder)).flavors
    if NAME not in flavours:
        raise ValueError(f"{model_uri} has the flavours {', '.join(sorted(flavours))}; none is {NAME!r}.")
    return load(folder / flavours[NAME]["data"])


class Served:
    """A model as ``mlflow.pyfunc`` asks it.

    Parameters
    ----------
    model : learner or committee
        The model.
    predict_fn : str
        Its method that answers.

    Examples
    --------
    ``mlflow.pyfunc.load_model(uri).unwrap_python_model()`` is not one: MLflow holds it as its implementation.
    """

    def __init__(self, model: Any, predict_fn: Asked) -> None:
        self.model = model
        self.predict_fn: Asked = predict_fn

    def predict(self, model_input: Any, params: Any = None) -> Any:
        """What the model answers to rows."""
        return getattr(self.model, self.predict_fn)(model_input)

    def get_raw_model(self) -> Any:
        """The model itself."""
        return self.model


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> Served:
    """The model of a file; MLflow calls it by this name."""
    asked: Asked = (model_config or {}).get("predict_fn", "predict")
    model = load(path)
    _check(model, asked)
    return Served(model, asked)


def _need_mlflow() -> None:
    """Refuse to go on without MLflow, which is no part of an extra: who logs models has it."""
    if find_spec("mlflow") is None:
        raise ImportError(
            "committee.mlflow needs mlflow, which is not installed: pip install mlflow, or mlflow-skinny; model.save "
            "and committee.load work without."
        )


def _check(model: Any, predict_fn: str) -> None:
    if not hasattr(model, "save"):
        raise TypeError(
            f"model is a {type(model).__name__}, which is no learner or committee of this library; "
            "mlflow.sklearn.log_model takes others, and Committee.from_estimator makes committees of ensembles."
        )
    if predict_fn not in ASKED:
        raise ValueError(f"predict_fn is {predict_fn!r}; it must be one of {', '.join(map(repr, ASKED))}.")
    if not hasattr(model, predict_fn):
        raise ValueError(f"predict_fn is {predict_fn!r}, which {type(model).__name__} does not have; give 'predict'.")
