//! Behaviors and their words.

use net::prelude::*;

/// Behavior of a local SID or policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Segments to GTP-U over IPv4 (RFC 9433 section 6.6).
    Gtp4E,
    /// Segments to GTP-U over IPv6 (section 6.5).
    Gtp6E,
    /// GTP-U over IPv6 to segments (section 6.3).
    Gtp6D,
    /// The same, with the destination as the last segment (section 6.4).
    Gtp6Di,
    /// GTP-U over IPv6 off, a lookup of what is inside.
    Gtp6Dt,
    /// GTP-U over IPv4 to segments (section 6.7).
    Gtp4D,
    /// GTP-U over IPv4 off, a lookup of what is inside.
    Gtp4Dt,
}

/// Words of behaviors, and their numbers in messages.
pub const BEHAVIORS: &[(&str, Kind, u8)] = &[
    ("end.m.gtp4.e", Kind::Gtp4E, 40),
    ("end.m.gtp6.e", Kind::Gtp6E, 41),
    ("end.m.gtp6.d", Kind::Gtp6D, 42),
    ("end.m.gtp6.d.di", Kind::Gtp6Di, 43),
    ("end.m.gtp6.dt", Kind::Gtp6Dt, 44),
    ("end.m.gtp6.dt4", Kind::Gtp6Dt, 45),
    ("end.m.gtp6.dt6", Kind::Gtp6Dt, 46),
    ("end.m.gtp6.dt46", Kind::Gtp6Dt, 47),
    ("t.m.gtp4.d", Kind::Gtp4D, 0),
    ("t.m.gtp4.dt", Kind::Gtp4Dt, 0),
    ("t.m.gtp4.dt4", Kind::Gtp4Dt, 0),
    ("t.m.gtp4.dt6", Kind::Gtp4Dt, 0),
    ("t.m.gtp4.dt46", Kind::Gtp4Dt, 0),
];

/// The word and the behavior of a word from outside, in capital letters or small ones.
pub fn named(word: &str) -> Option<(&'static str, Kind)> {
    let known = BEHAVIORS.iter().find(|(keyword, ..)| keyword.eq_ignore_ascii_case(word));
    known.map(|(keyword, kind, _)| (*keyword, *kind))
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Gtp4E,
        Self::Gtp6E,
        Self::Gtp6D,
        Self::Gtp6Di,
        Self::Gtp6Dt,
        Self::Gtp4D,
        Self::Gtp4Dt,
    ];
    /// Whether it is a policy, which IPv4 packets are steered into.
    pub fn is_policy(self) -> bool {
        matches!(self, Self::Gtp4D | Self::Gtp4Dt)
    }
    /// Whether what is inside is looked up in a table.
    pub fn is_table(self) -> bool {
        matches!(self, Self::Gtp6Dt | Self::Gtp4Dt)
    }
    /// Whether it makes segments.
    pub fn is_to_segments(self) -> bool {
        matches!(self, Self::Gtp6D | Self::Gtp6Di | Self::Gtp4D)
    }
    /// Usage behind the word, and description.
    pub fn usage(self) -> (&'static str, &'static str) {
        match self {
            Self::Gtp4E => (
                "{v4src_position <bit> | v4src_addr <address>}",
                "from segments to GTP-U over IPv4",
            ),
            Self::Gtp6E => ("", "from segments to GTP-U over IPv6"),
            Self::Gtp6D => (
                "<sid-prefix> [nhtype {ipv4 | ipv6 | non-ip}] [drop-in]",
                "from GTP-U over IPv6 to segments",
            ),
            Self::Gtp6Di => (
                "<sid-prefix> [nhtype {ipv4 | ipv6 | non-ip}]",
                "from GTP-U over IPv6 to segments, the last of which is the destination",
            ),
            Self::Gtp6Dt => (
                "fib-table <id> [local-fib-table <id>]",
                "look what GTP-U over IPv6 carries up in a table",
            ),
            Self::Gtp4D => (
                "<sid-prefix> [v6src_prefix <prefix>] [nhtype {ipv4 | ipv6 | non-ip}] [drop-in]",
                "from GTP-U over IPv4 to segments",
            ),
            Self::Gtp4Dt => (
                "fib-table <id> [local-fib-table <id>]",
                "look what GTP-U over IPv4 carries up in a table",
            ),
        }
    }
}

/// Packets that are inside GTP-U.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inside {
    /// Any: what the first bits tell.
    #[default]
    Any,
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// Neither, such as Ethernet frames.
    NonIp,
}

impl Inside {
    /// Their word.
    fn word(self) -> Option<&'static str> {
        match self {
            Self::Any => None,
            Self::Ip4 => Some("ipv4"),
            Self::Ip6 => Some("ipv6"),
            Self::NonIp => Some("non-ip"),
        }
    }
}

/// Words behind that of the behavior.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// Prefix of the SID that the tunnel travels in, and binding SID of the path there.
    pub prefix: Option<Ip6Prefix>,
    /// Prefix of source addresses, behind which the IPv4 address and the port stand.
    pub source: Option<Ip6Prefix>,
    /// Bit of the IPv6 source address where an IPv4 source address begins.
    pub position: Option<u8>,
    /// An IPv4 source address instead.
    pub addr: Option<Ipv4Addr>,
    /// Payload.
    pub inside: Inside,
    /// Whether the destination stays, as the last segment.
    pub is_drop_in: bool,
    /// The table for what is inside.
    pub table: Option<u32>,
    /// The table for what is inside and for the link only.
    pub local: Option<u32>,
}

impl Words {
    /// Reads the words of a behavior.
    ///
    /// # Errors
    /// The word that does not belong there, or is missing.
    pub fn read(kind: Kind, args: &mut Args<'_>) -> Result<Self, Error> {
        let mut words = Self::default();
        if kind.is_to_segments() {
            words.prefix = Some(args.value::<Ip6Prefix>("prefix of the SID")?.network());
        }
        while let Some(word) = args.word() {
            match (word, kind) {
                ("v4src_position", Kind::Gtp4E) => words.position = Some(args.value("bit")?),
                ("v4src_addr", Kind::Gtp4E) => words.addr = Some(args.value("address")?),
                ("v6src_prefix", Kind::Gtp4D) => {
                    words.source = Some(args.value::<Ip6Prefix>("prefix")?.network());
                }
                ("nhtype", _) if kind.is_to_segments() => {
                    words.inside = match args.peek() {
                        Some("ipv4") => Inside::Ip4,
                        Some("ipv6") => Inside::Ip6,
                        Some("non-ip") => Inside::NonIp,
                        Some("none") => Inside::Any,
                        _ => return Err(args.error("expected ipv4, ipv6 or non-ip before")),
                    };
                    args.word();
                }
                ("drop-in", Kind::Gtp6D | Kind::Gtp4D) => words.is_drop_in = true,
                ("fib-table", _) if kind.is_table() => words.table = Some(args.value("table id")?),
                ("local-fib-table", _) if kind.is_table() => {
                    words.local = Some(args.value("table id")?);
                }
                _ => {
                    return Err(Error::new(format!("unknown word `{word}' in the behavior")));
                }
            }
        }
        let missing = |what: &str| Err(Error::new(format!("missing {what}")));
        match kind {
            Kind::Gtp4E if words.position.is_some() == words.addr.is_some() => {
                missing("v4src_position or v4src_addr, one of them")
            }
            Kind::Gtp6Dt | Kind::Gtp4Dt if words.table.is_none() => missing("fib-table"),
            _ => Ok(words),
        }
    }
    /// The words, as they are read.
    pub fn text(&self) -> String {
        let mut all = Vec::new();
        all.extend(self.prefix.map(|prefix| prefix.to_string()));
        all.extend(self.source.map(|prefix| format!("v6src_prefix {prefix}")));
        all.extend(self.position.map(|bit| format!("v4src_position {bit}")));
        all.extend(self.addr.map(|addr| format!("v4src_addr {addr}")));
        all.extend(self.inside.word().map(|word| format!("nhtype {word}")));
        all.extend(self.is_drop_in.then(|| "drop-in".to_owned()));
        all.extend(self.table.map(|id| format!("fib-table {id}")));
        all.extend(self.local.map(|id| format!("local-fib-table {id}")));
        all.join(" ")
    }
}
