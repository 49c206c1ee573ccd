//! The values of a TOML array that is changed in place: comments, lines and the spelling of what stays are kept.
//!
//! Knows TOML; does not know what the values mean.

use toml_edit::{Array, RawString, Value};

/// A value with what is written around it.
struct Written {
    value: Value,
    /// Between the line of the value before and this one: comments, spaces.
    above: String,
    /// Behind it, on the same line: a comment.
    behind: String,
    begins_line: bool,
}

/// Makes `array` hold the values of `new` in their order. A value that stays keeps its comments; of one that goes, the
/// comment behind it goes, and those above it stay: they may describe the next ones, too.
pub(crate) fn become_values(array: &mut Array, new: &Array) {
    let Parts { opening, values: old, end } = Parts::of(array);
    let is_by_line = old.iter().any(|one| one.begins_line);
    let first_above = old.first().map(|one| one.above.clone()).unwrap_or_default();
    // The indent of a line, without the comments above it.
    let last = old.iter().rev().find(|one| one.begins_line).and_then(|one| one.above.rsplit('\n').next());
    let indent = last.unwrap_or_default().to_owned();
    let mut heading = String::new();
    let mut kept: Vec<Written> = Vec::new();
    for mut one in old {
        if new.iter().any(|value| text_of(value) == text_of(&one.value)) {
            one.above.insert_str(0, &std::mem::take(&mut heading));
            kept.push(one);
        } else if let Some((comments, _)) = one.above.rsplit_once('\n') {
            heading.push_str(comments);
            heading.push('\n');
        }
    }
    array.clear();
    let mut behind = opening;
    for value in new {
        let one = match kept.iter().position(|one| text_of(&one.value) == text_of(value)) {
            Some(at) => kept.remove(at),
            None => {
                let above = format!("{}{indent}", std::mem::take(&mut heading));
                let begins_line = is_by_line || !above.is_empty();
                Written { value: value.clone(), above, behind: String::new(), begins_line }
            }
        };
        let prefix = match one.begins_line || !behind.is_empty() || one.above.contains('\n') {
            true => format!("{behind}\n{}", one.above),
            false if array.is_empty() => first_above.clone(),
            false => " ".to_owned(),
        };
        behind = one.behind;
        array.push_formatted(one.value.decorated(prefix, ""));
    }
    if !heading.is_empty() {
        behind = format!("{behind}\n{}", heading.trim_end_matches('\n'));
    }
    let line_break = if behind.is_empty() || end.starts_with('\n') { "" } else { "\n" };
    array.set_trailing(format!("{behind}{line_break}{end}"));
    array.set_trailing_comma(end.starts_with('\n'));
}

/// An array taken apart.
struct Parts {
    /// Behind the opening bracket, on its line.
    opening: String,
    values: Vec<Written>,
    /// Between the line of the last value and the closing bracket.
    end: String,
}

impl Parts {
    fn of(array: &Array) -> Parts {
        let raw = |raw: Option<&RawString>| raw.and_then(RawString::as_str).unwrap_or_default().to_owned();
        let mut parts = Parts { opening: String::new(), values: Vec::new(), end: String::new() };
        let mut gap = String::new();
        for value in array {
            gap.push_str(&raw(value.decor().prefix()));
            let (above, begins_line) = parts.give_comment_to_its_line(gap);
            parts.values.push(Written { value: value.clone(), above, behind: String::new(), begins_line });
            gap = raw(value.decor().suffix());
        }
        gap.push_str(&raw(Some(array.trailing())));
        let (end, begins_line) = parts.give_comment_to_its_line(gap);
        parts.end = if begins_line { format!("\n{end}") } else { end };
        parts
    }

    /// What stands between two values without that which is on the line of the first one, and whether there is a line
    /// break.
    fn give_comment_to_its_line(&mut self, gap: String) -> (String, bool) {
        let Some((comment, rest)) = gap.split_once('\n') else { return (gap, false) };
        let behind = self.values.last_mut().map_or(&mut self.opening, |before| &mut before.behind);
        comment.trim_end().clone_into(behind);
        (rest.to_owned(), true)
    }
}

/// A value as text.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.value().clone(),
        other => other.clone().decorated("", "").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, values: &[&str]) -> String {
        let mut document: toml_edit::DocumentMut = format!("a = {text}\n").parse().unwrap();
        let new: Array = values.iter().copied().collect();
        let array = document.get_mut("a").and_then(toml_edit::Item::as_array_mut).unwrap();
        become_values(array, &new);
        let written = document.to_string();
        let again: toml_edit::DocumentMut = written.parse().unwrap();
        let again = again.get("a").and_then(toml_edit::Item::as_array).unwrap();
        assert_eq!(again.iter().filter_map(Value::as_str).collect::<Vec<_>>(), values, "{written}");
        written.strip_prefix("a = ").unwrap().trim_end().to_owned()
    }

    const LINES: &str = "[ # all of them\n  # one\n  'x', # behind x\n\n  # two\n  \"y\", # behind y\n  # the end\n]";

    #[test]
    fn comments_and_lines_stay_and_a_new_value_gets_a_line() {
        assert_eq!(changed(LINES, &["x", "y"]), LINES);
        let longer = LINES.replace("# behind y\n", "# behind y\n  \"z\",\n");
        assert_eq!(changed(LINES, &["x", "y", "z"]), longer);
        assert_eq!(changed("[\n  'x',\n  'y' # last\n]", &["x", "y", "z"]), "[\n  'x',\n  'y', # last\n  \"z\",\n]");
    }

    #[test]
    fn a_value_that_goes_takes_the_comment_behind_it_only() {
        let without_x = "[ # all of them\n  # one\n\n  # two\n  \"y\", # behind y\n  # the end\n]";
        assert_eq!(changed(LINES, &["y"]), without_x);
        let without_y = "[ # all of them\n  # one\n  'x', # behind x\n\n  # two\n  # the end\n]";
        assert_eq!(changed(LINES, &["x"]), without_y);
    }

    #[test]
    fn values_on_one_line_stay_there() {
        assert_eq!(changed("[\"x\", 'y']", &["x", "y", "z"]), "[\"x\", 'y', \"z\"]");
        assert_eq!(changed("[ \"x\", 'y' ]", &["y"]), "[ 'y' ]");
        assert_eq!(changed("[]", &["z"]), "[\"z\"]");
    }

    #[test]
    fn another_order_keeps_what_each_value_has() {
        let turned = changed(LINES, &["y", "x"]);
        for part in ["# one", "# two", "'x', # behind x", "\"y\", # behind y", "# the end"] {
            assert!(turned.contains(part), "{turned}");
        }
    }
}
