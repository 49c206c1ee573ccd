//! Lines of a TOML text, cut out or replaced so that the comments around them stay.
//!
//! Knows lines only: the place of a change is a line with a marker, a value that occurs nowhere else in the text.
//! After such a change the text is read again.

/// A text that stays free of `marker`, and one line that holds it.
pub(crate) struct Lines {
    lines: Vec<String>,
    /// The line with the marker.
    at: usize,
}

impl Lines {
    /// The text cut into lines; `None` if no line holds the marker.
    pub(crate) fn find(text: &str, marker: &str) -> Option<Self> {
        let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let at = lines.iter().position(|line| line.contains(marker))?;
        Some(Self { lines, at })
    }

    /// A marker that the text does not hold.
    pub(crate) fn marker(text: &str) -> String {
        let mut marker = "the-line-that-changes".to_owned();
        while text.contains(&marker) {
            marker.push('-');
        }
        marker
    }

    /// The text without the line. A comment that describes this line alone stays with the default that holds from now
    /// on, commented out, as `setup` writes it.
    pub(crate) fn without_setting(mut self, default: Option<&str>) -> String {
        match default.filter(|_| self.has_own_comment()) {
            Some(default) => {
                let line = format!("#{}\n", default.trim_end());
                self.replace(&line)
            }
            None => {
                self.lines.remove(self.at);
                self.lines.concat()
            }
        }
    }

    /// The text without an object that has a line of its own, and without the comment that describes this line alone.
    pub(crate) fn without_line_object(mut self) -> String {
        let first = if self.has_own_comment() { self.comment_above(self.at) } else { self.at };
        self.lines.drain(first..=self.at);
        self.lines.concat()
    }

    /// The text without a table, which begins at the last header above the line and ends at the line, and without the
    /// comment directly above its header. What an empty line separates from the header belongs to the neighbours.
    pub(crate) fn without_table(mut self) -> String {
        let header = (0..self.at).rev().find(|line| self.is_header(*line)).unwrap_or(self.at);
        let first = self.comment_above(header);
        let is_blank = |line: Option<&String>| line.is_none_or(|line| line.trim().is_empty());
        let above_is_blank = first == 0 || is_blank(self.lines.get(first - 1));
        // One of two empty lines that would meet goes too.
        let last = if above_is_blank && self.at + 1 < self.lines.len() && is_blank(self.lines.get(self.at + 1)) {
            self.at + 1
        } else {
            self.at
        };
        self.lines.drain(first..=last);
        self.lines.concat()
    }

    /// The text with `setting` in place of the commented-out default of the same name in the same table, and without
    /// the line itself. `None` if there is no such comment.
    pub(crate) fn at_commented_default(mut self, name: &str, setting: &str) -> Option<String> {
        let is_default = |line: &String| {
            let rest = line.strip_prefix('#').and_then(|line| line.strip_prefix(name));
            rest.is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        let first = (0..self.at).rev().find(|line| self.is_header(*line)).unwrap_or(0);
        let end = (self.at..self.lines.len()).find(|line| self.is_header(*line)).unwrap_or(self.lines.len());
        let found = (first..end).find(|line| self.lines.get(*line).is_some_and(is_default))?;
        if let Some(line) = self.lines.get_mut(found) {
            *line = format!("{}\n", setting.trim_end());
        }
        self.lines.remove(self.at);
        Some(self.lines.concat())
    }

    fn replace(mut self, with: &str) -> String {
        if let Some(line) = self.lines.get_mut(self.at) {
            with.clone_into(line);
        }
        self.lines.concat()
    }

    /// Whether there is a comment directly above that cannot be the heading of several lines.
    fn has_own_comment(&self) -> bool {
        let next_is_setting = self.lines.get(self.at + 1).is_some_and(|line| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with(['#', '['])
        });
        self.comment_above(self.at) < self.at && !next_is_setting
    }

    /// The first of the comment lines directly above a line; the line itself if there is none.
    fn comment_above(&self, line: usize) -> usize {
        let is_comment = |line: &usize| self.lines.get(*line).is_some_and(|line| line.trim_start().starts_with('#'));
        (0..line).rev().take_while(is_comment).last().unwrap_or(line)
    }

    fn is_header(&self, line: usize) -> bool {
        self.lines.get(line).is_some_and(|line| line.trim_start().starts_with('['))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        Lines::find(text, "MARK").unwrap()
    }

    #[test]
    fn a_comment_of_one_line_goes_or_stays_with_it_and_a_heading_stays() {
        let own = "[a]\n# about x\nx = MARK\n# about y\ny = 1\n";
        assert_eq!(lines(own).without_setting(Some("x = 5")), "[a]\n# about x\n#x = 5\n# about y\ny = 1\n");
        assert_eq!(lines(own).without_setting(None), "[a]\n# about x\n# about y\ny = 1\n");
        assert_eq!(lines(own).without_line_object(), "[a]\n# about y\ny = 1\n");
        let heading = "[a]\n# names\nx = MARK\ny = 1\n";
        assert_eq!(lines(heading).without_setting(Some("x = 5")), "[a]\n# names\ny = 1\n");
        assert_eq!(lines(heading).without_line_object(), "[a]\n# names\ny = 1\n");
    }

    #[test]
    fn a_table_goes_with_its_own_comment_only() {
        let text = "[a]\nx = 1\n\n# chapter\n\n# about b\n[b]\nm = MARK\n\n# about c\n[c]\n";
        assert_eq!(lines(text).without_table(), "[a]\nx = 1\n\n# chapter\n\n# about c\n[c]\n");
        assert_eq!(lines("[a]\n\n[b]\nm = MARK\n").without_table(), "[a]\n\n");
    }

    #[test]
    fn a_commented_default_of_the_same_table_makes_room() {
        let text = "[a]\nx = MARK\n# about x\n#x = 5\n[b]\n#x = 6\n";
        assert_eq!(lines(text).at_commented_default("x", "x = 7").unwrap(), "[a]\n# about x\nx = 7\n[b]\n#x = 6\n");
        assert_eq!(lines("[a]\nx = MARK\n[b]\n#x = 6\n").at_commented_default("x", "x = 7"), None);
        assert_eq!(lines("[a]\n#xy = 1\nx = MARK\n").at_commented_default("x", "x = 7"), None);
    }

    #[test]
    fn the_marker_is_in_no_text() {
        let first = Lines::marker("");
        assert_ne!(Lines::marker(&first), first);
    }
}
