//! Multicast routing (RFC 1112, RFC 7761 section 4.1): which packets to groups are accepted, by
//! receive interface, and where copies of them go.
//!
//! A route is for a group and one source, `(S,G)`, or for a range of groups and any source,
//! `(*,G/len)`; the former is preferred, then the longer range. Its paths carry flags: packets are
//! *accepted* from some, *forwarded* to others. As with unicast routes several sources of control
//! may want one, and the best counts. A unicast table has a multicast twin unless it was made
//! without: then its interfaces use the first table for multicast.

mod api;
mod cli;
mod forward;
mod kind;
mod objects;
mod replicate;
mod routes;
mod show;
mod signal;
mod table;
#[cfg(test)]
mod tests;
pub mod types;

use std::fmt;
use std::io;
use std::net::IpAddr;

use control::feature::Refusal;
use control::stats::{Columns, Segment};
use infra::counter::{Rows, VolumeCounter};
use infra::rcu::SharedSlab;

use crate::fib::{self, Ip4, Ip6, Path, TableIndex};
use crate::interface::{Change, InterfaceIndex};
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use forward::{Lookup, Rpf};
pub use kind::Multicast;
pub use replicate::Replicate;
pub use signal::Signal;
pub use table::{MRoute, SourceRoute};

use table::MTables;

/// Most multicast routes there may be.
pub const MAX_ROUTES: usize = 1 << 20;
/// Counters by number of the route.
pub const COLUMNS: Columns = Columns::growing("multicast route", MAX_ROUTES);

macro_rules! flags {
    ($(#[$doc:meta])* $name:ident;
        $($(#[$each:meta])* $flag:ident = $bit:literal, $text:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub u32);

        impl $name {
            $($(#[$each])* pub const $flag: Self = Self($bit);)*
            /// Each with its word.
            pub const NAMES: &[(Self, &str)] = &[$((Self::$flag, $text),)*];

            /// Whether it has all of `other`.
            #[inline(always)]
            pub fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
            /// Without what has no name.
            #[must_use]
            pub fn known(self) -> Self {
                Self(self.0 & (0 $(| $bit)*))
            }
            /// Both together.
            #[must_use]
            pub fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
            /// The flag with this word, in any case.
            pub fn named(word: &str) -> Option<Self> {
                let found = Self::NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(word));
                found.map(|(flag, _)| *flag)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let set = Self::NAMES.iter().filter(|(flag, _)| self.has(*flag));
                set.map(|(_, name)| name).try_for_each(|name| write!(f, "{name},"))
            }
        }
    };
}

flags! {
    /// Flags for all packets of a route.
    EntryFlags;
    /// Control wants to hear of packets.
    SIGNAL = 1, "Signal";
    /// Packets are dropped.
    DROP = 2, "Drop";
    /// Control wants to hear of packets whose source is on a connected network.
    CONNECTED = 4, "Connected";
    /// Packets are accepted from every interface.
    ACCEPT_ALL = 8, "Accept-all-itf";
}

flags! {
    /// Purpose of a route's path.
    ItfFlags;
    /// The opposite of the route's `Signal`.
    NEGATE_SIGNAL = 1, "Negate-Signal";
    /// Packets that come from there are accepted.
    ACCEPT = 2, "Accept";
    /// Copies go there.
    FORWARD = 4, "Forward";
    /// A signal waits to be read.
    SIGNAL_PRESENT = 8, "Signal-Present";
    /// Of no meaning here; kept.
    DONT_PRESERVE = 16, "Don't-Preserve";
}

/// One way of a multicast route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MPath {
    /// Target: an interface, a neighbour there, or this router.
    pub path: Path,
    /// Its purpose.
    pub flags: ItfFlags,
}

/// A group or a range of groups, and the source, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MPrefix {
    /// First address of the range.
    pub group: IpAddr,
    /// Length of the range's prefix in bits.
    pub len: u8,
    /// The source; only for single groups.
    pub source: Option<IpAddr>,
}

impl fmt::Display for MPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Some(source) => write!(f, "({source}, {}/{})", self.group, self.len),
            None => write!(f, "(*, {}/{})", self.group, self.len),
        }
    }
}

/// Everything about multicast routing that control owns.
pub struct Mfib {
    ip4: MTables<Ip4>,
    ip6: MTables<Ip6>,
    routes: SharedSlab<MRoute>,
    counters: Rows<VolumeCounter>,
}

impl Mfib {
    pub(crate) fn new(stats: &mut Segment) -> io::Result<Self> {
        let mut routes = SharedSlab::new(MAX_ROUTES)?;
        // Number 0 is no route.
        let none = MRoute::nowhere(TableIndex::DEFAULT);
        routes.insert(none).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let counters = stats.combined("/net/mroute", COLUMNS).map_err(io::Error::other)?;
        Ok(Self { ip4: MTables::new()?, ip6: MTables::new()?, routes, counters })
    }
}

impl Mfib {
    /// Number of routes.
    pub fn route_count(&self) -> usize {
        self.ip4.iter().map(|(_, t)| t.entries.len()).sum::<usize>()
            + self.ip6.iter().map(|(_, t)| t.entries.len()).sum::<usize>()
    }
}

/// Reasons why a multicast route is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such table
    #[retval(NO_SUCH_FIB)]
    NoTable,
    /// no such route
    #[retval(NO_SUCH_ENTRY)]
    NoRoute,
    /// table is full
    #[retval(TABLE_TOO_BIG)]
    Full,
    /// a source needs a single group of the same address family
    #[retval(INVALID_VALUE)]
    Prefix,
    /// {0}
    #[from]
    Path(fib::Error),
}

/// Multicast routing: nodes and commands.
pub const FEATURE: Feature = Feature {
    name: "mfib",
    about: "Multicast routing",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["fib"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut *parts.router;
    router.interfaces.observe(follow);
    let routes = |r: &Router| ("replicate", size_of::<MRoute>(), r.mfib.route_count());
    router.fib.more_objects.push(routes);
    router.fib.more_tables.push(objects::sizes);
    forward::register(router).map_err(refuse)?;
    replicate::register(router).map_err(refuse)?;
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

/// Follows changes of interfaces.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        router.mfib_forget_interface(interface);
    }
}
