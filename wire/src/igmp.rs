//! Internet group management, version 3 (RFC 3376 section 4).

use std::net::Ipv4Addr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum::Sum;

/// All systems of a link: general queries go there.
pub const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
/// All routers that understand version 3: reports go there.
pub const REPORTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);
/// The IPv4 option that asks routers to look (RFC 2113).
pub const ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];
/// Message type of queries.
pub const QUERY: u8 = 0x11;
/// Message type of reports of version 3.
pub const REPORT: u8 = 0x22;

/// The start of a query: 12 bytes, sources of 4 bytes after it.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct QueryHeader {
    /// [`QUERY`].
    pub kind: u8,
    /// Longest delay of answers, as a code.
    pub max_response: u8,
    /// Checksum of the whole message.
    pub checksum: U16,
    /// The group that is asked for; 0 for all.
    pub group: [u8; 4],
    /// The querier's robustness, and whether routers are not to shorten timers.
    pub flags: u8,
    /// The querier's interval, as a code of seconds.
    pub interval: u8,
    /// Number of sources.
    pub sources: U16,
}

/// The start of a report: 8 bytes, records after it.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ReportHeader {
    /// [`REPORT`].
    pub kind: u8,
    /// Zero.
    pub reserved: u8,
    /// Checksum of the whole message.
    pub checksum: U16,
    /// Zero.
    pub reserved2: U16,
    /// Number of records.
    pub records: U16,
}

/// The start of a record in a report: 8 bytes, sources of 4 bytes after it, then auxiliary data.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct RecordHeader {
    /// A [`RecordType`].
    pub kind: u8,
    /// Words of auxiliary data.
    pub auxiliary: u8,
    /// Number of sources.
    pub sources: U16,
    /// Group.
    pub group: [u8; 4],
}

/// The type of a record (RFC 3376 section 4.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordType {
    /// Only these sources are wanted, as before.
    IsInclude = 1,
    /// All but these are wanted, as before.
    IsExclude = 2,
    /// Only these are wanted from now on.
    ToInclude = 3,
    /// All but these are wanted from now on.
    ToExclude = 4,
    /// These are wanted as well.
    Allow = 5,
    /// These are not wanted any more.
    Block = 6,
}

impl RecordType {
    /// The type with a number.
    pub fn of(number: u8) -> Option<Self> {
        use RecordType::*;
        let all = [IsInclude, IsExclude, ToInclude, ToExclude, Allow, Block];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// A query.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Longest delay of answers, in tenths of a second.
    pub within: u32,
    /// The group that is asked for; unspecified for all.
    pub group: Ipv4Addr,
    /// The sources that are asked for; none for all.
    pub sources: &'a [[u8; 4]],
}

/// A record of a report.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Kind of record: include, exclude or a change.
    pub kind: RecordType,
    /// Group.
    pub group: Ipv4Addr,
    /// Sources.
    pub sources: &'a [[u8; 4]],
}

/// Value of a code of eight bits (RFC 3376 section 4.1.1).
pub fn value_of(code: u8) -> u32 {
    let code = u32::from(code);
    if code < 0x80 { code } else { (code & 0xf | 0x10) << ((code >> 4 & 7) + 3) }
}

/// The code of a value, or of the next lower one that has a code.
pub fn code_of(value: u32) -> u8 {
    (0..=255).rev().find(|code| value_of(*code) <= value).unwrap_or(0)
}

/// Whether the checksum of a message is right.
pub fn is_whole(message: &[u8]) -> bool {
    Sum::default().add_bytes(message).is_valid()
}

/// Reads a query; queries of versions 1 and 2 ask for all sources. `None` when it is too short.
pub fn query(message: &[u8]) -> Option<Query<'_>> {
    if message.len() == 8 {
        let group = Ipv4Addr::from(<[u8; 4]>::try_from(&message[4..]).ok()?);
        let within = if message[1] == 0 { 100 } else { message[1].into() };
        return Some(Query { within, group, sources: &[] });
    }
    let (header, rest) = QueryHeader::ref_from_prefix(message).ok()?;
    let count = usize::from(header.sources.get());
    let (sources, _) = <[[u8; 4]]>::ref_from_prefix_with_elems(rest, count).ok()?;
    Some(Query { within: value_of(header.max_response), group: header.group.into(), sources })
}

/// Calls `each` with the records of a report; those of unknown types are left out. `None` when it
/// is too short: some records may have been read.
pub fn report<'a>(message: &'a [u8], mut each: impl FnMut(Record<'a>)) -> Option<()> {
    let (header, mut left) = ReportHeader::ref_from_prefix(message).ok()?;
    for _ in 0..header.records.get() {
        let (record, rest) = RecordHeader::ref_from_prefix(left).ok()?;
        let count = usize::from(record.sources.get());
        let (sources, rest) = <[[u8; 4]]>::ref_from_prefix_with_elems(rest, count).ok()?;
        left = rest.get(4 * usize::from(record.auxiliary)..)?;
        if let Some(kind) = RecordType::of(record.kind) {
            each(Record { kind, group: record.group.into(), sources });
        }
    }
    Some(())
}

/// A message with its checksum, which is in its second word.
pub fn with_checksum(mut message: Vec<u8>) -> Vec<u8> {
    let sum = Sum::default().add_bytes(&message).checksum();
    message[2..4].copy_from_slice(sum.as_bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_delays_are_floating_point() {
        for (code, value) in [(0, 0), (100, 100), (127, 127), (128, 128), (255, 0x1f << 10)] {
            assert_eq!((value_of(code), code_of(value)), (value, code));
        }
        assert_eq!((code_of(130), code_of(u32::MAX)), (128, 255));
    }

    #[test]
    fn records_are_read_as_far_as_they_reach() {
        let record = |kind, auxiliary, sources| [kind, auxiliary, 0, sources, 239, 1, 1, 1];
        let head = [REPORT, 0, 0, 0, 0, 0, 0, 3];
        let all =
            [&head[..], &record(2, 1, 0), &[9; 4], &record(77, 0, 0), &record(5, 0, 2), &[1; 8]]
                .concat();
        let mut read = Vec::new();
        let each = |r: Record<'_>| read.push((r.kind, r.sources.len()));
        assert_eq!(report(&all, each), Some(()));
        assert_eq!(read, [(RecordType::IsExclude, 0), (RecordType::Allow, 2)]);
        for len in 0..all.len() {
            assert_eq!(report(&all[..len], |_| ()), None, "{len}");
        }
    }

    #[test]
    fn queries_of_all_versions_are_read() {
        let old = query(&[QUERY, 0, 0, 0, 239, 0, 0, 1]).unwrap();
        assert_eq!((old.within, old.group), (100, Ipv4Addr::new(239, 0, 0, 1)));
        let new = [&[QUERY, 20, 0, 0, 239, 0, 0, 1, 2, 125, 0, 1][..], &[7; 4], &[0; 6]].concat();
        let read = query(&new).unwrap();
        assert_eq!((read.within, read.sources), (20, &[[7; 4]][..]), "padding is left out");
        assert!(query(&new[..15]).is_none() && query(&new[..11]).is_none());
        assert!(is_whole(&with_checksum(new)));
    }
}
