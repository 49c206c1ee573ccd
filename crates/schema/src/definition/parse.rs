//! Parser of the eight definition grammars of RFC 4512 §4.1.
//!
//! Tolerates what deployed schema files contain: keywords in any order and case, quoted OIDs, missing spaces.

use super::lexer::{DefinitionError, Lexer, Token};
use super::types::{
    AttributeTypeDefinition, ClassKind, ContentRuleDefinition, Definition, DefinitionKind, Head,
    MatchingRuleDefinition, MatchingRuleUseDefinition, NameFormDefinition, ObjectClassDefinition,
    StructureRuleDefinition, SyntaxDefinition, Usage,
};

type Result<T> = std::result::Result<T, DefinitionError>;

impl Definition {
    /// Parses the value of the subschema attribute that holds `kind`.
    pub fn parse(kind: DefinitionKind, text: &str) -> Result<Definition> {
        let mut parser = Parser::new(text)?;
        let definition = match kind {
            DefinitionKind::Syntax => {
                parser.each(|_, _| Ok(false))?;
                Definition::Syntax(SyntaxDefinition { head: parser.take_head() })
            }
            DefinitionKind::MatchingRule => matching_rule(&mut parser)?,
            DefinitionKind::MatchingRuleUse => matching_rule_use(&mut parser)?,
            DefinitionKind::AttributeType => attribute_type(&mut parser)?,
            DefinitionKind::ObjectClass => object_class(&mut parser)?,
            DefinitionKind::NameForm => name_form(&mut parser)?,
            DefinitionKind::ContentRule => content_rule(&mut parser)?,
            DefinitionKind::StructureRule => structure_rule(&mut parser)?,
        };
        Ok(definition)
    }
}

fn matching_rule(parser: &mut Parser<'_>) -> Result<Definition> {
    let mut syntax = None;
    parser.each(|parser, keyword| {
        match keyword {
            "SYNTAX" => syntax = Some(parser.oid()?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let syntax = syntax.ok_or(DefinitionError::Missing { keyword: "SYNTAX" })?;
    Ok(Definition::MatchingRule(MatchingRuleDefinition { head: parser.take_head(), syntax }))
}

fn matching_rule_use(parser: &mut Parser<'_>) -> Result<Definition> {
    let mut applies = Vec::new();
    parser.each(|parser, keyword| {
        match keyword {
            "APPLIES" => applies = parser.oids()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if applies.is_empty() {
        return Err(DefinitionError::Missing { keyword: "APPLIES" });
    }
    Ok(Definition::MatchingRuleUse(MatchingRuleUseDefinition { head: parser.take_head(), applies }))
}

fn attribute_type(parser: &mut Parser<'_>) -> Result<Definition> {
    let mut it = AttributeTypeDefinition::default();
    parser.each(|parser, keyword| {
        match keyword {
            "SUP" => it.superior = Some(parser.oid()?),
            "EQUALITY" => it.equality = Some(parser.oid()?),
            "ORDERING" => it.ordering = Some(parser.oid()?),
            "SUBSTR" => it.substring = Some(parser.oid()?),
            "SYNTAX" => {
                let (syntax, length) = parser.bounded_oid()?;
                it.syntax = Some(syntax);
                it.length = length;
            }
            "SINGLE-VALUE" => it.single_value = true,
            "COLLECTIVE" => it.collective = true,
            "NO-USER-MODIFICATION" => it.no_user_modification = true,
            "USAGE" => it.usage = parser.usage()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    it.head = parser.take_head();
    Ok(Definition::AttributeType(it))
}

fn object_class(parser: &mut Parser<'_>) -> Result<Definition> {
    let mut it = ObjectClassDefinition::default();
    parser.each(|parser, keyword| {
        match keyword {
            "SUP" => it.superiors = parser.oids()?,
            "ABSTRACT" => it.kind = ClassKind::Abstract,
            "STRUCTURAL" => it.kind = ClassKind::Structural,
            "AUXILIARY" => it.kind = ClassKind::Auxiliary,
            "MUST" => it.must = parser.oids()?,
            "MAY" => it.may = parser.oids()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    it.head = parser.take_head();
    Ok(Definition::ObjectClass(it))
}

fn name_form(parser: &mut Parser<'_>) -> Result<Definition> {
    let mut it = NameFormDefinition::default();
    parser.each(|parser, keyword| {
        match keyword {
            "OC" => it.class = parser.oid()?,
            "MUST" => it.must = parser.oids()?,
            "MAY" => it.may = parser.oids()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if it.class.is_empty() {
        return Err(DefinitionError::Missing { keyword: "OC" });
    }
    if it.must.is_empty() {
        return Err(DefinitionError::Missing { keyword: "MUST" });
    }
    it.head = parser.take_head();
    Ok(Definition::NameForm(it))
}

fn content_rule(parser: &mut Parser<'_>) -> Result<Definition> {
    let mut it = ContentRuleDefinition::default();
    parser.each(|parser, keyword| {
        match keyword {
            "AUX" => it.auxiliaries = parser.oids()?,
            "MUST" => it.must = parser.oids()?,
            "MAY" => it.may = parser.oids()?,
            "NOT" => it.not = parser.oids()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    it.head = parser.take_head();
    Ok(Definition::ContentRule(it))
}

fn structure_rule(parser: &mut Parser<'_>) -> Result<Definition> {
    let mut it = StructureRuleDefinition { id: parser.rule_id()?, ..Default::default() };
    parser.each(|parser, keyword| {
        match keyword {
            "FORM" => it.form = parser.oid()?,
            "SUP" => it.superiors = parser.rule_ids()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if it.form.is_empty() {
        return Err(DefinitionError::Missing { keyword: "FORM" });
    }
    it.head = parser.take_head();
    Ok(Definition::StructureRule(it))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    head: Head,
    seen: Vec<String>,
}

impl<'a> Parser<'a> {
    /// Reads the opening parenthesis and the OID.
    fn new(text: &'a str) -> Result<Self> {
        let mut lexer = Lexer::new(text);
        lexer.expect(&Token::Open, "'('")?;
        let mut parser = Parser { lexer, head: Head::default(), seen: Vec::new() };
        parser.head.oid = parser.oid()?;
        Ok(parser)
    }

    fn take_head(&mut self) -> Head {
        std::mem::take(&mut self.head)
    }

    /// Reads keywords up to the closing parenthesis; `own` reads those of one kind of definition and says so.
    fn each(&mut self, mut own: impl FnMut(&mut Self, &str) -> Result<bool>) -> Result<()> {
        loop {
            let word = match self.lexer.next()? {
                Token::Close => break,
                Token::Word(word) => word.to_ascii_uppercase(),
                other => return Err(self.lexer.unexpected("a keyword or ')'", &other)),
            };
            let at = self.lexer.token_at;
            if self.seen.contains(&word) {
                return Err(DefinitionError::Repeated { keyword: word, at });
            }
            match word.as_str() {
                "NAME" => self.head.names = self.quoted_list()?,
                "DESC" => self.head.description = Some(self.quoted()?),
                "OBSOLETE" => self.head.obsolete = true,
                extension if extension.starts_with("X-") => {
                    let values = self.quoted_list()?;
                    self.head.extensions.push((word.clone(), values));
                }
                _ if own(self, &word)? => {}
                _ => return Err(DefinitionError::UnknownKeyword { keyword: word, at }),
            }
            self.seen.push(word);
        }
        match self.lexer.next()? {
            Token::End => Ok(()),
            other => Err(self.lexer.unexpected("the end", &other)),
        }
    }

    fn oid(&mut self) -> Result<String> {
        match self.lexer.next()? {
            Token::Word(word) => Ok(word.to_owned()),
            Token::Quoted(word) if !word.is_empty() => Ok(word),
            other => Err(self.lexer.unexpected("a name or OID", &other)),
        }
    }

    /// `oids`: one, or a `$`-separated list in parentheses.
    fn oids(&mut self) -> Result<Vec<String>> {
        if self.lexer.peek()? != Token::Open {
            return Ok(vec![self.oid()?]);
        }
        self.lexer.expect(&Token::Open, "'('")?;
        let mut list = Vec::new();
        if self.lexer.peek()? == Token::Close {
            self.lexer.expect(&Token::Close, "')'")?;
            return Ok(list);
        }
        loop {
            list.push(self.oid()?);
            match self.lexer.next()? {
                Token::Dollar => {}
                Token::Close => return Ok(list),
                other => return Err(self.lexer.unexpected("'$' or ')'", &other)),
            }
        }
    }

    fn bounded_oid(&mut self) -> Result<(String, Option<u32>)> {
        let word = self.oid()?;
        let Some((oid, bound)) = word.split_once('{') else { return Ok((word, None)) };
        let length = bound.strip_suffix('}').and_then(|digits| digits.parse().ok());
        match length {
            Some(length) => Ok((oid.to_owned(), Some(length))),
            None => Err(self.lexer.unexpected("a length such as {64}", &Token::Word(bound))),
        }
    }

    fn usage(&mut self) -> Result<Usage> {
        let word = self.oid()?;
        let known = [
            ("userApplications", Usage::UserApplications),
            ("directoryOperation", Usage::DirectoryOperation),
            ("distributedOperation", Usage::DistributedOperation),
            ("dSAOperation", Usage::DsaOperation),
        ];
        let found = known.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(&word));
        let expected = "userApplications, directoryOperation, distributedOperation or dSAOperation";
        found.map(|(_, usage)| usage).ok_or_else(|| self.lexer.unexpected(expected, &Token::Word(&word)))
    }

    fn quoted(&mut self) -> Result<String> {
        match self.lexer.next()? {
            Token::Quoted(text) => Ok(text),
            Token::Word(word) => Ok(word.to_owned()),
            other => Err(self.lexer.unexpected("a quoted string", &other)),
        }
    }

    fn quoted_list(&mut self) -> Result<Vec<String>> {
        if self.lexer.peek()? != Token::Open {
            return Ok(vec![self.quoted()?]);
        }
        self.lexer.expect(&Token::Open, "'('")?;
        let mut list = Vec::new();
        while self.lexer.peek()? != Token::Close {
            list.push(self.quoted()?);
        }
        self.lexer.expect(&Token::Close, "')'")?;
        Ok(list)
    }

    fn rule_id(&mut self) -> Result<u32> {
        let word = self.head.oid.clone();
        word.parse().map_err(|_| self.lexer.unexpected("a rule number", &Token::Word(&word)))
    }

    /// `ruleids`: one, or a list in parentheses (separated by spaces; `$` is tolerated).
    fn rule_ids(&mut self) -> Result<Vec<u32>> {
        let listed = self.lexer.peek()? == Token::Open;
        if listed {
            self.lexer.expect(&Token::Open, "'('")?;
        }
        let mut ids = Vec::new();
        loop {
            match self.lexer.next()? {
                Token::Word(word) => match word.parse() {
                    Ok(id) => ids.push(id),
                    Err(_) => return Err(self.lexer.unexpected("a rule number", &Token::Word(word))),
                },
                Token::Close if listed => return Ok(ids),
                Token::Dollar if listed => {}
                other => return Err(self.lexer.unexpected("a rule number", &other)),
            }
            if !listed {
                return Ok(ids);
            }
        }
    }
}
