"""Fixtures of the black-box suites."""

import pytest
from pando_server import DIRECTORY_LDIF, Pando


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A running server with data/directory.ldif, one for each suite file."""
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst")
    instance.setup().import_ldif(DIRECTORY_LDIF).start()
    yield instance
    status = instance.stop()
    assert status == 0, f"the server ended with {status}"
    instance.remove()


@pytest.fixture
def fresh(tmp_path):
    """An instance with data/directory.ldif that is not started, for one test alone."""
    instance = Pando(tmp_path / "inst")
    instance.setup().import_ldif(DIRECTORY_LDIF)
    yield instance
    instance.remove()
