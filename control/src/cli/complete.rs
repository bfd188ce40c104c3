//! Help and completion: the words that may come next on a line.

use std::fmt;

use infra::order::Order;
use serde::Serialize;

use super::command::Entry;
use super::pattern::{Expected, name_of};
use super::{ArgInfo, Args, Cli, Error, Kind, Output, filter};

/// Names that exist now which `?` shows for a value.
const MOST_NAMES: usize = 12;

/// A word that may come next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The whole word.
    pub word: String,
    /// One line about it; empty for live names.
    pub help: String,
}

/// Output of `help`.
#[derive(Serialize)]
struct Help {
    /// Usage line of the command, when the words are one.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
    /// One line about the command.
    about: &'static str,
    /// Its arguments.
    arguments: Vec<Candidate>,
    /// Words that may follow.
    commands: Vec<Candidate>,
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(usage) = &self.usage {
            writeln!(f, "{}\nusage: {usage}", self.about)?;
        }
        for candidate in self.arguments.iter().chain(&self.commands) {
            let line = format!("  {:<30} {}", candidate.word, candidate.help);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A command as a manual describes it.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its words.
    pub path: String,
    /// The part after them.
    pub usage: String,
    /// One line about it.
    pub about: &'static str,
    /// Its arguments.
    pub arguments: Vec<Candidate>,
}

impl<C: 'static> Cli<C> {
    /// All commands in the order of their words, without names that exist now.
    pub fn manual(&self) -> Vec<Page> {
        let page = |(path, entry): (&str, &Entry<C>)| Page {
            path: path.to_owned(),
            usage: entry.usage(),
            about: entry.about,
            arguments: entry
                .args
                .iter()
                .map(|a| Candidate { word: word_of(a), help: about(a) })
                .collect(),
        };
        let mut pages: Vec<_> = self.tree().entries().map(page).collect();
        pages.order_by(|a, b| a.path.cmp(&b.path));
        pages
    }

    /// Words that may stand where `line` ends: command words, keywords, live names. The last word
    /// of `line` is completed unless a blank follows it.
    pub fn complete(&self, cx: &C, line: &str) -> Vec<Candidate> {
        self.candidates(cx, line, true)
    }

    /// [`Cli::complete`] for callers that must not see file names.
    pub fn complete_without_files(&self, cx: &C, line: &str) -> Vec<Candidate> {
        self.candidates(cx, line, false)
    }

    fn candidates(&self, cx: &C, line: &str, has_files: bool) -> Vec<Candidate> {
        if let Some(filters) = filter::complete(line) {
            return filters;
        }
        let start = line.rfind([' ', '\t', '{']).map_or(0, |i| i + 1);
        let (head, prefix) = line.split_at(start);
        let mut args = Args::new(head);
        let tree = self.tree();
        let Ok(at) = tree.descend(&mut args) else { return Vec::new() };
        let mut found = Vec::new();
        if args.is_empty() {
            found = self.words(at, prefix);
        }
        if let Some(entry) = &tree.node(at).entry {
            for expected in expected(entry, args) {
                match expected {
                    Expected::Word(word) if word.starts_with(prefix) => {
                        found.push(keyword(entry, word));
                    }
                    Expected::Word(_) => {}
                    Expected::Value(name) => {
                        let live = self.live(cx, entry, name, has_files.then_some(prefix));
                        found.extend(live.into_iter().filter(|c| c.word.starts_with(prefix)));
                    }
                }
            }
        }
        found
    }

    /// Output of `?` after `line`: continuations of the command, or the words that begin so.
    pub(crate) fn explain(&self, cx: &C, line: &str) -> Result<Output, Error> {
        if line.is_empty() || line.ends_with([' ', '\t']) {
            return self.help(cx, line);
        }
        let arguments = self.complete(cx, line);
        Ok(Output::of(Help { usage: None, about: "", arguments, commands: Vec::new() }))
    }

    /// Output of `help WORDS`.
    pub(super) fn help(&self, cx: &C, words: &str) -> Result<Output, Error> {
        let filters = filter::complete(words);
        if let Some(commands) = filters.filter(|_| words.ends_with([' ', '\t'])) {
            let help = Help { usage: None, about: "", arguments: Vec::new(), commands };
            return Ok(Output::of(help));
        }
        let mut args = Args::new(words);
        let tree = self.tree();
        let at = tree.descend(&mut args)?;
        let node = tree.node(at);
        if node.entry.is_none() && !args.is_empty() {
            return Err(args.unknown().under(&node.path));
        }
        let mut help = Help { usage: None, about: "", arguments: Vec::new(), commands: Vec::new() };
        if args.is_empty() {
            help.commands = self.words(at, "");
        }
        if let Some(entry) = &node.entry {
            help.usage = Some(format!("{} {}", node.path, entry.usage()).trim_end().to_owned());
            help.about = entry.about;
            help.arguments = if args.is_empty() && !entry.args.is_empty() {
                entry.args.iter().map(|arg| self.argument(cx, entry, arg)).collect()
            } else {
                let next = expected(entry, args).into_iter();
                next.map(|expected| self.described(cx, entry, expected)).collect()
            };
        }
        Ok(Output::of(help))
    }

    fn words(&self, at: usize, prefix: &str) -> Vec<Candidate> {
        let tree = self.tree();
        let children = &tree.node(at).children[tree.starting(at, prefix)];
        let candidates = children.iter().map(|(word, child)| {
            let about = tree.node(*child).entry.as_ref().map_or("", |e| e.about);
            Candidate { word: (*word).to_owned(), help: about.to_owned() }
        });
        candidates.collect()
    }

    /// Names that exist now for the value `name` of a command; of files, those with a prefix.
    fn live(&self, cx: &C, entry: &Entry<C>, name: &str, files: Option<&str>) -> Vec<Candidate> {
        let declared = entry.value(name).map_or("", |arg| arg.values);
        let last = name.rsplit(['-', ' ']).next().unwrap_or(name);
        let kinds = if declared.is_empty() { [name, last] } else { [declared; 2] };
        let names = match kinds.iter().find_map(|kind| self.names_of(kind)) {
            Some(names) => names(cx),
            None if kinds.contains(&"file") => files.map_or_else(Vec::new, paths),
            None if declared.contains('|') => declared.split('|').map(str::to_owned).collect(),
            None => return Vec::new(),
        };
        names.into_iter().map(|word| Candidate { word, help: String::new() }).collect()
    }

    /// Description of a possible next word.
    fn described(&self, cx: &C, entry: &Entry<C>, expected: Expected) -> Candidate {
        let name = match expected {
            Expected::Word(word) => return keyword(entry, word),
            Expected::Value(name) => name,
        };
        let help = entry.value(name).map_or(String::new(), about);
        Candidate { word: format!("<{name}>"), help: self.with_names(cx, entry, name, help) }
    }

    /// Description of an argument of a command.
    fn argument(&self, cx: &C, entry: &Entry<C>, arg: &'static ArgInfo) -> Candidate {
        let help = match arg.kind {
            Kind::Flag => about(arg),
            _ => self.with_names(cx, entry, name_of(arg.name), about(arg)),
        };
        Candidate { word: word_of(arg), help }
    }

    /// `help` and the names that exist now for the value `name`.
    fn with_names(&self, cx: &C, entry: &Entry<C>, name: &str, mut help: String) -> String {
        let live = self.live(cx, entry, name, Some(""));
        if !live.is_empty() {
            let shown: Vec<_> = live.iter().take(MOST_NAMES).map(|c| c.word.as_str()).collect();
            let more = if live.len() > MOST_NAMES { " ..." } else { "" };
            let blank = if help.is_empty() { "" } else { ": " };
            help += &format!("{blank}{}{more}", shown.join(" "));
        }
        help
    }
}

/// Possible continuations after the rest of a line.
fn expected<C>(entry: &Entry<C>, mut args: Args<'_>) -> Vec<Expected> {
    let pattern = entry.pattern();
    pattern.map_or_else(Vec::new, |p| p.expected(std::iter::from_fn(|| args.word())))
}

fn keyword<C>(entry: &Entry<C>, word: &str) -> Candidate {
    let help = entry.keyword(word).map_or("", |arg| arg.help);
    Candidate { word: word.to_owned(), help: help.to_owned() }
}

/// Notation of an argument.
fn word_of(arg: &ArgInfo) -> String {
    match arg.keywords {
        [] => format!("<{}>", arg.name),
        keywords if arg.kind == Kind::Flag => keywords.join(" | "),
        keywords => format!("{} <{}>", keywords.join(" | "), arg.name),
    }
}

/// Its help, and which numbers it may be.
fn about(arg: &ArgInfo) -> String {
    match arg.range {
        // The range of the whole type is not informative.
        "" | "0-4294967295" | "0-18446744073709551615" => arg.help.to_owned(),
        range => format!("{} ({range})", arg.help),
    }
}

/// Files and folders whose path starts with `prefix`; folders end with `/`.
fn paths(prefix: &str) -> Vec<String> {
    let folder = prefix.rfind('/').map_or("", |at| &prefix[..=at]);
    let listed = if folder.is_empty() { "." } else { folder };
    let mut found: Vec<_> = std::fs::read_dir(listed)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            format!("{folder}{}{slash}", entry.file_name().to_string_lossy())
        })
        .collect();
    found.order();
    found
}
