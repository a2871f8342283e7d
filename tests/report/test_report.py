"""Pictures, tables of text and the HTML page."""

import io
import re
import subprocess
import sys
import warnings
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from committee import AdaBoostClassifier, MarginReweighter, QuadBoostClassifierCV, SubaggingClassifier, TreeVoter
from committee.report import ComparisonDisplay, MarginDisplay, SizeDisplay
from committee.report.comparison import compare
from committee.report.comparison_page import render_report
from committee.report.comparison_tables import (
    cost_grid,
    difference_grid,
    failures_grid,
    grids,
    measures,
    quality_grid,
    table_sentence,
    verdict,
)
from committee.report.displays.base import COLORS, draw_cells, draw_chart, draw_sketch, new_figure
from committee.report.drawing.chart import WIDTH, Band, Box, Chart, Columns, Curve, Dots, Guide, Line, Rug, Sketch, Text
from committee.report.drawing.rows import Bar, Cell, CellMap, bars
from committee.report.drawing.scale import Scale
from committee.report.drawing.svg import svg_picture, text_line
from committee.report.inspection import describe_margins, inspection
from committee.report.metrics import METRICS, ranking_metrics
from committee.report.page import Grid, Picture, Section, Terms, render_page, rich_tables

X, Y = load_breast_cancer(return_X_y=True)
VOID = {"meta", "img", "br", "link", "hr", "input", "wbr"}


class Refuses(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no <wish> to learn")


@pytest.fixture(scope="module")
def result():
    models = {
        "boosted": AdaBoostClassifier(n_estimators=10),
        "forest": RandomForestClassifier(n_estimators=5),
        "scikit-learn:a_rather_long_name_of_a_model": GaussianNB(),
        "<b>odd</b> [red]": GaussianNB(var_smoothing=1.0),
        "broken": Refuses(),
    }
    return compare(X, Y, models, folds=4, name="tumours & more", target="kind")


class Page(HTMLParser):
    """Checks that tags are balanced, and collects what the page refers to."""

    def __init__(self):
        super().__init__()
        self.open, self.references, self.ids, self.pictures, self.text = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.references += [v for k, v in attributes if k in ("href", "src", "action", "data", "srcset", "xlink:href")]
        self.ids += [named["id"]] if "id" in named else []
        if named.get("role") == "img":
            self.pictures.append(named)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(page: str) -> Page:
    parser = Page()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def test_page_is_whole_and_asks_for_nothing(result):
    page = render_report(result, notes=["column 'id' looks like an identifier"])
    assert page == render_report(result, notes=["column 'id' looks like an identifier"])
    parsed = parse(page)
    assert {reference[1:] for reference in parsed.references} <= set(parsed.ids)
    assert all(reference.startswith("#") for reference in parsed.references)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert not re.search(r"https?://(?!www\.w3\.org/)|@import|url\((?!#)", page)
    text = " ".join(parsed.text)
    for words in ("Comparison on tumours & more", "569 rows", "<b>odd</b> [red]", "looks like an identifier",
                  "no <wish> to learn", "Nadeau and Bengio", "scikit-learn", "357"):  # fmt: skip
        assert words in text
    assert len(parsed.pictures) == 1 + 1 + 2 + 4 + 1, "differences, folds, margins, reliability, size"
    assert all(len(picture["aria-label"]) > 20 for picture in parsed.pictures)
    assert "broken" not in re.findall(r'type="checkbox" checked value="([^"]*)"', page)


def test_a_page_allows_its_own_script_alone(result):
    page = render_report(result)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    digests = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    assert allowed == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "script-src": f"'sha256-{digests[0]}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert len(scripts) == 1
    assert page.index("Content-Security-Policy") < min(page.index("<style"), page.index("<script"))


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u200f", "\x1b", "\ud800", "\u2028"])
def test_characters_that_change_the_direction_of_text_are_shown(hidden):
    name = f"safe{hidden}txt.exe \u05d0\u200d"
    grid = Grid(name, (name, "n"), ((name, "1"), ("a", "2")), "lr", {name: name}, (name, "a"))
    picture = Picture(name, name, svg_picture([text_line(name, 1.0, 2.0, tip=name)], 9.0, 9.0, name))
    sections = [Section(name, [grid, picture, Terms([(name, name)], name), name], name)]
    page = render_page(name, sections, lead=name, verdict=[name], notes=[name], choices=[name, "a"])
    assert hidden not in page
    shown = f"safe{ascii(hidden)[1:-1]}txt.exe \u05d0\u200d"
    assert page.count(shown) == page.count("txt.exe") > 20
    page.encode()


def test_page_of_a_comparison_in_which_all_failed():
    failed = compare(X, Y, {"broken": Refuses()}, folds=2)
    parsed = parse(render_report(failed))
    assert parsed.pictures == [] and "broken failed in fold 1" in " ".join(parsed.text)
    assert ComparisonDisplay(failed).plot().ax_.get_yticks().size == 0


def test_models_without_size_or_margins_or_probabilities():
    bayes = compare(X, Y, {"bayes": GaussianNB()}, folds=2)
    assert len(parse(render_report(bayes)).pictures) == 2
    display = SizeDisplay(bayes).plot()
    assert display.ax_.get_legend() is None and not display.ax_.lines
    models = {"bayes": GaussianNB(), "svm": LinearSVC(random_state=0, max_iter=50)}
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        found = compare(X, Y, models, folds=2, metric="log_loss")
        by_accuracy = compare(X, Y, models, folds=2)
    assert verdict(found)[-1] == "svm has no log loss and is not ranked."
    svm = found["svm"]
    assert (svm.place, svm.error, svm.mean("log_loss")) == (None, None, None) and by_accuracy["svm"].place is not None
    assert svm.mean("roc_auc") > 0.9, "by its decision function"


def test_cells_are_those_of_the_comparison(result):
    grid = quality_grid(result)
    assert grid.columns == ("", "model", "accuracy", "log loss", "ROC AUC", "rank")
    first = result.ranked[0]
    row = grid.rows[0]
    assert row[:2] == ("1", first.name)
    assert row[2] == f"{first.mean('accuracy'):.4f} ±{first.sd('accuracy'):.4f}"
    assert row[4] == f"{first.mean('roc_auc'):.4f}"
    assert grid.rows[-1] == ("-", "broken", "failed", "-", "-", "-")
    assert failures_grid(result).rows == (("broken", "1", "RuntimeError: no <wish> to learn"),)
    other = result.ranked[1]
    low, high = other.against_best.interval
    shown = difference_grid(result).rows[0]
    assert shown[:3] == (other.name, f"{other.against_best.difference:.4f}", f"{low:.4f} to {high:.4f}")
    cost = {row[0]: row[1:] for row in cost_grid(result).rows}
    assert "broken" not in cost
    assert cost["boosted"][2:4] == ("10", "30")
    assert cost["<b>odd</b> [red]"][2:] == ("-", "-", "-", "-")


def test_only_a_few_columns_are_there_unasked():
    models = {"bayes": GaussianNB()}
    grid = quality_grid(compare(*load_iris(return_X_y=True), models, folds=2))
    assert grid.columns == ("", "model", "accuracy", "log loss", "macro ROC AUC", "rank")
    found = compare(*load_iris(return_X_y=True), models, folds=2, metric=["brier", "mcc"])
    grid = quality_grid(found)
    assert grid.columns == ("", "model", "Brier", "MCC", "accuracy", "log loss", "macro ROC AUC", "rank")
    assert len(grid.rows[0]) == len(grid.columns)
    notes = dict(measures(found))
    assert {"MCC", "Brier"} <= notes.keys() and "F1" not in notes
    assert notes["rank"].startswith("Rank by Brier score among")


def test_many_figures_are_means_alone_and_rows_keep_their_names():
    metrics = ranking_metrics(n_classes=3)
    found = compare(*load_iris(return_X_y=True), ["scikit-learn:random_forest"], folds=2, metric=metrics)
    grid = quality_grid(found)
    assert not any("±" in cell for cell in grid.rows[0])
    console = Console(width=100, record=True, file=io.StringIO(), markup=False)
    console.print(*rich_tables(grid, 100))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "scikit-learn:random_forest" in text and all(name in text.replace("\n", " ") for name in ("Brier", "MCC"))
    assert "…" not in text


def test_pictures_show_the_metric_of_the_places():
    X, y = load_iris(return_X_y=True)
    found = compare(X, y, ["tree", "scikit-learn:random_forest"], folds=2, metric="log_loss")
    assert ComparisonDisplay(found).plot().ax_.get_xlabel() == "log loss"
    assert SizeDisplay(found).plot().ax_.get_ylabel() == "log loss"
    page = render_report(found)
    assert "Log loss in every fold" in page and "Size against log loss" in page and "better models further down" in page


@pytest.mark.parametrize("width", [50, 80, 100, 120])
def test_printed_tables_fit_and_keep_names_literal(result, width):
    console = Console(width=width, record=True, file=io.StringIO(), markup=False)
    for grid in grids(result):
        console.print(*rich_tables(grid, width))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    assert "<b>odd</b> [red]" in text


def test_sentences_of_a_comparison(result):
    text = " ".join(verdict(result))
    assert all(model.name in text for model in result.models)
    assert "mean accuracy" in text and "broken failed in fold 1" in text
    assert table_sentence(result).startswith("tumours & more: 569 rows, 30 columns (30 numeric, 0 categorical)")
    assert "4 stratified folds, seed 0" in table_sentence(result)
    names = {name for name, _ in measures(result)}
    assert names >= {"accuracy", "log loss", "p", "fit time (s)", "predict time (µs/row)", "margins"}
    assert result["forest"].name == "forest"
    with pytest.raises(KeyError, match="forrest"):
        result["forrest"]


def test_verdict_of_equal_models_and_of_worse_ones():
    models = {"a": GaussianNB(), "b": GaussianNB(), "c": GaussianNB(var_smoothing=1e9)}
    sentences = verdict(compare(X, Y, models, folds=10))
    assert sentences[0].startswith("a, b share the highest mean accuracy")
    assert re.search(r"Significantly worse than a: c by 0\.3\d+ \(0\.\d+ to 0\.\d+; p <0\.001\)", sentences[1])
    assert sentences[2:] == ["Not significantly different from a: b."]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([99.94], "99.9"), ([99.96], "100"), ([1.0, 12345.4, 20000.0], "12,345"), ([0.0], "0"), ([0.00099], "<0.001"),
        ([0.001], "0.001"), ([0.9994], "0.999"), ([0.9996], "1.00"), ([9.994], "9.99"), ([9.996], "10.0"),
    ],
)  # fmt: skip
def test_times_have_three_digits(values, text):
    assert METRICS["fit_seconds"].text(np.array(values)) == text


def test_inspection_of_a_model():
    model = AdaBoostClassifier(n_estimators=8).fit(X, Y)
    found = {grid.title: grid for grid in inspection(model, file_bytes=12, margins=model.committee_.margins(X, Y))}
    assert ("file", "12 bytes") in found["Model"].rows
    assert found["Parameters set"].rows == (("n_estimators", "8"),)
    heaviest = found[f"Heaviest of 8 voters (median weight {np.median(model.committee_.weights):.4f})"]
    assert float(heaviest.rows[0][1]) == pytest.approx(model.committee_.weights.max(), abs=1e-4)
    used = next(grid for title, grid in found.items() if title.startswith("Most used"))
    assert used.rows[0][0] == f"x{np.argmax(model.feature_importances_)}"
    assert dict(describe_margins(np.array([-1.0, 0.0, 1.0, 1.0])))["at most 0 (wrong or tied)"] == "50.0%"


def test_inspection_of_what_training_left_behind():
    """Margins of rows out of bag, short arrays and numbers of a learner, each as its file has them."""
    bagged = SubaggingClassifier(TreeVoter(max_depth=2), 5, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="have no out-of-bag vote"):
        bagged.fit(X, Y)
    further = next(grid for grid in inspection(bagged) if grid.title == "Fitted attributes")
    known = bagged.oob_margins_[np.isfinite(bagged.oob_margins_)]
    assert 0 < known.size < len(X), "some rows were never out of the bag"
    assert ("oob_margins_ rows", f"{known.size:,}") in further.rows
    assert ("oob_margins_ minimum", f"{known.min():.3f}") in further.rows
    assert ("oob_score_", f"{bagged.oob_score_:.4g}") in further.rows
    boosted = QuadBoostClassifierCV(alphas=[0.1, 0.01], cv=3).fit(X, Y)
    further = next(grid for grid in inspection(boosted) if grid.title == "Fitted attributes")
    assert ("alphas_", "0.1, 0.01") in further.rows
    others = MarginReweighter(BaggingClassifier(GaussianNB(), 7, random_state=0).fit(X, Y)).fit(X, Y)
    grids = {grid.title: dict(row[:2] for row in grid.rows) for grid in inspection(others)}
    assert grids["Model"]["columns"] == "30, read by the voters themselves"
    assert not any(title.startswith("Most used features") for title in grids)


def test_displays_of_a_comparison_and_given_axes(result):
    for display in (ComparisonDisplay(result), SizeDisplay(result), MarginDisplay({"a": [0.1, 0.2]})):
        figure = Figure()
        ax = figure.subplots()
        assert display.plot(ax) is display
        assert (display.ax_, display.figure_) == (ax, figure)
    folds = ComparisonDisplay(result).plot().ax_
    assert [label.get_text() for label in folds.get_yticklabels()] == [m.name for m in result.ranked]
    np.testing.assert_allclose(folds.get_lines()[0].get_xdata(), result.ranked[0].values("accuracy"))
    legend = SizeDisplay(result).plot().ax_.get_legend()
    assert {text.get_text() for text in legend.get_texts()} == {"boosted", "forest"}


def test_drawing_leaves_pyplot_alone():
    code = (
        "import sys\nfrom committee.report import MarginDisplay\nimport io\n"
        "MarginDisplay({'a': [0.1]}).plot().figure_.savefig(io.BytesIO())\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "False"


# --- scales and descriptions of pictures, drawn as SVG and by matplotlib ----------------------------------------------


MARKS = {
    "polyline": Curve([0.0, 1.0], [0.0, 1.0], dash=1, is_step=True, tip="a curve"),
    "circle": Dots([0.2, 0.9], [0.3, 0.8], [2.0, 4.0], label="<dots>", texts=["1", "2"], faint=True),
    "polygon": Band([0.0, 1.0], [0.1, 0.2], [0.4, 0.5]),
    "rect": Columns([0.0, 0.5], [0.5, 1.0], [0.3, 0.6], tips=["a", "b"]),
    'polyline points="[^"]*" class="guide"': Guide([0.0, 1.0], [1.0, 0.0]),
    'line [^>]*class="mark"': Rug([0.1, 0.2, np.nan]),
}


def numbers(element, *names):
    return [[float(found) for found in re.findall(rf'{name}="([\d.]+)"', element)] for name in names]


def drawn(figure):
    FigureCanvasAgg(figure).draw()
    return figure.axes[0]


@pytest.mark.parametrize("names", [(), ("first", "a category of a long name")])
@pytest.mark.parametrize("element", MARKS)
def test_a_chart_is_drawn_by_both(element, names):
    chart = Chart(Scale(0.0, 1.0), Scale(0.0, 1.0, percent=True), "x & more", "y", [MARKS[element]], names)
    root = ElementTree.fromstring(f"<div>{chart.svg('<all>')}</div>")
    assert root.find("{*}svg").get("aria-label") == "<all>"
    assert "x & more" in [text.text for text in root.iter("text")]
    assert re.search(f"<{element}", str(chart.svg("")))
    figure = new_figure(4.0, 3.0)
    draw_chart(chart, figure.subplots())
    ax = drawn(figure)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_ylim()) == ("x & more", "y", (0.0, 1.0))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0%", "20%", "40%", "60%", "80%", "100%"]
    assert (ax.get_legend() is not None) == bool(chart.labels) == ('class="legend"' in chart.svg(""))


def test_charts_have_the_colours_of_the_page():
    """Dark pages exchange them; no colour is fixed, and long curves are thinned."""
    page = str(MarginDisplay({"a & b": np.linspace(-0.5, 0.9, 2000)}).chart().svg("Margins"))
    assert "var(--c0)" in page and "#" not in page and COLORS[0] not in page
    assert "a &amp; b" in page and len(page) < 12_000
    left, right = numbers(page, "x1", "x2")
    assert max(right) <= WIDTH and all(min(left) - 1.0 <= float(x) for x in re.findall(r"([\d.]+),[\d.]+ ", page))


def test_sketches_and_maps_are_drawn_by_both():
    parts = [
        Text(0.1, 0.2, "$a$ <b>", 9.0, bold=True),
        Line([(0.0, 0.0), (1.0, 1.0)], "line", 2.0),
        Box(0.5, 0.5, -0.2, 0.1, 3),
        Box(0.1, 0.6, 0.3, 0.2, edge="ink", edge_width=1.0),
    ]
    sketch = Sketch(2.0, 1.0, parts)
    root = ElementTree.fromstring(str(sketch.svg("A sketch"))).find("{*}svg")
    assert [each.tag for each in root] == ["text", "polyline", "rect", "rect"]
    assert (root[0].text, root[2].get("x"), root[2].get("width")) == ("$a$ <b>", "28.8", "19.2")
    figure = new_figure(2.0, 1.0)
    draw_sketch(sketch, figure.subplots(), 1.0)
    ax = drawn(figure)
    assert (len(ax.texts), len(ax.lines), len(ax.patches)) == (1, 1, 2)

    cells = CellMap(["a"], ["b", "c"], {(0, 0): Cell(0, 1.0, "12", "12 rows"), (0, 1): Cell(1, 0.0, "", "none")})
    assert str(cells.svg("A map")).count("<rect") == 3 and 'fill-opacity: 0.500"' in cells.svg("A map")
    figure = new_figure(2.0, 1.0)
    draw_cells(cells, figure.subplots())
    assert [text.get_text() for text in drawn(figure).texts] == ["12", ""]


def test_bars_of_one_scale_and_their_names_and_texts_stand_apart():
    """Panels on one scale: a bar is as long whichever others are beside it; no line through names; texts inside."""
    rows = [Bar("a" * 60, -0.7, "−0.7 (54% of rows)"), Bar("b", 1.36, "1.36"), Bar("c", -0.1, "−0.1")]
    boxes = lambda some: [numbers(each, " x", "width") for each in re.findall(r"<rect[^>]*>", some)]  # noqa: E731
    alone, whole = bars(rows[1:2], "", least=-0.7, largest=1.36), bars(rows, "")
    (_, (a,)), (_, (b,)), (_, (c,)) = boxes(whole)
    assert a / 0.7 == pytest.approx(b / 1.36, rel=1e-3) == pytest.approx(c / 0.1, rel=1e-2)
    assert boxes(alone)[0] == boxes(whole)[1]
    assert a > 0.2 * WIDTH  # texts to the right leave the bars their room
    zeros = list(zip(*numbers(whole, "y1", "y2"), strict=True))
    names = [float(y) for y in re.findall(r'<text x="1" y="([\d.]+)"', whole)]
    assert len(zeros) == len(names) == 3
    assert not any(low <= y <= high for low, high in zeros for y in names)


@pytest.mark.parametrize(
    ("low", "high"), [(2.7, 14.0), (90.0, 4500.0), (1e3, 1.3e3), (1.0, 1e9), (0.02, 0.3), (5.0, 99.0)]
)
def test_a_logarithmic_axis_labels_enough_round_numbers(low, high):
    ticks = Scale(low, high, log=True).ticks(6)
    assert 3 <= len(ticks) <= 6 and all(low <= tick <= high for tick in ticks)
    assert ticks == [float(f"{tick:.2e}") for tick in ticks]
