//! Access logs: whatever a file holds, the analysis ends, counts every line, and its reports are written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use logstat::analysis::Analysis;
use logstat::clock::Clock;
use logstat::input::lines::Lines;
use logstat::line::LineReader;
use logstat::line::opendj::EtimeUnit;
use logstat::page::page;
use logstat::settings::Settings;

fuzz_target!(|bytes: &[u8]| {
    let settings = Settings { stall_ns: 1_000_000, ..Settings::default() };
    let mut analysis = Analysis::new(settings, LineReader::new(EtimeUnit::default(), Clock::default()));
    let (mut lines, mut source, mut count) = (Lines::default(), bytes, 0);
    let mut each = |line: &[u8], _| {
        analysis.line(line);
        count += 1;
    };
    while lines.read(&mut source, &mut each).unwrap_or(false) {}
    lines.finish(&mut each);
    analysis.finish();
    let summary = analysis.summary();
    assert_eq!(summary.lines.all, count);
    assert!(!page("a log", &[], &summary, 20).is_empty());
});
