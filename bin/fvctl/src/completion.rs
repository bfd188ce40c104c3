//! Words for the completion of shells: from the router when one answers, else from the reference of
//! all commands.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::link::Link;

/// The reference: what `help` says of each command.
const REFERENCE: &str = include_str!("../../../docs/reference/commands.md");
/// Options of the program, with what they are for.
const OPTIONS: &[(&str, &str)] = &[
    ("--help", "print the options"),
    ("--json", "print JSON"),
    ("--socket", "path or host:port of the router's CLI"),
    ("--version", "print the version"),
];

/// Commands of this program's own.
const OWN: &[(&str, &str)] = &[
    ("capture", "capture packets into a file or for Wireshark"),
    ("doctor", "look at the set-up of this machine"),
    ("support", "write a support bundle to a file"),
    ("top", "live rates"),
];

/// Prints what may stand where `line` ends, the shell's line up to the cursor: a word and, after a
/// tabulator, what it means.
pub fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (word, help) in candidates(line) {
        writeln!(out, "{word}\t{help}")?;
    }
    Ok(())
}

fn candidates(line: &str) -> Vec<(String, String)> {
    let mut words: Vec<_> = line.split_whitespace().skip(1).collect();
    if line.ends_with(char::is_whitespace) {
        words.push("");
    }
    let mut socket = None;
    while words.len() > 1 && words[0].starts_with('-') {
        if ["-s", "--socket"].contains(&words.remove(0)) {
            socket = Some(words.remove(0));
        }
    }
    match words.first() {
        None => Vec::new(),
        Some(word) if word.starts_with('-') => {
            let fit = OPTIONS.iter().filter(|(option, _)| option.starts_with(word));
            fit.map(|(option, help)| ((*option).to_owned(), (*help).to_owned())).collect()
        }
        Some(_) => {
            let command = words.join(" ");
            let live = Link::open(socket).and_then(|mut link| link.complete(&command));
            let mut found = live.unwrap_or_else(|_| offline(&command));
            let has = |name: &str| found.iter().any(|(word, _)| word == name);
            let own = OWN.iter().filter(|(name, _)| name.starts_with(command.as_str()));
            let more: Vec<_> = own.filter(|(name, _)| !has(name)).collect();
            found.extend(more.iter().map(|(name, help)| ((*name).to_owned(), (*help).to_owned())));
            found
        }
    }
}

/// Completions by the reference: next words of commands, their keywords.
fn offline(command: &str) -> Vec<(String, String)> {
    let (head, prefix) = command.rsplit_once(' ').unwrap_or(("", command));
    let typed: Vec<_> = head.split(' ').filter(|word| !word.is_empty()).collect();
    let mut found = BTreeMap::new();
    for section in REFERENCE.split("\n### ").skip(1) {
        let mut lines = section.lines().filter(|line| !line.is_empty());
        let (path, about) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let words: Vec<_> = path.split(' ').collect();
        if !words.iter().zip(&typed).all(|(word, typed)| word.starts_with(typed)) {
            continue;
        }
        if let Some(next) = words.get(typed.len()) {
            if next.starts_with(prefix) {
                let about = if words.len() == typed.len() + 1 { about } else { "" };
                let known: &mut String = found.entry((*next).to_owned()).or_default();
                if known.is_empty() {
                    about.clone_into(known);
                }
            }
            continue;
        }
        let usage = lines.next().unwrap_or_default().trim();
        for word in keywords(usage.strip_prefix(path).unwrap_or_default()) {
            if word.starts_with(prefix) {
                found.entry(word.to_owned()).or_default();
            }
        }
    }
    found.into_iter().collect()
}

/// Keywords in what a usage says behind the words of the command.
fn keywords(usage: &str) -> impl Iterator<Item = &str> {
    let pieces = usage.split(|c: char| " []{}|".contains(c));
    let bare = |piece: &str| !piece.is_empty() && !piece.contains(['<', '>', ':', '.']);
    pieces.filter(move |piece| bare(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        offline(line).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn commands_are_completed_without_a_router() {
        assert!(words("sho").contains(&"show".to_owned()));
        assert!(words("show int").contains(&"interface".to_owned()));
        assert!(words("sh err").contains(&"errors".to_owned()));
        assert_eq!(words("xyzzy "), Vec::<String>::new());
    }

    #[test]
    fn keywords_follow_a_command() {
        let all = words("bond add a b ");
        assert_eq!(all, ["long-timeout", "passive"]);
        assert_eq!(words("bond add a b p"), ["passive"]);
        assert_eq!(words("adjacency counters "), ["disable", "enable"]);
    }

    #[test]
    fn commands_of_this_program_are_among_them() {
        let found = candidates("fvctl -s /nonexistent do");
        assert_eq!(found.iter().filter(|(word, _)| word == "doctor").count(), 1, "{found:?}");
        let found = candidates("fvctl -s /nonexistent show top");
        assert!(found.iter().all(|(word, _)| word != "top"), "{found:?}");
    }

    #[test]
    fn options_come_before_commands() {
        let options = candidates("fvctl --");
        assert_eq!(options.len(), OPTIONS.len());
        assert!(candidates("fvctl -s").is_empty());
        let live = candidates("fvctl -j -s /nowhere/cli.sock show vers");
        assert!(live.iter().any(|(word, _)| word == "version"), "{live:?}");
    }
}
