//! Errors of commands, as operators read them.

use std::fmt;
use std::io;

/// A failed command. What a handler returns is printed as `<command path>: <message>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
    code: i32,
    bare: bool,
    /// Suggestions for a misspelled word.
    hint: Option<String>,
}

impl Error {
    /// A message to be printed after the command's path.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: -1, bare: false, hint: None }
    }

    /// A message to be printed alone, without the command's path.
    pub fn bare(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: -1, bare: true, hint: None }
    }

    /// Sets the number that binary-API clients get; -1 otherwise.
    pub fn with_code(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    /// The number for binary-API clients, negative.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Notes the one of `known` that `word` was probably meant to be, if any is like it. Programs
    /// compare error texts, so it is no part of the text.
    pub(super) fn meaning<'a>(
        mut self,
        word: Option<&str>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let Some(word) = word.filter(|word| word.len() > 2) else { return self };
        let likeness = |known: &&str| strsim::damerau_levenshtein(word, known);
        let nearest = known.into_iter().min_by_key(likeness);
        self.hint =
            nearest.filter(|known| likeness(known) <= 1 + word.len() / 4).map(str::to_owned);
        self
    }

    /// The text for a person: the message and what may have been meant.
    pub(crate) fn for_person(&self) -> String {
        match &self.hint {
            Some(word) => format!("{self} (did you mean `{word}'?)"),
            None => self.to_string(),
        }
    }

    /// Puts `path` before the message, once.
    pub(super) fn under(mut self, path: &str) -> Self {
        if !self.bare && !path.is_empty() {
            self.message.insert_str(0, ": ");
            self.message.insert_str(0, path);
        }
        self.bare = true;
        self
    }

    /// Puts `place` before the finished text.
    pub(super) fn within(mut self, place: fmt::Arguments<'_>) -> Self {
        self.message.insert_str(0, &place.to_string());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::new(io_text(&error))
    }
}

/// The system's text for an error, such as `No such file or directory`, without its number.
pub fn io_text(error: &io::Error) -> String {
    let mut text = error.to_string();
    if error.raw_os_error().is_some()
        && let Some(number) = text.find(" (os error ")
    {
        text.truncate(number);
    }
    text
}
