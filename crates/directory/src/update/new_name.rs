//! Whether the name that a rename gives belongs to another base DN: the backend with the longest base DN above a name holds it, so an
//! entry of that name elsewhere would be found by searches and by no name.

use ldap::{LdapResult, ModifyDnRequest, ResultCode};
use schema::NormalizedDn;

use super::context::UpdateContext;
use super::decided::snapshot;
use query::error::{refuse, store_failure};
use query::facts::Facts;
use query::locate::locate;

impl UpdateContext<'_> {
    /// Refuses a rename of `name` in backend `at` that gives it, or an entry below it, a name of another base DN. What is wrong with
    /// the request otherwise is told when it is applied.
    pub(super) fn check_new_name(
        &self,
        facts: &Facts,
        at: usize,
        name: &NormalizedDn,
        request: &ModifyDnRequest<'_>,
    ) -> Result<(), LdapResult> {
        let Some(backend) = self.backends.get(at) else { return Ok(()) };
        let Some(own) = backend.suffix_of(name.as_bytes()) else { return Ok(()) };
        let all = self.backends.iter().flat_map(|backend| &backend.suffixes);
        let is_below = |base: &NormalizedDn| own.normalized.is_ancestor_or_equal(base) && *base != own.normalized;
        let mut below = all.filter(|suffix| is_below(&suffix.normalized)).peekable();
        if below.peek().is_none() {
            return Ok(());
        }
        let parse = |dn: &[u8]| NormalizedDn::parse(&facts.schema, dn).ok();
        let parent = request.new_superior.map_or_else(|| name.parent(), parse);
        let (Some(parent), Some(leaf)) = (parent, parse(request.new_rdn)) else { return Ok(()) };
        let Some(new) = leaf.rdn().map(|rdn| parent.child(rdn)).filter(|new| new != name) else { return Ok(()) };
        for suffix in below {
            let Some(rest) = suffix.normalized.as_bytes().strip_prefix(new.as_bytes()) else { continue };
            // Where the entry is now that would get the name of the base DN.
            let now = [name.as_bytes(), rest].concat();
            let snapshot = snapshot(backend)?;
            let path = locate(&snapshot.view(), &own.normalized, &now).map_err(|error| store_failure(&error))?;
            if path.found().is_some() {
                let message = format!(
                    "\"{}\" is a base DN of its own: no entry can be renamed to it, nor be brought there by renaming what is above it",
                    suffix.dn
                );
                return Err(refuse(ResultCode::AFFECTS_MULTIPLE_DSAS, message));
            }
        }
        Ok(())
    }
}
