//! A template file: its constants, branches and templates, read and checked.

use std::collections::HashMap;
use std::path::Path;

use super::error::{Fault, TemplateError};
use super::lexer::{Part, parts, substitute};
use super::resource::{FILE, Resources};
use super::value_form::ValueForm;

/// Includes may nest so deep.
const INCLUDE_DEPTH_MAX: usize = 16;

/// A checked template file.
#[derive(Debug)]
pub struct TemplateFile {
    pub(super) branches: Vec<Branch>,
    pub(super) templates: Vec<Template>,
    /// How many tags remember something between entries.
    pub(super) states: usize,
    /// Given names and surnames for `<first>` and `<last>`.
    pub(super) first_names: Vec<String>,
    pub(super) last_names: Vec<String>,
    /// What looks wrong and is not forbidden.
    pub warnings: Vec<String>,
}

/// An entry with a given DN, and what stands below it.
#[derive(Debug)]
pub(super) struct Branch {
    pub dn: String,
    pub lines: Vec<Line>,
    pub subordinates: Vec<Subordinate>,
}

/// A pattern of entries.
#[derive(Debug)]
pub(super) struct Template {
    /// Places of the RDN's attributes in `lines`.
    pub rdn_lines: Vec<usize>,
    pub lines: Vec<Line>,
    pub subordinates: Vec<Subordinate>,
}

/// So many entries of a template.
#[derive(Debug, Clone)]
pub(super) struct Subordinate {
    /// Place in [`TemplateFile::templates`].
    pub template: usize,
    pub count: u64,
}

/// `attribute: value`
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub attribute: String,
    /// The attribute in lower case, by which it is referred to.
    pub key: String,
    pub form: ValueForm,
    pub parts: Vec<Part>,
}

impl TemplateFile {
    /// Reads a template. `constants` go before what the file defines.
    pub fn parse(
        file: &str,
        text: &str,
        resources: &Resources,
        constants: &[(String, String)],
    ) -> Result<Self, TemplateError> {
        let mut parser = Parser {
            resources,
            fixed: constants.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect(),
            constants: HashMap::new(),
            blocks: Vec::new(),
            unknown: Vec::new(),
        };
        parser.constants.clone_from(&parser.fixed);
        parser.file(file, text, 0)?;
        let at = |line: usize| move |fault: Fault| TemplateError { file: file.to_owned(), line, fault };
        let blocks = std::mem::take(&mut parser.blocks);
        let mut builder = Builder {
            resources,
            states: 0,
            branches: Vec::new(),
            templates: Vec::new(),
            names: HashMap::new(),
            unresolved: Vec::new(),
        };
        for block in blocks {
            if block.is_branch { builder.branch(block)? } else { builder.template(block)? }
        }
        builder.resolve()?;
        if builder.branches.is_empty() {
            return Err(at(1)(Fault::NoBranch));
        }
        Ok(Self {
            branches: builder.branches,
            templates: builder.templates,
            states: builder.states,
            first_names: resources.lines("first.names").map_err(at(1))?,
            last_names: resources.lines("last.names").map_err(at(1))?,
            warnings: parser.unknown,
        })
    }

    /// Reads a template from a file.
    pub fn load(path: &Path, resources: &Resources, constants: &[(String, String)]) -> Result<Self, TemplateError> {
        let name = path.display().to_string();
        let text = FILE.text(path).map_err(|error| TemplateError {
            file: name.clone(),
            line: 1,
            fault: Fault::Unreadable { path: path.to_owned(), error },
        })?;
        Self::parse(&name, &text, resources, constants)
    }

    /// Whether it makes entries without end: a `subordinateTemplate` has no number.
    pub fn is_endless(&self) -> bool {
        self.entry_count() == ENDLESS
    }

    /// Whether a value is named by a URL.
    pub fn has_urls(&self) -> bool {
        let lines = self.branches.iter().map(|branch| &branch.lines);
        let lines = lines.chain(self.templates.iter().map(|template| &template.lines));
        lines.flatten().any(|line| line.form == ValueForm::Url)
    }

    /// Whether this is the name of a branch.
    pub fn has_branch(&self, dn: &str) -> bool {
        self.branches.iter().any(|branch| branch.dn == dn)
    }

    /// How many entries it makes.
    pub fn entry_count(&self) -> u64 {
        let below = |subordinates: &[Subordinate]| {
            subordinates.iter().fold(0, |sum: u64, s| sum.saturating_add(self.count_of(s)))
        };
        self.branches
            .iter()
            .fold(0, |sum: u64, branch| sum.saturating_add(1).saturating_add(below(&branch.subordinates)))
    }

    fn count_of(&self, subordinate: &Subordinate) -> u64 {
        let each = self.templates.get(subordinate.template).map_or(0, |template| {
            template.subordinates.iter().fold(1, |sum: u64, below| sum.saturating_add(self.count_of(below)))
        });
        subordinate.count.saturating_mul(each)
    }
}

/// The number of entries of a `subordinateTemplate` without one.
const ENDLESS: u64 = u64::MAX;

/// A `branch:` or `template:` with its lines, constants replaced.
struct Block {
    file: String,
    line: usize,
    is_branch: bool,
    name: String,
    lines: Vec<(usize, String)>,
}

/// First pass: lines, comments, continuations, includes, constants.
struct Parser<'a> {
    resources: &'a Resources,
    fixed: HashMap<String, String>,
    constants: HashMap<String, String>,
    blocks: Vec<Block>,
    unknown: Vec<String>,
}

impl Parser<'_> {
    fn file(&mut self, file: &str, text: &str, depth: usize) -> Result<(), TemplateError> {
        let mut open: Option<Block> = None;
        for (line, raw) in unfolded(text) {
            let fail = |fault| TemplateError { file: file.to_owned(), line, fault };
            if raw.starts_with('#') {
                continue;
            }
            if raw.trim().is_empty() {
                self.blocks.extend(open.take());
                continue;
            }
            let mut unknown = Vec::new();
            let text = substitute(&raw, &self.constants, &mut unknown);
            self.unknown.extend(
                unknown
                    .into_iter()
                    .map(|name| format!("{file}:{line}: there is no constant \"{name}\"; [{name}] stays as it is")),
            );
            let text = text.trim_end();
            let lower = text.to_ascii_lowercase();
            let argument = |keyword: &str| text.get(keyword.len()..).unwrap_or("").trim().to_owned();
            if lower.starts_with("define ") {
                self.define(&argument("define ")).map_err(fail)?;
            } else if lower.starts_with("include ") {
                if depth >= INCLUDE_DEPTH_MAX {
                    return Err(fail(Fault::IncludesTooDeep(INCLUDE_DEPTH_MAX)));
                }
                let name = argument("include ");
                let included = self.resources.text(&name).map_err(fail)?;
                self.file(&name, &included, depth + 1)?;
            } else if lower.starts_with("branch:") || lower.starts_with("template:") {
                self.blocks.extend(open.take());
                let is_branch = lower.starts_with("branch:");
                let name = argument(if is_branch { "branch:" } else { "template:" });
                open = Some(Block { file: file.to_owned(), line, is_branch, name, lines: Vec::new() });
            } else {
                match &mut open {
                    Some(block) => block.lines.push((line, text.to_owned())),
                    None => return Err(fail(Fault::Outside(text.to_owned()))),
                }
            }
        }
        self.blocks.extend(open);
        Ok(())
    }

    fn define(&mut self, text: &str) -> Result<(), Fault> {
        let (name, value) = text.split_once('=').ok_or(Fault::Define)?;
        let name = name.trim().to_lowercase();
        if name.is_empty() {
            return Err(Fault::Define);
        }
        if !self.fixed.contains_key(&name) {
            self.constants.insert(name, value.trim().to_owned());
        }
        Ok(())
    }
}

/// Lines with their numbers; one that begins with a blank continues the one before.
fn unfolded(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (place, raw) in text.lines().enumerate() {
        let continues = raw.starts_with([' ', '\t']) && !raw.trim().is_empty();
        match lines.last_mut() {
            Some((_, last)) if continues && !last.is_empty() => last.push_str(raw.get(1..).unwrap_or("")),
            _ => lines.push((place + 1, raw.to_owned())),
        }
    }
    lines
}

/// A `subordinateTemplate` that may name a template further down.
#[derive(Clone)]
struct Unresolved {
    file: String,
    line: usize,
    owner: Owner,
    name: String,
    count: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Branch(usize),
    Template(usize),
}

/// Second pass: values, references between lines and templates.
struct Builder<'a> {
    resources: &'a Resources,
    states: usize,
    branches: Vec<Branch>,
    templates: Vec<Template>,
    names: HashMap<String, usize>,
    unresolved: Vec<Unresolved>,
}

impl Builder<'_> {
    fn branch(&mut self, block: Block) -> Result<(), TemplateError> {
        let fail = |fault| TemplateError { file: block.file.clone(), line: block.line, fault };
        let rdn = split_dn(&block.name).into_iter().next().filter(|rdn| rdn.contains('='));
        let rdn = rdn.ok_or_else(|| fail(Fault::BranchWithoutDn))?;
        let mut lines = Vec::new();
        for (line, text) in &block.lines {
            self.line(&block.file, *line, text, &mut lines, Owner::Branch(self.branches.len()))?;
        }
        // The attributes of the RDN belong to the entry whether the template lists them or not.
        for (attribute, value) in rdn.split('+').filter_map(|ava| ava.split_once('=')) {
            let (attribute, key) = (attribute.trim().to_owned(), attribute.trim().to_lowercase());
            if !lines.iter().any(|line: &Line| line.key == key) {
                lines.push(Line {
                    attribute,
                    key,
                    form: ValueForm::Plain,
                    parts: vec![Part::Text(unescaped(value.trim()))],
                });
            }
        }
        check_references(&lines, &[]).map_err(fail)?;
        self.branches.push(Branch { dn: block.name, lines, subordinates: Vec::new() });
        Ok(())
    }

    fn template(&mut self, block: Block) -> Result<(), TemplateError> {
        let fail = |line: usize| {
            let file = block.file.clone();
            move |fault| TemplateError { file, line, fault }
        };
        let place = self.templates.len();
        let key = block.name.to_lowercase();
        if self.names.insert(key, place).is_some() {
            return Err(fail(block.line)(Fault::TwoTemplates(block.name)));
        }
        let mut lines: Vec<Line> = Vec::new();
        let mut rdn_attributes: Vec<String> = Vec::new();
        for (line, text) in &block.lines {
            let lower = text.to_ascii_lowercase();
            let argument = |keyword: &str| text.get(keyword.len()..).unwrap_or("").trim().to_owned();
            if lower.starts_with("rdnattr:") {
                rdn_attributes = argument("rdnattr:").split('+').map(|name| name.trim().to_lowercase()).collect();
            } else if lower.starts_with("extends:") {
                let name = argument("extends:");
                let parent = self.names.get(&name.to_lowercase()).copied().filter(|parent| *parent != place);
                let parent = parent.ok_or_else(|| fail(*line)(Fault::UnknownTemplate(name)))?;
                self.inherit(parent, place, &mut lines, &mut rdn_attributes);
            } else {
                self.line(&block.file, *line, text, &mut lines, Owner::Template(place))?;
            }
        }
        if rdn_attributes.is_empty() {
            return Err(fail(block.line)(Fault::NoRdnAttribute(block.name)));
        }
        let line_of = |name: &String| {
            lines.iter().position(|line| line.key == *name).ok_or_else(|| Fault::RdnWithoutLine(name.clone()))
        };
        let rdn_lines = rdn_attributes.iter().map(line_of).collect::<Result<Vec<_>, _>>().map_err(fail(block.line))?;
        check_references(&lines, &rdn_lines).map_err(fail(block.line))?;
        self.templates.push(Template { rdn_lines, lines, subordinates: Vec::new() });
        Ok(())
    }

    /// `extends`: the lines, the RDN and the subordinates of another template, to which this one adds its own.
    fn inherit(&mut self, parent: usize, child: usize, lines: &mut Vec<Line>, rdn_attributes: &mut Vec<String>) {
        if let Some(parent) = self.templates.get(parent) {
            rdn_attributes
                .extend(parent.rdn_lines.iter().filter_map(|line| Some(parent.lines.get(*line)?.key.clone())));
            lines.extend(parent.lines.iter().cloned());
        }
        let inherited = self.unresolved.iter().filter(|u| u.owner == Owner::Template(parent));
        let inherited: Vec<Unresolved> =
            inherited.map(|u| Unresolved { owner: Owner::Template(child), ..u.clone() }).collect();
        self.unresolved.extend(inherited);
    }

    /// One line of a block: a value, or a `subordinateTemplate`.
    fn line(
        &mut self,
        file: &str,
        number: usize,
        text: &str,
        lines: &mut Vec<Line>,
        owner: Owner,
    ) -> Result<(), TemplateError> {
        let fail = |fault| TemplateError { file: file.to_owned(), line: number, fault };
        let (attribute, value) = text.split_once(':').ok_or_else(|| fail(Fault::NotALine(text.to_owned())))?;
        let attribute = attribute.trim();
        if attribute.eq_ignore_ascii_case("subordinateTemplate") {
            let (name, count) = match value.rsplit_once(':') {
                Some((name, count)) => (name, count.trim().parse().map_err(|_| fail(Fault::Subordinate))?),
                None => (value, ENDLESS),
            };
            self.unresolved.push(Unresolved {
                file: file.to_owned(),
                line: number,
                owner,
                name: name.trim().to_owned(),
                count,
            });
            return Ok(());
        }
        if attribute.is_empty() || attribute.contains(char::is_whitespace) {
            return Err(fail(Fault::NotALine(text.to_owned())));
        }
        let (form, value) = match value.strip_prefix(':') {
            Some(value) => (ValueForm::Base64, value),
            None => match value.strip_prefix("< ") {
                Some(value) => (ValueForm::Url, value),
                None => (ValueForm::Plain, value),
            },
        };
        let parts = parts(value.trim(), self.resources, &mut self.states).map_err(fail)?;
        lines.push(Line { attribute: attribute.to_owned(), key: attribute.to_lowercase(), form, parts });
        Ok(())
    }

    /// Connects every `subordinateTemplate` with its template, and refuses circles.
    fn resolve(&mut self) -> Result<(), TemplateError> {
        for u in std::mem::take(&mut self.unresolved) {
            let fail = |fault| TemplateError { file: u.file.clone(), line: u.line, fault };
            let template =
                *self.names.get(&u.name.to_lowercase()).ok_or_else(|| fail(Fault::UnknownTemplate(u.name.clone())))?;
            let subordinate = Subordinate { template, count: u.count };
            match u.owner {
                Owner::Branch(place) => {
                    if let Some(owner) = self.branches.get_mut(place) {
                        owner.subordinates.push(subordinate);
                    }
                }
                Owner::Template(place) => {
                    if let Some(owner) = self.templates.get_mut(place) {
                        owner.subordinates.push(subordinate);
                    }
                    if self.reaches(template, place, 0) {
                        return Err(fail(Fault::Circle(u.name)));
                    }
                }
            }
        }
        Ok(())
    }

    fn reaches(&self, from: usize, target: usize, depth: usize) -> bool {
        from == target
            || depth > self.templates.len()
            || self.templates.get(from).is_some_and(|template| {
                template.subordinates.iter().any(|s| self.reaches(s.template, target, depth + 1))
            })
    }
}

/// Every `{attribute}` has a line above it, every DN tag stands below the lines of the RDN.
fn check_references(lines: &[Line], rdn_lines: &[usize]) -> Result<(), Fault> {
    for (place, line) in lines.iter().enumerate() {
        for part in &line.parts {
            match part {
                Part::Reference { attribute, .. } if !lines.iter().take(place).any(|above| above.key == *attribute) => {
                    return Err(Fault::UnknownAttribute(attribute.clone()));
                }
                Part::Tag(tag) if tag.needs_dn() && rdn_lines.iter().any(|rdn_line| *rdn_line >= place) => {
                    return Err(Fault::DnTooEarly(line.attribute.clone()));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The RDNs of a DN, leaf first, as written.
pub(super) fn split_dn(dn: &str) -> Vec<String> {
    let mut rdns = vec![String::new()];
    let mut escaped = false;
    for c in dn.chars() {
        if c == ',' && !escaped {
            rdns.push(String::new());
            continue;
        }
        escaped = c == '\\' && !escaped;
        if let Some(last) = rdns.last_mut() {
            last.push(c);
        }
    }
    rdns.iter().map(|rdn| rdn.trim().to_owned()).filter(|rdn| !rdn.is_empty()).collect()
}

fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}
