"""Crafted files of graphs, soft stumps, oracles, signed voters and classifiers: what these cannot be is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from tests.crafted_files import Change, craft, forget, put, refused, swap, tell

GOLDEN = Path(__file__).parent.parent / "golden"


def both(*changes: Change) -> Change:
    def change(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        for each in changes:
            each(document, arrays)

    return change


def without_trees(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if name == "weights" or name.startswith("voters."):
            arrays[name] = array[: 1 if name.endswith("offset") else 0]


def without_design(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    for name in ("voters.design.source", "voters.design.category"):
        arrays[name] = arrays[name][:0]
    for name in ("voters.coefficient", "voters.record.centre"):
        arrays[name] = arrays[name][..., :0].copy()


STUMPS = "voters.stumps."
CRAFTED: list[tuple[str, Change, str]] = [
    # a graph
    ("probabilistic", swap("voters.next", lambda a: a[:3]), r"next and vote have shapes \(3, 2\) and \(4, 2\)"),
    (
        "probabilistic",
        swap("voters.vote", lambda a: a[:, :1].copy()),
        r"next and vote have shapes \(4, 2\) and \(4, 1\)",
    ),
    ("probabilistic", swap("voters.vote", lambda a: a.ravel()), "vote is float64 of 1 dimensions; it must be"),
    ("probabilistic", put("voters.next", (3, 0), 2), "graph: "),
    ("probabilistic", put("voters.vote", (0, 0), np.nan), "graph: "),
    ("probabilistic", tell("voters", "walk", value="drunk"), "walk is 'drunk'; it must be one of expected"),
    ("probabilistic", tell("voters", "n_classes", value=1), "n_classes is 1; it does not suit the graph"),
    ("probabilistic", tell("voters", "n_classes", value=7), "n_classes is 7; it does not suit the graph"),
    (
        "probabilistic",
        both(swap("voters.start", lambda a: np.array([0, 2, 4])), tell("voters", "n_classes", value=2)),
        "start has 3 entries; 2 classes need 2",
    ),
    ("probabilistic", tell("voters", "seed", value=-1), r"seed is -1; it must lie in \[0, 2\*\*63\)"),
    ("probabilistic", tell("voters", "seed", value=2**63), r"seed is 9223372036854775808; it must lie in"),
    ("probabilistic", tell("voters", "voters", "kind", value="forest"), "'forest'"),
    ("boosting_tree_majority", tell("voters", "n_paths", value=0), "n_paths is 0; it must be within 1 and"),
    # soft stumps
    ("probabilistic", swap(STUMPS + "missing", lambda a: a[:3]), "the stumps' arrays differ in length"),
    ("probabilistic", swap(STUMPS + "threshold", lambda a: a.astype(np.float32)), "threshold is float32"),
    ("probabilistic", swap(STUMPS + "category_offset", lambda a: a[:4]), "category_offset does not share out"),
    ("probabilistic", put(STUMPS + "category_offset", 2, 1), "category_offset does not share out"),
    ("matryoshka", put(STUMPS + "category_offset", 0, 1), "category_offset does not share out"),
    ("matryoshka", swap(STUMPS + "category_bits", lambda a: a[:-1]), "category_offset does not share out"),
    ("probabilistic", put(STUMPS + "feature", 1, 4), "feature holds a column outside the 4 there are"),
    ("probabilistic", put(STUMPS + "feature", 1, -1), "feature holds a column outside the 4 there are"),
    ("probabilistic", put(STUMPS + "threshold", 0, np.nan), "threshold must be a number, softness finite"),
    ("probabilistic", put(STUMPS + "softness", 0, np.inf), "threshold must be a number, softness finite"),
    ("probabilistic", put(STUMPS + "softness", 0, -0.5), "softness finite and not negative"),
    ("probabilistic", put(STUMPS + "missing", 3, 1.5), r"missing must lie in \[0, 1\], ascending be 0 or 1"),
    ("probabilistic", put(STUMPS + "missing", 3, np.nan), r"missing must lie in \[0, 1\]"),
    ("probabilistic", put(STUMPS + "ascending", 3, 2), "ascending be 0 or 1"),
    ("probabilistic", tell("table", "categories", value=[["a", "b"]] * 4), "does not suit its type"),
    # oracles
    ("probabilistic_learners", tell("voters", "voters", "estimate", value="mean"), "estimate is 'mean'; it must be"),
    ("probabilistic_learners", put("voters.n_draws", 1, 3), "voters.n_draws is not zero; the library's learners know"),
    ("probabilistic_learners", swap("voters.n_draws", lambda a: a[:1]), r"n_draws has shape \(1,\); 2 voters need"),
    ("probabilistic_learners", tell("voters", "voters", "seed", value=2**63), "seed is 9223372036854775808"),
    (
        "probabilistic_learners",
        tell("voters", "voters", "members", 1, "classes", "values", value=[0, 2]),
        "voters.1 is no classifier of 0 and 1",
    ),
    (
        "probabilistic_learners",
        both(
            tell("voters", "voters", "members", 1, "n_features", value=5),
            tell("voters", "voters", "members", 1, "table", "categories", value=[None] * 5),
            tell("voters", "voters", "members", 1, "voters", "n_features", value=5),
        ),
        "voters.1 is for other columns than the first voter",
    ),
    # signed voters
    ("quadboost_learners", tell("voters", "members", "kind", value="forest"), "members of signed voters must be class"),
    ("quadboost_learners", swap("voters.output", lambda a: a[:5]), r"output has shape \(5,\); 6 voters need one each"),
    ("quadboost_learners", put("voters.output", 0, 3), r"output must lie in \[0, 3\)"),
    ("quadboost_learners", put("voters.output", 0, -1), r"output must lie in \[0, 3\)"),
    ("quadboost_learners", tell("voters", "n_outputs", value=0), r"output must lie in \[0, 0\)"),
    ("quadboost_learners", tell("voters", "members", "soft", value=True), "name one of two classes"),
    ("quadboost_learners", forget("voters", "members", "classes"), "'classes' is absent"),
    # classifiers
    (
        "adaboost_of_trees",
        tell("voters", "members", 1, "classes", "values", value=["ant", "bee", "dog"]),
        "voters.1 knows classes that the committee does not",
    ),
    # trees
    ("adaboost", without_trees, "there are no voters"),
    (
        "model_tree",
        tell("voters", "link", value="identity"),
        "link of the leaves is 'identity'; it must be 'probit' or",
    ),
    ("model_tree", without_design, r"design.source is empty; a linear model needs a column"),
    ("model_tree", tell("voters", "trees_per_voter", value=2), "trees_per_voter is 2; for 3 classes that cannot be"),
    ("model_tree", tell("voters", "trees_per_voter", value=3), "1 trees, which are no whole voters of 3 trees"),
]


@pytest.mark.parametrize(("name", "change", "message"), CRAFTED)
def test_crafted_files_are_refused(tmp_path: Path, name: str, change: Change, message: str) -> None:
    content = (GOLDEN / f"{name}.safetensors").read_bytes()
    refused(tmp_path / "model", craft(content, change), message)


@pytest.mark.parametrize(
    "name",
    [
        "adaboost", "adaboost_of_trees", "boosting_tree_majority", "gradient_log_loss", "gradient_three", "logit_boost",
        "matryoshka", "model_tree", "probit_boost", "quadboost_learners", "sbpmt",
    ],
)  # fmt: skip
def test_a_tally_of_every_kind_of_voters_has_its_outputs_for_columns(name: str) -> None:
    model = committee.load(GOLDEN / f"{name}.safetensors")
    voters, weights = model.committee_.voters, model.committee_.weights
    assert voters.tally(np.zeros((3, model.n_features_in_)), weights).shape == (3, voters.n_outputs)


def test_some_of_the_voters_of_a_graph_cannot_be_saved(tmp_path: Path) -> None:
    """Where the others lead to is part of the graph."""
    vote = committee.load(GOLDEN / "matryoshka.safetensors").committee_
    with pytest.raises(TypeError, match="A selection of a graph's voters cannot be saved; save the learner with all"):
        vote.select([0, 2]).save(tmp_path / "some")
    assert not (tmp_path / "some").exists()


def test_what_a_graph_cannot_be_is_refused() -> None:
    graph = committee.load(GOLDEN / "probabilistic.safetensors").graph_
    with pytest.raises(ValueError, match=r"walk is 'drunk'; it must be one of expected"):
        replace(graph, walk="drunk")
    with pytest.raises(ValueError, match="threshold is float32 of 1 dimensions; it must be float64 of one"):
        replace(graph.voters, threshold=graph.voters.threshold.astype(np.float32))
    graph.check_columns(None)  # without a table there is nothing to refuse


def test_a_majority_of_paths_is_one_voter() -> None:
    model = committee.load(GOLDEN / "boosting_tree_majority.safetensors")
    voters = model.committee_.voters
    assert (len(voters), voters.n_classes, voters.n_outputs) == (1, len(model.classes_), voters.graph.n_outputs)
    assert voters.n_features == model.n_features_in_ and voters.n_nodes.tolist() == [len(model.graph_)]
    assert voters[:1] is voters and voters[[0]] is voters
    with pytest.raises(ValueError, match="The majority of paths is one voter, which cannot be left out"):
        voters[[]]
