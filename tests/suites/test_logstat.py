"""`pando logstat`: what happened in access logs, our own and those of other servers."""

import gzip
import json
import re
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pando_server import BASE, HERE, Pando, binary, until

# The lines of document 003, in the order of time.
DOCUMENT = HERE / "data" / "document-003-access.log"


def logstat(*words, check=True, **more):
    """What the tool prints, with no instance at hand."""
    command = [binary(), "logstat", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text="input" not in more, timeout=120, **more)
    assert not check or done.returncode == 0, done.stderr
    return done


def report(*words, **more):
    return json.loads(logstat("--json", *words, **more).stdout)


def findings(told, kind):
    return [finding["text"] for finding in told["findings"] if finding["kind"] == kind]


def section(text, title):
    """The lines of a section."""
    return text.split(f"----- {title} -----\n\n")[1].split("\n\n")[0].splitlines()


# S3-05
def test_the_report_has_the_sections_of_logconv():
    text = logstat(DOCUMENT).stdout
    assert "\nStart of Log:  26/Mar/2008:17:22:06\nEnd of Log:    01/Apr/2008:16:19:02\n" in text
    assert section(text, "Top 20 Longest etimes")[:4] == [
        "etime=288.370250    1",
        "etime=227.940970    1",
        "etime=225.666500    1",
        "etime=223.651170 notes=F    1",
    ]
    assert "etime=34.587640 csn=47f23c12000000290000    1" in text
    assert "----- Top 50 Longest etimes -----" in logstat("-s", 50, DOCUMENT).stdout
    assert len(section(logstat("-s", 3, DOCUMENT).stdout, "Top 3 Longest etimes")) == 3


def test_values_are_printed_as_the_document_has_them(tmp_path):
    """The head of its "Top 50 Longest etimes"."""
    shown = [
        "etime=621.012380 notes=U,F    1",
        "etime=512       1",
        "etime=501.717580 notes=U,F    1",
        "etime=494       1",
        "etime=288.370250    1",
        "etime=232.924120 notes=F    1",
    ]
    log = tmp_path / "access"
    lines = [line.rsplit(maxsplit=1)[0] for line in shown]
    head = "[26/Mar/2008:17:29:44 +0100] conn={0} op=1 msgId=2 - RESULT err=0 tag=101 nentries=2 {1}\n"
    log.write_text("".join(head.format(number, line) for number, line in enumerate(reversed(lines))))
    assert section(logstat(log).stdout, "Top 20 Longest etimes") == shown


# S3-14, S3-17: what took the authors weeks.
def test_what_document_003_is_about_is_found():
    told = report(DOCUMENT)
    (stall,) = told["stalls"]
    assert (stall["operations"], stall["connections"], stall["unindexed"], stall["entriesMax"]) == (8, 8, 0, 6)
    assert (stall["from"], stall["until"]) == ("2008-03-26T17:26:07.62975+01:00", "2008-03-26T17:29:44+01:00")
    assert stall["deletesBefore"] == 12
    (text,) = findings(told, "stall")
    assert "8 operations of 8 connections waited together: 8 SRCH, 0 without an index, at most 6 entries" in text
    assert "No update is among them: what held them is not in this log." in text
    assert "12 deletes came, from 26/Mar/2008:17:22:06 to 26/Mar/2008:17:26:02" in text
    (text,) = findings(told, "cleanUp")
    assert "conn=249197 changed the same 7 entries 2 times over (14 updates; the first is cn=role1,o=customer)" in text
    assert "after the first of 2 deletes (of uid=d015897,o=customer)" in text and "about 15.00 s of updates" in text
    (text,) = findings(told, "replay")
    assert "csn=47f23c12000000290000 was applied twice: in 34.59 s (conn=273450), then in 11.18 s" in text
    (text,) = findings(told, "lateAnswers")
    assert text.startswith("2 answers came when the connection was closed already, the longest after 35.76 s")
    # F is a flag: nothing is told of missing indexes.
    assert not findings(told, "unindexed") and not told["unindexed"]
    assert [(note["code"], note["count"]) for note in told["notes"]] == [("F", 5)]
    waited = {row["waitedFor"] for row in told["longestOperations"] if row["kind"] == "SRCH"}
    assert waited == {"with others: stall 1"}


def test_the_page_is_one_file_that_loads_nothing(tmp_path):
    page = tmp_path / "report.html"
    done = logstat("--html", page, DOCUMENT)
    assert done.stdout == f"{page} is written\n"
    text = page.read_text()
    document = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    pictures = [picture for picture in document.iter("svg") if picture.get("role") == "img"]
    assert [picture.get("aria-label") for picture in pictures] == ["operations a second", "how long operations took"]
    assert all(part.get("class") == "stall" for part in pictures[0].findall("rect")[1:2])
    assert {"Findings", "Stalls", "Top 20 Longest etimes"} <= {heading.text for heading in document.iter("h2")}
    assert not re.search(r"https?:|<script|<link|<img|\bsrc=|@import|url\(", text)
    refused = logstat("--html", tmp_path / "no" / "page", DOCUMENT, check=False)
    assert refused.returncode == 1 and "No such file" in refused.stderr


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_log_is_followed_minute_by_minute(tmp_path, form):
    """Also into the next file; the report comes when the tool is interrupted."""
    log = tmp_path / "access"

    def write(minutes, connection, mode="a"):
        at = datetime.now(UTC).replace(second=0) + timedelta(minutes=minutes)
        with log.open(mode) as file:
            for operation in range(10):
                head = f"[{at:%d/%b/%Y:%H:%M:%S} +0000] SEARCH conn={connection} op={operation} msgID=1"
                file.write(f'{head} base="o=x" scope=sub filter="(a=b)" result=0 nentries=1 etime=5\n')

    write(-600, 1, "w")
    command = [binary(), "logstat", "-f", *form, str(log)]
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        write(5, 2)
        # Once it reads the file by that name, it goes on with the next one.
        until(lambda: any(str(log) in str(place.resolve()) for place in Path(f"/proc/{tool.pid}/fd").iterdir()))
        log.rename(tmp_path / "access.old")
        write(6, 3, "w")
        write(7, 4)
        told = [tool.stdout.readline() for _ in range(2 if form else 3)]
        rows = told if form else told[1:]
        assert all('"operations":10' in row if form else re.search(r":\d\d:00 +10 +0 +0 ", row) for row in rows), told
    finally:
        tool.send_signal(signal.SIGINT)
        rest, errors = tool.communicate(timeout=60)
    assert (tool.returncode, errors) == (0, "")
    if form:
        assert json.loads(rest.splitlines()[-1])["operations"][0]["count"] == 40
    else:
        assert re.search(r"^SRCH +40 ", rest, re.M)


# S3-28, S3-49
def test_operations_are_counted_by_suffix_with_modifications_for_each_delete():
    suffixes = {row["name"]: row for row in report(DOCUMENT)["suffixes"]}
    customer = suffixes["o=customer"]
    assert (customer["kinds"]["DEL"], customer["kinds"]["MOD"]) == (3, 15)
    assert customer["modificationsPerDelete"] == 5
    of_roles = report("-b", "cn=role1,o=customer", DOCUMENT)["suffixes"]
    assert {row["name"]: row["operations"] for row in of_roles}["cn=role1,o=customer"] == 2


def test_damaged_lines_are_counted_and_shown(tmp_path):
    log = tmp_path / "access"
    log.write_bytes(DOCUMENT.read_bytes() + b"[01/Apr/2008:16:20:00 +0200] conn=1 op=\xff\x00\n\n" + b"x" * (3 << 20))
    told = report(log)
    lines = told["lines"]
    # The line of the error log is none of an access log.
    assert (lines["all"], lines["bad"], lines["cut"], lines["unfinished"]) == (64, 2, 1, 0)
    assert lines["examples"][0].startswith(f"{log}:1: [26/Mar/2008:17:15:35 +0100] - ERROR<20775>")
    assert len(told["stalls"]) == 1
    text = logstat(log).stdout
    assert "Lines that are damaged, or not of an access log: 2\n" in text


def test_files_are_read_in_the_order_of_time_compressed_or_not(tmp_path):
    lines = DOCUMENT.read_text().splitlines(keepends=True)
    parts = ["".join(lines[:15]), "".join(lines[15:30]), "".join(lines[30:])]
    (tmp_path / "c").write_text(parts[0])
    (tmp_path / "b.gz").write_bytes(gzip.compress(parts[1].encode()))
    (tmp_path / "a").write_text(parts[2])
    told = report(*sorted(tmp_path.iterdir()))
    whole = report(DOCUMENT)
    for part in ("stalls", "findings", "suffixes", "longestEtimes", "minutes", "operations"):
        assert told[part] == whole[part], part
    assert report("-", input=DOCUMENT.read_bytes())["stalls"] == whole["stalls"]
    # Cut while it was copied: read as far as it goes, and that is said.
    damaged = tmp_path / "damaged.gz"
    damaged.write_bytes(gzip.compress(DOCUMENT.read_bytes(), 0)[:-1000])
    told = report(damaged)
    assert told["unreadable"][0]["file"] == str(damaged) and told["lines"]["all"] > 40
    assert f"{damaged} was not read to its end: " in logstat(damaged).stdout


def test_times_and_clients_can_be_left_out(tmp_path):
    assert report("-S", "27/Mar/2008:00:00:00", DOCUMENT)["start"] == "2008-04-01T15:01:05+02:00"
    assert report("-E", "2008-03-26T18:00:00+01:00", DOCUMENT)["end"] == "2008-03-26T17:30:56+01:00"
    log = tmp_path / "access"
    at = "[21/Nov/2026:01:15:35.793808833 +0000]"
    log.write_text(
        f"{at} conn=1 fd=64 slot=64 connection from 192.0.2.7 to 192.0.2.1\n"
        f"{at} conn=2 fd=65 slot=65 connection from 192.0.2.9 to 192.0.2.1\n"
        + "".join(
            f'{at} conn={conn} op=1 SRCH base="o=x" scope=2 filter="(l=a)" attrs=ALL\n'
            f"{at} conn={conn} op=1 RESULT err=0 tag=101 nentries=0 wtime=0.1 optime=0.2 etime=0.300000000 notes=U\n"
            for conn in (1, 2)
        )
    )
    assert {row["name"]: row["operations"] for row in report(log)["clients"]} == {"192.0.2.7": 1, "192.0.2.9": 1}
    told = report("-X", "192.0.2.7", log)
    assert [row["name"] for row in told["clients"]] == ["192.0.2.9"] and told["lines"]["leftOut"] == 3
    (row,) = told["longestOperations"]
    assert (row["waitedFor"], row["client"], row["isUnindexed"]) == ("its own work: 200.0 ms", "192.0.2.9", True)
    (row,) = told["unindexed"]
    assert (row["shape"], row["help"]) == ("(l=?)", "equality index of l")


SLAPD = """\
2025-11-23T09:42:31+00:00 ldap1 slapd[771]: conn=7 fd=12 ACCEPT from IP=192.0.2.9:54266 (IP=0.0.0.0:389)
2025-11-23T09:42:31+00:00 ldap1 slapd[771]: conn=7 op=0 BIND dn="uid=user.{0},{1}" method=128
2025-11-23T09:42:31+00:00 ldap1 slapd[771]: conn=7 op=0 RESULT tag=97 err=49 qtime=0.000011 etime=0.000123 text=
2025-11-23T09:42:32+00:00 ldap1 slapd[771]: conn=7 op=1 SRCH base="{1}" scope=2 deref=0 filter="(l=a)"
2025-11-23T09:42:32+00:00 ldap1 slapd[771]: <= mdb_equality_candidates: (l) not indexed
2025-11-23T09:42:32+00:00 ldap1 slapd[771]: conn=7 op=1 SEARCH RESULT tag=101 err=0 qtime=0.1 etime=0.2 nentries=1 text=
2025-11-23T09:42:32+00:00 ldap1 slapd[771]: conn=7 fd=12 closed
"""


def test_a_log_of_slapd_tells_guessed_passwords_and_missing_indexes(tmp_path):
    log = tmp_path / "slapd.log"
    log.write_text("".join(SLAPD.format(number, BASE) for number in range(30)))
    told = report(log)
    (source,) = told["failedBinds"]
    assert (source["client"], source["count"], source["names"]) == ("192.0.2.9", 30, 30)
    (text,) = findings(told, "failedBinds")
    assert text == "30 binds of 192.0.2.9 failed, for 30 names or more: somebody guesses passwords."
    assert told["missingIndexes"] == [{"value": "equality index of l", "count": 30}]
    assert told["connectionCodes"] == [{"code": "closed", "meaning": "", "count": 30}]


# S3-05
def test_the_log_of_a_running_server_is_found_by_the_instance(tmp_path):
    fresh = Pando(tmp_path / "inst").setup()
    # More entries than are collected for their scope, so that a search without an index is unindexed.
    people = tmp_path / "people.ldif"
    fresh.tool("makeldif", "-s", "0", "-c", "numusers=4500", "-c", "numgroups=0", "-o", people)
    fresh.import_ldif(people)
    fresh.tool("dsconfig", "set-global-configuration-prop", "--set", "etime-resolution:microseconds", "--no-prompt")
    fresh.start()
    con = fresh.connect()
    for _ in range(5):
        con.search_s(BASE, 2, "(description=nothing)")
    con.unbind_s()
    until(lambda: "Client Unbind" in fresh.access_log())
    told = json.loads(fresh.tool("logstat", "--json").stdout)
    (searches,) = [row for row in told["operations"] if row["kind"] == "SRCH"]
    assert (searches["count"], searches["errors"], searches["unanswered"]) == (5, 0, 0)
    assert 0 < searches["max"] < 60, "microseconds, as the instance is configured"
    (row,) = [row for row in told["suffixes"] if row["name"] == BASE]
    assert row["kinds"] == {"SRCH": 5}
    (row,) = told["unindexed"]
    assert (row["shape"], row["count"], row["help"]) == ("(description=?)", 5, "equality index of description")
    assert "Client Unbind" in {row["code"] for row in told["connectionCodes"]}
    text = fresh.tool("logstat").stdout
    assert re.search(r"^SRCH +5 ", text, re.M) and "----- Unindexed searches -----" in text
    assert fresh.stop() == 0
    told = report("--etime-unit", "ms", fresh.dir / "logs" / "access")["operations"]
    assert told[0]["max"] == pytest.approx(1000 * searches["max"], rel=0.001)
    fresh.remove()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["/nonexistent/access"], "/nonexistent/access: No such file or directory"),
        (["/etc"], "/etc: it is a folder: name the files in it"),
        ([HERE / "pages.py"], "no line is one of an access log"),
        (["-S", "yesterday", DOCUMENT], "write it like 01/Apr/2008:14:50:11"),
        (["-s", "0", DOCUMENT], "0 is not in 1..=1000"),
        (["-f", "-"], "standard input ends by itself and is not followed"),
        (["--json", "--html", "x", DOCUMENT], "'--json' cannot be used with '--html <FILE>'"),
        (["-b", " ", DOCUMENT], "need a value that is not empty"),
        (["--instance", "/nonexistent"], "there is no instance in /nonexistent"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(words, why):
    done = logstat(*words, check=False)
    assert done.returncode in (1, 2) and why in done.stderr, done.stderr
    assert done.stdout == ""
