//! `searchrate`: how many searches a server answers, and how fast.

use std::sync::{Arc, OnceLock};

use clap::Args;
use ldap::client::{self, Search};
use ldap::filter::FilterSyntaxError;
use ldap::{DerefAliases, ResultCode, Scope};

use crate::failure::{Failure, Outcome};
use crate::ldap_client::{ConnectionOptions, dereferencing, scope};
use crate::makeldif::Random;
use crate::rate::{Answer, Asker, Extra, Generator, RequestTemplate, Template, Then, Values, Workload};
use crate::tools::load::{GeneratorOptions, Load, RateOptions, SharingOptions};

/// Characters that mean something in a filter.
const FILTER_CHARACTERS: [char; 5] = ['*', '(', ')', '\\', '\0'];

const EXAMPLE: &str = "\
Example: random searches on 4 connections, 4 at a time on each
  pando searchrate -p 1389 -D 'cn=Directory Manager' -w secret12 -F -c 4 -t 4 -b dc=example,dc=com -g 'rand(0,2000)' \
'(uid=user.%d)'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// Where to search, a template
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "TEMPLATE")]
    base: String,
    /// How far: base, one, sub, subordinates
    #[arg(short = 's', long = "searchScope", value_name = "SCOPE", default_value = "sub", value_parser = scope)]
    scope: Scope,
    /// When aliases are followed: never, search, find, always
    #[arg(short = 'a', long = "dereferencePolicy", value_name = "WHEN", default_value = "never",
          value_parser = dereferencing)]
    dereference: DerefAliases,
    /// What to search, a template
    #[arg(value_name = "FILTER")]
    filter: String,
    /// Attributes to return [default: all user attributes]
    #[arg(value_name = "ATTRIBUTE")]
    attributes: Vec<String>,
    #[command(flatten)]
    generators: GeneratorOptions,
    #[command(flatten)]
    rate: RateOptions,
    #[command(flatten)]
    sharing: SharingOptions,
    #[command(flatten)]
    connection: ConnectionOptions,
}

pub fn run(options: &Options) -> Outcome {
    let load = Load::sharing(&options.connection, &options.rate, &options.sharing, "search")?;
    let parts = SearchParts {
        base: &options.base,
        scope: options.scope,
        dereference: options.dereference,
        filter: &options.filter,
        attributes: &options.attributes,
    };
    let searches = Searches {
        request: SearchTemplate::new(&parts, &options.generators)?,
        generators: &options.generators.generators,
        failure: OnceLock::new(),
    };
    let ended = Load { extra: Extra::EntriesPerSearch, ..load }.run(&searches);
    match searches.failure.into_inner() {
        Some(failure) => Err(Failure::new(failure)),
        None => ended,
    }
}

/// Searches with generated values.
struct Searches<'o> {
    request: SearchTemplate,
    generators: &'o [Arc<Generator>],
    /// Values that make no filter.
    failure: OnceLock<String>,
}

impl Workload for Searches<'_> {
    fn asker(&self, _: usize) -> Box<dyn Asker + '_> {
        Box::new(Searcher { searches: self, values: Values::new(self.generators, 0) })
    }
}

struct Searcher<'s> {
    searches: &'s Searches<'s>,
    values: Values<'s>,
}

impl Asker for Searcher<'_> {
    fn put_request(&mut self, _: usize, random: &mut Random, id: i32, out: &mut Vec<u8>) -> bool {
        if self.searches.failure.get().is_some() {
            return false;
        }
        match self.searches.request.put(id, self.values.renew(random), out) {
            Ok(()) => true,
            Err(error) => {
                // Another thread may have said the same.
                _ = self.searches.failure.set(format!("generated values make no filter: {error}"));
                false
            }
        }
    }

    fn answered(&mut self, answer: &Answer<'_>, _: &mut Random, _: i32, _: &mut Vec<u8>) -> Then {
        Then::Ended { is_error: answer.code != ResultCode::SUCCESS, extra: answer.entries }
    }
}

/// What a search is made of.
pub struct SearchParts<'p> {
    /// Where to search, a template.
    pub base: &'p str,
    /// How far.
    pub scope: Scope,
    /// When aliases are followed.
    pub dereference: DerefAliases,
    /// What to search, a template.
    pub filter: &'p str,
    /// Attributes to return.
    pub attributes: &'p [String],
}

/// A search with places for values.
pub enum SearchTemplate {
    /// Encoded once.
    Encoded(RequestTemplate),
    /// Where values are parts of the filter's syntax it is parsed each time.
    Text {
        /// Where to search.
        base: Template,
        /// What to search.
        filter: Template,
        /// The rest.
        scope: Scope,
        /// When aliases are followed.
        dereference: DerefAliases,
        /// Attributes to return.
        attributes: Vec<String>,
    },
}

impl SearchTemplate {
    /// From its parts; refuses a filter that is none with values in it.
    pub fn new(parts: &SearchParts<'_>, generators: &GeneratorOptions) -> Result<SearchTemplate, Failure> {
        let count = generators.count()?;
        let base = Template::parse(parts.base, count).map_err(Failure::new)?;
        let filter = Template::parse(parts.filter, count).map_err(Failure::new)?;
        let is_plain = !generators.generators.iter().any(|one| one.may_give(&FILTER_CHARACTERS));
        if is_plain && let Ok(parsed) = ldap::filter::parse(&filter.marked()) {
            let (base, attributes) = (base.marked(), names(parts.attributes));
            let search =
                Search { deref_aliases: parts.dereference, ..Search::new(&base, parts.scope, &parsed, &attributes) };
            return Ok(SearchTemplate::Encoded(RequestTemplate::new(|id, out| client::search(out, id, &search, &[]))));
        }
        let search = SearchTemplate::Text {
            base,
            filter,
            scope: parts.scope,
            dereference: parts.dereference,
            attributes: parts.attributes.to_vec(),
        };
        let mut values = Values::new(&generators.generators, 0);
        search.put(1, values.renew(&mut Random::new(0)), &mut Vec::new()).map_err(|error| {
            Failure::new(format_args!("the filter \"{}\" with values in it: {error}", parts.filter))
        })?;
        Ok(search)
    }

    /// Appends the search with these values; refuses values that make no filter.
    pub fn put(&self, id: i32, values: &[String], out: &mut Vec<u8>) -> Result<(), FilterSyntaxError> {
        match self {
            SearchTemplate::Encoded(request) => request.put(id, values, out),
            SearchTemplate::Text { base, filter, scope, dereference, attributes } => {
                let (mut name, mut text) = (String::new(), String::new());
                base.fill(values, &mut name);
                filter.fill(values, &mut text);
                let filter = ldap::filter::parse(&text)?;
                let attributes = names(attributes);
                let search = Search { deref_aliases: *dereference, ..Search::new(&name, *scope, &filter, &attributes) };
                client::search(out, id, &search, &[]);
            }
        }
        Ok(())
    }
}

fn names(attributes: &[String]) -> Vec<&str> {
    attributes.iter().map(String::as_str).collect()
}
