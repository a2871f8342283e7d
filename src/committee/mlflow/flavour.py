"""MLflow's functions for models of this library: saved as its own files, which run no code when they are read."""

from __future__ import annotations

import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from committee.files.store import load

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
        What ``mlflow.pyfunc`` and model servers answer with.
    **options
        Passed to ``mlflow.pyfunc.save_model``: ``signature``, ``input_example``, some rows by which it is found out,
        ``pip_requirements``,
        ``extra_pip_requirements``, ``metadata`` and others. Without ``pip_requirements`` the model asks for this
        version of the library.

    Raises
    ------
    ImportError
        If the package mlflow is not installed.
    TypeError
        If the model has no `save`.
    ValueError
        If `predict_fn` is none of the above, or the model does not have it.

    Examples
    --------
    ``committee.mlflow.save_model(model, "folder")`` writes it, and ``committee.mlflow.load_model("folder")`` reads it.
    """
    _need_mlflow()
    from mlflow import pyfunc
    from mlflow.models import Model, infer_signature

    _check(model, predict_fn)
    example = options.get("input_example")
    if example is not None and options.get("signature") is None:
        options["signature"] = infer_signature(example, getattr(model, predict_fn)(example))
    if not {"pip_requirements", "conda_env"} & options.keys():
        options["pip_requirements"] = [f"committee=={version('committee')}"]
    entry = Model() if mlflow_model is None else mlflow_model
    entry.add_flavor(NAME, data=f"data/{FILE}", version=version("committee"), model_class=type(model).__name__)
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / FILE)
        pyfunc.save_model(
            path=str(path),
            loader_module=__name__,
            data_path=str(Path(folder) / FILE),
            mlflow_model=entry,
            model_config={"predict_fn": predict_fn},
            **options,
        )


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
        If the model has no `save`.
    ValueError
        If `predict_fn` is none of the above, or the model does not have it.

    Examples
    --------
    ``info = committee.mlflow.log_model(model, name="forest")`` logs it, and
    ``committee.mlflow.load_model(info.model_uri)`` is the same model.
    """
    _need_mlflow()
    from mlflow.models import Model

    _check(model, predict_fn)
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
