//! Access control instructions in the hands of the tools.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

mod place;

use place::Place;

/// A tree whose base entry holds `aci`.
fn tree(aci: &str) -> String {
    format!("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\naci: {aci}\n")
}

const BODY: &str = "(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\";)";

#[test]
fn an_import_refuses_instructions_that_are_not_valid_with_their_line() {
    let place = Place::new();
    place.setup();
    place.write("bad.ldif", &tree(&format!("(targetatr=\"cn\"){BODY}")));
    let why = "entry \"dc=example,dc=com\": value of aci: is not a valid access control instruction: at character 1: \
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
