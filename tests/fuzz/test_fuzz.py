"""A tenth of a round of every fuzzer, and every case that once showed a fault.

The cases follow from the code: what has changed meets new ones, and the same code the same ones wherever it is tried.
"""

from random import Random

import pytest

from committee.files.journal import code_digest
from tests.fuzz import CORPUS, FUZZERS, SLOWEST, fuzz, fuzzer, time_limit
from tests.fuzz.model_files import ModelFiles, parts, seeds
from tests.model_files import at, places, written

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", FUZZERS)
def test_new_cases_show_no_fault(name, tmp_path):
    (tmp_path / "work").mkdir()
    place, in_a_round = FUZZERS[name]
    seed = int(code_digest(place.partition(":")[0]), 16) % 2**32
    findings = fuzz(name, fuzzer(name, tmp_path / "work"), seed, tmp_path, cases=max(1, in_a_round // 10))
    print(findings)
    faults = [path.with_suffix(".txt").read_text("utf-8") for path in findings.faults]
    assert not faults, f"seed {findings.seed}, cases {findings.faults}:\n{faults[0]}"


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_corpus(path, tmp_path):
    with time_limit(SLOWEST):
        fuzzer(path.parent.name, tmp_path).run(path.read_bytes())


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", seeds())
def test_a_file_without_one_of_its_attributes_shows_no_fault(name, tmp_path):
    """What `fit` sets may be missed as late as a model is described: each is left out once, and each array."""
    tested = ModelFiles(tmp_path)
    model, names = parts(name)[0]["model"], list(parts(name)[1])
    for path in [path for path in places(model) if path[-2:-1] == ("attributes",)]:
        document, arrays = parts(name)
        del at(document["model"], path[:-1])[path[-1]]
        tested.run(written(document, arrays))
    for array in names:
        document, arrays = parts(name)
        del arrays[array]
        tested.run(written(document, arrays))


@pytest.mark.parametrize("name", FUZZERS)
def test_a_case_is_made_again_from_its_seed(name, tmp_path):
    made = fuzzer(name, tmp_path)
    assert made.case(Random("7/0")) == made.case(Random("7/0")) != made.case(Random("7/1"))
