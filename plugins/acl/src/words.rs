//! Rules in words.

use std::str::FromStr;

use control::cli::PrintValue;
use net::prelude::*;

use super::macip::MacRule;
use super::rule::{ALL, Action, Range, Rule};

/// Words that may have commas at their ends.
pub(super) struct Words<'a> {
    text: &'a str,
    left: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// All that is left of a command.
    pub fn of(args: &mut Args<'a>) -> Self {
        let text = args.rest();
        let mut left: Vec<_> = text.split_whitespace().flat_map(with_comma).collect();
        left.reverse();
        Self { text, left }
    }
    pub fn peek(&self) -> Option<&'a str> {
        self.left.last().copied()
    }
    pub fn take(&mut self) -> Option<&'a str> {
        self.left.pop()
    }
    /// Takes a word if it comes next.
    pub fn keyword(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        if is_next {
            self.left.pop();
        }
        is_next
    }
    /// All that is left, as it was typed.
    pub fn rest(&mut self) -> String {
        let next = std::mem::take(&mut self.left).pop();
        let at = next.map(|word| word.as_ptr() as usize - self.text.as_ptr() as usize);
        let rest = at.and_then(|at| self.text.get(at..)).unwrap_or("");
        rest.trim_end().to_owned()
    }
    pub fn error(&self, what: impl fmt::Display) -> Error {
        let left: Vec<_> = self.left.iter().rev().copied().collect();
        Error::new(format!("{what} `{}'", left.join(" ")))
    }
    pub fn value<T: FromStr>(&mut self, what: &str) -> Result<T, Error> {
        let parsed = self.peek().and_then(|word| word.parse().ok());
        let value = parsed.ok_or_else(|| self.error(format_args!("invalid {what}")))?;
        self.left.pop();
        Ok(value)
    }
    /// A number, in hexadecimal digits behind `0x`.
    pub fn number(&mut self, what: &str) -> Result<u8, Error> {
        let hex = self.peek().and_then(|word| word.strip_prefix("0x"));
        let Some(hex) = hex else { return self.value(what) };
        let value = u8::from_str_radix(hex, 16);
        let value = value.map_err(|_| self.error(format_args!("invalid {what}")))?;
        self.left.pop();
        Ok(value)
    }
}

/// A word, and the comma behind it as another one. The next rule may follow without a blank:
/// `10.0.0.0/8,deny`.
fn with_comma(word: &str) -> impl Iterator<Item = &str> {
    const ACTIONS: [&str; 4] = ["permit", "deny", "permit+reflect", "action"];
    let next = word.rsplit_once(',').filter(|(_, next)| ACTIONS.contains(next));
    let (word, next) = match next {
        Some((head, next)) => (&word[..head.len() + 1], Some(next)),
        None => (word, None),
    };
    let (head, comma) = match word.strip_suffix(',') {
        Some(head) => (head, Some(",")),
        None => (word, None),
    };
    Some(head).filter(|head| !head.is_empty()).into_iter().chain(comma).chain(next)
}

fn range(words: &mut Words<'_>, what: &str) -> Result<Range, Error> {
    let wrong = words.error(format_args!("invalid {what}"));
    let mut word = words.take().unwrap_or("").to_owned();
    // There may be blanks around the dash.
    while word.ends_with('-') || words.peek().is_some_and(|next| next.starts_with('-')) {
        word += words.take().ok_or_else(|| wrong.clone())?;
    }
    let (low, high) = word.split_once('-').unwrap_or((&word, &word));
    match (low.parse(), high.parse()) {
        (Ok(low), Ok(high)) => Ok((low, high)),
        _ => Err(wrong),
    }
}

fn protocol(words: &mut Words<'_>) -> Result<u8, Error> {
    const NAMES: [(&str, u8); 5] =
        [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmp6", 58), ("sctp", 132)];
    match NAMES.iter().find(|(name, _)| words.keyword(name)) {
        Some((_, number)) => Ok(*number),
        None => words.value("protocol"),
    }
}

fn any(is_6: bool) -> Prefix {
    let addr: IpAddr =
        if is_6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    Prefix::new(addr, 0).expect("no bits are not too many")
}

/// Takes an action, as a word or by number, if one comes next.
fn action_word(words: &mut Words<'_>) -> Result<Option<Action>, Error> {
    if words.keyword("action") {
        let actions = [Action::Deny, Action::Permit, Action::Reflect];
        let error = words.error("invalid action");
        let number = usize::from(words.number("action")?);
        return actions.get(number).copied().ok_or(error).map(Some);
    }
    let actions = [Action::Reflect, Action::Permit, Action::Deny];
    Ok(actions.into_iter().find(|action| words.keyword(action.word())))
}

/// Takes the next rule: up to a comma, a tag or the end.
pub(super) fn rule(words: &mut Words<'_>) -> Result<Rule, Error> {
    let is_6 = words.keyword("ipv6");
    if !is_6 {
        words.keyword("ipv4");
    }
    let mut action = None;
    let mut rule = Rule::any(Action::Deny, is_6);
    let (mut src, mut dst) = (None, None);
    loop {
        if action.is_none()
            && let Some(found) = action_word(words)?
        {
            action = Some(found);
        } else if words.keyword("src") {
            src = Some(words.value::<Prefix>("src")?);
        } else if words.keyword("dst") {
            dst = Some(words.value::<Prefix>("dst")?);
        } else if words.keyword("proto") {
            rule.protocol = protocol(words)?;
        } else if words.keyword("sport") {
            rule.src_ports = range(words, "sport")?;
        } else if words.keyword("dport") {
            rule.dst_ports = range(words, "dport")?;
        } else if words.keyword("tcpflags") {
            rule.tcp_flags.1 = words.number("tcpflags")?;
            // The mask may follow without its word.
            if words.peek().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
                rule.tcp_flags.0 = words.number("mask")?;
            }
        } else if words.keyword("mask") {
            rule.tcp_flags.0 = words.number("mask")?;
        } else {
            break;
        }
    }
    let action = action.ok_or_else(|| words.error("expected permit, deny or permit+reflect"))?;
    rule.action = action;
    let is_6 = is_6 || src.or(dst).is_some_and(|prefix| prefix.addr().is_ipv6());
    (rule.src, rule.dst) = (src.unwrap_or(any(is_6)), dst.unwrap_or(any(is_6)));
    Ok(rule)
}

/// Takes the next rule of a MACIP list.
pub(super) fn mac_rule(words: &mut Words<'_>) -> Result<MacRule, Error> {
    let mut action = None;
    let (mac, mut mask, mut has_mac) = (MacAddr::ZERO, None, false);
    let mut rule = MacRule { permit: false, mac, mac_mask: mac, src: any(false) };
    loop {
        let error = words.error("expected permit or deny");
        if action.is_none()
            && let Some(found) = action_word(words)?
        {
            let is_plain = found != Action::Reflect;
            action = Some(Some(found).filter(|_| is_plain).ok_or(error)?);
        } else if words.keyword("ip") || words.keyword("src") {
            rule.src = words.value("ip")?;
        } else if words.keyword("mac") {
            (rule.mac, has_mac) = (words.value("mac")?, true);
        } else if words.keyword("mask") {
            mask = Some(words.value("mask")?);
        } else {
            break;
        }
    }
    let action = action.ok_or_else(|| words.error("expected permit, deny or action"))?;
    rule.permit = action == Action::Permit;
    // An address alone is the whole of it.
    let whole = if has_mac { MacAddr::BROADCAST } else { MacAddr::ZERO };
    rule.mac_mask = mask.unwrap_or(whole);
    Ok(rule)
}

/// Takes what stands in front of rules, the rules, and a tag.
pub(super) fn list<T>(
    args: &mut Args<'_>,
    rule: impl Fn(&mut Words<'_>) -> Result<T, Error>,
) -> Result<Named<T>, Error> {
    let mut words = Words::of(args);
    let index = if words.keyword("index") { Some(words.value("index")?) } else { None };
    let create = index.is_some() && words.keyword("create");
    // As many rules as follow: what it says is not needed.
    if words.keyword("count") {
        words.value::<u32>("count")?;
    }
    let (mut rules, mut tag) = (Vec::new(), String::new());
    while let Some(word) = words.peek() {
        if word == "tag" {
            words.take();
            tag = words.rest();
            break;
        }
        rules.push(rule(&mut words)?);
        if !words.keyword(",") && words.peek().is_some_and(|word| word != "tag") {
            return Err(words.error("unknown input"));
        }
    }
    Ok(Named { index, create, rules, tag })
}

/// A list in words: its number, whether it is new under it, its rules and its tag.
#[derive(Debug, PartialEq)]
pub(super) struct Named<T> {
    pub index: Option<u32>,
    pub create: bool,
    pub rules: Vec<T>,
    pub tag: String,
}

impl<T: fmt::Display> PrintValue for Named<T> {
    fn print(&self, line: &mut Line<'_>) {
        line.option("index", self.index.as_ref()).flag("create", self.create);
        for (at, rule) in self.rules.iter().enumerate() {
            if at > 0 {
                line.word(",");
            }
            line.word(rule);
        }
        if !self.tag.is_empty() {
            line.keyword("tag", &self.tag);
        }
    }
}

fn write_range(f: &mut fmt::Formatter<'_>, word: &str, (low, high): Range) -> fmt::Result {
    if low == high { write!(f, " {word} {low}") } else { write!(f, " {word} {low}-{high}") }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} src {} dst {}", self.action.word(), self.src, self.dst)?;
        if self.protocol != 0 {
            write!(f, " proto {}", self.protocol)?;
        }
        if self.src_ports != ALL {
            write_range(f, "sport", self.src_ports)?;
        }
        if self.dst_ports != ALL {
            write_range(f, "dport", self.dst_ports)?;
        }
        if self.tcp_flags != (0, 0) {
            write!(f, " tcpflags {} mask {}", self.tcp_flags.1, self.tcp_flags.0)?;
        }
        Ok(())
    }
}

/// A rule with all of its fields, as listings have it.
pub(super) fn whole(rule: &Rule) -> String {
    let Rule { action, src, dst, protocol, src_ports, dst_ports, tcp_flags } = rule;
    let mut text = format!("{} src {src} dst {dst} proto {protocol}", action.word());
    for (name, ports) in [("sport", src_ports), ("dport", dst_ports)] {
        let range = fmt::from_fn(|f| write_range(f, name, *ports));
        text += &range.to_string();
    }
    if *tcp_flags != (0, 0) {
        text += &format!(" tcpflags {} mask {}", tcp_flags.1, tcp_flags.0);
    }
    text
}

/// The same of a rule about MAC addresses.
pub(super) fn whole_mac(rule: &MacRule) -> String {
    let MacRule { permit, src, mac, mac_mask } = rule;
    let version = if matches!(src, Prefix::Ip6(_)) { 6 } else { 4 };
    let action = u8::from(*permit);
    format!("ipv{version} action {action} ip {src} mac {mac} mask {mac_mask}")
}

impl fmt::Display for MacRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = if self.permit { "permit" } else { "deny" };
        write!(f, "{action} ip {} mac {} mask {}", self.src, self.mac, self.mac_mask)
    }
}
