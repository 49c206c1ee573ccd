//! Each rule with a password that just obeys it and one that just does not.

use std::sync::Arc;

use ldap::controls::PolicyError;

use super::*;

struct Entry(&'static [(&'static str, &'static str)]);

impl EntryValues for Entry {
    fn each(&self, attribute: Option<&str>, take: &mut dyn FnMut(&[u8])) {
        let is_wanted = |name: &str| attribute.is_none_or(|attribute| attribute == name);
        self.0.iter().filter(|(name, _)| is_wanted(name)).for_each(|(_, value)| take(value.as_bytes()));
    }
}

const USER: Entry = Entry(&[("uid", "jdoe42"), ("cn", "Jane Doe"), ("mail", "jane.doe@example.com")]);

fn check(rule: &ValidatorRule, password: &str) -> Result<(), PasswordFault> {
    let around = Surroundings { known: &[b"Current7"], entry: &USER };
    check_password(std::slice::from_ref(rule), password.as_bytes(), &around)
}

fn fault(rule: &ValidatorRule, password: &str) -> String {
    check(rule, password).map_or_else(|fault| fault.to_string(), |()| "accepted".to_owned())
}

#[test]
fn lengths_are_of_characters() {
    let rule = ValidatorRule::Length { min: 6, max: 8 };
    assert_eq!(fault(&rule, "ünïcöd"), "accepted");
    assert_eq!(fault(&rule, "😀😀😀😀😀"), "The password has 5 characters: choose one with at least 6");
    assert_eq!(fault(&rule, "123456789"), "The password has 9 characters: choose one with at most 8");
    assert_eq!(check(&rule, "").unwrap_err().policy_error(), PolicyError::PasswordTooShort);
    assert_eq!(check(&rule, "123456789").unwrap_err().policy_error(), PolicyError::PasswordTooLong);
    assert_eq!(fault(&ValidatorRule::Length { min: 0, max: 0 }, &"x".repeat(4096)), "accepted");
    let bytes = check_password(
        &[ValidatorRule::Length { min: 3, max: 3 }],
        b"\xff\xfea",
        &Surroundings { known: &[], entry: &NoEntry },
    );
    assert_eq!(bytes, Ok(()), "bytes that are no text count as characters");
}

fn sets(values: &[&str], allow_unclassified: bool, min_character_sets: Option<u32>) -> ValidatorRule {
    let set = |value: &&str| CharacterSet::of_characters(value).unwrap();
    let sets = values.iter().map(set).collect();
    ValidatorRule::CharacterSets(CharacterSets { sets, allow_unclassified, min_character_sets })
}

#[test]
fn characters_are_needed_of_each_mandatory_set() {
    let rule = sets(&["1:abc", "2:0123456789"], true, None);
    assert_eq!(fault(&rule, "a12?"), "accepted");
    assert_eq!(fault(&rule, "a1?"), "The password has too few characters of \"0123456789\": use at least 2");
    let closed = sets(&["1:abc", "2:0123456789"], false, None);
    assert_eq!(fault(&closed, "a12?"), "The character \"?\" is not allowed in passwords: leave it out");
}

#[test]
fn of_the_optional_sets_some_must_be_used() {
    let values = ["1:abc", "0:ABC", "0:0123456789", "0:?!"];
    assert_eq!(fault(&sets(&values, true, None), "a?"), "accepted");
    assert_eq!(
        fault(&sets(&values, true, None), "abc"),
        "The password has characters of 1 of these sets: \"abc\", \"ABC\", \"0123456789\", \"?!\". Use characters of \
         at least 2 of them"
    );
    assert_eq!(fault(&sets(&values, true, Some(3)), "aA1"), "accepted");
    assert!(check(&sets(&values, true, Some(3)), "aA").is_err());
    assert_eq!(fault(&sets(&values, true, Some(0)), "a"), "accepted");
}

#[test]
fn ranges_are_ranges_of_characters() {
    let range = CharacterSet::of_ranges("2:a-zà-ý").unwrap();
    let sets = CharacterSets { sets: vec![range], allow_unclassified: false, min_character_sets: None };
    let rule = ValidatorRule::CharacterSets(sets);
    assert_eq!(fault(&rule, "mé"), "accepted");
    assert_eq!(fault(&rule, "é"), "The password has too few characters of \"a-zà-ý\": use at least 2");
    for bad in ["a-z", "x:a-z", "1:a-", "1:z-a", "1:abc", "1:"] {
        assert!(CharacterSet::of_ranges(bad).is_err(), "{bad}");
    }
    assert!(CharacterSet::of_characters("-1:abc").is_err());
}

#[test]
fn a_character_may_follow_itself_so_often() {
    let rule = ValidatorRule::RepeatedCharacters { max_run: 2, case_sensitive: false };
    assert_eq!(fault(&rule, "aabbaa"), "accepted");
    assert_eq!(fault(&rule, "xaAa"), "The character \"a\" follows itself: use it at most 2 times in a row");
    let exact = ValidatorRule::RepeatedCharacters { max_run: 2, case_sensitive: true };
    assert_eq!(fault(&exact, "xaAa"), "accepted");
    assert_eq!(fault(&ValidatorRule::RepeatedCharacters { max_run: 0, case_sensitive: true }, "aaaaaaa"), "accepted");
}

#[test]
fn different_characters_are_needed() {
    let rule = ValidatorRule::UniqueCharacters { min: 3, case_sensitive: false };
    assert_eq!(fault(&rule, "abcabc"), "accepted");
    assert_eq!(fault(&rule, "abABab"), "The password has 2 different characters: use at least 3");
    assert_eq!(fault(&ValidatorRule::UniqueCharacters { min: 3, case_sensitive: true }, "abABab"), "accepted");
}

#[test]
fn the_new_password_differs_from_the_current_one() {
    let rule = ValidatorRule::Similarity { min_difference: 3 };
    assert_eq!(
        fault(&rule, "Current89"),
        "The password is too similar to the current one: change at least 3 characters"
    );
    assert_eq!(fault(&rule, "Currant891"), "accepted");
    let unknown = Surroundings { known: &[], entry: &NoEntry };
    assert_eq!(check_password(&[rule], b"Current8", &unknown), Ok(()));
}

#[test]
fn values_of_the_entry_are_no_passwords() {
    let rule = |attributes: &[&str], check_substrings, test_reversed| {
        let attributes = attributes.iter().map(|&name| name.to_owned()).collect();
        let min_substring_length = 5;
        ValidatorRule::AttributeValue(AttributeValueRule {
            attributes,
            check_substrings,
            min_substring_length,
            test_reversed,
        })
    };
    let told = "The password, or a part of it, is a value of the user's entry: leave out names, numbers and addresses";
    assert_eq!(fault(&rule(&[], false, false), "JANE DOE"), told);
    assert_eq!(fault(&rule(&["uid"], false, false), "JANE DOE"), "accepted");
    assert_eq!(fault(&rule(&[], false, false), "24eodj"), "accepted");
    assert_eq!(fault(&rule(&[], false, true), "24eodj"), told);
    // A part of the password inside a value: OpenDJ 5.0.3 looked for whole values inside the password only.
    assert_eq!(fault(&rule(&[], true, false), "xxExampleyy"), told);
    assert_eq!(fault(&rule(&[], true, false), "xxexamyy"), "accepted");
    assert_eq!(fault(&rule(&[], true, false), "jdoe42jdoe42"), told);
    assert_eq!(fault(&rule(&[], true, true), "xx24eodxx"), told);
    assert_eq!(fault(&rule(&[], true, true), "jane"), "accepted", "shorter than the parts that are looked for");
}

#[test]
fn words_are_no_passwords() {
    let dictionary = |case_sensitive| Arc::new(Dictionary::read(&b"Secret\r\npony\n\n"[..], case_sensitive).unwrap());
    let rule = |case_sensitive, test_reversed, check_substrings| {
        ValidatorRule::Dictionary(DictionaryRule {
            words: dictionary(case_sensitive),
            test_reversed,
            check_substrings,
            min_substring_length: 5,
        })
    };
    let told = "The password, or a part of it, is in a dictionary: use words that are in none, or more of them";
    assert_eq!(dictionary(false).words(), 2);
    assert_eq!(fault(&rule(false, false, false), "SECRET"), told);
    assert_eq!(fault(&rule(true, false, false), "SECRET"), "accepted");
    assert_eq!(fault(&rule(false, false, false), "ynop"), "accepted");
    assert_eq!(fault(&rule(false, true, false), "ynop"), told);
    assert_eq!(fault(&rule(false, false, false), "xsecretx"), "accepted");
    for password in ["xsecretx", "secretx", "xsecret", "pony"] {
        assert_eq!(fault(&rule(false, false, true), password), told, "{password}");
    }
    assert_eq!(fault(&rule(false, false, true), "xponyx"), "accepted", "shorter than the parts that are looked for");
}

#[test]
fn known_passwords_are_refused() {
    // The SHA-1 hash of "password".
    let line = b"5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:10434004\n".to_vec();
    let size = line.len() as u64;
    let rule = ValidatorRule::Breached(Arc::new(BreachList::open("known", Arc::new(line), size, None).unwrap()));
    let told = "The password is in a list of passwords that became known: choose one that nobody used before";
    assert_eq!(fault(&rule, "password"), told);
    assert_eq!(fault(&rule, "Password"), "accepted");
}

#[test]
fn quality_is_what_389_asks() {
    let check = |rule: QualityRule, password: &str| fault(&ValidatorRule::Quality(rule), password);
    let base = QualityRule::default;
    for (rule, good, bad, told) in [
        (QualityRule { min_digits: 2, ..base() }, "a12", "a1", "The password has too few digits: use at least 2"),
        (QualityRule { min_letters: 2, ..base() }, "aB1", "a1", "The password has too few letters: use at least 2"),
        (
            QualityRule { min_upper: 1, ..base() },
            "A",
            "a",
            "The password has too few upper case letters: use at least 1",
        ),
        (
            QualityRule { min_lower: 1, ..base() },
            "a",
            "A",
            "The password has too few lower case letters: use at least 1",
        ),
        (
            QualityRule { min_specials: 1, ..base() },
            "a?",
            "a",
            "The password has too few special characters: use at least 1",
        ),
        (
            QualityRule { min_beyond_ascii: 1, ..base() },
            "ä",
            "a",
            "The password has too few characters beyond ASCII: use at least 1",
        ),
        (
            QualityRule { min_classes: 3, ..base() },
            "aB1",
            "aB",
            "The password has characters of 2 classes: use at least 3 of digits, lower case letters, upper case \
             letters, other ASCII characters, and characters beyond ASCII",
        ),
        (
            QualityRule { max_repeats: 2, ..base() },
            "aab",
            "baaa",
            "The character \"a\" follows itself: use it at most 2 times in a row",
        ),
        (
            QualityRule { max_class_run: 3, ..base() },
            "abc1abc",
            "abcd",
            "The password has too many lower case letters in a row: use at most 3",
        ),
        (
            QualityRule { max_sequence: 3, ..base() },
            "abcx321",
            "x4321",
            "The password has a sequence like \"abc\" or \"321\": use at most 3 characters of one in a row",
        ),
        (
            QualityRule { max_repeated_part: 2, ..base() },
            "azbaz",
            "az1daz1",
            "The password has the part \"az1\" twice: repeat parts of at most 2 characters",
        ),
        (
            QualityRule { no_palindrome: true, ..base() },
            "abcb",
            "abcba",
            "The password is the same when it is read backwards: choose one that is not",
        ),
    ] {
        assert_eq!(check(rule.clone(), good), "accepted", "{rule:?}");
        assert_eq!(check(rule, bad), told);
    }
}
