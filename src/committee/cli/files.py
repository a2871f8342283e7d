"""Input and output files of the commands: models and their columns, tables, standard input and standard output."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from committee.cli.terminal import info, note
from committee.data.text import quoted
from committee.files.writing import check_replaceable, replacing, scratch_folder, write_file

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

STANDARD = Path("-")
"""Standard input, or standard output."""

NOT_SAVED = "the model is not saved; name a file by --output"

FIGURES = (".svg", ".png", ".pdf")

OTHER_MODELS = (".pkl", ".pickle", ".joblib", ".skops", ".json", ".ubj", ".cbm", ".txt", ".onnx")

PREDICTIONS = (".csv", ".csv.gz", ".parquet", ".feather", ".arrow", ".ipc")

LARGE = 2**28
"""Size in bytes above which a file is predicted in chunks."""

_MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".feather", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl"}


@contextmanager
def standard_input_as_file(data: Sequence[Path]) -> Iterator[list[Path]]:
    if STANDARD not in data:
        yield list(data)
        return
    if list(data).count(STANDARD) > 1:
        raise ValueError("- is named twice, and standard input can be read only once; name it once")
    with scratch_folder() as folder:  # tables are read more than once
        path = folder / "standard-input"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        named = path.rename(path.with_name(path.name + _ending(path)))
        yield [named if each == STANDARD else each for each in data]


def _ending(path: Path) -> str:
    import zipfile

    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise ValueError("standard input is empty; send a table, as in: cat table.csv | committee ...")
    if not start.startswith(b"PK"):
        return next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), ".csv")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if "[Content_Types].xml" in names:
        return ".xlsx"
    return ".ods" if "content.xml" in names else ".zip"


def load_learner(path: Path) -> Any:
    from committee import load

    model = load(path)
    if hasattr(model, "committee_"):
        return model
    from committee.cli.bare_committee import BareClassifier, BareCommittee

    return (BareClassifier if hasattr(model, "classes") else BareCommittee)(model)


def is_safetensors(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(9)
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < path.stat().st_size


def require_classes(learner: Any, model: Path, verb: str, instead: str) -> None:
    if not hasattr(learner, "classes_"):
        raise ValueError(f"{model} predicts numbers, and only models of classes can be {verb}; {instead}")


def check_columns(learner: Any, data: str, used: Sequence[str], names: Sequence[str]) -> None:
    made = getattr(learner, "provenance_", None)
    present, known = set(names), {*used, *(() if made is None else (made.target,))}
    missing = [name for name in used if name not in present]
    extra = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{data} lacks the {_columns(missing)}, used by the model; add {_them(missing)} to the table")
    if extra:
        note(f"the model does not use the {_columns(extra)}")


def check_not_dropped(learner: Any, dropped: Sequence[str]) -> None:
    from committee.data.readers.features import LearnedColumns

    used = set(LearnedColumns.of_model(learner).used)
    if dropped := [name for name in dropped if name in used]:
        raise ValueError(
            f"--drop names the {_columns(dropped)}, used by the model; leave {_them(dropped)} out of --drop"
        )


def _columns(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {quoted(names)}"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def store_formats(learner: Any, forms: Mapping[str, str], missing: Sequence[str]) -> None:
    if learner.table_ is not None and (forms or missing):
        learner.table_ = learner.table_.with_forms(forms, missing)


def copy_metadata(source: Any, model: Any) -> None:
    if source.table_ is not None:
        store_formats(model, source.table_.forms, source.table_.missing)
    if (provenance := getattr(source, "provenance_", None)) is not None:
        model.provenance_ = replace(provenance, estimate=None)


def check_writable(*paths: Path | None, read: Iterable[Path | None]) -> None:
    named = {os.path.realpath(path) for path in read if path is not None}
    for path in paths:
        if path is None:
            continue
        if path == STANDARD:
            raise ValueError("- is standard output, which takes predictions only; name a file")
        check_replaceable(path)
        place = os.path.realpath(path)
        if place in named:
            raise ValueError(f"{path} is named for two files, of which one would be lost; give each its own name")
        named.add(place)


def check_ending(path: Path | None, what: str, endings: Sequence[str]) -> None:
    if path is not None and not path.name.lower().endswith(tuple(endings)):
        raise ValueError(f"{path} has an unknown ending for {what}; use one of {', '.join(endings)}")


def check_model_file(path: Path | None) -> None:
    if path is not None and path.suffix.lower() in OTHER_MODELS:
        raise ValueError(f"{path} has the ending of another format; model files end in .safetensors")


def save_model(model: Any, output: Path | None) -> None:
    if output is None:
        note(NOT_SAVED)
        return
    model.save(output)
    info(f"saved to {output} ({output.stat().st_size:,} bytes)")


def write_page(page: str, path: Path) -> None:
    write_file(path, page)
    info(f"report written to {path}")


def write_figures(document: Any, path: Path) -> None:
    from json import dumps

    write_file(path, dumps(document, indent=1, allow_nan=False) + "\n")
    info(f"figures written to {path}")


def write_picture(figure: Figure, path: Path) -> None:
    import matplotlib

    kind = path.suffix.lower().removeprefix(".")
    without_date = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context({"svg.hashsalt": "committee", "svg.fonttype": "path"}), replacing(path) as file:
        figure.savefig(file, format=kind, dpi=160, metadata=without_date)
    info(f"picture written to {path}")


def write_predictions(frame: pl.DataFrame, path: Path) -> None:
    import gzip

    name = path.name.lower()
    with replacing(path) as file:
        if name.endswith(".csv"):
            frame.write_csv(file)
        elif name.endswith(".csv.gz"):
            file.write(gzip.compress(frame.write_csv().encode(), mtime=0))
        elif name.endswith(".parquet"):
            frame.write_parquet(file)
        else:
            frame.write_ipc(file)


@contextmanager
def prediction_writer(path: Path) -> Iterator[Callable[[pl.DataFrame], None]]:
    try:
        with replacing(path) as file:
            name = path.name.lower()
            if name.endswith(".csv"):
                yield _csv_writer(file)
            elif name.endswith(".csv.gz"):
                import gzip

                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield _csv_writer(packed)
            else:
                with _arrow_writer(file, parquet=name.endswith(".parquet")) as write:
                    yield write
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, f"{error.strerror or error}; nothing is written", str(path)) from error
        raise


def _csv_writer(file: Any) -> Callable[[pl.DataFrame], None]:
    header = True

    def write(frame: pl.DataFrame) -> None:
        nonlocal header
        file.write(frame.write_csv(include_header=header).encode())
        header = False

    return write


@contextmanager
def _arrow_writer(file: BinaryIO, *, parquet: bool) -> Iterator[Callable[[pl.DataFrame], None]]:
    # by pyarrow, a group of rows for each chunk, as polars writes whole tables only
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ValueError(
            "pyarrow, which writes predictions in chunks as Parquet or Feather, is not installed; run: pip install"
            " pyarrow, or write .csv"
        ) from error
    writer: Any = None

    def write(frame: pl.DataFrame) -> None:
        nonlocal writer
        table = frame.to_arrow()
        if writer is None:
            writer = pq.ParquetWriter(file, table.schema) if parquet else pa.ipc.new_file(file, table.schema)
        writer.write_table(table)

    yield write
    if writer is not None:  # after an error the file is thrown away
        writer.close()


def reads_in_chunks(data: Sequence[Path], memory_limit: str | None = None, scratch: Path | None = None) -> bool:
    if len(data) > 1 or scratch is not None or (memory_limit is not None and _can_be_chunked(data[0])):
        return True
    return data[0].is_dir() or (has_magic(str(data[0])) and not data[0].exists())


def is_large(file: Path) -> bool:
    return _can_be_chunked(file) and file.is_file() and file.stat().st_size > LARGE


def _can_be_chunked(file: Path) -> bool:
    from committee.data.out_of_core.scan import ENDINGS

    return file.name.lower().endswith(ENDINGS)


def name_of_data(data: Sequence[Path]) -> str:
    first = data[0].name or data[0].resolve().name
    return first if len(data) == 1 else f"{first} and {len(data) - 1:,} more"


def table_name(files: Sequence[Path]) -> str:
    if len(files) == 1:
        return files[0].name.partition(".")[0]
    folder = files[0].resolve().parent
    common = os.path.commonprefix([file.name for file in files])  # noqa: RUF071  of characters, as intended
    common = common.partition(".")[0].rstrip("-_0123456789")
    return common if common and folder == Path.cwd() else folder.name
