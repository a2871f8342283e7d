"""Commands on random files of tables: an answer, or an error in one line, and never half a file."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from typer.testing import CliRunner

from committee import MODELS
from committee import model as new_model
from committee.cli.main import app

NAMES = ("x", "y", "id", "label", "a b", " x ", "größe", "日本", 'say "x"', "a,b", "$x$", "$\\frac{", "[red]", "<b>")
NAMES += ("=1+1", "@x", "-1", "\x1b[31m", "\x9b1m", "\u202egnp", "a\nb", "a\tb", "n" * 300, "", "0", "None", "&", "%s")
NAMES += ("{{ x }}", "target", "x=1", "'", "NaN", "\\", "a;b", "#", "prediction")
"""Names of columns that are text to a table, and something else to a terminal, a page, a picture or a file."""

CELLS = ("", "NA", "nan", "1", "-1", "0.5", "1e400", "inf", "-inf", "1_000", "01", "true", "false", "a", "b", "?")
CELLS += ("2020-01-01", "=1+1", "\x1b[2J", '"', "''", "a,b", "a\nb", "<script>", "$", "9" * 40, "é", "x" * 500, " 1")
CELLS += ("٣",)
"""Cells that look like numbers, or do not."""

ENDINGS = (".csv", ".csv", ".tsv", ".csv.gz", ".parquet", ".feather")
OLD = b"what stood there before"
KINDS = ("number", "number", "integer", "letter", "constant", "odd", "text")


def _cell(random: Random, kind: str, row: int) -> str:
    match kind:
        case "number":
            return f"{random.gauss(0, 1):.3g}"
        case "integer":
            return str(random.randrange(-3, 4))
        case "letter":
            return random.choice("abc")
        case "constant":
            return "7"
        case "odd":
            return random.choice(CELLS)
        case _:
            return f"row {row}"


def _rows_of(random: Random) -> tuple[list[str], list[list[str]]]:
    """Names and rows of a table, the last column of which has a few labels mostly."""
    p, n = random.choice((1, 2, 3, 5)), random.choice((0, 1, 2, 6, 20, 40, 40, 40))
    names = [random.choice(NAMES) for _ in range(p)] if random.random() < 0.1 else random.sample(NAMES, p)
    labels = random.choice(("ab", "ab", "ab", ("0", "1"), ("=1", "\x1b[0m"), ("yes",), ("NA", "a"), tuple("abcdefg")))
    kinds = [random.choice(KINDS) for _ in range(p - 1)]
    rows = [[*(_cell(random, kind, i) for kind in kinds), random.choice(labels)] for i in range(n)]
    return names, rows


def _content(random: Random, names: list[str], rows: list[list[str]], ending: str) -> bytes:
    if ending in (".parquet", ".feather"):
        columns: dict[str, Any] = {name: [row[j] for row in rows] for j, name in enumerate(names)}
        frame, opened = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), io.BytesIO()
        numbers = [pl.col(name).cast(pl.Float64, strict=False) for name in list(columns)[:-1] if random.random() < 0.7]
        frame = frame.with_columns(numbers)
        frame.write_parquet(opened) if ending == ".parquet" else frame.write_ipc(opened)
        content = opened.getvalue()
    else:
        text = io.StringIO()
        writer = csv.writer(
            text,
            delimiter="\t" if ending == ".tsv" else ",",
            lineterminator=random.choice(("\n", "\n", "\n", "\r\n", "\r")),
            quoting=random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
        )
        writer.writerows([names, *rows])
        content = text.getvalue().encode(random.choice(("utf-8",) * 8 + ("utf-8-sig", "utf-16")))
    packed = ending.endswith(".gz") and random.random() < 0.9
    if not packed and random.random() < 0.25:
        content = _damaged(random, content)
    content = gzip.compress(content) if packed else content
    return _damaged(random, content) if packed and random.random() < 0.2 else content


def _damaged(random: Random, content: bytes) -> bytes:
    """Bytes cut off, left out, said twice or changed."""
    if not content:
        return b"\0"
    begin = random.randrange(len(content))
    end = min(len(content), begin + random.choice((1, 1, 4, 30)))
    inside = random.choice((b"", content[begin:end] * 2, random.randbytes(end - begin), b'"', b"\n", b"\0", b","))
    return content[:begin] if random.random() < 0.2 else content[:begin] + inside + content[end:]


class Commands:
    """Command lines over files of tables; see `tests.fuzz.Fuzzer`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def case(self, random: Random) -> bytes:
        return json.dumps({"seed": random.getrandbits(64)}).encode()

    def run(self, case: bytes) -> str:
        random = Random(json.loads(case)["seed"])
        for path in self.folder.iterdir():
            path.unlink()
        names, rows = _rows_of(random)
        ending = random.choice(ENDINGS)
        table = self.folder / f"table{ending}"
        table.write_bytes(_content(random, names, rows, ending))
        target = names[-1] if random.random() < 0.95 else random.choice(NAMES)
        drop, categorical = self._options(random, names, "--drop"), self._options(random, names, "--categorical")
        options = [*drop, *categorical]
        if random.random() < 0.3:
            report = self._output(random, "report.html")
            figures = self._output(random, "figures.json")
            models = random.choice(("tree", "adaboost,tree", "scikit-learn:random_forest,tree", "nothing"))
            written = {"--report": report, "--json": figures}
            return self._call("compare", table, "-t", target, "--models", models, "--folds", 2, *options, **written)
        model, name = self._output(random, "model"), random.choice(list(MODELS))
        few = "n_estimators=3" if "n_estimators" in new_model(name).get_params() else "random_state=1"
        parameters = ["-p", random.choice((few, few, few, few, "n_estimators=True", "max_depth=1", "n_jobs=0", "="))]
        words = ("fit", table, "-t", target, "-m", name, *parameters, *options)
        ended = self._call(*words, **{"-o": model})
        if not ended.endswith("answered"):
            return ended
        self._call("inspect", model)
        self._call("inspect", model, "--data", table, "-t", target, **{"--report": self._output(random, "page.html")})
        answers = self._output(random, f"answers{random.choice(ENDINGS)}")
        flags = [flag for flag in ("--proba", "--safe-cells") if random.random() < 0.5]
        predicted = self._call("predict", model, table, *flags, "--drop", target, *drop, **{"-o": answers})
        self._call("predict", model, table, *flags)
        return f"fit {predicted}"

    def _options(self, random: Random, names: list[str], option: str) -> list[str]:
        """The option with the name of a column, which may not be there; or nothing."""
        return [option, random.choice([*names, random.choice(NAMES)])] if random.random() < 0.2 else []

    def _output(self, random: Random, name: str) -> Path:
        """A place to write, where a file stands already now and then."""
        path = self.folder / name
        if random.random() < 0.5:
            path.write_bytes(OLD)
        return path

    def _call(self, *words: Any, **outputs: Path) -> str:
        before = {path: path.read_bytes() if path.exists() else None for path in outputs.values()}
        others = set(self.folder.iterdir()) - before.keys()
        line = [str(word) for word in (*words, *(word for pair in outputs.items() for word in pair))]
        result = CliRunner().invoke(app, line, catch_exceptions=False)
        assert not {c for c in result.stderr if not c.isprintable()} & set("\x1b\x07\x9b\r\u202e"), result.stderr
        assert set(self.folder.iterdir()) - before.keys() == others, "a file is left that nobody asked for"
        with_failures = words[0] == "compare" and result.exit_code == 1  # models that failed are in its tables
        if result.exit_code == 0 or with_failures:
            assert all(path.read_bytes() not in (OLD, b"") for path in before), "nothing was written"
            return f"{words[0]} answered" + ", with models that failed" * with_failures
        assert result.exit_code == 2, (result.exit_code, result.output)
        lines = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
        usage = bool(lines) and lines[0].startswith("Usage: ")
        assert usage or len([line for line in lines if line.startswith("error: ")]) == 1, result.stderr
        if "every model failed" not in result.stderr:
            for path, content in before.items():
                assert (path.read_bytes() if path.exists() else None) == content, "a failure changed a file"
        return f"{words[0]} refused"
