"""JSON that keeps Python's types apart: what parameters, classes and attributes become in a model file."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMERIC = {
    np.dtype(kind).name: np.dtype(kind)
    for kind in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
"""Types of numbers that a model file holds, under NumPy's names."""
MAX_TEXT = 2**26
"""Characters of an array of text, every element as wide as the widest: a bound on what reading allocates."""
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode(value: object, name: str) -> Any:
    """Turn a parameter's or attribute's value into JSON.

    Parameters
    ----------
    value : object
        None, bool, int, float, str and their NumPy scalars; lists, tuples and dicts of such; vectors. A
        random generator (``RandomState``, ``Generator``) becomes None: its state is no setting one could
        write down, and predictions do not depend on it.
    name : str
        What an error calls the value.

    Returns
    -------
    JSON-able object
        None, bool, int, str and finite floats stand for themselves; the rest is ``{"<type>": ...}``.

    Raises
    ------
    TypeError
        For any other type, naming it.

    Examples
    --------
    >>> from committee.data.typed_json import encode
    >>> encode((1, 0.5, float("inf")), "depths")
    {'tuple': [1, 0.5, {'float': 'inf'}]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return {type(value).__name__: [encode(item, name) for item in value]}
    if type(value) is dict:
        return {"dict": [[encode(key, name), encode(item, name)] for key, item in value.items()]}
    if isinstance(value, np.ndarray):
        return {"array": encode_array(value, name)}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    raise TypeError(
        f"{name} is a {type(value).__module__}.{type(value).__qualname__}, which a model file cannot hold; "
        f"set {name} to plain values (numbers, text, lists, arrays), or use skops.io.dump or joblib.dump."
    )


def decode(document: object) -> Any:
    """Undo `encode`; `ValueError` for anything that it does not write.

    Examples
    --------
    >>> from committee.data.typed_json import decode
    >>> decode({"tuple": [1, 0.5, {"float": "inf"}]})
    (1, 0.5, inf)
    """
    if document is None or type(document) in (bool, int, str):
        return document
    if type(document) is float and math.isfinite(document):
        return document
    if isinstance(document, dict) and len(document) == 1:
        ((kind, content),) = document.items()
        if kind == "float" and isinstance(content, str) and content in _SPECIAL:
            return _SPECIAL[content]
        if kind == "list" and isinstance(content, list):
            return [decode(item) for item in content]
        if kind == "tuple" and isinstance(content, list):
            return tuple(decode(item) for item in content)
        if kind == "array" and isinstance(content, dict):
            return decode_array(content)
        if kind == "dict" and isinstance(content, list):
            return dict(_pair(item) for item in content)
    raise ValueError(f"{str(document)[:60]!r} stands for no value")


def _pair(item: object) -> tuple[Any, Any]:
    if isinstance(item, list) and len(item) == 2 and not isinstance(item[0], (dict, list)):
        return decode(item[0]), decode(item[1])
    raise ValueError("a dict holds something that is no pair of key and value")


def encode_array(array: NDArray[Any], name: str) -> dict[str, Any]:
    """Turn a vector of booleans, numbers or text into JSON, values and type; `name` is what errors call it.

    Raises
    ------
    TypeError
        If the array is no vector, or of another type.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.typed_json import encode_array
    >>> encode_array(np.array(["no", "yes"]), "classes_")
    {'dtype': 'str', 'values': ['no', 'yes']}
    """
    kind = "str" if array.dtype.kind == "U" else array.dtype.name
    if array.ndim != 1 or (kind not in NUMERIC and kind not in ("str", "object")):
        raise TypeError(
            f"{name} is an array of {array.dtype} and shape {array.shape}; a model file holds vectors of "
            "booleans, numbers or text. Give its tolist() instead."
        )
    values = [_scalar(item, name) for item in array.tolist()]
    if kind == "str":
        _check_width(values, name)
    return {"dtype": kind, "values": values}


def _check_width(values: list[str], name: str) -> None:
    if (characters := len(values) * max(map(len, values), default=0)) > MAX_TEXT:
        raise ValueError(f"{name} takes {characters:,} characters as an array; at most {MAX_TEXT:,} are stored.")


def _scalar(item: object, name: str) -> Any:
    if isinstance(item, (list, tuple, dict, np.ndarray)):
        raise TypeError(f"{name} holds a {type(item).__name__}; a model file holds booleans, numbers or text.")
    return encode(item, name)


def decode_array(document: dict[str, Any]) -> NDArray[Any]:
    """Undo `encode_array`: a vector, text as wide as its longest element.

    Raises
    ------
    ValueError
        For anything that `encode_array` does not write, and for integers that do not fit their type.

    Examples
    --------
    >>> from committee.data.typed_json import decode_array
    >>> decode_array({"dtype": "int16", "values": [3, 4]})
    array([3, 4], dtype=int16)
    """
    kind = field(document, "dtype", str)
    values = [decode(item) for item in field(document, "values", list)]
    allowed: tuple[type, ...]
    if kind == "object":
        dtype, allowed = np.dtype(object), (bool, int, float, str, type(None))
    elif kind == "str":
        dtype, allowed = np.dtype(str), (str,)
    elif kind in NUMERIC:
        dtype = NUMERIC[kind]
        allowed = ({"b": bool, "f": float}.get(dtype.kind, int),)
    else:
        raise ValueError(f"an array has the unknown type {kind!r}")
    for value in values:
        if type(value) not in allowed:
            raise ValueError(f"an array of {kind} holds {str(value)[:60]!r}")
    if kind == "str":
        _check_width(values, "an array of text")
    try:
        return np.array(values, dtype=dtype)
    except OverflowError as error:
        raise ValueError(f"an array of {kind} holds a number out of range") from error


def field(document: dict[str, Any], name: str, *types: type | None) -> Any:
    """Look up a member of a JSON object that must be there, and of just one of the types, so that True is no int.

    Raises
    ------
    ValueError
        If there is no such member, or if it is of another type.

    Examples
    --------
    >>> from committee.data.typed_json import field
    >>> field({"n_features": 3}, "n_features", int)
    3
    """
    if name not in document:
        raise ValueError(f"{name!r} is absent")
    value = document[name]
    if type(value) not in [type(None) if kind is None else kind for kind in types]:
        wanted = " or ".join("null" if kind is None else kind.__name__ for kind in types)
        raise ValueError(f"{name!r} is a {type(value).__name__}; it must be {wanted}")
    return value
