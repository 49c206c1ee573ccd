//! The get effective rights control: with each entry, what somebody may do with it, as attributes that OpenDJ gives.
//!
//! `aclRights;…` tells the rights, `aclRightsInfo;logs;…` the instruction that decides about each. Which entries and
//! attributes come is a matter of who asks; the rights are those of whom is asked about, decided by what decides about
//! requests. Knows no request: [`asked_rights`](super::asked_rights) reads it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use access::explanation::Reason;
use access::{EntryRights, Question, Right, Rights, WrittenValue};
use ldap::controls::NamedValues;
use query::asker_rights::Snapshots;
use query::backend::BackendIndex;
use query::encode::Layout;
use query::entry::{EntrySource, EntryView};
use query::facts::Facts;
use query::read_moment::ReadContext;
use query::rights::{Answer, ReadRight, ReadRights, Reader};
use schema::syntax::oid;
use schema::{AttributeDescription, TypeIndex};
use store::{StoreError, View};

use super::refusal::SearchRefusal;
use super::request_time::RequestTime;
use super::stop::Stop;

/// The attribute that tells rights.
pub(super) const RIGHTS: &str = "aclRights";

/// The attribute that tells why.
pub(super) const INFO: &str = "aclRightsInfo";

/// Bytes of names and values that one entry may get. They are in memory until they are sent.
const BYTES_MAX: usize = 4 << 20;

const BYPASS: &str = "user has bypass-acl privileges";

const NOTHING_APPLIES: &str = "no acis matched the resource";

/// What is told of an entry as such.
const OF_ENTRY: [(&str, Right); 5] = [
    ("add", Right::Add),
    ("delete", Right::Delete),
    ("read", Right::Read),
    ("write", Right::Write),
    ("proxy", Right::Proxy),
];

/// What a search with the control tells of the entries that it finds.
pub(super) struct EffectiveRights {
    /// Of whom is asked about.
    pub(super) rights: Arc<Rights>,
    /// How the request calls that identity; empty for anonymous.
    pub(super) name: String,
    /// The attributes, where the search asks for them.
    pub(super) tells_rights: Option<TypeIndex>,
    pub(super) tells_info: Option<TypeIndex>,
    /// What the request names.
    pub(super) named: Vec<Named>,
    /// Of attributes that are shown, too: the search asks for all of a kind.
    pub(super) adds_shown: bool,
    pub(super) types_only: bool,
    pub(super) facts: Arc<Facts>,
    pub(super) reading: ReadContext,
    pub(super) now_unix_seconds: i64,
}

/// An attribute whose rights are told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Named {
    name: String,
    /// None: the schema does not have it.
    pub(super) attribute: Option<TypeIndex>,
}

/// Where an entry is.
pub(super) enum RightsPlace<'v> {
    /// In a backend, at this moment.
    Stored(BackendIndex, View<'v>),
    /// It is one of the server's own.
    Own,
}

/// One right, as it is told.
struct Told<'q> {
    name: &'static str,
    asks: Asks<'q>,
}

/// What decides about a right.
#[derive(Clone, Copy)]
enum Asks<'q> {
    Question(Question<'q>),
    /// It is a right to read an attribute that the schema does not have.
    OfUnknown(ReadRight),
    /// There is no such right: nobody but who bypasses access control has it.
    Nothing,
}

/// Whether a right is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grant {
    No,
    Yes,
    /// To some values.
    ByValue,
}

impl Named {
    /// An attribute that a request lists; none of what is no attribute.
    pub(super) fn of(facts: &Facts, selector: &[u8]) -> Option<Named> {
        let parsed = match selector {
            b"*" | b"+" | b"1.1" | [b'@', ..] => None,
            name => AttributeDescription::parse_request(&facts.schema, name).ok(),
        }?;
        let known = parsed.attribute.and_then(|it| facts.schema.attribute_by_index(it));
        let name = known.map_or_else(|| parsed.name.to_ascii_lowercase(), |known| known.name().to_owned());
        Some(Named { name, attribute: parsed.attribute })
    }
}

impl EffectiveRights {
    /// Takes the rights that are had now, by the instructions of the snapshots.
    pub(super) fn renew(&mut self, snapshots: Snapshots<'_>) -> Result<(), StoreError> {
        if let Some(renewed) = self.rights.renewed(snapshots, RequestTime::now().unix_seconds)? {
            self.rights = renewed;
        }
        Ok(())
    }

    /// What is told of an entry that is laid out for `reader`. `look` is called from time to time, and may end it.
    #[cold]
    pub(super) fn of_entry(
        &self,
        reader: Reader<'_>,
        place: RightsPlace<'_>,
        entry: &EntryView<'_>,
        layout: &Layout<'_>,
        look: &mut dyn FnMut() -> Result<(), Stop>,
    ) -> Result<Vec<NamedValues>, Stop> {
        let may = |attribute: Option<TypeIndex>| match attribute {
            Some(attribute) => reader.may(ReadRight::Read, entry, attribute),
            None => Ok(false),
        };
        let (tells_rights, tells_info) = (may(self.tells_rights)?, may(self.tells_info)?);
        if !tells_rights && !tells_info {
            return Ok(Vec::new());
        }
        let mut dn = Vec::new();
        entry.dn.put(&mut dn);
        let dn = String::from_utf8_lossy(&dn).into_owned();
        let attributes = self.attributes(layout);
        let tell = |rights: &EntryRights<'_>, source: Option<&dyn EntrySource>, look: &mut dyn FnMut() -> _| {
            let entry = source.map_or(*entry, |source| EntryView { source, ..*entry });
            let telling = Telling { whole: self, rights, entry: &entry, dn: &dn, tells_rights, tells_info };
            telling.tell(&attributes, look)
        };
        match place {
            RightsPlace::Own => tell(&self.rights.of_own_entries(), None, look),
            RightsPlace::Stored(backend, view) => {
                // What the one who asks is not shown may decide about the rights of another.
                let moment = self.reading.moment(&self.facts, self.now_unix_seconds);
                let at = moment.at(backend, view);
                tell(&self.rights.at(at)?, Some(&at), look)
            }
        }
    }

    /// Each attribute once, in the order of the request.
    fn attributes(&self, layout: &Layout<'_>) -> Vec<Named> {
        let shown = layout.descriptions().filter(|_| self.adds_shown).filter_map(|it| Named::of(&self.facts, it));
        let mut seen = BTreeSet::new();
        self.named.iter().cloned().chain(shown).filter(|it| seen.insert(it.clone())).collect()
    }
}

/// One entry of which rights are told.
struct Telling<'t, 'm> {
    whole: &'t EffectiveRights,
    rights: &'t EntryRights<'m>,
    entry: &'t EntryView<'t>,
    dn: &'t str,
    tells_rights: bool,
    tells_info: bool,
}

impl Telling<'_, '_> {
    fn tell(&self, attributes: &[Named], look: &mut dyn FnMut() -> Result<(), Stop>) -> Result<Vec<NamedValues>, Stop> {
        let (mut made, mut bytes) = (Vec::new(), 0);
        for named in attributes {
            look()?;
            let before = made.len();
            self.of_attribute(named, &mut made)?;
            let added = made.iter().skip(before);
            bytes += added.map(|(name, values)| name.len() + values.iter().map(Vec::len).sum::<usize>()).sum::<usize>();
            if bytes > BYTES_MAX {
                return Err(SearchRefusal::RightsTooLarge { mib: BYTES_MAX >> 20 }.into());
            }
        }
        let told = OF_ENTRY.map(|(name, right)| Told { name, asks: Asks::Question(Question::entry(right)) });
        self.put(&told, "entryLevel", None, &mut made)?;
        Ok(made)
    }

    fn of_attribute(&self, named: &Named, made: &mut Vec<NamedValues>) -> Result<(), StoreError> {
        let of = |name: &'static str, right: Right| {
            let asks = match (named.attribute, right) {
                (Some(attribute), right) => Asks::Question(Question::attribute(right, attribute)),
                (None, Right::Search) => Asks::OfUnknown(ReadRight::Search),
                (None, Right::Read) => Asks::OfUnknown(ReadRight::Read),
                (None, Right::Compare) => Asks::OfUnknown(ReadRight::Compare),
                (None, _) => Asks::Nothing,
            };
            Told { name, asks }
        };
        let own = self.rights.rights().identity().dn();
        let known = named.attribute.and_then(|it| self.whole.facts.schema.attribute_by_index(it));
        let names = known.filter(|it| it.syntax.oid() == oid::DN && !own.is_empty()).map(|it| it.index);
        let with_own = |name: &'static str, value| {
            let question = names.map(|attribute| Question::value(attribute, value));
            Told { name, asks: question.map_or(Asks::Nothing, Asks::Question) }
        };
        let told = [
            of("search", Right::Search),
            of("read", Right::Read),
            of("compare", Right::Compare),
            of("write", Right::Write),
            with_own("selfwrite_add", WrittenValue::Added(own.as_bytes())),
            with_own("selfwrite_delete", WrittenValue::Deleted(own.as_bytes())),
            of("proxy", Right::Proxy),
        ];
        self.put(&told, "attributeLevel", Some(&named.name), made)
    }

    /// Adds what is told of rights to an attribute, or to the entry as such.
    fn put(
        &self,
        all: &[Told<'_>],
        level: &str,
        attribute: Option<&str>,
        made: &mut Vec<NamedValues>,
    ) -> Result<(), StoreError> {
        let suffix = attribute.map(|name| format!(";{name}")).unwrap_or_default();
        let (mut line, mut infos) = (String::new(), Vec::new());
        for told in all {
            let grant = self.grant(told.asks)?;
            let sign = match grant {
                Grant::No => '0',
                Grant::Yes => '1',
                Grant::ByValue => '?',
            };
            let comma = if line.is_empty() { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(line, "{comma}{}:{sign}", told.name);
            if self.tells_info {
                let name = format!("{INFO};logs;{level};{}{suffix}", told.name);
                infos.push((name.into_bytes(), self.values(|| self.info(told, grant, attribute))?));
            }
        }
        if self.tells_rights {
            made.push((format!("{RIGHTS};{level}{suffix}").into_bytes(), self.values(|| Ok(line))?));
        }
        made.append(&mut infos);
        Ok(())
    }

    /// None where only types are asked for.
    fn values(&self, value: impl FnOnce() -> Result<String, StoreError>) -> Result<Vec<Vec<u8>>, StoreError> {
        Ok(if self.whole.types_only { Vec::new() } else { vec![value()?.into_bytes()] })
    }

    fn grant(&self, asks: Asks<'_>) -> Result<Grant, StoreError> {
        let facts = &self.whole.facts;
        let is_granted = match asks {
            Asks::Question(question) => self.rights.may(facts, self.entry, question)?,
            Asks::OfUnknown(right) => self.rights.of_unknown(right) == Answer::Yes,
            Asks::Nothing => self.rights.rights().bypasses_acl(),
        };
        let every = match asks {
            Asks::Question(Question { right: Right::Write, attribute: Some(attribute), value: None }) if is_granted => {
                Question::value(attribute, WrittenValue::Every)
            }
            _ => return Ok(if is_granted { Grant::Yes } else { Grant::No }),
        };
        Ok(if self.rights.may(facts, self.entry, every)? { Grant::Yes } else { Grant::ByValue })
    }

    /// Why a right is granted or not.
    fn info(&self, told: &Told<'_>, grant: Grant, attribute: Option<&str>) -> Result<String, StoreError> {
        let (reason, aci) = match told.asks {
            Asks::Question(question) => {
                let explanation = self.rights.explain(&self.whole.facts, self.entry, question)?;
                let named = |at: usize| explanation.instructions.get(at).map(|it| it.name.clone());
                match explanation.reason {
                    Reason::BypassAcl => (BYPASS, None),
                    Reason::Allowed(at) => ("evaluated allow", named(at)),
                    Reason::Denied(at) => ("evaluated deny", named(at)),
                    Reason::NothingApplies => (NOTHING_APPLIES, None),
                    Reason::NobodyGrants | Reason::GrantsAreDenied => ("no acis matched the subject", None),
                }
            }
            _ if self.rights.rights().bypasses_acl() => (BYPASS, None),
            _ if grant == Grant::Yes => ("evaluated allow", None),
            _ => (NOTHING_APPLIES, None),
        };
        let aci = aci.map(|name| format!(", deciding_aci: {name}")).unwrap_or_default();
        let by_value = if grant == Grant::ByValue { ", access depends on attr value" } else { "" };
        let access = if grant == Grant::No { "not allowed" } else { "allowed" };
        let (dn, right, attribute) = (self.dn, told.name, attribute.unwrap_or("NULL"));
        let subject = if self.whole.name.is_empty() { "anonymous" } else { &self.whole.name };
        Ok(format!(
            "acl_summary(main): access {access}({right}) on entry/attr({dn}, {attribute}) to ({subject}) \
             (not proxied) ( reason: {reason} {aci}{by_value})"
        ))
    }
}
