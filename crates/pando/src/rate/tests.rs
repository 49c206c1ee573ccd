//! Generators, templates and rows.

use std::time::Duration;

use ldap::Scope;
use ldap::client::{self, Search};

use super::engine::Times;
use super::figures::{Figures, Problem};
use super::generator::{Generator, GeneratorError};
use super::report::{Extra, Form, Report};
use super::request::RequestTemplate;
use super::template::{Template, TemplateError};
use crate::makeldif::Random;

fn values(generator: &str, count: usize) -> Vec<String> {
    let generator: Generator = generator.parse().unwrap();
    let mut random = Random::new(1);
    let mut value = || {
        let mut out = String::new();
        generator.put(&mut random, &mut out);
        out
    };
    (0..count).map(|_| value()).collect()
}

#[test]
fn counting_gives_both_ends_and_begins_again() {
    assert_eq!(values("inc(-1,1)", 5), ["-1", "0", "1", "-1", "0"]);
}

#[test]
fn random_numbers_reach_all_but_the_largest() {
    let mut found = values("rand(3,6)", 200);
    found.sort();
    found.dedup();
    assert_eq!(found, ["3", "4", "5"]);
}

#[test]
fn random_texts_have_the_length_and_the_characters() {
    for text in values("randstr(12,[a-c][XY])", 50) {
        assert!(text.len() == 12 && text.chars().all(|it| "abcXY".contains(it)), "{text}");
    }
    assert!(values("randstr(3)", 20).iter().all(|text| text.chars().all(|it| it.is_ascii_alphanumeric())));
}

#[test]
fn lines_of_a_file_come_in_turn() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "one\n\ntwo\n").unwrap();
    assert_eq!(values(&format!("inc({})", file.path().display()), 3), ["one", "two", "one"]);
    assert!(values(&format!("rand({})", file.path().display()), 30).contains(&"two".to_owned()));
}

#[test]
fn what_is_no_generator_is_refused() {
    let refused = |text: &str| text.parse::<Generator>().unwrap_err();
    for text in ["", "inc(1,2", "rnd(1,2)", "rand(a,2)", "randstr(x)"] {
        assert_eq!(refused(text), GeneratorError::Form, "{text}");
    }
    assert_eq!(refused("rand(5,5)"), GeneratorError::Empty { min: 5, max: 5 });
    assert_eq!(refused("inc(5,4)"), GeneratorError::Empty { min: 5, max: 4 });
    assert_eq!(refused("randstr(0)"), GeneratorError::Length);
    assert_eq!(refused("randstr(1,a-z)"), GeneratorError::Characters);
    assert!(matches!(refused("inc(/nowhere)"), GeneratorError::File { .. }));
}

#[test]
fn values_stand_where_the_template_says() {
    let values = ["7".to_owned(), "x".to_owned()];
    let filled = |text: &str| {
        let mut out = String::new();
        Template::parse(text, 2).unwrap().fill(&values, &mut out);
        out
    };
    assert_eq!(filled("uid=user.%d,ou=%s"), "uid=user.7,ou=x");
    assert_eq!(filled("%2$s-%1$d-%2$s"), "x-7-x");
    assert_eq!(filled("100%% of %d%%"), "100% of 7%");
    assert_eq!(filled("plain"), "plain");
}

#[test]
fn templates_that_cannot_be_filled_are_refused() {
    for text in ["%", "a%", "%x", "%1d", "%0$s", "%1$x"] {
        assert_eq!(Template::parse(text, 9), Err(TemplateError::Place(text.to_owned())), "{text}");
    }
    let wanted = |text: &str| TemplateError::Values { text: text.to_owned(), wanted: 2, given: 1 };
    assert_eq!(Template::parse("%d%d", 1), Err(wanted("%d%d")));
    assert_eq!(Template::parse("%2$s", 1), Err(wanted("%2$s")));
}

/// What a request template makes of these values.
fn requested(request: &RequestTemplate, values: &[&str]) -> Vec<u8> {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    let mut out = b"before".to_vec();
    request.put(300, &values, &mut out);
    out.split_off("before".len())
}

#[test]
fn requests_are_what_the_encoder_makes_of_the_filled_texts() {
    let long = "x".repeat(300);
    let marked = |text: &str| Template::parse(text, 2).unwrap().marked();
    let (base, filter) = (marked("ou=%2$s,dc=example,dc=com"), marked("(&(cn=a%1$s*)(!(|(sn=%2$s)(uid>=%1$s))))"));
    let filter = ldap::filter::parse(&filter).unwrap();
    let request = RequestTemplate::new(|id, out| {
        client::search(out, id, &Search::new(&base, Scope::WholeSubtree, &filter, &["cn"]), &[]);
    });
    for (one, two) in [("7", "y"), ("", ""), (long.as_str(), "\u{fc}\u{10ffff}")] {
        let base = format!("ou={two},dc=example,dc=com");
        let filter = ldap::filter::parse(&format!("(&(cn=a{one}*)(!(|(sn={two})(uid>={one}))))")).unwrap();
        let mut expected = Vec::new();
        client::search(&mut expected, 300, &Search::new(&base, Scope::WholeSubtree, &filter, &["cn"]), &[]);
        assert_eq!(requested(&request, &[one, two]), expected, "{one} {two}");
    }
    let (name, password) = (marked("uid=%s"), marked("%s"));
    let request = RequestTemplate::new(|id, out| client::bind(out, id, &name, password.as_bytes(), &[]));
    let mut expected = Vec::new();
    client::bind(&mut expected, 300, "uid=a", b"a", &[]);
    assert_eq!(requested(&request, &["a", "b"]), expected);
}

#[test]
fn what_stands_for_values_is_no_text_of_a_template() {
    let text = "cn=\u{10f001}";
    assert_eq!(Template::parse(text, 2), Err(TemplateError::Mark(text.to_owned())));
}

#[test]
fn a_generator_says_which_characters_it_can_give() {
    let may_give = |text: &str| text.parse::<Generator>().unwrap().may_give(&['*', '(']);
    assert_eq!(
        [may_give("inc(1,9)"), may_give("rand(1,9)"), may_give("randstr(3)"), may_give("randstr(3,[a*])")],
        [false, false, false, true]
    );
    assert_eq!([may_give("a*"), may_give("text")], [true, false]);
    assert_eq!(values("text", 2), ["text", "text"]);
}

/// Four operations, of which the longest failed; half of them in the last two of four seconds.
fn figures() -> Figures {
    let (mut all, mut one) = (Figures::default(), Figures::default());
    for took in [1000, 1000, 2000, 4000] {
        let problem = (took == 4000).then_some(Problem::Refused(ldap::ResultCode::BUSY));
        one.add(Duration::from_micros(took), problem, 3);
    }
    all.take(&mut one);
    all
}

const NOW: Times = Times { from: Duration::from_secs(2), to: Duration::from_secs(4) };

fn report(form: Form, extra: Extra) -> Report {
    Report::new(form, vec![99.9, 99.99, 99.999], extra)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

// S0-54
#[test]
fn rows_have_the_columns_and_decimals_of_opendj() {
    let plain = report(Form::Columns, Extra::Nothing);
    let head = plain.head().unwrap();
    let lines: Vec<String> = head.lines().map(|line| words(line).join(" ")).collect();
    assert_eq!(
        lines,
        [
            "Throughput Response Time",
            "(ops/second) (milliseconds)",
            "recent average recent average 99.9% 99.99% 99.999% err/sec"
        ]
    );
    let row = plain.row(&figures(), NOW);
    assert_eq!(words(&row), ["2.0", "1.0", "2.000", "2.000", "4.001", "4.001", "4.001", "0.5"]);
    let csv = Report::new(Form::Csv, vec![50.0], Extra::EntriesPerSearch);
    assert_eq!(
        csv.head().unwrap(),
        "Time (seconds),Recent throughput (ops/second),Average throughput (ops/second),Recent response time \
         (milliseconds),Average response time (milliseconds),50% response time (milliseconds),Errors/second,\
         Entries/Srch"
    );
    assert_eq!(csv.row(&figures(), NOW), "4.000,2.0,1.0,2.000,2.000,1.000,0.5,4.0");
}

// S0-65
#[test]
fn searches_have_a_column_of_entries() {
    let searches = report(Form::Columns, Extra::EntriesPerSearch);
    let head = searches.head().unwrap();
    assert!(head.ends_with("err/sec Entries/Srch"), "{head}");
    assert_eq!(words(&searches.row(&figures(), NOW)).last(), Some(&"4.0"));
}

/// As OpenDJ 5.0.3 prints them, blanks included.
#[test]
fn boxed_rows_are_those_of_opendj_from_4_on() {
    let head = report(Form::Boxed, Extra::EntriesPerSearch).head().unwrap();
    let line = "-".repeat(92);
    let expected = [
        line.as_str(),
        "|     Throughput    |                 Response Time                |       Additional      | ",
        "|    (ops/second)   |                (milliseconds)                |       Statistics      | ",
        "|   recent  average |   recent  average    99.9%   99.99%  99.999% |  err/sec Entries/Srch | ",
        line.as_str(),
    ];
    assert_eq!(head.split('\n').collect::<Vec<_>>(), expected);
    let row = report(Form::Boxed, Extra::EntriesPerSearch).row(&figures(), NOW);
    assert_eq!(row, "|      2.0      1.0 |    2.000    2.000     4.00     4.00     4.00 |      0.5          4.0 | ");
    let head = report(Form::Boxed, Extra::Nothing).head().unwrap();
    let line = "-".repeat(79);
    let expected = [
        line.as_str(),
        "|     Throughput    |                 Response Time                |          | ",
        "|    (ops/second)   |                (milliseconds)                |          | ",
        "|   recent  average |   recent  average    99.9%   99.99%  99.999% |  err/sec | ",
        line.as_str(),
    ];
    assert_eq!(head.split('\n').collect::<Vec<_>>(), expected);
}

#[test]
fn rows_of_json_say_the_same() {
    let json = report(Form::Json, Extra::AddPercent);
    assert_eq!(json.head(), None);
    let row: serde_json::Value = serde_json::from_str(&json.row(&figures(), NOW)).unwrap();
    assert_eq!(row["throughput"], serde_json::json!({"recent": 2.0, "average": 1.0}));
    assert_eq!((&row["operations"], &row["errors"]), (&4.into(), &1.into()));
    assert_eq!(row["responseTimeMs"]["percentiles"]["99.99"], serde_json::json!(4.001));
    assert_eq!(row["addPercent"], serde_json::json!(300.0));
}

#[test]
fn what_threads_measured_adds_up() {
    let (mut all, mut one) = (Figures::default(), Figures::default());
    one.add(Duration::from_millis(1), None, 0);
    all.take(&mut one);
    all.end_interval();
    one.add(Duration::from_millis(3), Some(Problem::Lost("gone".to_owned())), 0);
    all.take(&mut one);
    assert_eq!((all.all.operations, all.all.errors, all.all.mean_ms()), (2, 1, 2.0));
    assert_eq!((one.recent.operations, all.recent.operations, all.recent_latencies().len()), (0, 1, 1));
    assert_eq!(all.problem, Some(Problem::Lost("gone".to_owned())));
}
