"""Scales, texts and descriptions of pictures, drawn as SVG and by matplotlib."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from committee.report import MarginDisplay
from committee.report.displays.base import COLORS, draw_cells, draw_chart, draw_sketch, new_figure
from committee.report.drawing.chart import WIDTH, Band, Box, Chart, Columns, Curve, Dots, Guide, Line, Rug, Sketch, Text
from committee.report.drawing.rows import Bar, Cell, CellMap, bars
from committee.report.drawing.scale import Scale

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
    zeros = list(zip(*(numbers(each, "y1", "y2")[i] for i in (0, 1) for each in [whole]), strict=True))
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
