"""The lecture notes' margins: cells of AdaBoost, folds put together, pictures."""

import csv

import numpy as np
import pytest

from committee import AdaBoostClassifier
from committee.papers.lectures import margins
from committee.papers.lectures.margins import (
    ALL,
    LEVELS,
    REFUSING,
    STUMPS,
    TREES,
    MarginCurves,
    below,
    curves,
    margin_cell,
    share_at,
)
from committee.papers.lectures.simulations import FULL
from committee.papers.shared.tables import SOURCE_TABLES, load_source_table
from committee.report.folds import stratified_folds


def test_the_full_plan_is_the_lecture_notes():
    assert FULL.rounds == (5, 100, 1000) and FULL.folds == 10


def test_a_margin_cell_is_adaboost_cut_off(folder):
    table = load_source_table(SOURCE_TABLES["vehicle"], folder)
    train, test = stratified_folds(table.labels.codes, 2, 1, 0)[0]
    cell = margin_cell(table, "van", STUMPS, (train, test), (2, 6))
    X, y = table.rows(train), table.labels.classes[table.labels.codes][train] == "van"
    for T in (2, 6):
        short = AdaBoostClassifier(T).fit(X, y)
        margins, stage = short.committee_.margins(X, y), cell["stages"][str(T)]
        assert stage["voters"] == T and stage["minimum"] == pytest.approx(margins.min())
        assert stage["mean"] == pytest.approx(margins.mean())
        assert stage["train_error"] == pytest.approx(np.mean(short.predict(X) != y))
        assert stage["below"] == below(margins) and stage["below"][-1] == len(train)
        assert stage["bound"] >= stage["train_error"] and stage["certified"] >= stage["train_error"]
    assert cell["test_rows"] == len(test)


def test_levels_count_margins_at_them():
    counts = dict(zip(LEVELS.round(3).tolist(), below(np.array([-1.0, -0.1, 0.1, 0.1 + 1e-15, 1.0])), strict=True))
    assert (counts[-1.0], counts[-0.105], counts[-0.1], counts[0.1], counts[0.995], counts[1.0]) == (1, 1, 2, 4, 4, 5)


def test_curves_put_folds_together():
    def cell(counts, wrong, rows):
        stage = {"below": counts, "test_below": counts, "test_wrong": wrong, "rows_needed": 10.0}
        rest = dict.fromkeys(("minimum", "mean", "train_error", "bound", "theta", "certified"), 0.5)
        return {"problem": "van", "learner": STUMPS, "rows": rows, "test_rows": rows, "stages": {"5": stage | rest}}

    (found,) = curves([cell([0] * 200 + [3] * 201, 1, 3), cell([1] * 401, 0, 1)])
    assert (found.rounds, found.test_error, found.minimum) == (5, 0.25, 0.5)
    assert found.train[0] == 0.25 and found.train[-1] == 1.0
    assert share_at(found, 0.1) == 1.0


@pytest.mark.slow
def test_every_row_is_tested_once_and_curves_rise_to_one(rebuilt):
    _, out = rebuilt
    with (out / "margin-curves.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == (4 * 2 + 1) * 3 * len(LEVELS)
    for side in ("train", "test"):
        shares = np.array([float(line[side]) for line in lines]).reshape(-1, len(LEVELS))
        assert (np.diff(shares, axis=1) >= 0.0).all() and (shares[:, -1] == 1.0).all()
    with (out / "margins.csv").open(encoding="utf-8") as file:
        margins = list(csv.DictReader(file))
    assert [line["rounds"] for line in margins[:3]] == ["2", "5", "10"]
    assert {(line["class"], line["voters"]) for line in margins} == {
        *((name, voters) for name in ("bus", "opel", "saab", "van") for voters in ("stumps", "abstaining")),
        (ALL, "trees"),
    }
    for line in margins:
        assert 100 * float(line["certified"]) >= float(line["train_error"])


def test_panels_and_colours():
    cell = dict.fromkeys(("minimum", "mean", "train_error", "test_error", "bound", "theta", "certified"), 0.5)
    shares = np.clip(LEVELS + 0.5, 0.0, 1.0)
    found = [
        MarginCurves(problem, learner, T, shares, shares, rows_needed=1.0, **cell)
        for problem, learner in [(p, v) for p in ("bus", "van", "saab") for v in (STUMPS, REFUSING)] + [(ALL, TREES)]
        for T in FULL.rounds
    ]
    figure = margins.stumps(found)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["bus", "van", "saab", ""]
    assert len({line.get_color() for line in figure.axes[0].lines[:6]}) == 3
    refusing = margins.refusing(found).axes[0]
    assert len(refusing.lines) == 5 and len({line.get_color() for line in refusing.lines[:4]}) == 2
    assert len(margins.trees(found).axes) == 1
