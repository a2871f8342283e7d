"""What commands write replaces a file whole, keeps what it is, and never what is no regular file."""

import os
import stat
import sys

import pytest

from committee import TreeVoter
from committee.data.readers.table_reader import read_table
from committee.data.readers.tables import split_target
from tests.cli.calls import fail, run, succeed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions, links and pipes")

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


def test_a_link_stays_and_permissions_too(write, tmp_path):
    (tmp_path / "real.csv").write_text("old", "utf-8")
    (tmp_path / "real.csv").chmod(0o600)
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert write(tmp_path / "link.csv")[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert stat.S_IMODE((tmp_path / "real.csv").stat().st_mode) == 0o600
    assert (tmp_path / "real.csv").read_bytes() != b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "real.csv"]


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


def test_a_long_name_is_written(write, tmp_path):
    path = tmp_path / f"{'n' * 246}.csv"
    assert write(path)[0] == 0
    assert path.stat().st_size > 0


ESCAPE = "\x1b]0;title\x07\x1b[31m"


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


def test_formulas_are_made_text_where_that_is_asked_for(tmp_path):
    table, model, out = tmp_path / "data.csv", tmp_path / "model.safetensors", tmp_path / "out.csv"
    table.write_text("x,label\n" + "".join(f"{i},{'=1+1' if i < 15 else 'plain'}\n" for i in range(30)), "utf-8")
    succeed("fit", table, "-t", "label", "-m", "tree", "-o", model)
    for option, first in (([], "=1+1"), (["--safe-cells"], "'=1+1")):
        succeed("predict", model, table, "--proba", "-o", out, *option)
        lines = out.read_text("utf-8").splitlines()
        assert lines[0] == "prediction,probability:=1+1,probability:plain"
        assert lines[1].startswith(f"{first},") and lines[-1].startswith("plain,")


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
