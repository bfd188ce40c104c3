//! Members, rules and packets as words of commands.

use net::prelude::*;

use super::rule::{ACTIONS, Action, Entry, FIELDS, Field, Filter, Member, Packet, Rule, What};

/// Protocols that have a word.
const PROTOCOLS: [(&str, Protocol); 5] = [
    ("tcp", Protocol::TCP),
    ("udp", Protocol::UDP),
    ("sctp", Protocol::SCTP),
    ("icmp6", Protocol::ICMP6),
    ("icmp", Protocol::ICMP),
];

/// A protocol by its word.
fn named(args: &mut Args<'_>) -> Option<Protocol> {
    PROTOCOLS.into_iter().find(|(word, _)| args.keyword(word)).map(|(_, protocol)| protocol)
}

/// A protocol by word or number.
fn protocol(args: &mut Args<'_>) -> Result<Protocol, Error> {
    named(args).map_or_else(|| args.value("protocol").map(Protocol), Ok)
}

/// A protocol as it is read.
pub fn protocol_word(protocol: Protocol) -> String {
    let known = PROTOCOLS.into_iter().find(|(_, known)| *known == protocol);
    known.map_or_else(|| protocol.0.to_string(), |(word, _)| word.to_owned())
}

/// A member of a set: `ADDRESS`, `PREFIX` or `PROTOCOL ADDRESS PORT`.
pub fn member(args: &mut Args<'_>) -> Result<Member, Error> {
    if let Some(addr) = args.optional::<IpAddr>() {
        return Ok(Member::Address(addr));
    }
    if let Some(prefix) = args.optional::<Prefix>() {
        return Ok(Member::Prefix(prefix.network()));
    }
    let protocol = protocol(args).map_err(|_| {
        args.error("expected an address, a prefix, or a protocol, an address and a port")
    })?;
    Ok(Member::Port((args.value("address")?, protocol, args.value("port")?)))
}

/// A member as it is read.
pub fn member_words(member: &Member) -> String {
    match member {
        Member::Address(addr) => addr.to_string(),
        Member::Prefix(prefix) => prefix.to_string(),
        Member::Port((addr, protocol, port)) => {
            format!("{} {addr} {port}", protocol_word(*protocol))
        }
    }
}

/// Whether `==` comes, or `!=`.
fn is_equal(args: &mut Args<'_>) -> Result<bool, Error> {
    match args.keyword("==") {
        true => Ok(true),
        false if args.keyword("!=") => Ok(false),
        false => Err(args.error("expected == or !=")),
    }
}

/// A rule whose operators stand alone, up to the end.
pub fn rule(args: &mut Args<'_>) -> Result<Rule, Error> {
    let action = ACTIONS.into_iter().find(|(word, _)| args.keyword(word));
    let (_, action) = action.ok_or_else(|| args.error("expected allow, deny, log or pass"))?;
    let mut rule = Rule { action, filters: Vec::new(), entries: Vec::new() };
    while !args.is_empty() {
        if let Some((_, field)) = FIELDS.into_iter().find(|(word, _)| args.keyword(word)) {
            let is_equal = is_equal(args)?;
            let value = match field {
                Field::Protocol => protocol(args)?.0.into(),
                _ => args.value::<u8>("number")?.into(),
            };
            rule.filters.push(Filter { field, value, is_equal });
            if rule.filters.len() > 3 {
                return Err(args.error("a rule has at most 3 filters"));
            }
            continue;
        }
        let is_src = args.keyword("src");
        if !is_src && !args.keyword("dst") {
            return Err(args.unknown());
        }
        let is_not = !is_equal(args)?;
        rule.entries.push(Entry { is_src, is_not, what: what(args)? });
    }
    Ok(rule)
}

/// `PREFIX`, `set ID`, `port-set ID` or `[FIRST-LAST]`.
fn what(args: &mut Args<'_>) -> Result<What, Error> {
    if args.keyword("set") {
        return args.value("set").map(What::Set);
    }
    if args.keyword("port-set") {
        return args.value("set").map(What::PortSet);
    }
    if let Some(prefix) = args.optional::<Prefix>() {
        return Ok(What::Prefix(prefix));
    }
    let bad = args.error("expected a prefix, set, port-set, or ports: [80-443]");
    let word = args.word().ok_or_else(|| bad.clone())?;
    let inner = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
    let inner = inner.ok_or_else(|| bad.clone())?;
    let (first, last) = inner.split_once('-').unwrap_or((inner, inner));
    let port = |text: &str| text.parse::<u16>().map_err(|_| bad.clone());
    Ok(What::Ports(port(first)?, port(last)?))
}

/// Writes a rule as it is read.
pub fn print_rule(line: &mut Line<'_>, rule: &Rule) {
    let word = ACTIONS.into_iter().find(|(_, action)| *action == rule.action);
    line.word(word.map_or("deny", |(word, _)| word));
    words_of(rule).iter().for_each(|word| {
        line.word(word);
    });
}

/// Filters and comparisons as they are read, each in one text.
pub fn words_of(rule: &Rule) -> Vec<String> {
    let operator = |is_equal| if is_equal { "==" } else { "!=" };
    let filter = |f: &Filter| {
        let word = FIELDS.into_iter().find(|(_, field)| *field == f.field);
        let value = match f.field {
            Field::Protocol => protocol_word(Protocol(f.value as u8)),
            _ => f.value.to_string(),
        };
        format!("{}{}{value}", word.map_or("", |(word, _)| word), operator(f.is_equal))
    };
    let entry = |e: &Entry| {
        let end = if e.is_src { "src" } else { "dst" };
        let what = match e.what {
            What::Prefix(prefix) => prefix.to_string(),
            What::Ports(first, last) => format!("[{first}-{last}]"),
            What::PortSet(set) => format!("port-set {set}"),
            What::Set(set) => format!("set {set}"),
        };
        format!("{end}{}{what}", operator(!e.is_not))
    };
    rule.filters.iter().map(filter).chain(rule.entries.iter().map(entry)).collect()
}

/// The word of an action.
pub fn action_word(action: Action) -> &'static str {
    ACTIONS.into_iter().find(|(_, known)| *known == action).map_or("deny", |(word, _)| word)
}

/// `ADDRESS;PORT->ADDRESS;PORT`, `None` for other words. Ports of ICMP are type and code.
fn flow(word: &str) -> Option<((IpAddr, u16), (IpAddr, u16))> {
    let end = |text: &str| {
        let (addr, port) = text.split_once(';')?;
        Some((addr.parse().ok()?, port.parse().ok()?))
    };
    let (src, dst) = word.split_once("->")?;
    Some((end(src)?, end(dst)?))
}

/// A packet: words of it, in any order, that `other` does not take.
pub fn packet<'a>(
    args: &mut Args<'a>,
    mut other: impl FnMut(&mut Args<'a>) -> Result<(), Error>,
) -> Result<Packet, Error> {
    let (mut protocol_of, mut ends) = (None, None);
    while let Some(word) = args.peek() {
        if let Some(found) = flow(word) {
            ends = Some(found);
            args.word();
        } else if let Some(found) = named(args) {
            protocol_of = Some(found);
        } else if args.keyword("proto") {
            protocol_of = Some(protocol(args)?);
        } else {
            other(args)?;
        }
    }
    let protocol =
        protocol_of.ok_or_else(|| args.error("expected tcp, udp, icmp, icmp6 or proto N"))?;
    let (src, dst) = ends.ok_or_else(|| args.error("expected 10.0.0.1;5000->10.0.0.2;80"))?;
    if src.0.is_ipv4() != dst.0.is_ipv4() {
        return Err(args.error("source and destination must have the same IP version"));
    }
    if !matches!(protocol, Protocol::ICMP | Protocol::ICMP6) {
        return Ok(Packet { src, dst, protocol, icmp: None });
    }
    let number = |n: u16| {
        u8::try_from(n).map_err(|_| {
            args.error(
                "types and codes are at most \
        255",
            )
        })
    };
    Ok(Packet { src, dst, protocol, icmp: Some((number(src.1)?, number(dst.1)?)) })
}
