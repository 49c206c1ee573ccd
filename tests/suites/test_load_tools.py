"""searchrate, modrate, addrate and authrate with OpenDJ's options, against Pando and against slapd: what they ask of
the server, what they print, and how they fail. What authrate alone does is in test_authrate.py.

Rates are not looked at: other work may have the machine.
"""

import base64
import json
import os
import re
import signal
import subprocess
import threading
import time
import zlib

import pytest
import sasl_scene
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando, binary, free_ports
from slapd_server import ADMIN_DN, ADMIN_PW, slapd_url

PEOPLE = 200
USERS = f"ou=People,{BASE}"
COLUMNS = ["recent", "average", "recent", "average", "99.9%", "99.99%", "99.999%", "err/sec"]

TEMPLATE = f"""branch: ou=Load,{BASE}
objectClass: organizationalUnit
subordinateTemplate: person

template: person
rdnAttr: uid
objectClass: inetOrgPerson
uid: load.<sequential:0>
cn: Load <sequential:0>
sn: Load
description:: dGV4dA==
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("load")
    people = folder / "people.ldif"
    subprocess.run([binary(), "makeldif", "-c", f"numusers={PEOPLE}", "-o", people], check=True, capture_output=True)
    instance = Pando(folder / "inst").setup().import_ldif(people).start()
    yield instance
    instance.remove()


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "load.template"
    path.write_text(TEMPLATE)
    return path


def run(tool, port, *options, timeout=120):
    command = [binary(), tool, "-h", "localhost", "-p", port, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)


def as_root(server, tool, *options):
    return run(tool, server.port, "-D", ROOT_DN, "-w", ROOT_PW, *options)


def rows(done) -> list[dict]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def log_of(server, work) -> list[str]:
    """The lines of the access log that work makes."""
    server.stop()
    (server.dir / "logs" / "access").unlink(missing_ok=True)
    server.start()
    work()
    server.stop()
    lines = server.access_log().splitlines()
    server.start()
    return lines


def count(server, filter: str) -> int:
    con = server.connect()
    found = len(con.search_s(BASE, 2, filter, ["1.1"]))
    con.unbind_s()
    return found


# S0-65
def test_searchrate_prints_entries_per_search(server):
    done = as_root(
        server, "searchrate", "-F", "-c", "4", "-t", "4", "-b", BASE, "-g", f"rand(0,{PEOPLE})", "-d", "2", "-i", "1",
        "(uid=user.%d)",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *_, titles, first, last = done.stdout.splitlines()
    assert titles.split() == [*COLUMNS, "Entries/Srch"]
    for row in (first, last):
        assert re.fullmatch(r"( +\d+\.\d){2}( +\d+\.\d{3}){5} +0\.0 +1\.0", row), row


def test_the_searches_are_those_of_the_template(server):
    def work():
        options = ["-b", f"ou=%1$s,{BASE}", "-s", "one", "-a", "find", "-m", "6", "-F"]
        done = as_root(server, "searchrate", *options, "-g", "People", "-g", "inc(3,5)", "(uid=user.%2$s)", "cn", "sn")
        assert done.returncode == 0, done.stderr

    searches = [line for line in log_of(server, work) if "SEARCH REQ" in line]
    assert len(searches) == 6
    for number, line in enumerate(searches):
        assert f'base="{USERS}" scope=one filter="(uid=user.{3 + number % 3})" attrs="cn,sn"' in line, line


def test_values_may_be_parts_of_a_filter(server, tmp_path):
    lines = tmp_path / "filters"
    lines.write_text("(uid=user.1)\n(uid=user.1*)\n")
    [row] = rows(as_root(server, "searchrate", "-b", BASE, "-g", f"inc({lines})", "-m", "2", "--json", "%s", "1.1"))
    # user.1, and user.1, user.10 … user.19, user.100 … user.199
    assert (row["operations"], row["errors"], row["entriesPerSearch"]) == (2, 0, 56.0)
    lines.write_text("(uid=user.1)\n(uid=user.1\n")
    done = as_root(server, "searchrate", "-b", BASE, "-g", f"inc({lines})", "-m", "4", "%s")
    assert done.returncode == 1 and "generated values make no filter" in done.stderr


# S0-02: many clients
def test_connections_are_kept_bound_again_or_made_anew(server):
    def connections(*options):
        def work():
            done = as_root(server, "searchrate", "-b", BASE, "-m", "40", *options, "(uid=user.1)", "1.1")
            assert done.returncode == 0, done.stderr

        lines = log_of(server, work)
        found = {word: re.findall(rf" {word} REQ conn=(\d+)", "\n".join(lines)) for word in ("BIND", "SEARCH")}
        return {word: (len(conns), len(set(conns))) for word, conns in found.items()}

    # Each tool binds once more before it measures. Connections that are kept are bound once.
    assert connections("-F", "-c", "20", "-t", "2") == {"BIND": (21, 21), "SEARCH": (40, 20)}
    # Bound again before each search.
    assert connections("-f", "-c", "20") == {"BIND": (41, 21), "SEARCH": (40, 20)}
    # A connection for each search.
    assert connections("-c", "20") == {"BIND": (41, 41), "SEARCH": (40, 40)}


def test_a_thousand_connections_are_served_by_few_threads(server):
    options = ["-F", "-c", "1000", "-b", BASE, "-g", f"rand(0,{PEOPLE})", "-m", "3000", "-i", "60", "--json"]
    [row] = rows(as_root(server, "searchrate", *options, "(uid=user.%d)", "1.1"))
    assert (row["operations"], row["errors"]) == (3000, 0)


def test_times_count_from_when_an_operation_was_due(server):
    """A server that stands still is charged for the operations that were due meanwhile."""

    def stand_still():
        time.sleep(1)
        os.kill(server.process.pid, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(server.process.pid, signal.SIGCONT)

    thread = threading.Thread(target=stand_still)
    thread.start()
    options = ["-F", "-b", BASE, "-M", "100", "-d", "4", "-i", "60", "-e", "10", "-e", "80", "--json"]
    [row] = rows(as_root(server, "searchrate", *options, "(uid=user.1)", "1.1"))
    thread.join()
    # 400 are due in four seconds, 150 of them while nobody answers: for 1.5 s at most, 0.75 s in the mean.
    assert row["operations"] > 300
    assert row["responseTimeMs"]["percentiles"]["80"] > 400
    assert row["responseTimeMs"]["max"] > 1400


def test_the_forms_of_the_rows(server):
    options = ["-F", "-b", BASE, "-m", "5", "(uid=user.1)"]
    boxed = as_root(server, "searchrate", "--boxed", *options).stdout.splitlines()
    assert boxed[0] == boxed[4] == "-" * 92
    assert boxed[3] == "|   recent  average |   recent  average    99.9%   99.99%  99.999% |  err/sec Entries/Srch | "
    assert re.fullmatch(r"\|( +\d+\.\d){2} \|( +\d+\.\d{3}){2}( +\d+\.\d\d){3} \| +0\.0 +1\.0 \| ", boxed[5])
    head, row = as_root(server, "searchrate", "-S", *options).stdout.splitlines()
    assert head.split(",")[-2:] == ["Errors/second", "Entries/Srch"] and len(row.split(",")) == 10
    [row] = rows(as_root(server, "searchrate", "--json", *options))
    assert row["operations"] == 5 and set(row["responseTimeMs"]["percentiles"]) == {"99.9", "99.99", "99.999"}


def test_a_file_of_histograms(server, tmp_path):
    path = tmp_path / "latencies.hlog"
    done = as_root(server, "searchrate", "-F", "-b", BASE, "-m", "50", "--histogramFile", path, "(uid=user.1)")
    assert done.returncode == 0, done.stderr
    *head, line = path.read_text().splitlines()
    assert head[0] == "#[Histogram log format version 1.3]" and any("microseconds" in line for line in head)
    start, length, longest, encoded = line.split(",")
    # The cookie of version 2, compressed; inside, the one of version 2 (HdrHistogram, V2 encoding).
    raw = base64.b64decode(encoded)
    assert raw[:4].hex() == "1c849314" and zlib.decompress(raw[8:])[:4].hex() == "1c849313"
    assert float(start) == 0 and float(length) > 0 and float(longest) > 0
    done = as_root(server, "searchrate", "-b", BASE, "-m", "5", "--histogramFile", tmp_path, "(uid=user.1)")
    assert done.returncode == 1 and "Is a directory" in done.stderr and not done.stdout


def test_modrate_replaces_values(server):
    done = as_root(
        server, "modrate", "-F", "-c", "4", "-t", "2", "-b", f"uid=user.%d,{USERS}", "-g", f"inc(0,{PEOPLE - 1})",
        "-g", "randstr(16)", "-m", PEOPLE, "description:%2$s", "title:a:%1$d", "title:b",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # modrate of OpenDJ has no further column.
    assert done.stdout.splitlines()[2].split() == COLUMNS
    con = server.connect()
    [(_, entry)] = con.search_s(f"uid=user.7,{USERS}", 0)
    con.unbind_s()
    assert re.fullmatch(rb"[A-Za-z0-9]{16}", entry["description"][0])
    assert sorted(entry["title"]) == [b"a:7", b"b"]
    assert count(server, "(title=b)") == PEOPLE


def test_an_empty_value_removes_an_attribute(server):
    assert as_root(server, "modrate", "-b", f"uid=user.8,{USERS}", "-m", "1", "pager:").returncode == 0
    assert count(server, "(&(uid=user.8)(pager=*))") == 0


def test_what_fails_is_counted_and_said(server):
    done = as_root(server, "modrate", "-F", "-b", f"uid=user.%d,{USERS}", "-g", f"inc({PEOPLE - 2},{PEOPLE + 1})",
                   "-m", "4", "--json", "description:x")  # fmt: skip
    [row] = rows(done)
    assert (row["operations"], row["errors"]) == (4, 2)
    assert "2 of 4 operations failed; the first: the server answers 32" in done.stderr
    done = as_root(server, "modrate", "-b", f"uid=nobody,{USERS}", "-m", "3", "description:x")
    assert done.returncode == 1 and "no modification succeeded of 3" in done.stderr


def test_addrate_deletes_what_it_added(server, template):
    done = as_root(server, "addrate", "-F", "-c", "4", "-t", "2", "-C", "random", "-s", "50", "-m", "300", template)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2].split() == [*COLUMNS, "Add%"]
    # The branch stays.
    assert (count(server, "(ou=Load)"), count(server, "(uid=load.*)")) == (1, 0)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        # Added, and left.
        (["-C", "off", "-m", "30"], 30),
        # As many as may be there, the newest ones.
        (["-s", "10", "-m", "30", "-n"], 10),
        # None is old enough.
        (["-a", "600", "-m", "30", "-n"], 30),
        (["-a", "600", "-m", "30"], 0),
    ],
)
def test_which_entries_addrate_deletes(server, template, options, left):
    done = as_root(server, "addrate", "-F", *options, template)
    assert done.returncode == 0, done.stderr
    assert count(server, "(uid=load.*)") == left
    con = server.connect()
    names = [dn for dn, _ in con.search_s(f"ou=Load,{BASE}", 1, "(uid=load.*)", ["description"])]
    assert sorted(names) == sorted(f"uid=load.{number},ou=Load,{BASE}" for number in range(30 - left, 30))
    for name in names:
        con.delete_s(name)
    con.unbind_s()


def test_ages_and_the_end_of_the_time_delete_entries(server, template):
    done = as_root(server, "addrate", "-f", "-c", "2", "-a", "1", "-M", "100", "-d", "3", "-i", "1", "--json", template)
    found = rows(done)
    assert any(0 < row["addPercent"] < 100 for row in found) and count(server, "(uid=load.*)") == 0
    assert "Purge phase..." in as_root(server, "addrate", "-d", "1", template).stdout


def test_a_template_that_ends_ends_addrate(server, template):
    template.write_text(TEMPLATE.replace("subordinateTemplate: person", "subordinateTemplate: person:7"))
    [row] = rows(as_root(server, "addrate", "-F", "-C", "off", "--json", template))
    assert (row["operations"], row["errors"], row["addPercent"]) == (7, 0, 100.0)
    # They are there already.
    done = as_root(server, "addrate", "-F", "-C", "off", template)
    assert done.returncode == 1 and "the server answers 68" in done.stderr
    con = server.connect()
    for number in range(7):
        con.delete_s(f"uid=load.{number},ou=Load,{BASE}")
    con.unbind_s()


def test_ctrl_c_prints_the_last_row_and_purges(server, template):
    command = [binary(), "addrate", "-p", str(server.port), "-D", ROOT_DN, "-w", ROOT_PW, "-F", str(template)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and re.search(r"\d+\.\d{3}", out.splitlines()[-1])
    assert count(server, "(uid=load.*)") == 0


def test_authrate_searches_for_who_binds(server):
    con = server.connect()
    con.modify_s(
        f"uid=user.0,{USERS}",
        [(0, "aci", b'(targetattr="uid")(version 3.0; acl "find"; allow (read, search) userdn="ldap:///anyone";)')],
    )
    con.unbind_s()

    def work():
        done = run(
            "authrate", server.port, "-D", "%2$s", "-w", "password", "-f", "-b", USERS, "-s", "one", "-g", "inc(0,0)",
            "-m", "5", "(uid=user.%d)",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[2].split() == [*COLUMNS, "bind", "time", "%"]
        assert 0 < float(done.stdout.split()[-1]) <= 100

    lines = log_of(server, work)
    searches = [line for line in lines if "SEARCH REQ" in line and 'filter="(uid=user.0)"' in line]
    binds = [line for line in lines if "BIND REQ" in line and f'dn="uid=user.0,{USERS}"' in line]
    assert (len(searches), len(binds)) == (5, 5)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("load-sasl")
    certificates = sasl_scene.make_certificates(tmp_path_factory.mktemp("load-certificates"))
    tables = '[sasl-mechanism-handler.PLAIN]\ntype = "plain"\n[sasl-mechanism-handler.EXTERNAL]\ntype = "external"\n'
    instance = sasl_scene.start(folder, tables, certificates)
    yield instance
    instance.remove()


def trusting(scene, *options):
    """Of the instance's own certificate, which is its own issuer."""
    return ["-P", scene.dir / "keys" / "server.crt", *options]


def own_certificate(scene, name):
    path = scene.certificates / f"{name}.pem"
    path.write_text((scene.certificates / f"{name}.crt").read_text() + (scene.certificates / f"{name}.key").read_text())
    return ["-K", path]


SEARCH = ["-b", BASE, "-s", "base", "-m", "6", "-c", "2", "--json", "(objectClass=*)", "1.1"]


@pytest.mark.parametrize("keeping", [[], ["-f"], ["-F", "-t", "2"]], ids=["never", "rebinding", "open"])
def test_tls_from_the_beginning_and_by_starttls(scene, keeping):
    ann = ["-D", f"uid=ann,{BASE}", "-w", sasl_scene.PASSWORD]
    for port, how in ((scene.tls_port, ["-Z", "-X"]), (scene.port, ["-q", "-X"]), (scene.port, trusting(scene, "-q"))):
        [row] = rows(run("searchrate", port, *how, *keeping, *ann, *SEARCH))
        assert (row["operations"], row["errors"]) == (6, 0)


def test_a_certificate_that_nobody_trusts_is_refused(scene):
    done = run("searchrate", scene.tls_port, "-Z", *SEARCH)
    assert done.returncode == 91 and "certificate" in done.stderr and not done.stdout
    done = run("searchrate", scene.port, "-Z", "-X", *SEARCH)
    assert done.returncode == 91 and "TLS" in done.stderr


@pytest.mark.parametrize("mechanism", ["PLAIN", *sasl_scene.HASHES])
@pytest.mark.parametrize("keeping", [[], ["-f"]], ids=["never", "rebinding"])
def test_sasl_binds_with_a_password(scene, mechanism, keeping):
    sasl = ["-Z", "-X", "-o", f"mech={mechanism}", "-o", "authid=ann", "-w", sasl_scene.PASSWORD]
    [row] = rows(run("searchrate", scene.tls_port, *sasl, *keeping, *SEARCH))
    assert (row["operations"], row["errors"]) == (6, 0)
    done = run("searchrate", scene.tls_port, *sasl[:-1], "wrong", *SEARCH)
    assert done.returncode == 49 and "the bind is refused" in done.stderr


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_authrate_binds_by_sasl(scene, mechanism):
    sasl = ["-Z", "-X", "-o", f"mech={mechanism}", "-o", "authid=%s", "-w", sasl_scene.PASSWORD, "-g", "ann"]
    [row] = rows(run("authrate", scene.tls_port, *sasl, "-f", "-m", "6", "--json"))
    assert (row["operations"], row["errors"]) == (6, 0)
    done = run("authrate", scene.tls_port, *sasl, "-I", "100", "-m", "2")
    assert done.returncode == 1 and "the server answers 49" in done.stderr


def test_a_certificate_binds_by_external(scene):
    external = ["-Z", "-X", "-o", "mech=EXTERNAL"]
    [row] = rows(run("searchrate", scene.tls_port, *external, *own_certificate(scene, "ann"), *SEARCH))
    assert (row["operations"], row["errors"]) == (6, 0)
    done = run("searchrate", scene.tls_port, *external, *own_certificate(scene, "revoked"), *SEARCH)
    assert done.returncode != 0 and not done.stdout


def test_stores_in_pkcs12(scene):
    folder = scene.certificates
    export = ["openssl", "pkcs12", "-export", "-inkey", folder / "ann.key", "-in", folder / "ann.crt", "-out"]
    subprocess.run([*export, folder / "ann.p12", "-passout", "pass:changeit"], check=True, capture_output=True)
    pin = folder / "pin"
    pin.write_text("changeit\n")
    external = ["-Z", "-X", "-o", "mech=EXTERNAL", "-K", folder / "ann.p12"]
    for secret in (["-W", "changeit"], ["-u", pin]):
        [row] = rows(run("searchrate", scene.tls_port, *external, *secret, *SEARCH))
        assert (row["operations"], row["errors"]) == (6, 0)
    done = run("searchrate", scene.tls_port, *external, "-W", "wrong", *SEARCH)
    assert done.returncode == 1 and "ann.p12" in done.stderr
    own = scene.dir / "keys" / "server.crt"
    trust = folder / "trust.p12"
    command = ["openssl", "pkcs12", "-export", "-nokeys", "-in", own, "-out", trust, "-passout", "pass:changeit"]
    subprocess.run(command, check=True, capture_output=True)
    ann = ["-D", f"uid=ann,{BASE}", "-w", sasl_scene.PASSWORD]
    [row] = rows(run("searchrate", scene.tls_port, "-Z", "-P", trust, "-T", "changeit", *ann, *SEARCH))
    assert (row["operations"], row["errors"]) == (6, 0)


# Any LDAP server will do.
def test_slapd_is_measured_as_well(tmp_path, template):
    with slapd_url(tmp_path, "index uid eq") as url:
        port = url.rsplit(":", 1)[1]
        admin = ["-D", ADMIN_DN, "-w", ADMIN_PW]
        [row] = rows(run("searchrate", port, *admin, "-F", "-c", "2", "-t", "4", "-b", BASE, "-m", "200", "--json",
                         "(objectClass=person)"))  # fmt: skip
        assert (row["operations"], row["errors"]) == (200, 0) and row["entriesPerSearch"] > 1
        text = template.read_text().replace("description:: dGV4dA==\n", "")
        template.write_text(text)
        [row] = rows(run("addrate", port, *admin, "-F", "-C", "off", "-m", "20", "--json", template))
        assert (row["operations"], row["errors"]) == (20, 0)
        [row] = rows(run("modrate", port, *admin, "-f", "-b", f"uid=load.%d,ou=Load,{BASE}", "-g", "inc(0,19)", "-m",
                         "40", "--json", "description:%1$d"))  # fmt: skip
        assert (row["operations"], row["errors"]) == (40, 0)


ROOT = ["-D", ROOT_DN, "-w", ROOT_PW]


@pytest.mark.parametrize(
    ("tool", "options", "status", "complaint"),
    [
        ("searchrate", [*ROOT, "-b", BASE], 2, "<FILTER> is missing"),
        ("searchrate", [*ROOT, "(cn=x)"], 2, "--baseDN <TEMPLATE> is missing"),
        ("searchrate", [*ROOT, "-b", BASE, "(cn=x"], 1, "a closing bracket is missing"),
        ("searchrate", [*ROOT, "-b", BASE, "(cn=%s)"], 1, "wants 1 values, and there are 0 generators"),
        ("searchrate", [*ROOT, "-b", BASE, "-s", "all", "(cn=x)"], 2, "it must be base, one, sub or subordinates"),
        ("searchrate", [*ROOT, "-b", BASE, "-t", "2", "(cn=x)"], 1, "--noRebind"),
        ("searchrate", [*ROOT, "-b", BASE, "-K", "x", "(cn=x)"], 1, "--keyStorePath is for TLS"),
        ("searchrate", [*ROOT, "-b", BASE, "-S", "--json", "(cn=x)"], 2, "cannot be used with"),
        ("searchrate", ["-D", ROOT_DN, "-w", "wrong", "-b", BASE, "(cn=x)"], 49, "the bind is refused"),
        ("searchrate", ["-D", ROOT_DN, "-b", BASE, "(cn=x)"], 1, "--bindPasswordFile"),
        ("searchrate", ["-w", "x", "-b", BASE, "(cn=x)"], 1, "not whose it is"),
        ("searchrate", ["-o", "mech=GSSAPI", "-b", BASE, "(cn=x)"], 1, "the mechanisms are ANONYMOUS"),
        ("searchrate", ["-N", "nickname", "-b", BASE, "(cn=x)"], 2, 'no option "-N"'),
        ("modrate", [*ROOT, "-b", BASE], 2, "<ATTRIBUTE:TEMPLATE>... is missing"),
        ("modrate", [*ROOT, "-b", BASE, "x"], 1, '"x" is not ATTRIBUTE:TEMPLATE'),
        ("addrate", ROOT, 2, "<TEMPLATE> is missing"),
        ("addrate", [*ROOT, "/nowhere"], 1, "/nowhere"),
        ("addrate", [*ROOT, "-C", "off", "-s", "5", "x"], 1, "--deleteMode off deletes nothing"),
        ("addrate", [*ROOT, "-C", "random", "-a", "5", "x"], 1, "does not look at ages"),
        ("addrate", [*ROOT, "-s", "5", "-a", "5", "x"], 2, "cannot be used with"),
        ("addrate", [*ROOT, "-s", "50", "-m", "5", "x"], 1, "nothing would be deleted"),
        ("authrate", ["-m", "1"], 1, "who binds is missing"),
        ("authrate", ["-D", "x", "-w", "y", "-b", BASE], 2, "<FILTER> is missing"),
    ],
)
def test_what_cannot_be_done_is_said(server, tool, options, status, complaint):
    done = run(tool, server.port, *options)
    assert (done.returncode, done.stdout) == (status, "") and complaint in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_server_that_is_not_there(server):
    (port,) = free_ports(1)
    done = run("searchrate", port, "-b", BASE, "(cn=x)")
    assert done.returncode == 91 and "Connection refused" in done.stderr
    done = subprocess.run(
        [binary(), "searchrate", "-h", "nowhere.invalid", "-b", BASE, "(cn=x)"], capture_output=True, text=True
    )
    assert done.returncode != 0 and "nowhere.invalid" in done.stderr


def test_makeldif_refuses_a_template_without_end(template):
    done = subprocess.run([binary(), "makeldif", str(template)], capture_output=True, text=True)
    assert done.returncode == 1 and "entries without end" in done.stderr and not done.stdout
