"""Model files: one safetensors file per model (docs/file-format.md), saved and loaded with checks of every value."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from committee.data.text import NamedCalls
from committee.data.typed_json import field
from committee.files.documents import Arrays, Document, Provenance, Tensors
from committee.files.kinds import COMMITTEES, describe_model, rebuild_model
from committee.files.writing import write_file

FORMAT = "committee"
CHECKPOINT = "committee checkpoint"  # format of checkpoints of fits, which are not models
SCHEMA_VERSION = 2  # version of files of a committee alone; files of learners have version 1
MAX_HEADER = 100_000_000  # longest header in bytes that the safetensors library reads
MAX_FILE = 2**36  # longest file in bytes: reading takes two to four times as much memory
MAX_VALUES = 2**22  # most values of a document or header, of which each becomes an object of up to 80 bytes

_DTYPES = {"BOOL": np.dtype("?")} | {
    f"{kind}{8 * size}": np.dtype(f"<{kind.lower()}{size}")
    for kind, sizes in (("I", (1, 2, 4, 8)), ("U", (1, 2, 4, 8)), ("F", (2, 4, 8)))
    for size in sizes
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class ModelFileError(ValueError):
    """A file is not a model, or is damaged or invalid; the message names the file and the reason."""


class Storable(NamedCalls):
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `committee.load` reads; loading never runs code.

        The file is written beside its destination and moved into place, so that a reader never sees half a model and a
        failure keeps the old file. An existing file keeps its permissions. A random generator given as
        ``random_state`` is stored as None, as predictions do not depend on it.

        Parameters
        ----------
        path : str or path
            Destination; the usual ending is ``.safetensors``.

        Raises
        ------
        TypeError
            If the model, a voter or a parameter is of a class that a file cannot hold, such as a classifier of another
            library. Save such models with ``skops.io.dump`` or ``joblib.dump``.
        ValueError
            If loading the file would fail, as after a parameter was set to an invalid value, or `path` exists and is
            not a regular file.
        OSError
            If the file cannot be written.
        sklearn.exceptions.NotFittedError
            If the model is not fitted.

        Examples
        --------
        >>> import os, tempfile
        >>> import committee
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "forest.safetensors")
        ...     committee.Committee.from_estimator(forest).save(path)
        ...     committee.load(path)
        Committee(5 voters, 3 classes, share link)
        """
        arrays: Arrays = {}
        described = describe_model(self, Tensors(arrays))
        document: Document = {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION if described["class"] in COMMITTEES else 1,
            "package_version": version("committee"),
            "model": described,
        }
        made = getattr(self, "provenance_", None)
        if made is not None:
            if type(made) is not Provenance:
                kind = type(made).__name__
                raise TypeError(f"provenance_ is a {kind}; it must be a committee.files.documents.Provenance.")
            document["provenance"] = made.to_document(Tensors(arrays).part("provenance"))
        text = json.dumps(document, allow_nan=False, separators=(",", ":"))
        arrays = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
        try:  # `load` must not be the first to find that the only copy of a model is invalid
            _rebuild(parse_json(text, "document"), Tensors(dict(arrays)))
        except ValueError as error:
            raise ValueError(f"The model cannot be saved, as no file of it would load: {error}") from error
        write_contents(path, text, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a learner or a committee that `save` wrote.

    Parameters
    ----------
    path : path-like
        File of a model.

    Returns
    -------
    estimator, Committee or RegressionCommittee
        The fitted model, which predicts the same bits as the saved one.

    Raises
    ------
    ModelFileError
        If the file is not a model of this library, is truncated or changed, has a newer schema, or holds values that
        training cannot produce.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import committee
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
    >>> model = committee.AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     model.save(path)
    ...     committee.load(path).predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """
    path = Path(path)
    try:
        document, arrays = read_contents(path)
        _check_version(document)
        return _rebuild(document, Tensors(arrays))
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{path} cannot be loaded: {reason.rstrip('.')}.") from error


def _rebuild(document: Document, tensors: Tensors) -> Any:
    described, made = field(document, "model", dict), None
    if "provenance" in document:
        if field(described, "class", str) in COMMITTEES:
            raise ValueError("the model is a committee with a provenance; only a learner has one")
        made = Provenance.from_document(field(document, "provenance", dict), tensors.part("provenance"))
    model = rebuild_model(described, tensors)
    if made is not None:
        model.provenance_ = made
    return model


def digest(text: str, arrays: Arrays) -> str:
    sha = hashlib.sha256()
    parts: list[bytes | memoryview] = [text.encode()]
    for name in sorted(arrays):
        array = arrays[name]
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        parts += [name.encode(), _NAMES[little.dtype].encode(), repr(array.shape).encode(), little.data]
    for part in parts:
        size = part.nbytes if isinstance(part, memoryview) else len(part)
        sha.update(size.to_bytes(8, "little"))
        sha.update(part)
    return sha.hexdigest()


def read_contents(path: Path) -> tuple[Document, Arrays]:
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            raise ValueError(f"it is too short ({size} bytes) to be a safetensors file")
        if size > MAX_FILE:
            raise ValueError(f"it is too long ({size:,} bytes); at most {MAX_FILE:,} are read")
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, MAX_HEADER):
            raise ValueError(
                f"it is not a safetensors file, or cut off: its {size:,} bytes claim a header of {length:,}"
            )
        file.seek(0)
        content = file.read(size)
    metadata = parse_json(content[8 : 8 + length].decode("ascii"), "header").get("__metadata__")
    if type(metadata) is not dict or FORMAT not in metadata:
        raise ValueError("it is a safetensors file, but not a model that committee saved")
    if metadata.keys() != {FORMAT, "digest"}:
        raise ValueError("its metadata are not those that committee writes")
    text, claimed = field(metadata, FORMAT, str), field(metadata, "digest", str)
    arrays = _tensors(content)
    if digest(text, arrays) != claimed:
        raise ValueError("its contents do not match their digest; the file was changed or damaged")
    del content
    return parse_json(text, "document"), arrays


def _check_version(document: Document) -> None:
    kind = field(document, "format", str)
    if kind == CHECKPOINT:
        raise ValueError("it is the checkpoint of a fit; give it to fit(..., checkpoint=path)")
    if kind != FORMAT:
        raise ValueError("it is a safetensors file, but not a model that committee saved")
    made = field(document, "schema_version", int)
    if made > SCHEMA_VERSION:
        by = str(document.get("package_version"))[:40]
        raise ValueError(
            f"it was made by a newer committee ({by}, file schema {made}); this one ({version('committee')}) "
            f"reads schemas up to {SCHEMA_VERSION}. Upgrade committee"
        )
    if made < 1:
        raise ValueError(f"its schema_version is {made}; the first one was 1")


def _tensors(content: bytes) -> Arrays:
    from safetensors import SafetensorError, deserialize

    try:
        tensors = deserialize(content)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ValueError(f"it is not a safetensors file, or cut off ({error})") from error
    arrays: Arrays = {}
    for name, tensor in tensors:
        if tensor["dtype"] not in _DTYPES:
            raise ValueError(f"the array {name!r} has the foreign type {tensor['dtype']}")
        array = np.frombuffer(tensor["data"], dtype=_DTYPES[tensor["dtype"]]).reshape(tensor["shape"])
        arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    return arrays


def write_contents(path: str | os.PathLike[str], text: str, arrays: Arrays) -> None:
    from safetensors.numpy import save as to_bytes

    content = to_bytes(arrays, metadata={FORMAT: text, "digest": digest(text, arrays)})
    if (length := int.from_bytes(content[:8], "little")) > MAX_HEADER:
        raise ValueError(f"The model's description takes {length:,} bytes; a file holds at most {MAX_HEADER:,}.")
    write_file(path, sort_metadata(content))


def sort_metadata(content: bytes) -> bytes:
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))  # safetensors shuffles them
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # arrays start at a multiple of eight
    return len(text).to_bytes(8, "little") + text + content[end:]


def parse_json(text: str, what: str) -> Document:
    if len(text) > MAX_VALUES:
        without_escapes = text.replace("\\\\", "").replace('\\"', "")
        outside_strings = re.sub('"[^"]*"', "", without_escapes)
        most = sum(map(outside_strings.count, "[{,:"))  # a bound of the number of values
        if most > MAX_VALUES:
            raise ValueError(f"its {what} holds up to {most:,} values; at most {MAX_VALUES:,} are read")
    try:
        parsed = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise ValueError(f"its {what} is not JSON: it is damaged, or not a safetensors file ({error})") from error
    if type(parsed) is not dict:
        raise ValueError(f"its {what} is not a JSON object")
    return parsed


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
