//! Tests of [`super`]: what `definition` must accept, refuse and give back.

use super::*;

fn printed(kind: DefinitionKind, text: &str) -> String {
    Definition::parse(kind, text).unwrap().to_string()
}

#[test]
fn canonical_definitions_print_as_they_were() {
    let cases = [
        (
            DefinitionKind::AttributeType,
            "( 2.5.4.20 NAME 'telephoneNumber' DESC 'it\\27s \\5C one' OBSOLETE SUP name EQUALITY telephoneNumberMatch \
             ORDERING x SUBSTR telephoneNumberSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.50{32} SINGLE-VALUE \
             COLLECTIVE NO-USER-MODIFICATION USAGE dSAOperation X-ORIGIN 'RFC 4519' X-LIST ( 'a' 'b' ) )",
        ),
        (
            DefinitionKind::ObjectClass,
            "( 2.5.6.6 NAME ( 'person' 'human' ) SUP top STRUCTURAL MUST ( sn $ cn ) MAY description )",
        ),
        (DefinitionKind::NameForm, "( 1.2.3 NAME 'form' OC person MUST cn MAY ( sn $ uid ) )"),
        (DefinitionKind::ContentRule, "( 2.5.6.6 NAME 'rule' AUX ( a $ b ) MUST c MAY d NOT ( e $ f ) )"),
        (DefinitionKind::StructureRule, "( 2 NAME 'rule2' FORM form SUP ( 1 3 ) )"),
        (DefinitionKind::Syntax, "( 1.2.3.4 DESC 'x' X-ENUM ( 'red' 'green' ) )"),
        (DefinitionKind::MatchingRule, "( 2.5.13.2 NAME 'caseIgnoreMatch' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )"),
        (DefinitionKind::MatchingRuleUse, "( 2.5.13.2 NAME 'caseIgnoreMatch' APPLIES ( cn $ sn ) )"),
    ];
    for (kind, text) in cases {
        assert_eq!(printed(kind, text), text);
    }
}

#[test]
fn deployed_spellings_are_tolerated() {
    let text = "(1.2.3 sup 'top' name('a''b')auxiliary MAY(cn$ sn)\n x-origin 'me')";
    let expected = "( 1.2.3 NAME ( 'a' 'b' ) SUP top AUXILIARY MAY ( cn $ sn ) X-ORIGIN 'me' )";
    assert_eq!(printed(DefinitionKind::ObjectClass, text), expected);
}

#[test]
fn mistakes_are_placed() {
    let cases = [
        ("1.2.3", "expected '(' but found 1.2.3 at character 0"),
        ("( 1.2.3 NAME 'x ", "the quoted string that begins at character 13 is not closed"),
        ("( 1.2.3 DESC 'a\\q' )", "bad escape at character 15: only \\27 (quote) and \\5C (backslash) are known"),
        ("( 1.2.3 FORM x )", "unknown keyword FORM at character 8"),
        ("( 1.2.3 NAME 'a' NAME 'b' )", "NAME is given twice (at character 17)"),
        ("( 1.2.3 SYNTAX 1.2{x} )", "expected a length such as {64} but found x} at character 15"),
        ("( 1.2.3 ) x", "expected the end but found x at character 10"),
        ("( 1.2.3 ", "expected a keyword or ')' but found the end at character 8"),
    ];
    for (text, message) in cases {
        let error = Definition::parse(DefinitionKind::AttributeType, text).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
    let error = Definition::parse(DefinitionKind::NameForm, "( 1.2 OC x )").unwrap_err();
    assert_eq!(error.to_string(), "MUST is missing");
}

/// The pieces of definitions, in any order.
const ANY_TEXT: &str = "[(]? ?(1[.]2|[(]|[)]|[$]|'[a-z\\\\]{0,3}'|NAME|SUP|MUST|MAY|SYNTAX|X-A|\
    FORM|OC|AUX|APPLIES|[a-z]{1,3}| |[0-9{}]){0,20} ?[)]?";

proptest::proptest! {
    /// What parses prints to what parses to the same; what does not is refused without a panic.
    #[test]
    fn any_text_parses_or_not(text in ANY_TEXT) {
        for kind in DefinitionKind::ALL {
            if let Ok(it) = Definition::parse(kind, &text) {
                let printed = it.to_string();
                proptest::prop_assert_eq!(Definition::parse(kind, &printed), Ok(it), "{}", printed);
            }
        }
    }
}
