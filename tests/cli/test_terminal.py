"""Output of commands: messages in words of the command line, streams, interrupts, and files that are replaced whole."""

import os
import re
import stat
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from committee import TreeVoter
from committee.cli import entry, main
from committee.cli.entry import DeferredImports, defer_imports
from committee.cli.terminal import _PHRASES, with_options
from committee.data.readers.table_reader import read_table
from committee.data.readers.tables import split_target
from tests.cli.calls import COMMITTEE, fail, fails, run, run_process, succeed


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "table.csv"
    rows = [f"{(k * 37 % 100) / 8},{'uvw'[k % 3]},{k * 3.7 % 11:.2f},{'yn'[(k * 37 % 100) > 50]}" for k in range(90)]
    path.write_text("\n".join(["a,c,price,label", *rows]) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def forest(table):
    path = table.with_name("forest.safetensors")
    options = ("-m", "random_forest", "-p", "n_estimators=20", "-p", "oob_score=True", "--folds", 0)
    assert run("fit", table, "-t", "label", "--drop", "price", *options, "-o", path).exit_code == 0
    return path


@pytest.mark.parametrize(
    ("python", "spoken"),
    [
        ("use on='validation', or an ensemble", "use --on validation, or an ensemble"),
        ("choose another loss (loss='huber').", "choose another loss (-p loss=huber)."),
        ("folds=3 or merging classes would avoid that", "--folds 3 or merging classes would avoid that"),
        ("a GradientBoostingRegressor(loss='a', random_state=0); only", "a GradientBoostingRegressor; only"),
        ("loss is 'a'; it must be one of b, or an object.", "-p loss is 'a'; it must be one of b, or an object."),
        ("categorical_features must be a list, got 'q'", "--categorical must be a list, got 'q'"),
        (
            "The 'max_features' parameter of Forest must be an int in the range [1, inf), a float in"
            " the range (0.0, 1.0], a str among {'sqrt', 'log2'} or None. Got 'foo' instead.",
            "-p max_features must be a whole number >= 1, a number > 0.0 and <= 1.0, one of 'log2',"
            " 'sqrt' or None; got 'foo'.",
        ),
        (
            "The 'bootstrap' parameter of A must be an instance of 'bool' or an instance of 'numpy.bool'. Got 3"
            " instead.",
            "-p bootstrap must be True or False; got 3.",
        ),
        (
            "The 'calibrate' parameter of A must be a str among {'auto'}, a bool among {False} or None. Got True"
            " instead.",
            "-p calibrate must be 'auto', False or None; got True.",
        ),
        ("x is 3; left_out_ names the others.", "x is 3; the table of members names the others."),
        ("-p oob_score=True stays, and so does 'a=1' or f(x)", "-p oob_score=True stays, and so does 'a=1' or f(x)"),
    ],
)  # fmt: skip
def test_parameters_of_python_are_options(python, spoken):
    assert with_options(python) == spoken == with_options(spoken)


def test_phrases_are_those_of_the_library():
    composed = {f"{name} names '" for name in ("drop", "categorical", "numeric")}
    composed |= {"leave out time=", "cannot be converted: estimator is"}
    files = Path(entry.__file__).parents[1].rglob("*.py")
    source = "".join(re.sub(r'"\s+f?"', "", file.read_text("utf-8")) for file in files if file.parent.name != "cli")
    assert [phrase for phrase in _PHRASES if phrase not in composed and phrase not in source] == []


def test_errors_speak_of_options(table, forest):
    said = fail("fit", table, "-t", "price", "--drop", "label", "--task", "classes")
    assert "target 'price' holds numbers with decimals, such as 3.7, which cannot be classes; leave out --task" in said
    absent = forest.with_name("absent.csv")  # what is mistyped does not wait for the table
    assert "--effort 'some' is unknown; there are 'fast', 'd" in fail("fit", absent, "-t", "label", "--effort", "some")
    named = "which is not there; there are 'a', 'c'"
    cases = [
        ("--time-limit 0 must be a number of seconds above 0", absent, "--time-limit", 0),
        (f"error: --drop names 'zz', {named}", table, "--drop", "zz"),
        (f"error: --categorical names 'z', {named}", table, "--categorical", "z"),
    ]
    for command in ("fit", "compare"):
        fails([command, "-t", "label"], cases)
    depth = "-p max_depth must be a whole number >= 1 and <= 2147483647 or None; got "
    assert f"{depth}-3." in fail("fit", table, "-t", "label", "-m", "tree", "-p", "max_depth=-3")
    models = ("--models", "tree", "-p", "tree:max_depth=abc")
    assert f"{depth}'abc'." in fail("compare", table, "-t", "label", *models)
    boosted = forest.with_name("boosted.safetensors")
    one = succeed("fit", table, "-t", "label", "-m", "adaboost", "-p", "n_estimators=3", "--folds", 0, "-o", boosted)
    assert "with" in one.stderr and "trained on 90 rows x 3 columns" in one.stderr
    assert "error: --on oob needs an ensemble with the training rows" in fail("margins", boosted, table, "--on", "oob")
    bad = fail("margins", forest, table, "--objective", "mincq", "-p", "nu=3")
    assert "-p nu=3 has no meaning for --objective mincq" in bad
    assert "--row -1 does not exist" in fail("explain", forest, table, "--row", -1)


def test_one_of_a_thing_is_said_in_the_singular(table, forest, tmp_path):
    one, same = tmp_path / "one.csv", tmp_path / "same.csv"
    names, first = table.read_text("utf-8").splitlines()[:2]
    one.write_text(f"{names}\n12.75,{first.partition(',')[2]}\n", "utf-8")  # a row that the model has not learned from
    same.write_text("a,label\n" + "".join(f"{k / 3:.2f},y\n" for k in range(30)), "utf-8")
    said = succeed("fit", same, "-t", "label", "-m", "tree").stderr
    assert "not known, as all rows are of one class" in said and "trained on 30 rows x 1 column in" in said
    assert "note: the target holds one class only, 'y': the model always predicts it." in said
    assert "on rows not seen in training: not known, as all rows are of" in succeed("fit", same, "-t", "label").stderr
    same.write_text("a,label\n1,1\n", "utf-8")
    assert "not known, as there is only one row" in succeed("fit", same, "-t", "label").stderr
    both = tmp_path / "both.csv"
    both.write_text("a,label\n1,y\n2,n\n3,y\n4,n\n", "utf-8")
    assert "not known, as 4 rows are too few for 5 folds" in succeed("fit", both, "-t", "label", "-m", "tree").stderr
    for command in ("evaluate", "margins", "explain", "certify", "predict"):
        said = succeed(command, forest, one).output
        assert not re.search(r"\b1 (rows|cells|columns|voters|classes)\b", said), command
    said = fail("explain", forest, one, "--row", 1)
    assert "has 1 row, numbered 0" in said and "n_rows" not in said


def test_rows_of_several_files_are_judged_together(table, forest, tmp_path):
    rows = pl.read_csv(table).with_columns(c=pl.when(pl.col("a") > 10).then(pl.lit("new")).otherwise(pl.col("c")))
    whole, texts, typed = tmp_path / "whole.csv", tmp_path / "texts", tmp_path / "typed"
    rows.write_csv(whole)
    texts.mkdir(), typed.mkdir()
    for k, part in enumerate((rows[:40], rows[40:])):
        part.write_csv(texts / f"{k}.csv")
        part.write_parquet(typed / f"{k}.parquet")
    numbers = tmp_path / "numbers.safetensors"
    succeed("fit", table, "-t", "price", "-m", "gradient_boosting", "--drop", "label", "--folds", 0, "-o", numbers)
    for model in (forest, numbers):
        expected = succeed("evaluate", model, whole)
        n = rows.filter(pl.col("c") == "new").height
        unknown = f"column 'c': {n} cells hold unknown categories, read as missing: 'new'"
        assert unknown in expected.stderr
        for several in ([texts], [typed], [f"{texts}/*.csv"], [typed / "0.parquet", typed / "1.parquet"]):
            found = succeed("evaluate", model, *several, "--json", tmp_path / "figures.json")
            assert found.stdout == expected.stdout and unknown in found.stderr
            assert "2 files, read as one table" in found.stderr
    percent = tmp_path / "percent.csv"
    rows.drop("label").with_columns(price=pl.format("{}%", "price")).write_csv(percent)
    assert "target 'price': numbers from 0 to 0.1" in succeed("evaluate", numbers, percent).stderr
    assert succeed("margins", forest, texts).stdout == succeed("margins", forest, whole).stdout
    assert "there is no column 'labels'; did you mean 'label'" in fail("evaluate", forest, texts, "-t", "labels")


def test_figures_say_what_they_mean(table, forest, tmp_path):
    page, figures = tmp_path / "page.html", tmp_path / "figures.json"
    settings = ("-p", "tree:max_depth=2", "-p", "random_forest:n_estimators=5", "-p", "random_forest:max_features=None")
    result = succeed(
        "compare", table, "-t", "label", "--models", "tree,random_forest", "--folds", 2, *settings, "--report", page,
        "--json", figures,
    )  # fmt: skip
    assert "Parameters of tree: max_depth=2.\nParameters of random_forest: n_estimators=5," in result.stdout
    text = page.read_text("utf-8")
    assert "Parameters that were set" in text and "n_estimators=5, max_features=None" in text
    assert '"n_estimators": "5"' in figures.read_text("utf-8")
    for objective, better in (("soft_margin", "larger"), ("mincq", "smaller")):
        found = succeed("margins", forest, table, "--on", "train", "--objective", objective).stdout
        assert f"objective ({objective}, {better} is better)" in found
    for level in ("leaf", "voter"):
        by = ("prune", table, "-t", "label", "--drop", "price", "--trees", 20, "--level", level)
        said = succeed(*by).stderr
        assert re.search(r"pruned model on \d+ out-of-bag rows: accuracy [.\d]+, which is optimistic", said)
        assert ("cross-validated on these rows, with leaf values fitted on other folds" in said) == (level == "leaf")
    said = succeed("prune", forest, table, "--on", "validation").stderr
    assert "pruned model on 90 validation rows: accuracy" in said and "cross-validated" in said
    said = succeed("prune", forest, table, "--on", "train").stderr
    assert "optimistic, as its trees were grown and pruned by these rows" in said and "cross-validated" not in said


def test_an_interrupt_says_what_is_written(table, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    model, kept = tmp_path / "model.safetensors", tmp_path / "kept.safetensors"
    monkeypatch.setattr("committee.TreeVoter.fit", interrupted)
    result = run("fit", table, "-t", "label", "-m", "tree", "-o", model)
    assert result.exit_code == 130 and "interrupted; no file is written" in result.stderr and not model.exists()
    monkeypatch.undo()
    monkeypatch.setattr("committee.cli.fit.describe_fit", interrupted)
    result = run("fit", table, "-t", "label", "-m", "tree", "-o", kept)
    assert result.exit_code == 130 and f"interrupted; written: {kept}" in result.stderr and kept.exists()
    # while the command is imported, too
    code = (
        "import os, signal, sys, committee.cli.entry\n"
        "at = sys.argv.pop(1)\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == at: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "committee.cli.entry.main()\n"
    )
    for at in ("typer", "committee.cli.fit", "polars"):
        ended = run_process(at, "fit", table, "-t", "label", "-o", model, code=code)
        assert (ended.returncode, ended.stderr) == (130, "interrupted; no file is written\n"), at
    assert not model.exists()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    x = np.random.default_rng(0).normal(size=80)
    pl.DataFrame({"größe": x, "y": np.where(x > 0, "süß", "nein")}).write_csv(folder / "a.csv")
    done = committee(folder, "utf-8", "fit", "a.csv", "-t", "y", "-m", "tree", "-o", "m.safetensors")
    assert done.returncode == 0, done.stderr
    return folder


def committee(folder, encoding, *arguments):
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    return run_process(*arguments, cwd=folder, env=environment, encoding=encoding)


@pytest.mark.slow
def test_tables_escape_what_the_encoding_lacks(folder):
    arguments = ("compare", "a.csv", "-t", "y", "--models", "tree", "--folds", "2", "--report", "page.html")
    texts = {}
    for encoding in ("utf-8", "ascii"):
        done = committee(folder, encoding, *arguments)
        assert done.returncode == 0 and (folder / "page.html").stat().st_size, done.stderr
        (folder / "page.html").unlink()
        texts[encoding] = done.stdout
    assert "±" in texts["utf-8"] and r"\xb1" in texts["ascii"]
    refused = committee(folder, "ascii", "fit", "a.csv", "-t", "grosse")
    assert r"is not a column; did you mean 'gr\xf6\xdfe'" in refused.stderr


@pytest.mark.slow
def test_predictions_are_never_escaped(folder):
    arguments = ("predict", "m.safetensors", "a.csv")
    expected = committee(folder, "utf-8", *arguments).stdout
    assert "süß" in expected
    assert committee(folder, "iso-8859-1", *arguments).stdout == expected
    refused = committee(folder, "ascii", *arguments)
    assert refused.returncode == 2 and not refused.stdout
    message = r"error: the encoding of stdout, ascii, lacks '\xfc'; use --output, whose files are UTF-8, or set"
    assert message in refused.stderr
    assert committee(folder, "ascii", *arguments, "-o", "p.csv").returncode == 0
    assert (folder / "p.csv").read_text("utf-8") == expected


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a shell closes the streams")
def test_closed_streams_are_no_error(folder):
    line = '"$@" <&- 2>&-'
    arguments = ("predict", "m.safetensors", "a.csv")
    command = ["sh", "-c", line, "sh", *COMMITTEE, *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, encoding="utf-8")
    assert done.returncode == 0 and done.stdout == committee(folder, "utf-8", *arguments).stdout


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_signals_that_the_parent_process_ignores_stay_ignored(tmp_path):
    """`nohup` and jobs in the background of a script."""
    code = """
import os, signal
from committee.cli import entry, main

def command():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(os.getpid(), number)
    print("ended")

main.app = command
entry.main()
"""
    line = "trap '' INT TERM HUP; exec \"$@\""
    command = ["sh", "-c", line, "sh", sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


@pytest.fixture
def rarely_used(tmp_path, monkeypatch):
    """Name of a module that says in `sys` when it is executed, deferred."""
    name = "rarely_used_module"
    (tmp_path / f"{name}.py").write_text("import sys\nsys.executed_module = __name__\nvalue = 7\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(entry, "DEFERRED", frozenset({name, "no_such_module_at_all"}))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "executed_module", None, raising=False)
    yield name
    sys.modules.pop(name, None)


def test_a_deferred_module_is_executed_at_its_first_use(rarely_used):
    defer_imports()
    defer_imports()
    assert sum(isinstance(finder, DeferredImports) for finder in sys.meta_path) == 1
    module = import_module(rarely_used)
    assert sys.executed_module is None
    assert module.value == 7
    assert sys.executed_module == rarely_used
    with pytest.raises(ModuleNotFoundError):
        import_module("no_such_module_at_all")
    assert DeferredImports().find_spec("json") is None


@pytest.mark.parametrize(
    ("words", "deferred"), [(["predict", "model"], True), (["fit", "table.csv"], False), ([], False)]
)
def test_predict_alone_defers_imports(words, deferred, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["committee", *words])
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(main, "main", lambda: None)
    entry.main()
    assert any(isinstance(finder, DeferredImports) for finder in sys.meta_path) == deferred


posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions, links and pipes")
WRITERS = ["compare --report", "compare --json", "fit -o", "inspect --report", "predict -o"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    table, model = folder / "data.csv", folder / "model.safetensors"
    table.write_text("x,label\n" + "".join(f"{i},{'ab'[i % 3 == 0]}\n" for i in range(30)), "utf-8")
    X, y = split_target(read_table(table), "label")
    TreeVoter(max_depth=1).fit(X, y).save(model)
    return {
        "compare": ["compare", table, "-t", "label", "--models", "tree", "--folds", 2],
        "fit": ["fit", table, "-t", "label", "-m", "tree"],
        "inspect": ["inspect", model],
        "predict": ["predict", model, table],
    }


@pytest.fixture(params=WRITERS)
def write(request, inputs):
    """Call the command with a place to write; its exit code and what it says."""
    command, option = request.param.split()

    def call(path):
        result = run(*inputs[command], option, path)
        return result.exit_code, result.stderr

    return call


def files_of(folder):
    found = {path.name: path.lstat() for path in folder.iterdir()}
    return {name: (stat.st_ino, stat.st_mode, stat.st_mtime_ns) for name, stat in found.items()}


@posix
def test_a_link_stays_and_permissions_too(write, tmp_path):
    (tmp_path / "real.csv").write_text("old", "utf-8")
    (tmp_path / "real.csv").chmod(0o600)
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert write(tmp_path / "link.csv")[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert stat.S_IMODE((tmp_path / "real.csv").stat().st_mode) == 0o600
    assert (tmp_path / "real.csv").read_bytes() != b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "real.csv"]


@posix
def test_no_pipe_device_folder_or_write_protected_file_is_replaced(write, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "null.csv").symlink_to(os.devnull)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "kept.csv").write_text("old", "utf-8")
    (tmp_path / "kept.csv").chmod(0o444)
    before = files_of(tmp_path)
    for name in before:
        code, said = write(tmp_path / name)
        assert code == 2
        assert "not a regular file" in said or "write-protected" in said
    assert files_of(tmp_path) == before


@posix
def test_a_long_name_is_written(write, tmp_path):
    path = tmp_path / f"{'n' * 246}.csv"
    assert write(path)[0] == 0
    assert path.stat().st_size > 0


ESCAPE = "\x1b]0;title\x07\x1b[31m"


@posix
def test_names_and_labels_reach_the_terminal_without_control_characters(tmp_path):
    table, model = tmp_path / f"{ESCAPE.replace('/', '')}.csv", tmp_path / "model.safetensors"
    rows = "".join(f"{i},{i % 7},{'ab'[i % 3 == 0]}{ESCAPE}\n" for i in range(40))
    table.write_text(f"x{ESCAPE},id{ESCAPE},y{ESCAPE}\n{rows}", "utf-8")
    target = f"y{ESCAPE}"
    calls = [
        ["compare", table, "-t", target, "--models", "tree", "--folds", 2],
        ["compare", table, "-t", ESCAPE],
        ["fit", table, "-t", target, "-m", "tree", "-o", model],
        ["fit", table, "-t", target, "-m", "tree", "-o", model, "--drop", ESCAPE],
        ["inspect", model],
        ["inspect", model, "--data", table, "-t", target],
        ["predict", model, table, "--drop", "x"],
        ["inspect", table],
    ]
    for call in calls:
        said = run(*call)
        assert said.exit_code in (0, 2), said.output
        assert not set(said.output) & {"\x1b", "\x07"}, call


@posix
def test_formulas_are_made_text_where_that_is_asked_for(tmp_path):
    table, model, out = tmp_path / "data.csv", tmp_path / "model.safetensors", tmp_path / "out.csv"
    table.write_text("x,label\n" + "".join(f"{i},{'=1+1' if i < 15 else 'plain'}\n" for i in range(30)), "utf-8")
    succeed("fit", table, "-t", "label", "-m", "tree", "-o", model)
    for option, first in (([], "=1+1"), (["--safe-cells"], "'=1+1")):
        succeed("predict", model, table, "--proba", "-o", out, *option)
        lines = out.read_text("utf-8").splitlines()
        assert lines[0] == "prediction,probability:=1+1,probability:plain"
        assert lines[1].startswith(f"{first},") and lines[-1].startswith("plain,")


@posix
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("fit", ["-o", "one", "--checkpoint", "./one"]),
        ("compare", ["--json", "one", "--checkpoint", "one"]),
        ("compare", ["--json", "one", "--report", "link"]),
        ("fit", ["-o", "TABLE"]),
        ("predict", ["-o", "TABLE"]),
        ("inspect", ["--report", "MODEL"]),
    ],
)
def test_no_file_is_named_twice(command, options, inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("one")
    model, table = inputs["predict"][1:]
    places = {"TABLE": table, "MODEL": model}
    before = model.read_bytes(), table.read_bytes()
    said = fail(*inputs[command], *(places.get(word, word) for word in options))
    assert "is named for two files, of which one would be lost" in said
    assert (model.read_bytes(), table.read_bytes()) == before and [p.name for p in tmp_path.iterdir()] == ["link"]
