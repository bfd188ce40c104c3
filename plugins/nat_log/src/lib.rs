//! Logs of address translation: sessions and bindings that come and go, and limits that are
//! reached, to a syslog collector (fields of RFC 7659) and as IPFIX records (RFC 8158).
//!
//! A node has a [`Log`]; control calls [`log`]. The events of a [`Translator`] are noted in the
//! event log as well, up to a level.
#![forbid(unsafe_code)]

mod api;
mod levels;
mod records;

use syslog::{Facility, Message, Severity, Structured};

use levels::Listeners;
use records::{Kind, Streams};

use net::prelude::*;

pub use api::*;
pub use levels::{Level, Translator};

/// Logs of address translation.
pub const FEATURE: Feature = Feature {
    name: "nat_log",
    about: "Logs of address translation",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ipfix", "syslog"],
    register,
    configuration: Configuration::Commands(api::configuration),
};

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// IPFIX logging is already disabled
    #[retval(FEATURE_ALREADY_DISABLED)]
    Disabled,
}

/// A session or a binding of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The host and its port.
    pub host: (IpAddr, u16),
    /// The host as seen outside.
    pub outside: (Ipv4Addr, u16),
    /// Protocol.
    pub protocol: Protocol,
    /// The host's table, by position.
    pub fib: u16,
    /// The end of the tunnel that the host is behind.
    pub tunnel: Option<Ipv6Addr>,
}

/// The far end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Far {
    /// External host.
    pub outside: (Ipv4Addr, u16),
    /// Translated external host, as the inside host sees it.
    pub inside: (IpAddr, u16),
}

/// An event of address translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A session has come, or gone.
    Session(bool, Ends, Far),
    /// A binding has come, or gone.
    Binding(bool, Ends),
    /// A session for all far ends has come, or gone.
    Mapping(bool, Ends),
    /// There are as many sessions as there may be.
    MaxSessions(u32),
    /// There are as many bindings as there may be.
    MaxBindings(u32),
    /// A host has as many sessions as it may have.
    MaxOfHost(u32, Ipv4Addr),
    /// All ports of a pool are in use.
    Exhausted(u32),
}

/// An event on its way to control.
#[derive(Clone, Copy)]
struct Told {
    by: Option<Translator>,
    record: Record,
}

impl Event for Told {
    const ROOM: usize = 4096;
}

impl Record {
    /// Position of a limit among all.
    fn limit(&self) -> usize {
        match self {
            Self::MaxSessions(_) => 0,
            Self::MaxBindings(_) => 1,
            Self::MaxOfHost(..) => 2,
            _ => 3,
        }
    }
}

/// Seconds in which a limit is logged once.
const QUIET: f64 = 1.0;

/// A node's way to the log.
#[derive(Clone)]
pub struct Log {
    events: EventSender<Told>,
    listeners: Reader<Listeners>,
    by: Option<Translator>,
    /// Times of the last reports of limits.
    told: [f64; 4],
}

impl Log {
    /// For a node of a feature that requires this one.
    pub fn new(router: &mut Router) -> Self {
        let listeners = router.own::<NatLog>().listeners.reader();
        let told = [f64::NEG_INFINITY; 4];
        Self { events: router.events.sender(), listeners, by: None, told }
    }
    /// For a node of a translator with a level of its own.
    pub fn of(router: &mut Router, by: Translator) -> Self {
        Self { by: Some(by), ..Self::new(router) }
    }
    /// Logs a limit that is reached, once a second.
    #[cold]
    pub fn limit(&mut self, record: Record, now: f64, epoch: Epoch<'_>) {
        let told = &mut self.told[record.limit()];
        if now - *told >= QUIET {
            *told = now;
            self.send(epoch, || record);
        }
    }
}

/// The state.
struct NatLog {
    streams: Option<Streams>,
    levels: [Level; 2],
    listeners: Shared<Listeners>,
}

/// Whether a collector wants events.
pub fn is_wanted(router: &Router) -> bool {
    router.own::<NatLog>().listeners.current().hear(None)
}

/// The observation domain and source port of records, while they are exported.
pub fn exported(router: &Router) -> Option<(u32, u16)> {
    router.own::<NatLog>().streams.as_ref().map(|s| (s.domain, s.src_port))
}

/// Enables or disables the export of records, with the templates of a translator first.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn export(router: &mut Router, by: Translator, to: Option<(u32, u16)>) -> Result<(), Error> {
    let old = router.own_mut::<NatLog>().streams.take();
    if old.is_none() && to.is_none() {
        return Err(Error::Disabled);
    }
    old.into_iter().for_each(|streams| streams.remove(router));
    let first = match by {
        Translator::Nat44Ei => [Kind::Mapping4, Kind::Exhausted],
        _ => [Kind::Session4, Kind::MaxOfHost],
    };
    let streams = to.map(|(domain, src_port)| Streams::new(router, first, domain, src_port));
    router.own_mut::<NatLog>().streams = streams;
    refresh(router);
    Ok(())
}

/// Tells the nodes whether anybody wants events.
fn refresh(router: &mut Router) {
    let nat = router.own::<NatLog>();
    let collects = nat.streams.is_some() || syslog::is_sent(router, Severity::Info);
    let levels = nat.levels;
    router.own_mut::<NatLog>().listeners.publish(Listeners { collects, levels });
}

/// Logs an event.
pub fn log(router: &mut Router, record: Record) {
    if let Record::Session(is_new, ends, far) = record {
        tell(router, is_new, &ends, &far);
    }
    if let Record::Mapping(is_new, ends) = record {
        tell_mapping(router, is_new, &ends);
    }
    let vrf = match record {
        Record::Session(_, ends, _) | Record::Binding(_, ends) | Record::Mapping(_, ends) => {
            vrf_of(router, &ends)
        }
        _ => 0,
    };
    if let Some(mut streams) = router.own_mut::<NatLog>().streams.take() {
        let kind = Kind::of(&record);
        let stream = streams.of(router, kind);
        ipfix::export(router, stream, &kind.bytes(&record, vrf, control::wall::now()));
        router.own_mut::<NatLog>().streams = Some(streams);
    }
}

/// Sends the records that wait for more: nothing comes from a feature that is switched off.
pub fn flush(router: &mut Router) {
    let streams = router.own::<NatLog>().streams.as_ref();
    let numbers: Vec<_> = streams.into_iter().flat_map(Streams::numbers).collect();
    numbers.into_iter().for_each(|number| ipfix::send_records(router, number));
}

/// The number of a host's table.
fn vrf_of(router: &Router, ends: &Ends) -> u32 {
    router.fib.table_id_for(ends.host.0, TableIndex(ends.fib)).unwrap_or(0)
}

fn version(addr: IpAddr) -> &'static str {
    if addr.is_ipv4() { "IPv4" } else { "IPv6" }
}

/// Tells the syslog collector.
fn tell(router: &mut Router, is_new: bool, ends: &Ends, far: &Far) {
    if !syslog::is_sent(router, Severity::Info) {
        return;
    }
    let Ends { host, outside, protocol, .. } = ends;
    let (vrf, inside_version) = (vrf_of(router, ends), version(host.0));
    let parameters: [(&str, &dyn std::fmt::Display); 13] = [
        ("SSUBIX", &vrf),
        ("SVLAN", &0),
        ("IATYP", &inside_version),
        ("ISADDR", &host.0),
        ("ISPORT", &host.1),
        ("IDADDR", &far.inside.0),
        ("IDPORT", &far.inside.1),
        ("XATYP", &"IPv4"),
        ("XSADDR", &outside.0),
        ("XSPORT", &outside.1),
        ("XDADDR", &far.outside.0),
        ("XDPORT", &far.outside.1),
        ("PROTO", &protocol.0),
    ];
    send(router, if is_new { "SADD" } else { "SDEL" }, "nsess", &parameters);
}

/// As [`tell`], of a session for all far ends: a mapping of an address and a port.
fn tell_mapping(router: &mut Router, is_new: bool, ends: &Ends) {
    if !syslog::is_sent(router, Severity::Info) {
        return;
    }
    let Ends { host, outside, protocol, .. } = ends;
    let (vrf, inside_version) = (vrf_of(router, ends), version(host.0));
    let tunnel = ends.tunnel.unwrap_or(Ipv6Addr::UNSPECIFIED);
    let place: (&str, &dyn std::fmt::Display) =
        if ends.tunnel.is_some() { ("SV6ENC", &tunnel) } else { ("SVLAN", &0) };
    let parameters: [(&str, &dyn std::fmt::Display); 9] = [
        ("SSUBIX", &vrf),
        place,
        ("IATYP", &inside_version),
        ("ISADDR", &host.0),
        ("ISPORT", &host.1),
        ("XATYP", &"IPv4"),
        ("XSADDR", &outside.0),
        ("XSPORT", &outside.1),
        ("PROTO", &protocol.0),
    ];
    send(router, if is_new { "APMADD" } else { "APMDEL" }, "napmap", &parameters);
}

fn send(router: &mut Router, id: &str, name: &str, parameters: &[(&str, &dyn std::fmt::Display)]) {
    let data = [Structured { id: name, parameters }];
    let (facility, severity) = (Facility::LOCAL0, Severity::Info);
    let message = Message { facility, severity, application: "NAT", id, data: &data, text: "" };
    syslog::send(router, &message);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let (levels, listeners) = ([Level::NONE; 2], Shared::new(Listeners::default()));
    router.insert(NatLog { streams: None, levels, listeners });
    router.events.handle(|router, Told { by, record }| match by {
        Some(by) => by.log(router, record),
        None => log(router, record),
    });
    syslog::on_change(router, refresh);
    refresh(router);
    api::register(&mut parts.api);
    api::commands(&mut parts.cli);
    Ok(())
}

/// The bits of an address of either version, and those of IPv4 alone.
fn octets(addr: IpAddr) -> ([u8; 16], [u8; 4]) {
    match addr {
        IpAddr::V4(addr) => (Ipv6Addr::UNSPECIFIED.octets(), addr.octets()),
        IpAddr::V6(addr) => (addr.octets(), [0; 4]),
    }
}
