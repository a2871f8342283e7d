"""Text files and pipes have an encoding that the code names, as that of the locale differs between machines."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "examples", "integrations")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
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
