//! Generators, templates and rows.

use std::time::Duration;

use super::figures::Figures;
use super::generator::{Generator, GeneratorError};
use super::report::{Form, Report};
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
    for text in ["", "inc", "inc(1,2", "rnd(1,2)", "rand(a,2)", "randstr(x)"] {
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

// S0-54
#[test]
fn rows_have_the_columns_and_decimals_of_opendj() {
    let mut figures = Figures::default();
    for took in [1000, 1000, 2000, 4000] {
        figures.add(Duration::from_micros(took), took == 4000);
    }
    let report = Report::new(Form::Columns, vec![99.9, 99.99, 99.999]);
    let head: Vec<String> =
        report.head().lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        head,
        [
            "Throughput Response Time",
            "(ops/second) (milliseconds)",
            "recent average recent average 99.9% 99.99% 99.999% err/sec"
        ]
    );
    let row = report.row(&figures, Duration::from_secs(2), Duration::from_secs(4));
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["2.0", "1.0", "2.000", "2.000", "4.001", "4.001", "4.001", "0.5"]
    );
    let csv = Report::new(Form::Csv, vec![50.0]);
    assert_eq!(
        csv.head(),
        "Time (seconds),Recent throughput (ops/second),Average throughput (ops/second),Recent response time \
         (milliseconds),Average response time (milliseconds),50% response time (milliseconds),Errors/second"
    );
    assert_eq!(
        csv.row(&figures, Duration::from_secs(2), Duration::from_secs(4)),
        "4.000,2.0,1.0,2.000,2.000,1.000,0.5"
    );
}

#[test]
fn what_threads_measured_adds_up() {
    let (mut all, mut one) = (Figures::default(), Figures::default());
    one.add(Duration::from_millis(1), false);
    all.take(&mut one);
    one.add(Duration::from_millis(3), true);
    all.take(&mut one);
    assert_eq!((all.all.operations, all.all.errors, all.all.mean_ms()), (2, 1, 2.0));
    assert_eq!(one.recent.operations, 0);
}
