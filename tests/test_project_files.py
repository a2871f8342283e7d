"""Files of the project beside its code: citation, forms for issues, requirements, figures; encodings of all files."""

import ast
import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import committee

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_citation_is_of_this_project() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0" and citation["message"]
    assert (citation["title"], citation["version"], citation["license"]) == (
        PROJECT["name"],
        PROJECT["version"],
        PROJECT["license"],
    )
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]
    assert citation["keywords"] == PROJECT["keywords"]


def test_forms_have_what_a_form_needs() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert [form.stem for form in forms] == ["bug", "config", "wish"]
    for form in forms:
        asked = yaml.safe_load(form.read_text("utf-8"))
        if form.stem == "config":
            assert asked == {"blank_issues_enabled": True}
            continue
        assert asked["name"] and asked["description"] and asked["body"]
        names = [field["id"] for field in asked["body"]]
        assert len(set(names)) == len(names) and all(field["attributes"]["label"] for field in asked["body"])


def test_every_requirement_names_a_file_that_checks_it() -> None:
    page = ROOT / "docs" / "scikit-learn-contrib.md"
    rows = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 10
    for row in rows:
        links = re.findall(r"\]\(([^)]+)\)", row.rsplit("|", 2)[1])
        assert links and all((page.parent / link).is_file() for link in links), row


RESULTS = ROOT / "benchmarks" / "results"
AVX2 = "amd-epyc-family-25-model-17-vectors-of-32-bytes"


def figures(name: str) -> list[dict[str, Any]]:
    """Figures of a result of a benchmark: its last run, or a kept one of another processor."""
    found: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["figures"]
    return found


def least(name: str, work: str, against: str = "") -> str:
    """Least median of the peers in a work, of two significant digits."""
    found = [each["reached"]["median"] for each in figures(name) if each["work"] == work and against in each["against"]]
    return f"{min(found):.0f}" if min(found) >= 9.95 else f"{min(found):.1f}"


def test_the_first_pages_have_the_figures_of_the_results() -> None:
    million, forest = "1,000,000 x 28, 100 rounds of 31 leaves, 1 thread: fit", "forest, 20 trees, 100,000 x 28: fit"
    boosted = [least(name, million) for name in (f"processors/gradient_boosting, {AVX2}", "gradient_boosting")]
    grown = [least(name, forest, "scikit-learn") for name in (f"processors/forest, {AVX2}", "forest")]
    ranks = {
        each["against"]: f"{each['reached']['median']:.2f}"
        for each in figures("committee")
        if each["work"] == "classes: rank by log loss, 25 tables"
    }
    readme, home = ((ROOT / page).read_text("utf-8") for page in ("README.md", "docs/index.md"))
    assert f"one thread: {boosted[0]} (AVX2), {boosted[1]} (AVX-512) times as fast" in readme
    assert f"trained {boosted[0]} times (AVX2; with AVX-512 {boosted[1]} times) as fast" in home
    assert f"100,000 x 28: {grown[0]}, {grown[1]} times as fast" in readme
    times = [
        each["reached"]["median"]
        for each in figures("committee_time")
        if each["work"] == "both, gradient boosting: fit time, 40 tables, geometric mean"
    ]
    assert f"takes a {1 / times[1]:.0f}th of the time, {times[0]:.1f} times as long" in readme
    assert f"a forest {grown[0]} times ({grown[1]} times) as fast" in home
    assert f"mean rank {ranks['committee']} by log loss" in readme and f"CatBoost {ranks['CatBoost']}," in readme
    assert f"**{ranks['committee']}** is its mean rank" in home and f"has {ranks['CatBoost']}." in home


def test_the_page_of_learners_has_each_once_and_the_reference_groups_them_so() -> None:
    page, reference = ((ROOT / "docs" / name).read_text("utf-8") for name in ("which-learner.md", "reference.md"))
    work, research = page.split("## Research")
    assert len(re.findall(r"^\| (?!you want|-)", work.partition("|---|")[2], re.MULTILINE)) == 6
    _, of_work, of_research, of_trained = re.split(
        r"^## (?:Learners|Learners of research|Votes)$", reference, flags=re.M
    )
    for name in committee.LEARNERS:
        parts = [of_work, of_research, of_trained]
        assert [bool(re.search(rf"^   {name}$", part, re.MULTILINE)) for part in parts].count(True) == 1, name
        place = next(k for k, part in enumerate(parts) if re.search(rf"^   {name}$", part, re.MULTILINE))
        shown = name.removesuffix("Regressor") if name == "LeafReweighterRegressor" else name
        assert (f"`{shown}`" in (research if place == 1 else work)) and page.count(f"`{name}`") <= 1, name


def test_signatures_of_learners_for_work_begin_with_their_first_parameters() -> None:
    for name in ("Committee", "GradientBoosting", "RandomForest", "AdaBoost"):
        learner = committee.learner(f"{name}Classifier")
        first = list(inspect.signature(learner).parameters)[:6]
        known = [one for one in learner.first_parameters if one in learner.declared_parameters]
        assert first == [first[0], *known][:6] and len(known) == 5


def test_the_guide_installs_wheels_of_the_workflow() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text("utf-8"))
    page = (ROOT / "docs" / "guide.md").read_text("utf-8").partition("## Install")[2].partition("\n## ")[0]
    made = {f"wheels-{system}" for system in workflow["jobs"]["wheels"]["strategy"]["matrix"]["os"]}
    assert set(re.findall(r"wheels-[\w.-]*\w", page)) == made
    for page_of in ("README.md", "docs/index.md", "docs/tutorials/first-table.md"):
        assert 'pip install "committee[all]"' not in (ROOT / page_of).read_text("utf-8")


# --- text files and pipes have an encoding that the code names, as that of the locale differs between machines --------

SOURCES = sorted(
    path for folder in ("src", "tests", "examples", "integrations") for path in (ROOT / folder).rglob("*.py")
)
OTHERS = {"os", "gzip", "Image", "OpenPage", "shard"}
"""Objects whose method `open` opens no text file."""
CALLS = re.compile(r"open\b|_text\b|Popen|check_output|text=|universal_newlines")
"""What a file without is not parsed for."""


def lines_without_encoding(source: str) -> list[int]:
    return sorted(call.lineno for call in ast.walk(ast.parse(source)) if isinstance(call, ast.Call) and _lacks(call))


def _lacks(call: ast.Call) -> bool:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if {"encoding", None} & set(keywords):
        return False
    function, is_method = call.func, isinstance(call.func, ast.Attribute)
    name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    if name == "open":
        if isinstance(function, ast.Attribute) and ast.unparse(function.value) in OTHERS:
            return False
        arguments = call.args[0 if is_method else 1 :]
        mode = keywords.get("mode", arguments[0] if arguments else ast.Constant("r"))
        return isinstance(mode, ast.Constant) and "b" not in str(mode.value)
    if name in ("read_text", "write_text") and is_method:
        return len(call.args) < (2 if name == "write_text" else 1)
    return bool({"text", "universal_newlines"} & set(keywords)) and name in ("run", "Popen", "check_output")


def files_without_encoding() -> Iterator[str]:
    for path in SOURCES:
        if CALLS.search(source := path.read_text("utf-8")):
            yield from (f"{path.relative_to(ROOT)}:{line}" for line in lines_without_encoding(source))


def test_every_text_file_and_pipe_names_its_encoding():
    assert not list(files_without_encoding())


@pytest.mark.parametrize(
    ("call", "lacks"),
    [
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.write_text(text)", True),
        ("path.write_text(text, encoding='utf-8')", False),
        ("open(name, 'w')", True),
        ("open(name, 'wb')", False),
        ("path.open()", True),
        ("path.open('rb')", False),
        ("path.open(encoding='utf-8')", False),
        ("os.open(name, flags)", False),
        ("subprocess.run(command, text=True)", True),
        ("subprocess.run(command, encoding='utf-8')", False),
    ],
)
def test_calls_without_an_encoding_are_found(call, lacks):
    assert bool(lines_without_encoding(call)) == lacks


def test_known_survivors_are_mutants_of_lines_in_the_code() -> None:
    for each in tomllib.loads((ROOT / "tests" / "surviving_mutants.toml").read_text("utf-8"))["survivors"]:
        place, _, change = each["mutant"].partition(": ")
        module, _, function = place.rpartition(".")
        line = change.rpartition(" in `")[2].removesuffix("`")
        source = (ROOT / "src" / "committee" / f"{module.replace('.', '/')}.py").read_text("utf-8")
        assert f"def {function}(" in source and f" {line}\n" in source, each["mutant"]
