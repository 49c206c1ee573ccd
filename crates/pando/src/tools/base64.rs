//! `base64`: encodes and decodes data, with the options of OpenDJ's tool. Memory does not grow with the data.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::base64::engine::general_purpose::STANDARD;
use ::base64::read::DecoderReader;
use ::base64::write::EncoderWriter;
use clap::{Args, Subcommand};

use super::target::Target;
use crate::failure::{Context, Failure, Outcome};
use crate::ldap_client::status;

/// So much is read at once.
const BUFFER_BYTES: usize = 64 << 10;

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    direction: Direction,
}

#[derive(Debug, Subcommand)]
enum Direction {
    /// Encode data, without an option from standard input to standard output
    Encode(EncodeOptions),
    /// Decode base64, without an option from standard input to standard output
    Decode(DecodeOptions),
}

#[derive(Debug, Args)]
struct EncodeOptions {
    /// The data to encode
    #[arg(short = 'd', long = "rawData", value_name = "DATA", conflicts_with = "file")]
    data: Option<String>,
    /// File with the data to encode
    #[arg(short = 'f', long = "rawDataFile", value_name = "FILE")]
    file: Option<PathBuf>,
    /// File to write, which appears when it is whole
    #[arg(short = 'o', long = "toEncodedFile", value_name = "FILE", default_value = "-", hide_default_value = true)]
    output: PathBuf,
}

#[derive(Debug, Args)]
struct DecodeOptions {
    /// The base64 to decode; spaces and line ends in it do not matter
    #[arg(short = 'd', long = "encodedData", value_name = "DATA", conflicts_with = "file")]
    data: Option<String>,
    /// File with the base64 to decode
    #[arg(short = 'f', long = "encodedDataFile", value_name = "FILE")]
    file: Option<PathBuf>,
    /// File to write, which appears when it is whole
    #[arg(short = 'o', long = "toRawFile", value_name = "FILE", default_value = "-", hide_default_value = true)]
    output: PathBuf,
}

pub fn run(options: &Options) -> Outcome {
    status::of_client(match &options.direction {
        Direction::Encode(options) => encode(options),
        Direction::Decode(options) => decode(options),
    })
}

fn encode(options: &EncodeOptions) -> Outcome {
    let (name, mut data) = source(options.data.as_deref(), options.file.as_deref())?;
    let target = Target::open(&options.output, false)?;
    target.fill(|out| {
        let mut encoder = EncoderWriter::new(BufWriter::with_capacity(BUFFER_BYTES, out), &STANDARD);
        copy(&mut data, &mut encoder).map_err(|error| error.of(&name, &target))?;
        let ended = encoder.finish().and_then(|mut out| out.write_all(b"\n").and_then(|()| out.flush()));
        ended.context(&target)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn decode(options: &DecodeOptions) -> Outcome {
    let (name, data) = source(options.data.as_deref(), options.file.as_deref())?;
    let target = Target::open(&options.output, false)?;
    let mut decoder = DecoderReader::new(WithoutSpaces(data), &STANDARD);
    target.fill(|out| copy(&mut decoder, out).map_err(|error| error.of(&name, &target)))?;
    Ok(ExitCode::SUCCESS)
}

/// Where the data comes from, with its name for messages.
fn source(data: Option<&str>, file: Option<&Path>) -> Result<(String, Box<dyn Read>), Failure> {
    Ok(match (data, file) {
        (Some(data), _) => ("the data".to_owned(), Box::new(io::Cursor::new(data.as_bytes().to_vec()))),
        (None, Some(file)) => {
            let opened = File::open(file).context(file.display())?;
            (file.display().to_string(), Box::new(BufReader::with_capacity(BUFFER_BYTES, opened)))
        }
        (None, None) => ("standard input".to_owned(), Box::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin()))),
    })
}

/// On which side copying failed.
enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

impl CopyError {
    fn of(self, source: &str, target: &Target) -> Failure {
        match self {
            CopyError::Write(error) => Failure::new(format_args!("{target}: {error}")),
            CopyError::Read(error) if error.kind() == io::ErrorKind::InvalidData => {
                Failure::new(format_args!("{source} cannot be decoded as base64: {error}"))
            }
            CopyError::Read(error) => Failure::new(format_args!("{source}: {error}")),
        }
    }
}

fn copy(source: &mut dyn Read, target: &mut dyn Write) -> Result<(), CopyError> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        target.write_all(buffer.get(..count).unwrap_or_default()).map_err(CopyError::Write)?;
    }
}

/// Leaves white space out.
struct WithoutSpaces<R>(R);

impl<R: Read> Read for WithoutSpaces<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.0.read(buffer)?;
            let mut kept = 0;
            for at in 0..count {
                if let Some(byte) = buffer.get(at).copied().filter(|byte| !byte.is_ascii_whitespace()) {
                    if let Some(place) = buffer.get_mut(kept) {
                        *place = byte;
                    }
                    kept += 1;
                }
            }
            // Nothing but white space is not the end.
            if kept > 0 || count == 0 {
                return Ok(kept);
            }
        }
    }
}
