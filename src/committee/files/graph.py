"""Voters that answer at random as JSON and named arrays, and back again: their part of `committee.files.voters`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_regressor

from committee.data.typed_json import field
from committee.voters.oracles import OracleVoters
from committee.voters.path_majority import PathMajority
from committee.voters.soft_stumps import KINDS, SoftStumps
from committee.voters.vote_graph import WALKS, VoteGraph

if TYPE_CHECKING:
    from committee.data.frames import TableSchema

Document: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, NDArray[Any]]
Describe: TypeAlias = Callable[[BaseEstimator, Arrays, str], Document]
Rebuild: TypeAlias = Callable[[Document, Arrays, str], BaseEstimator]
Take: TypeAlias = Callable[[str, Any, int], NDArray[Any]]
"""An array out of the file, by its name, type and dimensions."""


def describe_graph(
    voters: VoteGraph | PathMajority, describe_member: Describe, arrays: Arrays, prefix: str
) -> Document:
    """Write a graph down, its arrays under the prefix.

    Raises
    ------
    TypeError
        If a voter is no learner of the library, or only some of the nodes count.
    """
    if isinstance(voters, PathMajority):
        return {**describe_graph(voters.graph, describe_member, arrays, prefix), "n_paths": int(voters.n_paths)}
    if voters.counted is not None:
        raise TypeError("A selection of a graph's voters cannot be saved; save the learner with all of them.")
    arrays |= {prefix + name: getattr(voters, name) for name in ("next", "vote", "start")}
    asked = voters.voters
    if isinstance(asked, SoftStumps):
        arrays |= {f"{prefix}stumps.{name}": getattr(asked, name) for name in KINDS}
        members: Document = {"kind": "soft_stumps", "n_features": int(asked.n_features)}
    else:
        arrays[prefix + "n_draws"] = asked.n_draws
        members = {
            "kind": "oracles",
            "estimate": asked.estimate,
            "seed": int(asked.seed),
            "members": [
                describe_member(member, arrays, f"{prefix}{number}.") for number, member in enumerate(asked.voters)
            ],
        }
    return {
        "kind": "graph",
        "n_classes": int(voters.n_classes),
        "walk": voters.walk,
        "seed": int(voters.seed),
        "voters": members,
    }


def rebuild_graph(document: Document, rebuild_member: Rebuild, take: Take, arrays: Arrays, prefix: str) -> Any:
    """Make a graph of what `describe_graph` wrote.

    Raises
    ------
    ValueError
        Saying what is wrong with the document or an array.
    """
    following, vote = take(prefix + "next", np.int32, 2), take(prefix + "vote", np.float64, 2)
    start = take(prefix + "start", np.int64, 1)
    voters = _rebuild_voters(field(document, "voters", dict), rebuild_member, take, arrays, prefix)
    walk, n_classes = field(document, "walk", str), field(document, "n_classes", int)
    if walk not in WALKS:
        raise ValueError(f"walk is {walk!r}; it must be one of {', '.join(WALKS)}")
    if not 2 <= n_classes <= len(start):
        raise ValueError(f"n_classes is {n_classes}; it does not suit the graph")
    graph = VoteGraph(voters, following, vote, start, n_classes, walk, _seed(document))
    n_paths = field(document, "n_paths", int, None) if "n_paths" in document else None
    return graph if n_paths is None else PathMajority(graph, n_paths)


def _rebuild_voters(
    document: Document, rebuild_member: Rebuild, take: Take, arrays: Arrays, prefix: str
) -> SoftStumps | OracleVoters:
    kind = field(document, "kind", str)
    if kind == "soft_stumps":
        n_features = field(document, "n_features", int)
        taken: dict[str, Any] = {name: take(f"{prefix}stumps.{name}", of, 1) for name, of in KINDS.items()}
        return SoftStumps(**taken, n_features=n_features)
    if kind != "oracles":
        raise ValueError(f"the graph's voters are of kind {kind!r}; known are 'soft_stumps' and 'oracles'")
    estimate = field(document, "estimate", str)
    if estimate not in ("map", "ml"):
        raise ValueError(f"estimate is {estimate!r}; it must be 'map' or 'ml'")
    members = []
    for number, member in enumerate(field(document, "members", list)):
        if type(member) is not dict:
            raise ValueError(f"{prefix}{number} is no object")
        members.append(rebuild_member(member, arrays, f"{prefix}{number}."))
        if is_regressor(members[-1]) or not set(members[-1].classes_.tolist()) <= {0, 1}:
            raise ValueError(f"{prefix}{number} is no classifier of 0 and 1")
    n_draws = take(prefix + "n_draws", np.int64, 1)
    if n_draws.any():
        raise ValueError(f"{prefix}n_draws is not zero, and the library's learners tell their probabilities")
    return OracleVoters(members, n_draws, "ml" if estimate == "ml" else "map", _seed(document))


def _seed(document: Document) -> int:
    seed: int = field(document, "seed", int)
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed is {seed}; it must lie in [0, 2**63)")
    return seed


def widths(voters: VoteGraph | PathMajority) -> list[int]:
    """How many columns each of a graph's voters takes."""
    asked = (voters.graph if isinstance(voters, PathMajority) else voters).voters
    return [asked.n_features] if isinstance(asked, SoftStumps) else [voter.n_features_in_ for voter in asked.voters]


def check_stumps(voters: VoteGraph | PathMajority, table: TableSchema | None) -> None:
    """Refuse stumps that use a column in a way that its type forbids.

    Raises
    ------
    ValueError
        Naming the column.
    """
    stumps = (voters.graph if isinstance(voters, PathMajority) else voters).voters
    if table is None or not isinstance(stumps, SoftStumps):
        return
    words = np.diff(stumps.category_offset)
    most = -(-table.n_categories.astype(np.int64) // 32)[stumps.feature]
    bad = ((words > 0) != table.categorical[stumps.feature]) | (words > most)
    bad &= stumps.threshold > -np.inf  # a stump that all are above may stand on any column
    if bad.any():
        raise ValueError(f"a stump on {table.column(int(stumps.feature[np.argmax(bad)]))} does not suit its type")
