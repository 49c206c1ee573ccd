"""docs/who-may-see-this.md, docs/access-tests.md and docs/access-shadow.md are true."""

import pages
import pytest
from pando_server import HERE

PAGES = [HERE.parent / "docs" / name for name in ("who-may-see-this.md", "access-tests.md", "access-shadow.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_the_page(page, tmp_path):
    assert len(pages.steps(page)) > 3
    pages.run(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_links_lead_somewhere(page):
    pages.check_links(page)
