"""Mean links: their equations, their inverses, and their names in files."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from committee.vote.links.mean import LARGEST_LOG, MEAN_LINKS, Average, Identity, Log, MeanLink, Ordered, from_json

vectors = st.lists(st.floats(-1e3, 1e3), max_size=9).map(lambda x: np.array(x, dtype=np.float64))
tables = st.integers(1, 5).flatmap(
    lambda D: st.lists(st.lists(st.floats(-1e3, 1e3), min_size=D, max_size=D), min_size=1, max_size=9).map(np.array)
)
of_all = pytest.mark.parametrize("link", [Identity(), Log(), Average(), Ordered()], ids=str)


@given(vectors)
def test_equations(F):
    assert_array_equal(Identity().mean(F), F)
    assert_allclose(Log().mean(F), [np.exp(min(max(f, -700.0), 700.0)) for f in F], rtol=1e-14)
    assert_array_equal(Average().mean(F, 4.0), F / 4)
    assert_array_equal(Ordered().mean(F), F)


@given(tables)
def test_tables_keep_their_shape(F):
    for link in (Identity(), Log(), Average()):
        by_column = [link.mean(column, 2.0) for column in F.T]
        assert_array_equal(link.mean(F, 2.0), np.array(by_column).T)
    assert_array_equal(Ordered().mean(F), [sorted(row) for row in F.tolist()])


@of_all
@given(vectors)
def test_mean_and_score_are_inverse(link, F):
    inside = F[np.abs(F) <= LARGEST_LOG]
    assert_allclose(link.score(link.mean(inside, 1.0)), inside, rtol=1e-12, atol=1e-12)


@of_all
def test_means_are_new_arrays(link):
    F = np.array([[2.0, 1.0]])
    F.flags.writeable = False
    for made in (link.mean(F, 1.0), link.score(np.abs(F))):
        made += 1.0
    assert F.tolist() == [[2.0, 1.0]]


def test_logarithms_are_finite():
    assert_allclose(Log().score([0.0, 1.0, 1e308]), [-700.0, 0.0, 700.0], atol=1e-12)
    assert np.isfinite(Log().mean([-1e9, 1e9])).all() and (Log().mean([-1e9, 1e9]) > 0.0).all()


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_order_never_increases_the_error_of_quantiles(seed, D):
    """Chernozhukov, Fernandez-Val and Galichon (2010), proposition 4: for increasing truths and any p >= 1."""
    rng = np.random.default_rng(seed)
    truth, F = np.sort(rng.normal(size=(5, D)), axis=1), rng.normal(size=(5, D))
    for p in (1.0, 1.5, 2.0, 7.0):
        errors = [(np.abs(quantiles - truth) ** p).sum(axis=1) for quantiles in (Ordered().mean(F), F)]
        assert (errors[0] <= errors[1] + 1e-12).all()


@pytest.mark.parametrize("total", [None, 0.0, -1.0, float("nan")])
def test_an_average_needs_a_weight(total):
    with pytest.raises(ValueError, match=f"total is {total}"):
        Average().mean([1.0], total)


@of_all
def test_json_round_trip(link):
    assert from_json(json.loads(json.dumps(link.to_json()))) == link


def test_every_mean_link_is_in_the_table():
    ours = [
        {link for link in links if link.__module__ == "committee.vote.links.mean"}  # pages may have added to the table
        for links in (MEAN_LINKS.values(), MeanLink.__subclasses__())
    ]
    assert ours[0] == ours[1]


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (None, "mean link is NoneType"),
        ({"name": "softmax"}, "mean link name is 'softmax'; it must be one of identity, log, average, ordered"),
        ({"name": "log", "base": 2.0}, "mean link 'log' has no 'base'"),
    ],
)
def test_stored_mean_links_are_checked(stored, message):
    with pytest.raises(ValueError, match=message):
        from_json(stored)
