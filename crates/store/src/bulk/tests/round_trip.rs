//! Export, import, export: the same bytes. And what an export can leave out.

use std::io::Read;

use super::*;

fn group(members: usize) -> String {
    let mut text = format!("{PEOPLE}\ndn: cn=all,ou=Groups,dc=example,dc=com\nobjectClass: groupOfNames\ncn: all\n");
    for member in 0..members {
        text.push_str(&format!("member: uid=user.{member},ou=People,dc=example,dc=com\n"));
    }
    text.push_str(&format!("description: {}\nowner: cn=a\n", "long ".repeat(1000)));
    text
}

#[test]
fn exporting_importing_and_exporting_gives_the_same_bytes() {
    for text in [PEOPLE.to_owned(), group(3), group(400)] {
        let directory = tempfile::tempdir().unwrap();
        import_with(directory.path(), &text, |_| {}).unwrap();
        let db = Opened::new(directory.path());
        assert_eq!(db.problems(), Vec::<String>::new());
        let first = db.export_text();
        let folded =
            String::from_utf8(db.export(&ExportOptions { wrap_column: 30, ..ExportOptions::default() })).unwrap();
        db.close();
        assert!(folded.lines().all(|line| line.len() <= 30));
        for again in [first.clone(), folded] {
            let copy = tempfile::tempdir().unwrap();
            import_with(copy.path(), &again, |_| {}).unwrap();
            let copied = Opened::new(copy.path());
            assert_eq!(copied.export_text(), first);
            assert_eq!(copied.problems(), Vec::<String>::new());
        }
    }
}

#[test]
fn operational_attributes_are_kept_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    import_with(directory.path(), PEOPLE, |_| {}).unwrap();
    let text = Opened::new(directory.path()).export_text();
    for line in [
        "createTimestamp: 20240229123456Z\n",
        "creatorsName: cn=Directory Manager\n",
        "entryUUID: 0e2a0c0e-0000-4000-8000-00000000abcd\n",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{text}");
    }
    assert!(!text.contains("modifyTimestamp"), "an import invents no times");
}

#[test]
fn large_attributes_leave_the_record_and_come_back() {
    let directory = tempfile::tempdir().unwrap();
    import_with(directory.path(), &group(400), |_| {}).unwrap();
    let db = Opened::new(directory.path());
    let record = db.view().entry(EntryId(7)).unwrap().unwrap();
    assert!(record.bytes().len() < 1_000, "members and the long description are elsewhere");
    assert_eq!(db.view().all_large_values().unwrap().count(), 401);
    assert_eq!(db.postings(db.index("member.distinguishedNameMatch")).len(), 400);
    assert_eq!(db.export_text().matches("\nmember: ").count(), 400);
}

#[test]
fn selections_and_compression() {
    let directory = tempfile::tempdir().unwrap();
    import_with(directory.path(), PEOPLE, |_| {}).unwrap();
    let db = Opened::new(directory.path());
    let mut options = ExportOptions { exclude_operational: true, compress: true, ..ExportOptions::default() };
    options.selection.include_branches = vec!["ou=people,dc=example,dc=com".to_owned()];
    options.selection.exclude_branches = vec!["uid=ida,ou=People,dc=example,dc=com".to_owned()];
    options.selection.include_attributes = vec!["name".to_owned()];
    options.selection.include_filters = vec![Arc::new(|entry: &SelectedEntry<'_>| entry.dn.starts_with("uid="))];
    let mut text = String::new();
    flate2::read::GzDecoder::new(&db.export(&options)[..]).read_to_string(&mut text).unwrap();
    let classes =
        "objectClass: inetOrgPerson\nobjectClass: top\nobjectClass: person\nobjectClass: organizationalPerson\n";
    let has_all_classes = |text: &str| classes.lines().all(|line| text.contains(line));
    let entries: Vec<&str> = text.trim_end().split("\n\n").collect();
    let [maria, noah] = entries.as_slice() else { panic!("{text}") };
    assert!(has_all_classes(maria) && has_all_classes(noah));
    assert!(maria.starts_with("dn: uid=maria,ou=People,dc=example,dc=com\n"));
    assert!(maria.ends_with("cn: Maria  Meier\ncn;lang-en: Mary Meier\nsn: Meier"), "{maria}");
    assert!(noah.ends_with("cn: Noah\nsn: Meier"), "{noah}");
}
