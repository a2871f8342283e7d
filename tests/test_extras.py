"""What is installed by extras alone: the library works without it, and says what to install where it cannot."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import committee
from committee.cli import entry
from committee.cli.entry import NEEDED
from committee.data.packages import EXTRAS

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BLOCKED = f"""
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name in {sorted(EXTRAS)} else found(name, *more)
"""
"""Nobody finds these packages."""

FITS = """
import committee, numpy as np, pandas as pd
for name in committee.__all__:
    getattr(committee, name)
from sklearn.datasets import load_breast_cancer
from committee import *
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
kept = y.to_numpy() ^ (np.arange(569) % 5 == 0)
X = X.iloc[:, :5].assign(city=pd.Categorical.from_codes(kept, ["Oslo", "Bern"]))
models = [AdaBoostClassifier(n_estimators=5), GradientBoostingClassifier(n_estimators=5),
          SBPMTClassifier(n_estimators=2), QuadBoostClassifier(n_estimators=5),
          CommitteeClassifier(effort="fast", cv=2), RandomForestClassifier(n_estimators=10)]
for model in models:
    model.set_params(random_state=0).fit(X, y).save("model.safetensors")
    again = committee.load("model.safetensors")
    assert (again.predict_proba(X) == model.predict_proba(X)).all() and model.score(X, y) > 0.7, model
small = prune(models[-1], X, y, max_nodes=0.3)
bound = certify(small, X, y, on="validation").best
print(small.committee_.n_nodes < models[-1].committee_.n_nodes, bound.value < 1)
"""

REFUSALS = """
import committee
from committee import report
from committee.data.examples import load_example
from committee.data.readers.table_reader import read_table
from committee.report.page import Section, render_page
from committee.report.page import Grid, rich_tables
X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
trees = committee.SBPMTClassifier(n_estimators=2, random_state=0).fit(X, y)
calls = {
    "lp": [lambda: committee.LPBoostClassifier().fit(X, y)],
    "plots": [lambda: report.MarginDisplay({"a": [0.1]}).plot()],
    "cli": [lambda: render_page("A", [Section("B", ["c"])]), lambda: rich_tables(Grid("", (), (), ""), 80)],
    "polars": [lambda: load_example("iris"), lambda: read_table("a.csv"), lambda: committee.scan("a.csv"),
               lambda: trees.leaf_models_],
}
open("a.csv", "w").close()
for extra, each in calls.items():
    for call in each:
        try:
            call()
        except ImportError as error:
            print(extra, error)
"""


def run(program: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", BLOCKED + program], cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_library_fits_and_predicts_without_any_extra(tmp_path):
    assert run(FITS, tmp_path) == "True True\n"


def test_an_error_names_the_extra(tmp_path):
    lines = run(REFUSALS, tmp_path).splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["lp", "plots", "cli", "cli", *["polars"] * 4]
    for line in lines:
        extra, _, message = line.partition(" ")
        package = re.search(r"needs (\w+), which is not installed", message)
        assert package is not None and EXTRAS[package[1]] == extra
        assert f'pip install "committee[{extra}]"' in message


COMMAND = """
import runpy, sys
sys.argv[1:] = ["predict", "model.safetensors", "table.csv"]
try:
    runpy.run_module("committee", run_name="__main__")
finally:
    print(sorted({"numpy", "sklearn", "typer", "rich", "polars"} & set(sys.modules)))
"""


def test_the_command_line_without_its_extra_prints_the_line_that_installs_it(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + COMMAND], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 2 and done.stdout == "[]\n"
    assert done.stderr.count("\n") == 1 and done.stderr.endswith('pip install "committee[cli]"\n')
    assert all(package in done.stderr for package in NEEDED)


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["fit", "a.csv"], ["compare", "--example", "iris"], ["--version", "-x"]]
)
def test_every_command_without_the_extra_ends_with_the_same_line(words, monkeypatch, capsys):
    monkeypatch.setattr(entry, "find_spec", lambda name: None if name == "polars" else True)
    monkeypatch.setattr(sys, "argv", ["committee", *words])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        'error: the command line requires polars (not installed); install it with: pip install "committee[cli]"\n'
    )


def test_the_version_needs_no_extra(monkeypatch, capsys):
    monkeypatch.setattr(entry, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["committee", "--version"])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"committee {committee.__version__}\n"


def packages_of(extra: str) -> set[str]:
    """Packages of an extra, and of the extras that it names."""
    found: set[str] = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        name, others = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()
        found |= set().union(*map(packages_of, others.split(","))) if name == "committee" else {name}
    return found


def test_the_extras_are_those_of_the_project():
    assert not set(EXTRAS) & {re.match(r"[\w-]+", each)[0] for each in PROJECT["dependencies"]}
    for package, extra in EXTRAS.items():
        assert package in packages_of(extra)
    assert set(NEEDED) == packages_of("cli")
    assert set(EXTRAS) <= packages_of("all") <= packages_of("dev")
