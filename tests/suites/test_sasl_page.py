"""docs/sasl.md is true."""

import pages
from pando_server import HERE

PAGE = HERE.parent / "docs" / "sasl.md"


def test_the_commands_of_the_page(tmp_path):
    assert len(pages.steps(PAGE)) > 6
    pages.run(PAGE, tmp_path)


def test_the_page_links_lead_somewhere():
    pages.check_links(PAGE)
