//! Bodies of mails: a text in which `%%…%%` stands for something of the event (OpenDJ's templates).

use accounts::AccountEvent;

/// What a template may name beside the event: attributes of the account's entry.
pub(super) trait Attributes {
    /// The first value of an attribute; empty when there is none.
    fn first(&self, name: &str) -> String;
}

/// A template, read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Kind,
    Message,
    UserDn,
    UserAttribute(String),
    Property(String),
}

const MARK: &str = "%%";

impl Template {
    /// Reads a template. What stands between two marks must be something that is known.
    pub(super) fn parse(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(MARK) {
            let (name, after) =
                after.split_once(MARK).ok_or_else(|| format!("a {MARK} has no second one that ends its name"))?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(match name.split_once(':') {
                None if name == "notification-type" => Part::Kind,
                None if name == "notification-message" => Part::Message,
                None if name == "notification-user-dn" => Part::UserDn,
                Some(("notification-user-attr", name)) if !name.is_empty() => Part::UserAttribute(name.to_owned()),
                Some(("notification-property", name)) if !name.is_empty() => Part::Property(name.to_owned()),
                _ => {
                    return Err(format!(
                        "{MARK}{name}{MARK} is not known: known are notification-type, notification-message, \
                         notification-user-dn, notification-user-attr:NAME and notification-property:NAME"
                    ));
                }
            });
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Template(parts))
    }

    /// The names of the attributes that it shows.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| if let Part::UserAttribute(name) = part { Some(name.as_str()) } else { None })
    }

    /// The text about an event. In HTML, what is not of the template is escaped.
    pub(super) fn text(&self, event: &AccountEvent, attributes: &dyn Attributes, is_html: bool) -> String {
        let property = |name: &str| {
            let own = event.properties.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
            own.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let mut out = String::new();
        for part in &self.0 {
            let value = match part {
                Part::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Part::Kind => event.kind.name().to_owned(),
                Part::Message => event.message.clone(),
                Part::UserDn => event.dn.clone(),
                Part::UserAttribute(name) => attributes.first(name),
                Part::Property(name) => property(name),
            };
            if is_html { escape(&value, &mut out) } else { out.push_str(&value) }
        }
        out
    }
}

fn escape(text: &str, out: &mut String) {
    for sign in text.chars() {
        match sign {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            sign => out.push(sign),
        }
    }
}

#[cfg(test)]
mod tests {
    use accounts::{AccountEventKind, Moment};

    use super::*;

    struct Named;

    impl Attributes for Named {
        fn first(&self, name: &str) -> String {
            if name == "cn" { "Ann <Smith>".to_owned() } else { String::new() }
        }
    }

    #[test]
    fn marks_are_replaced() {
        let event = AccountEvent {
            kind: AccountEventKind::PasswordExpiring,
            dn: "uid=ann,dc=example,dc=com".to_owned(),
            at: Moment(0),
            message: "The password expires on Friday".to_owned(),
            properties: vec![("password-expiration-time", "20260102000000Z".to_owned())],
            handlers: Vec::new(),
        };
        let text = "%%notification-user-attr:cn%%: %%notification-message%% (%%notification-type%%, \
                    %%notification-user-dn%%, %%notification-property:password-expiration-time%%, \
                    %%notification-user-attr:sn%%) 100%";
        let template = Template::parse(text).unwrap();
        assert_eq!(template.attributes().collect::<Vec<_>>(), ["cn", "sn"]);
        let expected = "Ann <Smith>: The password expires on Friday (password-expiring, uid=ann,dc=example,dc=com, \
                        20260102000000Z, ) 100%";
        assert_eq!(template.text(&event, &Named, false), expected);
        assert!(template.text(&event, &Named, true).starts_with("Ann &lt;Smith&gt;: "));
    }

    #[test]
    fn what_is_not_known_is_told() {
        for wrong in ["%%notification-kind%%", "%%notification-user-attr:%%", "%%notification-type", "100%% sure"] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }
}
