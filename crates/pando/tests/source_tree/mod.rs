//! The sources of all crates as modules, names and imports, for the tests that judge them.
//!
//! Follows `crate::`, `super::`, `self::` and other crates' paths through modules and `pub use` to the file that
//! defines a name. It is no compiler: methods are not seen, and macros are not expanded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A path as it is written: `crate::facts::Facts`.
pub type Segments = Vec<String>;

/// A word, or one other character. `::` is one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Word(String),
    Sign(char),
    PathSeparator,
}

impl Token {
    fn is(&self, sign: char) -> bool {
        *self == Token::Sign(sign)
    }

    fn word(&self) -> Option<&str> {
        if let Token::Word(word) = self { Some(word) } else { None }
    }
}

/// One module; inline ones too.
#[derive(Default)]
pub struct Module {
    krate: String,
    file: PathBuf,
    children: BTreeSet<String>,
    /// Names that it defines.
    pub items: BTreeSet<String>,
    /// By name, where it comes from.
    uses: BTreeMap<String, Segments>,
    /// Names that it passes on.
    exported: BTreeSet<String>,
    /// Modules all of whose names it takes, and whether it passes them on.
    globs: Vec<(Segments, bool)>,
    /// Paths in its code.
    pub paths: Vec<Segments>,
    words: BTreeSet<String>,
}

/// What a path leads to.
pub enum Found {
    Module(Segments),
    Name(PathBuf, String),
}

#[derive(Default)]
pub struct House {
    /// By their paths from the root of a crate.
    pub modules: BTreeMap<Segments, Module>,
    /// Their names.
    pub crates: BTreeSet<String>,
}

/// Which names tie one file to another.
pub type Edges = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

pub fn crates_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The words and signs of a source text, without comments, texts and characters.
pub fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let (mut found, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        let raw_hashes = (at(i) == 'r').then(|| (i + 1..).take_while(|index| at(*index) == '#').count());
        match at(i) {
            '/' if at(i + 1) == '/' => i += chars[i..].iter().position(|char| *char == '\n').unwrap_or(chars.len() - i),
            '/' if at(i + 1) == '*' => {
                while i < chars.len() && !(at(i) == '*' && at(i + 1) == '/') {
                    i += 1;
                }
                i += 2;
            }
            '"' => {
                i += 1;
                while i < chars.len() && at(i) != '"' {
                    i += if at(i) == '\\' { 2 } else { 1 };
                }
                i += 1;
            }
            'r' if raw_hashes.is_some_and(|hashes| at(i + 1 + hashes) == '"') => {
                let hashes = raw_hashes.unwrap_or(0);
                i += hashes + 2;
                while i < chars.len() && !(at(i) == '"' && (1..=hashes).all(|more| at(i + more) == '#')) {
                    i += 1;
                }
                i += hashes + 1;
            }
            '\'' if at(i + 1) == '\\' => {
                i += 3;
                while i < chars.len() && at(i) != '\'' {
                    i += 1;
                }
                i += 1;
            }
            '\'' if at(i + 2) == '\'' => i += 3,
            char if is_word(char) => {
                let start = i;
                while is_word(at(i)) {
                    i += 1;
                }
                // `b"…"` and `br"…"` are texts.
                let word: String = chars[start..i].iter().collect();
                match at(i) {
                    '"' if word == "b" => {}
                    '"' | '#' if word == "br" => i -= 1,
                    _ => found.push(Token::Word(word)),
                }
            }
            ':' if at(i + 1) == ':' => {
                found.push(Token::PathSeparator);
                i += 2;
            }
            char => {
                if !char.is_whitespace() {
                    found.push(Token::Sign(char));
                }
                i += 1;
            }
        }
    }
    found
}

/// Where the bracket that opens at `open` is closed.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign('{' | '[' | '(') => depth += 1,
            Token::Sign('}' | ']' | ')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// One past the item that begins at `at`: a semicolon or a body ends it.
fn item_end(tokens: &[Token], at: usize) -> usize {
    let is_use = tokens[at..].iter().take(5).any(|token| token.word() == Some("use"));
    let mut i = at;
    while i < tokens.len() {
        match tokens[i] {
            Token::Sign(';') => return i + 1,
            Token::Sign('{') if !is_use => return closing(tokens, i) + 1,
            Token::Sign('{' | '[' | '(') => i = closing(tokens, i) + 1,
            _ => i += 1,
        }
    }
    i
}

/// The paths of a `use`, each with the name that it has here.
pub fn use_tree(tokens: &[Token], before: &[String], found: &mut Vec<(Segments, String)>) {
    let mut path = before.to_vec();
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        match token {
            Token::Sign('{') => {
                let end = closing(tokens, i);
                let mut start = i + 1;
                for at in i + 1..=end {
                    let is_outer = tokens[i + 1..at]
                        .iter()
                        .fold(0i32, |depth, token| depth + i32::from(token.is('{')) - i32::from(token.is('}')))
                        == 0;
                    if at == end || (tokens[at].is(',') && is_outer) {
                        use_tree(&tokens[start..at], &path, found);
                        start = at + 1;
                    }
                }
                return;
            }
            Token::Word(word) if word == "as" => {
                let name = tokens.get(i + 1).and_then(Token::word).unwrap_or("_").to_owned();
                found.push((path, name));
                return;
            }
            Token::Word(word) => path.push(word.clone()),
            Token::Sign('*') => path.push("*".to_owned()),
            _ => {}
        }
        i += 1;
    }
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
    }
    if let Some(name) = path.last().cloned().filter(|_| path.len() > before.len() || !tokens.is_empty()) {
        found.push((path, name));
    }
}

impl House {
    pub fn read() -> House {
        let mut house = House::default();
        for entry in fs::read_dir(crates_folder()).unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            let source = folder.join("src");
            let root = ["lib.rs", "main.rs"].map(|file| source.join(file)).into_iter().find(|file| file.exists());
            house.crates.insert(name.clone());
            house.read_file(std::slice::from_ref(&name), &root.unwrap(), &source);
        }
        house
    }

    fn read_file(&mut self, path: &[String], file: &Path, folder: &Path) {
        let text = fs::read_to_string(file).unwrap();
        self.read_module(path, &tokens(&text), file, folder);
    }

    pub fn read_module(&mut self, path: &[String], tokens: &[Token], file: &Path, folder: &Path) {
        let mut module = Module { krate: path[0].clone(), file: file.to_owned(), ..Module::default() };
        let word = |at: usize| tokens.get(at).and_then(Token::word);
        let (mut i, mut is_public) = (0, false);
        while i < tokens.len() {
            match &tokens[i] {
                Token::Sign('#') if tokens.get(i + 1).is_some_and(|token| token.is('[')) => {
                    let end = closing(tokens, i + 1) + 1;
                    let is_test = word(i + 2) == Some("cfg") && word(i + 4) == Some("test");
                    if is_test {
                        i = skip_attributed(tokens, end);
                    } else {
                        // A derive writes code with the paths that its attributes name: `#[error("{}",
                        // crate::x::y(..))]`.
                        i += 2;
                        while i < end {
                            i = module.read_path(tokens, i).max(i) + 1;
                        }
                        i = end;
                    }
                    continue;
                }
                Token::Word(keyword) => match (keyword.as_str(), word(i + 1)) {
                    ("pub", _) => {
                        is_public = true;
                        if tokens.get(i + 1).is_some_and(|token| token.is('(')) {
                            i = closing(tokens, i + 1);
                        }
                        i += 1;
                        continue;
                    }
                    ("mod", Some(name)) => {
                        let child: Segments = path.iter().cloned().chain([name.to_owned()]).collect();
                        let below = folder.join(name);
                        module.children.insert(name.to_owned());
                        if tokens.get(i + 2).is_some_and(|token| token.is('{')) {
                            let end = closing(tokens, i + 2);
                            self.read_module(&child, &tokens[i + 3..end], file, &below);
                            i = end;
                        } else {
                            let alone = folder.join(format!("{name}.rs"));
                            let own = if alone.exists() { alone } else { below.join("mod.rs") };
                            self.read_file(&child, &own, &below);
                            i += 2;
                        }
                    }
                    ("use", _) => {
                        let end = item_end(tokens, i);
                        let mut paths = Vec::new();
                        use_tree(&tokens[i + 1..end - 1], &[], &mut paths);
                        for (mut to, name) in paths {
                            if to.last().is_some_and(|last| last == "*") {
                                to.pop();
                                module.globs.push((to, is_public));
                                continue;
                            }
                            if is_public {
                                module.exported.insert(name.clone());
                            }
                            module.uses.insert(name, to);
                        }
                        i = end - 1;
                    }
                    ("fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union", Some(name)) => {
                        module.items.insert(name.to_owned());
                        i += 1;
                    }
                    _ => i = module.read_path(tokens, i),
                },
                _ => {}
            }
            is_public = false;
            i += 1;
        }
        self.modules.insert(path.to_vec(), module);
    }

    /// From a path as a module writes it to one from the root of a crate; none for other crates than ours.
    fn absolute(&self, from: &[String], path: &[String], follows_uses: bool) -> Option<Segments> {
        let module = self.modules.get(from)?;
        let first = path.first()?;
        let mut base = from.to_vec();
        match first.as_str() {
            "crate" => Some([module.krate.clone()].into_iter().chain(path[1..].iter().cloned()).collect()),
            "self" | "super" => {
                let ups = path.iter().take_while(|segment| ["self", "super"].contains(&segment.as_str()));
                let (count, supers) =
                    ups.fold((0, 0), |(count, supers), up| (count + 1, supers + usize::from(up == "super")));
                base.truncate(base.len().checked_sub(supers)?);
                base.extend(path[count..].iter().cloned());
                Some(base)
            }
            _ if module.children.contains(first)
                || module.items.contains(first)
                || (follows_uses && module.uses.contains_key(first)) =>
            {
                base.extend(path.iter().cloned());
                Some(base)
            }
            _ => self.crates.contains(first).then(|| path.to_vec()),
        }
    }

    /// The file that defines what an absolute path names.
    pub fn find(&self, path: &[String], depth: usize) -> Option<Found> {
        if depth > 16 {
            return None;
        }
        // The longest module that the path begins with.
        let length = (1..=path.len()).rev().find(|length| self.modules.contains_key(&path[..*length]))?;
        let module = &self.modules[&path[..length]];
        let Some(name) = path.get(length) else { return Some(Found::Module(path.to_vec())) };
        if module.items.contains(name) {
            return Some(Found::Name(module.file.clone(), name.clone()));
        }
        let base = &path[..length];
        let rest = &path[length + 1..];
        if let Some(to) = module.uses.get(name) {
            let to: Segments = self.absolute(base, to, false)?.into_iter().chain(rest.iter().cloned()).collect();
            return self.find(&to, depth + 1);
        }
        module.globs.iter().find_map(|(glob, _)| {
            let to = self.absolute(base, glob, false)?;
            match self.find(&to.into_iter().chain(path[length..].iter().cloned()).collect::<Segments>(), depth + 1)? {
                found @ Found::Name(..) => Some(found),
                Found::Module(_) => None,
            }
        })
    }

    pub fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (at, module) in &self.modules {
            let mut add = |found: Option<Found>| {
                if let Some(Found::Name(file, name)) = found
                    && file != module.file
                {
                    edges.entry(module.file.clone()).or_default().entry(file).or_default().insert(name);
                }
            };
            let imports = module.uses.iter().filter(|(name, _)| !module.exported.contains(*name));
            imports.for_each(|(_, path)| add(self.absolute(at, path, false).and_then(|path| self.find(&path, 0))));
            for path in &module.paths {
                let Some(whole) = self.absolute(at, path, true) else { continue };
                // What follows a type is a method or a variant.
                let first = whole.len() + 1 - path.len();
                let prefixes = (first..=whole.len()).map(|length| self.find(&whole[..length], 0));
                add(prefixes.flatten().find(|found| matches!(found, Found::Name(..))));
            }
            for (glob, _) in module.globs.iter().filter(|(_, is_public)| !is_public) {
                let Some(Found::Module(of)) = self.absolute(at, glob, false).and_then(|path| self.find(&path, 0))
                else {
                    continue;
                };
                for name in self.names_of(&of).filter(|name| module.words.contains(*name)) {
                    let path: Segments = of.iter().cloned().chain([name.clone()]).collect();
                    add(self.find(&path, 0));
                }
            }
        }
        edges
    }

    fn names_of<'h>(&'h self, module: &[String]) -> impl Iterator<Item = &'h String> {
        let module = &self.modules[module];
        module.items.iter().chain(module.uses.keys())
    }
}

/// One past an item that is left out, its further attributes included.
fn skip_attributed(tokens: &[Token], mut at: usize) -> usize {
    while tokens.get(at).is_some_and(|token| token.is('#')) {
        at = closing(tokens, at + 1) + 1;
    }
    item_end(tokens, at)
}

impl Module {
    /// Notes the path that begins at `at`; gives its last token.
    fn read_path(&mut self, tokens: &[Token], at: usize) -> usize {
        let mut path = Vec::new();
        let mut i = at;
        let follows = at.checked_sub(1).is_some_and(|before| tokens[before].is('.'));
        while let Some(Token::Word(word)) = tokens.get(i) {
            self.words.insert(word.clone());
            path.push(word.clone());
            if tokens.get(i + 1) != Some(&Token::PathSeparator) || tokens.get(i + 2).and_then(Token::word).is_none() {
                break;
            }
            i += 2;
        }
        if path.len() > 1 && !follows {
            self.paths.push(path);
        }
        i
    }
}

/// A file's name as a message shows it.
pub fn shown(file: &Path) -> String {
    file.strip_prefix(crates_folder()).unwrap().display().to_string()
}
