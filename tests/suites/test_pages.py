"""Pages of docs/ are true: the commands of a page run as printed, one after the other, and links lead somewhere."""

import pages
import pytest
from pando_server import HERE

DOCS = HERE.parent / "docs"
# Page → how many blocks of commands it has at least, so that a test does not pass because it finds none.
COMMANDS = {
    "access-control": 9,
    "access-lint": 2,
    "access-shadow": 6,
    "access-tests": 4,
    "backup": 4,
    "changing-passwords": 6,
    "client-tools": 4,
    "dsconfig": 9,
    "ldif-tools": 5,
    "linux-logins": 2,
    "load-tools": 7,
    "logs": 4,
    "logins": 2,
    "logstat": 2,
    "metrics": 4,
    "moving-password-policies": 6,
    "packages": 1,
    "pass-through": 6,
    "password-policies": 7,
    "sasl": 10,
    "second-factor": 8,
    "tasks": 4,
    "undo": 9,
    "who-may-see-this": 6,
    "why-is-this-search-slow": 14,  # S0-39
}


def test_every_page_with_commands_is_run():
    assert {page.stem for page in DOCS.glob("*.md") if pages.steps(page)} == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_commands_of_a_page(name, tmp_path):
    page = DOCS / f"{name}.md"
    assert len(pages.steps(page)) >= COMMANDS[name]
    pages.run(page, tmp_path)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_the_links_of_a_page_lead_somewhere(page):
    pages.check_links(page)
