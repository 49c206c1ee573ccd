"""go-ldap and the UnboundID SDK: their suites are programs of their own, run here against one server each."""

from client_programs import run


def test_go_ldap(server):
    run(["go", "test", "-count=1", "-v", "./..."], "go", server, "--- PASS: TestUpdates")


def test_unboundid_sdk(server):
    run(["mvn", "-q", "-B", "test", "-Dsurefire.printSummary=true", "-Dsurefire.useFile=false"], "java", server, "")
