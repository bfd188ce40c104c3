//! Peers: who they are, where they are, and their sessions.

use net::adjacency::chain::Hop;
use net::fib::Followed;
use net::ip::Chain;
use net::prelude::*;
use net::tunnel::{Behind, Outer};
use x25519_dalek::PublicKey;

use super::cookie::Sealer;
use super::keypair::{Activity, Keypair};
use super::noise::{Begun, Preshared, Stamp};
use super::tables::{Allowed, Receiving, Sending, place};
use super::{Endpoint, Error, Wireguard, api, handshake, output};

/// Peers there may be, of all interfaces.
pub const MAX_PEERS: usize = 65_536;
/// Hops of the outer header.
const HOPS: [u8; 2] = [254; 2];

/// A peer to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPeer {
    /// Interface.
    pub interface: InterfaceIndex,
    /// Public key of the peer.
    pub public: [u8; 32],
    /// The secret shared with it; zeros for none.
    pub preshared: Preshared,
    /// Its endpoint; `None` while it is to be found out.
    pub endpoint: Option<Endpoint>,
    /// Table that leads there.
    pub table: u32,
    /// Allowed IP prefixes.
    pub allowed: Vec<Prefix>,
    /// Persistent keepalive interval in seconds; 0 for none.
    pub keepalive: u16,
}

/// A peer.
pub struct Peer {
    pub(super) interface: InterfaceIndex,
    pub(super) public: PublicKey,
    pub(super) preshared: Preshared,
    /// As the operator said.
    pub(super) configured: Option<Endpoint>,
    /// Its address and port.
    pub(super) endpoint: Option<Endpoint>,
    pub(super) table: TableIndex,
    pub(super) allowed: Arc<[Prefix]>,
    pub(super) keepalive: u16,
    pub(super) activity: Arc<Activity>,
    pub(super) sealer: Sealer,
    followed: Option<Followed>,
    hop: Option<Hop>,
    /// Sessions: the one in use, the one before, and one that the peer has not used yet.
    pub(super) current: Option<Arc<Keypair>>,
    pub(super) previous: Option<Arc<Keypair>>,
    pub(super) next: Option<Arc<Keypair>>,
    /// A handshake that waits for its response.
    pub(super) attempt: Option<Attempt>,
    /// Time of the last initiation.
    pub(super) initiated: Option<f64>,
    /// Time in the last initiation that was sent.
    pub(super) sent_stamp: Stamp,
    /// Time in the last initiation that was received, and when that was.
    pub(super) stamp: Stamp,
    pub(super) stamp_at: Option<f64>,
    /// Since when there is something to do, as far as the timers have seen.
    pub(super) owes_answer: Option<f64>,
    pub(super) lacks_answer: Option<f64>,
    /// Last thing that was done against silence.
    pub(super) kept_alive: f64,
    pub(super) is_established: bool,
    pub(super) is_dead: bool,
}

/// A handshake under way.
pub struct Attempt {
    /// Time of the first initiation.
    pub since: f64,
    /// Time of the next one.
    pub again: f64,
    /// Own number of the session to be.
    pub local: u32,
    pub(super) begun: Begun,
}

impl Peer {
    fn chain(&self, src: IpAddr, port: u16, to: Endpoint) -> Chain {
        let mut behind = Behind::udp(to.1, &[]);
        behind.bytes[..2].copy_from_slice(&port.to_be_bytes());
        behind.keeps_port = true;
        let outer = Outer::new(src, to.0, self.table);
        // What is carried is encrypted: it has no fields that could be copied.
        outer.chain(to.0, HOPS, Link::Ethernet, &behind)
    }
    /// All sessions.
    pub(super) fn keypairs(&self) -> impl Iterator<Item = &Arc<Keypair>> {
        [&self.current, &self.previous, &self.next].into_iter().flatten()
    }
    /// Status as events and messages have it.
    pub fn flags(&self) -> api::WireguardPeerFlags {
        let mut flags = api::WireguardPeerFlags::default();
        if self.is_dead {
            flags.0 |= api::WireguardPeerFlags::STATUS_DEAD.0;
        }
        if self.is_established {
            flags.0 |= api::WireguardPeerFlags::ESTABLISHED.0;
        }
        flags
    }
}

/// Whether an endpoint can be that of a peer on an interface with this address.
fn check_endpoint(src: IpAddr, endpoint: Option<Endpoint>) -> Result<(), Error> {
    let Some((addr, port)) = endpoint else { return Ok(()) };
    if addr.is_ipv4() != src.is_ipv4() || addr.is_unspecified() || addr.is_multicast() {
        return Err(Error::Endpoint(addr));
    }
    if port == 0 { Err(Error::Port) } else { Ok(()) }
}

/// Adds a peer; on an interface that is up the handshake begins.
///
/// # Errors
/// [`Error`]; nothing is added then.
pub fn add(router: &mut Router, new: NewPeer) -> Result<u32, Error> {
    let all = router.own::<Wireguard>();
    let own = all.interfaces.get(&new.interface).ok_or(Error::NoInterface)?;
    let (src, public) = (own.src, PublicKey::from(new.public));
    check_endpoint(src, new.endpoint)?;
    if public == own.key.public || new.public == [0; 32] {
        return Err(Error::Key);
    }
    if new.allowed.is_empty() {
        return Err(Error::NothingAllowed);
    }
    let is_same = |peer: &Peer| peer.interface == new.interface && peer.public == public;
    if all.peers.values().any(is_same) {
        return Err(Error::Exists);
    }
    let number =
        (0..MAX_PEERS as u32).find(|n| !all.peers.contains_key(n)).ok_or(Error::Full(MAX_PEERS))?;
    let link = Link::of(src);
    let table = router.table_of(link, new.table).ok_or(Error::NoTable(new.table))?;
    let peer = Peer {
        interface: new.interface,
        public,
        preshared: new.preshared,
        configured: new.endpoint,
        endpoint: None,
        table,
        allowed: new.allowed.iter().map(Prefix::network).collect(),
        keepalive: new.keepalive,
        activity: Arc::default(),
        sealer: Sealer::new(&public),
        followed: None,
        hop: None,
        current: None,
        previous: None,
        next: None,
        attempt: None,
        initiated: None,
        sent_stamp: [0; 12],
        stamp: [0; 12],
        stamp_at: None,
        owes_answer: None,
        lacks_answer: None,
        kept_alive: router.now(),
        is_established: false,
        is_dead: false,
    };
    router.own_mut::<Wireguard>().peers.insert(number, peer);
    if let Some(endpoint) = new.endpoint
        && let Err(why) = set_endpoint(router, number, endpoint)
    {
        router.own_mut::<Wireguard>().peers.remove(&number);
        return Err(why);
    }
    router.use_table_of(link, table, true);
    publish(router, number);
    publish_allowed(router, new.interface);
    router.processes.signal(super::timers::PROCESS, 0);
    handshake::begin(router, number);
    Ok(number)
}

/// Removes a peer.
///
/// # Errors
/// [`Error::NoPeer`].
pub fn remove(router: &mut Router, number: u32) -> Result<(), Error> {
    if !router.own::<Wireguard>().peers.contains_key(&number) {
        return Err(Error::NoPeer(number));
    }
    end_sessions(router, number);
    set_dead(router, number, true);
    let all = router.own_mut::<Wireguard>();
    let Some(gone) = all.peers.remove(&number) else { return Ok(()) };
    all.tables.sending.put(number, None);
    all.subscriptions.retain(|s| s.peer != Some(number));
    let link = all.interfaces.get(&gone.interface).map(|own| Link::of(own.src));
    if let Some(followed) = gone.followed {
        router.unfollow(followed);
    }
    if let Some(link) = link {
        router.use_table_of(link, gone.table, false);
    }
    publish_allowed(router, gone.interface);
    Ok(())
}

/// Sets the destination of messages to a peer.
///
/// # Errors
/// [`Error`]; they go where they went then.
pub(super) fn set_endpoint(
    router: &mut Router,
    number: u32,
    endpoint: Endpoint,
) -> Result<(), Error> {
    let all = router.own::<Wireguard>();
    let peer = all.peers.get(&number).ok_or(Error::NoPeer(number))?;
    let own = all.interfaces.get(&peer.interface).ok_or(Error::NoInterface)?;
    if peer.endpoint == Some(endpoint) {
        return Ok(());
    }
    check_endpoint(own.src, Some(endpoint))?;
    let (link, table) = (Link::of(own.src), peer.table);
    let Chain { header, fixup, carries_offloads, .. } = peer.chain(own.src, own.port, endpoint);
    let followed = router.follow(link, table, endpoint.0, None).map_err(Error::Fib)?;
    let at = usize::from(link == Link::Ip6);
    let hop = Hop {
        header,
        fixup,
        carries_offloads,
        stacked: followed.load_balance(),
        fib: table.0,
        rewrite: output::REWRITE[at],
        balance: output::BALANCE[at],
    };
    let all = router.own_mut::<Wireguard>();
    let Some(peer) = all.peers.get_mut(&number) else { return Ok(()) };
    (peer.endpoint, peer.hop) = (Some(endpoint), Some(hop));
    let old = peer.followed.replace(followed);
    publish(router, number);
    if let Some(old) = old {
        router.unfollow(old);
    }
    Ok(())
}

/// Publishes a peer's data for sending to nodes.
pub(super) fn publish(router: &mut Router, number: u32) {
    let Wireguard { peers, tables, .. } = router.own_mut();
    let Some(peer) = peers.get(&number) else { return };
    let sending = Sending {
        interface: peer.interface.0,
        hop: peer.hop.clone(),
        keypair: peer.current.clone(),
        activity: Arc::clone(&peer.activity),
    };
    tables.sending.put(number, Some(sending));
}

/// Publishes a session to nodes.
pub(super) fn publish_session(router: &mut Router, keypair: &Arc<Keypair>) {
    let Wireguard { peers, tables, .. } = router.own_mut();
    let Some(peer) = peers.get(&keypair.peer) else { return };
    let receiving = Receiving {
        interface: peer.interface.0,
        keypair: Arc::clone(keypair),
        allowed: Arc::clone(&peer.allowed),
        activity: Arc::clone(&peer.activity),
    };
    tables.receiving.put(place(keypair.local), Some(receiving));
}

fn publish_allowed(router: &mut Router, interface: InterfaceIndex) {
    let Wireguard { peers, tables, interfaces, .. } = router.own_mut();
    let mine = peers.iter().filter(|(_, peer)| peer.interface == interface);
    let allowed = Allowed::of(mine.map(|(number, peer)| (*number, &peer.allowed[..])));
    tables.allowed.put(interface.0, interfaces.contains_key(&interface).then_some(allowed));
}

/// Ends all sessions of a peer, and the handshake under way.
pub(super) fn end_sessions(router: &mut Router, number: u32) {
    let Wireguard { peers, tables, begun, .. } = router.own_mut();
    let Some(peer) = peers.get_mut(&number) else { return };
    let gone = [peer.current.take(), peer.previous.take(), peer.next.take()];
    gone.into_iter().flatten().for_each(|keypair| tables.give_back(keypair.local));
    if let Some(attempt) = peer.attempt.take() {
        begun.remove(&attempt.local);
        tables.give_back(attempt.local);
    }
    (peer.initiated, peer.owes_answer, peer.lacks_answer) = (None, None, None);
    publish(router, number);
    set_established(router, number, false);
}

/// Ends a session that is not any of the peer's any more.
pub(super) fn end_session(router: &mut Router, keypair: Option<Arc<Keypair>>) {
    if let Some(keypair) = keypair {
        router.own_mut::<Wireguard>().tables.give_back(keypair.local);
    }
}

/// Says that there is a session, or none any more.
pub(super) fn set_established(router: &mut Router, number: u32, is_established: bool) {
    let Some(peer) = router.own_mut::<Wireguard>().peers.get_mut(&number) else { return };
    let is_dead = peer.is_dead && !is_established;
    if (peer.is_established, peer.is_dead) != (is_established, is_dead) {
        (peer.is_established, peer.is_dead) = (is_established, is_dead);
        api::announce(router, number);
    }
}

/// Says that a peer does not answer, or does again.
pub(super) fn set_dead(router: &mut Router, number: u32, is_dead: bool) {
    let Some(peer) = router.own_mut::<Wireguard>().peers.get_mut(&number) else { return };
    if peer.is_dead != is_dead {
        peer.is_dead = is_dead;
        api::announce(router, number);
    }
}
