"""Every page in a real browser, at the widths of a telephone, a tablet and a screen, light and dark.

`make browser` runs these; without Playwright or Chromium they are skipped.
"""

import pytest

from tests.browser.looked_at import SCHEMES, WIDTHS
from tests.browser.pages import PAGES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read_and_used(name, look_at):
    page = PAGES[name]()
    wrong = [
        f"{width} px, {scheme}: {fault}"
        for width in WIDTHS
        for scheme in SCHEMES
        for fault in look_at(page, width=width, scheme=scheme).all_that_is_wrong()
    ]
    assert not wrong, "\n".join([f"{len(wrong)} faults of the page {name}", *wrong[:40]])
