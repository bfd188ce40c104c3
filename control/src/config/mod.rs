//! The start-up configuration: stanzas of words and braces, from a file or from the command line.
//!
//! `# …` to the end of a line is a comment in a file. Contents that the core acts on are read into
//! [`Config`], where an unknown word is an error; contents of all other stanzas are checked word by
//! word, and kept as text for the feature that knows them. What has no effect is noted.

mod cpu;
mod ignored;
mod logging;
mod memory;
mod node;
mod notice;
mod options;
mod plugins;
mod reference;
mod sockets;
mod stanza;
mod unix;
mod usage;
mod values;

pub use cpu::Cpu;
pub use ignored::{FORMER, IGNORED, Ignored};
pub use logging::{ClassLevel, Logging};
pub use memory::{Buffers, Layout, Memory, PageSize};
pub use node::{Nodes, Variant};
pub use notice::{Notice, Weight};
pub use options::{Invocation, Options};
pub use plugins::{Plugins, Switch};
pub use reference::{Entry, REFERENCE};
pub use sockets::{ApiSegment, ApiTrace, Endpoint, Sockets, Statistics};
pub use stanza::{Error, Stanza};
pub use unix::{Listen, Unix};
pub use values::{CpuList, Size};

use stanza::Section;

/// The whole start-up configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Whether a file was given that has no stanzas.
    pub file_is_empty: bool,
    /// `unix { … }`: process, files, CLI.
    pub unix: Unix,
    /// `cpu { … }`: threads and where they run.
    pub cpu: Cpu,
    /// `buffers { … }`.
    pub buffers: Buffers,
    /// `memory { … }` and `physmem { … }`.
    pub memory: Memory,
    /// `statseg { … }`.
    pub statseg: Statistics,
    /// `socksvr { … }`.
    pub socksvr: Sockets,
    /// `api-trace { … }`.
    pub api_trace: ApiTrace,
    /// `api-segment { … }`.
    pub api_segment: ApiSegment,
    /// `node { … }`.
    pub node: Nodes,
    /// `logging { … }`.
    pub logging: Logging,
    /// `plugins { … }`, `plugin_path`.
    pub plugins: Plugins,
    /// All other stanzas in the order they came, without words that have no effect.
    pub others: Vec<Stanza>,
    /// Words and stanzas without effect.
    pub notices: Vec<Notice>,
    /// Commands that words of other stanzas stand for.
    pub commands: Vec<String>,
}

impl Config {
    /// Reads a text without comments. `extra` are stanza names that features bring beyond the
    /// list in this crate.
    pub fn parse(text: &str, extra: &[&str]) -> Result<Self, Error> {
        let mut config = Self::default();
        for stanza in stanza::split(text)? {
            let mut new = config.clone();
            config = match new.take(&stanza, false, extra) {
                Ok(()) => new,
                Err(error) => {
                    // The original reads words without blanks in between as well.
                    config.take(&stanza, true, extra).map_err(|_| error)?;
                    config
                }
            };
        }
        Ok(config)
    }

    /// Reads the text of a file, with comments.
    pub fn parse_file(text: &str, extra: &[&str]) -> Result<Self, Error> {
        Self::parse(&stanza::without_comments(text), extra)
    }

    /// The text of all stanzas called `word` that the core does not read itself, in order.
    pub fn stanzas<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a Stanza> {
        self.others.iter().filter(move |stanza| stanza.word == word)
    }

    fn take(&mut self, stanza: &Stanza, is_glued: bool, extra: &[&str]) -> Result<(), Error> {
        let section: &mut dyn Section = match stanza.word.as_str() {
            "unix" => &mut self.unix,
            "cpu" => &mut self.cpu,
            "buffers" => &mut self.buffers,
            "memory" | "physmem" => &mut self.memory,
            "statseg" => &mut self.statseg,
            "socksvr" => &mut self.socksvr,
            "api-trace" => &mut self.api_trace,
            "api-segment" => &mut self.api_segment,
            "node" => &mut self.node,
            "logging" => &mut self.logging,
            "plugins" => &mut self.plugins,
            "plugin_path" => return self.plugins.set_path(stanza),
            word if usage::is_known(word) => {
                let mut stanza = stanza.clone();
                usage::read(&mut stanza, &mut self.notices, &mut self.commands)?;
                self.others.push(stanza);
                return Ok(());
            }
            word if extra.contains(&word) => {
                self.others.push(stanza.clone());
                return Ok(());
            }
            _ => return Err(usage::unknown_stanza(stanza)),
        };
        stanza.read_into(section, is_glued)?;
        usage::note_words(stanza, &mut self.notices);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
