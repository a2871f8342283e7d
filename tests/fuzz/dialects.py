"""A table in random dialects of text files: the same rows for a model, or an error that helps to mend the file."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from committee.cli.chunks import chunk_frame
from committee.cli.main import app
from committee.cli.options import TrainingOptions
from committee.cli.training_chunks import RowNumbers, training_chunks
from committee.cli.training_table import whole_table
from committee.data.dates import typed_seconds

KINDS = ("decimal", "decimal", "large", "integer", "category", "phrase", "date", "moment", "flag", "code")
NAMES = ("height", "Größe", "net weight", "x1", "salary, yearly", "since", "unit-2", "T (°C)", "q", "Δ")
PHRASES = ("Oslo", "New York", "São Paulo", "one, two", "a;b", 'the "best"', "semi-detached", "50 %", "(none)", "C#")
MARKS = ("?", "n/a", "-", "NA", "#N/A", "None", ".")
TITLES = ("Annual report", "# exported 2024-05-01", "", "Source: the office, 2 sheets", "#", "Table 3;;;")
DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d %b %Y", "%Y/%m/%d")
REMEDY = re.compile(r"; |, or |--[a-z]+")
OPTION_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}


@dataclass(frozen=True)
class Table:
    """Columns of Python values, None where a cell is missing; the last column is the target."""

    names: list[str]
    kinds: list[str]
    columns: list[list[Any]]

    @property
    def n(self) -> int:
        return len(self.columns[0])


@dataclass
class Dialect:
    """Separator, number and date formats and layout of a text file, and the options that reading it needs."""

    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    negatives: str = "-{}"
    sign: str = ""
    mark: str = ""
    dates: str = "%Y-%m-%d"
    quoting: int = csv.QUOTE_MINIMAL
    line_end: str = "\n"
    encoding: str = "utf-8"
    packing: str = ""
    titles: list[str] = field(default_factory=list)
    header: bool = True
    blanks: bool = False
    trailing: bool = False
    blank_lines: bool = False
    aligned: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def ending(self) -> str:
        return (".tsv" if self.separator == "\t" and not self.aligned else ".csv") + self.packing

    def mark_in_text(self, table: Table) -> bool:
        """Whether the mark stands in a column of text, where only ``--missing`` makes it one."""
        marked = (kind for kind, column in zip(table.kinds, table.columns, strict=True) if None in column)
        return any(kind in ("category", "phrase", "code", "flag") for kind in marked)


def random_table(random: Random, header: bool) -> Table:
    p, n = random.choice((2, 3, 4, 6)), random.choice((4, 8, 25, 40))
    kinds = [random.choice(KINDS) for _ in range(p)]
    names = [*random.sample(NAMES, p), "target"] if header else [f"column_{j + 1}" for j in range(p + 1)]
    columns = [_cells(random, kind, n) for kind in kinds]
    columns.append([random.choice(("yes", "no")) for _ in range(n)])
    if random.random() < 0.2:
        columns[-1] = [round(random.gauss(0.0, 9.0), 3) for _ in range(n)]
        return Table(names, [*kinds, "decimal"], columns)
    columns[-1][:2] = ["yes", "no"]
    return Table(names, [*kinds, "category"], columns)


def _cells(random: Random, kind: str, n: int) -> list[Any]:
    def moment() -> str:
        return f"{_day(random).isoformat()} {random.randrange(24):02}:{random.randrange(60):02}"

    make: dict[str, Callable[[], Any]] = {
        "decimal": lambda: round(random.gauss(0.0, 30.0), random.choice((1, 2, 3))) + 0.0,
        "large": lambda: round(random.gauss(0.0, 1.0) * 10 ** random.uniform(2, 8), 2) + 0.0,
        "integer": lambda: random.randrange(-3000, 3000),
        "category": lambda: random.choice("abc"),
        "phrase": lambda: random.choice(PHRASES),
        "date": lambda: _day(random),
        "moment": moment,
        "flag": lambda: random.choice((True, False)),
        "code": lambda: f"{random.randrange(40):03}",
    }
    cells = [make[kind]() for _ in range(n)]
    if kind == "code":
        cells[0] = "007"
    if random.random() < 0.3:
        cells = [None if random.random() < 0.2 and i else cell for i, cell in enumerate(cells)]
    return cells


def _day(random: Random) -> date:
    return date(2020, 1, 13) + timedelta(random.randrange(1500))


def random_dialect(random: Random, table: Table) -> Dialect:
    """A dialect that the documented rules read without a doubt, by itself or by its options."""
    made = Dialect(header=not table.names[0].startswith("column_"))
    made.separator = random.choice((",", ",", ";", ";", "\t", "|"))
    made.aligned = random.random() < 0.1 and _fits_columns(table)
    if made.aligned:
        made.separator = "\t"
    made.quoting = random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    made.line_end = random.choice(("\n", "\n", "\r\n"))
    made.encoding = random.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"))
    made.packing = random.choice(("", "", "", ".gz", ".zip"))
    if made.encoding == "cp1252":
        try:
            str((table.names, table.columns)).encode("cp1252")
            made.options["encoding"] = "cp1252"
        except UnicodeEncodeError:
            made.encoding = "utf-8"
    if random.random() < 0.5:
        _set_numbers(random, made, table)
    if random.random() < 0.5:
        made.dates = random.choice(DATE_FORMATS)
        if made.dates[:2] in ("%d", "%m") and made.dates[3:5] in ("%d", "%m"):
            made.options["dates"] = "day-first" if made.dates.startswith("%d") else "month-first"
    made.mark = random.choice(("", "", *MARKS)) if not made.aligned else "NA"
    if made.aligned:
        made.quoting, made.dates = csv.QUOTE_NONE, "%Y-%m-%d"
    else:
        made.blanks = random.random() < 0.2
        made.trailing = made.header and random.random() < 0.1
        made.blank_lines = random.random() < 0.15
    if made.header and random.random() < 0.25:
        made.titles = [random.choice(TITLES) for _ in range(random.choice((1, 1, 2, 3)))]
        if random.random() < 0.5:
            made.options["skip_lines"] = len(made.titles)
    made.options |= {} if made.header else {"no_header": True}
    if random.random() < 0.1 and not made.aligned:
        made.options["sep"] = OPTION_NAMES[made.separator]
    if made.mark not in ("", "NA") and (made.mark_in_text(table) or random.random() < 0.3):
        made.options["missing"] = [made.mark]
    return made


def _fits_columns(table: Table) -> bool:
    cells = [str(cell) for column in table.columns for cell in column]
    if any(re.search(r"[\s\"]|^$", cell) for cell in (*cells, *table.names)):
        return False
    return any(kind in ("decimal", "integer", "large") for kind in table.kinds)


def _set_numbers(random: Random, made: Dialect, table: Table) -> None:
    numbers = [k for k, kind in zip(table.columns, table.kinds, strict=True) if kind in ("decimal", "large", "integer")]
    made.decimal = "," if random.random() < 0.5 else "."
    others = (" ", "'", "\u00a0") if not made.aligned else ("'",)
    made.thousands = random.choice(("", "", "." if made.decimal == "," else ",", *others))
    if "," in (made.decimal, made.thousands):
        made.options["decimal"] = made.decimal
    made.negatives = random.choice(("-{}", "-{}", "({})", "{}-", "\u2212{}", "- {}"))
    if made.aligned or made.encoding == "cp1252":
        made.negatives = made.negatives if made.negatives.isascii() and " " not in made.negatives else "-{}"
    if not all(any(cell is not None and cell >= 0 for cell in column) for column in numbers):
        made.negatives = "-{}"  # labels such as (1) and (2)
    if random.random() < 0.3 and not made.aligned:
        made.sign = random.choice(("$", "€", "EUR", "CHF", "kr"))
        if made.encoding == "cp1252":
            made.sign = "EUR"


def written_cell(made: Dialect, kind: str, cell: Any) -> str:
    """The text of a cell in a dialect."""
    if cell is None:
        return made.mark
    if kind == "flag":
        return "true" if cell else "false"
    if kind == "date":
        return cell.strftime(made.dates)  # type: ignore[no-any-return]
    if kind not in ("decimal", "large", "integer"):
        return str(cell)
    whole, _, rest = f"{abs(cell):,}".partition(".")
    text = whole.replace(",", made.thousands) + (made.decimal + rest if rest else "")
    text = made.negatives.format(text) if cell < 0 else text
    if not made.sign:
        return text
    return (
        f"{text} {made.sign}" if made.sign.isalpha() else f"{made.sign}{text}" if cell >= 0 else f"{text} {made.sign}"
    )


def written_lines(random: Random, table: Table, made: Dialect) -> list[str]:
    """Lines of the file below the titles."""
    rows = list(zip(*table.columns, strict=True))
    cells = [[written_cell(made, kind, cell) for kind, cell in zip(table.kinds, row, strict=True)] for row in rows]
    cells = [list(table.names)] * made.header + cells
    if made.blanks:
        cells = [[random.choice(("", " ", "  ")) + cell + random.choice(("", " ")) for cell in row] for row in cells]
    if made.aligned:
        widths = [max(map(len, column)) + random.choice((1, 2)) for column in zip(*cells, strict=True)]
        return ["".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells]
    lines = []
    for row in cells:
        lines.append(separated(made, row))
        if made.blank_lines and random.random() < 0.1 and len(lines) > 1:
            lines.append("")
    return lines


def separated(made: Dialect, cells: list[str]) -> str:
    """The line of a row, unless cells are aligned."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=made.separator, quoting=made.quoting, lineterminator="")  # type: ignore[arg-type]
    writer.writerow([*cells, ""] if made.trailing else cells)
    return text.getvalue()


def write(folder: Path, name: str, made: Dialect, lines: list[str]) -> Path:
    path = folder / f"{name}{made.ending}"
    content = "".join(line + made.line_end for line in lines).encode(made.encoding)
    if made.packing == ".zip":
        path = folder / f"{name}.zip"
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr(f"{name}{made.ending.removesuffix('.zip')}", content)
    else:
        path.write_bytes(gzip.compress(content) if made.packing else content)
    return path


class Dialects:
    """A clean table, and the same in a random dialect, sometimes with a fault; see `tests.fuzz.Fuzzer`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def case(self, random: Random) -> bytes:
        return json.dumps({"seed": random.getrandbits(64)}).encode()

    def run(self, case: bytes) -> str:
        random = Random(json.loads(case)["seed"])
        for path in self.folder.iterdir():
            path.unlink()
        table = random_table(random, header=random.random() < 0.85)
        made, plain = random_dialect(random, table), Dialect()
        if table.names[0] == "column_1":
            plain.header, plain.options = False, {"no_header": True}
        lines = written_lines(random, table, made)
        clean = write(self.folder, "clean", plain, written_lines(random, table, plain))
        fault = random_fault(random, table, made, lines) if random.random() < 0.3 else None
        untidy = write(self.folder, "untidy", made, made.titles + lines)
        in_chunks = made.encoding.startswith("utf-8") and made.packing != ".zip" and not made.aligned
        if fault is not None:
            if in_chunks:
                fault.check(made, _called("fit", as_pattern(untidy), *_fit_options(table)[:-2], **made.options))
            return fault.check(made, _called("fit", untidy, *_fit_options(table), **made.options))
        expected, found = (_rows_or_error(path, table, each) for path, each in ((clean, plain), (untidy, made)))
        if in_chunks:
            pieces = _pieces_or_error(untidy, table, made)
            if isinstance(found, str) or isinstance(pieces, str):
                assert isinstance(found, str) and isinstance(pieces, str), (
                    f"whole: {found}\nin chunks: {pieces}\n{made}"
                )
            else:
                seconds = (typed_seconds(column) for column in found.get_columns() if column.dtype.is_temporal())
                assert_frame_equal(pieces, found.with_columns(seconds), check_dtypes=False, rel_tol=1e-12, abs_tol=0.0)
        if isinstance(expected, str) or isinstance(found, str):
            if is_refused_title(made, str(found)):
                return "title refused"
            assert isinstance(expected, str), f"{found}\n{made}"
            return "refused as the clean table"
        assert_frame_equal(found, expected, check_dtypes=False, rel_tol=1e-12, abs_tol=0.0)
        self._check_predictions(table, (clean, plain), (untidy, made))
        return "read as the clean table"

    def _check_predictions(self, table: Table, *files: tuple[Path, Dialect]) -> None:
        """A model of each file predicts the same for both."""
        answers = {}
        for k, (training, options) in enumerate(files):
            model = self.folder / f"model-{k}"
            made = _called("fit", training, *_fit_options(table), "-o", model, **options.options)
            assert made.exit_code == 0, made.stderr
            for path, own in files:
                found = _called("predict", model, path, "--drop", table.names[-1], **own.options)
                assert found.exit_code == 0, found.stderr
                answers[training.name, path.name] = (
                    [*map(float, found.stdout.split()[1:])] if _is_number(table) else found.stdout
                )
        first = next(iter(answers.values()))
        for files_of, answer in answers.items():
            same = answer == first if isinstance(answer, str) else np.allclose(answer, first, rtol=1e-9, atol=1e-12)
            assert same, f"model of {files_of[0]} and rows of {files_of[1]}:\n{answer}\n{first}\n{made}"


def is_refused_title(made: Dialect, message: str) -> bool:
    """Whether the message names the option that would help, as a title has separators."""
    return bool(made.titles) and "skip_lines" not in made.options and "--skip-lines" in message


@dataclass(frozen=True)
class Fault:
    """A damaged place of a file, and what the refusal of the file must name."""

    kind: str
    named: tuple[str, ...]

    def check(self, made: Dialect, result: Any) -> str:
        assert result.exit_code == 2, (self, result.exit_code, result.output)
        errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, result.stderr
        if is_refused_title(made, errors[0]):
            return "title refused"
        if "columns aligned by blanks" in errors[0]:  # of a broken line in chunks
            return "aligned refused"
        for words in self.named:
            assert words in errors[0], f"{self.kind}: {words!r} is not in {errors[0]!r}"
        assert REMEDY.search(errors[0]), f"no remedy: {errors[0]}"
        return f"{self.kind} refused"


def random_fault(random: Random, table: Table, made: Dialect, lines: list[str]) -> Fault | None:
    """Damage a line of a file, in place."""
    places = [k for k, line in enumerate(lines) if line and k >= made.header]
    k = random.choice(places[1:])  # the first line of a file without names gives the number of columns
    at = f"line {len(made.titles) + k + 1}"
    kind = random.choice(("short", "long", "infinity", "nul"))
    if kind == "short" and made.quoting != csv.QUOTE_ALL and not made.trailing and '"' not in lines[k]:
        mark = "  " if made.aligned else made.separator
        lines[k] = lines[k].rpartition(mark)[0].rstrip() if not made.aligned else " ".join(lines[k].split()[:-1])
        return Fault(kind, (at,))
    if kind == "long":
        lines[k] += " more" if made.aligned else f"{made.separator}more"
        return Fault(kind, (at,))
    numbers = [
        j
        for j, each in enumerate(table.kinds)
        if each in (("decimal", "large") if kind == "infinity" else ("category", "phrase"))
    ]
    if kind in ("infinity", "nul") and numbers:
        j = random.choice(numbers)
        row = places.index(k)
        table.columns[j][row] = None
        cells = [written_cell(made, each, column[row]) for each, column in zip(table.kinds, table.columns, strict=True)]
        cells[j] = "inf" if kind == "infinity" else "a\0b"
        lines[k] = " ".join(cells) if made.aligned else separated(made, cells)
        return Fault(kind, (at, repr(table.names[j])))
    return None


def _fit_options(table: Table) -> list[Any]:
    model = ["gradient_boosting", "-p", "n_estimators=3"] if _is_number(table) else ["tree", "-p", "max_depth=3"]
    return ["-t", table.names[-1], "-m", *model, "--folds", 0]


def _is_number(table: Table) -> bool:
    return table.kinds[-1] == "decimal"


def _rows_or_error(path: Path, table: Table, made: Dialect) -> pl.DataFrame | str:
    """The features and the target that a model learns from, or the message of a refusal."""
    options = TrainingOptions(**made.options)
    try:
        read = whole_table(path, table.names[-1], options, ())
    except ValueError as error:
        return str(error)
    return read.X.with_columns(pl.col(pl.Categorical).cast(pl.String), pl.Series("the target", read.y))


def as_pattern(path: Path) -> Path:
    """The path as a pattern that has it alone, whose files are read in chunks."""
    return path.with_name(f"[{path.name[0]}]{path.name[1:]}")


def _pieces_or_error(path: Path, table: Table, made: Dialect) -> pl.DataFrame | str:
    """What `_rows_or_error` returns, of the file in chunks; dates as seconds."""
    try:
        options = TrainingOptions(**made.options)
        read = training_chunks([path], table.names[-1], options, (), None, None, False, numbers=RowNumbers(), bar=False)
        frame = pl.concat([chunk_frame(piece) for piece in read.X], how="vertical_relaxed")
    except ValueError as error:
        return str(error)
    return frame.with_columns(pl.Series("the target", read.y))


def _called(*words: Any, **options: Any) -> Any:
    flags: list[Any] = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        flags += [flag] if value is True else [flag, ",".join(value) if isinstance(value, list) else value]
    return CliRunner().invoke(app, [str(word) for word in (*words, *flags)], catch_exceptions=False)
