"""Pictures of the pages for the documentation: `python -m tests.browser.pictures` writes them to docs/pages/."""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.browser.conftest import ARGUMENTS, OpenPage, executable
from tests.browser.pages import PAGES

FOLDER = Path(__file__).parents[2] / "docs" / "pages"

PICTURES = {
    "comparison-of-three": ("comparison_of_three", 1280, 1000, "light"),
    "comparison-of-twenty-five": ("comparison_of_twenty_five", 820, 1600, "dark"),
    "comparison-of-numbers": ("comparison_of_numbers", 390, 1600, "light"),
    "model-of-members": ("model_of_members", 820, 1600, "light"),
    "row": ("row_of_a_model_that_knows_its_training", 820, 1000, "light"),
    "evaluation-of-quantiles": ("evaluation_of_quantiles", 820, 1600, "light"),
    "model-of-trees": ("model_of_kinds", 1280, 1150, "light"),
    "evaluation-of-classes": ("evaluation_of_classes", 1280, 1150, "light"),
    "evaluation-of-classes-narrow": ("evaluation_of_classes", 390, 1150, "light"),
    "evaluation-of-numbers-dark": ("evaluation_of_numbers", 820, 1150, "dark"),
}
"""Files, and of each the page, its width, how much of its height is shown, and the scheme."""


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        for name, (page, width, height, scheme) in PICTURES.items():
            file = Path(folder) / f"{name}.html"
            file.write_text(PAGES[page](), "utf-8")
            opened = OpenPage.open(browser, file, width, scheme)
            taken = opened.page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height}, full_page=True)
            # few colours make small files, and pages have few; an octree keeps those of a few pixels, such as a dot's
            few = Image.open(io.BytesIO(taken)).quantize(160, method=Image.Quantize.FASTOCTREE)
            few.save(FOLDER / f"{name}.png", optimize=True)
            opened.close()
        browser.close()


if __name__ == "__main__":
    main()
