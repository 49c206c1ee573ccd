//! The words of OpenDJ's options for searches.

use ldap::{DerefAliases, Scope};

/// `base`, `one`, `sub`, `subordinates`
pub fn scope(word: &str) -> Result<Scope, String> {
    let all = [Scope::BaseObject, Scope::SingleLevel, Scope::WholeSubtree, Scope::SubordinateSubtree];
    let found = all.into_iter().find(|scope| scope.as_str() == word);
    found.ok_or_else(|| "it must be base, one, sub or subordinates".to_owned())
}

/// `never`, `search`, `find`, `always`
pub fn dereferencing(word: &str) -> Result<DerefAliases, String> {
    match word {
        "never" => Ok(DerefAliases::Never),
        "search" => Ok(DerefAliases::InSearching),
        "find" => Ok(DerefAliases::FindingBaseObject),
        "always" => Ok(DerefAliases::Always),
        _ => Err("it must be never, search, find or always".to_owned()),
    }
}
