//! Records of IPFIX (RFC 8158 section 5).

use ipfix::Field;

use net::prelude::*;

use super::{Ends, Far, Record, octets};

/// Kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A session of an IPv4 host.
    Session4,
    /// A host's limit.
    MaxOfHost,
    /// The limit of sessions.
    MaxSessions,
    /// The limit of bindings.
    MaxBindings,
    /// A binding of an IPv6 host.
    Binding6,
    /// A session of an IPv6 host.
    Session6,
    /// A binding of an IPv4 host.
    Binding4,
    /// A pool without ports.
    Exhausted,
    /// A session of an IPv4 host for all far ends.
    Mapping4,
}

/// Number of kinds.
const KINDS: usize = 9;
/// Kinds whose templates collectors get before there is a record, behind two of a translator.
const AT_ONCE: [Kind; 4] = [Kind::MaxSessions, Kind::MaxBindings, Kind::Binding6, Kind::Session6];

const TIME: Field = Field::new(323, 8);
const EVENT: Field = Field::new(230, 1);
const SRC4: Field = Field::new(8, 4);
const SRC6: Field = Field::new(27, 16);
const DST6: Field = Field::new(28, 16);
const NEW_SRC4: Field = Field::new(225, 4);
const NEW_DST4: Field = Field::new(226, 4);
const PROTOCOL: Field = Field::new(4, 1);
const SRC_PORT: Field = Field::new(7, 2);
const NEW_SRC_PORT: Field = Field::new(227, 2);
const DST_PORT: Field = Field::new(11, 2);
const NEW_DST_PORT: Field = Field::new(228, 2);
const VRF: Field = Field::new(234, 4);
const POOL: Field = Field::new(283, 4);
const QUOTA: Field = Field::new(466, 4);
const MAX_SESSIONS: Field = Field::new(471, 4);
const MAX_BINDINGS: Field = Field::new(472, 4);
const MAX_OF_HOST: Field = Field::new(473, 4);

/// Values of natEvent (RFC 8158 section 4.3, IANA's registry).
const SESSIONS4: [u8; 2] = [5, 4];
const SESSIONS6: [u8; 2] = [7, 6];
const BINDINGS4: [u8; 2] = [15, 14];
const BINDINGS6: [u8; 2] = [11, 10];
const NO_ADDRESS: u8 = 3;
const QUOTA_EXCEEDED: u8 = 13;

impl Kind {
    /// The kind of a record.
    pub fn of(record: &Record) -> Self {
        match record {
            Record::Session(_, ends, _) if ends.host.0.is_ipv4() => Self::Session4,
            Record::Session(..) => Self::Session6,
            Record::Mapping(..) => Self::Mapping4,
            Record::Binding(_, ends) if ends.host.0.is_ipv4() => Self::Binding4,
            Record::Binding(..) => Self::Binding6,
            Record::MaxSessions(_) => Self::MaxSessions,
            Record::MaxBindings(_) => Self::MaxBindings,
            Record::MaxOfHost(..) => Self::MaxOfHost,
            Record::Exhausted(_) => Self::Exhausted,
        }
    }
    fn fields(self) -> Vec<Field> {
        let rest: &[Field] = match self {
            Self::Session4 => &[
                SRC4,
                NEW_SRC4,
                PROTOCOL,
                SRC_PORT,
                NEW_SRC_PORT,
                VRF,
                NEW_DST4,
                DST_PORT,
                NEW_DST_PORT,
            ],
            Self::Session6 => &[
                SRC6,
                NEW_SRC4,
                PROTOCOL,
                SRC_PORT,
                NEW_SRC_PORT,
                VRF,
                DST6,
                NEW_DST4,
                DST_PORT,
                NEW_DST_PORT,
            ],
            Self::Binding4 | Self::Mapping4 => {
                &[SRC4, NEW_SRC4, PROTOCOL, SRC_PORT, NEW_SRC_PORT, VRF]
            }
            Self::Binding6 => &[SRC6, NEW_SRC4, PROTOCOL, SRC_PORT, NEW_SRC_PORT, VRF],
            Self::MaxSessions => &[QUOTA, MAX_SESSIONS],
            Self::MaxBindings => &[QUOTA, MAX_BINDINGS],
            Self::MaxOfHost => &[QUOTA, MAX_OF_HOST, SRC4],
            Self::Exhausted => &[POOL],
        };
        [&[TIME, EVENT], rest].concat()
    }
    /// The bytes of a record, which is of this kind, of a host in the table `vrf`, at a time since
    /// 1970.
    pub fn bytes(self, record: &Record, vrf: u32, time: Duration) -> Vec<u8> {
        let mut out = Vec::from((time.as_millis() as u64).to_be_bytes());
        let quota = |out: &mut Vec<u8>, which: u32, limit: u32| {
            out.push(QUOTA_EXCEEDED);
            out.extend([which, limit].map(u32::to_be_bytes).as_flattened());
        };
        match record {
            Record::Session(is_new, ends, far) => {
                let is_4 = self == Self::Session4;
                out.push(if is_4 { SESSIONS4 } else { SESSIONS6 }[usize::from(*is_new)]);
                push_ends(&mut out, ends, vrf);
                push_far(&mut out, far, is_4);
            }
            Record::Mapping(is_new, ends) => {
                out.push(SESSIONS4[usize::from(*is_new)]);
                push_ends(&mut out, ends, vrf);
            }
            Record::Binding(is_new, ends) => {
                let is_4 = self == Self::Binding4;
                out.push(if is_4 { BINDINGS4 } else { BINDINGS6 }[usize::from(*is_new)]);
                push_ends(&mut out, ends, vrf);
            }
            Record::MaxSessions(limit) => quota(&mut out, 1, *limit),
            Record::MaxBindings(limit) => quota(&mut out, 2, *limit),
            Record::MaxOfHost(limit, host) => {
                quota(&mut out, 3, *limit);
                out.extend(host.octets());
            }
            Record::Exhausted(pool) => {
                out.push(NO_ADDRESS);
                out.extend(pool.to_be_bytes());
            }
        }
        out
    }
}

fn push_ends(out: &mut Vec<u8>, ends: &Ends, vrf: u32) {
    let (six, four) = octets(ends.host.0);
    out.extend(if ends.host.0.is_ipv4() { &four[..] } else { &six[..] });
    out.extend(ends.outside.0.octets());
    out.push(ends.protocol.0);
    out.extend([ends.host.1, ends.outside.1].map(u16::to_be_bytes).as_flattened());
    out.extend(vrf.to_be_bytes());
}

fn push_far(out: &mut Vec<u8>, far: &Far, is_4: bool) {
    if !is_4 {
        out.extend(octets(far.inside.0).0);
    }
    out.extend(far.outside.0.octets());
    out.extend([far.inside.1, far.outside.1].map(u16::to_be_bytes).as_flattened());
}

/// Streams of records, one for each kind.
pub struct Streams {
    /// Observation domain.
    pub domain: u32,
    /// The source port.
    pub src_port: u16,
    numbers: [Option<u32>; KINDS],
}

impl Streams {
    /// Begins those of the usual kinds, `first` the ones of a translator.
    pub fn new(router: &mut Router, first: [Kind; 2], domain: u32, src_port: u16) -> Self {
        let mut new = Self { domain, src_port, numbers: [None; KINDS] };
        for kind in first.into_iter().chain(AT_ONCE) {
            new.of(router, kind);
        }
        new
    }
    /// The stream of a kind.
    pub fn of(&mut self, router: &mut Router, kind: Kind) -> u32 {
        let (domain, src_port) = (self.domain, self.src_port);
        *self.numbers[kind as usize]
            .get_or_insert_with(|| ipfix::add_stream(router, domain, src_port, kind.fields()))
    }
    /// Those that have begun.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.numbers.into_iter().flatten()
    }
    /// Ends them all.
    pub fn remove(self, router: &mut Router) {
        self.numbers().for_each(|n| ipfix::remove_stream(router, n));
    }
}
