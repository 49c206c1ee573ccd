//! Which entries a search shows whatever else its filter says of them: referral objects, aliases and subentries are
//! special.
//!
//! Searches and what is told after them (persistent search) go by the same rule. Knows classes of entries, not entries.

use query::class_flags::ClassFlags;

/// What a request says of special entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Visibility {
    /// Referral objects are ordinary entries (RFC 3296).
    pub manage_dsa_it: bool,
    /// What the subentries control says (RFC 3672 §3).
    pub subentries: Option<bool>,
    /// Aliases are followed below the base.
    pub in_searching: bool,
}

impl Visibility {
    /// Classes of which something depends on the request.
    pub const SPECIAL: ClassFlags = ClassFlags::REFERRAL.with(ClassFlags::ALIAS).with(ClassFlags::SUBENTRY);

    /// Whether an entry is shown that is not the only one in scope (that one always is).
    ///
    /// Referral objects are sent as references, aliases that are followed (the base is not: RFC 4511 §4.5.1.3) not at
    /// all, subentries when asked for: by the control, or without it by their class in the filter
    /// (draft-ietf-ldup-subentry-08 §4), which is asked of `names_subentries`.
    #[inline]
    pub fn shows(self, flags: ClassFlags, is_base: bool, names_subentries: impl FnOnce() -> bool) -> bool {
        let is_hidden = (flags.has(ClassFlags::REFERRAL) && !self.manage_dsa_it)
            || (flags.has(ClassFlags::ALIAS) && self.in_searching && !is_base);
        let is_subentry = flags.has(ClassFlags::SUBENTRY);
        !is_hidden
            && match self.subentries {
                Some(only) => is_subentry == only,
                None => !is_subentry || names_subentries(),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_entries_are_shown_as_the_request_says() {
        let plain = Visibility::default();
        let [only, none] = [true, false].map(|only| Visibility { subentries: Some(only), ..plain });
        let managed = Visibility { manage_dsa_it: true, ..plain };
        let following = Visibility { in_searching: true, ..plain };
        let (referral, alias, subentry) = (ClassFlags::REFERRAL, ClassFlags::ALIAS, ClassFlags::SUBENTRY);
        // Flags, whether it is the base, whether the filter names subentries, then what each request shows.
        for (flags, is_base, names, shown) in [
            (ClassFlags::default(), false, false, [true, false, true, true, true]),
            (ClassFlags::default(), false, true, [true, false, true, true, true]),
            (subentry, false, false, [false, true, false, false, false]),
            (subentry, false, true, [true, true, false, true, true]),
            (referral, false, true, [false, false, false, true, false]),
            (referral, true, false, [false, false, false, true, false]),
            (alias, false, false, [true, false, true, true, false]),
            (alias, true, false, [true, false, true, true, true]),
        ] {
            let all = [plain, only, none, managed, following];
            assert_eq!(all.map(|it| it.shows(flags, is_base, || names)), shown, "{flags:?} {is_base} {names}");
        }
    }
}
