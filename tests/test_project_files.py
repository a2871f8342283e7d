"""What a project has beside its code: how to cite it, forms for issues, and the list of requirements with its links."""

import re
import tomllib
from pathlib import Path

import yaml

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
