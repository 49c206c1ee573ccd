//! How instructions say what shows, in several forms that come to the same.
//!
//! What shows is marked `employeeType: seen`; where `employeeType: open` stands beside it, private attributes may be
//! read and searched as well, and the entry may be changed.

use super::chance::Chance;
use super::world::{BASE, person_dn};

/// Attributes that are seen of open entries only; passwords are seen of none.
const PRIVATE: &str = "sn || telephoneNumber || member || roleOccupant || aliasedObjectName";

const SEEN: &str = "(employeeType=seen)";
const OPEN: &str = "(&(employeeType=seen)(employeeType=open))";

/// Who may use `proxied authorization`, and for whom.
pub const AGENT: &str = "uid=agent,dc=example,dc=com";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By a filter on the entry, for everybody.
    Filter,
    /// By a filter on the entry, for a group that the asker is in.
    Group,
    /// By an attribute of the entry that names the asker.
    Owner,
    /// By instructions in each entry.
    Holders,
    /// Everything is allowed, and denied where it is not marked.
    Denies,
}

impl Form {
    pub const ALL: [Form; 5] = [Form::Filter, Form::Group, Form::Owner, Form::Holders, Form::Denies];

    /// Forms whose instructions are for anonymous clients, too.
    pub const FOR_ANYONE: [Form; 3] = [Form::Filter, Form::Holders, Form::Denies];

    fn bind_rule(self) -> String {
        match self {
            Form::Group => format!("groupdn=\"ldap:///cn=askers,{BASE}\""),
            Form::Owner => "userattr=\"owner#USERDN\"".to_owned(),
            _ => "userdn=\"ldap:///anyone\"".to_owned(),
        }
    }

    /// Instructions that hold everywhere.
    pub fn global(self) -> Vec<String> {
        let mut all = vec![
            instruction("(targetcontrol=\"*\")", "allow (read)", "userdn=\"ldap:///anyone\""),
            instruction("(extop=\"*\")", "allow (read)", "userdn=\"ldap:///anyone\""),
            instruction(
                &format!("(target=\"ldap:///{}\")(targetscope=\"base\")", person_dn(0)),
                "allow (proxy)",
                &format!("userdn=\"ldap:///{AGENT}\""),
            ),
        ];
        match self {
            Form::Holders => {}
            Form::Denies => all.extend(self.denying()),
            _ => {
                all.extend(self.granting(&format!("(targetfilter=\"{SEEN}\")"), false));
                all.extend(self.granting(&format!("(targetfilter=\"{OPEN}\")"), true));
            }
        }
        all
    }

    /// Instructions that an entry holds; whoever does not show has one that concerns nobody.
    pub fn of_entry(self, shows: bool, is_open: bool) -> Vec<String> {
        match (self, shows) {
            (Form::Holders, true) => {
                let mut all = self.granting("(targetscope=\"base\")", false);
                if is_open {
                    all.extend(self.granting("(targetscope=\"base\")", true));
                }
                all
            }
            (_, false) => {
                vec![instruction("(targetattr=\"*\")", "allow (all)", &format!("userdn=\"ldap:///uid=nobody,{BASE}\""))]
            }
            (_, true) => Vec::new(),
        }
    }

    /// What `which` entries grant: those that show, or more of those that are open.
    fn granting(self, which: &str, is_open: bool) -> Vec<String> {
        let rule = self.bind_rule();
        let reading = "allow (read,search,compare)";
        if !is_open {
            return vec![
                instruction(&format!("(targetattr!=\"{PRIVATE} || userPassword\"){which}"), reading, &rule),
                instruction(&format!("(targetattr=\"+\"){which}"), reading, &rule),
                instruction(which, "allow (import)", &rule),
            ];
        }
        vec![
            instruction(&format!("(targetattr=\"{PRIVATE}\"){which}"), reading, &rule),
            instruction(
                &format!("(targetattr=\"description || title || seeAlso || cn || uid\"){which}"),
                "allow (write)",
                &rule,
            ),
            instruction(which, "allow (add,delete,export)", &rule),
        ]
    }

    fn denying(self) -> Vec<String> {
        let rule = self.bind_rule();
        let (unseen, closed) = (format!("(targetfilter=\"(!{SEEN})\")"), format!("(targetfilter=\"(!{OPEN})\")"));
        let reading = "deny (read,search,compare)";
        vec![
            instruction("(targetattr=\"* || +\")", "allow (all,import,export)", &rule),
            instruction(&format!("(targetattr=\"* || +\"){unseen}"), reading, &rule),
            instruction("(targetattr=\"userPassword || authPassword\")", reading, &rule),
            instruction(&format!("(targetattr=\"{PRIVATE}\"){closed}"), reading, &rule),
            instruction(&format!("(targetattr=\"* || +\"){closed}"), "deny (write,add,delete,export)", &rule),
            instruction(&format!("(targetattr=\"* || +\"){unseen}"), "deny (import)", &rule),
            instruction("(targetattr=\"userPassword || aci || ds-privilege-name\")", "deny (write)", &rule),
        ]
    }

    pub fn random(chance: &mut Chance) -> Form {
        chance.of(&Form::ALL)
    }
}

fn instruction(target: &str, grant: &str, rule: &str) -> String {
    format!("{target}(version 3.0; acl \"shows\"; {grant} {rule};)")
}
