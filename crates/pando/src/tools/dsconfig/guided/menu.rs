//! Menus on a terminal, in the form of OpenDJ's tools: numbers for what is chosen, letters for what is done.
//!
//! Knows texts; what the answers mean is for whoever asks.

use std::fmt::Write;

use crate::failure::Failure;
use crate::output::{errln, note};
use crate::terminal;

/// Longer lists of choices have two columns.
const ONE_COLUMN_MAX: usize = 20;
/// Where the text of messages is indented.
const MARGIN: &str = "    ";

/// What is asked.
#[derive(Debug, Default)]
pub struct Menu<'m> {
    /// What it is about, as one line; nothing is printed for an empty one.
    pub heading: &'m str,
    /// The question above the choices; the same.
    pub question: &'m str,
    /// What can be chosen by a number.
    pub choices: Vec<String>,
    /// What can be done by a letter, with what that is.
    pub keys: Vec<(char, String)>,
    /// What RETURN stands for.
    pub default: Option<&'m str>,
}

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The choice at this place, from 0.
    Choice(usize),
    /// What a letter does.
    Key(char),
}

impl Menu<'_> {
    /// Asks until the answer is one of the menu.
    pub fn ask(&self) -> Result<Answer, Failure> {
        note(format_args!("{}", self.text()));
        let default = self.default.map_or(String::new(), |default| format!(" [{default}]"));
        loop {
            note(format_args!("\nEnter choice{default}: "));
            let line = terminal::answer()?;
            let given = if line.trim().is_empty() { self.default.unwrap_or_default() } else { line.trim() };
            match self.answer_of(given) {
                Some(answer) => return Ok(answer),
                None => errln!("\nInvalid response. Please enter a valid menu option"),
            }
        }
    }

    fn answer_of(&self, given: &str) -> Option<Answer> {
        if let Ok(number) = given.parse::<usize>() {
            let place = number.checked_sub(1)?;
            return (place < self.choices.len()).then_some(Answer::Choice(place));
        }
        let is_it = |(key, _): &&(char, String)| given.chars().eq([*key]);
        self.keys.iter().find(is_it).map(|(key, _)| Answer::Key(*key))
    }

    fn text(&self) -> String {
        let mut text = String::from("\n");
        if !self.heading.is_empty() {
            let _ = write!(text, "\n>>>> {}\n\n", self.heading);
        }
        if !self.question.is_empty() {
            let _ = write!(text, "{}\n\n", self.question);
        }
        let width = self.choices.len().to_string().len() + 1;
        let line = |at: usize, choice: &String| format!("{:<width$}  {choice}", format!("{})", at + 1));
        let lines: Vec<String> = self.choices.iter().enumerate().map(|(at, choice)| line(at, choice)).collect();
        if lines.len() > ONE_COLUMN_MAX && lines.iter().all(|line| line.chars().count() < 60) {
            let (left, right) = lines.split_at(lines.len().div_ceil(2));
            let column = left.iter().map(|line| line.chars().count()).max().unwrap_or(0);
            for (at, line) in left.iter().enumerate() {
                let other = right.get(at).map_or("", String::as_str);
                let _ = writeln!(text, "{MARGIN}{}", format!("{line:column$}  {other}").trim_end());
            }
        } else {
            lines.iter().for_each(|line| _ = writeln!(text, "{MARGIN}{line}"));
        }
        if !self.choices.is_empty() && !self.keys.is_empty() {
            text.push('\n');
        }
        for (key, what) in &self.keys {
            let _ = writeln!(text, "{MARGIN}{:<width$}  {what}", format!("{key})"));
        }
        text
    }
}

/// The letters that most menus have.
pub fn key(letter: char, what: &str) -> (char, String) {
    (letter, what.to_owned())
}

/// Asks a question that is answered by yes or no.
pub fn yes_or_no(question: &str, default: bool) -> Result<bool, Failure> {
    loop {
        let answer = terminal::ask(&format!("\n{question} (yes / no)"), if default { "yes" } else { "no" })?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "yes" | "y" => return Ok(true),
            "no" | "n" => return Ok(false),
            _ => errln!("\nInvalid response. Please enter \"yes\" or \"no\""),
        }
    }
}

/// Asks for a text.
pub fn text(question: &str) -> Result<String, Failure> {
    note(format_args!("\n{question}: "));
    terminal::answer()
}

/// Lets a text be read before a menu follows.
pub fn pause() -> Result<(), Failure> {
    note(format_args!("\nPress RETURN to continue "));
    terminal::wait_for_return()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_numbers_and_letters_of_the_menu() {
        let choices = vec!["one".to_owned(), "two".to_owned()];
        let menu = Menu { choices, keys: vec![key('q', "quit")], ..Menu::default() };
        for (given, answer) in [
            ("1", Some(Answer::Choice(0))),
            ("2", Some(Answer::Choice(1))),
            ("0", None),
            ("3", None),
            ("q", Some(Answer::Key('q'))),
            ("qq", None),
            ("", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(menu.answer_of(given), answer, "{given}");
        }
        assert_eq!(menu.text(), "\n    1)  one\n    2)  two\n\n    q)  quit\n");
    }
}
