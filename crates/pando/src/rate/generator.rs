//! Values that are different for each request: `inc(…)`, `rand(…)`, `randstr(…)`; or always the same.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use durable::ReadBound;

use crate::makeldif::Random;

/// Longest file of lines that is read.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Most characters of a random text.
const LENGTH_MAX: usize = 64 << 10;

/// Makes values; shared by all connections.
#[derive(Debug)]
pub enum Generator {
    /// `inc(min,max)`: one after the other, and from the beginning again.
    Counting {
        /// The first.
        min: i64,
        /// How many there are.
        count: u64,
        /// How many were given.
        given: AtomicU64,
    },
    /// `rand(min,max)`: any of them, the largest not included.
    Random {
        /// The smallest.
        min: i64,
        /// How many there are.
        count: u64,
    },
    /// `randstr(length,[characters])`
    Text {
        /// In characters.
        length: usize,
        /// Any of these.
        characters: Vec<char>,
    },
    /// `inc(file)`, `rand(file)`: lines of a file.
    Lines {
        /// All of them.
        lines: Vec<String>,
        /// How many were given, when they are given in turn.
        given: Option<AtomicU64>,
    },
    /// Any other text: itself.
    Fixed(String),
}

/// Why a text is no generator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GeneratorError {
    /// None of the known forms.
    #[error(
        "a generator is inc(MIN,MAX), inc(FILE), rand(MIN,MAX), rand(FILE), randstr(LENGTH[,CHARACTERS]), or a text \
         without parentheses"
    )]
    Form,
    /// A range with nothing in it.
    #[error("{max} is not larger than {min}")]
    Empty {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// A length of nothing, or of too much.
    #[error("the length of a random text is 1 to {LENGTH_MAX} characters")]
    Length,
    /// No characters to choose from.
    #[error("characters are ranges or lists in brackets, for example [A-Z][a-z][0-9]")]
    Characters,
    /// A file that cannot be read, or has no lines.
    #[error("{}: {problem}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Generator {
    /// Appends a value.
    pub fn put(&self, random: &mut Random, out: &mut String) {
        match self {
            Generator::Counting { min, count, given } => {
                let at = given.fetch_add(1, Ordering::Relaxed) % count;
                _ = write!(out, "{}", min.wrapping_add_unsigned(at));
            }
            Generator::Random { min, count } => _ = write!(out, "{}", min.wrapping_add_unsigned(random.below(*count))),
            Generator::Text { length, characters } => {
                out.extend((0..*length).filter_map(|_| characters.get(random.below(characters.len() as u64) as usize)));
            }
            Generator::Lines { lines, given } => {
                let count = lines.len() as u64;
                let at = match given {
                    Some(given) => given.fetch_add(1, Ordering::Relaxed) % count,
                    None => random.below(count),
                };
                out.push_str(lines.get(at as usize).map_or("", String::as_str));
            }
            Generator::Fixed(text) => out.push_str(text),
        }
    }

    /// Whether a value can have one of these characters.
    pub fn may_give(&self, characters: &[char]) -> bool {
        match self {
            Generator::Counting { .. } | Generator::Random { .. } => false,
            Generator::Text { characters: own, .. } => own.iter().any(|own| characters.contains(own)),
            Generator::Lines { lines, .. } => lines.iter().any(|line| line.contains(characters)),
            Generator::Fixed(text) => text.contains(characters),
        }
    }
}

impl FromStr for Generator {
    type Err = GeneratorError;

    fn from_str(text: &str) -> Result<Generator, GeneratorError> {
        if !text.is_empty() && !text.contains('(') {
            return Ok(Generator::Fixed(text.to_owned()));
        }
        let (name, arguments) =
            text.trim().strip_suffix(')').and_then(|it| it.split_once('(')).ok_or(GeneratorError::Form)?;
        match (name, arguments.split_once(',')) {
            ("randstr", None) => text_of(arguments, "[A-Z][a-z][0-9]"),
            ("randstr", Some((length, characters))) => text_of(length, characters),
            ("inc", Some((min, max))) => {
                let (min, max) = range(min, max)?;
                let count = max.abs_diff(min).checked_add(1).filter(|_| max >= min);
                let count = count.ok_or(GeneratorError::Empty { min, max })?;
                Ok(Generator::Counting { min, count, given: AtomicU64::new(0) })
            }
            ("rand", Some((min, max))) => {
                let (min, max) = range(min, max)?;
                if max <= min {
                    return Err(GeneratorError::Empty { min, max });
                }
                Ok(Generator::Random { min, count: max.abs_diff(min) })
            }
            ("inc", None) => Ok(Generator::Lines { lines: lines_of(arguments)?, given: Some(AtomicU64::new(0)) }),
            ("rand", None) => Ok(Generator::Lines { lines: lines_of(arguments)?, given: None }),
            _ => Err(GeneratorError::Form),
        }
    }
}

fn range(min: &str, max: &str) -> Result<(i64, i64), GeneratorError> {
    let number = |text: &str| text.trim().parse().map_err(|_| GeneratorError::Form);
    Ok((number(min)?, number(max)?))
}

fn text_of(length: &str, characters: &str) -> Result<Generator, GeneratorError> {
    let length = length.trim().parse().map_err(|_| GeneratorError::Form)?;
    if !(1..=LENGTH_MAX).contains(&length) {
        return Err(GeneratorError::Length);
    }
    let characters =
        characters_of(characters.trim()).filter(|all| !all.is_empty()).ok_or(GeneratorError::Characters)?;
    Ok(Generator::Text { length, characters })
}

/// `[A-Z][a-z]`, or a list such as `[abc]`.
fn characters_of(mut text: &str) -> Option<Vec<char>> {
    let mut all = Vec::new();
    while !text.is_empty() {
        let (set, rest) = text.strip_prefix('[')?.split_once(']')?;
        text = rest;
        let set: Vec<char> = set.chars().collect();
        match set.as_slice() {
            [first, '-', last] => all.extend(*first..=*last),
            list => all.extend(list),
        }
    }
    Some(all)
}

fn lines_of(path: &str) -> Result<Vec<String>, GeneratorError> {
    let path = Path::new(path.trim());
    let failed = |problem: String| GeneratorError::File { path: path.to_owned(), problem };
    let text = ReadBound::stream(FILE_BYTES_MAX).text(path).map_err(|error| failed(error.to_string()))?;
    let lines: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if lines.is_empty() { Err(failed("the file has no lines".to_owned())) } else { Ok(lines) }
}
