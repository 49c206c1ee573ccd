//! An instruction as the generator thinks it, and its text. Knows nothing of the parser.

use std::fmt::{self, Display};
use std::net::Ipv4Addr;

use super::filter::Filter;
use super::model::{Name, Url};

#[derive(Clone, Debug)]
pub struct Instruction {
    /// None: in the configuration, for every entry.
    pub holder: Option<Name>,
    pub label: String,
    pub target: Option<(Sign, NamePattern)>,
    pub attributes: Option<(Sign, Vec<AttributeTarget>)>,
    pub filter: Option<(Sign, Filter)>,
    pub scope: Option<Scope>,
    pub value_filters: Vec<ValueFilter>,
    pub pairs: Vec<(Effect, Vec<Right>, Rule)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Is,
    IsNot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Allow,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    Read,
    Search,
    Compare,
    Write,
    SelfWrite,
    Add,
    Delete,
    Import,
    Export,
    /// Everything but import and export (and proxy).
    All,
}

#[derive(Clone, Debug)]
pub enum AttributeTarget {
    User,
    Operational,
    /// The type, and how it is spelled here.
    Named(&'static str, &'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Base,
    OneLevel,
    Subtree,
    Subordinate,
}

/// Values of one attribute that may be added, or deleted.
#[derive(Clone, Debug)]
pub struct ValueFilter {
    pub adds: bool,
    pub kind: &'static str,
    pub filter: Filter,
}

#[derive(Clone, Debug)]
pub enum NamePattern {
    /// The name, and how it is spelled here.
    Exact(Name, String),
    /// Leaf first.
    Parts(Vec<PartPattern>),
}

#[derive(Clone, Debug)]
pub enum PartPattern {
    AnyPart,
    /// One or more.
    AnyParts,
    /// The type (any, if none), and the value with asterisks.
    Part(Option<&'static str>, String),
}

#[derive(Clone, Debug)]
pub enum Rule {
    And(Box<Rule>, Box<Rule>),
    Or(Box<Rule>, Box<Rule>),
    Not(Box<Rule>),
    Test(Sign, Condition),
}

#[derive(Clone, Debug)]
pub enum Condition {
    UserDn(Vec<User>),
    GroupDn(Vec<Name>),
    RoleDn(Vec<Name>),
    UserAttr {
        levels: Vec<usize>,
        kind: &'static str,
        holds: Holds,
    },
    /// Address and bits.
    Ip(Ipv4Addr, u32),
    /// `*.suffix`
    Dns(&'static str),
    IsSimple,
    AnyMethod,
    /// At least so many bits.
    Ssf(u32),
    /// A time of day that is always, or never.
    Time(bool),
    /// Every day, or no day near today.
    Day(bool),
}

#[derive(Clone, Debug)]
pub enum User {
    Anyone,
    All,
    OneSelf,
    Parent,
    Name(NamePattern),
    Url(Url),
}

#[derive(Clone, Debug)]
pub enum Holds {
    UserDn,
    RoleDn,
    GroupDn(Option<Name>),
    Value(String),
}

impl Instruction {
    /// The same with less in it, in every way that takes one step.
    pub fn simpler(&self) -> Vec<Instruction> {
        let mut found = Vec::new();
        let mut without = |is_there: bool, change: &dyn Fn(&mut Instruction)| {
            let mut less = self.clone();
            change(&mut less);
            found.extend(is_there.then_some(less));
        };
        without(self.target.is_some(), &|it| it.target = None);
        without(self.filter.is_some(), &|it| it.filter = None);
        without(self.scope.is_some(), &|it| it.scope = None);
        without(!self.value_filters.is_empty(), &|it| it.value_filters.clear());
        for at in 0..self.pairs.len() {
            without(self.pairs.len() > 1, &|it| drop(it.pairs.remove(at)));
            without(self.pairs[at].1.len() > 1, &|it| it.pairs[at].1.truncate(self.pairs[at].1.len() - 1));
            if let Rule::And(left, right) | Rule::Or(left, right) = &self.pairs[at].2 {
                without(true, &|it| it.pairs[at].2 = (**left).clone());
                without(true, &|it| it.pairs[at].2 = (**right).clone());
            }
        }
        found
    }
}

impl Right {
    pub fn text(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Search => "search",
            Right::Compare => "compare",
            Right::Write => "write",
            Right::SelfWrite => "selfwrite",
            Right::Add => "add",
            Right::Delete => "delete",
            Right::Import => "import",
            Right::Export => "export",
            Right::All => "all",
        }
    }
}

impl Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Sign::Is { "=" } else { "!=" })
    }
}

impl Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamePattern::Exact(_, spelled) => f.write_str(spelled),
            NamePattern::Parts(parts) => {
                let text = |part: &PartPattern| match part {
                    PartPattern::AnyPart => "*".to_owned(),
                    PartPattern::AnyParts => "**".to_owned(),
                    PartPattern::Part(kind, value) => format!("{}={value}", kind.unwrap_or("*")),
                };
                f.write_str(&joined(parts.iter().map(text), ","))
            }
        }
    }
}

pub fn joined(texts: impl Iterator<Item = String>, between: &str) -> String {
    texts.collect::<Vec<_>>().join(between)
}

impl Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((sign, pattern)) = &self.target {
            write!(f, "(target{sign}\"ldap:///{pattern}\")")?;
        }
        if let Some((sign, targets)) = &self.attributes {
            let text = |target: &AttributeTarget| match target {
                AttributeTarget::User => "*".to_owned(),
                AttributeTarget::Operational => "+".to_owned(),
                AttributeTarget::Named(_, spelled) => (*spelled).to_owned(),
            };
            write!(f, "(targetattr{sign}\"{}\")", joined(targets.iter().map(text), " || "))?;
        }
        if let Some((sign, filter)) = &self.filter {
            write!(f, "(targetfilter{sign}\"{filter}\")")?;
        }
        if let Some(scope) = self.scope {
            write!(f, "(targetscope=\"{}\")", format!("{scope:?}").to_lowercase())?;
        }
        if !self.value_filters.is_empty() {
            let of = |adds: bool, word: &str| {
                let filters = self.value_filters.iter().filter(|it| it.adds == adds);
                let text = joined(filters.map(|it| format!("{}:{}", it.kind, it.filter)), " && ");
                (!text.is_empty()).then(|| format!("{word}={text}"))
            };
            let lists = [of(true, "add"), of(false, "del")];
            write!(f, "(targattrfilters=\"{}\")", joined(lists.into_iter().flatten(), ", "))?;
        }
        write!(f, "(version 3.0; acl \"{}\";", self.label)?;
        for (effect, rights, rule) in &self.pairs {
            let effect = if *effect == Effect::Allow { "allow" } else { "deny" };
            let rights = joined(rights.iter().map(|right| right.text().to_owned()), ", ");
            write!(f, " {effect} ({rights}) {rule};")?;
        }
        f.write_str(")")
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::And(left, right) => write!(f, "({left} and {right})"),
            Rule::Or(left, right) => write!(f, "({left} or {right})"),
            Rule::Not(rule) => write!(f, "(not {rule})"),
            Rule::Test(sign, condition) => condition.put(*sign, f),
        }
    }
}

impl Condition {
    fn put(&self, sign: Sign, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::UserDn(users) => {
                let text = |user: &User| match user {
                    User::Anyone => "ldap:///anyone".to_owned(),
                    User::All => "ldap:///all".to_owned(),
                    User::OneSelf => "ldap:///self".to_owned(),
                    User::Parent => "ldap:///parent".to_owned(),
                    User::Name(pattern) => format!("ldap:///{pattern}"),
                    User::Url(url) => url.to_string(),
                };
                write!(f, "userdn{sign}\"{}\"", joined(users.iter().map(text), " || "))
            }
            Condition::GroupDn(groups) => {
                let groups = joined(groups.iter().map(|group| format!("ldap:///{group}")), " || ");
                write!(f, "groupdn{sign}\"{groups}\"")
            }
            Condition::RoleDn(roles) => {
                let roles = joined(roles.iter().map(|role| format!("ldap:///{role}")), " || ");
                write!(f, "roledn{sign}\"{roles}\"")
            }
            Condition::UserAttr { levels, kind, holds } => put_user_attr(f, sign, levels, kind, holds),
            Condition::Ip(address, bits) => write!(f, "ip{sign}\"{address}/{bits}\""),
            Condition::Dns(suffix) => write!(f, "dns{sign}\"*.{suffix}\""),
            Condition::IsSimple => write!(f, "authmethod{sign}\"simple\""),
            Condition::AnyMethod => write!(f, "authmethod{sign}\"none\""),
            // There is no `!>=`.
            Condition::Ssf(bits) if sign == Sign::Is => write!(f, "ssf>=\"{bits}\""),
            Condition::Ssf(bits) => write!(f, "ssf<\"{bits}\""),
            Condition::Time(always) if (sign == Sign::Is) == *always => f.write_str("timeofday>=\"0000\""),
            Condition::Time(_) => f.write_str("timeofday<\"0000\""),
            Condition::Day(always) if (sign == Sign::Is) == *always => {
                f.write_str("dayofweek=\"sun,mon,tue,wed,thu,fri,sat\"")
            }
            Condition::Day(_) => f.write_str("dayofweek!=\"sun,mon,tue,wed,thu,fri,sat\""),
        }
    }
}

fn put_user_attr(f: &mut fmt::Formatter<'_>, sign: Sign, levels: &[usize], kind: &str, holds: &Holds) -> fmt::Result {
    let levels = match levels {
        [] => String::new(),
        levels => format!("parent[{}].", joined(levels.iter().map(ToString::to_string), ",")),
    };
    match holds {
        Holds::UserDn => write!(f, "userattr{sign}\"{levels}{kind}#USERDN\""),
        Holds::RoleDn => write!(f, "userattr{sign}\"{levels}{kind}#ROLEDN\""),
        Holds::GroupDn(None) => write!(f, "userattr{sign}\"{levels}{kind}#GROUPDN\""),
        Holds::GroupDn(Some(base)) => write!(f, "userattr{sign}\"ldap:///{base}?{levels}{kind}#GROUPDN\""),
        Holds::Value(value) => write!(f, "userattr{sign}\"{levels}{kind}#{value}\""),
    }
}
