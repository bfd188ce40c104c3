//! Paths: where a route leads, as control knows it.

use std::net::IpAddr;

use serde::Serialize;

use crate::adjacency::Link;
use crate::interface::InterfaceIndex;

/// Position of a table among those of its family, as nodes know it (`fib_index`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TableIndex(pub u16);

impl TableIndex {
    /// The table that is always there, number 0.
    pub const DEFAULT: Self = Self(0);
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A neighbour on an interface.
    Neighbor {
        /// The interface.
        interface: InterfaceIndex,
        /// The neighbour.
        addr: IpAddr,
    },
    /// An interface: every destination is a neighbour there.
    Attached {
        /// The interface.
        interface: InterfaceIndex,
        /// Our address there; unspecified if there is none.
        own: IpAddr,
    },
    /// Whatever the route to another address leads to.
    Recursive {
        /// The table with that route.
        table: TableIndex,
        /// The address.
        addr: IpAddr,
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
        /// The table.
        table: TableIndex,
    },
    /// The link-local addresses of the interface the packet belongs to.
    LinkLocal,
    /// Nowhere.
    Drop,
    /// An ICMP error: host unreachable.
    Unreachable,
    /// An ICMP error: prohibited.
    Prohibit,
    /// Control.
    Punt,
}

impl Target {
    /// The interface that packets leave by, if the target names one.
    pub fn interface(&self) -> Option<InterfaceIndex> {
        match self {
            Self::Neighbor { interface, .. } | Self::Attached { interface, .. } => Some(*interface),
            _ => None,
        }
    }
}

/// One of the ways of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// Where it leads.
    pub target: Target,
    /// Share of the load relative to other paths, at least 1.
    pub weight: u16,
    /// Only paths with the least value are used.
    pub preference: u8,
}

impl Path {
    /// A path that shares evenly.
    pub fn to(target: Target) -> Self {
        Self { target, weight: 1, preference: 0 }
    }
}

/// Who wants a route. The first one with a route for a prefix decides where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// An address of an interface.
    Interface,
    /// A binary-API client.
    Api,
    /// The operator.
    Cli,
    /// A known neighbour.
    Adjacency,
    /// A recursive path that leads here; routes as the covering prefix does.
    Recursive,
    /// Every table's own drops.
    Default,
}

impl Source {
    /// How many there are.
    pub const COUNT: usize = 6;
    /// As `show ip fib` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interface => "interface",
            Self::Api => "API",
            Self::Cli => "CLI",
            Self::Adjacency => "adjacency",
            Self::Recursive => "recursive-resolution",
            Self::Default => "default-route",
        }
    }
}
