"""docs/password-policies.md and docs/moving-password-policies.md are true."""

import pages
import pytest
from pando_server import HERE

PAGES = [HERE.parent / "docs" / f"{name}.md" for name in ("password-policies", "moving-password-policies")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_the_page(page, tmp_path):
    assert len(pages.steps(page)) > 5
    pages.run(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_links_lead_somewhere(page):
    pages.check_links(page)
