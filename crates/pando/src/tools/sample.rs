//! Base entries and sample data for new instances.

use crate::failure::Failure;
use crate::makeldif::{EXAMPLE_TEMPLATE, Entry, Generator, LdifWriter, Resources, TemplateFile};

/// What decides on everything random in the sample data of `setup`, so that every sample instance is the same.
const SEED: u64 = 20_260_101;

/// The structural class of an entry that is named by an attribute.
fn class_of(attribute: &str) -> Option<&'static str> {
    Some(match attribute.to_ascii_lowercase().as_str() {
        "dc" => "domain",
        "o" => "organization",
        "ou" => "organizationalUnit",
        "c" => "country",
        "l" | "st" => "locality",
        "cn" => "organizationalRole",
        _ => return None,
    })
}

/// LDIF of the entry with that DN.
pub fn base_entry(base_dn: &str) -> Result<String, Failure> {
    ldif(&format!("branch: {}\n{}", base_dn.replace('[', "\\["), classes(base_dn)?), &[])
}

/// LDIF of the base entry, `people` people and a hundredth as many groups.
pub fn people(base_dn: &str, people: u64) -> Result<String, Failure> {
    if base_dn.contains(['\\', '[', '<', '{']) {
        return Err(Failure::new(format_args!(
            "no sample data is made below \"{base_dn}\": the name has characters with a meaning in templates"
        )));
    }
    let template = EXAMPLE_TEMPLATE.replace("objectClass: top\nobjectClass: domain\n", &classes(base_dn)?);
    let fifth = |n: u64| format!("{}:{}", people * (n - 1) / 5, (people * n / 5).saturating_sub(1));
    let mut constants = vec![
        ("suffix".to_owned(), base_dn.to_owned()),
        ("maildomain".to_owned(), mail_domain(base_dn)),
        ("numusers".to_owned(), people.to_string()),
        // Fewer than five people do not fill a group.
        ("numgroups".to_owned(), if people < 5 { 0 } else { (people / 100).max(1) }.to_string()),
    ];
    constants.extend((1..=5).map(|n| (format!("fifth{n}"), if people < 5 { "0:0".to_owned() } else { fifth(n) })));
    ldif(&template, &constants)
}

fn classes(base_dn: &str) -> Result<String, Failure> {
    let attribute = base_dn.split('=').next().unwrap_or("").trim();
    let class = class_of(attribute).ok_or_else(|| {
        Failure::new(format_args!(
            "no entry can be made for \"{base_dn}\": {attribute} names no class of entries known \
            here; import its entry from LDIF"
        ))
    })?;
    Ok(format!("objectClass: top\nobjectClass: {class}\n"))
}

fn mail_domain(base_dn: &str) -> String {
    let parts: Vec<String> = base_dn
        .split(',')
        .filter_map(|rdn| rdn.trim().split_once('='))
        .filter(|(attribute, _)| attribute.trim().eq_ignore_ascii_case("dc"))
        .map(|(_, value)| value.trim().to_ascii_lowercase())
        .collect();
    if parts.is_empty() { "example.com".to_owned() } else { parts.join(".") }
}

fn ldif(template: &str, constants: &[(String, String)]) -> Result<String, Failure> {
    let file = TemplateFile::parse("sample", template, &Resources::default(), constants)?;
    let mut writer = LdifWriter::new(Vec::new(), 0);
    let made = Generator::new(&file, SEED).run(&mut |entry: &Entry| writer.entry(entry));
    let text = made.and_then(|_| writer.finish()).map_err(Failure::new)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_entry_fits_its_name() {
        assert_eq!(base_entry("o=Example\\, Inc [x]").unwrap().lines().nth(2), Some("objectClass: organization"));
        assert!(base_entry("o=Example\\, Inc [x]").unwrap().ends_with("\no: Example, Inc [x]\n\n"));
        assert_eq!(
            base_entry("dc=example,dc=com").unwrap(),
            "dn: dc=example,dc=com\nobjectClass: top\nobjectClass: domain\ndc: example\n\n"
        );
        assert!(base_entry("uid=x").is_err());
    }

    #[test]
    fn members_of_sample_groups_exist_and_differ() {
        for count in [0, 4, 5, 7, 250] {
            let text = people("o=Example", count).unwrap();
            let dns: std::collections::HashSet<&str> =
                text.lines().filter_map(|line| line.strip_prefix("dn: ")).collect();
            assert_eq!(dns.iter().filter(|dn| dn.starts_with("uid=")).count() as u64, count);
            for group in text.split("\n\n").filter(|entry| entry.contains("groupOfNames")) {
                let members: Vec<&str> = group.lines().filter_map(|line| line.strip_prefix("member: ")).collect();
                assert_eq!(members.len(), 5);
                assert!(members.iter().all(|member| dns.contains(member)), "{group}");
                assert_eq!(members.iter().collect::<std::collections::HashSet<_>>().len(), 5);
            }
        }
    }
}
