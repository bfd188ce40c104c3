//! Paths of routes: control-plane state.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use crate::adjacency::Link;
use crate::fib::forwarding::objects::Object;
use crate::interface::InterfaceIndex;

/// Position of a table among those of its family, as nodes know it (`fib_index`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TableIndex(pub u16);

impl TableIndex {
    /// The table that is always there, number 0.
    pub const DEFAULT: Self = Self(0);
}

/// An address whose route packets of a family follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gateway {
    /// Kind of packets, which need not be of the address's family (RFC 8950).
    pub link: Link,
    /// The table with the route, of the address's family.
    pub table: TableIndex,
    /// The address.
    pub addr: IpAddr,
}

impl Gateway {
    /// For packets of the address's own family.
    pub fn of(table: TableIndex, addr: IpAddr) -> Self {
        Self { link: Link::of(addr), table, addr }
    }
    /// Whether the packets are not of the address's own family.
    pub fn is_foreign(&self) -> bool {
        self.link != Link::of(self.addr)
    }
    /// For packets of another kind.
    #[must_use]
    pub fn with_link(self, link: Link) -> Self {
        Self { link, ..self }
    }
}

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A neighbour on an interface.
    Neighbor {
        /// Interface.
        interface: InterfaceIndex,
        /// Address.
        addr: IpAddr,
    },
    /// A neighbour that gets packets of another kind than its address: IPv4 packets to an IPv6
    /// next hop (RFC 8950), or the other way round; labelled packets.
    ForeignNeighbor {
        /// The kind of the packets.
        link: Link,
        /// Interface.
        interface: InterfaceIndex,
        /// Address.
        addr: IpAddr,
    },
    /// An interface: every destination is a neighbour there.
    Attached {
        /// Interface.
        interface: InterfaceIndex,
        /// Our address there; unspecified if there is none.
        own: IpAddr,
    },
    /// Whatever the route to another address leads to.
    Recursive {
        /// The address.
        to: Gateway,
        /// Condition on that route; otherwise the path is not used.
        through: Through,
    },
    /// This router.
    Receive {
        /// The interface that has the address, if it is of one.
        interface: Option<InterfaceIndex>,
        /// The address, if it is one.
        addr: Option<IpAddr>,
    },
    /// Another look at the destination, in another table.
    Lookup {
        /// Of IPv4 or of IPv6.
        link: Link,
        /// Table.
        table: TableIndex,
    },
    /// A look at the source, in another table.
    SourceLookup {
        /// Of IPv4 or of IPv6.
        link: Link,
        /// Table.
        table: TableIndex,
    },
    /// Input of an interface, as if received there.
    InterfaceRx {
        /// Interface.
        interface: InterfaceIndex,
    },
    /// The link-local addresses of the interface the packet belongs to.
    LinkLocal,
    /// Nowhere.
    Drop,
    /// Nowhere; but as a source its addresses pass a loose reverse-path check.
    Exempt,
    /// An ICMP error: host unreachable.
    Unreachable,
    /// An ICMP error: prohibited.
    Prohibit,
    /// Control.
    Punt,
    /// An object of a feature.
    Object(Object),
    /// Target of a label that is not the last of its stack.
    Label {
        /// Number of the label table.
        table: u32,
        /// Label.
        label: u32,
    },
}

impl Target {
    /// A neighbour on an interface, of packets of a family.
    pub fn neighbor(link: Link, interface: InterfaceIndex, addr: IpAddr) -> Self {
        if Link::of(addr) == link {
            Self::Neighbor { interface, addr }
        } else {
            Self::ForeignNeighbor { link, interface, addr }
        }
    }
    /// An interface, for packets of a link: all its neighbors, or its other end.
    pub fn attached(link: Link, interface: InterfaceIndex) -> Self {
        let any = link.unspecified();
        match link {
            Link::Ip4 | Link::Ip6 => Self::Attached { interface, own: any },
            _ => Self::ForeignNeighbor { link, interface, addr: any },
        }
    }
    /// The same for packets of another kind, nowhere where that cannot be.
    #[must_use]
    pub fn with_link(self, link: Link) -> Self {
        match self {
            Self::Neighbor { interface, addr } | Self::ForeignNeighbor { interface, addr, .. } => {
                Self::neighbor(link, interface, addr)
            }
            Self::Attached { interface, own } if Link::of(own) != link => {
                Self::attached(link, interface)
            }
            Self::Recursive { to, through } => Self::Recursive { to: to.with_link(link), through },
            Self::Lookup { link: of, .. } | Self::SourceLookup { link: of, .. } if of != link => {
                Self::Drop
            }
            Self::LinkLocal if link != Link::Ip6 => Self::Drop,
            other => other,
        }
    }
    /// The interface that packets leave by, if the target names one.
    pub fn interface(&self) -> Option<InterfaceIndex> {
        match self {
            Self::Neighbor { interface, .. }
            | Self::ForeignNeighbor { interface, .. }
            | Self::Attached { interface, .. }
            | Self::InterfaceRx { interface } => Some(*interface),
            _ => None,
        }
    }
    /// Table and label, if it leads by one.
    pub fn label(&self) -> Option<(u32, u32)> {
        match *self {
            Self::Label { table, label } => Some((table, label)),
            _ => None,
        }
    }
    /// The table that it leads to, and its family.
    pub fn table(&self) -> Option<(Link, TableIndex)> {
        match *self {
            Self::Recursive { to, .. } => Some((Link::of(to.addr), to.table)),
            Self::Lookup { link, table } | Self::SourceLookup { link, table } => {
                Some((link, table))
            }
            _ => None,
        }
    }
    /// Whether packets leave by this interface, or the target is an address of it.
    pub fn names(&self, interface: InterfaceIndex) -> bool {
        match self {
            Self::Receive { interface: of, .. } => *of == Some(interface),
            target => target.interface() == Some(interface),
        }
    }
}

/// The condition on the route that a recursive path leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Through {
    /// Any.
    #[default]
    Any,
    /// One to the address itself, not to a network around it.
    Host,
    /// One over an interface, not through a third route.
    Attached,
}

/// One label of a stack that a path puts on its packets (RFC 3032).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// The label, 20 bits.
    pub value: u32,
    /// Time to live; 0 for the usual one ([`Label::hops`]).
    pub ttl: u8,
    /// Traffic class, 3 bits.
    pub exp: u8,
    /// Whether time to live and traffic class are those of the packet (RFC 3443: uniform model).
    pub is_uniform: bool,
}

impl Label {
    /// Time to live, unless it is taken from what is below.
    pub fn hops(&self) -> u8 {
        const USUAL: u8 = 64;
        if self.ttl == 0 { USUAL } else { self.ttl }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, ttl, exp, is_uniform } = self;
        write!(f, "{value}")?;
        if *ttl != 0 {
            write!(f, ",ttl={ttl}")?;
        }
        if *exp != 0 {
            write!(f, ",exp={exp}")?;
        }
        f.write_str(if *is_uniform { ",uniform" } else { "" })
    }
}

/// Text is no label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidLabel;

impl FromStr for Label {
    type Err = InvalidLabel;
    fn from_str(text: &str) -> Result<Self, InvalidLabel> {
        let mut parts = text.split(',');
        let value = parts.next().and_then(|v| v.parse().ok()).ok_or(InvalidLabel)?;
        let mut label = Self { value, ttl: 0, exp: 0, is_uniform: false };
        for part in parts {
            match part.split_once('=') {
                Some(("ttl", ttl)) => label.ttl = ttl.parse().map_err(|_| InvalidLabel)?,
                Some(("exp", exp)) => label.exp = exp.parse().map_err(|_| InvalidLabel)?,
                None if part == "uniform" => label.is_uniform = true,
                _ => return Err(InvalidLabel),
            }
        }
        Ok(label)
    }
}

impl Label {
    /// The label that asks for none (RFC 3032 section 2.1).
    pub const IMPLICIT_NULL: u32 = 3;
}

/// One of the ways of a route.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// Its target.
    pub target: Target,
    /// Share of the load relative to other paths, at least 1.
    pub weight: u16,
    /// Only paths with the lowest preference are used.
    pub preference: u8,
    /// Labels to put on, outermost first; the target then is for labelled packets.
    pub labels: Option<Arc<[Label]>>,
    /// Treatment of packets whose label was taken off, for a path that puts none on.
    pub pop: Option<Pop>,
}

/// The disposition of a packet whose last label for this router was popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pop {
    /// Kind of the packet from then on.
    pub link: Link,
    /// Whether it takes time to live and traffic class from the label (RFC 3443: uniform model).
    pub is_uniform: bool,
    /// Whether a control word is between label and frame (RFC 4385).
    pub has_control_word: bool,
    /// Interface for reverse-path checks of multicast packets; 0 for the receive interface.
    pub rpf_id: u32,
}

impl Path {
    /// A path that shares evenly.
    pub fn to(target: Target) -> Self {
        Self { target, weight: 1, preference: 0, labels: None, pop: None }
    }
    /// The labels that are put on: all but implicit null, which asks for none.
    pub fn pushed(&self) -> impl DoubleEndedIterator<Item = &Label> {
        let all = self.labels.as_deref().unwrap_or_default().iter();
        all.filter(|label| label.value != Label::IMPLICIT_NULL)
    }
    /// Whether something is done to packets before they go where it leads.
    pub fn is_wrapped(&self) -> bool {
        self.pop.is_some() || self.pushed().next().is_some()
    }
    /// The same for packets of another kind. Those that get labels take the same way, whatever they
    /// are.
    #[must_use]
    pub fn with_link(&self, link: Link) -> Self {
        if self.is_wrapped() {
            return self.clone();
        }
        Self { target: self.target.with_link(link), ..self.clone() }
    }
}
