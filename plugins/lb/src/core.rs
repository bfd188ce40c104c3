//! Data shared by the nodes, and control's end of it.

use std::hash::{BuildHasher, RandomState};

use control::stats::Columns;
use infra::counter::Rows;
use infra::table::exact::{Exact, ExactReader};
use net::prelude::*;
use sessions::{Flow6, Key};

use crate::maglev::bits;
use crate::sticky::Flows;
use crate::vip::{MOST_SERVERS, MOST_VIPS};

/// Nodes of VIPs for all ports.
pub const WHOLE: usize = 0;
/// Nodes of VIPs for a port each.
pub const PORT: usize = 1;

/// Columns of a counter for each VIP.
pub const COLUMNS: Columns = Columns::growing("lb-vip", MOST_VIPS);
/// Packets of flows that have a server.
pub const KNOWN: usize = 0;
/// Packets that begin a flow.
pub const NEW: usize = 1;
/// Packets of flows that are not remembered.
pub const UNTRACKED: usize = 2;
/// Packets that no server takes.
pub const NO_SERVER: usize = 3;
/// Names of these, as clients see them.
const NAMES: [&str; 4] = ["/lb/vip/known", "/lb/vip/new", "/lb/vip/untracked", "/lb/vip/no-server"];

/// A VIP as nodes find it.
#[derive(Clone, Debug)]
pub struct VipView {
    /// The server, by number, that has each place of the table of new flows; empty without any.
    pub places: Vec<u32>,
    /// DSCP of L3DSR.
    pub dscp: u8,
    /// Whether all flows of a source go to one server.
    pub is_sticky: bool,
    /// The protocol; any other where the VIP has all.
    pub protocol: Protocol,
    /// Server port, for NAT.
    pub target_port: u16,
    /// Source of server replies.
    pub answers_from: (IpAddr, u16),
}

/// A server of a VIP as nodes find it.
#[derive(Clone, Copy, Debug)]
pub struct ServerView {
    /// The address.
    pub addr: IpAddr,
    /// The load balance that leads there.
    pub balance: u32,
    /// A number that no other server of this place had, and this one only since its flows ended.
    pub generation: u32,
    /// VIP.
    pub vip: u32,
}

/// The VIPs of a prefix as nodes find them.
#[derive(Clone, Debug, Default)]
pub struct PrefixView {
    /// The one for all ports.
    pub whole: Option<u32>,
    /// Those for a port each, in order.
    pub ports: Vec<((u8, u16), u32)>,
}

impl PrefixView {
    /// The VIP of a protocol and port.
    #[inline(always)]
    pub fn of_port(&self, protocol: Protocol, port: u16) -> Option<u32> {
        let at = self.ports.binary_search_by_key(&(protocol.0, port), |(key, _)| *key).ok()?;
        Some(self.ports[at].1)
    }
}

/// Sources of packets in GRE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Of IPv4; unspecified for none.
    pub ip4: Ipv4Addr,
    /// Of IPv6; unspecified for none.
    pub ip6: Ipv6Addr,
}

/// Ports of the router's own addresses that VIPs are met at, in order: whether of IPv6, the port
/// and the VIP.
#[derive(Clone, Debug, Default)]
pub struct NodePorts(pub Vec<((bool, u16), u32)>);

/// A hash of an end that answers, never 0.
pub fn answer_key(addr: IpAddr, port: u16, protocol: Protocol) -> u64 {
    let version = if addr.is_ipv4() { 4 } else { 6 };
    Flow6::new((bits(addr), port), ([0; 16], 0), protocol, version).hash(0x6c62).max(1)
}

/// Data shared by the nodes.
#[derive(Clone)]
pub struct Core {
    /// VIPs.
    pub vips: SlabReader<VipView>,
    /// Their prefixes.
    pub prefixes: SlabReader<PrefixView>,
    /// Servers.
    pub servers: SlabReader<ServerView>,
    /// Servers by what they answer from: number and one more.
    pub answers: ExactReader,
    /// Ports of the router's own addresses.
    pub node_ports: Reader<NodePorts>,
    /// Known flows.
    pub flows: Reader<Flows>,
    /// Sources.
    pub sources: Reader<Sources>,
    /// Packets by VIP.
    pub counts: [Rows<VolumeCounter>; 4],
    /// The seed of the keys of known flows.
    pub secret: u64,
}

/// Control's end.
pub struct Tables {
    /// VIPs.
    pub vips: SharedSlab<VipView>,
    /// Their prefixes.
    pub prefixes: SharedSlab<PrefixView>,
    /// Servers.
    pub servers: SharedSlab<ServerView>,
    /// Servers by what they answer from: number and one more.
    pub answers: Exact,
    /// Ports of the router's own addresses.
    pub node_ports: Shared<NodePorts>,
    /// Known flows.
    pub flows: Shared<Flows>,
    /// Sources.
    pub sources: Shared<Sources>,
    /// Packets by VIP.
    pub counts: [Rows<VolumeCounter>; 4],
}

impl Core {
    /// With nothing in it, and control's end.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space, and the statistics'.
    pub fn new(router: &mut Router) -> io::Result<(Tables, Self)> {
        let mut count = |at: usize| router.stats.combined(NAMES[at], COLUMNS);
        let mut count = |at| count(at).map_err(io::Error::other);
        let counts = [count(KNOWN)?, count(NEW)?, count(UNTRACKED)?, count(NO_SERVER)?];
        let none = Sources { ip4: Ipv4Addr::UNSPECIFIED, ip6: Ipv6Addr::UNSPECIFIED };
        let shared = Tables {
            vips: SharedSlab::new(MOST_VIPS)?,
            prefixes: SharedSlab::new(MOST_VIPS)?,
            servers: SharedSlab::new(MOST_SERVERS)?,
            answers: Exact::new(1024)?,
            node_ports: Shared::new(NodePorts::default()),
            flows: Shared::new(Flows::new(0, 0, 0)?),
            sources: Shared::new(none),
            counts,
        };
        let core = Self {
            vips: shared.vips.reader(),
            prefixes: shared.prefixes.reader(),
            servers: shared.servers.reader(),
            answers: shared.answers.reader(),
            node_ports: shared.node_ports.reader(),
            flows: shared.flows.reader(),
            sources: shared.sources.reader(),
            counts: shared.counts.clone(),
            secret: RandomState::new().hash_one(()),
        };
        Ok((shared, core))
    }
    /// The VIP that a server answers for from an address, port and protocol.
    #[inline(always)]
    pub fn answering<'e>(
        &'e self,
        (addr, port): (IpAddr, u16),
        protocol: Protocol,
        epoch: Epoch<'e>,
    ) -> Option<&'e VipView> {
        let found = self.answers.read(epoch).find(answer_key(addr, port, protocol));
        let server = self.servers.read(u32::try_from(found.checked_sub(1)?).ok()?, epoch)?;
        let vip = self.vips.read(server.vip, epoch)?;
        let is_it = (server.addr, vip.target_port, vip.protocol) == (addr, port, protocol);
        is_it.then_some(vip)
    }
}
