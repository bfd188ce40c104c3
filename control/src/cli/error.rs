//! Errors of commands, as operators read them.

use std::fmt;
use std::io;

use crate::secret::HIDDEN;

/// Bytes of a misspelled word at most.
const LONGEST: usize = 64;

/// A failed command. What a handler returns is printed as `<command path>: <message>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
    code: i32,
    bare: bool,
    /// The word that is wrong, where it is known.
    place: Option<Place>,
    /// Shown to people only.
    about: Option<Box<About>>,
}

/// The part of an error for the operator who typed the line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct About {
    /// Suggestion for a misspelled word.
    hint: Option<String>,
    /// The end of the line from the wrong word on, and the word's length: of a copy of that end.
    tail: Option<(String, usize)>,
    /// The line that was read, with a mark under the wrong word.
    mark: Option<String>,
}

/// A word in a text that is being read: its address, which is compared and never used as one, and
/// its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    at: usize,
    len: usize,
}

/// Longest part of a line that is shown with a mark below it.
const MARKED: usize = 120;

impl Place {
    /// The place of a word.
    pub(crate) fn of(word: &str) -> Self {
        Self { at: word.as_ptr().addr(), len: word.len() }
    }
    /// Byte position of the word in `text`, if it is a part of that.
    pub(crate) fn within(self, text: &str) -> Option<usize> {
        let at = self.at.checked_sub(text.as_ptr().addr())?;
        (at + self.len <= text.len() && text.is_char_boundary(at)).then_some(at)
    }
}

/// The one of `known` that `word` was probably meant to be, if any is like it.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if !(3..LONGEST).contains(&word.len()) {
        return None;
    }
    let likeness = |known: &&str| strsim::damerau_levenshtein(word, known);
    let nearest = known.into_iter().min_by_key(likeness);
    nearest.filter(|known| likeness(known) <= 1 + word.len() / 4)
}

impl Error {
    /// A message to be printed after the command's path.
    pub fn new(message: impl Into<String>) -> Self {
        let (message, code) = (message.into(), -1);
        Self { message, code, bare: false, place: None, about: None }
    }

    /// A message to be printed alone, without the command's path.
    pub fn bare(message: impl Into<String>) -> Self {
        Self { bare: true, ..Self::new(message) }
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
    pub fn meaning<'a>(
        mut self,
        word: Option<&str>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        if let Some(nearest) = word.and_then(|word| nearest(word, known)) {
            self.about.get_or_insert_default().hint = Some(nearest.to_owned());
        }
        self
    }

    /// Notes which word is wrong, a part of the text that was read, unless one is noted. An empty
    /// one says where something is missing.
    pub fn at(mut self, word: &str) -> Self {
        self.place.get_or_insert(Place::of(word));
        self
    }

    /// The same about the word at `place`.
    pub(super) fn placed(mut self, place: Option<Place>) -> Self {
        self.place = self.place.or(place);
        self
    }

    /// The same error about `text`, which is a copy of the end of the line.
    pub fn in_tail(mut self, text: &str) -> Self {
        if let Some(place) = self.place
            && let Some(at) = place.within(text)
        {
            let tail = (text[at..].to_owned(), place.len);
            self.about.get_or_insert_default().tail = Some(tail);
            self.place = None;
        }
        self
    }

    /// The word that is wrong.
    pub(crate) fn place(&self) -> Option<Place> {
        self.place
    }

    /// Keeps the line of `text` that has the wrong word in it, as long as that text is there.
    pub(super) fn marking(mut self, text: &str) -> Self {
        let place = self.place.take();
        let tail = self.about.as_mut().and_then(|about| about.tail.take());
        let is_marked = self.about.as_ref().is_some_and(|about| about.mark.is_some());
        let of_tail = tail.and_then(|(tail, len)| Some((text.rfind(&tail)?, len)));
        let at = place.and_then(|place| Some((place.within(text)?, place.len))).or(of_tail);
        let text_of = &self.message;
        let is_missing = text_of.starts_with("missing ") || text_of.contains(": missing ");
        let at = at.or_else(|| is_missing.then_some((text.trim_end().len(), 0)));
        // The message begins with the first word.
        let is_first = |at: &(usize, usize)| text[..at.0].trim().is_empty();
        if let Some((at, len)) = at.filter(|at| !is_marked && !is_first(at)) {
            self.about.get_or_insert_default().mark = Some(mark(text, at, len));
        }
        self
    }

    /// The text for a person: the message and what may have been meant.
    pub(crate) fn for_person(&self) -> String {
        let mut text = self.to_string();
        if let Some(word) = self.about.as_ref().and_then(|about| about.hint.as_ref()) {
            text += &format!(" (did you mean `{word}'?)");
        }
        text
    }

    /// The same, and below it the line with the wrong word marked.
    pub(crate) fn marked(&self) -> String {
        let text = self.for_person();
        match self.about.as_ref().and_then(|about| about.mark.as_ref()) {
            Some(mark) => format!("{text}\n{mark}"),
            None => text,
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

    /// Leaves out what it repeats of a command.
    pub(super) fn without_words(mut self) -> Self {
        if let Some(at) = self.message.find('`') {
            self.message.truncate(at);
            self.message.push_str(HIDDEN);
        }
        self.about = None;
        self
    }

    /// Omits these hidden words.
    pub(super) fn hiding<'a>(mut self, secrets: impl IntoIterator<Item = &'a str>) -> Self {
        for secret in secrets {
            self.message = without(&self.message, secret);
            self = self.without_line();
        }
        self
    }

    /// Leaves out the line that has the wrong word in it.
    pub(super) fn without_line(mut self) -> Self {
        if let Some(about) = &mut self.about {
            (about.mark, about.tail) = (None, None);
        }
        self
    }

    /// Puts `place` before the finished text.
    pub(super) fn within(mut self, place: fmt::Arguments<'_>) -> Self {
        self.message.insert_str(0, &place.to_string());
        self
    }
}

/// `text` with something else wherever it has the word `secret`.
fn without(text: &str, secret: &str) -> String {
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let (mut shown, mut end) = (String::new(), 0);
    for (at, _) in text.match_indices(secret) {
        let behind = at + secret.len();
        let is_word = ends(text[..at].chars().next_back()) && ends(text[behind..].chars().next());
        if is_word {
            shown.push_str(&text[end..at]);
            shown.push_str(HIDDEN);
            end = behind;
        }
    }
    shown + &text[end..]
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

/// Two lines: that of `text` with the word at byte `at`, and marks below the word.
fn mark(text: &str, at: usize, len: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let before = text[start..at].chars().count();
    let word = text[at..at + len].lines().next().unwrap_or_default();
    let width = word.chars().count().max(1);
    // Of a long line the part around the word.
    let skipped = (before + width).saturating_sub(MARKED).min(before);
    let dots = if skipped > 0 { "..." } else { "" };
    let shown = line.chars().skip(skipped).take(MARKED);
    let shown: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
    let indent = before - skipped + dots.len();
    format!("  {dots}{}\n  {:indent$}{}", shown.trim_end(), "", "^".repeat(width.min(MARKED)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrong_word_is_marked_in_its_line() {
        let text = "first line\n\tset mtu\u{e4} 1x00 loop0";
        let word = &text[text.find("1x00").unwrap()..][..4];
        let error = Error::new("invalid mtu").at(word).at("another").marking(text);
        let shown = "invalid mtu\n   set mtu\u{e4} 1x00 loop0\n            ^^^^";
        assert_eq!(error.marked(), shown);
        assert_eq!(error.to_string(), "invalid mtu", "programs get the text alone");
        let end = &text[text.len()..];
        let missing = Error::new("missing interface").at(end).marking(text).marked();
        assert!(missing.ends_with("\n                      ^"), "{missing}");
        assert_eq!(Error::new("elsewhere").at(word).marking("other").marked(), "elsewhere");
    }

    #[test]
    fn of_a_long_line_the_part_with_the_word_is_shown() {
        let text = format!("{} wrong {}", "x".repeat(1000), "y".repeat(1000));
        let word = &text[1001..1006];
        let error = Error::new("no").at(word).marking(&text).marked();
        let lines: Vec<_> = error.lines().collect();
        assert!(lines.len() == 3 && lines[1].len() < MARKED + 10, "{error}");
        assert_eq!(lines[1].find("wrong"), lines[2].find('^'), "{error}");
    }
}
