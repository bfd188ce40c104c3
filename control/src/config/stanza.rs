//! The language: top-level words with a block or a value, and how their contents are read.

use std::fmt;
use std::str::FromStr;

use crate::cli::Args;

/// A configuration that cannot be used; the text names the word and the stanza.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A word that nobody knows here.
    pub(super) fn unknown(word: &str) -> Self {
        Self(format!("unknown word '{word}'"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<crate::cli::Error> for Error {
    fn from(error: crate::cli::Error) -> Self {
        Self(error.to_string())
    }
}

/// A top-level stanza with its contents as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stanza {
    /// Its name.
    pub word: String,
    /// Line on which it starts, from 1.
    pub line: usize,
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

    /// Says which stanza an error is about.
    pub(super) fn locate(&self, error: Error) -> Error {
        Error(format!("{error} in stanza '{}' (line {})", self.word, self.line))
    }
}

/// Gives all words of `args` to `section`.
pub(super) fn read(args: &mut Args<'_>, section: &mut dyn Section) -> Result<(), Error> {
    loop {
        let start = *args;
        let Some(word) = args.word() else { return Ok(()) };
        let Err(error) = section.word(word, args) else { continue };
        let mut cuts = start.cuts().filter(|_| error == Error::unknown(word));
        let found = cuts.find_map(|(word, mut rest)| {
            let result = section.word(word, &mut rest);
            let is_known = result != Err(Error::unknown(word));
            is_known.then(|| result.map(|()| rest))
        });
        *args = found.unwrap_or(Err(error))?;
    }
}

/// The block that must follow `word`.
pub(super) fn block<'a>(args: &mut Args<'a>, word: &str) -> Result<Args<'a>, Error> {
    args.block()?.ok_or_else(|| Error(format!("expected '{{' after '{word}'")))
}

/// Top-level stanzas of a text.
pub(super) fn split(text: &str) -> Result<Vec<Stanza>, Error> {
    let mut args = Args::new(text);
    let mut stanzas = Vec::new();
    loop {
        let line = 1 + text[..args.position()].matches('\n').count();
        let Some(word) = args.word() else { return Ok(stanzas) };
        if word == "{" || word == "}" {
            return Err(Error(format!("unexpected '{word}' (line {line})")));
        }
        let at_line = |e: crate::cli::Error| Error(format!("{e} (line {line})"));
        let body = match args.block().map_err(at_line)? {
            Some(block) => block.remaining().to_owned(),
            None if takes_word(word) => args.word().unwrap_or_default().to_owned(),
            None => String::new(),
        };
        stanzas.push(Stanza { word: word.to_owned(), line, body });
    }
}

/// Stanzas that are followed by one word and no braces.
fn takes_word(word: &str) -> bool {
    matches!(word, "plugin_path" | "test_plugin_path" | "heapsize")
}

/// Blanks out comments, keeping line numbers.
pub(super) fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}
