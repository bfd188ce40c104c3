//! Notices about words of the configuration that have no effect.

use std::fmt;

/// Weights of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The router does without: nothing is missing.
    Needless,
    /// Something that the word would do is not done.
    Loss,
}

/// A word or a stanza that is read without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Line of the configuration, from 1.
    pub line: usize,
    /// The stanza.
    pub stanza: String,
    /// The words, empty for the whole stanza.
    pub words: String,
    /// Reason, or what replaces it.
    pub why: &'static str,
    /// Whether anything is missing.
    pub weight: Weight,
}

impl Notice {
    /// The text without the line.
    pub fn text(&self) -> String {
        let Self { stanza, words, why, .. } = self;
        match words.as_str() {
            "" => format!("stanza `{stanza}' has no effect: {why}"),
            words => format!("`{words}' in stanza `{stanza}' has no effect: {why}"),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text())
    }
}
