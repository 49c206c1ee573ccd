//! OpenDJ: the state of accounts has the same names; policies of the configuration (`config.ldif`) have properties of
//! the same names.

use config::class;

use super::entry::{Entry, folded, quoted};
use super::report::{Fate, Report};

/// What OpenDJ shows and computes; a stored value would never be shown.
const COMPUTED: [&str; 2] = ["pwdPolicySubentry", "ds-pwp-password-expiration-time"];

/// State that means the same here.
const SAME: [&str; 13] = [
    "ds-pwp-password-policy-dn",
    "ds-pwp-account-disabled",
    "ds-pwp-account-expiration-time",
    "ds-pwp-last-login-time",
    "ds-pwp-password-changed-by-required-time",
    "ds-pwp-warned-time",
    "pwdChangedTime",
    "pwdAccountLockedTime",
    "pwdFailureTime",
    "pwdGraceUseTime",
    "pwdHistory",
    "pwdReset",
    "pwdPolicy",
];

/// Converts an entry.
pub fn convert(entry: &mut Entry, report: &mut Report) {
    for name in SAME {
        if entry.has(name) || (name == "pwdPolicy" && entry.has_class(name)) {
            report.note(Fate::Kept, name, "the same", entry.line);
        }
    }
    for name in COMPUTED {
        if !entry.take(name).is_empty() {
            report.note(Fate::Converted, name, "computed", entry.line);
        }
    }
    if !entry.take("ds-pwp-reset-time").is_empty() {
        report.note(Fate::LeftOut, "ds-pwp-reset-time", "pwdChangedTime says when a password was reset", entry.line);
    }
}

/// What the configuration says of policies, validators and generators.
pub fn read_configuration(entries: &[Entry], report: &mut Report) {
    for (object, below) in [
        ("password-validator", "cn=password validators,cn=config"),
        ("password-generator", "cn=password generators,cn=config"),
        ("password-policy", "cn=password policies,cn=config"),
    ] {
        for entry in entries {
            let Some((rdn, above)) = entry.dn.split_once(',') else { continue };
            let Some(name) = rdn.split_once('=').map(|(_, name)| name.trim()) else { continue };
            if folded(above) == below {
                command_for(object, name, entry, report);
            }
        }
    }
}

fn command_for(object: &str, name: &str, entry: &Entry, report: &mut Report) {
    let ending = format!("-{object}");
    // The kind that is named like the whole class, and those whose name is followed by it.
    let kind = entry.all("objectClass").find_map(|class| {
        let class = class.to_lowercase();
        let kind = class.strip_prefix("ds-cfg-")?;
        let named = [&ending, "-authentication-policy"].into_iter().find_map(|ending| kind.strip_suffix(ending));
        named.or((kind == object).then_some(object)).map(str::to_owned)
    });
    let Some(known) = class(object) else { return };
    // One kind has no name of its own.
    let variant = match known.variants {
        [only] => Some(only),
        all => all.iter().find(|variant| Some(variant.type_name) == kind.as_deref()),
    };
    let Some(variant) = variant else {
        return report.note(Fate::LeftOut, &entry.dn, "there is no such kind of object", entry.line);
    };
    let mut settings = String::new();
    for (attribute, value) in &entry.attributes {
        let Some(property) = attribute.to_lowercase().strip_prefix("ds-cfg-").map(str::to_owned) else { continue };
        if property == "java-class" {
            continue;
        }
        let value = String::from_utf8_lossy(value);
        // Other objects are named by their DN there, by their name here.
        let value = match value.strip_prefix("cn=").and_then(|rest| rest.split_once(',')) {
            Some((named, above)) if above.to_lowercase().ends_with("cn=config") => named.trim(),
            _ => value.trim(),
        };
        if variant.property(&property).is_some() {
            settings.push_str(&format!(" --set {}", quoted(&format!("{property}:{value}"))));
        } else {
            report.note(Fate::LeftOut, attribute, "the object has no such property here", entry.line);
        }
    }
    let option = object.rsplit('-').next().unwrap_or(object);
    let is_there = object == "password-policy" && name == "Default Password Policy";
    let verb = if is_there { format!("set-{object}-prop") } else { format!("create-{object}") };
    let kind = match known.variants {
        [_] if variant.type_name.is_empty() => String::new(),
        _ if is_there || variant.type_name == object => String::new(),
        _ => format!(" --type {}", variant.type_name),
    };
    report.note(Fate::Converted, object, "by the commands below", entry.line);
    report.command(format!("pando dsconfig {verb} --{option}-name {}{kind}{settings} --no-prompt", quoted(name)));
}
