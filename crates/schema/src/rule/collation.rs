//! Matching by the conventions of a language: OpenDJ's collation rules (`fr.eq`, `de-AT.sub`,
//! 1.3.6.1.4.1.42.2.27.9.4.*).
//!
//! The order is that of the Unicode collation algorithm with CLDR's tailorings, at primary strength as in OpenDJ:
//! letters count, accents and case do not, unless the language takes them for letters of their own. The normal form of
//! a value is its sort key, so an index answers equality and ranges.
//!
//! In substring assertions each character stands for itself, with its own key behind a zero byte, which no key has:
//! pieces are found where they are whole characters. Letters that a language takes two for one (Czech `ch`) are two
//! there; `ß` is `ss`.
//!
//! Sort keys belong to one version of the data, see [`COLLATION_VERSION`]. It knows nothing of entries and indexes.

use std::sync::{LazyLock, OnceLock};

use icu_collator::options::{CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed};
use icu_locale_core::Locale;

use super::invalid_value::InvalidValue;
use super::matching_rule::{Form, MatchingRule, RuleRole, Trial};
use crate::name_table::NameTable;
use crate::prep::{self, Case, Edges, WHOLE};
use crate::syntax::oid;

/// The version of the collation data: sort keys of another version are not comparable with ours.
pub const COLLATION_VERSION: &str = "icu4x-2.4.0";

/// What is before the number of a language in OpenDJ's OIDs.
const OID_PREFIX: &str = "1.3.6.1.4.1.42.2.27.9.4";

/// Names of OpenDJ's languages; the number in the OID is the place in the list, from 1.
const LOCALES: [&str; 148] = [
    "af",
    "am",
    "ar",
    "ar-AE",
    "ar-BH",
    "ar-DZ",
    "ar-EG",
    "ar-IN",
    "ar-IQ",
    "ar-JO",
    "ar-KW",
    "ar-LB",
    "ar-LY",
    "ar-MA",
    "ar-OM",
    "ar-QA",
    "ar-SA",
    "ar-SD",
    "ar-SY",
    "ar-TN",
    "ar-YE",
    "be",
    "bg",
    "bn",
    "ca",
    "cs",
    "da",
    "de de-DE",
    "de-AT",
    "de-BE",
    "de-CH",
    "de-LU",
    "el",
    "en en-US",
    "en-AU",
    "en-CA",
    "en-GB",
    "en-HK",
    "en-IE",
    "en-IN",
    "en-MT",
    "en-NZ",
    "en-PH",
    "en-SG",
    "en-VI",
    "en-ZA",
    "en-ZW",
    "eo",
    "es es-ES",
    "es-AR",
    "es-BO",
    "es-CL",
    "es-CO",
    "es-CR",
    "es-DO",
    "es-EC",
    "es-GT",
    "es-HN",
    "es-MX",
    "es-NI",
    "es-PA",
    "es-PE",
    "es-PR",
    "es-PY",
    "es-SV",
    "es-US",
    "es-UY",
    "es-VE",
    "et",
    "eu",
    "fa",
    "fa-IN",
    "fa-IR",
    "fi",
    "fo",
    "fr fr-FR",
    "fr-BE",
    "fr-CA",
    "fr-CH",
    "fr-LU",
    "ga",
    "gl",
    "gu",
    "gv",
    "he",
    "hi",
    "hr",
    "hu",
    "hy",
    "id",
    "is",
    "it",
    "it-CH",
    "ja",
    "kl",
    "kn",
    "ko",
    "kok",
    "kw",
    "lt",
    "lv",
    "mk",
    "mr",
    "mt",
    "nl nl-NL",
    "nl-BE",
    "no no-NO",
    "no-NO-NY",
    "nn",
    "nb no-NO-B",
    "om",
    "om-ET",
    "om-KE",
    "pl",
    "pt pt-PT",
    "pt-BR",
    "ro",
    "ru ru-RU",
    "ru-UA",
    "sh",
    "sk",
    "sl",
    "so so-SO",
    "so-DJ",
    "so-ET",
    "so-KE",
    "sq",
    "sr",
    "sv sv-SE",
    "sv-FI",
    "sw",
    "sw-KE",
    "sw-TZ",
    "ta",
    "te",
    "th",
    "ti",
    "ti-ER",
    "ti-ET",
    "tr",
    "uk",
    "vi",
    "zh",
    "zh-CN",
    "zh-HK",
    "zh-MO",
    "zh-SG",
    "zh-TW",
];

/// The rules of a language, in the order of the last number of their OIDs.
const KINDS: [(&str, RuleRole, Trial); 6] = [
    ("lt", RuleRole::Ordering, Trial::Ordering),
    ("lte", RuleRole::Extensible, Trial::AtMost),
    ("eq", RuleRole::Equality, Trial::Equal),
    ("gte", RuleRole::Extensible, Trial::AtLeast),
    ("gt", RuleRole::Extensible, Trial::Greater),
    ("sub", RuleRole::Substring, Trial::Substrings),
];
/// The place of `eq`, which is also what the bare name of a language means.
const EQUALITY: usize = 2;
const SUBSTRING: usize = 5;

/// In front of the key of each character in forms for substrings.
const CHARACTER: u8 = 0;

/// All collation rules, six for each language.
pub(crate) fn rules() -> &'static [MatchingRule] {
    static ALL: LazyLock<Vec<MatchingRule>> = LazyLock::new(|| {
        let all =
            (0u8..).zip(LOCALES).flat_map(|(locale, names)| (0..KINDS.len()).map(move |kind| (locale, names, kind)));
        all.filter_map(|(locale, names, kind)| rule(locale, names, kind)).collect()
    });
    &ALL
}

/// Names and OIDs live as long as the process, like those of the rules that are written down.
fn rule(locale: u8, names: &str, kind: usize) -> Option<MatchingRule> {
    let (suffix, role, trial) = *KINDS.get(kind)?;
    let number = kind + 1;
    let mut all: Vec<String> =
        names.split(' ').flat_map(|name| [format!("{name}.{suffix}"), format!("{name}.{number}")]).collect();
    if kind == EQUALITY {
        all.extend(names.split(' ').map(str::to_owned));
    }
    let names: Vec<&'static str> = all.into_iter().map(|name| &*String::leak(name)).collect();
    Some(MatchingRule {
        oid: String::leak(format!("{}.{number}", locale_oid(locale))),
        names: Vec::leak(names),
        syntax: if kind == SUBSTRING { oid::SUBSTRING_ASSERTION } else { oid::DIRECTORY_STRING },
        role,
        form: if kind == SUBSTRING { Form::CollationPieces(locale) } else { Form::Collation(locale) },
        trial,
        is_ia5: false,
    })
}

fn locale_oid(locale: u8) -> String {
    format!("{OID_PREFIX}.{}.1", u16::from(locale) + 1)
}

/// The rule of that name or OID; the OID of a language alone stands for its equality rule.
pub(crate) fn find(name: &[u8]) -> Option<&'static MatchingRule> {
    static NAMES: LazyLock<NameTable> = LazyLock::new(|| {
        let mut names = NameTable::default();
        for (at, rule) in (0u32..).zip(rules()) {
            names.insert(rule.oid.as_bytes(), at);
            if let (Form::Collation(locale), Trial::Equal) = (rule.form, rule.trial) {
                names.insert(locale_oid(locale).as_bytes(), at);
            }
            rule.names.iter().for_each(|name| {
                names.insert(name.as_bytes(), at);
            });
        }
        names
    });
    rules().get(NAMES.get(name)? as usize)
}

/// The equality rule of a language.
pub(super) fn equality_of(locale: u8) -> Option<&'static MatchingRule> {
    rules().get(usize::from(locale) * KINDS.len() + EQUALITY)
}

/// The collator of a language; without a tailoring the common order holds.
fn collator(locale: u8) -> Result<&'static CollatorBorrowed<'static>, InvalidValue> {
    static ALL: [OnceLock<Option<CollatorBorrowed<'static>>>; LOCALES.len()] =
        [const { OnceLock::new() }; LOCALES.len()];
    let place = ALL.get(usize::from(locale));
    let made = place.and_then(|place| place.get_or_init(|| new_collator(locale)).as_ref());
    made.ok_or(InvalidValue::NotComparable("this language"))
}

fn new_collator(locale: u8) -> Option<CollatorBorrowed<'static>> {
    let name = LOCALES.get(usize::from(locale)).and_then(|names| names.split(' ').next()).unwrap_or_default();
    // What has another name today.
    let tag = match name {
        "no" => "nb",
        "no-NO-NY" => "nn",
        "sh" => "sr-Latn",
        name => name,
    };
    let tag = Locale::try_from_str(tag).unwrap_or(Locale::UNKNOWN);
    let mut options = CollatorOptions::default();
    options.strength = Some(Strength::Primary);
    Collator::try_new((&tag).into(), options).ok()
}

/// Appends the sort key of a whole value.
pub(super) fn normalize(locale: u8, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let mut prepared = Vec::with_capacity(value.len());
    prep::prepare(value, Case::Exact, &mut prepared)?;
    let Ok(()) = collator(locale)?.write_sort_key_utf8_to(&prepared, out);
    Ok(())
}

/// Appends the keys of the single characters of a value, or of a piece of a substring assertion.
pub(super) fn normalize_pieces(locale: u8, text: &[u8], edges: Edges, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let mut prepared = Vec::with_capacity(text.len());
    prep::prepare_edges(text, Case::Exact, edges, &mut prepared)?;
    let collator = collator(locale)?;
    let text = std::str::from_utf8(&prepared).map_err(|_| prep::PrepError::NotUtf8)?;
    for character in text.chars() {
        // Letters that have no single capital are two: the German sharp s, ligatures.
        let capitals = character.to_uppercase();
        if capitals.len() > 1 {
            capitals.for_each(|capital| put_character(collator, capital, out));
        } else {
            put_character(collator, character, out);
        }
    }
    Ok(())
}

fn put_character(collator: &CollatorBorrowed<'static>, character: char, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(CHARACTER);
    let Ok(()) = collator.write_sort_key_to(character.encode_utf8(&mut [0; 4]), out);
    if out.len() == start + 1 {
        // Marks have no weight at this strength.
        out.truncate(start);
    }
}

/// Appends the form of a whole value for substring assertions.
pub(super) fn normalize_whole_for_pieces(locale: u8, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    normalize_pieces(locale, value, WHOLE, out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rule::MatchContext;
    use crate::schema::Schema;

    fn matches(rule: &str, assertion: &str, value: &str) -> bool {
        let schema = Schema::standard();
        let rule = schema.matching_rule(rule.as_bytes()).unwrap();
        let mut form = Vec::new();
        rule.normalize(&schema, value.as_bytes(), &mut form).unwrap();
        rule.assertion(&schema, assertion.as_bytes(), MatchContext::default()).unwrap().matches(&form)
    }

    #[test]
    fn names_and_oids_are_those_of_opendj() {
        let schema = Schema::standard();
        let oid = |name: &str| schema.matching_rule(name.as_bytes()).unwrap().oid;
        assert_eq!(oid("fr"), "1.3.6.1.4.1.42.2.27.9.4.76.1.3");
        assert_eq!(oid("FR-fr.6"), "1.3.6.1.4.1.42.2.27.9.4.76.1.6");
        assert_eq!(oid("en-US.sub"), "1.3.6.1.4.1.42.2.27.9.4.34.1.6");
        assert_eq!(oid("zh-TW.lt"), "1.3.6.1.4.1.42.2.27.9.4.148.1.1");
        assert_eq!(oid("1.3.6.1.4.1.42.2.27.9.4.129.1"), "1.3.6.1.4.1.42.2.27.9.4.129.1.3");
        assert_eq!(schema.matching_rule(b"sv.eq"), schema.matching_rule(b"sv-SE"));
        assert!(schema.matching_rule(b"xx").is_none() && schema.matching_rule(b"fr.nonsense").is_none());
        assert_eq!(rules().len(), LOCALES.len() * KINDS.len());
        assert_eq!(schema.oid_of(b"is"), None, "the name of a language means nothing among object identifiers");
    }

    #[test]
    fn letters_count_accents_and_case_do_not() {
        assert!(matches("fr.eq", "Francois", "FRAN\u{e7}OIS") && matches("fr", " e\u{301}te", "\u{c9}t\u{e9}"));
        assert!(!matches("fr.eq", "Francois", "Francoise"));
        // The Swedes have a letter of it, the Germans have not.
        assert!(matches("de.eq", "Bjorn", "Bj\u{f6}rn") && !matches("sv.eq", "Bjorn", "Bj\u{f6}rn"));
        assert!(matches("de.lt", "z", "\u{f6}") && !matches("sv.lt", "z", "\u{f6}") && matches("sv.gt", "z", "\u{f6}"));
        assert!(matches("de.eq", "Strasse", "Stra\u{df}e"));
    }

    #[test]
    fn bounds_are_in_or_out() {
        for (rule, smaller, same, greater) in [
            ("es.lt", true, false, false),
            ("es.lte", true, true, false),
            ("es.gte", false, true, true),
            ("es.gt", false, false, true),
        ] {
            assert_eq!(matches(rule, "nube", "nadie"), smaller, "{rule}");
            assert_eq!(matches(rule, "nube", "NUBE"), same, "{rule}");
            assert_eq!(matches(rule, "nube", "\u{f1}u"), greater, "{rule}: \u{f1} comes after n");
        }
    }

    #[test]
    fn pieces_are_whole_characters() {
        assert!(matches("de.sub", "*STRASSE", "Kaiserstra\u{df}e") && matches("fr.6", "fran*is", "Fran\u{e7}ois"));
        assert!(matches("fr.sub", "*a*a*", "alpha") && !matches("fr.sub", "*a*a*a*", "alpha"));
        assert!(
            !matches("sv.sub", "bj*orn", "Bj\u{f6}rn")
                && matches("ru.sub", "*\u{438}\u{432}\u{430}*", "\u{418}\u{412}\u{410}\u{41d}")
        );
    }

    #[test]
    fn the_version_of_the_data_is_the_one_in_use() {
        let lock = include_str!("../../../../Cargo.lock");
        let version = COLLATION_VERSION.strip_prefix("icu4x-").unwrap();
        for name in ["icu_collator", "icu_collator_data"] {
            let expected = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(
                lock.contains(&expected),
                "{name} is not {version}: sort keys may differ, so change COLLATION_VERSION"
            );
        }
    }

    proptest! {
        /// The order of the forms is the collator's own order of the values.
        #[test]
        fn forms_compare_like_values(left in "[a-zA-Z\u{e4}\u{f6}\u{fc}\u{df}\u{c0}-\u{24f} \
            ]{0,8}", right in "[a-zA-Z\u{e0}-\u{17f} ]{0,8}", locale in 0u8..148) {
            let form = |text: &str| {
                let mut form = Vec::new();
                normalize(locale, text.as_bytes(), &mut form).unwrap();
                form
            };
            let prepared = |text: &str| {
                let mut out = Vec::new();
                prep::prepare(text.as_bytes(), Case::Exact, &mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            let expected = collator(locale).unwrap().compare(&prepared(&left), &prepared(&right));
            prop_assert_eq!(form(&left).cmp(&form(&right)), expected);
        }

        /// Any part of a text is found in it, and no key has the byte between characters.
        #[test]
        fn parts_are_found(text in "\\PC{1,10}", from in 0usize..10, length in 1usize..5, locale in 0u8..148) {
            let mut prepared = Vec::new();
            if prep::prepare(text.as_bytes(), Case::Exact, &mut prepared).is_ok() {
                let prepared = String::from_utf8(prepared).unwrap();
                let part: String = prepared.chars().skip(from).take(length).collect();
                let (mut whole, mut piece) = (Vec::new(), Vec::new());
                normalize_whole_for_pieces(locale, prepared.as_bytes(), &mut whole).unwrap();
                let edges = Edges { keep_leading: true, keep_trailing: true };
                // A part that begins with a mark is prepared otherwise than inside of a text.
                if !part.is_empty()
                    && normalize_pieces(locale, part.as_bytes(), edges, &mut piece).is_ok()
                    && !part.starts_with(unicode_normalization::char::is_combining_mark) {
                    prop_assert!(memchr::memmem::find(&whole, &piece).is_some());
                }
                for character in prepared.chars() {
                    let mut key = Vec::new();
                    let mut text = [0; 4];
                    let text = character.encode_utf8(&mut text);
                    let Ok(()) = collator(locale).unwrap().write_sort_key_to(text, &mut key);
                    prop_assert!(!key.contains(&CHARACTER));
                }
            }
        }
    }
}
