//! Published vectors, windows, replays, sealed secrets, and the text of tokens.

use proptest::prelude::*;

use super::*;
use crate::moment::Moment;

/// RFC 4226, appendix D.
#[test]
fn codes_by_counter_are_those_of_the_rfc() {
    let codes = [755224, 287082, 359152, 969429, 338314, 254676, 287922, 162583, 399871, 520489];
    for (counter, code) in codes.into_iter().enumerate() {
        assert_eq!(one_time_code(Algorithm::Sha1, b"12345678901234567890", counter as u64, 6), code);
    }
}

/// RFC 6238, appendix B.
#[test]
fn codes_by_time_are_those_of_the_rfc() {
    let seed = b"1234567890".repeat(7);
    let rows = [
        (59, 94287082, 46119246, 90693936),
        (1111111109, 7081804, 68084774, 25091201),
        (1111111111, 14050471, 67062674, 99943326),
        (1234567890, 89005924, 91819424, 93441116),
        (2000000000, 69279037, 90698825, 38618901),
        (20000000000, 65353130, 77737706, 47863826),
    ];
    for (seconds, sha1, sha256, sha512) in rows {
        for (algorithm, bytes, code) in
            [(Algorithm::Sha1, 20, sha1), (Algorithm::Sha256, 32, sha256), (Algorithm::Sha512, 64, sha512)]
        {
            assert_eq!(one_time_code(algorithm, &seed[..bytes], seconds / 30, 8), code, "{seconds}");
            let token = Token { algorithm, digits: 8, ..totp() };
            let text = format!("{code:08}");
            let window = Window { steps: 0, presses: 0 };
            let checked = token.check(&seed[..bytes], text.as_bytes(), Moment(seconds * 1_000), window);
            assert_eq!(checked, Some(seconds / 30 + 1));
        }
    }
}

fn totp() -> Token {
    Token {
        id: "phone".to_owned(),
        kind: Kind::Totp { period_seconds: 30 },
        is_active: true,
        algorithm: Algorithm::Sha1,
        digits: 6,
        next: 0,
        sealed: vec![1, 2, 3],
    }
}

const SECRET: &[u8] = b"12345678901234567890";

fn code(counter: u64) -> Vec<u8> {
    format!("{:06}", one_time_code(Algorithm::Sha1, SECRET, counter, 6)).into_bytes()
}

#[test]
fn a_code_is_good_once_and_makes_those_before_it_useless() {
    let now = Moment(1_000 * 30_000 + 15_000);
    let mut token = totp();
    for (step, good) in [(998, false), (999, true), (1000, true), (1001, true), (1002, false)] {
        assert_eq!(token.check(SECRET, &code(step), now, Window::default()), good.then_some(step + 1), "{step}");
    }
    token.next = token.check(SECRET, &code(1000), now, Window::default()).unwrap();
    for (step, good) in [(999, false), (1000, false), (1001, true)] {
        assert_eq!(token.check(SECRET, &code(step), now, Window::default()).is_some(), good, "{step}");
    }
}

#[test]
fn a_button_may_be_pressed_in_vain_a_few_times() {
    let token = Token { kind: Kind::Hotp, next: 5, ..totp() };
    for (counter, good) in [(4, false), (5, true), (15, true), (16, false)] {
        let checked = token.check(SECRET, &code(counter), Moment(0), Window::default());
        assert_eq!(checked, good.then_some(counter + 1), "{counter}");
    }
}

#[test]
fn what_has_not_the_digits_is_no_code() {
    let now = Moment(1_000 * 30_000);
    let right = code(1000);
    for wrong in [&b""[..], b"12345", b"1234567", b"12345a", b"-12345", &right[..5]] {
        assert_eq!(totp().check(SECRET, wrong, now, Window::default()), None);
    }
    assert_eq!(totp().check(SECRET, &right, now, Window::default()), Some(1001));
}

#[test]
fn a_sealed_secret_opens_for_its_token_only() {
    let key = SealKey::new(&[7; 32]).unwrap();
    let sealed = key.seal(SECRET, &[1; 16], "phone").unwrap();
    assert_eq!(key.open(&sealed, &[1; 16], "phone").unwrap().as_slice(), SECRET);
    assert_ne!(key.seal(SECRET, &[1; 16], "phone").unwrap(), sealed, "no nonce is used twice");
    assert!(!sealed.windows(4).any(|part| SECRET.windows(4).any(|clear| clear == part)));
    let foreign = SealKey::new(&[8; 32]).unwrap();
    assert_eq!(foreign.open(&sealed, &[1; 16], "phone"), Err(SealError::Foreign));
    assert_eq!(key.open(&sealed, &[2; 16], "phone"), Err(SealError::Foreign));
    assert_eq!(key.open(&sealed, &[1; 16], "card"), Err(SealError::Foreign));
    for at in 0..sealed.len() {
        let mut damaged = sealed.clone();
        damaged[at] ^= 1;
        assert_eq!(key.open(&damaged, &[1; 16], "phone"), Err(SealError::Foreign));
        assert_eq!(key.open(&sealed[..at], &[1; 16], "phone"), Err(SealError::Foreign));
    }
}

#[test]
fn authenticators_get_what_they_expect() {
    let uri = totp().uri(SECRET, "Example Inc", "ann@example.com");
    assert_eq!(
        uri.as_str(),
        "otpauth://totp/Example%20Inc:ann%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Example%20Inc\
         &algorithm=SHA1&digits=6&period=30"
    );
    let uri = Token { kind: Kind::Hotp, next: 3, ..totp() }.uri(SECRET, "E", "ann");
    assert!(uri.starts_with("otpauth://hotp/E:ann?secret=") && uri.ends_with("&digits=6&counter=3"), "{}", *uri);
    assert_eq!(secret_of_base32("gezd gnbv-GY3T qojq GEZDGNBVGY3TQOJQ==").unwrap().as_slice(), SECRET);
    assert_eq!(secret_of_base32("not base32!"), None);
}

#[test]
fn what_is_no_token_is_told_why() {
    let error = |text: &str| Token::parse(text).unwrap_err();
    let whole = totp().to_string();
    assert_eq!(error("secret"), TokenError::Kind);
    assert_eq!(error(&whole.replace(";period=30", "")), TokenError::Parts);
    assert_eq!(error(&whole.replace("{TOTP}", "{HOTP}")), TokenError::Parts);
    assert_eq!(error(&whole.replace(";next=0", ";next=0;next=0")), TokenError::Parts);
    assert_eq!(error(&whole.replace(";next=0", ";drift=0")), TokenError::Parts);
    for (part, good, bad) in [
        (TokenPart::Name, "id=phone", "id="),
        (TokenPart::State, "state=active", "state=on"),
        (TokenPart::Algorithm, "algorithm=SHA1", "algorithm=MD5"),
        (TokenPart::Digits, "digits=6", "digits=9"),
        (TokenPart::Period, "period=30", "period=0"),
        (TokenPart::Counter, "next=0", "next=-1"),
        (TokenPart::Secret, "secret=AQID", "secret=A"),
    ] {
        let value = bad.split_once('=').unwrap().1.to_owned();
        assert_eq!(error(&whole.replace(good, bad)), TokenError::Value { part, value });
    }
    let told = error(&whole.replace("digits=6", "digits=9")).to_string();
    assert_eq!(told, "its codes have 6 to 8 digits, not \"9\"");
    let told = error(&whole.replace("period=30", "period=301")).to_string();
    assert_eq!(told, "it shows a code for 10 to 300 seconds, not \"301\"");
}

/// A policy may ask for codes although no token was confirmed: those count that were never used, until one is.
#[test]
fn where_a_code_is_required_tokens_count_that_were_never_used() {
    let pending = Token { is_active: false, ..totp() };
    let mut tokens = Tokens::default();
    assert!(!tokens.are_asked_for() && tokens.are_missing());
    tokens.put(&pending);
    assert!(!tokens.are_asked_for() && tokens.digits().is_none());
    tokens.require();
    assert!(tokens.are_asked_for() && !tokens.are_missing());
    assert_eq!((tokens.active().count(), tokens.digits()), (1, Some(6)));
    let card = Token { id: "card".to_owned(), sealed: vec![7; 40], ..pending.clone() };
    tokens.put(&card);
    tokens.spend(pending.key(), 5);
    assert_eq!(tokens.active().map(|token| token.id.as_str()).collect::<Vec<_>>(), [pending.id.as_str()]);
    tokens.clear();
    tokens.require();
    assert!(tokens.are_asked_for() && tokens.are_missing() && tokens.digits().is_none());
    // What cannot be read is there: nobody is told to make a token.
    tokens.add_value(b"rubbish");
    assert!(tokens.are_asked_for() && !tokens.are_missing());
}

proptest! {
    #[test]
    fn tokens_come_back_from_their_text(
        id in "[a-z][a-z0-9 ._-]{0,20}[a-z]",
        period in proptest::option::of(10u32..=300),
        is_active: bool,
        algorithm in prop_oneof![Just(Algorithm::Sha1), Just(Algorithm::Sha256), Just(Algorithm::Sha512)],
        digits in 6u8..=8,
        next: u64,
        sealed in proptest::collection::vec(any::<u8>(), 1..80),
    ) {
        let kind = period.map_or(Kind::Hotp, |period_seconds| Kind::Totp { period_seconds });
        let token = Token { id, kind, is_active, algorithm, digits, next, sealed };
        prop_assert_eq!(Token::parse(&token.to_string()), Ok(token));
    }

    #[test]
    fn no_text_is_too_odd(text: String) {
        let _ = Token::parse(&text);
        let _ = Token::parse(&format!("{{TOTP}}{text}"));
    }
}
