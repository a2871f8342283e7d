"""Every page in a real browser, at the widths of a telephone, a tablet and a screen, light and dark.

`make browser` runs these; without Playwright or Chromium they are skipped.
"""

import pytest

from tests.browser.pages import PAGES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read_and_used(name, open_page):
    wrong = open_page(PAGES[name]()).faults()
    assert not wrong, "\n".join([f"{len(wrong)} faults of the page {name}", *wrong[:40]])


def test_tables_sort_by_mouse_and_by_keyboard(open_page):
    page = open_page(PAGES["evaluation_of_classes"]()).page
    table = page.locator("table.sortable", has_text="largest probability").first
    column = lambda k: [row.locator("td").nth(k).inner_text() for row in table.locator("tbody tr").all()]  # noqa: E731
    shares = lambda: [float(text.rstrip("%")) for text in column(3)]  # noqa: E731
    button = table.get_by_role("button", name="largest probability")
    button.click()
    assert shares() == sorted(shares())
    assert table.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    button.focus()
    page.keyboard.press("Enter")
    assert shares() == sorted(shares(), reverse=True) and len(shares()) > 1
    assert table.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"


def test_a_long_table_has_its_headings_on_every_sheet(open_page):
    pdf = pytest.importorskip("pypdfium2", reason="needs committee[browser] (2026-11-23)")
    page = open_page(PAGES["comparison_of_twenty_five"]()).page
    page.evaluate("document.querySelectorAll('.verdict, section:not(:first-of-type)').forEach((each) => each.remove())")
    printed = pdf.PdfDocument(page.pdf(format="A6"))
    sheets = [printed[i].get_textpage().get_text_range() for i in range(len(printed))]
    assert len(sheets) > 1
    assert all("ROC AUC" in text for text in sheets if "leaves:" in text), sheets


def test_contents_lead_to_sections_and_pictures_say_what_they_are(open_page):
    page = open_page(PAGES["evaluation_of_classes"](), width=390).page
    for link in page.locator(".contents a").all():
        assert page.locator(link.get_attribute("href")).is_visible()
    pictures = page.locator("svg[role=img]").all()
    assert len(pictures) > 5
    assert all(len(picture.get_attribute("aria-label")) > 10 for picture in pictures)
    cell = page.locator("svg.chart rect[data-tip]").first
    cell.hover(force=True)
    assert page.locator("#tip").inner_text() == cell.get_attribute("data-tip")
