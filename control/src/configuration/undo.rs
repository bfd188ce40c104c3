//! Commands that take others back.
//!
//! [`Print::UNDO`] has words with places for those of the command: `{}` for all its arguments,
//! `{2}` for the second, `{2..}` for those from the second on, `{table}` for the one after the
//! word `table`, `{?table}` for nothing but only if that word is there. What stands in `[ ]` is
//! left out when a place in it has nothing, and `|` separates alternatives: the first counts that
//! has something for all its places. With `=` or `set` in front, a command that the same one takes
//! back replaces this one, which need not be taken back first.

use std::str::FromStr;

use crate::cli::{ArgInfo, Kind, Print};

/// A command that takes another one back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Undo {
    /// The command.
    pub command: String,
    /// Whether a command with the same [`command`](Self::command) here replaces the other one.
    pub is_setting: bool,
}

/// Command that takes back one of this type, given as it is printed.
pub(super) fn of<T: Print>(printed: &str) -> Option<Undo> {
    let path = T::PATHS[0];
    match T::UNDO {
        "" => usual(path, printed, T::ARGS, T::USAGE),
        template => filled(template, path, printed),
    }
}

/// The command of a `template`, filled from the printed one.
pub fn filled(template: &str, path: &str, printed: &str) -> Option<Undo> {
    let words = printed.get(path.len()..)?.split_whitespace().collect::<Vec<_>>();
    let (template, is_setting) = match template.strip_prefix('=') {
        Some(rest) => (rest, true),
        None => (template, template.starts_with("set ")),
    };
    let command = template.split('|').find_map(|words_of| alternative(words_of, &words))?;
    Some(Undo { command, is_setting })
}

/// An alternative of a template with its places filled.
fn alternative(template: &str, words: &[&str]) -> Option<String> {
    let mut out = Vec::new();
    for (at, part) in template.split(['[', ']']).enumerate() {
        let is_optional = at % 2 == 1;
        let filled = part.split_whitespace().map(|word| place(word, words));
        match filled.collect::<Option<Vec<_>>>() {
            Some(found) => out.extend(found),
            None if is_optional => {}
            None => return None,
        }
    }
    out.retain(|word| !word.is_empty());
    Some(out.join(" "))
}

/// A word of a template, or what is for its place.
fn place(word: &str, words: &[&str]) -> Option<String> {
    let Some((before, rest)) = word.split_once('{') else { return Some(word.to_owned()) };
    let (name, behind) = rest.split_once('}')?;
    let nth = |n: &str| usize::from_str(n).ok().and_then(|n| n.checked_sub(1));
    let found = if name.is_empty() {
        words.join(" ")
    } else if let Some(word) = name.strip_prefix('?') {
        return words.contains(&word).then(String::new);
    } else if let Some(from) = name.strip_suffix("..").and_then(nth) {
        words.get(from..)?.join(" ")
    } else if let Some(at) = nth(name) {
        (*words.get(at)?).to_owned()
    } else {
        let at = words.iter().position(|w| *w == name)?;
        (*words.get(at + 1)?).to_owned()
    };
    Some(format!("{before}{found}{}", place(behind, words)?))
}

/// The command with `del` instead of `add`, or with `del` or `disable` after it.
fn usual(path: &str, printed: &str, args: &[ArgInfo], usage: &str) -> Option<Undo> {
    let is_there = |word: &str| {
        let is_flag = |a: &ArgInfo| a.kind == Kind::Flag && a.keywords.contains(&word);
        let split = |c: char| !(c.is_alphanumeric() || c == '-' || c == '_');
        args.iter().any(is_flag) || usage.split(split).any(|w| w == word)
    };
    let may_be = |word: &str| {
        let is_value = |a: &ArgInfo| a.values.split('|').any(|value| value == word);
        is_there(word) || args.iter().any(is_value)
    };
    let words: Vec<_> = printed.split(' ').collect();
    let behind_path = path.split(' ').count().min(words.len());
    let replaced = |from: &str, to: &str| {
        // A word of the path only where no argument is the same.
        let is_from = |word: &&str| *word == from;
        let argument = words[behind_path..].iter().position(is_from).map(|at| behind_path + at);
        let at = argument.or_else(|| words.iter().position(is_from))?;
        let mut words = words.clone();
        words[at] = to;
        Some(words.join(" "))
    };
    let behind = |word: &str| is_there(word).then(|| format!("{printed} {word}"));
    let begins_with_add = words.get(behind_path) == Some(&"add");
    let begins_with_del = words.get(behind_path) == Some(&"del");
    let command = begins_with_add
        .then(|| replaced("add", "del"))
        .flatten()
        .or_else(|| begins_with_del.then(|| replaced("del", "add")).flatten())
        .or_else(|| replaced("enable", "disable").filter(|_| may_be("disable")))
        .or_else(|| replaced("disable", "enable").filter(|_| may_be("enable")))
        .or_else(|| replaced("on", "off").filter(|_| may_be("off")))
        .or_else(|| replaced("off", "on").filter(|_| may_be("on")))
        .or_else(|| behind("del"))
        .or_else(|| behind("disable"))
        .or_else(|| behind("off"))
        .or_else(|| path.ends_with(" add").then(|| replaced("add", "del")).flatten())?;
    Some(Undo { command, is_setting: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_path_stay_where_an_argument_is_the_same() {
        let undo = |path, printed| usual(path, printed, &[], "[enable|disable]").unwrap().command;
        assert_eq!(
            undo("svs enable", "svs enable enable ip4 1 pg0"),
            "svs enable disable ip4 1 pg0"
        );
        assert_eq!(undo("set x", "set x pg0 enable"), "set x pg0 disable");
    }

    #[test]
    fn places_of_a_template_are_filled() {
        let of = |template| filled(template, "a b", "a b 1 two three 3 x").map(|u| u.command);
        assert_eq!(of("no {}"), Some("no 1 two three 3 x".to_owned()));
        assert_eq!(of("no {2} and {2..}"), Some("no two and two three 3 x".to_owned()));
        assert_eq!(of("no loop{three}.{1} [of {four}] end"), Some("no loop3.1 end".to_owned()));
        assert_eq!(of("no {four}|any {1}"), Some("any 1".to_owned()));
        assert_eq!(of("no {9}"), None);
    }
}
