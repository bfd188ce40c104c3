//! Commands printed: the inverse of parsing.

use std::any::Any;
use std::fmt::{Debug, Display, Write};

use super::{Args, Command};
use crate::configuration::Stage;

/// A command that prints itself in the words that parse to it. Derive it beside [`Command`], or
/// write it by hand where `parse` is.
pub trait Print: Command + PartialEq + Debug {
    /// Stage of the command in a configuration.
    const STAGE: Stage;
    /// Words of the command that takes this one back, in the notation of
    /// [`undo`](crate::configuration::undo); empty where the usual ones do: `del` instead of `add`,
    /// `del` or `disable` after it.
    const UNDO: &'static str = "";

    /// Writes the arguments, in words that `parse` takes.
    fn print(&self, line: &mut Line<'_>);
}

/// A value as words that it is read from. Every `Display` type is one.
pub trait PrintValue {
    /// Writes the value.
    fn print(&self, line: &mut Line<'_>);
}

impl<T: Display> PrintValue for T {
    fn print(&self, line: &mut Line<'_>) {
        line.word(self);
    }
}

/// Whether a text can be the last words of a command: on one line, without blanks around it and
/// without characters that mean something there.
pub fn is_printable(text: &str) -> bool {
    let is_special = |c: char| c.is_control() || "{}$".contains(c);
    text.trim() == text && !text.contains(is_special)
}

/// Whether a text can be a word of a command: [printable](is_printable), with no blanks in it.
pub fn is_word(text: &str) -> bool {
    is_printable(text) && !text.is_empty() && !text.contains(char::is_whitespace)
}

/// A command as it is printed, word by word.
pub struct Line<'a> {
    text: String,
    context: &'a dyn Any,
}

impl<'a> Line<'a> {
    /// The line of a command; values look names up in `context`.
    ///
    /// # Panics
    /// In debug builds, for a command whose words do not parse to it.
    pub fn of<T: Print>(command: &T, context: &'a dyn Any) -> String {
        let path = T::PATHS[0];
        let mut line = Self { text: path.to_owned(), context };
        command.print(&mut line);
        if cfg!(debug_assertions) {
            let mut args = Args::new(&line.text[path.len()..]).in_context(context);
            let parsed = T::parse(&mut args);
            let parsed = parsed.unwrap_or_else(|e| panic!("`{}' does not parse: {e}", line.text));
            assert!(args.is_empty(), "not all of `{}' parses", line.text);
            assert_eq!(parsed, *command, "`{}' parses to something else", line.text);
        }
        line.text
    }

    /// Context of the command, if it is a `C`.
    pub fn context<C: 'static>(&self) -> Option<&'a C> {
        self.context.downcast_ref()
    }

    /// Writes a word, or several.
    pub fn word(&mut self, word: impl Display) -> &mut Self {
        write!(self.text, " {word}").expect("a String takes all text");
        self
    }

    /// Writes a value.
    pub fn value(&mut self, value: &impl PrintValue) -> &mut Self {
        value.print(self);
        self
    }

    /// Writes a keyword and its value.
    pub fn keyword(&mut self, keyword: &str, value: &impl PrintValue) -> &mut Self {
        self.word(keyword).value(value)
    }

    /// Writes a keyword and its value, if there is one.
    pub fn option(&mut self, keyword: &str, value: Option<&impl PrintValue>) -> &mut Self {
        if let Some(value) = value {
            self.keyword(keyword, value);
        }
        self
    }

    /// Writes each of several values.
    pub fn values<'v, T: PrintValue + 'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v T>,
    ) -> &mut Self {
        for value in values {
            self.value(value);
        }
        self
    }

    /// Writes a word if it holds.
    pub fn flag(&mut self, word: &str, holds: bool) -> &mut Self {
        if holds {
            self.word(word);
        }
        self
    }
}
