//! The tools as a person meets them: the command line, what they print, how they end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

mod place;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use place::{PANDO, Place};

const PEOPLE: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit
ou: People

dn: uid=ada,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: ada
cn: Ada Fernsby
sn: Fernsby
userPassword: a clear one
description:: Wm/Dqw==

dn: uid=bob,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: bob
cn: Bob Yarrow
sn: Yarrow
";

#[test]
fn a_command_line_without_sense_is_told_so_in_one_line() {
    let place = Place::new();
    for (line, message) in [
        ("stop now", "pando stop: \"now\" is not expected here"),
        ("help stopp", "pando: there is no tool \"stopp\""),
        ("backendstat list", "pando backendstat: there is no subcommand \"list\"; did you mean"),
        ("acces", "pando: there is no tool \"acces\"; did you mean \"access\"?"),
        ("stauts", "pando: there is no tool \"stauts\"; did you mean \"status\"?"),
        ("serv", "pando: there is no tool \"serv\"; did you mean \"serve\"?"),
        ("stop --tmeout 3", "pando stop: there is no option \"--tmeout\"; did you mean \"--timeout\"?"),
        ("export-ldif --instance x", "pando export-ldif: --ldifFile <FILE> is missing"),
        (
            "stop --timeout many",
            "pando stop: invalid value 'many' for '--timeout <SECONDS>': invalid digit found in string",
        ),
    ] {
        let done = place.run(line);
        assert_eq!((done.status, done.err.lines().count()), (2, 1), "{line}: {}", done.err);
        assert!(done.err.starts_with(message), "{line}: {}", done.err);
        assert!(done.err.ends_with("--help)\n"), "{line}: {}", done.err);
    }
    assert!(place.must("--version").out.starts_with("pando "));
    assert!(place.must("import-ldif -H").out.contains("--rejectFile"));
    assert_eq!(place.must("help import-ldif").out, place.must("import-ldif --help").out);
    assert_eq!(place.must("help backendstat dump-index").out, place.must("backendstat dump-index --help").out);
}

#[test]
fn tools_without_an_instance_say_how_to_make_one() {
    let place = Place::new();
    for tool in [
        "start",
        "stop",
        "status",
        "import-ldif -l x",
        "export-ldif -l x",
        "rebuild-index -b dc=a --rebuildAll",
        "verify-index -b dc=a",
        "backendstat list-backends",
    ] {
        let name = tool.split(' ').next().unwrap();
        place.refuses(
            &format!("{tool} --instance no"),
            &format!("pando {name}: there is no instance in no: make one with pando setup --instance no"),
        );
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "a refusal leaves nothing behind");
}

#[test]
fn setup_refuses_what_cannot_work() {
    let place = Place::new();
    let setup = |more: &str| format!("setup --instance inst --no-prompt {more}");
    place.refuses(
        &setup(""),
        "pando setup: the root user needs a password: give --rootUserPasswordFile FILE or --rootUserPassword PASSWORD",
    );
    place.refuses(&setup("-w short"), "pando setup: the root user's password has 5 bytes; at least 8 are needed");
    place.refuses(
        &setup("-w secret12 -b example.com"),
        "pando setup: \"example.com\" is not a DN such as dc=example,dc=com",
    );
    place.refuses(&setup("-w secret12 -D ''"), "pando setup: \"\" is not a DN such as dc=example,dc=com");
    place.refuses(
        &setup("-w secret12 --skipPortCheck -p 1389 -Z 1389"),
        "pando setup: port 1389 is given for both LDAP and LDAPS: choose two ports",
    );
    place.refuses(
        &setup(
            "-w secret12 --skipPortCheck -b uid=x -d \
        1",
        ),
        "pando setup: no entry can be made for \"uid=x\": uid names no class of entries known here; import its \
            entry from LDIF",
    );
    assert!(!place.path().join("inst").exists(), "a refusal leaves nothing behind");
    place.setup();
    place.refuses(
        &setup("-w secret12"),
        "pando setup: inst has an instance already (inst/pando.toml); choose another --instance",
    );
}

#[test]
fn setup_keeps_secrets_from_other_users_and_out_of_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("pw", "from a file\n");
    place.must("setup --instance inst -j pw --no-prompt --skipPortCheck");
    let mode = |name: &str| fs::metadata(place.path().join("inst").join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("pando.toml"), mode("keys"), mode("keys/server.key"), mode("db")], [0o600, 0o700, 0o600, 0o700]);
    let text = place.read("inst/pando.toml");
    assert!(!text.contains("from a file"));
    let encoded = text.lines().find_map(|line| line.strip_prefix("password = ")).unwrap().trim_matches('"');
    assert!(encoded.starts_with("{SSHA512}"), "{encoded}");
    place.must(&format!("encode-password -c 'from a file' -e '{encoded}'"));
}

#[test]
fn faults_of_the_configuration_come_all_at_once_with_their_places() {
    let place = Place::new();
    place.setup();
    let text = place.read("inst/pando.toml");
    let faulty =
        text.replace("listen-port = 1389", "listen-port = 0").replace("#size-limit = 1000", "sise-limit = 1000");
    place.write("inst/pando.toml", &faulty);
    let line_of = |what: &str| faulty.lines().position(|line| line.starts_with(what)).unwrap() + 1;
    let (first, second) = (line_of("sise-limit"), line_of("listen-port = 0"));
    place.refuses(
        "start --instance inst",
        &format!(
            "pando start: inst/pando.toml:{first}:1: unknown property \"sise-limit\" in [global]: did you mean \
             size-limit, time-limit?\n\
             pando start: inst/pando.toml:{second}:15: \"listen-port\" is 0; it must be a whole number from 1 to 65535"
        ),
    );
}

#[test]
fn what_is_imported_is_exported_and_found_by_its_indexes() {
    let place = Place::new();
    place.setup();
    place.write("people.ldif", PEOPLE);
    let done = place.must("import-ldif --instance inst --backendID userRoot --ldifFile people.ldif --offline");
    assert!(
        done.out.starts_with("Processed 4 entries, imported 4, skipped 0, rejected 0 and migrated 0 in "),
        "{}",
        done.out
    );
    assert!(place.must("verify-index --instance inst -b dc=example,dc=com").out.ends_with(": no problem found\n"));
    place.must("export-ldif --instance inst -n userRoot -l one.ldif --offline");
    let one = place.read("one.ldif");
    assert!(one.contains("\nuserPassword: {SSHA512}") && one.contains("\ndescription:: Wm/Dqw==\n"), "{one}");
    place.must("import-ldif --instance inst -l one.ldif");
    place.must("export-ldif --instance inst -l two.ldif");
    assert_eq!(one, place.read("two.ldif"));
    let filtered = place.must("export-ldif --instance inst -l - -I '(&(sn=fern*)(!(cn=bob*)))' -i cn -O").out;
    assert_eq!(
        filtered.lines().filter(|line| !line.starts_with("objectClass: ")).collect::<Vec<_>>(),
        ["dn: uid=ada,ou=People,dc=example,dc=com", "cn: Ada Fernsby", ""]
    );
    let branch = place
        .must(
            "export-ldif --instance inst -l - -b ou=People,dc=example,dc=com -B \
        uid=ada,ou=People,dc=example,dc=com -i uid",
        )
        .out;
    assert_eq!(branch.lines().filter(|line| line.starts_with("dn: ")).count(), 2, "{branch}");
}

#[test]
fn bad_entries_stop_an_import_unless_there_is_a_place_for_them() {
    let place = Place::new();
    place.setup();
    place.write("people.ldif", PEOPLE);
    place.must("import-ldif --instance inst -l people.ldif");
    place
        .write("bad.ldif", &format!("{PEOPLE}\ndn: cn=x,dc=example,dc=com\nobjectClass: device\ncn: x\nnonsense: y\n"));
    let done = place.run("import-ldif --instance inst -l bad.ldif");
    assert_eq!(done.status, 1);
    assert!(done.err.starts_with("pando import-ldif: bad.ldif:23: ") && done.err.contains("nonsense"), "{}", done.err);
    assert!(place.must("export-ldif --instance inst -l -").out.contains("uid=bob"), "the old data is there");
    let done = place.run("import-ldif --instance inst -l bad.ldif -R rejects --countRejects");
    assert_eq!(done.status, 1, "{}", done.err);
    assert!(done.out.contains("imported 4, skipped 0, rejected 1"), "{}", done.out);
    assert!(place.read("rejects").contains("dn: cn=x,dc=example,dc=com"));
}

/// Otherwise a mistyped suffix costs all entries and their history, with status 0.
#[test]
fn an_import_that_would_leave_nothing_is_refused() {
    let place = Place::new();
    place.setup();
    place.write("people.ldif", PEOPLE);
    place.must("import-ldif --instance inst -l people.ldif");
    place.write("wrong.ldif", &PEOPLE.replace("dc=example", "dc=wrong"));
    place.write("empty.ldif", "");
    for (file, counts) in [
        ("wrong.ldif", "of 4 entries 0 were rejected and 4 skipped (4 not below a base DN of the backend)"),
        ("empty.ldif", "of 0 entries 0 were rejected and 0 skipped; nothing was changed"),
    ] {
        let done = place.run(&format!("import-ldif --instance inst -l {file}"));
        assert_eq!((done.status, done.err.lines().count()), (1, 1), "{}", done.err);
        let begin = "pando import-ldif: the backend would be empty afterwards: ";
        assert!(
            done.err.starts_with(&format!("{begin}{counts}")) && done.err.contains("--clearBackend"),
            "{}",
            done.err
        );
        assert!(place.must("export-ldif --instance inst -l -").out.contains("uid=bob"), "the old data is there");
    }
    let done = place.must("import-ldif --instance inst -l wrong.ldif --clearBackend");
    assert!(
        done.out.contains("skipped 4") && done.out.contains("Skipped entries: 4 not below a base DN"),
        "{}",
        done.out
    );
    assert_eq!(place.must("export-ldif --instance inst -l -").out.matches("dn: ").count(), 0);
}

#[test]
fn imported_entries_say_when_they_were_made() {
    let place = Place::new();
    place.setup();
    place.write("people.ldif", PEOPLE);
    let made = ["createTimestamp: ", "modifyTimestamp: ", "creatorsName: cn=Directory Manager", "modifiersName: "];
    for (option, expected) in [("", 4), ("--noLastMod", 0)] {
        place.must(&format!("import-ldif --instance inst -l people.ldif {option}"));
        let text = place.must("export-ldif --instance inst -l -").out;
        for line in made {
            assert_eq!(text.lines().filter(|own| own.starts_with(line)).count(), expected, "{line} {option}:\n{text}");
        }
    }
}

#[test]
fn base_dns_backends_and_filters_that_do_not_exist_are_named() {
    let place = Place::new();
    place.setup();
    for (line, message) in [
        (
            "verify-index -b dc=other",
            "pando verify-index: no backend has the base DN \"dc=other\"; there are dc=example,dc=com",
        ),
        ("verify-index -b nonsense", "pando verify-index: \"nonsense\" is not a DN: "),
        ("backendstat list-indexes -n other", "pando backendstat: there is no backend \"other\"; there is userRoot"),
        (
            "export-ldif -l x -n userRoot",
            "pando export-ldif: the backend \"userRoot\" has no data yet: import some, or start the server once",
        ),
        ("export-ldif -l x -i nosuch", "pando export-ldif: the schema has no attribute \"nosuch\""),
        ("import-ldif -l nowhere.ldif", "pando import-ldif: cannot read nowhere.ldif: "),
        ("import-ldif -l x -I '(cn=a'", "pando import-ldif: \"(cn=a\" is not a filter: "),
        ("rebuild-index -b dc=example,dc=com -i nosuch", "pando rebuild-index: there is no index \"nosuch\""),
        (
            "verify-index -b dc=example,dc=com -c -i cn -i sn",
            "pando verify-index: only one index at a time may be verified with --clean: give one --index",
        ),
        ("index-advice", "pando index-advice: no server runs on inst: start it with pando start --instance inst"),
        ("stop", "pando stop: no server is running on inst"),
    ] {
        if line.starts_with("import-ldif -l x") {
            place.write("x", PEOPLE);
        }
        let done = place.run(&format!("{line} --instance inst"));
        assert_eq!((done.status, done.err.lines().count()), (1, 1), "{line}: {}", done.err);
        assert!(done.err.starts_with(message), "{line}: {}", done.err);
    }
}

// S0-24
#[test]
fn backendstat_prints_the_tables_of_its_namesake() {
    let place = Place::new();
    place.must("setup --instance inst -w secret12 --no-prompt --skipPortCheck --sampleData 20 --quiet");
    assert_eq!(
        place.must("backendstat list-backends --instance inst").out,
        "Backend ID  Storage\n-------------------\nuserRoot    LMDB\n\nTotal: 1\n"
    );
    assert_eq!(
        place.must("backendstat list-base-dns -n userRoot --instance inst").out,
        "Base DN\n-----------------\ndc=example,dc=com\n\nTotal: 1\n"
    );
    // S0-26: columns, the tree's rows, one row an index, the total. 20 people, 1 group, 3 entries above them.
    let link = place.path().join("backendstat");
    symlink(PANDO, &link).unwrap();
    let table = place
        .run_program(&link, &["list-indexes", "--instance", "inst", "-b", "dc=example,dc=com", "-n", "userRoot"])
        .out;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0].join(" "), "Index Name Raw DB Name Type Record Count");
    assert_eq!(rows[2], ["dn2id", "/dc=com,dc=example/dn2id", "DN2ID", "24"]);
    assert_eq!(rows[3], ["id2entry", "/dc=com,dc=example/id2entry", "ID2Entry", "24"]);
    let count = |name: &str| rows.iter().find(|row| row.first() == Some(&name)).and_then(|row| row.last()).copied();
    assert_eq!(count("uid.caseIgnoreMatch"), Some("20"));
    assert_eq!(count("member.distinguishedNameMatch"), Some("5"));
    assert_eq!(count("aci.presence"), Some("0"));
    assert!(table.ends_with("\n\nTotal: 23\n"), "{table}");
}

#[test]
fn an_index_can_be_made_anew() {
    let place = Place::new();
    place.must("setup --instance inst -w secret12 --no-prompt --skipPortCheck --sampleData 20 --quiet");
    let text = place.read("inst/pando.toml");
    place.write(
        "inst/pando.toml",
        &text.replace("[backend.userRoot.index]\n", "[backend.userRoot.index]\nl = { index-type = \"equality\" }\n"),
    );
    // The backend has not heard of it yet, so it cannot be wrong.
    let done = place.must("verify-index --instance inst -b dc=example,dc=com");
    assert!(done.out.contains("index l.caseIgnoreMatch: invalid (being built: 0 of 24 entries)"), "{}", done.out);
    let done = place.must("rebuild-index --instance inst -b dc=example,dc=com --rebuildDegraded");
    assert!(
        done.out.starts_with("Rebuilt l.caseIgnoreMatch.\nRebuild complete. Processed 24 entries in "),
        "{}",
        done.out
    );
    place.must("verify-index --instance inst -b dc=example,dc=com");
    place.must("rebuild-index --instance inst -b dc=example,dc=com --rebuildAll");
    place.must("verify-index --instance inst -b dc=example,dc=com");
}

#[test]
fn sample_data_is_the_same_for_the_same_seed() {
    let place = Place::new();
    let make = |name: &str, seed: &str| {
        let done = place.must(&format!("makeldif -s {seed} -c numusers=30 -c numgroups=2 -o {name}"));
        assert_eq!(done.err, "LDIF processing complete. 35 entries written\n");
        place.read(name)
    };
    assert_eq!(make("a", "5"), make("b", "5"));
    assert_ne!(make("a", "5"), make("c", "6"));
    place.write("t.template", "branch: dc=x\nsubordinateTemplate: y:1\n");
    place.refuses("makeldif t.template", "pando makeldif: t.template:2: there is no template \"y\"");
    place.refuses(
        "makeldif gone.template",
        "pando makeldif: cannot read gone.template: No such file or directory (os error 2)",
    );
    // A template may be imported without a file in between.
    place.setup();
    place.write(
        "t.template",
        &place
            .must("makeldif --exampleTemplate")
            .out
            .replace("numusers=10000", "numusers=3")
            .replace("numgroups=100", "numgroups=0"),
    );
    assert!(place.must("import-ldif --instance inst -A t.template -s 1").out.contains("imported 6,"));
}

#[test]
fn passwords_are_encoded_and_compared() {
    let place = Place::new();
    assert!(place.must("encode-password -l").out.lines().any(|line| line == "Salted SHA-512       {SSHA512}"));
    // S0-50: every scheme that the list names encodes, and what it encodes matches.
    let listed = place.must("encode-password -l").out;
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_once("  ")).map(|(name, _)| name).collect();
    assert_eq!(names.len(), listed.lines().count());
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    for scheme in quoted.iter().map(String::as_str).chain(["SSHA512", "pbkdf2-hmac-sha256"]) {
        let done = place.must(&format!("encode-password -s {scheme} -c tree"));
        let encoded = done
            .out
            .trim()
            .strip_prefix("Encoded Password:  \"")
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap()
            .to_owned();
        assert_eq!(
            place.must(&format!("encode-password -c tree -e '{encoded}'")).out,
            "The provided clear-text and encoded passwords match\n"
        );
        let differs = place.run(&format!("encode-password -c leaf -e '{encoded}'"));
        assert_eq!(
            (differs.status, differs.out.as_str()),
            (1, "The provided clear-text and encoded passwords do not match\n")
        );
        assert_eq!(place.run(&format!("encode-password -r -c tree -e '{encoded}'")).status, 6);
        assert_eq!(place.run(&format!("encode-password -r -c leaf -e '{encoded}'")).status, 5);
    }
    let encrypted = "{AES}AQARIjNEVWZ3iJmqu8zd7v/IycrLzM3Oz9DR0tPU1dbXjI4tGt4YWlA=";
    place.refuses(
        &format!("encode-password -c password -e '{encrypted}'"),
        "pando encode-password: no password matches the encoded one: it is encrypted with the key \
         00112233-4455-6677-8899-aabbccddeeff, which is not in the server's file of keys",
    );
    place.write("keys", "00112233-4455-6677-8899-aabbccddeeff AES/CFB/NoPadding 01080f161d242b323940474e555c636a\n");
    let matches = place.run(&format!("encode-password -r -c password -e '{encrypted}' --symmetricKeyFile keys"));
    assert_eq!(matches.status, 6);
    place.write("keys", "\n00112233-4455-6677-8899-aabbccddeeff AES/CFB/NoPadding\n");
    place.refuses(
        &format!("encode-password -r -c password -e '{encrypted}' --symmetricKeyFile keys"),
        "pando encode-password: keys: line 2: a key is written as KEY-ID TRANSFORMATION KEY, with blanks between",
    );
    place.refuses(
        "encode-password -s ROT13 -c tree",
        "pando encode-password: there is no storage scheme \"ROT13\": pando encode-password -l lists them",
    );
    place.refuses(
        "encode-password -c tree",
        "pando encode-password: say how to encode with -s SCHEME (-l lists them), or what to compare with -e PASSWORD",
    );
}

#[test]
fn completions_and_man_pages_cover_every_tool() {
    let place = Place::new();
    assert!(place.must("completions bash").out.contains("import-ldif"));
    place.must("man-pages man");
    assert!(place.read("man/pando-import-ldif.1").contains("rejectFile"));
}

#[test]
fn a_reader_that_goes_early_is_no_fault() {
    let place = Place::new();
    place.write("people.ldif", PEOPLE);
    place.setup().must("import-ldif --instance inst --ldifFile people.ldif --quiet");
    for line in [
        "--help",
        "completions bash",
        "completions zsh",
        "makeldif",
        "makeldif --exampleTemplate",
        "status --instance inst",
        "export-ldif --instance inst --ldifFile -",
        "backendstat list-indexes --instance inst",
        "backendstat dump-index --instance inst -b dc=example,dc=com -i id2entry",
        "dsconfig list-backends --instance inst",
        "verify-index --instance inst -b dc=example,dc=com",
        "encode-password --listSchemes",
    ] {
        let command = |writer: &std::io::PipeWriter| {
            let mut command = Command::new(PANDO);
            command.args(line.split(' ')).current_dir(place.path()).stdout(writer.try_clone().unwrap());
            command
        };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let tool = command(&writer).output().unwrap();
        assert_eq!((tool.status.code(), String::from_utf8_lossy(&tool.stderr).trim()), (Some(0), ""), "{line}");
        let tool = command(&writer).stderr(writer).status().unwrap();
        assert_eq!(tool.code(), Some(0), "{line}");
    }
    // The status of a tool that fails is its own, also when nobody reads its message.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let tool = Command::new(PANDO).args(["stop", "--instance", "no"]).stderr(writer).output().unwrap();
    assert_eq!(tool.status.code(), Some(1));
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let place = Place::new();
    place.setup();
    for line in ["status --instance inst", "completions bash", "export-ldif --instance inst --ldifFile -"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let words = line.split(' ');
        let tool = Command::new(PANDO).args(words).current_dir(place.path()).stdout(full).output().unwrap();
        let told = String::from_utf8_lossy(&tool.stderr);
        assert_eq!((tool.status.code(), told.lines().count()), (Some(1), 1), "{line}: {told}");
    }
}

#[test]
fn a_link_is_named_like_a_tool() {
    let place = Place::new();
    for name in ["backendstat", "dsconfig", "ldapsetup"] {
        symlink(PANDO, place.path().join(name)).unwrap();
    }
    let run = |name: &str, arguments: &[&str]| place.run_program(&place.path().join(name), arguments);
    assert_eq!(run("backendstat", &["--help"]).out, place.must("backendstat --help").out);
    let usage = run("dsconfig", &["get-backend-prop", "--help"]).out;
    assert!(usage.contains("Usage: pando dsconfig get-backend-prop "), "{usage}");
    let unknown = run("ldapsetup", &["--help"]);
    assert_eq!((unknown.status, unknown.out.as_str(), unknown.err.lines().count()), (2, "", 1));
    assert!(
        unknown
            .err
            .starts_with("ldapsetup: pando has no tool of this name; name the link like one of quickstart, setup,")
    );
}

/// Ports that were free a moment ago; both are held open together so that they differ.
fn free_ports() -> [u16; 2] {
    let sockets = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    sockets.each_ref().map(|socket| socket.local_addr().unwrap().port())
}

#[test]
fn a_server_starts_serves_beside_the_tools_and_stops() {
    let place = Place::new();
    let [ldap, ldaps] = free_ports();
    place.must(&format!("setup --instance inst -w secret12 --no-prompt -p {ldap} -Z {ldaps} --sampleData 20 --quiet"));
    let status = |place: &Place| {
        serde_json::from_str::<serde_json::Value>(&place.must("status --instance inst --json").out).unwrap()
    };
    assert_eq!(status(&place)["running"], false);
    let done = place.must("start --instance inst --detach");
    assert!(
        done.out.contains(&format!("ldap://127.0.0.1:{ldap}, ldaps://127.0.0.1:{ldaps}, ldapi://")),
        "{}",
        done.out
    );
    let process = status(&place)["process"].as_u64().unwrap();
    let _client = std::net::TcpStream::connect(("127.0.0.1", ldap)).unwrap();
    let now = status(&place);
    assert_eq!(
        (&now["running"], &now["connections"], &now["backends"][0]["entries"]),
        (&true.into(), &1.into(), &24.into())
    );
    place.refuses(
        "start --instance inst",
        &format!("pando start: process {process} already serves this instance (it holds inst/logs/server.pid)"),
    );
    place.write("people.ldif", PEOPLE);
    for (tool, instead) in [
        ("import-ldif -l people.ldif", "or add the entries through it with ldapadd"),
        ("rebuild-index -b dc=example,dc=com --rebuildAll --offline", "then rebuild"),
    ] {
        let name = tool.split(' ').next().unwrap();
        place.refuses(
            &format!("{tool} --instance inst"),
            &format!(
                "pando {name}: a server or tool (process {process}) is working on inst: stop it with pando stop \
                --instance inst, {instead}"
            ),
        );
    }
    place.must("export-ldif --instance inst -l out.ldif");
    place.must("verify-index --instance inst -b dc=example,dc=com");
    place.must("backendstat list-indexes --instance inst -n userRoot");
    assert_eq!(place.must("stop --instance inst").out, format!("The server (process {process}) has stopped.\n"));
    assert_eq!(status(&place)["running"], false);
    place.refuses("stop --instance inst", "pando stop: no server is running on inst");
}

#[test]
fn a_detached_start_that_fails_says_why() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let [_, ldaps] = free_ports();
    place.must(&format!("setup --instance inst -w secret12 --no-prompt -p {port} -Z {ldaps} --skipPortCheck --quiet"));
    let done = place.run("start --instance inst --detach");
    assert_eq!((done.status, done.err.lines().count()), (1, 1), "{}", done.err);
    assert!(done.err.starts_with(&format!("pando start: cannot listen on 127.0.0.1:{port}: ")), "{}", done.err);
}
