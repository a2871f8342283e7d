"""Processes of the command line whose streams and signals are not the usual ones."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

COMMITTEE = [sys.executable, "-c", "from committee.cli.entry import main; main()"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    x = np.random.default_rng(0).normal(size=80)
    pl.DataFrame({"größe": x, "y": np.where(x > 0, "süß", "nein")}).write_csv(folder / "a.csv")
    done = committee(folder, "utf-8", "fit", "a.csv", "-t", "y", "-m", "tree", "-o", "m.safetensors")
    assert done.returncode == 0, done.stderr
    return folder


def committee(folder, encoding, *arguments, **streams):
    if not streams:
        streams = {"capture_output": True}
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    return subprocess.run([*COMMITTEE, *arguments], cwd=folder, env=environment, encoding=encoding, **streams)


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
    assert r"is no column; did you mean 'gr\xf6\xdfe'" in refused.stderr


@pytest.mark.slow
def test_predictions_are_never_escaped(folder):
    arguments = ("predict", "m.safetensors", "a.csv")
    expected = committee(folder, "utf-8", *arguments).stdout
    assert "süß" in expected
    assert committee(folder, "iso-8859-1", *arguments).stdout == expected
    refused = committee(folder, "ascii", *arguments)
    assert refused.returncode == 2 and not refused.stdout
    message = r"error: stdout has the encoding ascii, which lacks '\xfc'; use --output, whose files are UTF-8, or set"
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
