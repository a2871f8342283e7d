"""The index of equations in docs/theory.md: each row's code and test exist, and the code names its label in return."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "theory.md").read_text("utf-8")


def index_rows() -> list[tuple[str, str, str]]:
    """Label, code and test of every row."""
    section = PAGE.split("## Where each equation is\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    found = []
    for row in rows:
        label, code, test = re.findall(r"`([^`]+)`", row)
        found.append((label, code, test))
    return found


ROWS = index_rows()


def definition(path: Path, name: str) -> ast.FunctionDef | ast.ClassDef:
    """The function, class or method of that qualified name in a file."""
    body: list[ast.stmt] = ast.parse(path.read_text("utf-8")).body
    for part in name.split("."):
        found = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part]
        assert found, f"{path.relative_to(ROOT)} has no {name}"
        last = found[-1]  # overloads come before what they stand for
        body = last.body
    return last


def test_the_index_covers_the_documents():
    assert len(ROWS) >= 50
    assert len({label for label, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("label", "code", "test"), ROWS, ids=[label for label, _, _ in ROWS])
def test_both_ends_of_an_equation_exist(label, code, test):
    file, _, name = code.partition(":")
    line = f"Equation: {label} (docs/theory.md)"
    if file.startswith("core/"):
        assert line in (ROOT / file).read_text("utf-8"), f"{file} does not say '{line}'"
    else:
        said = ast.get_docstring(definition(ROOT / "src" / "committee" / file, name)) or ""
        assert line in said, f"the docstring of {code} does not say '{line}'"
    file, _, name = test.partition(":")
    definition(ROOT / "tests" / file, name)


def test_labels_in_the_code_are_in_the_index():
    known = {label for label, _, _ in ROWS}
    for folder, pattern in (("src", "*.py"), ("core", "*.hpp")):
        for path in (ROOT / folder).rglob(pattern):
            for label in re.findall(r"Equation: ([a-z0-9-]+) \(docs/theory\.md\)", path.read_text("utf-8")):
                assert label in known, f"{path.relative_to(ROOT)} names {label}, which docs/theory.md does not"
