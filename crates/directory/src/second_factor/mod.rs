//! Second factors of accounts: the key that opens the secrets of tokens, what codes are right, and how many wrong ones
//! may be tried by who knows the password.
//!
//! | file | what |
//! |---|---|
//! | `key_file` | the key, in a file of the instance |
//! | `codes` | checking a code with all tokens of an account |
//! | `wrong_codes` | the wrong codes of each account |

mod codes;
mod key_file;
mod wrong_codes;

#[cfg(test)]
mod tests;

pub(crate) use codes::{AccountTokens, SecondFactors};
