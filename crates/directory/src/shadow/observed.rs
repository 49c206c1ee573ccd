//! One difference between what is in force and what is proposed, as it is counted and shown: who asked for what, and
//! which instructions decide. Never a value of an entry.

use access::explanation::{Reason, place};
use access::{OidDecision, Right, Rights, Session};
use ldap::Dn;
use query::json::JsonWriter;

use crate::needs::{Need, What};

/// Characters of a name that are shown.
const NAME_MAX: usize = 1_000;

/// What is said where none decides, or it is not known which one.
const NO_INSTRUCTION: &str = "no instruction";

/// What kind of request it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Request {
    Search,
    Compare,
    Add,
    Modify,
    Delete,
    ModifyDn,
    PasswordModify,
    Refresh,
    Control,
    Extended,
    ProxiedAuthorization,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) who: String,
    pub(crate) connection: u64,
    pub(crate) request: Request,
    /// Whether it is granted now, and would not be.
    pub(crate) is_lost: bool,
    pub(crate) right: &'static str,
    pub(crate) entry: String,
    /// Or the OID of a control or an extended operation.
    pub(crate) attribute: Option<String>,
    /// The instruction that decides now.
    pub(crate) by_now: String,
    /// The one that would.
    pub(crate) by_then: String,
}

/// How global instructions are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// Those in force.
    InForce,
    /// `kept` of those in force, then the proposed ones.
    Proposed { kept: usize },
}

impl Request {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Request::Search => "search",
            Request::Compare => "compare",
            Request::Add => "add",
            Request::Modify => "modify",
            Request::Delete => "delete",
            Request::ModifyDn => "modifyDN",
            Request::PasswordModify => "passwordModify",
            Request::Refresh => "refresh",
            Request::Control => "control",
            Request::Extended => "extended",
            Request::ProxiedAuthorization => "proxiedAuthorization",
        }
    }
}

impl Numbering {
    fn place(self, holder: Option<&str>, position: usize) -> String {
        match (self, holder) {
            (Numbering::Proposed { kept }, None) if position >= kept => {
                format!("proposed-global-aci number {}", position - kept + 1)
            }
            _ => place(holder, position + 1),
        }
    }

    /// The instruction that decides about a control or an extended operation asked for with the name `dn`.
    fn decider_of_use(self, rights: &Rights, decision: Option<OidDecision>, dn: &str) -> String {
        let Some(OidDecision { holder_depth, position, .. }) = decision else { return NO_INSTRUCTION.to_owned() };
        if holder_depth > 0 {
            let rdns: Vec<String> = Dn::parse(dn)
                .map(|dn| dn.rdns().iter().rev().take(holder_depth).rev().map(ToString::to_string).collect())
                .unwrap_or_default();
            return cut(&self.place(Some(&rdns.join(",")), position));
        }
        cut(&format!("{} \"{}\"", self.place(None, position), rights.name_of_global(position)))
    }

    /// The instruction that decides about a need.
    fn decider(self, need: &Need) -> String {
        let decided = need.explanation.as_ref().and_then(|explanation| match explanation.reason {
            Reason::Allowed(at) | Reason::Denied(at) => explanation.instructions.get(at),
            Reason::BypassAcl | Reason::NothingApplies | Reason::NobodyGrants | Reason::GrantsAreDenied => None,
        });
        match decided {
            Some(it) => cut(&format!("{} \"{}\"", self.place(it.holder.as_deref(), it.position), it.name)),
            None => NO_INSTRUCTION.to_owned(),
        }
    }
}

impl Observed {
    /// What a session asked for, before it is known which instructions decide.
    pub(crate) fn of(session: &Session, request: Request, (right, entry): (Right, &str)) -> Self {
        Self {
            who: cut(session.identity.dn()),
            connection: session.connection,
            request,
            is_lost: false,
            right: right.as_str(),
            entry: cut(entry),
            attribute: None,
            by_now: NO_INSTRUCTION.to_owned(),
            by_then: NO_INSTRUCTION.to_owned(),
        }
    }

    /// Takes what is decided otherwise, and by what: now, and as proposed.
    pub(crate) fn decided(mut self, (now, then): (&Need, &Need), proposed: Numbering) -> Self {
        match &now.what {
            What::Shows { dn } => {
                self.right = Right::Read.as_str();
                self.entry = cut(dn);
            }
            What::Right { right, dn, attribute, .. } => {
                self.right = right.as_str();
                self.entry = cut(dn);
                self.attribute.clone_from(attribute);
            }
            What::Unindexed { .. } | What::Filter(_) | What::Privilege(_) | What::Control(_) | What::Extended(_) => {}
        }
        self.by_now = Numbering::InForce.decider(now);
        self.by_then = proposed.decider(then);
        self
    }

    /// The same of the use of a control or an extended operation: who asks, and the instruction that decides, now and
    /// as proposed.
    pub(crate) fn used(
        mut self,
        now: (&Rights, Option<OidDecision>),
        then: (&Rights, Option<OidDecision>),
        proposed: Numbering,
    ) -> Self {
        self.by_now = Numbering::InForce.decider_of_use(now.0, now.1, &self.entry);
        self.by_then = proposed.decider_of_use(then.0, then.1, &self.entry);
        self
    }

    /// Whether another one says the same, of whatever entry.
    pub(crate) fn is_like(&self, other: &Observed) -> bool {
        let parts = |it: &Observed| (it.request, it.is_lost, it.right);
        parts(self) == parts(other)
            && self.who == other.who
            && self.attribute == other.attribute
            && self.by_now == other.by_now
            && self.by_then == other.by_then
    }

    /// One line of JSON, with when it was seen last and how often.
    pub(crate) fn to_json(&self, time: &str, times: u64) -> String {
        JsonWriter::object_text(|json| {
            let decided = |is_granted: bool| if is_granted { "granted" } else { "refused" };
            json.key("time").text(time);
            json.key("times").number(times);
            json.key("connection").number(self.connection);
            json.key("asker").text(&self.who);
            json.key("operation").text(self.request.name());
            json.key("dn").text(&self.entry);
            let name = if matches!(self.request, Request::Control | Request::Extended) { "oid" } else { "attribute" };
            self.attribute.iter().for_each(|it| json.key(name).text(it));
            json.key("right").text(self.right);
            json.key("inForce").text(decided(self.is_lost));
            json.key("inForceBy").text(&self.by_now);
            json.key("proposed").text(decided(!self.is_lost));
            json.key("proposedBy").text(&self.by_then);
        })
    }
}

/// A name, cut where it is very long.
fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}...", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}
