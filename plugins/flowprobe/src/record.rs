//! Records of flows, and their way to collectors (RFC 7012).

use ipfix::Field;
use net::prelude::*;
use sessions::Session;

use crate::change::Flowprobe;
use crate::flow::{Counted, FlowKey, Kind, NoAnswers, Params, RECORD_L2, RECORD_L3, RECORD_L4};

/// Observation domain.
pub const DOMAIN: u32 = 1;
/// Seconds from the start of 1900, as NTP counts, to that of 1970.
const NTP: u64 = 2_208_988_800;

/// A flow that is exported.
#[derive(Clone, Copy, Debug)]
pub struct Exported {
    /// The flow.
    pub key: FlowKey,
    /// The counts.
    pub counted: Counted,
}

impl Exported {
    /// Counts of a flow since its last record.
    pub fn of(flow: &Session<FlowKey, NoAnswers, Counted>) -> Self {
        Self { key: flow.forward, counted: flow.data }
    }
}

impl Event for Exported {
    const ROOM: usize = 1024;
}

const COMMON: [Field; 4] = [
    Field::new(10, 4), // ingressInterface
    Field::new(14, 4), // egressInterface
    Field::new(61, 1), // flowDirection
    Field::new(2, 8),  // packetDeltaCount
];
const NANOSECONDS: [Field; 2] = [
    Field::new(156, 8), // flowStartNanoseconds
    Field::new(157, 8), // flowEndNanoseconds
];
const MILLISECONDS: [Field; 2] = [
    Field::new(152, 8), // flowStartMilliseconds
    Field::new(153, 8), // flowEndMilliseconds
];
const OF_L2: [Field; 3] = [
    Field::new(56, 6),  // sourceMacAddress
    Field::new(80, 6),  // destinationMacAddress
    Field::new(256, 2), // ethernetType
];
const OF_IP4: [Field; 4] = [
    Field::new(8, 4),  // sourceIPv4Address
    Field::new(12, 4), // destinationIPv4Address
    Field::new(4, 1),  // protocolIdentifier
    Field::new(1, 8),  // octetDeltaCount
];
const OF_IP6: [Field; 4] = [
    Field::new(27, 16), // sourceIPv6Address
    Field::new(28, 16), // destinationIPv6Address
    Field::new(4, 1),   // protocolIdentifier
    Field::new(1, 8),   // octetDeltaCount
];
const OF_L4: [Field; 3] = [
    Field::new(7, 2),  // sourceTransportPort
    Field::new(11, 2), // destinationTransportPort
    Field::new(6, 2),  // tcpControlBits
];

/// The groups of fields of a kind of records.
fn groups(kind: Kind, record: u8) -> [bool; 3] {
    let is_ip = kind != Kind::L2;
    [RECORD_L2, RECORD_L3, RECORD_L4]
        .map(|group| record & group != 0 && (is_ip || group == RECORD_L2))
}

/// The fields of a kind of records.
pub fn fields(kind: Kind, params: &Params) -> Vec<Field> {
    let [has_l2, has_l3, has_l4] = groups(kind, params.record);
    let of_ip = if matches!(kind, Kind::Ip6 | Kind::L2Ip6) { OF_IP6 } else { OF_IP4 };
    let mut fields = COMMON.to_vec();
    fields.extend(if params.format.has_milliseconds { MILLISECONDS } else { NANOSECONDS });
    fields.extend(OF_L2.into_iter().filter(|_| has_l2));
    fields.extend(of_ip.into_iter().filter(|_| has_l3));
    fields.extend(OF_L4.into_iter().filter(|_| has_l4));
    fields
}

/// A time in milliseconds since 1970 (RFC 7011 section 6.1.8).
fn milliseconds(since_1970: f64) -> u64 {
    (since_1970 * 1000.0) as u64
}

/// A time as NTP has it: seconds since 1900, and the rest in parts of 2^32 (section 6.1.10).
fn nanoseconds(since_1970: f64) -> u64 {
    let whole = since_1970.floor();
    let rest = ((since_1970 - whole) * f64::from(u32::MAX)) as u64;
    (whole as u64 + NTP) << 32 | rest
}

/// A record. `clock` is what the router's time differs from that since 1970, in seconds.
pub fn bytes(record: &Exported, params: &Params, clock: f64) -> Vec<u8> {
    let Exported { key, counted } = record;
    let kind = Kind::ALL[usize::from(key.kind).min(Kind::ALL.len() - 1)];
    let [has_l2, has_l3, has_l4] = groups(kind, params.record);
    let mut bytes = [key.rx, key.tx].map(u32::to_be_bytes).concat();
    bytes.push(key.direction);
    bytes.extend(counted.packets.to_be_bytes());
    let time = if params.format.has_milliseconds { milliseconds } else { nanoseconds };
    bytes.extend(time(counted.from + clock).to_be_bytes());
    bytes.extend(time(counted.to + clock).to_be_bytes());
    if has_l2 {
        bytes.extend(key.src_mac);
        bytes.extend(key.dst_mac);
        bytes.extend(match params.format.has_network_order {
            true => key.ethertype.to_be_bytes(),
            false => key.ethertype.to_le_bytes(),
        });
    }
    if has_l3 {
        let len = if matches!(kind, Kind::Ip6 | Kind::L2Ip6) { 16 } else { 4 };
        bytes.extend(&key.src[..len]);
        bytes.extend(&key.dst[..len]);
        bytes.push(key.protocol);
        bytes.extend(counted.bytes.to_be_bytes());
    }
    if has_l4 {
        bytes.extend(key.ports.map(u16::to_be_bytes).as_flattened());
        bytes.extend((counted.flags as u16).to_be_bytes());
    }
    bytes
}

/// Exports a flow, if what it passed is still probed.
pub fn export(router: &mut Router, record: Exported) {
    let flowprobe = router.own::<Flowprobe>();
    let params = *flowprobe.params.current();
    let stream = flowprobe.streams.get(usize::from(record.key.kind)).copied().flatten();
    let Some(stream) = stream else { return };
    let since_1970 = control::wall::now().max(Duration::ZERO).as_secs_f64();
    let bytes = bytes(&record, &params, since_1970 - router.now());
    ipfix::export(router, stream, &bytes);
    router.own_mut::<Flowprobe>().exported += 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Format;

    #[test]
    fn a_record_is_as_long_as_its_fields() {
        let all = Kind::ALL.map(|kind| [(kind, false), (kind, true)]).concat();
        for (kind, has_milliseconds) in all {
            for record in 0..8 {
                let key = FlowKey { kind: kind as u8, ..FlowKey::default() };
                let format = Format { has_milliseconds, ..Format::default() };
                let params = Params { record, format, ..Params::default() };
                let exported = Exported { key, counted: Counted::default() };
                let len: u16 = fields(kind, &params).iter().map(|field| field.len).sum();
                assert_eq!(bytes(&exported, &params, 0.0).len(), usize::from(len));
            }
        }
    }

    #[test]
    fn times_are_seconds_since_1900_and_a_fraction_or_milliseconds() {
        assert_eq!(nanoseconds(0.0), 2_208_988_800 << 32);
        assert_eq!(nanoseconds(1.5) >> 31 & 1, 0);
        assert!(nanoseconds(1.5) & 0xffff_ffff >= 0x7fff_ffff);
        assert_eq!(milliseconds(1.5), 1500);
    }
}
