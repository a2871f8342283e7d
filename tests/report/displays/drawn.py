"""Pictures as they are drawn: their legends, and whether all of their text is on the page."""

from matplotlib.backends.backend_agg import FigureCanvasAgg

LONG = "a_rather_long_name_of_a_column_that_goes_on_and_on"


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def texts_inside(display):
    """All texts, after checking that none is cut off by the edge of the figure."""
    canvas = FigureCanvasAgg(display.figure_)
    canvas.draw()
    renderer, page = canvas.get_renderer(), display.figure_.bbox
    found = []
    for ax in display.figure_.axes:
        ticks = [
            label
            for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim())))
            for tick, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)
            if low <= tick <= high and ax.axison
        ]
        legend = ax.get_legend()
        texts = [*ax.texts, *ticks, ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label]
        for text in [*texts, *(legend.get_texts() if legend else [])]:
            if text.get_text() and text.get_visible():
                box = text.get_window_extent(renderer)
                inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
                assert inside, f"{text.get_text()!r} is cut off"
                found.append(text.get_text())
    return found


def whole(display):
    """Draw it, and check that no text is cut off."""
    texts_inside(display)
    return display


def assert_apart(display):
    canvas = FigureCanvasAgg(display.figure_)
    canvas.draw()
    boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in display.ax_.texts]
    for i, (text, box) in enumerate(boxes):
        for other, second in boxes[:i]:
            apart = box.x1 <= second.x0 or second.x1 <= box.x0 or box.y1 <= second.y0 + 1 or second.y1 <= box.y0 + 1
            assert apart, f"{text!r} lies on {other!r}"
