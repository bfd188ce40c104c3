//! Logs: what rules with `log` say of packets, and sessions that end, to a syslog collector
//! (RFC 5424) and as IPFIX records.

use ipfix::Field;
use net::prelude::*;
use sessions::{Address, Seen};
use syslog::{Facility, Message, Severity, Structured};

use super::list::Verdict;
use super::policy::Action;
use super::session::{Guarded, One};
use super::zone::Pair;
use super::{Error, Firewall};

/// The event of a packet or a session, in the numbers of `firewallEvent` (IANA).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A session began.
    Begun = 1,
    /// A session ended.
    Ended = 2,
    /// A packet was dropped or rejected.
    Denied = 3,
}

/// An entry of the log.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The event.
    pub what: What,
    /// The verdict.
    pub action: Action,
    /// From zone to zone.
    pub pair: Pair,
    /// The place of the rule; `None` for none.
    pub rule: Option<u32>,
    /// Source and destination.
    pub ends: [IpAddr; 2],
    /// Ports, or type and code of ICMP.
    pub ports: [u16; 2],
    /// Protocol.
    pub protocol: Protocol,
    /// Interfaces by which a packet came and left.
    pub interfaces: [u32; 2],
    /// Packets and bytes of a session that ended.
    pub volume: [u64; 2],
}

impl Event for Entry {
    const ROOM: usize = 1024;
}

impl Entry {
    /// Of a packet.
    pub(super) fn of<V: Guarded>(
        verdict: &Verdict,
        seen: &Seen<V::Address>,
        ports: (u16, u16),
        interfaces: (u32, u32),
    ) -> Self {
        let flow = &seen.flow;
        Self {
            what: if verdict.action == Action::Permit { What::Begun } else { What::Denied },
            action: verdict.action,
            pair: Pair::of_scope(flow.scope),
            rule: verdict.rule,
            ends: [flow.src.into(), flow.dst.into()],
            ports: [ports.0, ports.1],
            protocol: flow.protocol(),
            interfaces: [interfaces.0, interfaces.1],
            volume: [0; 2],
        }
    }
    /// Of a session that ended.
    pub(super) fn end<A: Address + Into<IpAddr>>(session: &One<A>) -> Self {
        let (flow, data) = (&session.forward, &session.data);
        Self {
            what: What::Ended,
            action: Action::Permit,
            pair: Pair::of_scope(flow.scope),
            rule: Some(data.rule).filter(|rule| *rule != u32::MAX),
            ends: [flow.src.into(), flow.dst.into()],
            ports: [flow.src_port, flow.dst_port],
            protocol: flow.protocol(),
            interfaces: [data.rx, data.tx],
            volume: [session.packets, session.bytes],
        }
    }
}

/// Where records are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// Observation domain.
    pub domain: u32,
    /// The source port.
    pub src_port: u16,
    /// Streams of IPv4 and IPv6, once they began.
    streams: [Option<u32>; 2],
}

/// Fields of a record: time, event, interfaces, protocol, ports, addresses, bytes and packets.
fn fields(is_6: bool) -> Vec<Field> {
    let of = |pairs: &[(u16, u16)]| pairs.iter().map(|(id, len)| Field::new(*id, *len)).collect();
    let (src, dst) = if is_6 { ((27, 16), (28, 16)) } else { ((8, 4), (12, 4)) };
    of(&[(323, 8), (233, 1), (10, 4), (14, 4), (4, 1), (7, 2), (11, 2), src, dst, (1, 8), (2, 8)])
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

impl Entry {
    fn record(&self, time: std::time::Duration) -> Vec<u8> {
        let mut out = (time.as_millis() as u64).to_be_bytes().to_vec();
        out.push(self.what as u8);
        out.extend(self.interfaces.map(u32::to_be_bytes).as_flattened());
        out.push(self.protocol.0);
        out.extend(self.ports.map(u16::to_be_bytes).as_flattened());
        self.ends.iter().for_each(|end| out.extend(octets(*end)));
        out.extend([self.volume[1], self.volume[0]].map(u64::to_be_bytes).as_flattened());
        out
    }
}

/// Enables or disables the export of records.
///
/// # Errors
/// [`Error::NotExported`].
pub fn export(router: &mut Router, to: Option<(u32, u16)>) -> Result<(), Error> {
    let old = router.own_mut::<Firewall>().export.take();
    if old.is_none() && to.is_none() {
        return Err(Error::NotExported);
    }
    let streams = old.into_iter().flat_map(|old| old.streams).flatten();
    streams.for_each(|stream| ipfix::remove_stream(router, stream));
    let new = to.map(|(domain, src_port)| Export { domain, src_port, streams: [None; 2] });
    router.own_mut::<Firewall>().export = new;
    Ok(())
}

/// Logs an entry.
pub(super) fn log(router: &mut Router, entry: Entry) {
    if let Some(mut export) = router.own::<Firewall>().export {
        let is_6 = entry.ends[0].is_ipv6();
        let Export { domain, src_port, .. } = export;
        let number = export.streams[usize::from(is_6)];
        let number =
            number.unwrap_or_else(|| ipfix::add_stream(router, domain, src_port, fields(is_6)));
        export.streams[usize::from(is_6)] = Some(number);
        router.own_mut::<Firewall>().export = Some(export);
        ipfix::export(router, number, &entry.record(control::wall::now()));
    }
    tell(router, &entry);
}

/// Tells the syslog collector: what was denied as a warning.
fn tell(router: &mut Router, entry: &Entry) {
    let is_denied = entry.what == What::Denied;
    let severity = if is_denied { Severity::Warn } else { Severity::Info };
    if !syslog::is_sent(router, severity) {
        return;
    }
    let id = match (entry.what, entry.action) {
        (What::Begun, _) => "SBEGIN",
        (What::Ended, _) => "SEND",
        (What::Denied, Action::Reject) => "REJECT",
        (What::Denied, _) => "DROP",
    };
    let zones = &router.own::<Firewall>().zones;
    let (from, to) = (zones.name(entry.pair.from), zones.name(entry.pair.to));
    let rule = entry.rule.map_or_else(|| "default".to_owned(), |rule| rule.to_string());
    let [rx, tx] = entry.interfaces.map(|i| router.interfaces.name(i).to_string());
    let parameters: [(&str, &dyn std::fmt::Display); 12] = [
        ("FROM", &from),
        ("TO", &to),
        ("RULE", &rule),
        ("IN", &rx),
        ("OUT", &tx),
        ("SADDR", &entry.ends[0]),
        ("SPORT", &entry.ports[0]),
        ("DADDR", &entry.ends[1]),
        ("DPORT", &entry.ports[1]),
        ("PROTO", &entry.protocol.0),
        ("PACKETS", &entry.volume[0]),
        ("BYTES", &entry.volume[1]),
    ];
    let data = [Structured { id: "firewall", parameters: &parameters }];
    let facility = Facility::LOCAL0;
    let message =
        Message { facility, severity, application: "firewall", id, data: &data, text: "" };
    syslog::send(router, &message);
}
