//! How much is allowed: a bound that may be none, and what a client gets for asking more or less.
//!
//! Arithmetic only; knows no entry, no rule and no request.

/// At most so many, or as many as there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Most {
    /// At most this many.
    At(u64),
    /// No limit.
    Unlimited,
}

impl Most {
    /// From the way in which LDAP, OpenDJ's properties and `ds-rlim-*` write it: 0 is no limit.
    #[must_use]
    pub fn from_zero_is_none(number: u64) -> Most {
        if number == 0 { Most::Unlimited } else { Most::At(number) }
    }

    /// The number; `None` is no limit.
    #[must_use]
    pub fn number(self) -> Option<u64> {
        match self {
            Most::At(number) => Some(number),
            Most::Unlimited => None,
        }
    }
}

impl From<Option<u64>> for Most {
    fn from(number: Option<u64>) -> Most {
        number.map_or(Most::Unlimited, Most::At)
    }
}

/// A limit that a request may name a number for: the soft value holds when it names none, the hard one is the most it
/// may name.
///
/// Invariant: the soft value is not above the hard one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    soft: Most,
    hard: Most,
}

impl Allowance {
    /// No limit but the client's own.
    pub const UNLIMITED: Allowance = Allowance { soft: Most::Unlimited, hard: Most::Unlimited };

    /// One value for both, as `size-limit` of OpenDJ and `ds-rlim-size-limit` mean it.
    #[must_use]
    pub fn both(most: Most) -> Allowance {
        Allowance { soft: most, hard: most }
    }

    /// The most that may be asked for.
    #[must_use]
    pub fn hard(self) -> Most {
        self.hard
    }

    /// What a rule makes of an inherited allowance. Each value works alone: a soft one is the hard one too, a hard one
    /// lowers the inherited soft one where that is above it and leaves it where not.
    #[must_use]
    pub fn with(self, soft: Option<Most>, hard: Option<Most>) -> Allowance {
        match (soft, hard) {
            (None, None) => self,
            (Some(soft), None) => Allowance::both(soft),
            (None, Some(hard)) => Allowance { soft: self.soft.min(hard), hard },
            (Some(soft), Some(hard)) => Allowance { soft: soft.min(hard), hard },
        }
    }

    /// What holds for a request that asks for `asked` (0: for nothing in particular). More than the hard value is cut
    /// down to it, as RFC 4511 §4.5.1.4 lets servers do and OpenLDAP does.
    #[must_use]
    pub fn granted(self, asked: u64) -> Most {
        match Most::from_zero_is_none(asked) {
            Most::Unlimited => self.soft,
            asked => asked.min(self.hard),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn most() -> impl Strategy<Value = Most> {
        prop_oneof![Just(Most::Unlimited), (1u64..50).prop_map(Most::At)]
    }

    /// Every row of the table in `docs/limits.md`.
    #[test]
    fn each_value_works_alone() {
        let at = Most::At;
        let inherited = Allowance::both(at(1000));
        // soft, hard; what holds without asking, with 5, with 1,000,000.
        for (soft, hard, [none, few, many]) in [
            (None, None, [at(1000), at(5), at(1000)]),
            (Some(at(10)), None, [at(10), at(5), at(10)]),
            (Some(at(5000)), None, [at(5000), at(5), at(5000)]),
            (Some(Most::Unlimited), None, [Most::Unlimited, at(5), at(1_000_000)]),
            (None, Some(at(10)), [at(10), at(5), at(10)]),
            (None, Some(at(5000)), [at(1000), at(5), at(5000)]),
            (None, Some(Most::Unlimited), [at(1000), at(5), at(1_000_000)]),
            (Some(at(4)), Some(at(8)), [at(4), at(5), at(8)]),
            (Some(at(4)), Some(Most::Unlimited), [at(4), at(5), at(1_000_000)]),
        ] {
            let allowance = inherited.with(soft, hard);
            let found = [0, 5, 1_000_000].map(|asked| allowance.granted(asked));
            assert_eq!(found, [none, few, many], "{soft:?} {hard:?}");
        }
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_is_allowed_or_asked(
            inherited in (most(), most()),
            soft in proptest::option::of(most()),
            hard in proptest::option::of(most()),
            asked in 0u64..60,
        ) {
            let inherited = Allowance::both(inherited.1).with(Some(inherited.0), Some(inherited.1));
            let allowance = inherited.with(soft, hard);
            let granted = allowance.granted(asked);
            prop_assert!(granted <= allowance.hard());
            prop_assert!(allowance.soft <= allowance.hard);
            if asked > 0 {
                // Exactly the lesser of the two: asking for less than the cap is never cut.
                prop_assert_eq!(granted, Most::At(asked).min(allowance.hard()));
            } else {
                prop_assert_eq!(granted, allowance.soft);
            }
            // A hard value is the cap whether or not there is a soft one; a soft one alone is the cap.
            match (soft, hard) {
                (_, Some(hard)) => prop_assert_eq!(allowance.hard(), hard),
                (Some(soft), None) => prop_assert_eq!(allowance.hard(), soft),
                (None, None) => prop_assert_eq!(allowance, inherited),
            }
            // A soft value is what holds without asking, unless the cap is below it.
            if let Some(soft) = soft {
                prop_assert_eq!(allowance.granted(0), soft.min(allowance.hard()));
            }
        }
    }
}
