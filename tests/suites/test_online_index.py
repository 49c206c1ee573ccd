"""Indexes that come, change and go while clients write: no request refused, no search answered from half an index."""
import os
import signal
import threading
import time

import ldap
import pytest

from pando_server import BASE, ROOT_DN, ROOT_PW, Pando

PEOPLE = f"ou=People,{BASE}"
ENTRIES = int(os.environ.get("PANDO_ONLINE_ENTRIES", "6000"))
WRITERS = 3
PATIENCE_SECONDS = 180
LOCALITY, WORDS = "l.caseIgnoreMatch", "description.caseIgnoreSubstringsMatch:6"


def person(number):
    """An invented person; each locality has three, each description is long enough to make many keys."""
    return {"objectClass": ["inetOrgPerson"], "uid": [f"p{number}"], "cn": [f"Person {number}"], "sn": [f"Number{number}"],
            "l": [f"place {number // 3}"], "description": [f"person {number} keeps the trees of grove {number * 7919 % 10007}"],
            "userPassword": ["password"]}


def directory_ldif(path):
    with open(path, "w") as out:
        out.write(f"dn: {BASE}\nobjectClass: domain\ndc: example\n\ndn: {PEOPLE}\nobjectClass: organizationalUnit\nou: People\n\n")
        for number in range(ENTRIES):
            out.write(f"dn: uid=p{number},{PEOPLE}\n")
            out.writelines(f"{name}: {value}\n" for name, values in person(number).items() for value in values)
            out.write("\n")
    return path


def connect(server, dn=ROOT_DN, password=ROOT_PW):
    con = ldap.initialize(server.url)
    con.simple_bind_s(dn, password)
    return con


class Load:
    """Connections that add, change and delete until told to stop. What is refused is kept."""

    def __init__(self, server, first):
        self.server, self.next, self.refused, self.done = server, first, [], 0
        self.over, self.crashing = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run) for _ in range(WRITERS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        con = connect(self.server)
        while not self.over.is_set():
            with self.lock:
                number, self.next = self.next, self.next + 1
            dn = f"uid=p{number},{PEOPLE}"
            try:
                entry = {name: [value.encode() for value in values] for name, values in person(number).items()}
                con.add_s(dn, list(entry.items()))
                other = f"uid=p{number % ENTRIES},{PEOPLE}"
                con.modify_s(other, [(ldap.MOD_REPLACE, "l", [f"moved {number}".encode()])])
                con.modify_s(dn, [(ldap.MOD_REPLACE, "description", [f"person {number} went to other groves".encode()])])
                if number % 3 == 0:
                    con.delete_s(dn)
                self.done += 1
            except ldap.LDAPError as error:
                if not (self.crashing.is_set() and isinstance(error, ldap.SERVER_DOWN)):
                    self.refused.append(repr(error))
                return

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        assert self.refused == []
        return self.next


def index_states(con):
    found = con.search_s("cn=userRoot Backend,cn=monitor", ldap.SCOPE_BASE, attrlist=["ds-backend-index-state"])
    texts = (value.decode() for value in found[0][1].get("ds-backend-index-state", []))
    return dict(text.split(" ", 1) for text in texts)


def wait_for(con, name, is_reached):
    """Waits until the state of an index is as wanted; gives all states that were seen."""
    seen, deadline = [], time.time() + PATIENCE_SECONDS
    while time.time() < deadline:
        state = index_states(con).get(name)
        seen.append(state)
        if is_reached(state):
            return seen
        time.sleep(0.02)
    raise AssertionError(f"{name}: {seen[-1]}")


def is_valid(state):
    return state == "valid"


def is_half_built(state):
    return state is not None and state.startswith("building ") and not state.startswith("building 0 ")


def dsconfig(server, command, index, *more):
    return server.tool("dsconfig", command, "--backend-name", "userRoot", "--index-name", index, *more, "--no-prompt").stdout


def row(line):
    """The cells of a line of dsconfig's tables."""
    return [cell.strip() for cell in line.split(" : ")]


def found(con, filter_text):
    return {dn for dn, _ in con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, filter_text, ["1.1"])}


def verify(server):
    return server.tool("verify-index", "-b", BASE).stdout


@pytest.fixture(scope="module")
def online(tmp_path_factory):
    folder = tmp_path_factory.mktemp("online")
    instance = Pando(folder / "inst")
    instance.setup().import_ldif(directory_ldif(folder / "people.ldif")).start()
    yield instance
    instance.remove()


def test_an_index_is_created_used_dropped_and_created_again_under_load(online):  # S0-15
    root, plain = connect(online), connect(online, f"uid=p5,{PEOPLE}", "password")
    online.tool("dsconfig", "set-backend-prop", "--backend-name", "userRoot", "--set", "index-entry-limit:100", "-n")
    last = f"(l=place {(ENTRIES - 1) // 3})"
    deadline = time.time() + PATIENCE_SECONDS
    while True:  # The limit is taken without a restart: below People are more than 100 entries, so this search is not indexed now.
        try:
            found(plain, last)
        except ldap.INSUFFICIENT_ACCESS:
            break
        assert time.time() < deadline
        time.sleep(0.02)
    load = Load(online, ENTRIES)
    for _ in range(2):
        said = dsconfig(online, "create-backend-index", "l", "--set", "index-type:equality")
        assert 'The Backend Index "l" was created.' in said
        wait_for(root, LOCALITY, is_valid)
        assert {f"uid=p{number},{PEOPLE}" for number in range(ENTRIES) if number // 3 == (ENTRIES - 1) // 3} >= found(plain, last)
        assert " unindexed" not in last_search(online, last)
        assert "no problem found" in verify(online)
        dsconfig(online, "delete-backend-index", "l")
        wait_for(root, LOCALITY, lambda state: state is None)
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            found(plain, last)
    assert load.stop() > ENTRIES
    assert load.done > 0
    assert "no problem found" in verify(online)


def last_search(server, filter_text):
    lines = [line for line in server.access_log().splitlines() if filter_text in line]
    return lines[-1] if lines else ""


def test_a_build_goes_on_after_kill_9(online):  # S0-09 S0-18
    root = connect(online)
    load = Load(online, 10 * ENTRIES)
    dsconfig(online, "create-backend-index", "description", "--set", "index-type:substring", "--set", "index-type:equality")
    seen = wait_for(root, WORDS, lambda state: is_half_built(state) or is_valid(state))
    assert is_half_built(seen[-1]), "the build ended before it could be interrupted: give PANDO_ONLINE_ENTRIES"
    assert f"index {WORDS}: invalid (being built: " in verify(online)
    load.crashing.set()
    online.kill()
    load.stop()
    online.start()
    root = connect(online)
    after = wait_for(root, WORDS, lambda state: is_valid(state))
    assert not any(state.startswith("building 0 ") for state in after if state), "it begins again, instead of going on"
    load = Load(online, 20 * ENTRIES)
    expected = {f"uid=p{number},{PEOPLE}" for number in (7, 77)}
    plain = connect(online, f"uid=p5,{PEOPLE}", "password")
    assert found(plain, "(|(description=*on 7 keeps*)(description=*on 77 keeps*))") == expected
    online.tool("rebuild-index", "-b", BASE, "-i", "description")
    wait_for(root, WORDS, lambda state: not is_valid(state))
    wait_for(root, WORDS, is_valid)
    assert found(plain, "(|(description=*on 7 keeps*)(description=*on 77 keeps*))") == expected
    load.stop()
    assert "no problem found" in verify(online)
    errors = (online.dir / "logs" / "errors").read_text()
    assert "Building indexes of the backend" in errors and "are complete and in use" in errors
    assert online.stop() == 0
    assert "no problem found" in verify(online)
    online.start()


def test_a_file_with_faults_is_refused_whole(online):
    root, file = connect(online), online.dir / "pando.toml"
    good = file.read_text()
    states = index_states(root)
    try:
        file.write_text(good.replace("[backend.userRoot.index]", "[backend.userRoot.index]\nou = { index-type = \"sounds\" }\n"
                                     "street = { index-type = \"equality\" }"))
        refused = online.tool("reload", check=False)
        assert refused.returncode != 0 and "\"sounds\"" in refused.stderr and "pando.toml:" in refused.stderr
        os.kill(online.process.pid, signal.SIGHUP)
        wait_for_error(online, "the server goes on with the one before")
        assert "\"sounds\"" in (online.dir / "logs" / "errors").read_text()
        assert index_states(root) == states
        file.write_text(good.replace("[global]", "[global]\ncheck-schema = false"))
        online.tool("reload")
        wait_for_error(online, "[global] check-schema differs from what the server started with: restart it")
    finally:
        file.write_text(good)


def wait_for_error(server, text):
    deadline = time.time() + PATIENCE_SECONDS
    while text not in (server.dir / "logs" / "errors").read_text():
        assert time.time() < deadline, text
        time.sleep(0.02)


def test_dsconfig_edits_the_file_and_keeps_the_rest(fresh):
    before = (fresh.dir / "pando.toml").read_text()
    shown = fresh.tool("dsconfig", "get-backend-prop", "--backend-name", "userRoot").stdout.splitlines()
    assert ["index-entry-limit", "4000"] in [row(line) for line in shown]  # S0-13
    changed = fresh.tool("dsconfig", "set-backend-prop", "--backend-name", "userRoot", "--set", "index-entry-limit:5000", "-n")
    assert "change these indexes alone" in changed.stderr  # S0-16
    fresh.tool("dsconfig", "set-backend-prop", "--backend-name", "userRoot", "--reset", "index-entry-limit", "-n")
    common = ("--hostname", "localhost", "--port", "4444", "--bindDN", ROOT_DN, "--bindPassword", ROOT_PW, "--trustAll")
    said = dsconfig(fresh, "create-backend-index", "street", "--set", "index-type:equality", "--set", "index-type:substring",
                    "--set", "substring-length:4", *common)
    assert "starts or reloads" in said
    dsconfig(fresh, "set-backend-index-prop", "street", "--add", "index-type:presence", "--remove", "index-type:substring",
             "--reset", "substring-length", "--set", "index-entry-limit:0")
    shown = [row(line) for line in dsconfig(fresh, "get-backend-index-prop", "street").splitlines()]
    assert ["index-type", "equality, presence"] in shown and ["index-entry-limit", "0"] in shown
    listed = fresh.tool("dsconfig", "list-backend-indexes", "--backend-name", "userRoot", "-n").stdout
    assert "street" in listed and "telephoneNumber" in listed
    for wrong, word in ((("--set", "index-type:sounds"), "sounds"), (("--add", "substring-length:9x"), "9x"), (("--set", "colour:red"), "colour")):
        done = fresh.tool("dsconfig", "set-backend-index-prop", "--backend-name", "userRoot", "--index-name", "street", *wrong, "-n", check=False)
        assert done.returncode != 0 and word in done.stderr
    done = fresh.tool("dsconfig", "create-backend-index", "--backend-name", "userRoot", "--index-name", "noSuchType", "--set", "index-type:equality", check=False)
    assert done.returncode != 0 and "noSuchType" in done.stderr
    dsconfig(fresh, "delete-backend-index", "street")
    assert (fresh.dir / "pando.toml").read_text() == before
    assert "street" in (fresh.dir / "pando.toml.bak").read_text()
