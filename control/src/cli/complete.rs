//! What may come next on a line: help and completion.

use std::fmt;

use serde::Serialize;

use super::command::Entry;
use super::{ArgInfo, Args, Cli, Error, Kind, Output};

/// A word that may come next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The whole word.
    pub word: String,
    /// One line about it; empty for live names.
    pub help: String,
}

/// What `help` prints.
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
            writeln!(f, "  {:<30} {}", candidate.word, candidate.help)?;
        }
        Ok(())
    }
}

impl<C: 'static> Cli<C> {
    /// Words that may stand where `line` ends: command words, keywords, live names. The last word
    /// of `line` is completed unless a blank follows it.
    pub fn complete(&self, cx: &C, line: &str) -> Vec<Candidate> {
        let start = line.rfind([' ', '\t', '{']).map_or(0, |i| i + 1);
        let (head, prefix) = line.split_at(start);
        let mut args = Args::new(head);
        let Ok(at) = self.tree.descend(&mut args) else { return Vec::new() };
        let mut found = Vec::new();
        if args.is_empty() {
            found = self.words(at, prefix);
        }
        if let Some(entry) = &self.tree.node(at).entry {
            found.extend(self.arguments(cx, entry, args, prefix));
        }
        found
    }

    /// What `help WORDS` prints.
    pub(super) fn help(&self, words: &str) -> Result<Output, Error> {
        let mut args = Args::new(words);
        let at = self.tree.descend(&mut args)?;
        let node = self.tree.node(at);
        if node.entry.is_none() && !args.is_empty() {
            return Err(args.unknown().under(&node.path));
        }
        let mut help =
            Help { usage: None, about: "", arguments: Vec::new(), commands: self.words(at, "") };
        if let Some(entry) = &node.entry {
            help.usage = Some(format!("{} {}", node.path, entry.usage()).trim_end().to_owned());
            help.about = entry.about;
            help.arguments = entry.args.iter().map(described).collect();
        }
        Ok(Output::of(help))
    }

    fn words(&self, at: usize, prefix: &str) -> Vec<Candidate> {
        let children = &self.tree.node(at).children[self.tree.starting(at, prefix)];
        let candidates = children.iter().map(|(word, child)| {
            let about = self.tree.node(*child).entry.as_ref().map_or("", |e| e.about);
            Candidate { word: (*word).to_owned(), help: about.to_owned() }
        });
        candidates.collect()
    }

    fn arguments(
        &self,
        cx: &C,
        entry: &Entry<C>,
        mut args: Args<'_>,
        prefix: &str,
    ) -> Vec<Candidate> {
        let mut last = None;
        let mut used = Vec::new();
        while let Some(word) = args.word() {
            used.push(word);
            last = Some(word);
        }
        let takes_value = |arg: &&ArgInfo| {
            arg.kind != Kind::Flag && last.is_some_and(|word| arg.keywords.contains(&word))
        };
        if let Some(arg) = entry.args.iter().find(takes_value) {
            return self.live(cx, arg, prefix);
        }
        let mut found = Vec::new();
        for arg in entry.args {
            if arg.keywords.is_empty() {
                found.extend(self.live(cx, arg, prefix));
            }
            if arg.kind != Kind::Repeated && arg.keywords.iter().any(|k| used.contains(k)) {
                continue;
            }
            let keywords = arg.keywords.iter().filter(|k| k.starts_with(prefix));
            found.extend(keywords.map(|keyword| Candidate {
                word: (*keyword).to_owned(),
                help: arg.help.to_owned(),
            }));
        }
        found
    }

    fn live(&self, cx: &C, arg: &ArgInfo, prefix: &str) -> Vec<Candidate> {
        let names = match self.names.get(arg.values) {
            Some(names) => names(cx),
            None if arg.values == "file" => paths(prefix),
            None => return Vec::new(),
        };
        let names = names.into_iter().filter(|name| name.starts_with(prefix));
        names.map(|word| Candidate { word, help: String::new() }).collect()
    }
}

fn described(arg: &ArgInfo) -> Candidate {
    let word = match arg.keywords {
        [] => format!("<{}>", arg.name),
        keywords if arg.kind == Kind::Flag => keywords.join(" | "),
        keywords => format!("{} <{}>", keywords.join(" | "), arg.name),
    };
    let help = match arg.range {
        "" => arg.help.to_owned(),
        range => format!("{} ({range})", arg.help),
    };
    Candidate { word, help }
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
    found.sort();
    found
}
