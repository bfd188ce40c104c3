//! Virtual routers (VRRP version 3, RFC 9568): several routers share addresses, of which one, the
//! master, answers for them; when it falls silent another takes over.
//!
//! Nodes check advertisements and answer for the addresses while this router is master; control
//! runs the machines and sends.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod group;
mod machine;
mod node;
mod send;
mod show;
mod table;
mod virtual_router;

use control::stats::Columns;
use control::stats::gauges::Gauges;
use net::arp::ARP;
use net::fib::Source;
use net::ip6::IP6_LOCAL;
use net::prelude::*;

pub use api::*;
pub use machine::State;
pub use node::{Error as Drops, Input};
pub use table::Key;
pub use virtual_router::{
    Settings, Tracked, VirtualRouter, add, remove, set_peers, start, stop, track, untrack, update,
};

use node::{Answer4, Answer6, ErrorCounters};
use table::Table;

/// Most virtual routers there may be.
pub const MAX_VIRTUAL_ROUTERS: usize = 4096;
/// Priority of the source of addresses among those of routes.
const PRIORITY: u8 = 0x70;

/// Reasons for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// not an Ethernet interface
    #[retval(INVALID_INTERFACE)]
    NoEthernet,
    /// a virtual router ID is 1 to 255
    #[retval(INVALID_VALUE)]
    Id,
    /// a priority is 1 to 255
    #[retval(INVALID_VALUE)]
    Priority,
    /// an interval is 1 to 4095 hundredths of a second
    #[retval(INVALID_VALUE)]
    Interval,
    /// a virtual router has 1 to 255 addresses
    #[retval(INVALID_ARGUMENT)]
    Addresses,
    /// {0} is of another IP version, or not a host address
    #[retval(INVALID_ARGUMENT)]
    Address(IpAddr),
    /// the virtual router exists
    #[retval(ENTRY_ALREADY_EXISTS)]
    Exists,
    /// interface, ID and IP version of a virtual router cannot be changed
    #[retval(INVALID_ARGUMENT)]
    OtherName,
    /// no such virtual router
    #[retval(NO_SUCH_ENTRY)]
    NoVirtualRouter,
    /// at most {0} virtual routers
    #[retval(LIMIT_EXCEEDED)]
    TooMany(usize),
    /// the virtual router is unicast and has no peers
    #[retval(INVALID_ARGUMENT)]
    NoPeers,
    /// the virtual router is not unicast
    #[retval(INVALID_ARGUMENT)]
    NoUnicast,
    /// a virtual router cannot track its own interface
    #[retval(INVALID_ARGUMENT)]
    TracksItself,
    /// the interface is not tracked
    #[retval(NO_SUCH_ENTRY)]
    NotTracked,
    /// a virtual router tracks at most {0} interfaces
    #[retval(LIMIT_EXCEEDED)]
    TooManyTracked(usize),
}

/// State of control.
struct Vrrp {
    /// By number.
    all: Vec<Option<VirtualRouter>>,
    by_key: BTreeMap<Key, u32>,
    table: Shared<Table>,
    /// Source of routes to the group.
    source: Source,
    /// Virtual routers that hear advertisements, by table.
    groups: BTreeMap<(Link, TableIndex), usize>,
}

/// Whether this router answers for addresses on an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answering {
    ip4: bool,
    ip6: bool,
}

/// All virtual routers, by interface, number and version.
pub fn virtual_routers(router: &Router) -> impl Iterator<Item = (u32, &VirtualRouter)> {
    let vrrp = router.own::<Vrrp>();
    vrrp.by_key.values().filter_map(|at| Some((*at, vrrp.all[*at as usize].as_ref()?)))
}

/// The virtual router of this name.
pub fn virtual_router(router: &Router, key: Key) -> Option<&VirtualRouter> {
    let vrrp = router.own::<Vrrp>();
    vrrp.all[*vrrp.by_key.get(&key)? as usize].as_ref()
}

fn at_mut(router: &mut Router, key: Key) -> Option<&mut VirtualRouter> {
    let vrrp = router.own_mut::<Vrrp>();
    vrrp.all[*vrrp.by_key.get(&key)? as usize].as_mut()
}

/// Lets nodes see the virtual routers as they are.
fn publish(router: &mut Router) {
    let mut table = Table::default();
    let mut answering: BTreeMap<InterfaceIndex, Answering> = BTreeMap::new();
    for (_, of) in virtual_routers(router) {
        if of.state.is_running() {
            table.heard.insert(of.key, of.settings.addrs.clone());
        }
        if of.state == State::Master {
            let on = answering.entry(of.key.on).or_default();
            *[&mut on.ip4, &mut on.ip6][of.key.version as usize] = true;
            let owned = of.settings.addrs.iter().map(|addr| ((of.key.on, *addr), of.key.mac()));
            table.owned.extend(owned);
        }
    }
    router.own_mut::<Vrrp>().table.publish(table);
    let before: Vec<_> = router.settings::<Answering>().map(|(on, _)| on).collect();
    for on in before.into_iter().chain(answering.keys().copied()) {
        let after = answering.get(&on).copied().unwrap_or_default();
        // An interface that goes has forgotten it.
        let _ = router.put(on, after);
    }
}

/// Virtual routers.
pub const FEATURE: Feature = Feature {
    name: "vrrp",
    about: "Virtual Router Redundancy Protocol version 3",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["arp", "nd", "mfib", "neighbor", "mld"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Virtual routers as numbers, for Prometheus and the console.
fn gauges(router: &mut Router, gauges: &mut Gauges) {
    for (_, of) in virtual_routers(router) {
        let Key { on, id, version } = of.key;
        let (interface, id) = (router.interfaces.name(on.0), id.to_string());
        let family = if version == IpVersion::V4 { "ip4" } else { "ip6" };
        let labels = [("interface", interface), ("id", &id), ("family", family)];
        let mut flag = |name, help, is| gauges.gauge(name, help, &labels, f64::from(u8::from(is)));
        let help = "Whether this router answers for the addresses of a virtual router.";
        flag("vrrp_master", help, of.state == State::Master);
        let help = "Whether a virtual router was started and its interface can send.";
        flag("vrrp_running", help, of.state.is_running());
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let mut counter = |name: &str| {
        let name = format!("/net/vrrp/{name}");
        router.stats.simple(&name, Columns::fixed(1)).map_err(refuse)
    };
    let counters = ErrorCounters {
        addresses: counter("addr-list-errs")?,
        checksum: counter("chksum-errs")?,
        length: counter("packet-len-errs")?,
        hops: counter("ttl-errs")?,
        version: counter("version-errs")?,
        id: counter("vrid-errs")?,
    };
    let table = Shared::new(Table::default());
    router.attach::<Answering>().map_err(refuse)?;
    let reader = table.reader();
    let engine = &mut router.engine;
    engine.add_feature(&ARP, Answer4(reader.clone())).map_err(refuse)?;
    engine.add_feature(&IP6_LOCAL, Answer6(reader.clone())).map_err(refuse)?;
    let events = (router.events.sender(), router.events.sender());
    let ip4 =
        Input::<false> { table: reader.clone(), counters: counters.clone(), events: events.0 };
    let ip6 = Input::<true> { table: reader, counters, events: events.1 };
    router.engine.add(ip4).map_err(refuse)?;
    router.engine.add(ip6).map_err(refuse)?;
    router.ip4_protocol(Protocol::VRRP, node::INPUT[0]).map_err(refuse)?;
    router.ip6_protocol(Protocol::VRRP, node::INPUT[1]).map_err(refuse)?;
    router.attach_at::<Answering, _>([
        AttachedAt { arc: &ARP, node: node::ANSWER[0], is_on: |on: &Answering| on.ip4 },
        AttachedAt { arc: &IP6_LOCAL, node: node::ANSWER[1], is_on: |on: &Answering| on.ip6 },
    ]);
    let source = router.fib.sources.add_own("vrrp", PRIORITY);
    let source = source.ok_or_else(|| refuse("there are too many sources of routes"))?;
    let (all, by_key, groups) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    router.gauges.push(gauges);
    router.insert(Vrrp { all, by_key, table, source, groups });
    router.events.handle(machine::heard);
    router.interfaces.observe(machine::follow_interface);
    router.addresses.observe(|router, on, _| machine::follow_addresses(router, on));
    let body = Box::new(|router: &mut Router, _| machine::look(router));
    router.processes.spawn(machine::PROCESS, body);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
