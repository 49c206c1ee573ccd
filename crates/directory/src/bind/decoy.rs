//! What a password is verified against where there is nothing to verify it against, so that a missing name takes as
//! long as a wrong password: a value of the scheme that new passwords are stored by.
//!
//! Nobody knows its password. It is made anew when the scheme or its cost is another one.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use password::{Parameters, Scheme};

/// When the system has no randomness to give.
const FIRST: &[u8] =
    b"{SSHA512}5IB4vKvtQsnhcQPoBXfnKcGftUVbYzQakhIQQhjOZrdI+eCwtiqiP7nnl/GeO3tQHX6tplnlPbJKYuVm9jL8vvr7/P3+/wEC";

/// See the module.
#[derive(Default)]
pub(crate) struct Decoy(ArcSwapOption<(Scheme, Parameters, Vec<u8>)>);

impl Decoy {
    /// A value of that scheme, with these costs.
    pub(crate) fn of(&self, scheme: Scheme, parameters: &Parameters) -> Vec<u8> {
        if let Some(known) = self.0.load().as_deref()
            && (known.0, &known.1) == (scheme, parameters)
        {
            return known.2.clone();
        }
        let value = password::decoy(scheme, parameters).unwrap_or_else(|_| FIRST.to_vec());
        self.0.store(Some(Arc::new((scheme, *parameters, value.clone()))));
        value
    }
}
