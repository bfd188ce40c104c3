//! Control's state, and requests about VIPs.

use net::fib::Followed;
use net::prelude::*;

use crate::core::{COLUMNS, NodePorts, PORT, PrefixView, Sources, Tables, VipView, WHOLE};
use crate::route::{Routes, lead, lead_port, unlead};
use crate::servers;
use crate::sticky::Flows;
use crate::vip::{Error, Key, MOST_BUCKETS, Service, Vip};

/// Default buckets of known flows per thread.
pub const BUCKETS: u32 = 1024;
/// Default idle timeout of flows in seconds.
pub const TIMEOUT: u32 = 40;

/// A server of a VIP.
pub struct Server {
    /// Its number among those of all VIPs.
    pub number: u32,
    /// Its share of new flows: 0 to 100.
    pub weight: u8,
    /// Whether it is declared; else it stays until its flows are over.
    pub is_used: bool,
    /// Time when it was added, in seconds of the router's clock.
    pub since: f64,
    /// The route to it.
    pub followed: Followed,
}

/// An existing VIP.
pub struct Declared {
    /// Number.
    pub number: u32,
    /// VIP.
    pub vip: Vip,
    /// Its servers, in the order of their addresses.
    pub servers: BTreeMap<IpAddr, Server>,
}

/// Control's state.
pub struct Lb {
    /// In the nodes' hands.
    pub tables: Tables,
    /// Routes.
    pub routes: Routes,
    /// Buckets of known flows on each thread.
    pub buckets: u32,
    /// Inactive timeout in seconds.
    pub timeout: u32,
    /// VIPs.
    pub vips: BTreeMap<Key, Declared>,
    /// Numbers of their prefixes.
    prefixes: BTreeMap<Prefix, u32>,
    /// The last generation of a server.
    pub generation: u32,
}

impl Lb {
    /// Nothing yet.
    pub fn new(tables: Tables, routes: Routes) -> Self {
        Self {
            tables,
            routes,
            buckets: BUCKETS,
            timeout: TIMEOUT,
            vips: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            generation: 0,
        }
    }
    /// A VIP.
    pub fn vip_mut(&mut self, key: &Key) -> Result<&mut Declared, Error> {
        self.vips.get_mut(key).ok_or(Error::NoVip)
    }
    /// VIPs of a prefix: the one of a protocol and port, or without these all of them.
    pub fn of_prefix(&self, key: &Key) -> impl Iterator<Item = &Declared> {
        let (prefix, port) = (key.prefix, key.port);
        let is_it = move |k: &Key| k.prefix == prefix && (port.is_none() || k.port == port);
        self.vips.iter().filter(move |(k, _)| is_it(k)).map(|(_, declared)| declared)
    }
}

/// A change of what holds for all VIPs; what is `None` stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conf {
    /// The source of packets in GRE over IPv4.
    pub ip4: Option<Ipv4Addr>,
    /// The source of packets in GRE over IPv6.
    pub ip6: Option<Ipv6Addr>,
    /// Buckets of known flows on each thread.
    pub buckets: Option<u32>,
    /// Inactive timeout in seconds.
    pub timeout: Option<u32>,
}

/// Changes what holds for all VIPs. Another number of buckets ends all flows.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn configure(router: &mut Router, conf: Conf) -> Result<(), Error> {
    let Conf { ip4, ip6, buckets, timeout } = conf;
    if let Some(bad) = buckets.filter(|n| !n.is_power_of_two() || *n > MOST_BUCKETS) {
        return Err(Error::Buckets(bad));
    }
    if timeout == Some(0) {
        return Err(Error::Timeout);
    }
    let threads = router.engine.thread_rows();
    let lb = router.own_mut::<Lb>();
    let (buckets, timeout) = (buckets.unwrap_or(lb.buckets), timeout.unwrap_or(lb.timeout));
    let flows = match buckets == lb.buckets || lb.vips.is_empty() {
        true => lb.tables.flows.current().with_timeout(timeout),
        false => Flows::new(threads, buckets, timeout).map_err(|_| Error::Buckets(buckets))?,
    };
    (lb.buckets, lb.timeout) = (buckets, timeout);
    lb.tables.flows.publish(flows);
    let old = *lb.tables.sources.current();
    let new = Sources { ip4: ip4.unwrap_or(old.ip4), ip6: ip6.unwrap_or(old.ip6) };
    lb.tables.sources.publish(new);
    Ok(())
}

/// Ends all flows. Without a VIP there is room for none.
///
/// # Errors
/// [`Error::Full`]; flows stay then.
pub fn forget_flows(router: &mut Router) -> Result<(), Error> {
    let threads = router.engine.thread_rows();
    let lb = router.own_mut::<Lb>();
    let threads = if lb.vips.is_empty() { 0 } else { threads };
    let flows = Flows::new(threads, lb.buckets, lb.timeout).map_err(|_| Error::Full)?;
    lb.tables.flows.publish(flows);
    Ok(())
}

/// Adds a VIP, which has no servers yet.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_vip(router: &mut Router, vip: Vip) -> Result<(), Error> {
    vip.check()?;
    let lb = router.own::<Lb>();
    if lb.vips.contains_key(&vip.key) {
        return Err(Error::VipExists);
    }
    for (key, other) in lb.vips.iter().filter(|(key, _)| key.prefix == vip.key.prefix) {
        if key.port.is_none() || vip.key.port.is_none() {
            return Err(Error::Ports);
        }
        if other.vip.encap != vip.encap {
            return Err(Error::OtherEncap);
        }
    }
    let node_port = node_port(&vip);
    let ports = &lb.tables.node_ports.current().0;
    if let Some(taken) = node_port.filter(|new| ports.iter().any(|(port, _)| port == new)) {
        return Err(Error::NodePort(taken.1));
    }
    let view = view(&vip, Vec::new());
    let inserted = router.own_mut::<Lb>().tables.vips.insert(view);
    let number = inserted.map_err(|_| Error::Full)?;
    if let Err(why) = lead_here(router, &vip, number, node_port) {
        router.own_mut::<Lb>().tables.vips.remove(number);
        return Err(why);
    }
    for counts in router.own::<Lb>().tables.counts.clone() {
        router.count_from_zero(&counts, COLUMNS, number, "VIPs");
    }
    let lb = router.own_mut::<Lb>();
    lb.vips.insert(vip.key, Declared { number, vip, servers: BTreeMap::new() });
    if !lb.tables.flows.current().is_empty() {
        return Ok(());
    }
    if let Err(why) = forget_flows(router) {
        remove_vip(router, &vip.key)?;
        return Err(why);
    }
    Ok(())
}

/// Leads packets to a VIP that is new.
fn lead_here(
    router: &mut Router,
    vip: &Vip,
    number: u32,
    node_port: Option<(bool, u16)>,
) -> Result<(), Error> {
    if let Some(port) = node_port {
        lead_port(router, port, true)?;
    }
    if let Err(why) = lead_prefix(router, vip, number) {
        if let Some(port) = node_port {
            lead_port(router, port, false)?;
        }
        return Err(why);
    }
    if let Some(port) = node_port {
        change_ports(router, |ports| ports.push((port, number)));
    }
    Ok(())
}

fn lead_prefix(router: &mut Router, vip: &Vip, number: u32) -> Result<(), Error> {
    let prefix = vip.key.prefix;
    let lb = router.own_mut::<Lb>();
    if let Some(&at) = lb.prefixes.get(&prefix) {
        let mut view = lb.tables.prefixes.at(at).cloned().unwrap_or_default();
        view.ports.extend(vip.key.port.map(|(protocol, port)| ((protocol.0, port), number)));
        view.ports.sort_unstable();
        lb.tables.prefixes.replace(at, view);
        return Ok(());
    }
    let view = match vip.key.port {
        None => PrefixView { whole: Some(number), ports: Vec::new() },
        Some((protocol, port)) => {
            PrefixView { whole: None, ports: vec![((protocol.0, port), number)] }
        }
    };
    let place = if view.whole.is_some() { WHOLE } else { PORT };
    let at = lb.tables.prefixes.insert(view).map_err(|_| Error::Full)?;
    if let Err(why) = lead(router, prefix, (vip.encap.kind(), place), at) {
        router.own_mut::<Lb>().tables.prefixes.remove(at);
        return Err(why);
    }
    router.own_mut::<Lb>().prefixes.insert(prefix, at);
    Ok(())
}

/// Deletes a VIP with its servers.
///
/// # Errors
/// [`Error::NoVip`].
pub fn remove_vip(router: &mut Router, key: &Key) -> Result<(), Error> {
    let gone = router.own_mut::<Lb>().vips.remove(key).ok_or(Error::NoVip)?;
    let lb = router.own_mut::<Lb>();
    let at = lb.prefixes[&key.prefix];
    let mut view = lb.tables.prefixes.at(at).cloned().unwrap_or_default();
    view.whole = None;
    view.ports.retain(|(_, number)| *number != gone.number);
    if view.ports.is_empty() {
        lb.prefixes.remove(&key.prefix);
        unlead(router, key.prefix);
        router.own_mut::<Lb>().tables.prefixes.remove(at);
    } else {
        lb.tables.prefixes.replace(at, view);
    }
    if let Some(port) = node_port(&gone.vip) {
        change_ports(router, |ports| ports.retain(|(_, number)| *number != gone.number));
        // An unused number: that needs no node.
        let _ = lead_port(router, port, false);
    }
    for (addr, server) in gone.servers {
        servers::forget(router, &gone.vip, addr, server);
    }
    let lb = router.own_mut::<Lb>();
    lb.tables.vips.remove(gone.number);
    if lb.vips.is_empty() {
        forget_flows(router)?;
    }
    Ok(())
}

/// The port of the router's own addresses that a VIP is met at.
fn node_port(vip: &Vip) -> Option<(bool, u16)> {
    match vip.service {
        Service::NodePort(port) => Some((vip.key.prefix.addr().is_ipv6(), port)),
        Service::ClusterIp => None,
    }
}

fn change_ports(router: &mut Router, change: impl FnOnce(&mut Vec<((bool, u16), u32)>)) {
    let node_ports = &mut router.own_mut::<Lb>().tables.node_ports;
    let mut ports = node_ports.current().0.clone();
    change(&mut ports);
    ports.sort_unstable();
    node_ports.publish(NodePorts(ports));
}

/// A VIP as nodes find it.
pub fn view(vip: &Vip, places: Vec<u32>) -> VipView {
    VipView {
        places,
        dscp: vip.dscp,
        is_sticky: vip.is_sticky,
        protocol: vip.key.port.map_or(Protocol(u8::MAX), |(protocol, _)| protocol),
        target_port: vip.target_port,
        answers_from: (vip.key.prefix.addr(), vip.port_of_answers()),
    }
}
