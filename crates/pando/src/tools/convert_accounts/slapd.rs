//! OpenLDAP: the overlay ppolicy, `lastbind`, and the policies that are entries.

use super::entry::{Entry, folded};
use super::report::{Fate, Report};

/// State that means the same here.
const SAME: [&str; 11] = [
    "pwdChangedTime",
    "pwdAccountLockedTime",
    "pwdFailureTime",
    "pwdHistory",
    "pwdGraceUseTime",
    "pwdReset",
    "pwdStartTime",
    "pwdEndTime",
    "pwdLastSuccess",
    "pwdAccountTmpLockoutEnd",
    "nsAccountLock",
];

/// Attributes of policies that have no counterpart, and what does instead.
const POLICY_LEFT: [(&str, &str); 5] = [
    ("pwdCheckModule", "password validators of the configuration check instead"),
    ("pwdCheckModuleArg", "password validators of the configuration check instead"),
    ("pwdUseCheckModule", "password validators of the configuration check instead"),
    ("pwdDefaultHash", "default-password-storage-scheme of the configuration says it"),
    ("pwdRehashOnBind", "deprecated-password-storage-scheme of the configuration says it"),
];

/// Options of the overlay that have no counterpart.
const OVERLAY_LEFT: [(&str, &str); 6] = [
    ("olcPPolicyUseLockout", "who does not know the password is never told of a lock"),
    ("olcPPolicyForwardUpdates", "there are no read-only replicas"),
    ("olcPPolicyDisableWrite", "state-update-failure-policy says what happens without writes"),
    ("olcPPolicySendNetscapeControls", "they are sent to who does not ask for the control of the draft"),
    ("olcPPolicyCheckModule", "password validators of the configuration check instead"),
    ("olcPPolicyRules", "ds-pwp-password-policy-dn, given by a virtual attribute, chooses by group and filter"),
];

/// The policy of a database for entries that name none.
#[derive(Debug)]
pub struct DefaultPolicy {
    pub suffix: String,
    pub policy: String,
}

/// What the configuration (`slapcat -n 0`) says of policies.
pub fn read_configuration(entries: &[Entry], report: &mut Report) -> Vec<DefaultPolicy> {
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| entry.has_class("olcPPolicyConfig")) {
        for (name, what) in OVERLAY_LEFT {
            // FALSE is what happens here.
            if entry.all(name).any(|value| !value.eq_ignore_ascii_case("FALSE")) {
                report.note(Fate::LeftOut, name, what, entry.line);
            }
        }
        let Some(policy) = entry.first("olcPPolicyDefault") else { continue };
        let above = entry.dn.split_once(',').map(|(_, above)| folded(above));
        let database = entries.iter().find(|other| Some(folded(&other.dn)) == above);
        let suffixes: Vec<String> = database.map(|it| it.all("olcSuffix").collect()).unwrap_or_default();
        report.note(Fate::Converted, "olcPPolicyDefault", "a subentry says the same of the whole suffix", entry.line);
        found.extend(suffixes.into_iter().map(|suffix| DefaultPolicy { suffix, policy: policy.clone() }));
    }
    found
}

/// Converts an entry.
pub fn convert(entry: &mut Entry, report: &mut Report) {
    if entry.has_class("pwdPolicy") {
        policy(entry, report);
    }
    for name in SAME.into_iter().filter(|name| entry.has(name)) {
        report.note(Fate::Kept, name, "the same", entry.line);
    }
    if let Some(policy) = entry.take_first("pwdPolicySubentry") {
        report.note(Fate::Converted, "pwdPolicySubentry", "ds-pwp-password-policy-dn", entry.line);
        entry.put("ds-pwp-password-policy-dn", policy);
    }
    if let Some(time) = entry.take_first("authTimestamp") {
        if entry.has("pwdLastSuccess") {
            report.note(Fate::Converted, "authTimestamp", "pwdLastSuccess is there, too", entry.line);
        } else {
            report.note(Fate::Converted, "authTimestamp", "pwdLastSuccess", entry.line);
            entry.put("pwdLastSuccess", time);
        }
    }
}

/// What a policy does not say means "off" in slapd, and what the default policy says here.
fn policy(entry: &mut Entry, report: &mut Report) {
    let line = entry.line;
    report.note(Fate::Kept, "pwdPolicy", "the policy is for entries that name it", line);
    for (name, what) in POLICY_LEFT {
        if !entry.take(name).is_empty() {
            report.note(Fate::LeftOut, name, what, line);
        }
    }
    entry.drop_class("pwdPolicyChecker");
    entry.drop_class("pwdHashingPolicy");
    if let Some(limit) = entry.take_first("pwdGraceLoginLimit") {
        report.note(Fate::Converted, "pwdGraceLoginLimit", "pwdGraceAuthNLimit", line);
        entry.put("pwdGraceAuthNLimit", limit);
    }
    if !entry.has("pwdLockout") {
        report.note(Fate::Converted, "pwdLockout", "FALSE where it is not said, as in slapd", line);
        entry.put("pwdLockout", "FALSE");
    }
    if !entry.has("pwdCheckQuality") {
        report.note(Fate::Converted, "pwdCheckQuality", "0 where it is not said, as in slapd", line);
        entry.put("pwdCheckQuality", "0");
    }
    if entry.first("pwdExpireWarning").is_none_or(|warning| warning == "0") && entry.has("pwdMaxAge") {
        entry.take("pwdExpireWarning");
        report.note(Fate::LeftOut, "pwdExpireWarning", "none: the default policy's interval is in force", line);
    }
    if entry.has("pwdMaxAge") {
        let command = "pando dsconfig set-password-policy-prop --policy-name 'Default Password Policy' \
                       --set expire-passwords-without-warning:true --no-prompt";
        report.command(command.to_owned());
    }
}

/// The policy of a database as a subentry, which holds for all of its suffix; none if the file does not have it.
pub fn subentry(default: &DefaultPolicy, policies: &[Entry]) -> Option<Entry> {
    let source = policies.iter().find(|policy| folded(&policy.dn) == folded(&default.policy))?;
    let dn = format!("cn=Default Policy of slapd,{}", default.suffix);
    let mut entry = Entry { dn, line: source.line, attributes: Vec::new() };
    for class in ["top", "subentry", "pwdPolicy"] {
        entry.put("objectClass", class);
    }
    entry.put("cn", "Default Policy of slapd");
    entry.put("subtreeSpecification", "{ }");
    let says = source.attributes.iter().filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        name.starts_with("pwd") && !["pwdpolicysubentry", "pwdchangedtime"].contains(&name.as_str())
    });
    says.for_each(|(name, value)| entry.put(name, value.clone()));
    Some(entry)
}
