"""``committee fit``."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee import MODELS, MODELS_OF_NUMBERS
from committee.cli.columns import Categorical, TaskOption
from committee.cli.files import check_writable
from committee.cli.fit_progress import member_progress
from committee.cli.fitted import describe_fit
from committee.cli.inputs import Scratch, name_of_data
from committee.cli.model_options import check_choice
from committee.cli.remembered import remember
from committee.cli.table_options import FILES, TrainingOptions, split_names, takes_table_options
from committee.cli.terminal import Debug, errors_in_one_line, note, notes_on_warnings, print_grids, say, say_notes
from committee.cli.time_limits import check_time_limit
from committee.cli.training_table import training_table
from committee.data.readers.cells import missing_marks_note
from committee.report.peers import PEERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.cli.training_table import TrainingTable

FOLDS = 5
"""Folds by which a single learner is judged."""

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Model file, customarily .safetensors; nothing is kept if left out."),
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help=f"auto, with nothing to tune: the committee of ensembles. Or a single learner out of {', '.join(MODELS)};"
        f" of numbers: {', '.join(MODELS_OF_NUMBERS)}.",
    ),
]
EFFORTS = ("fast", "default", "best")
Effort = Annotated[
    str | None,
    typer.Option(metavar="|".join(EFFORTS), help="Of the committee: how much is tried.", show_default=False),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(help="Seconds after which the committee takes no further member.", show_default=False),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        help="Such as '3 GB'; the table is then read in pieces, and bin numbers that would take more are mapped from a"
        " file. The committee draws fewer rows or tries fewer members.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Set a parameter; repeat for more."),
]
Folds = Annotated[
    int | None,
    typer.Option(
        help="Of a single learner: so many more fits, each on the rows of all other folds, say how good it is; 0: none."
        " By default 5.",
        show_default=False,
    ),
]
ConformalAlpha = Annotated[
    float | None,
    typer.Option(
        "--conformal",
        metavar="ALPHA",
        help="Add sets of classes, or intervals of numbers, that miss a share of at most about ALPHA of new rows, such"
        " as 0.1: by rows that the fit leaves out itself (committee, random_forest, sbpmt, subagging), else by 5 more"
        " fits.",
        show_default=False,
    ),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        help="File from which the same command goes on if it is killed or interrupted; removed when MODEL is whole."
    ),
]
RowDigests = Annotated[
    bool,
    typer.Option(
        "--row-digests/--no-row-digests",
        help="Keep digests of at most 4,096 training rows in MODEL, by which evaluate knows these again. Who has the"
        " file and all columns of a row can then tell whether it was trained on that row.",
    ),
]
MemberProgress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="A line for each member of the committee as it is trained, and how far files are read that come in pieces;"
        " by default if stderr is a terminal.",
    ),
]


@takes_table_options
def fit(
    data: Annotated[
        list[Path],
        typer.Argument(
            help=f"Table: {FILES}; - is standard input. Several files, a folder or a pattern in quotation"
            " marks, of CSV, TSV or Parquet, are read in pieces, and need not fit in memory."
        ),
    ],
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict: classes or numbers.")],
    table: TrainingOptions,
    output: Output = None,
    model: ModelName = "auto",
    effort: Effort = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    scratch: Scratch = None,
    task: TaskOption = None,
    parameter: Settings = None,
    folds: Folds = None,
    seed: Annotated[int, typer.Option(help="random_state, unless -p sets it.")] = 0,
    categorical: Categorical = None,
    conformal: ConformalAlpha = None,
    checkpoint: CheckpointFile = None,
    row_digests: RowDigests = True,
    progress: MemberProgress = None,
    debug: Debug = False,
) -> None:
    """Fit a committee of ensembles on a table, or a single learner, and save it.

    How good it is on rows not seen in training is said first.

    Example: committee fit patients.csv --target outcome --output model.safetensors

    Ctrl-C ends the training of a committee: the model has the members that are ready. A second one ends the command.
    """
    with errors_in_one_line(debug, output, checkpoint):
        from committee.cli.task import of_target
        from committee.files.documents import Provenance
        from committee.report.known_rows import row_sketch
        from committee.report.prediction_sets import model_inside, sets_grid

        model = "committee" if model == "auto" else model
        _check_options(model, task, folds)
        _check_conformal(conformal, checkpoint)
        check_time_limit(time_limit)
        if effort is not None:
            check_choice("--effort", effort, EFFORTS)
        check_writable(output, checkpoint, read=data)
        rows = training_table(
            data,
            target,
            table,
            categorical=split_names(categorical),
            memory_limit=memory_limit,
            scratch=scratch,
            progress=progress,
            bar=model != "committee",  # which has a bar of its own
            numbers=task == "numbers",
        )
        check_writable(output, checkpoint, read=rows.paths)
        numbers = _predicts_numbers(target, rows.y, model, task)
        learner = _learner(model, parameter or [], seed, numbers=numbers)
        of_committee = {"memory_limit": memory_limit} if model == "committee" or rows.files is None else {}
        _set_options(learner, model, effort=effort, time_limit=time_limit, **of_committee)
        say(of_target(target, rows.y, numbers))
        made = Provenance(target, name_of_data(data), len(rows.y), written=rows.target_form if numbers else None)
        if output is None:
            note("the model is not kept; --output FILE keeps it")
        if checkpoint is not None and checkpoint.exists():
            say(f"note: going on from {checkpoint}")
        start = time.perf_counter()
        with notes_on_warnings(), member_progress(learner, wanted=progress if model == "committee" else False):
            learner = _fitted(learner, rows, conformal, checkpoint)
        seconds = time.perf_counter() - start
        if rows.files is not None:
            rows.files.check_unchanged()
        say_notes(missing_marks_note(name, counts) for name, counts in rows.marks.items())
        remember(learner, rows.forms, rows.missing)
        learner.provenance_ = made
        if output is not None:
            _save(learner, output, checkpoint)
        estimate = describe_fit(model_inside(learner), model, rows, seconds, FOLDS if folds is None else folds)
        if conformal is not None:
            print_grids([grid for grid in [sets_grid(learner)] if grid is not None])
        if output is not None:
            sketch = row_sketch(learner, rows.X) if row_digests else None
            learner.provenance_ = replace(made, estimate=estimate, rows=sketch)
            learner.save(output)  # once more: what was there is whole, should one of the last steps be interrupted
            say(f"saved to {output} ({output.stat().st_size:,} bytes)")


def _check_conformal(alpha: float | None, checkpoint: Path | None) -> None:
    """Refuse a share that is none, before the table is read."""
    if alpha is None:
        return
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"--conformal {alpha:g} must be above 0 and below 1, such as 0.1")
    if checkpoint is not None:
        raise ValueError("--checkpoint keeps no part of what --conformal adds; leave one of them out")


def _fitted(learner: Any, rows: TrainingTable, conformal: float | None, checkpoint: Path | None) -> Any:
    """Train a learner, or what gives sets or intervals around it."""
    if conformal is None:
        return learner.fit(rows.X, rows.y, checkpoint=checkpoint)
    from committee import ConformalClassifier, ConformalRegressor

    around: Any = ConformalClassifier if hasattr(learner, "predict_proba") else ConformalRegressor
    seed = learner.get_params().get("random_state")
    quantiles = {"nonconformity": "quantile"} if _predicts_quantiles(learner) else {}
    return around(learner, conformal, random_state=seed, **quantiles).fit(rows.X, rows.y)


def _predicts_quantiles(learner: Any) -> bool:
    """Whether an unfitted regressor will predict several quantiles."""
    import numpy as np

    return getattr(learner, "loss", None) == "quantile" and np.size(getattr(learner, "quantile", 0.5)) > 1


def _check_options(model: str, task: str | None, folds: int | None) -> None:
    """Refuse a model that is none, or not for the task, before the table is read."""
    from committee.data.text import suggest_names

    if model not in MODELS:
        if model in PEERS:
            raise ValueError(f"{model} is a peer, to compare with, not to fit; choose out of {', '.join(MODELS)}")
        raise ValueError(f"there is no model {model!r}; {suggest_names(model, list(MODELS))}")
    if folds is not None and model == "committee":
        raise ValueError("--folds is for single learners; the folds of the committee are -p cv=NUMBER")
    if folds is not None and (folds < 0 or folds == 1):
        raise ValueError(f"--folds {folds} must be at least 2, or 0 for none")
    if task not in (None, "classes", "numbers"):
        raise ValueError(f"--task {task} is neither classes nor numbers")
    if task == "numbers" and model not in MODELS_OF_NUMBERS:
        raise ValueError(f"{model} predicts classes only; of numbers choose out of {', '.join(MODELS_OF_NUMBERS)}")


def _predicts_numbers(target: str, y: NDArray[Any], model: str, task: str | None) -> bool:
    """Whether numbers are to be predicted: as the user says, or else as the target looks."""
    from committee.cli.task import refuse_decimals, refuse_spoilt_numbers
    from committee.data.labels import all_integers, infer_task

    if task is not None:
        if task == "classes":
            refuse_decimals(target, y)
        return task == "numbers"
    if model not in MODELS_OF_NUMBERS:
        if y.dtype.kind in "iuf" and not all_integers(y):
            raise ValueError(
                f"target {target!r} holds numbers, and {model} predicts classes only; of numbers choose out of"
                f" {', '.join(MODELS_OF_NUMBERS)}"
            )
        return False
    refuse_spoilt_numbers(target, y)
    return infer_task(y) == "numbers"


def _learner(name: str, settings: list[str], seed: int, *, numbers: bool) -> Any:
    """Unfitted learner with its parameters set."""
    from committee import model as new_model
    from committee.cli.settings import set_parameters

    model = new_model(name, numbers=numbers)
    if name == "committee":
        model.set_params(on_interrupt="keep")
    set_parameters(model, name, settings)
    if model.get_params().get("random_state", seed) is None:
        model.set_params(random_state=seed)
    return model


def _set_options(learner: Any, model: str, **options: Any) -> None:
    """Set the parameters that have options of their own, where these are given."""
    for name, value in options.items():
        if value is not None:
            if model != "committee":
                raise ValueError(f"--{name.replace('_', '-')} is for the committee; leave it or --model {model} out")
            learner.set_params(**{name: value})


def _save(learner: Any, output: Path, checkpoint: Path | None) -> None:
    """Write the model; the checkpoint goes with it, unless it has more to be gone on from."""
    try:
        learner.save(output)
    except TypeError as error:
        raise ValueError(str(error)) from error
    if checkpoint is None:
        return
    if "interrupted" in getattr(learner, "left_out_", {}).values():
        note(f"the same command goes on from {checkpoint}")
    else:
        checkpoint.unlink(missing_ok=True)
