//! What an asker may assert: of a prepared filter, which assertions may be made of every entry, of none, or of some.

use schema::TypeIndex;
use smallvec::SmallVec;
use store::StoreError;

use super::matcher::{Matcher, Node, NodeIndex, Target};
use crate::entry::EntryView;
use crate::facts::Facts;
use crate::rights::{Answer, ReadRight, ReadRights, Reader, Unrestricted};

/// Of a prepared filter, the assertions that the asker may not make of every entry: by position of the node, ascending.
/// Empty for most.
#[derive(Clone, Debug, Default)]
pub struct ItemRights(SmallVec<[(NodeIndex, Answer); 2]>);

impl ItemRights {
    /// Every assertion may be made.
    pub const ALL: &'static ItemRights = &ItemRights(SmallVec::new_const());

    /// Asks about the attributes of a filter; `right` is what is needed to make its assertions.
    #[must_use]
    pub fn of(matcher: &Matcher, facts: &Facts, right: ReadRight, rights: &dyn ReadRights) -> ItemRights {
        let answer = |node: &Node| match node {
            Node::Item(item) => match item.target {
                Target::Type(attribute) | Target::Tagged(attribute, _) | Target::Virtual(attribute, _) => {
                    of_type_and_subtypes(facts, right, rights, attribute)
                }
                // Every attribute is asked about when it is looked at.
                Target::Every => Answer::Yes,
            },
            _ => Answer::Yes,
        };
        let all = matcher.nodes().iter().enumerate().map(|(at, node)| (NodeIndex(at), answer(node)));
        ItemRights(all.filter(|(_, answer)| *answer != Answer::Yes).collect())
    }

    /// Whether every assertion may be made of an entry, as far as its target says.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may_assert_all(
        &self,
        matcher: &Matcher,
        facts: &Facts,
        rights: &dyn ReadRights,
        right: ReadRight,
        entry: &EntryView<'_>,
    ) -> Result<bool, StoreError> {
        let reader = Reader { facts, rights };
        for (at, _) in &self.0 {
            let target = match matcher.node(*at) {
                Some(Node::Item(item)) => item.target,
                _ => continue,
            };
            if let Target::Type(asked) | Target::Tagged(asked, _) | Target::Virtual(asked, _) = target {
                for attribute in facts.schema.subtypes(asked) {
                    if !reader.may(right, entry, *attribute)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// What holds for all assertions together.
    #[must_use]
    pub fn worst(&self) -> Answer {
        if self.0.iter().any(|(_, answer)| *answer == Answer::No) {
            return Answer::No;
        }
        if self.is_all() { Answer::Yes } else { Answer::Ask }
    }

    /// Whether every assertion may be made of every entry.
    #[inline]
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some assertion may be made of some entries only.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.0.iter().any(|(_, answer)| *answer == Answer::Ask)
    }

    /// Whether an assertion may be made.
    #[must_use]
    pub fn of_node(&self, at: NodeIndex) -> Answer {
        self.0.iter().find(|(node, _)| *node == at).map_or(Answer::Yes, |(_, answer)| *answer)
    }
}

/// What holds for an attribute and its subtypes, whose values an assertion about it is also about.
fn of_type_and_subtypes(facts: &Facts, right: ReadRight, rights: &dyn ReadRights, attribute: TypeIndex) -> Answer {
    match rights.of_type(facts, right, attribute) {
        Answer::Yes => {
            let mut all = facts.schema.subtypes(attribute).iter();
            let is_all = all.all(|subtype| rights.of_type(facts, right, *subtype) == Answer::Yes);
            if is_all { Answer::Yes } else { Answer::Ask }
        }
        answer => answer,
    }
}

/// Who tries a filter on entries.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    /// Answers for the asker.
    pub rights: &'a dyn ReadRights,
    /// What is needed to make an assertion.
    pub right: ReadRight,
    /// What was answered about the filter's assertions.
    pub items: &'a ItemRights,
}

impl Asker<'static> {
    /// The server itself.
    pub const SERVER: Asker<'static> =
        Asker { rights: &Unrestricted, right: ReadRight::Search, items: ItemRights::ALL };
}

impl Matcher {
    /// The filter without the assertions that may not be made of any entry: they are Undefined. What is planned for
    /// that asker.
    #[must_use]
    pub fn without(&self, items: &ItemRights) -> Matcher {
        let mut own = self.clone();
        for (at, node) in own.nodes.iter_mut().enumerate() {
            if items.of_node(NodeIndex(at)) == Answer::No {
                *node = Node::Undefined;
            }
        }
        own
    }
}
