"""HTTP beside LDAP: /alive, /healthy, /metrics, who may ask, and the files for Prometheus and Grafana."""

import http.client
import json
import re
import socket
import ssl
import subprocess

import ldap
import pytest
from debian_packages import unpacked
from http_handler import get, with_http
from pando_server import BASE, DIRECTORY_LDIF, HERE, Pando, until

MONITORING = HERE.parent / "monitoring"
PAGE = HERE.parent / "docs" / "metrics.md"
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
SAMPLE = re.compile(r"^([a-zA-Z_:]+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


def samples(text: str) -> dict[tuple, float]:
    """By name and labels, in the order of names."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, number = SAMPLE.match(line).groups()
            key = (name, *sorted(LABEL.findall(labels or "")))
            assert key not in found, line
            found[key] = float(number)
    return found


def families(text: str) -> dict[str, str]:
    """Kind by name."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    instance = Pando(tmp_path_factory.mktemp("metrics") / "inst")
    instance.setup().import_ldif(DIRECTORY_LDIF)
    instance.http_port = with_http(instance)
    instance.start()
    yield instance
    assert instance.stop() == 0
    instance.remove()


@pytest.fixture(scope="module")
def promtool():
    return unpacked("promtool", "prometheus", alone=True) / "usr" / "bin" / "promtool"


def test_alive_and_healthy(served):
    for path, text in (("/alive", "alive\n"), ("/healthy", "healthy\n")):
        status, headers, body = get(served.http_port, path)
        assert (status, body, headers["cache-control"]) == (200, text, "no-store")
        assert get(served.http_port, path, method="HEAD")[::2] == (200, "")
    assert get(served.http_port, "/other")[0] == 404
    assert get(served.http_port, "/alive", method="POST")[0] == 405


def test_figures_are_those_of_the_monitor(served):
    con = served.connect()
    before = samples(get(served.http_port, "/metrics")[2])
    for _ in range(7):
        con.search_s(BASE, ldap.SCOPE_SUBTREE, "(uid=user.1)", ["cn"])
    con.compare_s(f"uid=user.1,ou=People,{BASE}", "uid", b"user.1")
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        ldap.initialize(served.url).simple_bind_s(f"uid=user.1,ou=People,{BASE}", "wrong")
    con.modify_s(f"uid=user.1,ou=People,{BASE}", [(ldap.MOD_REPLACE, "description", [b"other"])])

    def after():
        now = samples(get(served.http_port, "/metrics")[2])
        return now if now[("pando_requests_total", ("operation", "modify"))] else None

    after = until(after)

    def grown(name, **labels):
        key = (name, *sorted(labels.items()))
        return after[key] - before[key]

    assert grown("pando_requests_total", operation="search") == 7
    assert grown("pando_searches_total", scope="sub") == 7
    assert grown("pando_search_entries_total") == 7
    assert grown("pando_requests_total", operation="compare") == 1
    assert grown("pando_binds_failed_total") == 1
    assert grown("pando_backend_accepted_total", backend="userRoot") == 1
    assert grown("pando_operation_duration_seconds_count", operation="search") == 7
    monitor = con.search_s("cn=userRoot Backend,cn=monitor", ldap.SCOPE_BASE)[0][1]
    entries = int(monitor["ds-backend-entry-count"][0])
    assert after[("pando_backend_entries", ("backend", "userRoot"))] == entries > 0


def test_buckets_grow_to_the_count(served):
    text = get(served.http_port, "/metrics")[2]
    all_of = {}
    for (name, *labels), number in samples(text).items():
        if name == "pando_operation_duration_seconds_bucket":
            by = dict(labels)
            all_of.setdefault(by["operation"], []).append((float(by["le"]), number))
    assert len(all_of) == 10
    for operation, buckets in all_of.items():
        counts = [number for _, number in buckets]
        assert [bound for bound, _ in buckets] == sorted(bound for bound, _ in buckets) and len(buckets) == 18
        assert counts == sorted(counts)
        assert counts[-1] == samples(text)[("pando_operation_duration_seconds_count", ("operation", operation))]


def test_the_two_formats(served, promtool):
    status, headers, text = get(served.http_port, "/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    status, headers, newer = get(served.http_port, "/metrics/prometheus", {"Accept": OPENMETRICS})
    assert headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert newer.endswith("\n# EOF\n")
    without = {name.removesuffix("_total") for name, kind in families(text).items()}
    assert families(newer).keys() == without
    assert {name for name, *_ in samples(newer)} == {name for name, *_ in samples(text)}


def test_the_page_names_every_metric(served):
    rows = re.findall(r"^\| `([a-z_]+)` \|", PAGE.read_text(), re.M)
    assert sorted(rows) == sorted(families(get(served.http_port, "/metrics")[2]))


def test_rules_and_dashboard_ask_for_metrics_that_are_there(served, promtool, tmp_path):
    checked = subprocess.run([promtool, "check", "rules", MONITORING / "alerts.yml"], capture_output=True, text=True)
    assert checked.returncode == 0 and "11 rules found" in checked.stdout, checked.stdout + checked.stderr
    named = {name for name, *_ in samples(get(served.http_port, "/metrics")[2])}
    dashboard = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [line for line in (MONITORING / "alerts.yml").read_text().splitlines() if "(" in line or "expr" in line]
    wanted = set(re.findall(r"\b(?:pando|process)_[a-z_]+\b", " ".join(asked)))
    assert len(wanted) > 25 and wanted <= named


def test_a_bearer_token_guards_the_metrics_alone(tmp_path):
    instance = Pando(tmp_path / "inst")
    instance.setup()
    port = with_http(instance, "metrics-bearer-token-file:keys/metrics.token")
    token = instance.dir / "keys" / "metrics.token"
    token.parent.mkdir(exist_ok=True)
    instance.start()

    def status(sent=None):
        return get(port, "/metrics", {"Authorization": sent} if sent else {})[0]

    # Nobody has the token of a file that is not there, or is empty.
    assert (status(), status("Bearer "), status("Bearer x")) == (401, 401, 401)
    token.write_text("")
    assert status("Bearer ") == 401
    token.write_text("one-token\n")
    assert (status("Bearer one-token"), status("bearer one-token"), status("Bearer one-toke")) == (200, 200, 401)
    assert (status("Basic one-token"), status()) == (401, 401)
    assert get(port, "/metrics")[1]["www-authenticate"] == 'Bearer realm="metrics"'
    token.write_text("another\n")
    assert (status("Bearer one-token"), status("Bearer another")) == (401, 200)
    assert (get(port, "/alive")[0], get(port, "/healthy")[0]) == (200, 200)
    instance.stop()


def test_clients_are_admitted_by_address_while_the_server_runs(tmp_path):
    instance = Pando(tmp_path / "inst")
    instance.setup()
    port = with_http(instance)
    instance.start()
    assert get(port, "/alive")[0] == 200
    change = ["set-connection-handler-prop", "--handler-name", "HTTP", "-n"]
    instance.tool("dsconfig", *change, "--set", "denied-client:127.0.0.0/8")

    def is_refused():
        try:
            get(port, "/alive")
        except (http.client.RemoteDisconnected, ConnectionResetError):
            return True
        return False

    until(is_refused)
    assert instance.connect().whoami_s(), "LDAP has its own rule"
    instance.tool("dsconfig", *change, "--reset", "denied-client")
    until(lambda: not is_refused())
    instance.stop()


def test_https(tmp_path):
    instance = Pando(tmp_path / "inst")
    instance.setup()
    port = with_http(instance, "use-ssl:true", "key-manager-provider:Server Certificate")
    instance.start()
    trust = ssl.create_default_context(cafile=str(instance.dir / "keys" / "server.crt"))
    trust.check_hostname = False
    con = http.client.HTTPSConnection("127.0.0.1", port, context=trust, timeout=20)
    con.request("GET", "/metrics")
    text = con.getresponse().read().decode()
    ends = [key for key in samples(text) if key[0] == "pando_certificate_expiry_timestamp_seconds"]
    assert [dict(labels)["handler"] for _, *labels in ends] == ["HTTP", "LDAP", "LDAPS"]
    # Plain HTTP gets nothing.
    with pytest.raises((http.client.BadStatusLine, ConnectionResetError)):
        get(port, "/alive")
    instance.stop()


def test_slow_and_many_clients_hold_up_nobody(served):
    """A client that sends half a request waits alone, and LDAP feels nothing of 300 of them."""
    held = []
    for _ in range(200):
        con = socket.create_connection(("127.0.0.1", served.http_port))
        con.sendall(b"GET /alive HTTP/1.1\r\nHost: x")
        held.append(con)
    assert get(served.http_port, "/alive")[0] == 200
    assert served.connect().whoami_s()
    held[0].sendall(b"\r\n\r\n")
    assert held[0].recv(100).startswith(b"HTTP/1.1 200 OK")
    for con in held:
        con.close()
    garbage = socket.create_connection(("127.0.0.1", served.http_port))
    garbage.sendall(b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00\r\n\r\n")
    assert garbage.recv(100).startswith(b"HTTP/1.1 400")


def test_a_port_in_use_ends_the_start(tmp_path):
    instance = Pando(tmp_path / "inst")
    instance.setup()
    port = with_http(instance)
    with socket.create_server(("127.0.0.1", port)):
        done = instance.tool("start", check=False)
    assert done.returncode == 1 and f'"HTTP" cannot listen on 127.0.0.1:{port}' in done.stderr, done.stderr
