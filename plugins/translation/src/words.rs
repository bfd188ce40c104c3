//! Arguments of the commands of all kinds of NAT.

use std::fmt;
use std::net::Ipv4Addr;

use control::cli::{Args, Error};
use serde::Serialize;
use wire::Protocol;

/// Lines of text, also in JSON.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Lines(pub Vec<String>);

impl Lines {
    /// A head, and lines below it.
    pub fn below(head: &str, lines: impl Iterator<Item = String>) -> Self {
        Self(std::iter::once(head.to_owned()).chain(lines).collect())
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The protocols that have a word.
const PROTOCOLS: [(&str, Protocol); 3] =
    [("tcp", Protocol::TCP), ("udp", Protocol::UDP), ("icmp", Protocol::ICMP)];

/// `tcp`, `udp` or `icmp`.
pub fn protocol(args: &mut Args<'_>) -> Option<Protocol> {
    PROTOCOLS.into_iter().find(|(word, _)| args.keyword(word)).map(|(_, protocol)| protocol)
}

/// The word for one of these protocols.
pub fn word(protocol: Protocol) -> &'static str {
    PROTOCOLS.into_iter().find(|(_, p)| *p == protocol).map_or("icmp", |(word, _)| word)
}

/// `ADDRESS:PORT`.
///
/// # Errors
/// It is missing, or something else.
pub fn end(args: &mut Args<'_>, what: &str) -> Result<(Ipv4Addr, u16), Error> {
    let bad = args.error(format_args!("{what} is an address and a port: 192.0.2.1:80"));
    let word = args.word().ok_or_else(|| args.error(format_args!("{what} is missing")))?;
    let (addr, port) = word.split_once(':').ok_or_else(|| bad.clone())?;
    Ok((addr.parse().map_err(|_| bad.clone())?, port.parse().map_err(|_| bad)?))
}
