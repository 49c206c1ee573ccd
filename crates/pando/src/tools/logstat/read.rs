//! The lines of all files, one after the other, given to an analysis.

use std::path::{Path, PathBuf};

use logstat::analysis::Analysis;
use logstat::input::files::in_time_order;
use logstat::input::lines::{Ending, Lines};
use logstat::input::source;
use logstat::line::LineReader;
use logstat::summary::Summary;
use serde_json::{Value, json};

use crate::failure::{Context, Failure};

/// A file that could not be read to its end.
#[derive(Debug)]
pub struct Fault {
    /// Its name.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// The report for programs.
pub fn json(files: &[PathBuf], faults: &[Fault], summary: &Summary) -> Result<Value, Failure> {
    let mut report = serde_json::to_value(summary).context("the report")?;
    if let Some(members) = report.as_object_mut() {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let faults: Vec<Value> =
            faults.iter().map(|fault| json!({ "file": fault.file, "reason": fault.reason })).collect();
        members.insert("files".to_owned(), files.into());
        members.insert("unreadable".to_owned(), faults.into());
    }
    Ok(report)
}

/// Reads all files, the oldest first. A file that is damaged is read as far as it goes.
pub fn files(files: &[PathBuf], reader: &mut LineReader, analysis: &mut Analysis) -> Result<Vec<Fault>, Failure> {
    let mut faults = Vec::new();
    for path in in_time_order(files, reader).map_err(Failure::new)? {
        let path = path.as_path();
        let mut lines = Lines::default();
        let mut source = source::open(path).context(path.display())?;
        analysis.begin_file(&path.display().to_string());
        loop {
            match lines.read(&mut source, &mut |line, ending| give(analysis, line, ending)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    faults.push(fault(path, &error));
                    break;
                }
            }
        }
        lines.finish(&mut |line, ending| give(analysis, line, ending));
    }
    Ok(faults)
}

fn fault(path: &Path, error: &std::io::Error) -> Fault {
    Fault { file: path.display().to_string(), reason: error.to_string() }
}

/// Gives a line to the analysis.
pub fn give(analysis: &mut Analysis, line: &[u8], ending: Ending) {
    analysis.line(line);
    match ending {
        Ending::Whole => {}
        Ending::Cut => analysis.note_cut(),
        Ending::Unfinished => analysis.note_unfinished(),
    }
}
