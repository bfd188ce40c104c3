//! Bidirectional forwarding detection over UDP (RFC 5880 to 5883): two routers find out within
//! milliseconds that packets between them no longer get there.
//!
//! A session is between two addresses, over one hop on an interface or over several. Nodes check
//! and authenticate what comes; control runs the machines and sends. While a session that was up is
//! down, no route goes over its neighbour, or through the address of its other end (RFC 5882
//! section 4): unless an operator put it down, at this end or at the other.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod echo;
mod keys;
mod machine;
mod node;
mod ports;
mod process;
mod properties;
mod send;
mod session;
mod show;
mod table;

use control::stats::gauges::Gauges;
use control::stats::{Columns, Number};
use infra::counter::Rows;
use net::prelude::*;
use wire::bfd::State;

pub use api::*;
pub use echo::{EchoSource, echo_source, remove_echo_source, set_echo_source};
pub use keys::{Authentication, Key as AuthKey, Keys};
pub use machine::{Machine, Parameters, Remote, ToSend};
pub use node::{Carried, ControlInput, EchoInput, Heard};
pub use process::Process;
pub use session::{
    Session, activate, add, deactivate, modify, remove, set_admin, set_key, unset_key,
};
pub use table::{EchoKey, Entry, Key, Table};

/// Most sessions there may be.
pub const MAX_SESSIONS: usize = 4096;
/// Counters by number of the session.
const COLUMNS: Columns = Columns::growing("bfd-session", MAX_SESSIONS);
/// Type of service of packets, unless another one is set: CS6 (RFC 5881 section 9 asks for a
/// priority that fits).
const TOS: u8 = 192;

/// Bidirectional forwarding detection.
pub const FEATURE: Feature = Feature {
    name: "bfd",
    about: "Bidirectional forwarding detection",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6", "neighbor"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Reasons for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// addresses must have the same IP version
    #[retval(INVALID_ARGUMENT)]
    MixedVersions,
    /// desired-min-tx must not be 0
    #[retval(INVALID_ARGUMENT)]
    NoInterval,
    /// detect-mult must not be 0
    #[retval(INVALID_ARGUMENT)]
    NoDetectMult,
    /// the session exists
    #[retval(BFD_EEXIST)]
    Exists,
    /// no such session
    #[retval(BFD_ENOENT)]
    NoSession,
    /// no such key
    #[retval(BFD_ENOENT)]
    NoKey,
    /// the key is in use
    #[retval(BFD_EINUSE)]
    KeyInUse,
    /// unknown authentication type {0}
    #[retval(BFD_NOTSUPP)]
    UnknownType(u8),
    /// a key has 1 to 20 bytes, not {0}
    #[retval(INVALID_ARGUMENT)]
    KeyLength(usize),
    /// at most 4096 keys
    #[retval(LIMIT_EXCEEDED)]
    TooManyKeys,
    /// at most 4096 sessions
    #[retval(LIMIT_EXCEEDED)]
    TooManySessions,
    /// UDP port {0} is in use
    #[retval(UDP_PORT_TAKEN)]
    PortTaken(u16),
    /// no adjacency to the peer
    #[retval(INVALID_DST_ADDRESS)]
    NoAdjacency,
}

/// Counters of sessions: control and echo packets.
struct Counters {
    rx: Rows<VolumeCounter>,
    rx_echo: Rows<VolumeCounter>,
    tx: Rows<VolumeCounter>,
    tx_echo: Rows<VolumeCounter>,
}

/// Everything that control keeps.
struct Bfd {
    /// By number.
    sessions: Vec<Option<Session>>,
    by_key: BTreeMap<Key, u32>,
    keys: Keys,
    echo_source: Option<InterfaceIndex>,
    /// Routes that let echo packets in.
    exempt: BTreeSet<(TableIndex, Prefix)>,
    tos: u8,
    /// Whether clients want the port of several hops to be taken without sessions as well.
    wants_multihop: bool,
    /// Hops of a packet at most.
    hops: u8,
    ports: ports::Taken,
    table: Shared<Table>,
    counters: Counters,
    /// Numbers of sessions: IPv4 over one hop and over several, IPv6 the same.
    gauges: [Number; 4],
}

impl Bfd {
    fn at(&self, key: &Key) -> Option<&Session> {
        self.by_key.get(key).and_then(|at| self.sessions[*at as usize].as_ref())
    }
    fn at_mut(&mut self, index: u32) -> Option<&mut Session> {
        self.sessions.get_mut(index as usize)?.as_mut()
    }
    /// Lets nodes see the sessions as they are.
    fn publish(&mut self) {
        let mut table = Table { least_ttl: u8::MAX - (self.hops - 1), ..Table::default() };
        for session in self.sessions.iter().flatten() {
            let discriminator = session.machine.discriminator;
            table.by_discriminator.insert(discriminator, session.entry());
            table.by_key.insert(session.key, discriminator);
        }
        self.table.publish(table);
    }
}

/// All sessions, by their names.
pub fn sessions(router: &Router) -> impl Iterator<Item = &Session> {
    let bfd = router.own::<Bfd>();
    bfd.by_key.values().filter_map(|at| bfd.sessions[*at as usize].as_ref())
}

/// The keys.
pub fn keys(router: &Router) -> &Keys {
    &router.own::<Bfd>().keys
}

/// Type of service of packets.
pub fn tos(router: &Router) -> u8 {
    router.own::<Bfd>().tos
}

/// Sets the type of service of packets.
pub fn set_tos(router: &mut Router, tos: u8) {
    router.own_mut::<Bfd>().tos = tos;
}

/// Takes packets of several hops also without sessions.
///
/// # Errors
/// [`Error::PortTaken`].
pub fn set_multihop(router: &mut Router, is_on: bool) -> Result<(), Error> {
    let before = std::mem::replace(&mut router.own_mut::<Bfd>().wants_multihop, is_on);
    let done = ports::follow(router, None);
    if done.is_err() {
        router.own_mut::<Bfd>().wants_multihop = before;
    }
    done
}

/// Whether packets of several hops are taken also without sessions.
pub fn is_multihop_enabled(router: &Router) -> bool {
    router.own::<Bfd>().wants_multihop
}

/// Sets how many hops packets of multihop sessions may take, at least 1 (RFC 5082).
pub fn set_hops(router: &mut Router, hops: u8) {
    let bfd = router.own_mut::<Bfd>();
    bfd.hops = hops.max(1);
    bfd.publish();
}

/// Hops that packets of multihop sessions may take.
pub fn hops(router: &Router) -> u8 {
    router.own::<Bfd>().hops
}

/// Forgets the sessions of an interface that goes.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    if router.own::<Bfd>().echo_source == Some(interface) {
        remove_echo_source(router);
    }
    let gone = sessions(router).filter(|s| s.key.interface == Some(interface));
    for key in gone.map(|s| s.key).collect::<Vec<_>>() {
        session::end(router, key);
    }
}

/// Sessions as numbers, for Prometheus and the console.
fn add_gauges(router: &mut Router, gauges: &mut Gauges) {
    for session in sessions(router) {
        let Key { interface, local, peer } = session.key;
        let interface = interface.map_or("", |i| router.interfaces.name(i.0));
        let (local, peer) = (local.to_string(), peer.to_string());
        let labels = [("interface", interface), ("local", &local), ("peer", &peer)];
        let is_up = f64::from(u8::from(session.machine.state == State::Up));
        gauges.gauge("bfd_session_up", "Whether a BFD session is up.", &labels, is_up);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let mut rows = |name| router.stats.combined(name, COLUMNS).map_err(refuse);
    let counters = Counters {
        rx: rows("/bfd/rx-session-counters")?,
        rx_echo: rows("/bfd/rx-session-echo-counters")?,
        tx: rows("/bfd/tx-session-counters")?,
        tx_echo: rows("/bfd/tx-session-echo-counters")?,
    };
    let mut gauge = |name| router.stats.gauge(name).map_err(refuse);
    let gauges = [
        gauge("/bfd/udp4/sessions")?,
        gauge("/bfd/udp4/sessions_mh")?,
        gauge("/bfd/udp6/sessions")?,
        gauge("/bfd/udp6/sessions_mh")?,
    ];
    let table = Shared::new(Table::default());
    router.engine.add(Process).map_err(refuse)?;
    add_nodes::<V4>(router, &table, &counters)?;
    add_nodes::<V6>(router, &table, &counters)?;
    router.insert(Bfd {
        sessions: Vec::new(),
        by_key: BTreeMap::new(),
        keys: Keys::default(),
        echo_source: None,
        exempt: BTreeSet::new(),
        tos: TOS,
        wants_multihop: false,
        hops: u8::MAX,
        ports: ports::Taken::default(),
        table,
        counters,
        gauges,
    });
    router.gauges.push(add_gauges);
    router.events.handle(session::heard);
    router.interfaces.observe(follow);
    router.addresses.observe(|router, interface, _| echo::follow(router, interface));
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

fn add_nodes<V: Carried>(
    router: &mut Router,
    table: &Shared<Table>,
    counters: &Counters,
) -> Result<(), Refused> {
    let mut parts = |counters: &Rows<VolumeCounter>| node::Parts {
        table: table.reader(),
        counters: counters.clone(),
        events: router.events.sender(),
    };
    let (control, echo) = (parts(&counters.rx), parts(&counters.rx_echo));
    router.engine.add(ControlInput::<V>(control, PhantomData)).map_err(refuse)?;
    router.engine.add(EchoInput::<V>(echo, PhantomData)).map(drop).map_err(refuse)
}
