"""backendstat beside a running server: every subcommand, its options, trailers and JSON."""

import json
import re

import pytest
from pando_server import BASE, DIRECTORY_LDIF, Pando

N = ("-n", "userRoot")
NB = (*N, "-b", BASE)


@pytest.fixture(scope="module")
def client(server):
    connection = server.connect()
    yield connection
    connection.unbind_s()


def stat(server, *arguments):
    return server.tool("backendstat", *arguments).stdout


def told(server, *arguments):
    return json.loads(stat(server, *arguments, "--json"))


def entries():
    return sum(line.startswith("dn:") for line in DIRECTORY_LDIF.read_text().splitlines())


def test_backends_and_base_dns(server):
    assert stat(server, "list-backends").splitlines() == [
        "Backend ID  Storage",
        "-" * 19,
        "userRoot    LMDB",
        "",
        "Total: 1",
    ]
    assert told(server, "list-base-dns", *N) == {"total": 1, "baseDNs": [BASE]}


def test_list_indexes_counts_what_the_server_has_now(server, client):  # S0-25
    before = {row["name"]: row["recordCount"] for row in told(server, "list-indexes", *NB)["indexes"]}
    assert before["id2entry"] == before["dn2id"] == entries()
    dn = f"uid=new.one,ou=People,{BASE}"
    attributes = [
        ("objectClass", [b"inetOrgPerson"]),
        ("cn", [b"New One"]),
        ("sn", [b"Unheard-of"]),
        ("uid", [b"new.one"]),
    ]
    client.add_s(dn, attributes)
    try:
        after = {row["name"]: row["recordCount"] for row in told(server, "list-indexes", *NB)["indexes"]}
        assert after["id2entry"] == entries() + 1
        assert after["sn.caseIgnoreMatch"] == before["sn.caseIgnoreMatch"] + 1
    finally:
        client.delete_s(dn)
    everything = stat(server, "list-indexes", *N)
    assert f"Base DN: {BASE}\n" in everything and everything.endswith("\nTotal: 23\n")


def test_an_index_is_dumped_with_readable_keys(server):  # S0-08
    text = stat(server, "dump-index", *NB, "-i", "uid.caseIgnoreMatch", "-k", "USER.10", "-K", "user.11")
    records = re.findall(r"Key \(len (\d+)\): (\S+)\nValue \(len \d+\): \[COUNT:(\d+)\] \d+\n", text)
    assert records == [("7", "user.10", "1"), ("7", "user.11", "1")]
    assert text.endswith(
        "\nTotal Records: 2\nTotal / Average Key Size: 14 bytes / 7 bytes\n"
        "Total / Average Data Size: 2 bytes / 1 bytes\n"
    )
    only_sums = stat(
        server, "dump-index", *NB, "-i", "uid.caseIgnoreMatch", "-x", "757365722E3130", "-X", "757365722E3131", "-q"
    )
    assert only_sums.startswith("\nTotal Records: 2\n")
    classes = stat(server, "dump-index", *NB, "-i", "objectClass.objectIdentifierMatch")
    assert re.search(r"^Key \(len 26\): domain$", classes, re.M)
    lines = stat(
        server, "dump-index", *NB, "-i", "uid.caseIgnoreMatch", "-k", "user.10", "-K", "user.10", "--json"
    ).splitlines()
    record, summary = map(json.loads, lines)
    assert record["key"] == "user.10" and record["value"].startswith("[COUNT:1] ")
    assert summary == {"totalRecords": 1, "totalKeySize": 7, "totalDataSize": 1}


def test_trees_are_dumped_by_dn_and_number(server):
    dn = f"uid=user.10,ou=People,{BASE}"
    text = stat(server, "dump-index", *NB, "-i", "dn2id", "-k", dn, "-K", dn)
    ((found, number),) = re.findall(r"Key \(len \d+\): (.*)\nValue \(len \d+\): (\d+)\n", text)
    assert found == dn
    entry = stat(server, "dump-index", *NB, "-i", "id2entry", "-k", number, "-K", number)
    assert entry.startswith("Key (len 8): " + number) and f"\ndn: {dn}\n" in entry and "\nuid: user.10\n" in entry
    children = stat(server, "dump-index", *NB, "-i", "id2childrencount", "-k", "0", "-K", "0")
    assert re.match(rf"Key \(len \d+\): Total Children Count\nValue \(len \d+\): {entries()}\n", children)
    state = stat(server, "dump-index", *NB, "-i", "state")
    assert re.search(r"Key \(len 18\): cn.caseIgnoreMatch\nValue \(len 7\): TRUSTED\n", state)


def test_referrals_are_listed_with_their_uris(server):
    text = stat(server, "dump-index", *NB, "-i", "referral")
    referrals = DIRECTORY_LDIF.read_text().count("objectClass: referral\n")
    assert referrals > 0 and text.count("Key (len ") == referrals
    assert re.search(r"^Key \(len \d+\): ou=.*\nValue \(len \d+\): ldap://", text, re.M)


def test_raw_trees_are_dumped_in_hexadecimal(server):
    text = stat(
        server,
        "dump-raw-db",
        *N,
        "-d",
        "/dc=com,dc=example/uid.caseIgnoreMatch",
        "-x",
        "757365722e3130",
        "-X",
        "757365722e3130",
    )
    assert text.startswith("Key (len 7):\n    75 73 65 72 2E 31 30" + " " * 29 + "user.10\nValue (len 1):\n    ")
    line = stat(
        server,
        "dump-raw-db",
        *N,
        "-d",
        "/dc=com,dc=example/uid.caseIgnoreMatch",
        "-l",
        "-k",
        "user.10",
        "-K",
        "user.10",
    )
    assert re.match(r"Key \(len 7\): 757365722E3130\nValue \(len 1\): [0-9A-F]{2}\n", line)
    none = stat(server, "dump-raw-db", *N, "-d", "/dc=com,dc=example/uid.caseIgnoreMatch", "-s", "100000")
    assert none == "\nTotal Records: 0\n"
    some = told(server, "list-raw-dbs", *N)["rawDBs"]
    (uid,) = [row for row in some if row["name"] == "/dc=com,dc=example/uid.caseIgnoreMatch"]
    sums = stat(server, "dump-raw-db", *N, "-d", uid["name"], "-q")
    assert f"Total Records: {uid['totalKeys']}\nTotal / Average Key Size: {uid['keysSize']} bytes" in sums


def test_list_raw_dbs(server):
    head, _, *rows = stat(server, "list-raw-dbs", *N, "-u").splitlines()
    assert re.split(r"\s{2,}", head) == ["Raw DB Name", "Total Keys", "Keys Size", "Values Size", "Total Size"]
    names = [row.split()[0] for row in rows[:-2]]
    assert names == sorted(names) and "/compressed_schema/compressed_attributes" in names
    assert rows[-2:] == ["", "Total: 25"]


def test_what_there_is_one_of_need_not_be_named(server):
    assert stat(server, "show-index-status") == stat(server, "show-index-status", *NB)
    assert told(server, "list-base-dns") == told(server, "list-base-dns", *N)


def test_keys_in_many_entries_are_named(server):  # S3-21
    status = told(server, "show-index-status", *NB, "-i", "objectClass", "--min-count", "5")
    (index,) = status["indexes"]
    frequent = {key["key"]: key["entries"] for key in index["frequent"]["keys"]}
    assert frequent["top"] > 5 and all(count > 5 for count in frequent.values())
    assert index["frequent"]["count"] == len(frequent)
    text = stat(server, "show-index-status", *NB, "-i", "objectClass", "--min-count", "5")
    listed = re.findall(r"^ *(\d+)  \[(.*)\]$", text, re.M)
    assert [int(count) for count, _ in listed] == sorted(frequent.values(), reverse=True)
    assert f"Keys in more than 5 entries: {len(frequent)}\n" in text


def test_sizes_add_up(server):  # S2-18
    sizes = told(server, "entry-sizes", *N)
    assert sizes["entries"] == entries()
    assert (
        sizes["percentileBytes"]["50"] <= sizes["percentileBytes"]["99"] <= sizes["largestBytes"] <= sizes["totalBytes"]
    )
    assert sizes["averageBytes"] == sizes["totalBytes"] // sizes["entries"]
    memory = told(server, "show-cache-sizes", *N)
    assert memory["waysBytes"] <= memory["indexesBytes"] <= memory["everythingBytes"] <= memory["fileBytes"]
    assert memory["everythingBytes"] == sum(table["bytes"] for table in memory["tables"])
    assert memory["verdict"].startswith("Everything fits")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("dump-index", *NB, "-i", "nosuch"), 'there is no index "nosuch"; there are dn2id, '),
        (("dump-index", *NB, "-i", "cn"), '"cn" has several indexes; choose one of cn.'),
        (
            ("dump-raw-db", *N, "-d", "nosuch"),
            'the backend "userRoot" has no tree "nosuch": see pando backendstat list-raw-dbs -n userRoot',
        ),
        (
            ("show-index-status", *N, "-b", "dc=other"),
            'no backend has the base DN "dc=other"; there are dc=example,dc=com',
        ),
        (("dump-index", *NB, "-i", "id2entry", "-k", "x"), '"x" is not the number of an entry'),
        (("dump-index", *NB, "-i", "uid.caseIgnoreMatch", "-x", "0"), "it must be pairs of hexadecimal digits"),
    ],
)
def test_mistakes_are_told(server, arguments, message):
    done = server.tool("backendstat", *arguments, check=False)
    assert done.returncode != 0 and message in done.stderr and done.stderr.count("\n") == 1


def test_an_index_that_is_not_built_has_no_figures(tmp_path):
    instance = Pando(tmp_path / "inst")
    instance.setup().import_ldif(DIRECTORY_LDIF)
    heading = "[backend.userRoot.index]\n"
    instance.config.write_text(
        instance.config.read_text().replace(heading, heading + 'l = { index-type = "equality" }\n')
    )
    text = stat(instance, "show-index-status", *NB, "-i", "l")
    row = text.splitlines()[2].split()
    assert row == [
        "l.caseIgnoreMatch",
        "/dc=com,dc=example/l.caseIgnoreMatch",
        "false",
        "(0%)",
        "false",
        "-",
        "-",
        "-",
        "-",
        "-",
    ]
    assert text.endswith(
        f"Not used by searches: it is not built yet; a running server is about to, else run pando rebuild-index "
        f"-b {BASE} -i l.caseIgnoreMatch\n"
    )
    (index,) = told(instance, "show-index-status", *NB, "-i", "l")["indexes"]
    assert index["valid"] is False and "recordCount" not in index


def test_a_sorted_list_has_records_and_no_limit(tmp_path):
    instance = Pando(tmp_path / "inst")
    instance.setup()
    instance.configure(f"""
[backend.userRoot.vlv-index.people]
base-dn = "{BASE}"
scope = "whole-subtree"
filter = "(objectClass=person)"
sort-order = "+sn"
""")
    instance.import_ldif(DIRECTORY_LDIF)
    (listed,) = [row for row in told(instance, "list-indexes", *NB)["indexes"] if row["name"] == "vlv.people"]
    assert (listed["type"], listed["rawDBName"]) == ("VLVIndex", "/dc=com,dc=example/vlv.people")
    row = stat(instance, "show-index-status", *NB, "-i", "vlv.people").splitlines()[2].split()
    assert row == [
        "vlv.people",
        "/dc=com,dc=example/vlv.people",
        "true",
        "false",
        str(listed["recordCount"]),
        "-",
        "-",
        "-",
        "-",
    ]


def test_base_dns_of_one_backend_share_their_trees(tmp_path):
    instance = Pando(tmp_path / "inst")
    instance.setup("--baseDN", "dc=other")
    (tmp_path / "two.ldif").write_text(
        f"dn: {BASE}\nobjectClass: domain\ndc: example\n\ndn: dc=other\nobjectClass: domain\ndc: other\n"
    )
    instance.import_ldif(tmp_path / "two.ldif")
    done = instance.tool("backendstat", "list-indexes", *N)
    assert "Base DN: dc=other\n" in done.stdout and done.stdout.endswith("\nTotal: 46\n")
    assert re.search(r"^dn2id +/dc=other/dn2id +DN2ID +2$", done.stdout, re.M)
    assert (
        done.stderr
        == 'The 2 base DNs of "userRoot" share one set of trees: each figure counts the entries of all of them.\n'
    )


def test_an_index_near_and_over_its_limit(tmp_path):  # S0-10, S0-12
    """Limit 20: 20 entries of one surname are near it, 21 are over."""
    instance = Pando(tmp_path / "inst")
    instance.setup()
    instance.config.write_text(
        re.sub(r"(?m)^(\[backend\.userRoot\].*)$", r"\1\nindex-entry-limit = 20", instance.config.read_text())
    )
    people = ["dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n"]
    surnames = ["Over"] * 21 + ["Full"] * 20 + ["Ninety"] * 18 + ["Eighty"] * 16 + ["Few"] * 15
    for number, surname in enumerate(surnames):
        people.append(f"dn: cn=p{number},{BASE}\nobjectClass: person\ncn: p{number}\nsn: {surname}\n")
    (tmp_path / "people.ldif").write_text("\n".join(people))
    instance.import_ldif(tmp_path / "people.ldif")
    (index,) = told(instance, "show-index-status", *NB, "-i", "sn.caseIgnoreMatch")["indexes"]
    assert index["indexEntryLimit"] == 20
    assert (index["overEntryLimit"], index["overEntryLimitKeys"]) == (1, ["over"])
    assert index["near"] == {"95%": 1, "90%": 1, "85%": 1}
    assert "[LIMIT-EXCEEDED] [COUNT:21]" in stat(instance, "dump-index", *NB, "-i", "sn.caseIgnoreMatch", "-k", "over")
