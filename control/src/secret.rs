//! Values that are accepted and kept, but hidden: keys and other shared secrets.
//!
//! An argument of a command or a field of a message that has such a value is a [`Secret`]. That is
//! all its author does: `show configuration`, the event log, traces of the binary API, lists of
//! sessions and errors that repeat a command have [`HIDDEN`] in its place.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};

use serde::{Serialize, Serializer};

use crate::api::schema::{Count, Type};
use crate::api::{Field, Reader, Short};
use crate::cli::{ArgInfo, Args, Command, Error, Line, PrintValue, Value, may_follow};

/// Letters that are wrong in a keyword that was meant.
const MISSPELLED: usize = 2;
/// Bytes of a keyword at most.
const LONGEST: usize = 64;

/// Stands where something is shown for a value that is not.
pub const HIDDEN: &str = "<hidden>";

/// A hidden value.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Secret<T>(pub T);

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for Secret<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(HIDDEN)
    }
}

impl<T: Value> Value for Secret<T> {
    const IS_NAME: bool = T::IS_NAME;
    const IS_SECRET: bool = true;

    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        T::take(args, what).map(Self)
    }
}

/// In a command that makes it again: what is shown of that is [`Secrets::hide`]'s affair.
impl<T: PrintValue> PrintValue for Secret<T> {
    fn print(&self, line: &mut Line<'_>) {
        self.0.print(line);
    }
}

impl<T: Field> Field for Secret<T> {
    const TYPE: Type = T::TYPE;
    const COUNT: Count = T::COUNT;
    const SIZE: usize = T::SIZE;
    const IS_SECRET: bool = true;

    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        T::decode(from).map(Self)
    }
}

/// The hidden arguments of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secrets {
    args: &'static [ArgInfo],
    words: &'static [&'static str],
    /// First word after the path from which on all are.
    rest: Option<usize>,
}

impl Secrets {
    /// No arguments.
    pub const NONE: Self = Self { args: &[], words: &[], rest: None };

    /// Those of a command.
    pub const fn of<T: Command>() -> Self {
        Self { args: T::ARGS, words: T::SECRETS, rest: T::SECRET_REST }
    }

    /// Whether `word` comes before such a value.
    fn announces(&self, word: &str) -> bool {
        self.keywords().any(|keyword| keyword == word)
    }

    /// Whether no argument is one.
    pub fn is_none(&self) -> bool {
        self.rest.is_none() && self.words.is_empty() && self.args.iter().all(|arg| !arg.is_secret)
    }

    /// Whether any word after a certain one may be a value.
    pub(crate) fn are_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// A command with these arguments as it may be shown; its path takes `path` words.
    pub fn hide<'a>(&self, line: &'a str, path: usize) -> Cow<'a, str> {
        hide(line, self.values(line, path, |_| true))
    }

    /// Without those that the command leaves out of its errors by itself.
    pub(crate) fn in_errors(self) -> Self {
        Self { rest: None, ..self }
    }

    /// Places of the values in such a command; a word that is not known may be meant to announce
    /// one.
    pub(crate) fn values(
        &self,
        line: &str,
        path: usize,
        is_known: impl Fn(&str) -> bool,
    ) -> Vec<Range<usize>> {
        if self.is_none() {
            return Vec::new();
        }
        let rest = self.rest.map_or(usize::MAX, |rest| path + rest);
        let resembles = |word: &str| {
            let near = |keyword| strsim::damerau_levenshtein(word, keyword) <= MISSPELLED;
            (MISSPELLED + 2..LONGEST).contains(&word.len()) && self.keywords().any(near)
        };
        values(line, rest, |word| self.announces(word) || !is_known(word) && resembles(word))
    }

    /// The words that come right before such values.
    pub(crate) fn keywords(&self) -> impl Iterator<Item = &'static str> {
        let args = self.args.iter().filter(|arg| arg.is_secret);
        let words = args.flat_map(|arg| arg.keywords).chain(self.words);
        words.filter_map(|keyword| keyword.rsplit(' ').next())
    }
}

/// `line` without what stands at these places.
pub(crate) fn hide(line: &str, places: Vec<Range<usize>>) -> Cow<'_, str> {
    if places.is_empty() {
        return line.into();
    }
    let (mut shown, mut end) = (String::new(), 0);
    for place in places {
        shown.push_str(&line[end..place.start]);
        shown.push_str(HIDDEN);
        end = place.end;
    }
    shown.push_str(&line[end..]);
    shown.into()
}

/// Places in `line` of words after those that `announces` says, and of all from the word with the
/// number `rest` on. A keyword and its value may be one word; braces hold a value together.
pub(crate) fn values(
    line: &str,
    rest: usize,
    announces: impl Fn(&str) -> bool,
) -> Vec<Range<usize>> {
    let (mut args, mut found, mut is_next, mut depth) = (Args::new(line), Vec::new(), false, 0_u32);
    for number in 0.. {
        let start = args.position();
        let Some(word) = args.word() else { break };
        let end = start + word.len();
        if number >= rest || depth > 0 || is_next {
            match word {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            found.push(start..end);
            is_next = false;
        } else if announces(word) {
            is_next = true;
        } else if let Some(at) = glued(word, &announces) {
            found.push(start + at..end);
        }
    }
    found
}

/// The place where a value begins in a word that begins with its keyword.
fn glued(word: &str, announces: &impl Fn(&str) -> bool) -> Option<usize> {
    let places = word.char_indices().skip(1).map(|(at, _)| at).take(LONGEST);
    let is_end = |at: &usize| may_follow(&word[*at..]) && announces(&word[..*at]);
    places.into_iter().find(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test.
    #[derive(Command)]
    #[command("make it")]
    #[expect(dead_code, reason = "only its arguments matter")]
    struct Make {
        /// name
        #[positional]
        name: Option<String>,
        /// secret
        #[alias("psk")]
        shared_key: Option<Secret<String>>,
        /// other
        other: Option<String>,
    }

    #[test]
    fn what_a_secret_argument_is_does_not_show() {
        let hide = |line| Secrets::of::<Make>().hide(line, 2).into_owned();
        assert_eq!(hide("make it a other b"), "make it a other b");
        assert_eq!(
            hide("make  it a shared-key KEY other b"),
            "make  it a shared-key <hidden> other b"
        );
        assert_eq!(hide("make it psk psk other KEY"), "make it psk <hidden> other KEY");
        assert_eq!(hide("make it pskKEYother b"), "make it psk<hidden> b");
        assert_eq!(hide("make it psk {KEY K}b"), "make it psk <hidden><hidden> <hidden><hidden>b");
        assert_eq!(hide("make it psk"), "make it psk");
        let secret = Secret("KEY".to_owned());
        assert_eq!(format!("{secret:?}"), HIDDEN);
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"<hidden>\"");
    }
}
