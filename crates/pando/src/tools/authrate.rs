//! `authrate`: how many binds a server answers, and how fast; also of searches followed by a bind.

use std::sync::Arc;

use clap::Args;
use ldap::client::{self, ServerMessage};
use ldap::{DerefAliases, ResultCode, Scope};
use zeroize::Zeroizing;

use crate::failure::{Failure, Outcome};
use crate::ldap_client::{ConnectionOptions, Exchange, Login, Progress, SaslLogin, dereferencing, scope};
use crate::makeldif::Random;
use crate::rate::{Answer, Asker, Extra, Generator, Keeping, RequestTemplate, Template, Then, Values, Workload};
use crate::tools::load::{GeneratorOptions, Load, RateOptions};
use crate::tools::searchrate::{SearchParts, SearchTemplate};

/// Behind a right password.
const WRONG: &str = "-wrong";

const EXAMPLES: &str = "\
Examples: binds of random users, and searches for them followed by their bind
  pando authrate -p 1389 -D 'uid=user.%d,ou=people,dc=example,dc=com' -w password -f -c 10 -g 'rand(0,2000)'
  pando authrate -p 1389 -D '%2$s' -w password -f -c 10 -b ou=people,dc=example,dc=com -g 'rand(0,2000)' \
'(uid=user.%d)'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Search below this before each bind, a template; the name of the entry that is found is the last value
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "TEMPLATE", requires = "filter")]
    base: Option<String>,
    /// How far: base, one, sub, subordinates
    #[arg(short = 's', long = "searchScope", value_name = "SCOPE", default_value = "sub", value_parser = scope)]
    scope: Scope,
    /// When aliases are followed: never, search, find, always
    #[arg(short = 'a', long = "dereferencePolicy", value_name = "WHEN", default_value = "never",
          value_parser = dereferencing)]
    dereference: DerefAliases,
    /// What to search, a template
    #[arg(value_name = "FILTER", requires = "base")]
    filter: Option<String>,
    /// Attributes to return [default: all user attributes]
    #[arg(value_name = "ATTRIBUTE")]
    attributes: Vec<String>,
    /// Percent of the binds that have a wrong password
    #[arg(short = 'I', long = "invalidPassword", value_name = "PERCENT", default_value_t = 0,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    wrong_percent: u8,
    /// For each of the connections, so many that bind at the same time: binds share no connection
    #[arg(short = 't', long = "numConcurrentRequests", alias = "numThreads", value_name = "NUMBER",
          default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    requests: u32,
    #[command(flatten)]
    generators: GeneratorOptions,
    #[command(flatten)]
    rate: RateOptions,
    #[command(flatten)]
    connection: ConnectionOptions,
}

pub fn run(options: &Options) -> Outcome {
    let binds = Binds::new(options)?;
    let has_search = binds.search.is_some();
    let load = Load {
        connection: &options.connection,
        rate: &options.rate,
        login: Login::Anonymous,
        lanes: (u64::from(options.rate.connections) * u64::from(options.requests), 1),
        keeping: if options.rate.keeps_open { Keeping::Open } else { Keeping::Never },
        extra: if has_search { Extra::BindTimePercent } else { Extra::Nothing },
        what: "bind",
        operations: options.rate.operations,
    };
    load.run(&binds)
}

/// Binds of generated names.
struct Binds<'o> {
    search: Option<SearchTemplate>,
    bind: Bind,
    generators: &'o [Arc<Generator>],
    wrong_percent: u64,
}

/// How a bind is made.
enum Bind {
    /// A simple bind, encoded once: with the right password, and with a wrong one.
    Simple { right: RequestTemplate, wrong: RequestTemplate },
    /// By SASL: names and password are templates.
    Sasl { login: SaslLogin, authid: Template, authzid: Option<Template>, password: Template },
}

impl<'o> Binds<'o> {
    fn new(options: &'o Options) -> Result<Binds<'o>, Failure> {
        let generators = options.generators.generators.as_slice();
        let search = match (&options.base, &options.filter) {
            (Some(base), Some(filter)) => Some(SearchTemplate::new(
                &SearchParts {
                    base,
                    scope: options.scope,
                    dereference: options.dereference,
                    filter,
                    attributes: &options.attributes,
                },
                &options.generators,
            )?),
            _ => None,
        };
        let count = options.generators.count()? + usize::from(search.is_some());
        let template = |text: &str| Template::parse(text, count).map_err(Failure::new);
        let bind = match options.connection.login()? {
            Login::Anonymous => {
                return Err(Failure::new("who binds is missing: give --bindDN, or --saslOption mech=…"));
            }
            Login::Simple { dn, password } => {
                let (dn, password) = (template(&dn)?.marked(), Zeroizing::new(template(&password)?.marked()));
                let wrong = Zeroizing::new(format!("{}{WRONG}", *password));
                let request = |password: &str| {
                    RequestTemplate::new(|id, out| client::bind(out, id, &dn, password.as_bytes(), &[]))
                };
                Bind::Simple { right: request(&password), wrong: request(&wrong) }
            }
            Login::Sasl(login) => Bind::Sasl {
                authid: template(&login.authid)?,
                authzid: login.authzid.as_deref().map(template).transpose()?,
                password: template(&login.password)?,
                login,
            },
        };
        Ok(Binds { search, bind, generators, wrong_percent: u64::from(options.wrong_percent) })
    }
}

impl Workload for Binds<'_> {
    fn asker(&self, places: usize) -> Box<dyn Asker + '_> {
        let more = usize::from(self.search.is_some());
        let stages =
            (0..places).map(|_| Stage { values: Values::new(self.generators, more), at: At::Search }).collect();
        Box::new(Binder { binds: self, stages })
    }
}

struct Binder<'b> {
    binds: &'b Binds<'b>,
    stages: Vec<Stage<'b>>,
}

/// How far an operation is.
struct Stage<'b> {
    values: Values<'b>,
    at: At,
}

enum At {
    /// Waits for the end of a search; so many microseconds have gone when it comes.
    Search,
    /// Waits for the end of a simple bind, since so many microseconds.
    Bind { searched_us: u64 },
    /// Is in an exchange of SASL.
    Sasl { searched_us: u64, login: Login, exchange: Exchange },
}

impl Binder<'_> {
    fn put_bind(&mut self, place: usize, searched_us: u64, random: &mut Random, id: i32, out: &mut Vec<u8>) {
        let binds = self.binds;
        let Some(stage) = self.stages.get_mut(place) else { return };
        let is_wrong = binds.wrong_percent > 0 && random.below(100) < binds.wrong_percent;
        let values = stage.values.as_slice();
        stage.at = match &binds.bind {
            Bind::Simple { right, wrong } => {
                if is_wrong { wrong } else { right }.put(id, values, out);
                At::Bind { searched_us }
            }
            Bind::Sasl { login, authid, authzid, password } => {
                let filled = |template: &Template| {
                    let mut text = String::new();
                    template.fill(values, &mut text);
                    text
                };
                let mut password = Zeroizing::new(filled(password));
                if is_wrong {
                    password.push_str(WRONG);
                }
                let login = Login::Sasl(login.of_user(filled(authid), authzid.as_ref().map(filled), password));
                let exchange = login.begin(id, out);
                At::Sasl { searched_us, login, exchange }
            }
        };
    }
}

impl Asker for Binder<'_> {
    fn put_request(&mut self, place: usize, random: &mut Random, id: i32, out: &mut Vec<u8>) -> bool {
        let Some(stage) = self.stages.get_mut(place) else { return false };
        let values = stage.values.renew(random);
        match &self.binds.search {
            Some(search) => {
                stage.at = At::Search;
                search.put(id, values, out).is_ok()
            }
            None => {
                self.put_bind(place, 0, random, id, out);
                true
            }
        }
    }

    fn entry(&mut self, place: usize, dn: &[u8]) {
        if let Some(stage) = self.stages.get_mut(place) {
            stage.values.set_last(&String::from_utf8_lossy(dn));
        }
    }

    fn wants_entries(&self) -> bool {
        self.binds.search.is_some()
    }

    fn answered(&mut self, answer: &Answer<'_>, random: &mut Random, id: i32, out: &mut Vec<u8>) -> Then {
        let failed = Then::Ended { is_error: true, extra: 0 };
        let Some(stage) = self.stages.get_mut(answer.place) else { return failed };
        match &mut stage.at {
            // As in OpenDJ's tool, anything but one entry is an error.
            At::Search if answer.code != ResultCode::SUCCESS || answer.entries != 1 => failed,
            At::Search => {
                self.put_bind(answer.place, answer.took_us, random, id, out);
                Then::GoesOn
            }
            At::Bind { searched_us } => Then::Ended {
                is_error: answer.code != ResultCode::SUCCESS,
                extra: answer.took_us.saturating_sub(*searched_us),
            },
            At::Sasl { searched_us, login, exchange } => {
                let Ok(message) = ServerMessage::decode(answer.message) else { return failed };
                let extra = answer.took_us.saturating_sub(*searched_us);
                match exchange.go_on(login, &message.op, id, out) {
                    Ok(Progress::Asked) => Then::GoesOn,
                    Ok(Progress::Bound) => Then::Ended { is_error: false, extra },
                    Err(_) => Then::Ended { is_error: true, extra },
                }
            }
        }
    }
}
