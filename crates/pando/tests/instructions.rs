//! Access control instructions in the hands of the tools.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

mod place;

use place::Place;

/// A tree whose base entry holds `aci`.
fn tree(aci: &str) -> String {
    format!("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\naci: {aci}\n")
}

const BODY: &str = "(version 3.0; acl \"a\"; allow (read,search) userdn=\"ldap:///all\";)";

#[test]
fn an_import_refuses_instructions_that_are_not_valid_with_their_line() {
    let place = Place::new();
    place.setup();
    place.write("bad.ldif", &tree(&format!("(targetatr=\"cn\"){BODY}")));
    let why = "entry \"dc=example,dc=com\": value of aci: not a valid access control instruction: at character 2: \
               \"targetatr\" is not the keyword of a target, or version; did you mean targetattr, target_to, target?";
    for options in ["", " --skipSchemaValidation"] {
        let line = format!("import-ldif --instance inst -l bad.ldif --quiet{options}");
        place.refuses(&line, &format!("pando import-ldif: bad.ldif:4: {why}"));
    }
    place.write("elsewhere.ldif", &tree(&format!("(target=\"ldap:///dc=elsewhere\"){BODY}")));
    place.refuses(
        "import-ldif --instance inst -l elsewhere.ldif --quiet",
        "pando import-ldif: elsewhere.ldif:4: entry \"dc=example,dc=com\": value of aci: the target \
         \"ldap:///dc=elsewhere\" of the access control instruction \"a\" is not at or below the entry that holds it; \
         put the instruction on that entry, or leave the target out",
    );
}

#[test]
fn an_import_refuses_names_that_are_no_privileges_with_their_line() {
    let place = Place::new();
    place.setup();
    let tree = tree("").replace("aci: ", "ds-privilege-name: bypas-acl");
    place.write("bad.ldif", &tree);
    let why = "entry \"dc=example,dc=com\": value of ds-privilege-name: \"bypas-acl\" is not a privilege: did you mean \
               bypass-acl? (see docs/reference/access-rights.md)";
    for options in ["", " --skipSchemaValidation"] {
        let line = format!("import-ldif --instance inst -l bad.ldif --quiet{options}");
        place.refuses(&line, &format!("pando import-ldif: bad.ldif:4: {why}"));
    }
    place.write("good.ldif", &tree.replace("bypas-acl", "-BYPASS-acl"));
    place.must("import-ldif --instance inst -l good.ldif --quiet");
}

#[test]
fn an_import_gives_values_the_quotation_marks_that_other_servers_do_not_ask_for() {
    let place = Place::new();
    place.setup();
    place.write("old.ldif", &tree(&format!("(TargetAttr = cn || sn){BODY}")));
    let done = place.must("import-ldif --instance inst -l old.ldif --quiet");
    assert!(done.err.contains("values without quotation marks: 1; they are stored with"), "{}", done.err);
    let exported = place.must("export-ldif --instance inst -l - --wrapColumn 0").out;
    let stored = format!("aci: (targetattr=\"cn || sn\"){BODY}\n");
    assert!(exported.contains(&stored), "{exported}");
    // What is valid is stored as it was written.
    let valid = tree(&format!("( TargetAttr = \"cn||sn\" ) {BODY}"));
    place.write("valid.ldif", &valid);
    assert!(!place.must("import-ldif --instance inst -l valid.ldif --quiet").err.contains("quotation marks"));
    let exported = place.must("export-ldif --instance inst -l - --wrapColumn 0").out;
    assert!(exported.contains(&format!("aci: ( TargetAttr = \"cn||sn\" ) {BODY}\n")), "{exported}");
}

#[test]
fn lint_looks_at_the_configuration_and_at_every_entry() {
    let place = Place::new();
    place.setup();
    let none = place.must("access lint --instance inst --fail-on error").out;
    assert!(none.contains("errors: 0, warnings: 0"), "{none}");
    place.write("tree.ldif", &tree(&format!("(targetattr=\"*\"){}", BODY.replace("///all", "///anyone"))));
    place.must("import-ldif --instance inst -l tree.ldif --quiet");
    let global = "(targetattr=\"cn\")(version 3.0; acl \"\"; allow (write) userdn!=\"ldap:///self\";)";
    let configuration = format!("{}\n[access-control-handler]\nglobal-aci = [{global:?}]\n", without_handler(&place));
    place.write("inst/pando.toml", &configuration);
    let done = place.run("access lint --instance inst");
    assert_eq!(done.status, 1, "{}", done.err);
    let places: Vec<&str> = done.out.lines().filter(|line| line.contains(" number ")).collect();
    assert_eq!(places, ["global-aci number 1 of the configuration", "aci number 1 of \"dc=example,dc=com\""]);
    assert!(done.out.ends_with("Instructions: 2; errors: 0, warnings: 2, notes: 0\n"), "{}", done.out);
    assert_eq!(place.run("access lint --instance inst --fail-on error").status, 0);
    let json: serde_json::Value = serde_json::from_str(
        &place.must("access lint --instance inst --json --ignore anyone-sees-passwords --fail-on error").out,
    )
    .unwrap();
    let [only] = json["findings"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!((&only["kind"], &only["severity"]), (&"negation-admits-anonymous".into(), &"warning".into()));
    assert_eq!((&only["part"], &json["instructions"]), (&"userdn!=\"ldap:///self\"".into(), &2.into()));
}

#[test]
fn a_rehearsal_says_what_lint_finds_in_the_change_alone() {
    let place = Place::new();
    place.setup();
    place.write("tree.ldif", &tree(&format!("(targetattr=\"*\"){BODY}")));
    place.must("import-ldif --instance inst -l tree.ldif --quiet");
    place.write("access.log", "");
    let text = "(targetattr=\"emial\")(version 3.0; acl \"new\"; deny (read,search) \
                groupdn!=\"ldap:///cn=gone,dc=example,dc=com\";)";
    let change = format!("dn: dc=example,dc=com\nchangetype: modify\nadd: aci\naci: {text}\n");
    place.write("change.ldif", &change);
    let line = "access rehearse change.ldif --instance inst --log access.log";
    let done = place.must(line);
    for finding in [
        "  warning: the schema has no attribute emial [unknown-attribute]\n",
        "  warning: there is no entry \"cn=gone,dc=example,dc=com\", so nobody is a member of it, and this denies \
         everybody [missing-entry]\n",
        "aci number 2 of \"dc=example,dc=com\"\n",
    ] {
        assert!(done.out.contains(finding), "{}", done.out);
    }
    assert!(!done.out.contains("users-see-passwords"), "it is no part of the change: {}", done.out);
    let json: serde_json::Value = serde_json::from_str(&place.must(&format!("{line} --json")).out).unwrap();
    let kinds: Vec<_> = json["findings"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["unknown-attribute", "missing-entry"]);
    let clean = change.replace("emial", "mail").replace("groupdn!=\"ldap:///cn=gone,dc=example,dc=com\"", "ssf=\"0\"");
    place.write("change.ldif", &clean);
    let done = place.must(line);
    assert!(!done.out.contains("lint finds"), "{}", done.out);
}

/// The configuration that `setup` wrote, without its instructions.
fn without_handler(place: &Place) -> String {
    let text = place.read("inst/pando.toml");
    let Some((before, rest)) = text.split_once("[access-control-handler]") else { return text };
    let after = rest.split_once("\n[").map_or(String::new(), |(_, after)| format!("[{after}"));
    format!("{before}{after}")
}

#[test]
fn every_kind_of_finding_is_documented() {
    let place = Place::new();
    let said = place.run("access lint --ignore nothing").err;
    let (_, kinds) = said.split_once("[possible values: ").unwrap();
    let kinds: Vec<&str> = kinds.split_once(']').unwrap().0.split(", ").collect();
    assert!(kinds.len() > 10, "{said}");
    let page = include_str!("../../../docs/access-lint.md");
    for kind in kinds {
        assert!(page.contains(&format!("| `{kind}` |")), "{kind}");
    }
}
