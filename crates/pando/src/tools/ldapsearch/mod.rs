//! `ldapsearch`: searches any LDAP server with the options of OpenDJ's tool, and prints LDIF.

mod answer;
mod list;
mod options;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::ops::ControlFlow;

use ldap::client::{self, Search, ServerMessage};
use ldap::controls::PagedResults;
use ldap::oids::control;
use ldap::{ControlBuf, FilterBuf, LdapResult};

use crate::failure::{Failure, Outcome};
use crate::ldap_client::Session;
use crate::ldap_client::status::{self, Worst};
use crate::output::{Output, out, outln};
use crate::terminal;
use answer::Printer;
pub use options::Options;

pub fn run(options: &Options) -> Outcome {
    status::of_client(search_all(options))
}

/// One search for each filter.
fn search_all(options: &Options) -> Outcome {
    let asked = options.asked()?;
    let attributes: Vec<&str> = asked.attributes.iter().map(String::as_str).collect();
    let controls = options.controls()?;
    if options.is_dry_run {
        for (text, _) in &asked.filters {
            outln!("# Search below \"{}\" ({}): {text}", options.base, options.scope.as_str());
        }
        return Ok(std::process::ExitCode::SUCCESS);
    }
    let mut session = options.session.open()?;
    let (mut worst, mut count) = (Worst::default(), 0);
    for (_, filter) in &asked.filters {
        let mut searching = Searching { options, attributes: &attributes, controls: &controls, session: &mut session };
        let (result, found) = searching.pages(filter)?;
        count += found;
        let is_well = result.is_success() || worst.add(status::refused("search request", &result));
        if !is_well && !options.continues {
            break;
        }
    }
    if options.counts {
        outln!("# Total number of matching entries: {count}");
    }
    Ok(worst.exit_code())
}

/// What one filter is asked with.
struct Searching<'s> {
    options: &'s Options,
    attributes: &'s [&'s str],
    controls: &'s [ControlBuf],
    session: &'s mut Session,
}

impl Searching<'_> {
    /// The search, page by page if that is wished; how it ended, and how many entries were found.
    fn pages(&mut self, filter: &FilterBuf) -> Result<(LdapResult, u64), Failure> {
        let (mut cookie, mut count) = (Vec::new(), 0);
        loop {
            let mut controls = self.controls.to_vec();
            if let Some(size) = self.options.page_size {
                let page = PagedResults { size, cookie: &cookie };
                controls.push(ControlBuf::new(control::PAGED_RESULTS, Some(page.encode())).critical());
            }
            let (result, found) = self.page(filter, &controls, &mut cookie)?;
            count += found;
            if cookie.is_empty() || !result.is_success() {
                return Ok((result, count));
            }
            if terminal::is_interactive() {
                out!("Press RETURN to continue ");
                // What cannot be written is reported when the tool ends.
                _ = Output.flush();
                terminal::wait_for_return()?;
            }
        }
    }

    /// One request, with these controls; sets the cookie of the next page.
    fn page(
        &mut self,
        filter: &FilterBuf,
        controls: &[ControlBuf],
        cookie: &mut Vec<u8>,
    ) -> Result<(LdapResult, u64), Failure> {
        let options = self.options;
        let search = Search {
            deref_aliases: options.dereference,
            size_limit: options.size_limit,
            time_limit_seconds: options.time_limit,
            types_only: options.types_only,
            ..Search::new(&options.base, options.scope, filter, self.attributes)
        };
        let wrap = (options.wrap > 0).then_some(options.wrap);
        let mut printer = Printer::new(wrap, options.persistent.is_some());
        let mut take = |message: &ServerMessage<'_>| {
            if message.op.result().is_some() {
                let page = message.controls.find(control::PAGED_RESULTS);
                let page = page.and_then(|page| PagedResults::decode(page.value).ok());
                *cookie = page.map(|page| page.cookie.to_vec()).unwrap_or_default();
            }
            match printer.take(message) {
                Ok(()) => ControlFlow::Continue(()),
                // Who reads is gone, or the disk is full: what is the matter is said when the tool ends.
                Err(_) => ControlFlow::Break(()),
            }
        };
        let ended = self.session.ask(|id, out| client::search(out, id, &search, controls), &mut take);
        if printer.has_failed() {
            return Ok((LdapResult::success(), printer.count()));
        }
        ended.map(|result| (result, printer.count()))
    }
}
