"""JSON that keeps types: there and back, and what is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.data.typed_json import decode, decode_array, encode, encode_array

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.lists(st.integers(-3, 3)).map(np.array)
    | st.lists(st.sampled_from(["a", "bc", ""])).map(lambda texts: np.array(texts, dtype=str))
    | st.lists(st.floats(width=32)).map(lambda numbers: np.array(numbers, dtype=np.float32)),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=10,
)


@given(VALUES)
def test_values_keep_their_type(value):
    text = json.dumps(encode(value, "it"), allow_nan=False)
    again = decode(json.loads(text))
    assert type(again) is type(value)
    # numpy and NaN have no equality of their own; their texts do
    assert repr(again) == repr(value)


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, b"ab", np.zeros((2, 2)), np.array([1j]), len])
def test_values_of_other_types_are_refused(value):
    with pytest.raises(TypeError, match="mystery"):
        encode([value], "mystery")


def test_numpy_scalars_become_python_numbers():
    assert encode((np.float64(0.5), np.int8(3), np.bool_(True), np.str_("x")), "it") == {"tuple": [0.5, 3, True, "x"]}


@pytest.mark.parametrize(
    "document",
    [
        *(1e999, {}, [1], {"a": 1}, {"list": 3}, {"float": "1"}, {"float": []}),
        *({"dict": pairs} for pairs in ([[1]], [[{"list": []}, 1]])),
    ],
)
def test_what_stands_for_no_value(document):
    with pytest.raises(ValueError, match=r"stands for no value|pair of key and value"):
        decode(document)


@pytest.mark.parametrize(
    "document",
    [
        {"dtype": "int8", "values": [300]},
        {"dtype": "int64", "values": [2**63]},
        {"dtype": "int64", "values": [True]},
        {"dtype": "int64", "values": [1.0]},
        {"dtype": "bool", "values": [1]},
        {"dtype": "float64", "values": ["1"]},
        {"dtype": "str", "values": [1]},
        {"dtype": "object", "values": [{"list": []}]},
        {"dtype": "complex128", "values": []},
        {"dtype": "<U3", "values": []},
        {"dtype": "int64"},
        {"values": []},
        {"dtype": "str", "values": ["x"] * 1000 + ["x" * 100_000]},
    ],
)
def test_what_stands_for_no_array(document):
    with pytest.raises(ValueError, match=r"array|absent"):
        decode_array(document)


def test_object_arrays_hold_scalars_only():
    with pytest.raises(TypeError, match="names holds a list"):
        encode_array(np.array([[1], None], dtype=object), "names")
