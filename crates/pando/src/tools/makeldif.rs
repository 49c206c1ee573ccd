//! `makeldif`: sample data from a template.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::failure::{Context, Failure, Outcome};
use crate::makeldif::{EXAMPLE_TEMPLATE, Entry, Generator, LdifWriter, Resources, TemplateFile};
use crate::output::{Output, errln, out, reader_is_gone};
use crate::terminal::Progress;

/// Buffer before the file.
const BUFFER_BYTES: usize = 1 << 20;

/// Entries between two looks of the progress.
const PROGRESS_ENTRIES: u64 = 1000;

#[derive(Debug, Args)]
pub struct Options {
    /// File to write [default: standard output]
    #[arg(short = 'o', long = "outputLDIF", alias = "ldifFile", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Seed of the random values; the same seed gives the same data
    #[arg(short = 's', long = "randomSeed", value_name = "SEED")]
    seed: Option<u64>,
    /// Set a constant; overrides its definition in the template
    #[arg(short = 'c', long = "constant", value_name = "NAME=VALUE", value_parser = constant)]
    constants: Vec<(String, String)>,
    /// Directory of the files that the template names
    #[arg(short = 'r', long = "resourcePath", value_name = "DIR")]
    resource_path: Option<PathBuf>,
    /// Column at which lines are folded; 0 folds none
    #[arg(short = 't', long = "wrapColumn", value_name = "COLUMN", default_value_t = 80)]
    wrap_column: usize,
    /// The template [default: the example template]
    #[arg(value_name = "TEMPLATE")]
    template: Option<PathBuf>,
    /// Print the example template, as a start for your own
    #[arg(long = "exampleTemplate", exclusive = true)]
    example_template: bool,
}

pub fn run(options: &Options) -> Outcome {
    if options.example_template {
        out!("{EXAMPLE_TEMPLATE}");
        return Ok(ExitCode::SUCCESS);
    }
    let file = template(options.template.as_deref(), options.resource_path.as_deref(), &options.constants)?;
    for warning in &file.warnings {
        errln!("pando makeldif: {warning}");
    }
    let seed = options.seed.map_or_else(any_seed, Ok)?;
    let (out, name): (Box<dyn Write>, String) = match &options.output {
        Some(path) => (Box::new(File::create(path).context(path.display())?), path.display().to_string()),
        None => (Box::new(Output), "standard output".to_owned()),
    };
    let mut writer = LdifWriter::new(BufWriter::with_capacity(BUFFER_BYTES, out), options.wrap_column);
    let progress = Progress::new("making entries", Some(file.entry_count()), options.output.is_none());
    let mut made = 0;
    let written = Generator::new(&file, seed).run(&mut |entry: &Entry| {
        made += 1;
        if made % PROGRESS_ENTRIES == 0 {
            progress.at(made, format!("{} entries", made));
        }
        writer.entry(entry)
    });
    let count = match written.and_then(|count| writer.finish().map(|_| count)) {
        Ok(count) => count,
        Err(_) if reader_is_gone() => return Ok(ExitCode::SUCCESS),
        Err(error) => return Err(Failure::new(format_args!("{name}: {error}"))),
    };
    drop(progress);
    errln!("LDIF processing complete. {count} entries written");
    Ok(ExitCode::SUCCESS)
}

/// Reads a template file, or the example.
pub fn template(
    file: Option<&Path>,
    resource_path: Option<&Path>,
    constants: &[(String, String)],
) -> Result<TemplateFile, Failure> {
    let read = any_template(file, resource_path, constants)?;
    if read.is_endless() {
        return Err(Failure::new(
            "the template makes entries without end: write a number behind each subordinateTemplate; only addrate \
             takes one without",
        ));
    }
    Ok(read)
}

/// The same for one that may make entries without end.
pub fn any_template(
    file: Option<&Path>,
    resource_path: Option<&Path>,
    constants: &[(String, String)],
) -> Result<TemplateFile, Failure> {
    let resources = Resources::new(resource_path, file);
    Ok(match file {
        Some(file) => TemplateFile::load(file, &resources, constants)?,
        None => TemplateFile::parse("example.template", EXAMPLE_TEMPLATE, &resources, constants)?,
    })
}

/// A random seed, where none is given.
pub fn any_seed() -> Result<u64, Failure> {
    getrandom::u64().context("the system gives no random numbers")
}

pub fn constant(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it must be NAME=VALUE")?;
    if name.is_empty() { Err("the name is empty".into()) } else { Ok((name.to_owned(), value.to_owned())) }
}
