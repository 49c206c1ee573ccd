//! What a policy says of one-time codes, wherever the password itself is checked.

use accounts::second_factor::{WINDOW_PRESSES_MAX, WINDOW_STEPS_MAX};

use crate::declare::{Applier, Property, property};
use crate::syntax::Syntax;

const fn live(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).live(Applier::PasswordPolicies)
}

pub(super) const REQUIRE_SECOND_FACTOR: Property = live(
    "require-second-factor",
    "PasswordPolicy.require_second_factor",
    Syntax::Boolean,
    "A password alone is not enough: an account binds with the password and a code of one of its tokens, and an \
     account without a token does not bind by password at all. A token that was never used counts. Root users have no \
     tokens and are not asked.",
)
.default(&["false"]);

pub(super) const SECOND_FACTOR_WINDOW: Property = live(
    "second-factor-window",
    "Window.steps",
    Syntax::Integer { min: 0, max: WINDOW_STEPS_MAX as i64 },
    "Time steps before and after the present one whose codes are good: how far the clock of a token may be off.",
)
.default(&["1"]);

pub(super) const SECOND_FACTOR_LOOK_AHEAD: Property = live(
    "second-factor-look-ahead",
    "Window.presses",
    Syntax::Integer { min: 0, max: WINDOW_PRESSES_MAX as i64 },
    "How often the button of a token may have been pressed without a login.",
)
.default(&["10"]);
