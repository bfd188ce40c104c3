//! The language: top-level words with a block or a value, and how their contents are read.

use std::fmt;
use std::str::FromStr;

use super::notice::{Notice, Weight};
use crate::cli::{Args, Place, nearest};

/// A configuration that cannot be used; the text names the word and the stanza.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    text: String,
    /// The unknown word, if the error is about one.
    unknown: Option<Place>,
    /// The word that is wrong.
    place: Option<Place>,
    /// The word that was probably meant.
    meant: Option<String>,
}

impl Error {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), unknown: None, place: None, meant: None }
    }

    /// An unknown word.
    pub(super) fn unknown(word: &str) -> Self {
        let place = Some(Place::of(word));
        Self { unknown: place, place, ..Self::new(format!("unknown word '{word}'")) }
    }

    /// A word that is none of `known`.
    pub(super) fn unknown_of<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { meant: nearest(word, known).map(str::to_owned), ..Self::unknown(word) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.meant {
            Some(word) => write!(f, ": did you mean `{word}'?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<crate::cli::Error> for Error {
    fn from(error: crate::cli::Error) -> Self {
        Self { place: error.place(), ..Self::new(error.to_string()) }
    }
}

/// A top-level stanza with its contents as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stanza {
    /// Name.
    pub word: String,
    /// Line on which it starts, from 1.
    pub line: usize,
    /// Line on which its contents start.
    pub(super) body_line: usize,
    /// Text between its braces, or the value that follows its name.
    pub body: String,
}

/// Contents that are read word by word.
pub(super) trait Section {
    /// Takes what belongs to `word`, which has just been read from `args`.
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error>;
}

impl Stanza {
    /// The words of its contents.
    pub fn args(&self) -> Args<'_> {
        Args::new(&self.body)
    }

    /// The value after `key`, not looking into nested braces.
    pub fn value<T: FromStr>(&self, key: &str) -> Result<Option<T>, Error> {
        let mut args = self.args();
        while !args.is_empty() {
            if args.keyword(key) {
                return Ok(Some(args.value(key).map_err(|e| self.locate(e.into()))?));
            }
            self.skip(&mut args)?;
        }
        Ok(None)
    }

    /// Whether `key` is there, not looking into nested braces.
    pub fn has(&self, key: &str) -> Result<bool, Error> {
        let mut args = self.args();
        while !args.is_empty() {
            if args.keyword(key) {
                return Ok(true);
            }
            self.skip(&mut args)?;
        }
        Ok(false)
    }

    fn skip(&self, args: &mut Args<'_>) -> Result<(), Error> {
        if args.block().map_err(|e| self.locate(e.into()))?.is_none() {
            args.word();
        }
        Ok(())
    }

    /// Gives its words to `section`; with `is_glued`, those without blanks in between as well.
    pub(super) fn read_into(&self, section: &mut dyn Section, is_glued: bool) -> Result<(), Error> {
        let args = self.args();
        let mut args = if is_glued { args.glued() } else { args };
        read(&mut args, section).map_err(|e| self.locate(e))
    }

    /// Says which stanza an error is about, and on which line.
    pub(super) fn locate(&self, error: Error) -> Error {
        let at = error.place.and_then(|place| place.within(&self.body));
        let line = at.map_or(self.line, |at| self.line_of(at));
        let place = format!("in stanza '{}' (line {line})", self.word);
        let meant = error.meant.or_else(|| {
            let at = error.unknown.and(at)?;
            super::usage::meant(&self.word, Args::new(&self.body[at..]).peek()?)
        });
        Error { meant, ..Error::new(format!("{} {place}", error.text)) }
    }

    /// The line of byte `at` of its contents.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.body_line + self.body[..at].matches('\n').count()
    }

    /// A notice about `words` on a line, or about the whole stanza.
    pub(super) fn notice(&self, line: usize, words: &str, of: (Weight, &'static str)) -> Notice {
        let (stanza, words) = (self.word.clone(), words.to_owned());
        Notice { line, stanza, words, why: of.1, weight: of.0 }
    }
}

/// Gives all words of `args` to `section`.
pub(super) fn read(args: &mut Args<'_>, section: &mut dyn Section) -> Result<(), Error> {
    loop {
        let start = *args;
        let Some(word) = args.word() else { return Ok(()) };
        let Err(error) = section.word(word, args) else { continue };
        let is_unknown = |e: &Error, word: &str| e.unknown == Some(Place::of(word));
        let mut cuts = start.cuts().filter(|_| is_unknown(&error, word));
        let found = cuts.find_map(|(word, mut rest)| {
            let result = section.word(word, &mut rest);
            let is_known = !result.as_ref().is_err_and(|e| is_unknown(e, word));
            is_known.then(|| result.map(|()| rest))
        });
        *args = found.unwrap_or(Err(error))?;
    }
}

/// The block that must follow `word`.
pub(super) fn block<'a>(args: &mut Args<'a>, word: &str) -> Result<Args<'a>, Error> {
    args.block()?.ok_or_else(|| Error::new(format!("expected '{{' after '{word}'")))
}

/// Top-level stanzas of a text.
pub(super) fn split(text: &str) -> Result<Vec<Stanza>, Error> {
    let mut args = Args::new(text);
    let mut stanzas = Vec::new();
    loop {
        let line = 1 + text[..args.position()].matches('\n').count();
        let Some(word) = args.word() else { return Ok(stanzas) };
        if word == "{" || word == "}" {
            return Err(Error::new(format!("unexpected '{word}' (line {line})")));
        }
        let at_line = |e: crate::cli::Error| Error::new(format!("{e} (line {line})"));
        let body = match args.block().map_err(at_line)? {
            Some(block) => block.remaining(),
            None if takes_word(word) => args.word().unwrap_or_default(),
            None => "",
        };
        let start = Place::of(body).within(text).unwrap_or_default();
        let body_line = 1 + text[..start].matches('\n').count();
        stanzas.push(Stanza { word: word.to_owned(), line, body_line, body: body.to_owned() });
    }
}

/// Stanzas that are followed by one word and no braces.
fn takes_word(word: &str) -> bool {
    matches!(word, "plugin_path" | "test_plugin_path" | "heapsize")
}

/// Blanks out comments, keeping line numbers.
pub(super) fn without_comments(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}
