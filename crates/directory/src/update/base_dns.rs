//! Tells every backend which base DNs lie below its own, so that it gives no entry a name that another base DN holds.

use super::context::UpdateContext;
use super::kept_settings::kept;
use crate::open_error::OpenError;
use change::apply::{BASE_DNS_KEY, base_dns_bytes};
use change::proposal::Kind;
use query::backend::numbered;
use query::own_names::OWN_NAMES;
use schema::NormalizedDn;

impl UpdateContext<'_> {
    /// Brings what the backends keep of the base DNs up to the backends in service.
    pub(crate) fn set_base_dns(&self) -> Result<(), OpenError> {
        // What lies in no backend is held by the server itself.
        let schema = self.in_force.schema();
        let own = OWN_NAMES.iter().filter_map(|dn| Some((*dn, NormalizedDn::parse(&schema, dn.as_bytes()).ok()?)));
        let own: Vec<_> = own.collect();
        for (at, backend) in numbered(self.backends) {
            let all = self.backends.iter().flat_map(|backend| &backend.suffixes);
            let all = all.map(|suffix| (suffix.dn.as_str(), &suffix.normalized));
            let all = all.chain(own.iter().map(|(dn, normalized)| (*dn, normalized)));
            let is_above = |base| backend.suffixes.iter().any(|own| own.normalized.is_ancestor_of(base));
            let mut below: Vec<&str> = all.filter(|(_, normalized)| is_above(normalized)).map(|(dn, _)| dn).collect();
            below.sort_unstable();
            let bytes = base_dns_bytes(below);
            if kept(backend, BASE_DNS_KEY)? != bytes {
                self.propose_kept(at, Kind::BaseDns, bytes)?;
            }
        }
        Ok(())
    }
}
