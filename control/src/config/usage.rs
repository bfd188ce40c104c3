//! Reading words by their usage, as [`REFERENCE`] and [`IGNORED`] have it.

use super::ignored::{COMMANDS, FORMER, IGNORED, INSIDE, RENAMED};
use super::notice::{Notice, Weight};
use super::reference::REFERENCE;
use super::stanza::{Error, Stanza};
use super::values::Size;
use crate::cli::{Args, Place, nearest};

/// Effect of words that no feature reads.
#[derive(Clone, Copy)]
enum Effect {
    /// None, which a notice says.
    None((Weight, &'static str)),
    /// That of a command, with the value behind it.
    Command(&'static str),
}

/// A usage that words may follow, with their effect unless a feature reads them.
#[derive(Clone, Copy)]
struct Usage {
    text: &'static str,
    effect: Option<Effect>,
}

impl Usage {
    /// The word that it begins with; `None` for a value.
    fn first(&self) -> Option<&'static str> {
        self.text.split(' ').next().filter(|first| !first.starts_with('<'))
    }
}

/// Outcome of reading words by one usage.
enum Taken<'a> {
    /// Other words.
    Others,
    /// They begin so, this many of them, and then there is something wrong.
    Wrong(usize, Error),
    /// The number of words read, and the block after them, if there may be one.
    Read(usize, Option<Args<'a>>, Args<'a>),
}

/// Whether there is a stanza of this name, with or without effect.
pub(super) fn is_known(stanza: &str) -> bool {
    names().any(|name| name == stanza)
}

/// The error for an unknown stanza.
pub(super) fn unknown_stanza(stanza: &Stanza) -> Error {
    let Stanza { word, line, .. } = stanza;
    let renamed = RENAMED.iter().find(|(name, _)| name == word).map(|(_, here)| *here);
    let meant = renamed.or_else(|| nearest(word, names()));
    let meant = meant.map(|meant| format!(": did you mean `{meant}'?")).unwrap_or_default();
    Error::new(format!("unknown stanza '{word}' (line {line}){meant}"))
}

fn names() -> impl Iterator<Item = &'static str> {
    let read = REFERENCE.iter().map(|entry| entry.0);
    let ignored = IGNORED.iter().map(|row| row.0).filter(|name| !name.contains(' '));
    let former = FORMER.iter().flat_map(|row| row.0.iter().copied());
    read.chain(ignored).chain(former).chain(["plugin_path"])
}

/// The words of a stanza.
fn usages(stanza: &str) -> Vec<Usage> {
    let read = REFERENCE.iter().filter(|entry| entry.0 == stanza).flat_map(|entry| entry.2);
    let read = read.map(|(text, _)| *text);
    let inside = INSIDE.iter().filter(|row| row.0 == stanza).flat_map(|row| row.1).copied();
    let ignored = IGNORED.iter().filter(|row| row.0 == stanza).flat_map(|row| {
        let effect = Some(Effect::None((row.1, row.2)));
        row.3.iter().map(move |text| Usage { text, effect })
    });
    let commands = COMMANDS.iter().filter(|row| row.0 == stanza);
    let commands = commands.map(|row| Usage { text: row.1, effect: Some(Effect::Command(row.2)) });
    let with_effect = read.chain(inside).map(|text| Usage { text, effect: None });
    // What is in both has the effect of the second.
    let mut all: Vec<_> = ignored.chain(commands).collect();
    let known: Vec<_> = all.iter().map(|usage| usage.text).collect();
    all.extend(with_effect.filter(|usage| !known.contains(&usage.text)));
    all
}

/// Reads a stanza that features know: checks all its words, notes those without effect or with that
/// of a command and blanks them out, so that features find their own words only.
pub(super) fn read(
    stanza: &mut Stanza,
    notices: &mut Vec<Notice>,
    commands: &mut Vec<String>,
) -> Result<(), Error> {
    let ignored: Vec<_> = IGNORED.iter().filter(|row| row.0 == stanza.word).collect();
    if let Some((_, weight, why)) = FORMER.iter().find(|row| row.0.contains(&stanza.word.as_str()))
    {
        notices.push(stanza.notice(stanza.line, "", (*weight, why)));
        stanza.body.clear();
        return Ok(());
    }
    let is_read = REFERENCE.iter().any(|entry| entry.0 == stanza.word);
    if stanza.body.trim().is_empty() && !is_read {
        if let Some((_, _, why, _)) = ignored.first() {
            notices.push(stanza.notice(stanza.line, "", (Weight::Needless, why)));
        }
        return Ok(());
    }
    let mut found = Vec::new();
    walk(&stanza.word, &stanza.body, stanza.args(), &mut found).map_err(|e| stanza.locate(e))?;
    let mut body = stanza.body.clone().into_bytes();
    for (from, to, effect) in found {
        let words = stanza.body[from..to].split_whitespace().collect::<Vec<_>>().join(" ");
        match effect {
            Effect::None(notice) => {
                notices.push(stanza.notice(stanza.line_of(from), &words, notice));
            }
            Effect::Command(command) => {
                let value = words.rsplit(' ').next().unwrap_or_default();
                commands.push(format!("{command} {value}"));
            }
        }
        body[from..to].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
    }
    stanza.body = String::from_utf8(body).expect("whole words were blanked out");
    Ok(())
}

/// The word of a stanza that `word` was probably meant to be.
pub(super) fn meant(stanza: &str, word: &str) -> Option<String> {
    nearest(word, usages(stanza).iter().filter_map(Usage::first)).map(str::to_owned)
}

/// Notes words without effect in a stanza that the core has read.
pub(super) fn note_words(stanza: &Stanza, notices: &mut Vec<Notice>) {
    let rows: Vec<_> = IGNORED.iter().filter(|row| row.0 == stanza.word).collect();
    let mut args = stanza.args();
    while !args.is_empty() {
        let (from, mut next) = (args.position(), args);
        next.word();
        for (_, weight, why, usages) in &rows {
            let mut ends = usages.iter().filter_map(|usage| match take(usage, &mut { args }) {
                Taken::Read(_, _, rest) => Some(rest),
                _ => None,
            });
            if let Some(rest) = ends.next_back() {
                let words = stanza.body[from..rest.position()].trim();
                notices.push(stanza.notice(stanza.line_of(from), words, (*weight, why)));
                next = rest;
            }
        }
        args = next;
    }
}

/// Byte positions of words that no feature reads, and their effects.
type Found = Vec<(usize, usize, Effect)>;

/// Reads all words by the usages of a stanza, and those in their blocks; `body` is all of it.
fn walk(stanza: &str, body: &str, mut args: Args<'_>, found: &mut Found) -> Result<(), Error> {
    let usages = usages(stanza);
    let place = |args: &Args<'_>| Place::of(args.remaining()).within(body).unwrap_or_default();
    while let Some(word) = args.peek() {
        let from = place(&args);
        let mut best: Option<(usize, &Usage, _, _)> = None;
        let mut wrong: Option<(usize, Error)> = None;
        for usage in &usages {
            match take(usage.text, &mut { args }) {
                Taken::Read(count, block, rest) if best.as_ref().is_none_or(|b| b.0 < count) => {
                    best = Some((count, usage, block, rest));
                }
                Taken::Wrong(count, e) if wrong.as_ref().is_none_or(|w| w.0 < count) => {
                    wrong = Some((count, e));
                }
                _ => {}
            }
        }
        let Some((_, usage, block, rest)) = best else {
            let unknown = || Error::unknown_of(word, usages.iter().filter_map(Usage::first));
            return Err(wrong.map_or_else(unknown, |(_, e)| e));
        };
        args = rest;
        if let Some(effect) = usage.effect {
            found.push((from, place(&args), effect));
        }
        // Options of both kinds of devices are the same.
        let first = usage.first().map_or("", |first| if first == "vdev" { "dev" } else { first });
        let inner = format!("{stanza} {first}");
        if let Some(block) = block.filter(|_| !self::usages(&inner).is_empty()) {
            let mut inside = Vec::new();
            walk(&inner, body, block, &mut inside)?;
            // Those in a block that has no effect are noted with it.
            found.extend(inside.into_iter().filter(|_| usage.effect.is_none()));
        }
    }
    Ok(())
}

/// Reads words by one usage.
fn take<'a>(usage: &str, args: &mut Args<'a>) -> Taken<'a> {
    let mut count = 0;
    for token in usage.split(' ') {
        if token == "{" {
            return match args.block() {
                Ok(block) => Taken::Read(count + 1, block, *args),
                Err(e) => Taken::Wrong(count, e.into()),
            };
        }
        let before = *args;
        let is_fit = match args.peek() {
            Some("{" | "}") | None => false,
            Some(_) if token.contains('<') => value(token, args),
            Some(word) => token.split('|').any(|known| known == word) && args.word().is_some(),
        };
        if !is_fit && count == 0 {
            return Taken::Others;
        }
        if !is_fit {
            let what = format!("expected {} in `{usage}', got", token.replace('|', " or "));
            return Taken::Wrong(count, before.error(what).into());
        }
        count += 1;
    }
    Taken::Read(count, None, *args)
}

/// Takes a value of the kind that a usage names; false when it is none.
fn value(kind: &str, args: &mut Args<'_>) -> bool {
    match kind {
        "<n>" => args.word().is_some_and(|n| n.parse::<u64>().is_ok()),
        "<size>" => args.word().is_some_and(|size| {
            size.parse::<Size>().is_ok()
                || matches!(size, "default" | "default-hugepage" | "unlimited")
        }),
        "<seconds>" => args.word().is_some_and(|n| n.parse::<f64>().is_ok()),
        "<list>" => list(args).is_some(),
        _ => args.word().is_some(),
    }
}

/// Takes a list, in which blanks may stand beside commas.
pub(super) fn list(args: &mut Args<'_>) -> Option<String> {
    let mut list = args.word()?.to_owned();
    while let Some(next) = args.peek()
        && (list.ends_with(',') || next.starts_with(','))
    {
        list += next;
        args.word();
    }
    Some(list)
}
