"""Model files that no `save` wrote: documents and arrays changed by what they mean, digests made to match.

Every one must be refused by name, or load and be used as any model: predict, be described, be saved and loaded again.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from committee.data.table_schema import TableSchema
from committee.files.store import ModelFileError, load
from tests.model_files import at, contents, places, written

SEEDS = Path(__file__).parents[1] / "golden"
"""A model of every learner, and every kind of thing that a file can hold."""
FEW_COLUMNS = 4096
"""Models of more columns are not asked to predict, as the rows alone would be large."""
MEMORY = 256 * 2**20
"""Bytes that a file may need beyond four times its own."""

Document = dict[str, Any]
Arrays = dict[str, np.ndarray]

NUMBERS = [
    *(0, 1, -1, 2, 3, 7, 8, 255, 256, 32767, 32768, 65536, 10**6, 10**7, 2**22, 2**29 - 1, 2**29),
    *(2**31 - 1, 2**31, 2**53, 2**63, 10**30, -(10**30), 10**4000, True, False),
    *(0.0, -0.0, 0.5, 1.5, -2.5, 1e-300, 5e-324, 1e17, 1e300, -1e308),
]
VALUES = [
    *(None, "", "0", "x" * 300, "\ud800", "\x1b[31m", "nan", [], {}, [[]], [None], {"": 0}),
    *({"float": "nan"}, {"float": "inf"}, {"tensor": True}, {"tuple": []}, {"list": [1, "a"]}),
    *({"dict": [["a", 1]]}, {"dict": [[1, []]]}, {"array": {"dtype": "str", "values": ["a"]}}),
    *({"array": {"dtype": "float64", "values": [1.5]}}, {"learner": {"class": "TreeVoter", "params": {}}}),
    *({"loss": {"name": "huber", "alpha": 0.9}}, {"name": "softmax"}),
]
DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")


@cache
def seeds() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted(SEEDS.glob("*.safetensors"))}


def parts(name: str) -> tuple[Document, Arrays]:
    """Document and arrays of a seed, to be changed."""
    return contents(seeds()[name])


def some_value(random: Random) -> Any:
    match random.randrange(4):
        case 0:
            return random.choice(VALUES)
        case 1:
            deep: Any = random.choice(NUMBERS)
            for _ in range(random.choice((1, 2, 30, 2000))):
                deep = random.choice(([deep], {"learner": deep}, {"list": [deep]}, {"tuple": [deep]}))
            return deep
        case _:
            return random.choice(NUMBERS)


def change_value(random: Random, document: Document, arrays: Arrays) -> None:
    path = random.choice(places(document if random.random() < 0.05 else document["model"], ()))
    path = path if path[0] in document else ("model", *path)
    holder, last = at(document, path[:-1]), path[-1]
    match random.randrange(6):
        case 0:
            del holder[last]
        case 1 | 2:
            holder[last] = some_value(random)
        case 3:  # a value of another place
            holder[last] = at(document["model"], random.choice(places(document["model"])))
            if random.random() < 0.5:
                holder[last] = json.loads(json.dumps(holder[last])) if fits_json(holder[last]) else None
        case 4:  # once more, under another name or number
            copied = json.loads(json.dumps(holder[last]))
            if isinstance(holder, list):
                holder.insert(random.randrange(len(holder) + 1), copied)
            else:
                holder[random.choice((str(last) + "_", "kind", "soft", "n_paths", "intercept", "members"))] = copied
        case _:
            value = holder[last]
            if type(value) in (int, float):
                holder[last] = random.choice((value + 1, value - 1, -value, value * 10**6, float(value), str(value)))
            elif isinstance(value, list):
                random.shuffle(value)
            else:
                holder[last] = [value]


def fits_json(value: Any, most: float = float("inf")) -> bool:
    """Whether a value can be written, in fewer characters than `most`."""
    try:
        return len(json.dumps(value)) < most
    except (ValueError, RecursionError):
        return False


def change_name(random: Random, document: Document, arrays: Arrays) -> None:
    """Another learner, link, kind of voters or other text that some file has under this key."""
    texts = [path for path in places(document["model"]) if isinstance(at(document["model"], path), str)]
    path = random.choice(texts)
    other, _ = parts(random.choice(list(seeds())))
    found = [p for p in places(other["model"]) if p[-1] == path[-1] and isinstance(at(other["model"], p), str)]
    if found:
        at(document["model"], path[:-1])[path[-1]] = at(other["model"], random.choice(found))


def swap_class(random: Random, document: Document, arrays: Arrays) -> None:
    """The voters, the columns or the parameters of another model."""
    other, others = parts(random.choice(list(seeds())))
    model, theirs = document["model"], other["model"]
    if random.random() < 0.3:
        model["class"] = theirs["class"]
        if random.random() < 0.5:
            model["params"] = theirs.get("params", {})
        return
    for key in ("voters", "link", "classes", "n_features", "feature_names", "table", "attributes", "params"):
        if key in theirs and random.random() < 0.5:
            model[key] = theirs[key]
            for name in [name for name in arrays if name.startswith(key)]:
                del arrays[name]
            arrays.update({name: array for name, array in others.items() if name.startswith(key)})
    if random.random() < 0.7:
        arrays["weights"] = others.get("weights", arrays.get("weights", np.ones(1)))


def change_provenance(random: Random, document: Document, arrays: Arrays) -> None:
    """Where the model comes from, as another file says it, with a value, an array or the kind of model changed."""
    other, others = parts("provenance")
    document["provenance"] = made = other["provenance"]
    arrays["provenance.digests"] = digests = others["provenance.digests"]
    match random.randrange(4):
        case 0:
            digests[random.randrange(len(digests))] = special(random, digests.dtype)
        case 1:
            arrays["provenance.digests"] = digests[: random.randrange(len(digests) + 1)]
        case _:
            path = random.choice(places(made))
            at(made, path[:-1])[path[-1]] = some_value(random)


def nest(random: Random, document: Document, arrays: Arrays) -> None:
    for _ in range(random.choice((1, 2, 9, 40))):
        model = document["model"]
        inner = dict(arrays)
        arrays.clear()
        arrays.update({f"voters.0.{name}": array for name, array in inner.items()})
        arrays["weights"] = np.ones(1)
        document["model"] = {
            **{key: value for key, value in model.items() if key != "attributes"},
            "class": "SubaggingClassifier",
            "params": {},
            "attributes": {},
            "link": {"name": "share"},
            "table": None,
            "voters": {
                **{"kind": "estimators", "soft": random.random() < 0.5, "as_array": random.random() < 0.5},
                **{"classes": model.get("classes"), "members": [model]},
            },
        }


def special(random: Random, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return random.choice((0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e17))
    if dtype.kind == "b":
        return random.random() < 0.5
    info = np.iinfo(dtype)
    whole = (0, 1, 2, 3, 7, 100, 2**15, 2**29, -1, -2, info.min, info.max)
    return random.choice([number for number in whole if info.min <= number <= info.max])


def change_array(random: Random, document: Document, arrays: Arrays) -> None:
    if not arrays:
        return
    name = random.choice(sorted(arrays))
    array = arrays[name]
    flat = array.reshape(-1)
    match random.randrange(11):
        case 0 | 1 | 2:
            for _ in range(random.choice((1, 1, 2, 5))):
                if flat.size:
                    flat[random.randrange(flat.size)] = special(random, flat.dtype)
        case 3:
            view = flat.view(np.uint8)
            for _ in range(random.choice((1, 3))):
                if view.size:
                    view[random.randrange(view.size)] ^= 1 << random.randrange(8)
        case 4:
            arrays[name] = flat[: random.randrange(flat.size + 1)]
        case 5:
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(random.choice(DTYPES))
        case 6:
            shapes = ((-1, 1), (1, -1), (-1,), array.shape[::-1], (*array.shape, 1), (0,), (0, 3))
            shape = random.choice(shapes)
            arrays[name] = array.reshape(shape) if 0 not in shape else np.zeros(shape, array.dtype)
        case 7:
            del arrays[name]
        case 8:
            arrays[random.choice(sorted(arrays))] = array.copy()
        case 9:
            flat[:] = flat[np.array(random.sample(range(flat.size), flat.size), dtype=np.intp)]
        case _:
            flat[:] = special(random, flat.dtype)


def take_array(random: Random, document: Document, arrays: Arrays) -> None:
    """An array from another model."""
    _, others = parts(random.choice(list(seeds())))
    both = sorted(arrays.keys() & others.keys()) or sorted(others)
    name = random.choice(both)
    arrays[name] = others[name]


def lengthen(random: Random, document: Document, arrays: Arrays) -> None:
    """Every array that has as many entries as a given one, cut or repeated alike."""
    if not arrays:
        return
    size = len(np.atleast_1d(arrays[random.choice(sorted(arrays))]))
    times = random.choice((0, 2, 50))
    for name, array in list(arrays.items()):
        if array.ndim and len(array) == size:
            arrays[name] = np.concatenate([array] * times) if times else array[: size // 2]


def damage(random: Random, whole: bytes) -> bytes:
    content = bytearray(whole)
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.randrange(len(content)) if random.random() < 0.7 else random.randrange(min(len(content), 200))
        match random.randrange(6):
            case 0:
                content[place] ^= 1 << random.randrange(8)
            case 1:
                content[place] = random.randrange(256)
            case 2:
                del content[place : place + random.choice((1, 8, 40, 4000))]
            case 3:
                content[place:place] = random.choice(
                    (random.randbytes(5), b"[" * 2000, b'{"a":', b"[]," * 300, b"9" * 500)
                )
            case 4:
                del content[place:]
            case _:
                content[:8] = random.choice((0, 1, 2, len(content), 2**31, 2**63, 10**8)).to_bytes(8, "little")
        if len(content) < 9:
            break
    return bytes(content)


def reorder(random: Random, whole: bytes) -> bytes:
    """The header's entries in another order, with places that overlap, repeat or lie outside."""
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    names = [name for name in header if name != "__metadata__"]
    for _ in range(random.choice((0, 1, 2))):
        entry = header[random.choice(names)]
        match random.randrange(5):
            case 0:
                entry["data_offsets"] = list(header[random.choice(names)]["data_offsets"])
            case 1:
                entry["data_offsets"][random.randrange(2)] = random.choice(NUMBERS)
            case 2:
                entry["shape"] = random.choice(([], [0], [-1], [2**40, 2**40], [1] * 40, [10**12, 0]))
            case 3:
                entry["dtype"] = random.choice(("F64", "BF16", "F8_E4M3", "I64", "U8", "C64", "", 3, None))
            case _:
                entry[random.choice(("more", "shape", "dtype"))] = some_value(random)
    keys = list(header)
    random.shuffle(keys)
    text = json.dumps({key: header[key] for key in keys}).encode()
    text += b" " * random.choice((0, -len(text) % 8, 3, 1000))
    return len(text).to_bytes(8, "little") + text + whole[8 + length :]


STRUCTURED: list[Callable[[Random, Document, Arrays], None]] = [
    *[change_value] * 6,
    *[change_array] * 6,
    *[change_name] * 3,
    *[swap_class] * 2,
    *[change_provenance] * 2,
    *[take_array] * 2,
    lengthen,
    nest,
]


class TooMuchMemoryError(Exception):
    """A file needed more than it may."""


class ModelFiles:
    """Files of every kind of model, changed in one to five places."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "model.safetensors"
        self.again = folder / "again.safetensors"
        _import_everything()
        self.held = _most_memory()

    def case(self, random: Random) -> bytes:
        while True:
            name = random.choice(list(seeds()))
            document, arrays = parts(name)
            try:
                if random.random() < 0.1:
                    return random.choice((damage, reorder))(random, seeds()[name])
                for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
                    random.choice(STRUCTURED)(random, document, arrays)
                content = written(document, arrays)
            except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError, OverflowError):
                continue  # changes that do not go together, or cannot be written
            return damage(random, content) if random.random() < 0.03 else content

    def run(self, case: bytes) -> str:
        self.path.write_bytes(case)
        ended = self._load()
        before, self.held = self.held, _most_memory()
        if (needed := self.held - before) > 4 * len(case) + MEMORY and "COMMITTEE_CORE" not in os.environ:
            raise TooMuchMemoryError(f"{len(case):,} bytes needed {needed:,}")
        return ended

    def _load(self) -> str:
        try:
            model = load(self.path)
        except ModelFileError as error:
            if isinstance(error.__cause__, MemoryError):
                raise TooMuchMemoryError(str(error)) from error
            return "refused"
        use(model, self.again)
        return "loaded"


def use(model: Any, path: Path) -> None:
    """Do what is done with a model: describe it, predict, save it and load it again."""
    from committee.report.inspection import inspection
    from committee.report.provenance import known_rows

    committee = getattr(model, "committee_", model)
    repr(model)
    if committee is not model:
        inspection(model)
    elif hasattr(type(committee.voters), "feature_importances"):
        _ = committee.feature_importances_
    model.save(path)
    again = load(path)
    p = getattr(model, "n_features_in_", None) or committee.voters.n_features
    if p is None or p > FEW_COLUMNS:
        return
    X = rows(model, committee.table, p)
    if committee is not model:
        known_rows(model, X)
    for ask in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, ask):
            said, repeated = getattr(model, ask)(X), getattr(again, ask)(X)
            assert len(said) == len(X), f"{ask} says {len(said)} things of {len(X)} rows"
            assert said.tobytes() == repeated.tobytes() or said.dtype == object, f"{ask} differs after a second file"


def rows(model: Any, table: TableSchema | None, p: int, n: int = 9) -> Any:
    """A table that the model can take: numbers, categories and gaps."""
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(n, p)), 1)
    X[random.random(X.shape) < 0.15] = np.nan
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(getattr(model, "voters", None), "names", None)
    if table is not None:
        for j, categories in enumerate(table.categories):
            if categories is not None and not any(isinstance(category, str) for category in categories):
                X[:, j] = random.choice(np.array([*map(float, categories), np.nan]), size=n)
        names = table.names
    if names is None and table is not None and any(found and isinstance(found[0], str) for found in table.categories):
        names = tuple(map(str, range(p)))  # a frame whose columns have no names, as pandas has them
    if names is None:
        return X
    columns = {name: pl.Series(X[:, j]) for j, name in enumerate(names)}
    for j, categories in enumerate(table.categories if table is not None else ()):
        if categories is not None:
            chosen = random.integers(0, len(categories) + 1, size=n)
            columns[names[j]] = pl.Series(
                [None if c == len(categories) else categories[c] for c in chosen], strict=False
            )
    return pl.DataFrame(columns)


@cache
def _import_everything() -> None:
    """Use every seed once: what is imported then is no part of a case's time and memory."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        for content in seeds().values():
            path.write_bytes(content)
            use(load(path), path)


def _most_memory() -> int:
    """The most bytes that this process ever held; kernels that watch their memory hold more of it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
