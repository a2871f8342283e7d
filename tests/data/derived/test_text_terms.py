"""Texts as numbers: terms, components, files, and the transformer of texts."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import committee
from committee.data.derived.text_terms import TextEncoder, TextTerms

WORDS = ("late", "broken", "lovely", "parcel", "box", "blue", "colour", "sturdy")


def notes(n: int = 60, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 5)) for _ in range(n)]


@pytest.fixture(scope="module")
def terms():
    return TextTerms.learn(notes(), 5)


def test_components_are_those_of_scikit_learn(terms):
    distinct = sorted(set(notes()))
    counts = [
        TfidfVectorizer(sublinear_tf=True, **kind).fit(distinct)
        for kind in ({"token_pattern": r"(?u)\b\w+\b"}, {"analyzer": "char_wb", "ngram_range": (3, 4)})
    ]
    assert [len(each) for each in terms.terms] == [len(each.vocabulary_) for each in counts]
    expected = []
    for each, components in zip(counts, terms.components, strict=True):
        matrix = each.transform(distinct)
        svd = TruncatedSVD(len(components), random_state=0).fit(matrix)
        assert_allclose(components, svd.components_, atol=1e-6)
        expected.append(matrix @ components.T)
    assert [len(each) for each in terms.components] == [3, 5]
    assert_allclose(terms.matrix(distinct), np.hstack(expected), atol=1e-12)


def test_order_and_repetitions_of_texts_change_nothing(terms):
    assert TextTerms.learn([*reversed(notes()), *notes()], 5) == terms


def test_every_row_is_encoded_by_itself(terms):
    texts = [None, "", "parcel late", "???", "parcel late", *notes()]
    found = terms.matrix(texts)
    assert np.isnan(found[0]).all()
    assert not found[[1, 3]].any()
    assert_array_equal(found, np.concatenate([terms.matrix([text]) for text in texts]))
    assert terms.matrix([]).shape == (0, 8)


@pytest.mark.parametrize("texts", [[], [""], ["", " "], ["a"]])
def test_too_few_terms_have_no_components(texts):
    assert TextTerms.learn(texts) is None


def test_texts_of_the_same_words_are_alike():
    one, other = TextTerms.learn(["late parcel", "parcel late"], 1).matrix(["late parcel", "parcel late"])
    assert_allclose(one, other, atol=1e-12)


def test_texts_without_words_have_runs_of_letters():
    assert TextTerms.learn([f"!{mark}!?" for mark in "#$%&*"], 2).matrix(["!$!?"]).any()


def test_a_file_holds_them(terms):
    read = TextTerms.from_json(json.loads(json.dumps(terms.to_json())))
    assert read == terms
    assert hash(read) == hash(terms)
    assert read.matrix(notes(9, 1)).tobytes() == terms.matrix(notes(9, 1)).tobytes()
    assert read != TextTerms.learn(notes(50, 2), 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": 1}, "'terms', 'idf' and 'svd'"),
        ({"terms": [[]]}, "'terms' of a text column must be a list of 2"),
        ({"idf": 3}, "'idf' of a text column must be a list of 2"),
        ({"svd": ["", 1]}, "'svd' of a text column must be a list of 2"),
        ({"terms": [["a", "a"], []]}, "different texts"),
        ({"terms": [["\ud800"], []]}, "different texts"),
        ({"idf": [[], []]}, "numbers above 0"),
        ({"terms": [[], []], "idf": [[], []]}, "must not be empty"),
        ({"svd": ["?", ""]}, "no base64 text"),
        ({"svd": ["AAA=", ""]}, "no base64 text"),
        ({"svd": ["", ""]}, "has 0 numbers"),
        ({"svd": ["AADAfw==", ""]}, "has 1 numbers"),
        ({"svd": [base64.b64encode(np.full(8, np.nan, "<f4")).decode(), ""]}, "not finite"),
    ],
)
def test_damaged_documents_are_refused(terms, change, message):
    with pytest.raises(ValueError, match=message):
        TextTerms.from_json(terms.to_json() | change)


def test_names_have_the_largest_words(terms):
    names = terms.names("note")
    assert names[3:] == [f"note (letters {k})" for k in range(1, 6)]
    assert names[0].startswith("note (text 1: ")
    assert set(names[0].removeprefix("note (text 1: ").removesuffix(")").split(", ")) < set(WORDS)


KINDS: dict[str, Any] = {
    "pandas": lambda texts: pd.DataFrame({"note": texts}),
    "objects": lambda texts: pd.DataFrame({"note": pd.Series(texts, dtype=object)}),
    "categories": lambda texts: pd.DataFrame({"note": pd.Categorical(texts)}),
    "Arrow": lambda texts: pl.DataFrame({"note": texts}).to_arrow(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_has_the_same_numbers(kind):
    texts = [*notes(30), None]
    table = KINDS[kind](texts)
    expected = TextEncoder(4).fit_transform(pl.DataFrame({"note": texts}))
    assert expected.shape == (31, 6)
    assert_array_equal(TextEncoder(4).fit(table).transform(table), expected)


def test_a_linear_model_reads_the_notes():
    texts = notes(200)
    X, y = pl.DataFrame({"note": texts}), [("late" in text) for text in texts]
    assert make_pipeline(TextEncoder(), LogisticRegression()).fit(X, y).score(X, y) > 0.9
    encoder = TextEncoder(2).set_output(transform="polars").fit(X)
    assert encoder.transform(X).columns == encoder.get_feature_names_out().tolist()


def test_columns_without_terms_have_no_numbers():
    X = pl.DataFrame({"none": pl.Series([None] * 3, dtype=pl.String), "note": notes(3)})
    assert TextEncoder(2).fit_transform(X).shape == (3, 3)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros((2, 1)), TypeError, "ndarray, which has no columns of text"),
        (pl.DataFrame({"n": [1, 2]}), ValueError, "'n' must hold text, but holds numbers"),
    ],
)
def test_what_holds_no_text_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        TextEncoder().fit(X)


def test_it_is_a_public_name():
    assert committee.TextEncoder is TextEncoder
    with pytest.raises(ValueError, match="n_components"):
        TextEncoder(0).fit(pl.DataFrame({"note": notes(3)}))
