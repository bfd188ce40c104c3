//! Packet vector tunnels (PVTI): all IP packets that come to a tunnel in one frame travel together,
//! in as few UDP datagrams of the underlay's MTU as they fit into.
//!
//! A tunnel is an interface for IP packets. What it sends goes to one node over IPv4 and one over
//! IPv6 that all tunnels share; datagrams come to the input nodes from the first tunnel at a port
//! to the last. Far ends are known by address and port, whatever own address they send to.
#![forbid(unsafe_code)]

mod api;
mod bypass;
mod cli;
mod input;
mod output;
mod send;

use net::adjacency::chain::Hop;
use net::fib::{self, Followed};
use net::interface::{Error as InterfaceError, Kind, MAX_INTERFACES, NewInterface, Offloads};
use net::ip::{Chain, Stacked};
use net::prelude::*;
use net::tunnel::{Behind, Carrier, Outer, Tuple};
use wire::pvti::FRONT;

pub use api::*;
pub use bypass::{Bypass, Bypassing};
pub use input::{Error as InputDrops, Input};
pub use output::{Error as OutputDrops, Output};

use input::{Known, Peer, Peers};
use output::Sending;

/// Nodes that send, that receive, and that receive early.
const OUTPUT: [&str; 2] = ["pvti4-output", "pvti6-output"];
const INPUT: [&str; 2] = ["pvti4-input", "pvti6-input"];
const BYPASS: [&str; 2] = ["ip4-pvti-bypass", "ip6-pvti-bypass"];
/// Hops of the outer header, one of which is spent here.
const HOPS: [u8; 2] = [128; 2];
/// MTU of a new tunnel: datagrams need not hold a packet.
const MTU: u32 = 9000;
/// MTU of the underlay unless it is said, and the least: what IPv4 asks of every link.
const UNDERLAY_MTU: u16 = 1500;
const LEAST_MTU: u16 = 128;

/// A tunnel, as the operator says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pvti {
    /// Own address and port.
    pub local: (IpAddr, u16),
    /// Remote address.
    pub remote: (IpAddr, u16),
    /// Longest datagram, with its IP header.
    pub underlay_mtu: u16,
    /// Table.
    pub table: TableIndex,
}

/// A tunnel.
struct Tunnel {
    instance: u32,
    pvti: Pvti,
    followed: Followed,
}

/// State of control.
struct Tunnels {
    all: BTreeMap<InterfaceIndex, Tunnel>,
    sending: SharedSlab<Sending>,
    /// Over IPv4 and over IPv6.
    peers: [Shared<Peers>; 2],
    /// Tunnels made so far.
    made: u64,
}

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// local and remote address have different address families
    #[retval(INVALID_ADDRESS_FAMILY)]
    Families,
    /// {0} cannot be the local address of a tunnel
    #[retval(INVALID_SRC_ADDRESS)]
    Source(IpAddr),
    /// {0} cannot be the remote address of a tunnel
    #[retval(INVALID_DST_ADDRESS)]
    Destination(IpAddr),
    /// port 0
    #[retval(INVALID_VALUE)]
    Port,
    /// the underlay MTU is below 128
    #[retval(INVALID_VALUE)]
    UnderlayMtu,
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// a tunnel to this remote address and port exists
    #[retval(TUNNEL_EXISTS)]
    Exists,
    /// the interface is not such a tunnel
    #[retval(INVALID_SW_IF_INDEX)]
    Unknown,
    /// peer addresses from the payload are not supported
    #[retval(UNIMPLEMENTED)]
    FromPayload,
    /// {0}
    #[retval(UDP_PORT_TAKEN)]
    Taken(net::ip::Error),
    /// {0}
    #[retval(LIMIT_EXCEEDED)]
    Interface(InterfaceError),
    /// {0}
    #[retval(UNSPECIFIED)]
    Fib(fib::Error),
}

impl Pvti {
    fn version(&self) -> IpVersion {
        self.remote.0.into()
    }
    /// The carrier of its packets, and the node that receives them.
    fn carrier(&self) -> (IpVersion, Carrier, &'static str) {
        let version = self.version();
        (version, Carrier::Port(self.local.1), INPUT[version as usize])
    }
    fn peer(&self) -> Peer {
        let remote = (Tuple::bits(self.remote.0), self.remote.1);
        Peer { remote, port: self.local.1 }
    }
    fn check(&self) -> Result<(), Error> {
        let Self { local, remote, underlay_mtu, .. } = *self;
        if local.0.is_ipv4() != remote.0.is_ipv4() {
            return Err(Error::Families);
        }
        if local.0.is_unspecified() || local.0.is_multicast() {
            return Err(Error::Source(local.0));
        }
        if remote.0.is_unspecified() || remote.0.is_multicast() || remote.0 == local.0 {
            return Err(Error::Destination(remote.0));
        }
        if local.1 == 0 || remote.1 == 0 {
            return Err(Error::Port);
        }
        if underlay_mtu < LEAST_MTU {
            return Err(Error::UnderlayMtu);
        }
        Ok(())
    }
    fn chain(&self) -> Chain {
        let mut behind = Behind::udp(self.remote.1, &[]);
        behind.bytes[..2].copy_from_slice(&self.local.1.to_be_bytes());
        behind.keeps_port = true;
        let outer = Outer::new(self.local.0, self.remote.0, self.table);
        // What is carried is no one packet whose fields could be copied.
        outer.chain(self.remote.0, HOPS, Link::Ethernet, &behind)
    }
}

/// Makes a tunnel, down.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn add(router: &mut Router, pvti: Pvti) -> Result<InterfaceIndex, Error> {
    pvti.check()?;
    let (link, at) = (Link::of(pvti.remote.0), pvti.version() as usize);
    let tunnels = router.own::<Tunnels>();
    if tunnels.peers[at].current().contains_key(&pvti.peer()) {
        return Err(Error::Exists);
    }
    let used: std::collections::BTreeSet<_> = tunnels.all.values().map(|t| t.instance).collect();
    let instance = (0..).find(|n| !used.contains(n)).expect("fewer tunnels than numbers");
    let (version, carrier, node) = pvti.carrier();
    router.use_carrier(version, carrier, node).map_err(Error::Taken)?;
    let followed = router.follow(link, pvti.table, pvti.remote.0, None);
    let made = followed.map_err(Error::Fib).and_then(|followed| {
        let made = make_interface(router, instance, OUTPUT[at]);
        match made {
            Ok(interface) => Ok((interface, followed)),
            Err(e) => {
                router.unfollow(followed);
                Err(Error::Interface(e))
            }
        }
    });
    let (interface, followed) = match made {
        Ok(made) => made,
        Err(e) => {
            router.leave_carrier(version, carrier, node);
            return Err(e);
        }
    };
    router.use_table_of(link, pvti.table, true);
    let Chain { header, fixup, carries_offloads, .. } = pvti.chain();
    let room = usize::from(pvti.underlay_mtu) - header.len() - FRONT;
    let edge = |router: &mut Router, to| router.engine.connect(OUTPUT[at], to).unwrap_or(Slot(0));
    let rewrite = edge(router, link.rewrite_node());
    let balance = edge(router, link.load_balance_node());
    let (stacked, fib) = (followed.load_balance(), pvti.table.0);
    let hop = Hop { header, fixup, carries_offloads, stacked, fib, rewrite, balance };
    let tunnels = router.own_mut::<Tunnels>();
    tunnels.made += 1;
    let unique = tunnels.made;
    tunnels.sending.put(interface.0, Some(Sending { hop, room, unique }));
    router.carry(interface, &followed);
    let tunnels = router.own_mut::<Tunnels>();
    tunnels.all.insert(interface, Tunnel { instance, pvti, followed });
    let mut peers = tunnels.peers[at].current().clone();
    peers.insert(pvti.peer(), Known { interface: interface.0, unique });
    tunnels.peers[at].publish(peers);
    Ok(interface)
}

fn make_interface(
    router: &mut Router,
    instance: u32,
    output: &str,
) -> Result<InterfaceIndex, InterfaceError> {
    let new = NewInterface {
        name: format!("pvti{instance}"),
        kind: Kind::Ip,
        hardware: "PVTI",
        mac: MacAddr::ZERO,
        mtu: MTU,
        offloads: Offloads::default(),
        link_follows_admin: true,
    };
    let tx = format!("{}-tx", new.name);
    let interface = router.add_interface(new, send::ToOutput)?;
    let connected = router.engine.connect(&tx, output);
    match connected {
        Ok(slot) => assert_eq!(slot, send::OUTPUT, "the first edge that is connected"),
        Err(e) => {
            router.remove_interface(interface);
            return Err(InterfaceError::Graph(e));
        }
    }
    Ok(interface)
}

/// Deletes a tunnel with its interface.
///
/// # Errors
/// [`Error::Unknown`].
pub fn remove(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    if !router.own::<Tunnels>().all.contains_key(&interface) {
        return Err(Error::Unknown);
    }
    router.remove_interface(interface);
    Ok(())
}

/// Gives up what a tunnel has whose interface goes.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    let tunnels = router.own_mut::<Tunnels>();
    let Some(gone) = tunnels.all.remove(&interface) else { return };
    tunnels.sending.put(interface.0, None);
    let at = gone.pvti.version() as usize;
    let mut peers = tunnels.peers[at].current().clone();
    peers.remove(&gone.pvti.peer());
    tunnels.peers[at].publish(peers);
    router.unfollow(gone.followed);
    router.use_table_of(Link::of(gone.pvti.remote.0), gone.pvti.table, false);
    let (version, carrier, node) = gone.pvti.carrier();
    router.leave_carrier(version, carrier, node);
}

/// Packet vector tunnels.
pub const FEATURE: Feature = Feature {
    name: "pvti",
    about: "Packet Vector Tunnel Interface",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "tunnel"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let tunnels = Tunnels {
        all: BTreeMap::new(),
        sending: SharedSlab::new(MAX_INTERFACES).map_err(refuse)?,
        peers: [Shared::new(Peers::new()), Shared::new(Peers::new())],
        made: 0,
    };
    let [four, six] = [0, 1].map(|at| tunnels.peers[at].reader());
    let read = |router: &Router| (router.interfaces.ports(), router.interfaces.counters());
    let (forwarding, stacked) = (router.fib.forwarding(), Stacked::new(router));
    let out4 = Output::<false>::new(tunnels.sending.reader(), forwarding.clone(), stacked.clone());
    let out6 = Output::<true>::new(tunnels.sending.reader(), forwarding, stacked);
    router.engine.add(out4).map_err(refuse)?;
    router.engine.add(out6).map_err(refuse)?;
    router.engine.add(Input::<false>::new(four.clone(), read(router))).map_err(refuse)?;
    router.engine.add(Input::<true>::new(six.clone(), read(router))).map_err(refuse)?;
    router.attach::<Bypassing>().map_err(refuse)?;
    router.engine.place(&IP4_UNICAST, BYPASS[0]).map_err(refuse)?;
    router.engine.place(&IP6_UNICAST, BYPASS[1]).map_err(refuse)?;
    router.engine.add(Bypass::<V4, false>::new(four)).map_err(refuse)?;
    router.engine.add(Bypass::<V6, true>::new(six)).map_err(refuse)?;
    router.attach_at::<Bypassing, _>([
        AttachedAt { arc: &IP4_UNICAST, node: BYPASS[0], is_on: |on: &Bypassing| on.0[0] },
        AttachedAt { arc: &IP6_UNICAST, node: BYPASS[1], is_on: |on: &Bypassing| on.0[1] },
    ]);
    router.insert(tunnels);
    router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
