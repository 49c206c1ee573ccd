//! A report as one HTML file, with pictures: it loads nothing and runs nothing.

use std::fmt::Write;

use crate::chart;
use crate::sections::{Section, head, sections};
use crate::summary::Summary;

const STYLE: &str = "\
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}
body{max-width:75rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}
div.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.87rem}
td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}
th{border-bottom:1px solid #888}
pre{font-size:.87rem}
svg{width:100%;height:auto}
svg text{font-size:11px;fill:currentColor}
.frame{fill:none;stroke:#888}.grid{stroke:#8884}
.stall{fill:#e33;opacity:.18}
.rate{fill:#47a}.errors{fill:#c33}
.p50{stroke:#2a8;stroke-width:2}.p99{stroke:#47a;stroke-width:2}.longest{stroke:#c73;stroke-width:2}
.key{display:inline-block;width:1em;height:.7em;margin:0 .3em 0 1em}
";

/// Text in HTML; control characters of a damaged line are shown as what they are not.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The page. `title` says which log, `notes` what could not be read of it, `rows` how many rows a list has at most.
#[must_use]
pub fn page(title: &str, notes: &[String], summary: &Summary, rows: usize) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\
         <meta name=\"viewport\" content=\"width=device-width\"/><title>{0}</title><style>{STYLE}</style></head>\n\
         <body><h1>{0}</h1>\n",
        escaped(title)
    );
    let mut lines = head(summary);
    lines.extend(notes.iter().cloned());
    let _ = writeln!(out, "<pre>{}</pre>", lines.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("\n"));
    out.push_str("<h2>Findings</h2>\n<ol>");
    for finding in &summary.findings {
        let _ = writeln!(out, "<li>{}</li>", escaped(&finding.text));
    }
    out.push_str("</ol>\n");
    if summary.findings.is_empty() {
        out.push_str("<p>Nothing stands out.</p>\n");
    }
    pictures(&mut out, summary);
    for section in sections(summary, rows) {
        write_section(&mut out, &section);
    }
    out + "</body></html>\n"
}

fn pictures(out: &mut String, summary: &Summary) {
    if summary.minutes.is_empty() {
        return;
    }
    let key = |class: &str, text: &str| {
        format!("<svg class=\"key\" viewBox=\"0 0 10 7\"><path class=\"{class}\" d=\"M0 3h10v3H0z\"/></svg>{text}")
    };
    let stall = key("stall", "operations waited together");
    let _ = writeln!(
        out,
        "<h2>Operations a second</h2>\n{}<p>{}{}{stall}</p>\n<h2>How long they took</h2>\n{}<p>{}{}{}{stall}</p>",
        chart::rate(summary),
        key("rate", "operations"),
        key("errors", "failed"),
        chart::times(summary),
        key("p50", "half of them"),
        key("p99", "99 of 100"),
        key("longest", "the longest"),
    );
}

fn write_section(out: &mut String, section: &Section) {
    let _ = writeln!(out, "<h2>{}</h2>", escaped(&section.title));
    if !section.lines.is_empty() {
        let lines: Vec<String> = section.lines.iter().map(|line| escaped(line)).collect();
        let _ = writeln!(out, "<pre>{}</pre>", lines.join("\n"));
    }
    if !section.rows.is_empty() {
        out.push_str("<div class=\"wide\"><table><tr>");
        section.headings.iter().for_each(|heading| _ = write!(out, "<th>{}</th>", escaped(heading)));
        out.push_str("</tr>\n");
        for row in &section.rows {
            out.push_str("<tr>");
            row.iter().for_each(|cell| _ = write!(out, "<td>{}</td>", escaped(cell)));
            out.push_str("</tr>\n");
        }
        out.push_str("</table></div>\n");
    }
    section.below.iter().for_each(|line| _ = writeln!(out, "<p>{}</p>", escaped(line)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::line::LineReader;
    use crate::settings::Settings;

    #[test]
    fn what_a_client_asked_for_is_text_in_the_page() {
        let mut analysis = Analysis::new(Settings::default(), LineReader::default());
        for line in [
            "[21/Nov/2026:01:15:31 +0000] conn=2 op=1 SRCH base=\"o=<b>\" scope=2 filter=\"(cn=<script>\u{1}alert(1)\"",
            "[21/Nov/2026:01:15:34 +0000] conn=2 op=1 RESULT err=0 tag=101 nentries=2 etime=2.600050 notes=A",
        ] {
            analysis.line(line.as_bytes());
        }
        analysis.finish();
        let page = page("a < b & \"c\"", &["not read: <x>".to_owned()], &analysis.summary(), 20);
        assert!(page.contains("a &lt; b &amp; &quot;c&quot;") && page.contains("not read: &lt;x&gt;"));
        assert!(page.contains("o=&lt;b&gt;") && page.contains("(cn=&lt;script&gt;\u{fffd}alert(1)"));
        assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("http://"));
        assert_eq!(page.matches("<svg viewBox").count(), 2);
    }
}
