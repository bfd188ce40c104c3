//! Tables that nodes read: peers by number, sessions by the number in messages, allowed addresses.

use graph::Payload;
use net::adjacency::Adjacency;
use net::adjacency::chain::Hop;
use net::interface::{Counters, MAX_INTERFACES, Port};
use net::ip::Stacked;
use net::prelude::*;

use super::keypair::{Activity, Keypair};
use super::peer::MAX_PEERS;

/// Bits of a session's number that are its place in the table; the others are random.
const PLACE_BITS: u32 = 20;
/// Sessions there may be: for each peer the current one, the last one, the next one and one more
/// whose handshake is under way.
pub const MAX_SESSIONS: usize = MAX_PEERS * 4;

const _: () = assert!(MAX_SESSIONS <= 1 << PLACE_BITS);

/// A peer, as what is sent to it needs it.
#[derive(Clone)]
pub struct Sending {
    /// Interface.
    pub interface: u32,
    /// Outer headers and the way to its endpoint, when that is known.
    pub hop: Option<Hop>,
    /// The current session.
    pub keypair: Option<Arc<Keypair>>,
    /// Times of the last messages.
    pub activity: Arc<Activity>,
}

/// A session, as what is received under it needs it.
#[derive(Clone)]
pub struct Receiving {
    /// The interface of its peer.
    pub interface: u32,
    /// Its keys.
    pub keypair: Arc<Keypair>,
    /// Sources of packets from the peer.
    pub allowed: Arc<[Prefix]>,
    /// Times of the last messages.
    pub activity: Arc<Activity>,
}

/// The peers of an interface by the addresses they are allowed.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Lengths of prefixes that there are, longest first, of IPv4 and IPv6.
    lens: [Vec<u8>; 2],
    peers: HashMap<Prefix, u32>,
}

impl Allowed {
    /// Of some peers. A prefix that two have is the later one's.
    pub fn of<'a>(peers: impl Iterator<Item = (u32, &'a [Prefix])>) -> Self {
        let mut this = Self::default();
        for (peer, prefixes) in peers {
            this.peers.extend(prefixes.iter().map(|prefix| (prefix.network(), peer)));
        }
        for prefix in this.peers.keys() {
            let lens = &mut this.lens[usize::from(prefix.addr().is_ipv6())];
            if !lens.contains(&prefix.prefix_len()) {
                lens.push(prefix.prefix_len());
            }
        }
        this.lens.iter_mut().for_each(|lens| lens.sort_unstable_by(|a, b| b.cmp(a)));
        this
    }
    /// The peer with the longest prefix of an address.
    #[inline]
    pub fn find(&self, addr: IpAddr) -> Option<u32> {
        let lens = &self.lens[usize::from(addr.is_ipv6())];
        let prefixes = lens.iter().filter_map(|len| Prefix::new(addr, *len).ok());
        let mut found = prefixes.filter_map(|prefix| self.peers.get(&prefix.network()));
        found.next().copied()
    }
}

/// The place of a session in the table, given its number.
pub fn place(local: u32) -> u32 {
    local & ((1 << PLACE_BITS) - 1)
}

/// A number for the session at a place.
pub fn number(place: u32, random: u32) -> u32 {
    place | random << PLACE_BITS
}

/// A packet on its way to the thread of a peer.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct ForPeer {
    /// Peer.
    pub peer: u32,
    /// Thread index.
    pub thread: u32,
}

impl Payload for ForPeer {
    const NAME: &'static str = "wireguard-peer";
}

/// Control's ends.
pub struct Tables {
    /// By number of the peer.
    pub sending: SharedSlab<Sending>,
    /// By [`place`].
    pub receiving: SharedSlab<Receiving>,
    /// By interface.
    pub allowed: SharedSlab<Allowed>,
    /// Places that are taken, and some that were given back.
    used: u32,
    free: Vec<u32>,
}

/// The ends of nodes.
#[derive(Clone)]
pub struct Readers {
    pub(super) sending: SlabReader<Sending>,
    pub(super) receiving: SlabReader<Receiving>,
    allowed: SlabReader<Allowed>,
    adjacencies: SlabReader<Adjacency>,
    pub(super) ports: SlabReader<Port>,
    pub(super) counters: Arc<Counters>,
    pub(super) stacked: Stacked,
}

impl Tables {
    /// Empty ones.
    ///
    /// # Errors
    /// The kernel's, when it refuses memory.
    pub fn new() -> Result<Self, Refused> {
        Ok(Self {
            sending: SharedSlab::new(MAX_PEERS).map_err(refuse)?,
            receiving: SharedSlab::new(MAX_SESSIONS).map_err(refuse)?,
            allowed: SharedSlab::new(MAX_INTERFACES).map_err(refuse)?,
            used: 0,
            free: Vec::new(),
        })
    }
    /// For nodes.
    pub fn readers(&self, router: &Router) -> Readers {
        Readers {
            sending: self.sending.reader(),
            receiving: self.receiving.reader(),
            allowed: self.allowed.reader(),
            adjacencies: router.adjacencies.reader(),
            ports: router.interfaces.ports(),
            counters: router.interfaces.counters(),
            stacked: Stacked::new(router),
        }
    }
    /// A number for a new session; `None` when there are as many as there may be.
    pub fn take(&mut self) -> Option<u32> {
        let random = u32::from_le_bytes(super::noise::random()?);
        let place = self.free.pop().or_else(|| {
            let is_left = (self.used as usize) < MAX_SESSIONS;
            is_left.then(|| {
                self.used += 1;
                self.used - 1
            })
        })?;
        Some(number(place, random))
    }
    /// Forgets a session.
    pub fn give_back(&mut self, local: u32) {
        self.receiving.put(place(local), None);
        self.free.push(place(local));
    }
}

impl Readers {
    /// The peer of a packet to an interface: the one that is allowed the address of the route's
    /// next hop or, without one, the packet's destination.
    #[inline(always)]
    pub(super) fn peer_of(
        &self,
        interface: u32,
        adjacency: u32,
        destination: impl FnOnce() -> Option<IpAddr>,
        epoch: Epoch<'_>,
    ) -> Option<u32> {
        let via = self.adjacencies.read(adjacency, epoch);
        let via = via.filter(|a| a.interface.0 == interface && !a.next_hop.is_unspecified());
        let addr = via.map(|a| a.next_hop).or_else(destination)?;
        self.allowed.read(interface, epoch)?.find(addr)
    }
    /// The session of a number.
    #[inline(always)]
    pub(super) fn session<'e>(&'e self, local: u32, epoch: Epoch<'e>) -> Option<&'e Receiving> {
        self.receiving.read(place(local), epoch).filter(|r| r.keypair.local == local)
    }
}
