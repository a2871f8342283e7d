"""Splits of tables of two classes."""

import numpy as np
import polars as pl

from committee.papers.shared.folds import Fold, NamedTable, draw_stratified
from committee.report.crossvalidation import Table
from committee.report.targets import Labels


def test_splits_are_stratified_and_one_does_not_depend_on_the_others():
    codes = np.array([0] * 37 + [1] * 60)
    train, test = draw_stratified(codes, 3, 1)
    assert (
        sorted([*train, *test]) == list(range(97)) and (codes[test] == 0).sum() == 11 and (codes[test] == 1).sum() == 18
    )
    assert (draw_stratified(codes, 3, 1)[1] == test).all() and (draw_stratified(codes, 3, 2)[1] != test).any()
    assert (draw_stratified(codes, 4, 1)[1] != test).any()


def test_a_fold_is_coded_by_its_training_rows():
    random = np.random.default_rng(0)
    colour = random.choice(["red", "blue", "green", ""], 80)
    size = np.where(random.random(80) < 0.1, None, random.integers(0, 9, 80).astype(object))
    frame = pl.DataFrame({"colour": np.where(colour == "", None, colour).tolist(), "size": size.tolist()})
    fold = Fold(NamedTable("t", Table(frame, Labels.read(random.random(80) < 0.5))), 0, 0)
    train, test = fold.rows
    assert fold.categorical.tolist() == [True, False] and train.shape == (56, 2) and test.shape == (24, 2)
    assert np.isnan(train[:, 0]).any() and np.isnan(train[:, 1]).any()
    assert len(fold.positive[0]) == 56 and fold.positive[0].dtype == bool
    colours = frame["colour"].to_numpy()[fold.split[0]]
    for code in (0.0, 1.0, 2.0):
        assert len(set(colours[train[:, 0] == code])) == 1
