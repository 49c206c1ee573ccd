"""docs/access-control.md is true."""

import pages
from pando_server import HERE

PAGE = HERE.parent / "docs" / "access-control.md"


def test_the_commands_of_the_page(tmp_path):
    assert len(pages.steps(PAGE)) == 9
    pages.run(PAGE, tmp_path)


def test_the_page_links_to_its_own_headings():
    pages.check_links(PAGE)
