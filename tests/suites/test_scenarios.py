"""The scenarios of bench/ at a small size: what must be right in them whatever the machine does. Their figures are in
bench/RESULTS.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import aging
import groups
import ldap
import scenario003
from pando_server import BASE, Pando


# S3-01, S3-17, S3-18, S3-19, S3-20, S3-21, S3-22, S3-23, S3-27, S3-29, S3-30, S3-32
def test_the_story_of_document_003(tmp_path):
    scenario003.main(
        [
            "--folder",
            str(tmp_path),
            "--scale",
            "0.002",
            "--seconds",
            "4",
            "--interval",
            "1",
            "--rate",
            "60",
            "--deletes",
            "5",
        ]
    )


# S3-25, S3-26, S3-33
def test_a_burst_of_deletes_refuses_nothing_and_leaves_no_reference(tmp_path):
    groups.main(
        [
            "deletes",
            "--folder",
            str(tmp_path),
            "--users",
            "1200",
            "--seconds",
            "2",
            "--deletes-per-second",
            "150",
            "--groups",
            "20",
            "--searchers",
            "3",
            "--rate",
            "60",
        ]
    )


# S2-06
def test_a_user_is_in_groups_of_groups(tmp_path):
    groups.main(["depth", "--folder", str(tmp_path), "--groups", "100", "--times", "5"])


# S3-07, S3-31
def test_one_member_of_many_and_all_of_them(tmp_path):
    groups.main(["sizes", "--folder", str(tmp_path), "--members", "100000", "--times", "50"])


# S3-03
def test_many_updates_leave_what_a_fresh_import_makes(tmp_path):
    aging.main(["--folder", str(tmp_path), "--updates", "3000", "--entries", "600", "--turns", "1"])


# S2-40, S2-41
def test_what_many_share_takes_less_room_as_a_class_of_service(tmp_path):
    """3,000 people with the same entitlements: stored with each of them, and given to them by one definition. Both are
    found by the same search."""
    words = [f"urn:mace:example.com:entitlement:library-{n:03}" for n in range(8)]
    stored = [f"description: {word}" for word in words]
    people = [f"dn: uid=p{n},{BASE}\nobjectClass: inetOrgPerson\nuid: p{n}\ncn: P {n}\nsn: P" for n in range(3000)]
    top = f"dn: {BASE}\nobjectClass: domain\ndc: example"
    service = [
        f"dn: cn=template,{BASE}\nobjectClass: cosTemplate\nobjectClass: extensibleObject\ncn: template\n"
        + "\n".join(stored),
        f"dn: cn=pointer,{BASE}\nobjectClass: cosPointerDefinition\ncn: pointer\n"
        f"cosTemplateDn: cn=template,{BASE}\ncosAttribute: description",
    ]
    sizes, shown = [], []
    for name, entries in (("each", ["\n".join([person, *stored]) for person in people]), ("given", people + service)):
        instance = Pando(tmp_path / name).setup()
        instance.configure('[backend.userRoot.index.description]\nindex-type = "equality"\n')
        (tmp_path / "data.ldif").write_text("\n\n".join([top, *entries]) + "\n")
        instance.import_ldif(tmp_path / "data.ldif").start()
        try:
            sizes.append(sum(part.stat().st_blocks * 512 for part in (instance.dir / "db").rglob("*.mdb")))
            con = instance.connect()
            found = con.search_s(
                BASE, ldap.SCOPE_SUBTREE, f"(&(objectClass=inetOrgPerson)(description={words[3]}))", ["description"]
            )
            shown.append(sorted((dn, sorted(attrs["description"])) for dn, attrs in found))
            assert instance.stop() == 0
        finally:
            instance.remove()
    assert len(shown[0]) == 3000 and shown[0] == shown[1]
    # Entries of some 150 bytes without, 550 with.
    assert sizes[1] < 0.6 * sizes[0], sizes
