//! Splits a definition into parentheses, `$`, words and quoted strings (RFC 4512 §1.4, §4.1).

use thiserror::Error;

/// Why a text is no definition; `at` is the byte offset in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DefinitionError {
    /// Something else was needed.
    #[error("expected {expected} but found {found} at character {at}")]
    Expected {
        /// What the grammar wants here.
        expected: &'static str,
        /// What is there.
        found: String,
        /// Byte offset.
        at: usize,
    },
    /// A quoted string without end.
    #[error("the quoted string that begins at character {at} is not closed")]
    OpenQuote {
        /// Byte offset.
        at: usize,
    },
    /// A backslash that is neither `\27` nor `\5C`.
    #[error("bad escape at character {at}: only \\27 (quote) and \\5C (backslash) are known")]
    BadEscape {
        /// Byte offset.
        at: usize,
    },
    /// A keyword that this kind of definition does not have.
    #[error("unknown keyword {keyword} at character {at}")]
    UnknownKeyword {
        /// The word.
        keyword: String,
        /// Byte offset.
        at: usize,
    },
    /// A keyword given twice.
    #[error("{keyword} is given twice (at character {at})")]
    Repeated {
        /// The word.
        keyword: String,
        /// Byte offset.
        at: usize,
    },
    /// A keyword that the kind of definition cannot do without.
    #[error("{keyword} is missing")]
    Missing {
        /// The word.
        keyword: &'static str,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    Dollar,
    Word(&'a str),
    Quoted(String),
    End,
}

impl Token<'_> {
    fn describe(&self) -> String {
        match self {
            Token::Open => "'('".into(),
            Token::Close => "')'".into(),
            Token::Dollar => "'$'".into(),
            Token::Word(word) => (*word).to_owned(),
            Token::Quoted(text) => format!("'{text}'"),
            Token::End => "the end".into(),
        }
    }
}

/// Reads tokens with one token of look-ahead.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Where the token returned last began.
    pub(super) token_at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Lexer { text, at: 0, token_at: 0 }
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>, DefinitionError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.at += rest.len() - trimmed.len();
        self.token_at = self.at;
        let Some(first) = trimmed.chars().next() else { return Ok(Token::End) };
        let single = match first {
            '(' => Some(Token::Open),
            ')' => Some(Token::Close),
            '$' => Some(Token::Dollar),
            _ => None,
        };
        if let Some(token) = single {
            self.at += 1;
            return Ok(token);
        }
        if first == '\'' {
            return self.quoted(trimmed);
        }
        let end = trimmed.find([' ', '\t', '\r', '\n', '(', ')', '$', '\'']).unwrap_or(trimmed.len());
        self.at += end;
        Ok(Token::Word(trimmed.get(..end).unwrap_or_default()))
    }

    pub(super) fn peek(&mut self) -> Result<Token<'a>, DefinitionError> {
        let at = self.at;
        let token = self.next()?;
        self.at = at;
        Ok(token)
    }

    pub(super) fn expect(&mut self, wanted: &Token<'_>, expected: &'static str) -> Result<(), DefinitionError> {
        let token = self.next()?;
        if token == *wanted { Ok(()) } else { Err(self.unexpected(expected, &token)) }
    }

    pub(super) fn unexpected(&self, expected: &'static str, token: &Token<'_>) -> DefinitionError {
        DefinitionError::Expected { expected, found: token.describe(), at: self.token_at }
    }

    /// `text` begins with the opening quote.
    fn quoted(&mut self, text: &'a str) -> Result<Token<'a>, DefinitionError> {
        let body = text.get(1..).unwrap_or_default();
        let end = body.find('\'').ok_or(DefinitionError::OpenQuote { at: self.at })?;
        let raw = body.get(..end).unwrap_or_default();
        let start = self.at + 1;
        self.at = start + end + 1;
        if !raw.contains('\\') {
            return Ok(Token::Quoted(raw.to_owned()));
        }
        let mut plain = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(slash) = rest.find('\\') {
            plain.push_str(rest.get(..slash).unwrap_or_default());
            match rest.get(slash..slash + 3) {
                Some("\\27") => plain.push('\''),
                Some("\\5C" | "\\5c") => plain.push('\\'),
                _ => return Err(DefinitionError::BadEscape { at: start + raw.len() - rest.len() + slash }),
            }
            rest = rest.get(slash + 3..).unwrap_or_default();
        }
        plain.push_str(rest);
        Ok(Token::Quoted(plain))
    }
}
