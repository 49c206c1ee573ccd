"""ldap-utils: the command lines that operators type, and what they print."""

import os
import re
import subprocess

from pando_server import BASE, ROOT_DN, ROOT_PW, until

PEOPLE = f"ou=People,{BASE}"


def ldap_tool(server, tool, *args, dn=ROOT_DN, pw=ROOT_PW, stdin=None, env=None, url=None):
    """Runs one of the tools, bound simply; gives (exit status = result code, standard output, standard error)."""
    bind = ["-x", "-H", url or server.url] + (["-D", dn, "-w", pw] if dn else [])
    done = subprocess.run([tool, *bind, *args], input=stdin, capture_output=True, text=True, timeout=60, env=env)
    return done.returncode, done.stdout, done.stderr


def search(server, *args, **kw):
    code, out, err = ldap_tool(server, "ldapsearch", "-LLL", "-o", "ldif-wrap=no", *args, **kw)
    assert code == 0, err
    return out


def test_the_printed_search_line(server):
    out = search(server, "-b", BASE, "(uid=user.10)", "dn", "userPassword")
    assert out.startswith(f"dn: uid=user.10,{PEOPLE}\nuserPassword:: ")


def test_whole_directory_reads_back(server):
    out = search(server, "-b", BASE, "-M", "(objectClass=*)")
    assert out.count("\ndn: ") + out.count("\ndn:: ") + 1 == 36


def test_ldapadd_ldapmodify_ldapmodrdn_ldapdelete(server):
    entry = (
        f"dn: uid=utils.1,{PEOPLE}\nobjectClass: inetOrgPerson\nuid: utils.1\ncn: Utils One\nsn: One\n"
        f"jpegPhoto:: {'/9j/4AAQ' * 900}\n"
    )
    code, _, err = ldap_tool(server, "ldapadd", stdin=entry)
    assert code == 0, err
    assert "jpegPhoto:: " + "/9j/4AAQ" * 900 in search(server, "-b", f"uid=utils.1,{PEOPLE}", "-s", "base").replace(
        "\n ", ""
    )
    change = (
        f"dn: uid=utils.1,{PEOPLE}\nchangetype: modify\nadd: mail\nmail: utils.1@example.com\n-\nreplace: sn\n"
        f"sn: Uno\n-\ndelete: jpegPhoto\n-\n\n"
        f"dn: uid=utils.1,{PEOPLE}\nchangetype: modrdn\nnewrdn: uid=utils.2\ndeleteoldrdn: 1\n"
    )
    code, _, err = ldap_tool(server, "ldapmodify", stdin=change)
    assert code == 0, err
    out = search(server, "-b", PEOPLE, "(mail=utils.1@example.com)")
    assert f"dn: uid=utils.2,{PEOPLE}" in out and "sn: Uno" in out and "uid: utils.1" not in out
    assert ldap_tool(server, "ldapmodrdn", "-r", f"uid=utils.2,{PEOPLE}", "uid=utils.3")[0] == 0
    assert ldap_tool(server, "ldapdelete", f"uid=utils.3,{PEOPLE}")[0] == 0
    assert ldap_tool(server, "ldapdelete", f"uid=utils.3,{PEOPLE}")[0] == 32


def test_ldapdelete_recursive(server):
    for dn, cls in ((f"ou=Rec,{BASE}", "organizationalUnit"), (f"ou=Sub,ou=Rec,{BASE}", "organizationalUnit")):
        assert ldap_tool(server, "ldapadd", stdin=f"dn: {dn}\nobjectClass: {cls}\n")[0] == 0
    assert ldap_tool(server, "ldapdelete", f"ou=Rec,{BASE}")[0] == 66
    assert ldap_tool(server, "ldapdelete", "-r", f"ou=Rec,{BASE}")[0] == 0


def test_ldapcompare(server):
    assert ldap_tool(server, "ldapcompare", f"uid=user.1,{PEOPLE}", "sn:birchley")[0] == 6
    assert ldap_tool(server, "ldapcompare", f"uid=user.1,{PEOPLE}", "sn:other")[0] == 5
    assert ldap_tool(server, "ldapcompare", f"uid=none,{PEOPLE}", "sn:other")[0] == 32


def test_ldapwhoami_and_ldappasswd(server):
    dn = f"uid=user.15,{PEOPLE}"
    assert ldap_tool(server, "ldapwhoami", dn=dn, pw="password")[1].strip().lower() == f"dn:{dn}".lower()
    assert ldap_tool(server, "ldapwhoami", dn=None)[1].strip() == "anonymous"
    code, out, err = ldap_tool(server, "ldappasswd", dn)
    assert code == 0, err
    generated = re.search(r"New password: (\S+)", out).group(1)
    assert ldap_tool(server, "ldapwhoami", dn=dn, pw=generated)[0] == 0
    assert ldap_tool(server, "ldappasswd", "-s", "again12", "-a", generated, dn=dn, pw=generated)[0] == 0
    assert ldap_tool(server, "ldapwhoami", dn=dn, pw="again12")[0] == 0
    assert ldap_tool(server, "ldapwhoami", dn=dn, pw="password")[0] == 49


def test_tls_of_both_kinds(server):
    env = {**os.environ, "LDAPTLS_REQCERT": "never"}
    assert ldap_tool(server, "ldapwhoami", "-ZZ", env=env)[1].strip() == f"dn:{ROOT_DN}"
    assert ldap_tool(server, "ldapwhoami", env=env, url=server.tls_url)[1].strip() == f"dn:{ROOT_DN}"


def test_size_limit_and_types_only(server):
    code, out, _ = ldap_tool(server, "ldapsearch", "-LLL", "-z", "3", "-b", PEOPLE, "(objectClass=person)", "1.1")
    assert code == 4 and out.count("dn: ") == 3
    assert "cn:\n" in search(server, "-A", "-b", f"uid=user.1,{PEOPLE}", "cn")


def test_ldapsearch_controls(server):
    out = search(server, "-b", PEOPLE, "-e", "!assert=(ou=People)", "-s", "base", "1.1")
    assert out.startswith(f"dn: {PEOPLE}")
    code, _, err = ldap_tool(server, "ldapsearch", "-b", PEOPLE, "-e", "!assert=(ou=Other)", "-s", "base", "1.1")
    assert code == 122, err
    code, _, err = ldap_tool(server, "ldapsearch", "-b", PEOPLE, "-e", "!1.2.3.4", "-s", "base", "1.1")
    assert code == 12, err


def test_a_no_op_modify_changes_nothing(server):
    change = f"dn: uid=user.19,{PEOPLE}\nchangetype: modify\nreplace: title\ntitle: Nothing\n"
    code, _, err = ldap_tool(server, "ldapmodify", "-e", "!noop", stdin=change)
    assert code != 0 and "No Operation (X) (16654)" in err, err
    assert "title: Nothing" not in search(server, "-b", f"uid=user.19,{PEOPLE}")


def test_ldapurl_and_extensible_filters(server):
    assert search(server, "-b", BASE, "(cn:2.5.13.5:=Nils Nettlefold)", "1.1").count("dn:") == 1
    assert search(server, "-b", BASE, "(cn:caseExactMatch:=nils nettlefold)", "1.1").count("dn:") == 0


def test_an_access_log_line_for_each_operation(server):  # S0-44
    search(server, "-b", BASE, "-s", "sub", "(uid=user.12)", "cn")
    line = re.compile(
        r"\[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] SEARCH (REQ )?conn=\d+ op=1 msgID=2 "
        r'base="dc=example,dc=com" scope=sub filter="\(uid=user\.12\)" attrs="cn"'
    )
    until(lambda: line.search(server.access_log()), say=lambda: server.access_log()[-2000:])
