"""A paper knows the shared parts and itself; the shared parts and the public tables know no paper."""

import re
from pathlib import Path

import committee.papers

FOLDER = Path(committee.papers.__file__).parent


def test_papers_know_nothing_of_each_other():
    names = {module.split(".")[2] for module in committee.papers.PAPERS.values()}
    assert names == {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name[0] != "_"} - {
        "shared",
        "public_tables",
    }
    for path in FOLDER.rglob("*.py"):
        imported = set(re.findall(r"(?:from|import) committee\.papers\.(\w+)", path.read_text("utf-8")))
        assert imported <= {"shared", path.parent.name}, path
