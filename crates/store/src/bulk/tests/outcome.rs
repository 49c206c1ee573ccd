//! What an import refuses to do, and what it adds and counts.

use schema::NormalizedDn;

use super::*;

const BASE: &str = "dn: dc=example,dc=com\nobjectClass: domain\n";

#[test]
fn an_import_that_would_leave_nothing_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let reject_file = directory.path().join("rejected.ldif");
    import_with(directory.path(), PEOPLE, |_| {}).unwrap();
    let elsewhere = PEOPLE.replace("dc=example", "dc=wrong");
    let bad = format!("{elsewhere}\ndn: uid=x,ou=Nobody,dc=example,dc=com\nobjectClass: person\n");
    for (text, counts) in
        [(elsewhere.as_str(), (6, 0, 6)), ("", (0, 0, 0)), ("version: 1\n", (0, 0, 0)), (&bad, (7, 1, 6))]
    {
        let refused = import_with(directory.path(), text, |options| options.reject_file = Some(reject_file.clone()));
        let error = refused.unwrap_err();
        let BulkError::NothingLeft { processed, rejected, skipped } = &error else { panic!("{error}") };
        assert_eq!((*processed, *rejected, skipped.total()), counts);
        let sentence = error.to_string();
        assert!(sentence.contains("--clearBackend"), "{sentence}");
        assert_eq!(sentence.contains("6 not below a base DN of the backend"), counts.2 == 6, "{sentence}");
        assert_eq!(Opened::new(directory.path()).dns().len(), 6, "the old data serves on");
        assert!(!new_directory(&database_path(directory.path())).exists());
    }
    let summary = import_with(directory.path(), &elsewhere, |options| options.may_be_empty = true).unwrap();
    assert_eq!((summary.imported, summary.skipped.total()), (0, 6));
    assert_eq!(Opened::new(directory.path()).dns(), Vec::<String>::new());
}

#[test]
fn skipped_entries_are_counted_by_reason() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("{PEOPLE}\ndn: dc=example,dc=org\nobjectClass: domain\n");
    let summary = import_with(directory.path(), &text, |options| {
        options.selection.exclude_branches = vec!["ou=Groups,dc=example,dc=com".to_owned()];
        options.selection.exclude_filters =
            vec![Arc::new(|entry: &SelectedEntry<'_>| entry.dn.starts_with("uid=noah"))];
    });
    let reasons: Vec<_> = summary.unwrap().skipped.reasons().collect();
    assert_eq!(reasons, SkipReason::ALL.map(|reason| (reason, 1)));
}

/// Clients that synchronise by modifyTimestamp would never see entries that have none.
#[test]
fn who_made_an_entry_and_when_is_added_where_the_file_does_not_say() {
    let directory = tempfile::tempdir().unwrap();
    let stamps = ImportStamps { name: "cn=Importer".to_owned(), unix_seconds: 1_700_000_000 };
    import_with(directory.path(), PEOPLE, |options| options.stamps = Some(stamps.clone())).unwrap();
    let db = Opened::new(directory.path());
    let text = db.export_text();
    let maria = text.split("\n\n").find(|entry| entry.starts_with("dn: uid=maria")).unwrap();
    for line in [
        "createTimestamp: 20240229123456Z",
        "creatorsName: cn=Directory Manager",
        "modifyTimestamp: 20231114221320Z",
        "modifiersName: cn=Importer",
    ] {
        assert!(maria.lines().any(|own| own == line), "{line} is missing:\n{maria}");
    }
    let counted = |line: &str| text.lines().filter(|own| *own == line).count();
    assert_eq!((counted("creatorsName: cn=Importer"), counted("createTimestamp: 20231114221320Z")), (5, 5));
    assert_eq!(db.problems(), Vec::<String>::new());
    drop(db);
    import_with(directory.path(), PEOPLE, |options| {
        options.stamps = Some(stamps);
        options.selection.exclude_attributes = vec!["modifyTimestamp".to_owned()];
    })
    .unwrap();
    let text = Opened::new(directory.path()).export_text();
    assert!(!text.contains("modifyTimestamp") && text.contains("modifiersName: cn=Importer"), "{text}");
}

#[test]
fn entries_with_certain_attributes_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let text =
        format!("{BASE}aci: (targetattr=\"*\")(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///anyone\";)\n");
    let summary = import_with(directory.path(), &text, |options| {
        options.counted_attributes = vec!["aci".to_owned(), "pwdReset".to_owned(), "nosuch".to_owned()];
    });
    let counted = summary.unwrap().counted;
    assert_eq!(counted, [("aci".to_owned(), 1), ("pwdReset".to_owned(), 0), ("nosuch".to_owned(), 0)]);
}

/// Such an entry is found by searches and by no name: requests that name it go to the other backend.
#[test]
fn names_of_other_backends_are_refused_and_found() {
    let directory = tempfile::tempdir().unwrap();
    let other = "cn=Everyone,ou=Groups,dc=example,dc=com";
    let text = format!(
        "{PEOPLE}\ndn: {other}\nobjectClass: groupOfNames\ncn: Everyone\nmember: {other}\n\n\
         dn: cn=x,{other}\nobjectClass: device\ncn: x\n"
    );
    let rejected = directory.path().join("rejected.ldif");
    let others = vec![other.to_owned(), "dc=com".to_owned()];
    let summary = import_with(directory.path(), &text, |options| {
        options.other_base_dns.clone_from(&others);
        options.reject_file = Some(rejected.clone());
    });
    let summary = summary.unwrap();
    assert_eq!((summary.imported, summary.rejected, summary.skipped.total()), (6, 2, 0));
    let reasons = std::fs::read_to_string(rejected).unwrap().replace("\n ", "");
    assert_eq!(reasons.matches("the name belongs to another backend").count(), 2, "{reasons}");
    let found = |directory: &Path| {
        let db = Opened::new(directory);
        let base = NormalizedDn::parse(&Schema::standard(), other.as_bytes()).unwrap();
        db.problems_beside(&[base])
    };
    assert_eq!(found(directory.path()), Vec::<String>::new());
    import_with(directory.path(), &text, |_| {}).unwrap();
    let problems = found(directory.path());
    assert!(matches!(problems.as_slice(), [one] if one.contains("belongs to another backend")), "{problems:?}");
}

/// Below the empty base DN every name of one RDN is a base entry's.
#[test]
fn the_empty_base_dn_holds_what_no_other_backend_holds() {
    let directory = tempfile::tempdir().unwrap();
    let domain = |dn: &str, dc: &str| format!("dn: {dn}\nobjectClass: domain\ndc: {dc}\n\n");
    let text = [
        domain("dc=com", "com"),
        domain("dc=example,dc=com", "example"),
        domain("dc=deep,dc=none,dc=net", "deep"),
        domain("dc=org", "org"),
        domain("dc=Com", "com"),
        domain("dc=third,dc=org", "third"),
        domain("dc=other,dc=org", "other"),
        "dn:\nobjectClass: domain\ndc: x\n".to_owned(),
    ];
    let rejects = directory.path().join("rejects");
    let summary = import_with(directory.path(), &text.concat(), |options| {
        options.base_dns = vec![String::new()];
        options.other_base_dns = vec!["dc=other,dc=org".to_owned()];
        options.reject_file = Some(rejects.clone());
    })
    .unwrap();
    assert_eq!((summary.imported, summary.rejected), (4, 4));
    let reasons = std::fs::read_to_string(&rejects).unwrap();
    for reason in ["\"dc=deep,dc=none,dc=net\" has no parent", "\"dc=Com\" is there already", "to another backend"] {
        assert!(reasons.contains(reason), "{reasons}");
    }
    let opened = Opened::new(directory.path());
    assert_eq!(opened.dns(), ["dc=com", "dc=example,dc=com", "dc=org", "dc=third,dc=org"]);
    assert_eq!(opened.problems(), Vec::<String>::new());
    assert_eq!(opened.export_text().matches("dn: ").count(), 4);
}
