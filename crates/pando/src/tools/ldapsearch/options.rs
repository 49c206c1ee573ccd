//! The options of `ldapsearch`, and the controls and filters that they ask for.

use std::path::PathBuf;

use clap::Args;
use durable::ReadBound;
use ldap::client::controls;
use ldap::controls::PersistentSearch;
use ldap::{ControlBuf, DerefAliases, FilterBuf, Scope};

use super::list::{ListView, SortOrder, parse_order, parse_persistent, parse_view};
use crate::failure::{Context, Failure};
use crate::ldap_client::{CommonControlOptions, SessionOptions, dereferencing, parse_filter, scope, status};

/// Longest file of filters that is read.
const FILTERS_BYTES_MAX: u64 = 64 << 20;

const EXAMPLES: &str = "\
Examples: the names of people called Jensen, and all changes below an entry as they come
  pando ldapsearch -p 1389 -D 'cn=Directory Manager' -w secret12 -b dc=example,dc=com -S givenName '(sn=Jensen)' cn
  pando ldapsearch -p 1389 -D 'cn=Directory Manager' -w secret12 -b dc=example,dc=com -C ps '(objectClass=*)'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, next_help_heading = "Search")]
pub struct Options {
    /// Search base DN
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "DN")]
    pub base: String,
    /// Search scope: base, one, sub, subordinates
    #[arg(short = 's', long = "searchScope", value_name = "SCOPE", default_value = "sub", value_parser = scope)]
    pub scope: Scope,
    /// Alias dereference policy: never, always, search, find
    #[arg(short = 'a', long = "dereferencePolicy", value_name = "WHEN", default_value = "never",
          value_parser = dereferencing)]
    pub dereference: DerefAliases,
    /// What to search, for example (uid=bjensen)
    #[arg(value_name = "FILTER", required_unless_present = "filters")]
    filter: Option<String>,
    /// Attributes to return; * are all user attributes, + all operational ones [default: *]
    #[arg(value_name = "ATTRIBUTE")]
    attributes: Vec<String>,
    /// File with filters, one a line; all words of the command line are attributes then
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    filters: Option<PathBuf>,
    /// Go on with the next filter of a file when a search fails
    #[arg(short = 'c', long = "continueOnError", requires = "filters")]
    pub continues: bool,
    /// Only retrieve attribute names but not their values
    #[arg(short = 'A', long = "typesOnly")]
    pub types_only: bool,
    /// Maximum number of entries to return from the search; 0 leaves it to the server
    #[arg(short = 'z', long = "sizeLimit", value_name = "NUMBER", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=i64::from(i32::MAX)))]
    pub size_limit: u32,
    /// Maximum length of time in seconds to allow for the search; 0 leaves it to the server
    #[arg(short = 'l', long = "timeLimit", value_name = "SECONDS", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=i64::from(i32::MAX)))]
    pub time_limit: u32,
    /// Sort the results: attributes, with a minus for the largest first
    #[arg(short = 'S', long = "sortOrder", value_name = "ATTRIBUTES", value_parser = parse_order,
          allow_hyphen_values = true)]
    order: Option<SortOrder>,
    /// Use the virtual list view control to retrieve a part of the sorted results; needs --sortOrder
    #[arg(short = 'G', long = "virtualListView", value_name = "BEFORE:AFTER:INDEX:COUNT | BEFORE:AFTER:VALUE",
          value_parser = parse_view, requires = "order", conflicts_with = "page_size")]
    view: Option<ListView>,
    /// Use the simple paged results control with this page size; at a terminal RETURN shows the next page
    #[arg(long = "simplePageSize", value_name = "NUMBER",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub page_size: Option<u32>,
    /// Use the persistent search control: print changes as they come
    #[arg(short = 'C', long = "persistentSearch", value_name = "ps[:CHANGETYPE[:CHANGESONLY[:ENTRYCHGCONTROLS]]]",
          value_parser = parse_persistent, conflicts_with_all = ["page_size", "view"])]
    pub persistent: Option<PersistentSearch>,
    /// Use the matched values control: return only values that match
    #[arg(long = "matchedValuesFilter", value_name = "FILTER", value_parser = parse_filter)]
    matched_values: Vec<FilterBuf>,
    /// Use the get effective rights control: whose rights (dn:NAME or u:USER)
    #[arg(short = 'g', long = "getEffectiveRightsAuthzid", value_name = "AUTHZID")]
    rights_of: Option<String>,
    /// Further attributes whose rights are told; needs --getEffectiveRightsAuthzid
    #[arg(short = 'e', long = "getEffectiveRightsAttribute", value_name = "ATTRIBUTE", requires = "rights_of")]
    rights_attributes: Vec<String>,
    /// Use the subentries control: subentries are visible, and normal entries are not
    #[arg(long = "subEntries")]
    subentries: bool,
    #[command(flatten)]
    common: CommonControlOptions,
    /// Count the number of entries returned by the server
    #[arg(long = "countEntries")]
    pub counts: bool,
    /// Show what would be done but do not perform any operation
    #[arg(short = 'n', long = "dry-run")]
    pub is_dry_run: bool,
    /// Maximum length of an output line; 0 for no wrapping
    #[arg(short = 't', long = "wrapColumn", value_name = "COLUMN", default_value_t = 0)]
    pub wrap: usize,
    #[command(flatten)]
    pub session: SessionOptions,
}

/// What is searched.
pub struct Asked {
    /// As it was written, and parsed.
    pub filters: Vec<(String, FilterBuf)>,
    /// Attributes to return.
    pub attributes: Vec<String>,
}

impl Options {
    /// Filters and attributes.
    pub fn asked(&self) -> Result<Asked, Failure> {
        let (texts, attributes) = match (&self.filters, &self.filter) {
            (None, filter) => (filter.iter().cloned().collect(), self.attributes.clone()),
            (Some(path), first) => {
                let text = ReadBound::stream(FILTERS_BYTES_MAX).text(path).context(path.display())?;
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                (lines.map(str::to_owned).collect::<Vec<_>>(), first.iter().chain(&self.attributes).cloned().collect())
            }
        };
        if texts.is_empty() {
            return Err(Failure::new("the file of filters has none: write one a line"));
        }
        let parse = |text: String| match ldap::filter::parse(&text) {
            Ok(filter) => Ok((text, filter)),
            Err(error) => {
                Err(Failure::new(format_args!("the filter {text}: {error}")).with_status(status::FILTER_ERROR))
            }
        };
        Ok(Asked { filters: texts.into_iter().map(parse).collect::<Result<_, _>>()?, attributes })
    }

    /// The controls of each request, without that of pages.
    pub fn controls(&self) -> Result<Vec<ControlBuf>, Failure> {
        let mut all = self.common.controls();
        all.extend(self.order.as_ref().map(SortOrder::control));
        all.extend(self.view.as_ref().map(ListView::control));
        all.extend(self.persistent.map(controls::persistent_search));
        if !self.matched_values.is_empty() {
            all.push(controls::matched_values(&self.matched_values).critical());
        }
        if let Some(user) = &self.rights_of {
            let attributes: Vec<&str> = self.rights_attributes.iter().map(String::as_str).collect();
            all.push(controls::effective_rights(user, &attributes));
        }
        if self.subentries {
            all.push(controls::subentries(true).critical());
        }
        Ok(all)
    }
}
