//! Usage patterns: the words that may follow a command's path.
//!
//! For most commands it follows from their fields. A grammar written by hand is read from its
//! usage line, which so is all that completion needs to know:
//!
//! | usage line | meaning |
//! |---|---|
//! | `word`, `one\|other` | this word, one of these |
//! | `<name>`, `<name:1-4094>` | a value |
//! | `[…]` | optional; optional parts are accepted in any order |
//! | `{…}` | belongs together |
//! | `… \| …` | one or the other |
//! | `x...` | any number of times |
//!
//! It is derived word by word (Brzozowski, Antimirov): what is left of a pattern after a word are
//! patterns again.

use super::{ArgInfo, Kind};

/// Words in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Word(&'static str),
    Value(&'static str),
    Sequence(Vec<Self>),
    Choice(Vec<Self>),
    Optional(Box<Self>),
    Repeated(Box<Self>),
    /// Each of `free` at most once whenever it likes, and `ordered` in its order in between.
    Mixed {
        free: Vec<Self>,
        ordered: Vec<Self>,
    },
}

/// Possible next word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// This word.
    Word(&'static str),
    /// A value of this name.
    Value(&'static str),
}

use Pattern::{Choice, Mixed, Optional, Repeated, Sequence, Value, Word};

impl Pattern {
    /// The pattern of a derived command: keywords in any order, positions in theirs.
    pub fn of(args: &'static [ArgInfo]) -> Self {
        let (ordered, free) = args.iter().partition::<Vec<_>, _>(|arg| arg.keywords.is_empty());
        let all = |args: Vec<&ArgInfo>| args.into_iter().map(Self::of_one).collect();
        Mixed { free: all(free), ordered: all(ordered) }
    }

    fn of_one(arg: &ArgInfo) -> Self {
        let words = |keyword: &&'static str| Sequence(keyword.split(' ').map(Word).collect());
        let keywords = Choice(arg.keywords.iter().map(words).collect());
        let value = Value(name_of(arg.name));
        let one = match (arg.kind, arg.keywords) {
            (Kind::Flag, _) => keywords,
            (_, []) => value,
            _ => Sequence(vec![keywords, value]),
        };
        match arg.kind {
            Kind::Required | Kind::Flag => one,
            Kind::Optional | Kind::Rest => Optional(Box::new(one)),
            Kind::Repeated => Repeated(Box::new(Optional(Box::new(one)))),
        }
    }

    /// Reads a usage line; `None` when its brackets do not match.
    pub fn parse(usage: &'static str) -> Option<Self> {
        let mut reader = Reader { rest: usage };
        let pattern = reader.choice()?;
        reader.rest.is_empty().then_some(pattern)
    }

    /// Possible words after `words`. A word that fits nowhere is passed over: usage lines are
    /// stricter about the order than commands are.
    pub fn expected<'a>(&self, words: impl Iterator<Item = &'a str>) -> Vec<Expected> {
        let mut left = vec![self.clone()];
        for word in words {
            for takes_values in [false, true] {
                let mut next = Vec::new();
                left.iter().for_each(|p| p.behind(word, takes_values, &mut next));
                if !next.is_empty() {
                    left = next;
                    break;
                }
            }
        }
        let mut found = Vec::new();
        left.iter().for_each(|pattern| pattern.first(&mut found));
        found
    }

    /// True when nothing need follow.
    fn may_end(&self) -> bool {
        match self {
            Word(_) | Value(_) => false,
            Optional(_) => true,
            Repeated(one) => one.may_end(),
            Sequence(all) => all.iter().all(Self::may_end),
            Choice(all) => all.iter().any(Self::may_end),
            Mixed { free, ordered } => free.iter().chain(ordered).all(Self::may_end),
        }
    }

    /// Adds what may be left behind `word`.
    fn behind(&self, word: &str, takes_values: bool, left: &mut Vec<Self>) {
        let behind = |pattern: &Self| {
            let mut left = Vec::new();
            pattern.behind(word, takes_values, &mut left);
            left
        };
        let end = || Sequence(Vec::new());
        match self {
            Word(own) if *own == word => left.push(end()),
            Value(_) if takes_values => left.push(end()),
            Word(_) | Value(_) => {}
            Optional(one) => left.extend(behind(one)),
            Repeated(one) => {
                let again = |rest| Sequence(vec![rest, Optional(Box::new(self.clone()))]);
                left.extend(behind(one).into_iter().map(again));
            }
            Choice(all) => left.extend(all.iter().flat_map(behind)),
            Sequence(all) => {
                for (at, one) in reachable(all) {
                    let then = |rest| Sequence([&[rest], &all[at + 1..]].concat());
                    left.extend(behind(one).into_iter().map(then));
                }
            }
            Mixed { free, ordered } => {
                for (at, one) in free.iter().enumerate() {
                    let mut free = free.clone();
                    if !one.stays() {
                        free.remove(at);
                    }
                    let others = Mixed { free, ordered: ordered.clone() };
                    let then = |rest| Sequence(vec![rest, others.clone()]);
                    left.extend(behind(one.once()).into_iter().map(then));
                }
                for (at, one) in reachable(ordered) {
                    let at = if one.stays() { at } else { at + 1 };
                    let others = Mixed { free: free.clone(), ordered: ordered[at..].to_vec() };
                    let then = |rest| Sequence(vec![rest, others.clone()]);
                    left.extend(behind(one.once()).into_iter().map(then));
                }
            }
        }
    }

    /// True for what may come again.
    fn stays(&self) -> bool {
        matches!(self, Repeated(_))
    }

    /// It without its repetition.
    fn once(&self) -> &Self {
        match self {
            Repeated(one) => one,
            other => other,
        }
    }

    /// Adds what it may begin with.
    fn first(&self, found: &mut Vec<Expected>) {
        let mut add = |one| {
            if !found.contains(&one) {
                found.push(one);
            }
        };
        match self {
            Word(word) => add(Expected::Word(word)),
            Value(name) => add(Expected::Value(name)),
            Optional(one) | Repeated(one) => one.first(found),
            Choice(all) => all.iter().for_each(|one| one.first(found)),
            Sequence(all) => reachable(all).for_each(|(_, one)| one.first(found)),
            Mixed { free, ordered } => {
                reachable(ordered).for_each(|(_, one)| one.first(found));
                free.iter().for_each(|one| one.first(found));
            }
        }
    }
}

/// Patterns of a sequence that may come first: up to one that must be there.
fn reachable(all: &[Pattern]) -> impl Iterator<Item = (usize, &Pattern)> {
    let needed = all.iter().position(|one| !one.may_end());
    all.iter().enumerate().take(needed.map_or(all.len(), |at| at + 1))
}

/// The name of a value without what is said of it after a colon.
pub(super) fn name_of(value: &'static str) -> &'static str {
    value.split_once(':').map_or(value, |(name, _)| name)
}

/// Reads usage lines.
struct Reader {
    rest: &'static str,
}

impl Reader {
    /// Sequences with `|` between them, up to a closing bracket or the end.
    fn choice(&mut self) -> Option<Pattern> {
        let mut all = vec![self.sequence()?];
        while self.takes("|") {
            all.push(self.sequence()?);
        }
        Some(if all.len() == 1 { all.remove(0) } else { Choice(all) })
    }

    fn sequence(&mut self) -> Option<Pattern> {
        let mut all: Vec<Pattern> = Vec::new();
        while !matches!(self.next(), None | Some('|' | ']' | '}')) {
            let one = self.repeatable()?;
            match (all.last_mut(), is_free(&one)) {
                (Some(Mixed { free, .. }), true) => free.push(one),
                (_, true) => all.push(Mixed { free: vec![one], ordered: Vec::new() }),
                (_, false) => all.push(one),
            }
        }
        Some(Sequence(all))
    }

    fn repeatable(&mut self) -> Option<Pattern> {
        let mut one = self.item()?;
        if self.rest.starts_with('|') {
            let mut all = vec![one];
            while self.rest.starts_with('|') {
                self.rest = &self.rest[1..];
                all.push(self.item()?);
            }
            one = Choice(all);
        }
        Some(if self.takes("...") { Repeated(Box::new(one)) } else { one })
    }

    fn item(&mut self) -> Option<Pattern> {
        if self.takes("[") {
            let one = self.choice()?;
            return self.takes("]").then(|| Optional(Box::new(one)));
        }
        if self.takes("{") {
            let one = self.choice()?;
            return self.takes("}").then_some(one);
        }
        let word = self.atom()?;
        let Some(start) = word.find('<') else { return Some(Word(word)) };
        let name = &word[start + 1..];
        let name = &name[..name.find('>')?];
        Some(Value(name_of(name)))
    }

    /// A word or value with what is glued to it, such as `<address>/<length>` or `<id>[-<id>]`.
    fn atom(&mut self) -> Option<&'static str> {
        let mut depth = 0_usize;
        let end = self.rest.char_indices().find(|(at, c)| {
            match c {
                '<' | '[' => depth += 1,
                '>' | ']' if depth > 0 => depth -= 1,
                ' ' | '|' | ']' | '}' | '{' if depth == 0 => return true,
                '.' if depth == 0 => return self.rest[*at..].starts_with("..."),
                _ => {}
            }
            false
        });
        let (atom, rest) = self.rest.split_at(end.map_or(self.rest.len(), |(at, _)| at));
        self.rest = rest;
        (depth == 0 && !atom.is_empty()).then_some(atom)
    }

    fn next(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn takes(&mut self, token: &str) -> bool {
        self.next();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// True for what may be left out and so comes among its like in any order.
fn is_free(pattern: &Pattern) -> bool {
    match pattern {
        Optional(_) => true,
        Repeated(one) => is_free(one),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Possible words after `words` by `usage`.
    fn after(usage: &'static str, words: &str) -> String {
        let pattern = Pattern::parse(usage).unwrap_or_else(|| panic!("{usage}"));
        let text = |expected: Expected| match expected {
            Expected::Word(word) => word.to_owned(),
            Expected::Value(name) => format!("<{name}>"),
        };
        let found: Vec<_> =
            pattern.expected(words.split_ascii_whitespace()).into_iter().map(text).collect();
        found.join(" ")
    }

    #[test]
    fn sequences_choices_and_options_are_followed() {
        let route = "[add|del] <prefix> [table <table-id>] {via <address>/<len> | drop|local}";
        assert_eq!(after(route, ""), "add del <prefix>");
        assert_eq!(after(route, "del"), "<prefix>");
        assert_eq!(after(route, "1.0.0.0/8"), "table via drop local");
        assert_eq!(after(route, "1.0.0.0/8 table"), "<table-id>");
        assert_eq!(after(route, "1.0.0.0/8 table 7"), "via drop local");
        assert_eq!(after(route, "1.0.0.0/8 via"), "<address>");
        assert_eq!(after(route, "1.0.0.0/8 drop"), "");
        assert_eq!(after("<a> use <b> | del <a>", ""), "<a> del");
        assert_eq!(after("<a> use <b> | del <a>", "del"), "<a>");
        assert_eq!(after("", ""), "");
    }

    #[test]
    fn options_side_by_side_come_in_any_order_and_once() {
        let usage = "<name> [size <n:0-9>] [del] [label <l>]...";
        assert_eq!(after(usage, "x"), "size del label");
        assert_eq!(after(usage, "x del size 3"), "label");
        assert_eq!(after(usage, "x label 1"), "size del label");
        assert_eq!(after("<cpu>[,<cpu>]... [now]", "1,2"), "<cpu> now");
    }

    #[test]
    fn words_nobody_expects_are_passed_over() {
        assert_eq!(after("<a> [b] c", "x ? b"), "c");
    }

    #[test]
    fn usage_lines_with_open_brackets_are_refused() {
        for usage in ["[a", "a]", "{a]", "<a", "a | [b|c", "}"] {
            assert_eq!(Pattern::parse(usage), None, "{usage}");
        }
    }
}
