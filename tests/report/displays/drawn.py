"""Pictures as they are drawn: their legends, and whether all of their text is on the page."""

from matplotlib.backends.backend_agg import FigureCanvasAgg


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def whole(display):
    """Draws it, and checks that no text is cut off by the edge of the figure."""
    canvas = FigureCanvasAgg(display.figure_)
    canvas.draw()
    renderer, page = canvas.get_renderer(), display.figure_.bbox
    for ax in display.figure_.axes:
        legend = ax.get_legend()
        words = [*ax.texts, ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label]
        for text in [*words, *(legend.get_texts() if legend else [])]:
            if text.get_text() and text.get_visible():
                box = text.get_window_extent(renderer)
                inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
                assert inside, f"{text.get_text()!r} is cut off"
    return display
