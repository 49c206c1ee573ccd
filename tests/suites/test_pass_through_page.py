"""docs/pass-through.md is true."""

import subprocess

import pages
from pando_server import HERE, binary

PAGE = HERE.parent / "docs" / "pass-through.md"


def test_the_commands_of_the_page(tmp_path):
    assert len(pages.steps(PAGE)) == 6
    try:
        pages.run(PAGE, tmp_path)
    finally:
        if (tmp_path / "there").exists():
            subprocess.run([binary(), "stop", "--instance", str(tmp_path / "there")], capture_output=True)


def test_the_page_links_lead_somewhere():
    pages.check_links(PAGE)
