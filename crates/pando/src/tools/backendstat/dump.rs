//! `dump-index` and `dump-raw-db`: records, readable or in hexadecimal.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::ops::{Bound, ControlFlow};

use clap::Args;
use config::Config;
use serde_json::json;

use super::form::Form;
use super::listing::Sum;
use super::of_backend::OfBackend;
use super::source::{Source, base_dns};
use super::tree::{Range, Record, Tree, is_named, raw_trees, trees_of};
use crate::failure::{Context, Failure};
use crate::instance;
use crate::output::{Output, reader_is_gone};

/// Bytes of a line of hexadecimal.
const LINE_BYTES: usize = 16;

#[derive(Debug, Args)]
pub(super) struct IndexOptions {
    #[command(flatten)]
    of: OfBackend,
    /// The base DN
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "DN")]
    base_dn: String,
    /// The index, such as cn.caseIgnoreMatch, or another tree of list-indexes
    #[arg(short = 'i', long = "indexName", value_name = "INDEX")]
    index: String,
    /// Keys and values in hexadecimal
    #[arg(short = 'p', long = "skipDecode")]
    skip_decode: bool,
    #[command(flatten)]
    records: Records,
}

#[derive(Debug, Args)]
pub(super) struct RawOptions {
    #[command(flatten)]
    of: OfBackend,
    /// The tree, such as /dc=com,dc=example/id2entry (see list-raw-dbs)
    #[arg(short = 'd', long = "dbName", value_name = "TREE")]
    tree: String,
    /// A key and a value each on one line
    #[arg(short = 'l', long = "singleLine")]
    single_line: bool,
    #[command(flatten)]
    records: Records,
}

/// Which records.
#[derive(Debug, Args)]
struct Records {
    /// Only the sums below the records
    #[arg(short = 'q', long = "statsOnly")]
    stats_only: bool,
    /// Only keys up to this one
    #[arg(short = 'K', long = "maxKeyValue", value_name = "KEY", conflicts_with = "max_hex_key")]
    max_key: Option<String>,
    /// Only keys from this one on
    #[arg(short = 'k', long = "minKeyValue", value_name = "KEY", conflicts_with = "min_hex_key")]
    min_key: Option<String>,
    /// Only keys up to this one, in hexadecimal
    #[arg(short = 'X', long = "maxHexKeyValue", value_name = "HEX", value_parser = hex)]
    max_hex_key: Option<Hex>,
    /// Only keys from this one on, in hexadecimal
    #[arg(short = 'x', long = "minHexKeyValue", value_name = "HEX", value_parser = hex)]
    min_hex_key: Option<Hex>,
    /// Only records whose value has at most so many bytes
    #[arg(short = 'S', long = "maxDataSize", value_name = "BYTES")]
    max_data_size: Option<u64>,
    /// Only records whose value has at least so many bytes
    #[arg(short = 's', long = "minDataSize", value_name = "BYTES", default_value_t = 0)]
    min_data_size: u64,
}

/// Bytes given in hexadecimal.
#[derive(Debug, Clone)]
struct Hex(Vec<u8>);

fn hex(text: &str) -> Result<Hex, String> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| digit.try_into().ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0).ok_or("it must be pairs of hexadecimal digits")?;
    Ok(Hex(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()))
}

/// How a record is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Decoded,
    Hex { single_line: bool },
}

pub(super) fn dump_index(config: &Config, options: &IndexOptions, form: Form) -> Result<(), Failure> {
    let backend = instance::backend(config, options.of.backend.as_deref())?;
    base_dns(config, backend, std::slice::from_ref(&options.base_dn))?;
    let mut source = Source::open(config, backend)?;
    let names = |tree: &Tree| {
        tree.name().eq_ignore_ascii_case(&options.index) || tree.raw_name(&options.base_dn) == options.index
    };
    let trees = trees_of(&source);
    // The attribute alone will do if it has one index.
    let of_attribute: Vec<&Tree> = trees.iter().filter(|tree| is_named(tree.name(), &options.index)).collect();
    let wanted = &options.index;
    let listed = |trees: Vec<&Tree>| trees.into_iter().map(Tree::name).collect::<Vec<_>>().join(", ");
    let tree = match (trees.iter().find(|tree| names(tree)), of_attribute.as_slice()) {
        (Some(tree), _) | (None, &[tree]) => Tree::clone(tree),
        (None, []) => {
            let known = listed(trees.iter().collect());
            return Err(Failure::new(format_args!("there is no index \"{wanted}\"; there are {known}")));
        }
        (None, several) => {
            let known = listed(several.to_vec());
            return Err(Failure::new(format_args!("\"{wanted}\" has several indexes; choose one of {known}")));
        }
    };
    let style = if options.skip_decode { Style::Hex { single_line: false } } else { Style::Decoded };
    dump(&mut source, &tree, &options.records, style, form)
}

pub(super) fn dump_raw_db(config: &Config, options: &RawOptions, form: Form) -> Result<(), Failure> {
    let backend = instance::backend(config, options.of.backend.as_deref())?;
    let mut source = Source::open(config, backend)?;
    let trees = raw_trees(&source, &backend.base_dns);
    let Some((_, tree)) = trees.into_iter().find(|(name, _)| *name == options.tree) else {
        return Err(Failure::new(format_args!(
            "the backend \"{}\" has no tree \"{}\": see pando backendstat list-raw-dbs -n {0}",
            backend.id, options.tree
        )));
    };
    dump(&mut source, &tree, &options.records, Style::Hex { single_line: options.single_line }, form)
}

fn dump(source: &mut Source, tree: &Tree, records: &Records, style: Style, form: Form) -> Result<(), Failure> {
    let range = range(source, tree, records)?;
    let mut out = BufWriter::new(Output);
    let printed =
        print(source, tree, records, range, style, form, &mut out).and_then(|()| out.flush().map_err(Problem::Output));
    match printed {
        Ok(()) => Ok(()),
        Err(Problem::Output(_)) if reader_is_gone() => Ok(()),
        Err(Problem::Output(error)) => Err(error).context("standard output"),
        Err(Problem::Other(failure)) => Err(failure),
    }
}

enum Problem {
    Output(io::Error),
    Other(Failure),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::Output(error)
    }
}

fn print(
    source: &mut Source,
    tree: &Tree,
    records: &Records,
    range: Range,
    style: Style,
    form: Form,
    out: &mut impl Write,
) -> Result<(), Problem> {
    let mut sum = Sum::default();
    let mut broken = None;
    // What is shown of a key needs the schema, while the walk has the source.
    let schema = std::sync::Arc::clone(&source.schema);
    tree.walk(source, range, &mut |record| {
        let bytes = record.value_bytes()?;
        if bytes < records.min_data_size || records.max_data_size.is_some_and(|max| bytes > max) {
            return Ok(ControlFlow::Continue(()));
        }
        if !records.stats_only {
            let text = match (form, style) {
                (Form::Table, Style::Decoded) => {
                    let (key, value) = (tree.shown_key(&schema, record)?, tree.shown_value(record)?);
                    format!("Key (len {}): {key}\nValue (len {bytes}): {value}\n", record.key.len())
                }
                (Form::Table, Style::Hex { single_line }) => hex_text(record, bytes, single_line)?,
                (Form::Json, Style::Decoded) => {
                    let (key, value) = (tree.shown_key(&schema, record)?, tree.shown_value(record)?);
                    let told = json!({ "key": key, "keyBytes": record.key.len(), "value": value, "valueBytes": bytes });
                    format!("{told}\n")
                }
                (Form::Json, Style::Hex { .. }) => {
                    let (key, value) = (digits(record.key), digits(&value_of(record)?));
                    let told = json!({ "key": key, "keyBytes": record.key.len(), "value": value, "valueBytes": bytes });
                    format!("{told}\n")
                }
            };
            if let Err(error) = out.write_all(text.as_bytes()) {
                broken = Some(error);
                return Ok(ControlFlow::Break(()));
            }
        }
        sum.add(record.key.len(), bytes)
    })
    .map_err(Problem::Other)?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    if form == Form::Json {
        let told =
            json!({ "totalRecords": sum.records, "totalKeySize": sum.key_bytes, "totalDataSize": sum.value_bytes });
        writeln!(out, "{told}")?;
        return Ok(());
    }
    writeln!(out, "\nTotal Records: {}", sum.records)?;
    if let Some(average) = sum.key_bytes.checked_div(sum.records) {
        writeln!(out, "Total / Average Key Size: {} bytes / {average} bytes", sum.key_bytes)?;
    }
    if let Some(average) = sum.value_bytes.checked_div(sum.records) {
        writeln!(out, "Total / Average Data Size: {} bytes / {average} bytes", sum.value_bytes)?;
    }
    Ok(())
}

fn range(source: &Source, tree: &Tree, records: &Records) -> Result<Range, Failure> {
    let bound = |text: &Option<String>, hex: &Option<Hex>| {
        Ok::<_, Failure>(match (text, hex) {
            (Some(text), _) => Bound::Included(tree.key_of(source, text)?),
            (None, Some(hex)) => Bound::Included(hex.0.clone()),
            (None, None) => Bound::Unbounded,
        })
    };
    Ok((bound(&records.min_key, &records.min_hex_key)?, bound(&records.max_key, &records.max_hex_key)?))
}

fn value_of(record: &Record<'_, '_>) -> Result<Vec<u8>, Failure> {
    let mut value = Vec::new();
    record.each_stored(&mut |piece| value.extend_from_slice(piece))?;
    Ok(value)
}

fn hex_text(record: &Record<'_, '_>, bytes: u64, single_line: bool) -> Result<String, Failure> {
    let value = value_of(record)?;
    let key_bytes = record.key.len();
    Ok(if single_line {
        format!("Key (len {key_bytes}): {}\nValue (len {bytes}): {}\n", digits(record.key), digits(&value))
    } else {
        format!("Key (len {key_bytes}):\n{}Value (len {bytes}):\n{}", lines(record.key), lines(&value))
    })
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02X}");
        out
    })
}

/// Sixteen bytes a line, in hexadecimal and in ASCII.
fn lines(bytes: &[u8]) -> String {
    let mut out = String::new();
    for line in bytes.chunks(LINE_BYTES) {
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02X}")).collect();
        let ascii: String =
            line.iter().map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' }).collect();
        let _ = writeln!(out, "    {:<width$} {ascii}", hex.join(" "), width = LINE_BYTES * 3);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_goes_both_ways() {
        assert_eq!(hex("00ffA1").unwrap().0, [0, 255, 0xa1]);
        assert!(hex("0").is_err() && hex("0g").is_err());
        assert_eq!(digits(&[0, 255]), "00FF");
        let text = lines(b"0123456789abcdef\x01Z");
        let expected = "    30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef\n    01 \
            5A                                            .Z\n";
        assert_eq!(text, expected);
    }
}
