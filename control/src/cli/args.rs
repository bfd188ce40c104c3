//! The words after a command's path, read from left to right.

use std::any::Any;
use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Deref;
use std::str::FromStr;

use super::command::{ArgInfo, keywords};
use super::error::Place;
use super::{Error, Line, PrintValue, is_printable, is_word};

/// Words are separated by blanks; `{` and `}` are words of their own even without blanks.
pub(super) fn is_blank(byte: u8) -> bool {
    byte <= b' '
}

/// The rest of a line. Copying it remembers a place to come back to.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    line: &'a str,
    /// The context of the command, to look names up.
    context: Option<&'a dyn Any>,
    /// Byte position of the next word, or the length of the line.
    at: usize,
    /// The end of that word.
    end: usize,
    /// Whether words may follow each other without blanks.
    is_glued: bool,
}

impl<'a> Args<'a> {
    /// Starts at the first word of `line`.
    pub fn new(line: &'a str) -> Self {
        let line = line.trim_end_matches(|c: char| c.is_ascii() && is_blank(c as u8));
        let mut args = Self { line, context: None, at: 0, end: 0, is_glued: false };
        args.go_to(0);
        args
    }

    /// The same words, for values that look names up in `context`.
    pub fn in_context(self, context: &'a dyn Any) -> Self {
        Self { context: Some(context), ..self }
    }

    /// Context of the command, if it is a `C`: values look names up there.
    pub fn context<C: 'static>(&self) -> Option<&'a C> {
        self.context?.downcast_ref()
    }

    /// The same words for a second reading, where blanks between a keyword or value and what
    /// follows it may be missing: `repeat5interval 1`. Scripts for the original write this.
    pub(crate) fn glued(self) -> Self {
        Self { is_glued: true, ..self }
    }

    /// The remaining text without the blanks inside `10.0.0.0 / 8` and `10.0.0.1 : 80`; `None` if
    /// it has none there.
    pub(crate) fn joined(&self) -> Option<String> {
        let words: Vec<_> = self.remaining().split_ascii_whitespace().collect();
        let is_split = |words: &[&str]| match words {
            [addr, "/", len] => addr.parse::<IpAddr>().is_ok() && len.parse::<u8>().is_ok(),
            [addr, ":", port] => addr.parse::<Ipv4Addr>().is_ok() && port.parse::<u16>().is_ok(),
            _ => false,
        };
        let starts: Vec<_> =
            (0..words.len()).filter(|at| words.get(*at..*at + 3).is_some_and(is_split)).collect();
        let is_joined = |at: usize| starts.iter().any(|start| (start + 1..start + 3).contains(&at));
        let blank = |at: usize| if at == 0 || is_joined(at) { "" } else { " " };
        let text = words.iter().enumerate().flat_map(|(at, word)| [blank(at), *word]).collect();
        (!starts.is_empty()).then_some(text)
    }

    /// Other words, in the same context.
    pub(crate) fn over<'b>(&self, text: &'b str) -> Args<'b>
    where
        'a: 'b,
    {
        Args { context: self.context, ..Args::new(text) }
    }

    /// True when no word is left.
    pub fn is_empty(&self) -> bool {
        self.at == self.line.len()
    }

    /// Byte position of the next word in the line.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next word, left where it is.
    pub fn peek(&self) -> Option<&'a str> {
        (!self.is_empty()).then(|| &self.line[self.at..self.end])
    }

    /// Takes the next word.
    pub fn word(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.go_to(self.end);
        Some(word)
    }

    /// Takes `keyword` (one word or several) if it comes next.
    pub fn keyword(&mut self, keyword: &str) -> bool {
        let start = *self;
        for word in keyword.split(' ') {
            if !self.takes(word) {
                *self = start;
                return false;
            }
        }
        true
    }

    fn takes(&mut self, word: &str) -> bool {
        let rest = self.peek().and_then(|next| next.strip_prefix(word));
        let is_whole = |rest: &str| rest.is_empty() || self.is_glued && may_follow(rest);
        let is_it = rest.is_some_and(is_whole);
        if is_it {
            self.go_to(self.at + word.len());
        }
        is_it
    }

    /// Cuts of the next word in two, the longest first part first: that part and the rest of the
    /// line after it. None unless words are read as glued.
    pub(crate) fn cuts(self) -> impl Iterator<Item = (&'a str, Self)> {
        let word = self.peek().filter(|_| self.is_glued).unwrap_or_default();
        let ends = word.char_indices().rev().map(|(at, _)| at);
        ends.filter(|at| *at > 0 && may_follow(&word[*at..])).map(move |at| {
            let mut rest = self;
            rest.go_to(self.at + at);
            (&word[..at], rest)
        })
    }

    /// Takes a value; `what` names it in the error when it is missing or malformed.
    pub fn value<T: Value>(&mut self, what: &str) -> Result<T, Error> {
        T::take(self, what)
    }

    /// Takes `first - last`, with or without blanks around the dash; no last one without a dash.
    ///
    /// # Errors
    /// A value is missing or malformed.
    pub fn range<T: Value>(&mut self, what: &str) -> Result<(T, Option<T>), Error> {
        let dash = |args: &Self| args.peek().and_then(|word| word.find('-'));
        let first = match dash(self).filter(|at| *at > 0) {
            None => self.value(what)?,
            Some(len) => {
                let end = self.at + len;
                let mut head = Self { line: &self.line[..end], end, ..*self };
                let first = head.value(what)?;
                self.go_to(end);
                first
            }
        };
        if dash(self) != Some(0) {
            return Ok((first, None));
        }
        self.go_to(self.at + 1);
        Ok((first, Some(self.value(what)?)))
    }

    /// Takes a value if the next word is one, else takes nothing.
    pub fn optional<T: Value>(&mut self) -> Option<T> {
        let start = *self;
        let value = T::take(self, "").ok();
        if value.is_none() {
            *self = start;
        }
        value
    }

    /// Takes everything that is left, as it was typed.
    pub fn rest(&mut self) -> &'a str {
        let rest = self.remaining();
        self.go_to(self.line.len());
        rest
    }

    /// Everything that is left, as it was typed, left where it is.
    pub fn remaining(&self) -> &'a str {
        &self.line[self.at..]
    }

    /// The whole line, with the words before the next one.
    pub fn line(&self) -> &'a str {
        self.line
    }

    /// Takes `{ … }` with whatever is nested in it and returns its inside; `None` when the next
    /// word is not `{`.
    pub fn block(&mut self) -> Result<Option<Args<'a>>, Error> {
        if self.peek() != Some("{") {
            return Ok(None);
        }
        let mut depth = 0_usize;
        for (offset, byte) in self.line.bytes().enumerate().skip(self.at) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => continue,
            }
            if depth == 0 {
                let inside = Args::new(&self.line[self.at + 1..offset]);
                let inside = Self { context: self.context, is_glued: self.is_glued, ..inside };
                self.go_to(offset + 1);
                return Ok(Some(inside));
            }
        }
        Err(self.error("missing `}' in"))
    }

    /// An error about the next words: ``<what> `<the remaining words>'``.
    pub fn error(&self, what: impl Display) -> Error {
        let what = what.to_string();
        let text = match self.is_empty() && what.starts_with("expected") {
            true => format!("{what} at the end of the line"),
            false => format!("{what} `{}'", self.remaining()),
        };
        Error::new(text).at(self.next())
    }

    /// An error about a missing value.
    fn missing(&self, what: &str) -> Error {
        Error::new(format!("missing {what}")).at(self.next())
    }

    /// The next word, empty at the end.
    fn next(&self) -> &'a str {
        &self.line[self.at..self.end.max(self.at)]
    }

    /// The error for an unknown word.
    pub fn unknown(&self) -> Error {
        self.error("unknown input")
    }

    /// The error for a word that is none of the keywords of `args`.
    pub fn unknown_of(&self, args: &'static [ArgInfo]) -> Error {
        self.unknown().meaning(self.peek(), keywords(args))
    }

    /// Continues with the word at byte `at`, or the first one after it.
    fn go_to(&mut self, at: usize) {
        let rest = &self.line.as_bytes()[at..];
        let blanks = rest.iter().position(|b| !is_blank(*b)).unwrap_or(rest.len());
        let rest = &rest[blanks..];
        let is_brace = |b: u8| b == b'{' || b == b'}';
        let len = match rest.iter().position(|b| is_blank(*b) || is_brace(*b)) {
            Some(0) => 1,
            len => len.unwrap_or(rest.len()),
        };
        self.at = at + blanks;
        self.end = self.at + len;
    }
}

impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Args").field(&self.remaining()).finish()
    }
}

/// A type that a command's argument may have. Every `FromStr` type is one, read from one word;
/// implement it by hand for values of several words.
pub trait Value: Sized {
    /// Whether a word at this place is a name: of something that exists or not.
    const IS_NAME: bool = false;
    /// Whether it is hidden: a [`Secret`](crate::Secret).
    const IS_SECRET: bool = false;

    /// Takes the value; `what` names it in errors. On error the place in `args` is of no meaning.
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error>;
}

impl<T: FromStr> Value for T {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let start = *args;
        let Some(word) = args.word() else {
            return Err(start.missing(what));
        };
        let hex = || hex_number(word).and_then(|number| number.parse().ok());
        if let Some(value) = word.parse().ok().or_else(hex) {
            return Ok(value);
        }
        let cut = if start.is_glued { cut(word) } else { None };
        let (len, value) = cut.ok_or_else(|| start.error(format_args!("invalid {what}")))?;
        args.go_to(start.at + len);
        Ok(value)
    }
}

/// The decimal digits of a number that is written as `0x…`.
fn hex_number(word: &str) -> Option<String> {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"))?;
    u64::from_str_radix(digits, 16).ok().map(|number| number.to_string())
}

/// Whether this may follow a keyword without a blank.
pub(crate) fn may_follow(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/' || c == ':')
}

/// The longest value that `word` begins with and its length. What follows begins with a letter: no
/// number is cut in two.
fn cut<T: FromStr>(word: &str) -> Option<(usize, T)> {
    let letters = word.char_indices().rev().filter(|(at, c)| *at > 0 && c.is_ascii_alphabetic());
    letters.into_iter().find_map(|(at, _)| Some((at, word[..at].parse().ok()?)))
}

/// Two consecutive values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<A, B>(pub A, pub B);

impl<A: Value, B: Value> Value for Pair<A, B> {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        Ok(Self(args.value(what)?, args.value(what)?))
    }
}

impl<A: PrintValue, B: PrintValue> PrintValue for Pair<A, B> {
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.0).value(&self.1);
    }
}

/// The rest of the line as it was typed, after a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest(pub String);

impl Value for Rest {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let missing = args.missing(what);
        let text = args.rest();
        (!text.is_empty()).then(|| Self(text.to_owned())).ok_or(missing)
    }
}

impl PrintValue for Rest {
    fn print(&self, line: &mut Line<'_>) {
        line.word(&self.0);
    }
}

/// A text: one word, or several in braces, on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub String);

impl Text {
    /// The text, if a command can have it.
    pub fn printed(text: &str) -> Option<Self> {
        (!text.is_empty() && is_printable(text)).then(|| Self(text.to_owned()))
    }
}

impl Value for Text {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        match args.block()? {
            Some(mut inside) => Ok(Self(inside.rest().to_owned())),
            None => args.value(what).map(Self),
        }
    }
}

impl PrintValue for Text {
    fn print(&self, line: &mut Line<'_>) {
        if is_word(&self.0) {
            line.word(&self.0)
        } else {
            line.word(format_args!("{{{}}}", self.0))
        };
    }
}

/// A number below another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below<const END: u32>(pub u32);

impl<const END: u32> Value for Below<END> {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let start = *args;
        let number = args.value(what)?;
        let is_below = number < END;
        is_below.then_some(Self(number)).ok_or_else(|| start.error(format!("expected below {END}")))
    }
}

impl<const END: u32> PrintValue for Below<END> {
    fn print(&self, line: &mut Line<'_>) {
        line.word(self.0);
    }
}

/// A word that only the handler can look up, such as an interface's name. It remembers what
/// followed it because errors show that.
#[derive(Clone, Debug)]
pub struct Word {
    text: String,
    len: usize,
    place: Option<Place>,
}

impl Word {
    /// The word itself.
    pub fn as_str(&self) -> &str {
        &self.text[..self.len]
    }

    /// ``unknown <what> `<word and the words after it>'``.
    pub fn unknown(&self, what: &str) -> Error {
        Error::new(format!("unknown {what} `{}'", self.text)).placed(self.place)
    }
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Deref for Word {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl From<&str> for Word {
    fn from(word: &str) -> Self {
        Self { text: word.to_owned(), len: word.len(), place: None }
    }
}

impl Value for Word {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let text = args.remaining().to_owned();
        let missing = args.missing(what);
        let word = args.word().ok_or(missing)?;
        Ok(Self { text, len: word.len(), place: Some(Place::of(word)) })
    }
}
