//! L2TPv3 over IPv6 (RFC 3931): static sessions that carry Ethernet frames.
//!
//! A session is a tunnel of [`net::tunnel`] with input nodes of its own: a packet's session is
//! known by its number, or by one of its addresses, and must have the session's cookie.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod decap;

use net::prelude::*;
use net::tunnel::{
    Behind, Carrier, Encapsulate, Error as TunnelError, Kind, Outer, Tunnel, Tuple, made_mac,
};

pub use api::*;
pub use decap::{Decap, Error as DecapDrops};

use decap::{Known, Sessions};

/// The protocol in the IP header.
pub const L2TP: Protocol = Protocol(115);
/// Nodes that receive: as a feature of interfaces, and for addresses of this router.
const DECAP: [&str; 2] = ["l2tp-decap", "l2tp-decap-local"];
/// The node that sends.
const ENCAP: &str = "l2tp-encap";

/// A session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L2tp {
    /// Its number in packets that are received, and in those that are sent.
    pub sessions: (u32, u32),
    /// Cookies of packets that are received: the one now and the one before.
    pub local_cookies: [u64; 2],
    /// Cookie of packets that are sent.
    pub remote_cookie: u64,
    /// Whether the layer 2 sublayer follows the cookie.
    pub has_sublayer: bool,
}

impl Kind for L2tp {
    const PREFIX: &'static str = "l2tpv3_tunnel";
    const HARDWARE: &'static str = "L2TPv3";
    const INPUT: [&'static str; 2] = [DECAP[1]; 2];

    fn carrier(&self) -> Carrier {
        Carrier::Protocols(&[L2TP])
    }
    fn key(&self) -> u64 {
        self.sessions.0.into()
    }
    fn mac(&self, instance: u32) -> Option<MacAddr> {
        Some(made_mac::<Self>(instance))
    }
    fn output(&self, _: Link) -> Option<&'static str> {
        Some(ENCAP)
    }
    fn behind(&self, carried: Link) -> Option<Behind> {
        let (session, cookie) = (self.sessions.1.to_be_bytes(), self.remote_cookie.to_be_bytes());
        let sublayer = [0; 4];
        let sublayer = if self.has_sublayer { &sublayer[..] } else { &[] };
        let bytes = [&session[..], &cookie, sublayer].concat();
        (carried == Link::Ethernet).then(|| Behind { bytes, ..Behind::nothing(L2TP) })
    }
}

/// Drops of the node that sends.
#[derive(Clone, Copy, graph::Reason)]
pub enum EncapDrops {
    /// L2TP L2 session lookup failed pkts.
    #[name("L2TP L2 session lookup failed pkts")]
    NoSession,
}

/// Counters of the node that sends.
#[derive(Clone, Copy, graph::Count)]
pub enum EncapCount {
    /// L2TP L2 network to user (ip6) pkts.
    #[name("L2TP L2 network to user (ip6) pkts")]
    Sent,
}

impl Encapsulate for L2tp {
    type Error = EncapDrops;
    type Count = EncapCount;
    const NO_TUNNEL: EncapDrops = EncapDrops::NoSession;
    const ENCAPSULATED: EncapCount = EncapCount::Sent;
}

/// Lookup key of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Its source.
    Src,
    /// Its destination.
    Dst,
    /// The number of the session.
    #[default]
    Session,
}

impl By {
    /// The key of a session's packets.
    fn key(self, client: u128, our: u128, session: u32) -> u128 {
        match self {
            Self::Src => client,
            Self::Dst => our,
            Self::Session => session.into(),
        }
    }
}

/// State of control besides the tunnels.
struct Lookup(Shared<Sessions>);

/// Whether packets of sessions are taken on an interface, whatever address they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TakesAny(pub bool);

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// {0} is not an IPv6 address
    #[retval(INVALID_ADDRESS_FAMILY)]
    Family(IpAddr),
    /// existing sessions would become indistinguishable
    #[retval(INSTANCE_IN_USE)]
    InUse,
}

/// The address of a far end or of this router.
fn six(addr: IpAddr) -> Result<Ipv6Addr, Error> {
    match addr {
        IpAddr::V6(addr) => Ok(addr),
        IpAddr::V4(_) => Err(Error::Family(addr)),
    }
}

/// All sessions, as nodes read them; `None` where two would have one key.
fn table(router: &Router, by: By) -> Option<HashMap<u128, Known>> {
    let mut all = HashMap::new();
    for t in router.tunnels::<L2tp>().iter() {
        let key = by.key(Tuple::bits(t.outer.dst), Tuple::bits(t.outer.src), t.kind.sessions.0);
        let known = Known {
            interface: t.interface.0,
            session: t.kind.sessions.0,
            cookies: t.kind.local_cookies,
            has_sublayer: t.kind.has_sublayer,
        };
        if all.insert(key, known).is_some() {
            return None;
        }
    }
    Some(all)
}

/// Publishes the sessions to nodes, by the same or another key.
fn publish(router: &mut Router, by: By) -> Result<(), Error> {
    let all = table(router, by).ok_or(Error::InUse)?;
    router.own_mut::<Lookup>().0.publish(Sessions { by, all });
    Ok(())
}

fn by(router: &Router) -> By {
    router.own::<Lookup>().0.current().by
}

/// Makes a session.
///
/// # Errors
/// Why not; nothing is made then.
pub fn add(router: &mut Router, outer: Outer, l2tp: L2tp) -> Result<InterfaceIndex, TunnelError> {
    let by = by(router);
    let (client, our) = (Tuple::bits(outer.dst), Tuple::bits(outer.src));
    let key = by.key(client, our, l2tp.sessions.0);
    if router.own::<Lookup>().0.current().all.contains_key(&key) {
        return Err(TunnelError::Exists);
    }
    let made = router.add_tunnel(None, outer, l2tp)?;
    publish(router, by).expect("the key is unused");
    Ok(made)
}

/// Deletes a session with its interface.
///
/// # Errors
/// The interface is no session's.
pub fn remove(router: &mut Router, interface: InterfaceIndex) -> Result<(), TunnelError> {
    router.remove_tunnel::<L2tp>(interface)?;
    let by = by(router);
    publish(router, by).expect("fewer keys are as different as they were");
    Ok(())
}

/// Sets a new local cookie, which is valid beside the old one, and another remote one.
///
/// # Errors
/// The interface is no session's.
pub fn set_cookies(
    router: &mut Router,
    interface: InterfaceIndex,
    (local, remote): (u64, u64),
) -> Result<(), TunnelError> {
    let old = router.tunnels::<L2tp>().at(interface).ok_or(TunnelError::NoInterface)?.kind;
    let local_cookies = [local, old.local_cookies[0]];
    router.change_tunnel(interface, L2tp { local_cookies, remote_cookie: remote, ..old })?;
    let by = by(router);
    publish(router, by).expect("keys stay as they are");
    Ok(())
}

/// Receives packets of sessions on an interface, for any destination address, or stops.
///
/// # Errors
/// There is no such interface.
pub fn take_any(
    router: &mut Router,
    on: InterfaceIndex,
    is_on: bool,
) -> Result<(), net::interface::NoInterface> {
    router.put(on, TakesAny(is_on))
}

/// The sessions.
fn sessions(router: &Router) -> impl Iterator<Item = &Tunnel<L2tp>> {
    router.tunnels::<L2tp>().iter()
}

/// L2TPv3 over IPv6.
pub const FEATURE: Feature = Feature {
    name: "l2tp",
    about: "Layer 2 Tunneling Protocol v3 (L2TP)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["tunnel", "ethernet"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    router.add_tunnel_kind_without_input::<L2tp>();
    router.add_tunnel_outputs::<L2tp>(&[ENCAP]).map_err(refuse)?;
    let lookup = Lookup(Shared::new(Sessions::default()));
    let read = || (router.interfaces.ports(), router.interfaces.counters());
    let (feature, local) = (
        Decap::<true>::new(lookup.0.reader(), read()),
        Decap::<false>::new(lookup.0.reader(), read()),
    );
    router.attach::<TakesAny>().map_err(refuse)?;
    router.engine.place(&IP6_UNICAST, DECAP[0]).map_err(refuse)?;
    router.engine.add(feature).map_err(refuse)?;
    router.engine.add(local).map_err(refuse)?;
    router.attach_at::<TakesAny, _>([AttachedAt {
        arc: &IP6_UNICAST,
        node: DECAP[0],
        is_on: |on: &TakesAny| on.0,
    }]);
    router.insert(lookup);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
