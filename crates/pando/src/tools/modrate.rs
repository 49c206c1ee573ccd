//! `modrate`: how many modifications a server answers, and how fast.

use std::sync::Arc;

use clap::Args;
use ldap::client;
use ldap::{ModifyOperation, ResultCode};

use crate::failure::{Failure, Outcome};
use crate::ldap_client::ConnectionOptions;
use crate::makeldif::Random;
use crate::rate::{Answer, Asker, Generator, RequestTemplate, Template, Then, Values, Workload};
use crate::tools::load::{GeneratorOptions, Load, RateOptions, SharingOptions};

const EXAMPLE: &str = "\
Example: another description for random users
  pando modrate -p 1389 -D 'cn=Directory Manager' -w secret12 -F -c 4 -t 4 \
-b 'uid=user.%d,ou=people,dc=example,dc=com' -g 'rand(0,2000)' -g 'randstr(16)' 'description:%2$s'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// Name of the entry, a template
    #[arg(short = 'b', long = "targetDN", alias = "targetDn", value_name = "TEMPLATE")]
    target: String,
    /// What replaces the values of an attribute: its name and a template of the value; an empty one removes all values
    #[arg(value_name = "ATTRIBUTE:TEMPLATE", required = true)]
    changes: Vec<String>,
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
    let load = Load::sharing(&options.connection, &options.rate, &options.sharing, "modification")?;
    let generators = options.generators.generators.as_slice();
    load.run(&Modifications { request: request(options)?, generators })
}

/// Replaces values of each attribute.
fn request(options: &Options) -> Result<RequestTemplate, Failure> {
    let count = options.generators.count()?;
    let marked = |text: &str| Template::parse(text, count).map(|template| template.marked()).map_err(Failure::new);
    let target = marked(&options.target)?;
    let mut changes: Vec<(String, Vec<String>)> = Vec::new();
    for change in &options.changes {
        let marked = marked(change)?;
        let (name, value) = marked.split_once(':').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            Failure::new(format_args!("\"{change}\" is not ATTRIBUTE:TEMPLATE, for example 'description:%s'"))
        })?;
        let at = match changes.iter().position(|(known, _)| known == name) {
            Some(at) => at,
            None => {
                changes.push((name.to_owned(), Vec::new()));
                changes.len() - 1
            }
        };
        if let Some((_, values)) = changes.get_mut(at).filter(|_| !value.is_empty()) {
            values.push(value.to_owned());
        }
    }
    Ok(RequestTemplate::new(|id, out| {
        let changes = changes.iter().map(|(name, values)| {
            (ModifyOperation::Replace, name.as_bytes(), values.iter().map(String::as_bytes).collect::<Vec<_>>())
        });
        client::modify(out, id, &target, changes, &[]);
    }))
}

/// Modifications with generated values.
struct Modifications<'o> {
    request: RequestTemplate,
    generators: &'o [Arc<Generator>],
}

impl Workload for Modifications<'_> {
    fn asker(&self, _: usize) -> Box<dyn Asker + '_> {
        Box::new(Modifier { request: &self.request, values: Values::new(self.generators, 0) })
    }
}

struct Modifier<'m> {
    request: &'m RequestTemplate,
    values: Values<'m>,
}

impl Asker for Modifier<'_> {
    fn put_request(&mut self, _: usize, random: &mut Random, id: i32, out: &mut Vec<u8>) -> bool {
        self.request.put(id, self.values.renew(random), out);
        true
    }

    fn answered(&mut self, answer: &Answer<'_>, _: &mut Random, _: i32, _: &mut Vec<u8>) -> Then {
        Then::Ended { is_error: answer.code != ResultCode::SUCCESS, extra: 0 }
    }
}
