//! Flow rules: matches and actions, in the words of `flow add`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use control::cli::{self, Args, Error};
use wire::MacAddr;

/// A flow rule: matches and actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// All of these.
    pub matches: Vec<Match>,
    /// All of these.
    pub actions: Vec<Action>,
}

/// One thing that a packet must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Addresses and type of the frame.
    Ethernet(MacAddr, MacAddr, u16),
    /// Bits of the source address: the address and those of its bits that count.
    Src(IpAddr, IpAddr),
    /// Bits of the destination address.
    Dst(IpAddr, IpAddr),
    /// Bits of the source port.
    SrcPort(u16, u16),
    /// Bits of the destination port.
    DstPort(u16, u16),
    /// Protocol.
    Proto(u8),
    /// Any protocol.
    AnyProto,
    /// Type of the frame.
    EtherType(u16),
    /// The same of the packet inside a tunnel.
    Inner(Box<Self>),
    /// A number in the header behind.
    Number(Tunnel, u32),
    /// Bytes at the start of the frame, and those of their bits that count.
    Bytes(Vec<u8>, Vec<u8>),
}

/// Headers with a number of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// Tunnel endpoint of GTP-C.
    Gtpc,
    /// Tunnel endpoint of GTP-U.
    Gtpu,
    /// Network of VXLAN.
    Vxlan,
    /// Session of L2TPv3.
    Session,
    /// Security parameters of ESP or AH.
    Spi,
}

/// Action on a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Count.
    Count,
    /// It gets a number.
    Mark(u32),
    /// It starts so many bytes later.
    Advance(i32),
    /// It goes to a node.
    Node(String),
    /// It goes to a queue.
    Queue(u32),
    /// It goes to one of the queues from the first to the last, by a function over these fields.
    Spread(String, u64, u32, u32),
    /// Drop.
    Drop,
}

impl Tunnel {
    const ALL: [(Self, &'static [&'static str]); 5] = [
        (Self::Gtpc, &["gtpc", "teid"]),
        (Self::Gtpu, &["gtpu", "teid"]),
        (Self::Vxlan, &["vxlan"]),
        (Self::Session, &["session", "id"]),
        (Self::Spi, &["spi"]),
    ];
    fn words(self) -> String {
        let found = Self::ALL.iter().find(|(tunnel, _)| *tunnel == self);
        found.map_or_else(String::new, |(_, words)| words.join(" "))
    }
    fn take(args: &mut Args<'_>) -> Result<Option<Self>, Error> {
        for (tunnel, words) in Self::ALL {
            if args.keyword(words[0]) {
                let rest = words.get(1);
                if let Some(rest) = rest.filter(|rest| !args.keyword(rest)) {
                    return Err(args.error(format_args!("expected {rest}")));
                }
                return Ok(Some(tunnel));
            }
        }
        Ok(None)
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethernet(src, dst, kind) => write!(f, "ethernet {src} {dst} 0x{kind:04x}"),
            Self::Src(address, mask) if address.is_ipv4() => write!(f, "src-ip {address}/{mask}"),
            Self::Src(address, mask) => write!(f, "ip6-src-ip {address}/{mask}"),
            Self::Dst(address, mask) if address.is_ipv4() => write!(f, "dst-ip {address}/{mask}"),
            Self::Dst(address, mask) => write!(f, "ip6-dst-ip {address}/{mask}"),
            Self::SrcPort(port, mask) => write!(f, "src-port {port}/0x{mask:x}"),
            Self::DstPort(port, mask) => write!(f, "dst-port {port}/0x{mask:x}"),
            Self::Proto(protocol) => write!(f, "proto {protocol}"),
            Self::AnyProto => f.write_str("proto any"),
            Self::EtherType(kind) => write!(f, "eth-type 0x{kind:04x}"),
            Self::Inner(inner) => write!(f, "in-{inner}"),
            Self::Number(tunnel, number) => write!(f, "{} {number}", tunnel.words()),
            Self::Bytes(spec, mask) => {
                write!(f, "spec {} mask {}", cli::hex(spec), cli::hex(mask))
            }
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("count"),
            Self::Mark(number) => write!(f, "mark {number}"),
            Self::Advance(len) => write!(f, "buffer-advance {len}"),
            Self::Node(name) => write!(f, "next-node {name}"),
            Self::Queue(queue) => write!(f, "redirect-to-queue {queue}"),
            Self::Spread(function, types, first, last) => write!(
                f,
                "rss function {function} rss types 0x{types:x} rss queues {first} to {last}"
            ),
            Self::Drop => f.write_str("drop"),
        }
    }
}

/// The words of the rule, each after a blank.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.matches.iter().try_for_each(|m| write!(f, " {m}"))?;
        self.actions.iter().try_for_each(|a| write!(f, " {a}"))
    }
}

/// Mask of this many bits.
fn mask(is_ip6: bool, bits: u8) -> Option<IpAddr> {
    let shifted = |width: u8| u128::MAX.checked_shl((width - bits).into()).unwrap_or(0);
    match is_ip6 {
        false if bits <= 32 => Some(Ipv4Addr::from(shifted(32) as u32).into()),
        true if bits <= 128 => Some(Ipv6Addr::from(shifted(128)).into()),
        _ => None,
    }
}

fn address(args: &mut Args<'_>, is_ip6: bool) -> Result<(IpAddr, IpAddr), Error> {
    let text = args.word().unwrap_or_default();
    let (address, bits) = text.split_once('/').unwrap_or((text, if is_ip6 { "128" } else { "32" }));
    let address = address.parse().ok().filter(|a: &IpAddr| a.is_ipv6() == is_ip6);
    let mask = match bits.parse::<u8>() {
        Ok(bits) => mask(is_ip6, bits),
        Err(_) => bits.parse().ok().filter(|a: &IpAddr| a.is_ipv6() == is_ip6),
    };
    address.zip(mask).ok_or_else(|| Error::new(format!("expected ADDRESS/MASK, got `{text}'")))
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn port(args: &mut Args<'_>) -> Result<(u16, u16), Error> {
    let text = args.word().unwrap_or_default();
    if text == "any" {
        return Ok((0, 0));
    }
    let (port, mask) = text.split_once('/').unwrap_or((text, "0xffff"));
    let small = |text: &str| number(text).and_then(|n| u16::try_from(n).ok());
    let pair = small(port).zip(small(mask));
    pair.ok_or_else(|| Error::new(format!("expected PORT/MASK, got `{text}'")))
}

/// Bytes of a text of hexadecimal digits, two for each; up to 1024.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let is_whole = !text.is_empty() && text.len().is_multiple_of(2) && text.len() <= 2048;
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    is_whole.then(|| (0..text.len()).step_by(2).map(byte).collect()).flatten()
}

/// Names of protocols; others go by number.
fn protocol(args: &mut Args<'_>) -> Result<Match, Error> {
    let text = args.word().unwrap_or_default();
    if text == "any" {
        return Ok(Match::AnyProto);
    }
    let found = match text.to_ascii_lowercase().as_str() {
        "icmp" => Some(1),
        "tcp" => Some(6),
        "udp" => Some(17),
        "gre" => Some(47),
        "esp" | "ipsec-esp" => Some(50),
        "ah" | "ipsec-ah" => Some(51),
        "icmp6" => Some(58),
        "l2tp" => Some(115),
        "sctp" => Some(132),
        other => other.parse().ok(),
    };
    found.map(Match::Proto).ok_or_else(|| Error::new(format!("no protocol `{text}'")))
}

fn bytes(args: &mut Args<'_>, what: &str) -> Result<Vec<u8>, Error> {
    let text = args.word().unwrap_or_default();
    hex(text).ok_or_else(|| Error::new(format!("expected {what} in hexadecimal, got `{text}'")))
}

/// Queues and function of `rss …`, in any order.
#[derive(Default)]
struct Spread {
    function: Option<String>,
    types: Option<u64>,
    queues: Option<(u32, u32)>,
}

impl Spread {
    fn take(&mut self, args: &mut Args<'_>) -> Result<(), Error> {
        if args.keyword("function") {
            const FUNCTIONS: [&str; 4] =
                ["default", "toeplitz", "simple_xor", "symmetric_toeplitz"];
            let name = args.word().unwrap_or_default();
            let found = FUNCTIONS.iter().find(|known| **known == name);
            let found =
                found.ok_or_else(|| Error::new(format!("unknown RSS function `{name}'")))?;
            self.function = Some((*found).to_owned());
        } else if args.keyword("types") {
            let text = args.word().unwrap_or_default();
            let types = number(text);
            let types = types.ok_or_else(|| Error::new(format!("unknown RSS types `{text}'")))?;
            self.types = Some(types);
        } else if args.keyword("queues") {
            let first = args.value("first queue")?;
            if !args.keyword("to") {
                return Err(args.error("expected to"));
            }
            let last = args.value("last queue")?;
            if last < first {
                return Err(Error::new("the last RSS queue comes before the first"));
            }
            self.queues = Some((first, last));
        } else {
            return Err(args.unknown());
        }
        Ok(())
    }
    fn action(self) -> Option<Action> {
        if self.function.is_none() && self.types.is_none() && self.queues.is_none() {
            return None;
        }
        let (first, last) = self.queues.unwrap_or_default();
        let function = self.function.unwrap_or_else(|| "default".to_owned());
        Some(Action::Spread(function, self.types.unwrap_or(0), first, last))
    }
}

/// A rule whose words are being read, in any order.
#[derive(Default)]
pub struct Reading {
    matches: Vec<Match>,
    actions: Vec<Action>,
    spread: Spread,
}

impl Reading {
    /// Takes the next match or action; false if the next word begins none.
    ///
    /// # Errors
    /// The word that is wrong.
    pub fn take(&mut self, args: &mut Args<'_>) -> Result<bool, Error> {
        if args.keyword("rss") {
            self.spread.take(args)?;
        } else if let Some(found) = one(args)? {
            self.matches.push(found);
        } else if let Some(found) = action(args)? {
            self.actions.push(found);
        } else {
            return Ok(false);
        }
        Ok(true)
    }
    /// The rule, once all words are read.
    ///
    /// # Errors
    /// That there is nothing to look for or to do.
    pub fn finish(self, args: &Args<'_>) -> Result<Rule, Error> {
        let Self { matches, mut actions, spread } = self;
        actions.extend(spread.action());
        if matches.is_empty() {
            return Err(args.error("missing match"));
        }
        if actions.is_empty() {
            return Err(args.error("missing action"));
        }
        Ok(Rule { matches, actions })
    }
}

/// Matches of the packet inside a tunnel.
const INNER: [&str; 7] =
    ["src-ip", "dst-ip", "ip6-src-ip", "ip6-dst-ip", "src-port", "dst-port", "proto"];

/// The next match, if one is next.
fn one(args: &mut Args<'_>) -> Result<Option<Match>, Error> {
    if let Some(word) = args.peek().and_then(|word| word.strip_prefix("in-"))
        && INNER.contains(&word)
    {
        args.word();
        return field(word, args).map(|found| found.map(|found| Match::Inner(Box::new(found))));
    }
    let Some(word) = args.peek() else { return Ok(None) };
    let start = *args;
    args.word();
    let found = field(word, args)?;
    if found.is_some() {
        return Ok(found);
    }
    *args = start;
    let tunnel = Tunnel::take(args)?;
    if tunnel == Some(Tunnel::Vxlan) {
        args.keyword("vni");
    }
    tunnel.map(|tunnel| Ok(Match::Number(tunnel, args.value("number")?))).transpose()
}

/// An EtherType.
fn ether_type(args: &mut Args<'_>) -> Result<u16, Error> {
    let place = *args;
    let kind = args.word().and_then(number).and_then(|n| u16::try_from(n).ok());
    kind.ok_or_else(|| place.error("expected an EtherType, got"))
}

/// The match that `word` begins.
fn field(word: &str, args: &mut Args<'_>) -> Result<Option<Match>, Error> {
    Ok(Some(match word {
        "src-ip" | "ip6-src-ip" => {
            let (address, mask) = address(args, word != "src-ip")?;
            Match::Src(address, mask)
        }
        "dst-ip" | "ip6-dst-ip" => {
            let (address, mask) = address(args, word != "dst-ip")?;
            Match::Dst(address, mask)
        }
        "src-port" => port(args).map(|(port, mask)| Match::SrcPort(port, mask))?,
        "dst-port" => port(args).map(|(port, mask)| Match::DstPort(port, mask))?,
        "proto" => protocol(args)?,
        "eth-type" => Match::EtherType(ether_type(args)?),
        "ethernet" => {
            let (src, dst) = (args.value("source")?, args.value("destination")?);
            Match::Ethernet(src, dst, ether_type(args)?)
        }
        "spec" => {
            let spec = bytes(args, "bytes")?;
            if !args.keyword("mask") {
                return Err(args.error("expected mask"));
            }
            let mask = bytes(args, "a mask")?;
            if spec.len() != mask.len() {
                return Err(Error::new("spec and mask differ in length"));
            }
            Match::Bytes(spec, mask)
        }
        _ => return Ok(None),
    }))
}

/// The next action, if one is next.
fn action(args: &mut Args<'_>) -> Result<Option<Action>, Error> {
    Ok(Some(if args.keyword("count") {
        Action::Count
    } else if args.keyword("mark") {
        Action::Mark(args.value("number")?)
    } else if args.keyword("buffer-advance") {
        Action::Advance(args.value("length")?)
    } else if args.keyword("next-node") {
        Action::Node(args.value("node")?)
    } else if args.keyword("redirect-to-queue") {
        Action::Queue(args.value("queue")?)
    } else if args.keyword("drop") {
        Action::Drop
    } else {
        return Ok(None);
    }))
}
