//! Fields of the records, and their values in the key of a session.

use classify::From;
use ipfix::Field;
use wire::IpVersion;

use crate::Table;

/// Bytes of an Ethernet header, where the key of a table begins with it.
const ETHERNET: isize = 14;
/// Numbers of protocols whose headers begin with ports.
const WITH_PORTS: [u8; 2] = [6, 17];

/// Places of addresses and protocol in the header of a version, their lengths, and the place of
/// ports behind it.
struct Layout {
    src: isize,
    dst: isize,
    len: usize,
    protocol: isize,
    ports: isize,
}

const LAYOUTS: [Layout; 2] = [
    Layout { src: 12, dst: 16, len: 4, protocol: 9, ports: 20 },
    Layout { src: 8, dst: 24, len: 16, protocol: 6, ports: 40 },
];

fn layout(version: IpVersion) -> &'static Layout {
    &LAYOUTS[usize::from(version == IpVersion::V6)]
}

/// Information elements of the records of a table.
pub fn fields(version: IpVersion, protocol: u8) -> Vec<Field> {
    let addresses = if version == IpVersion::V6 { [27, 28] } else { [8, 12] };
    let len = layout(version).len as u16;
    let mut all = addresses.map(|id| Field::new(id, len)).to_vec();
    all.push(Field::new(4, 1));
    if WITH_PORTS.contains(&protocol) {
        all.extend([Field::new(7, 2), Field::new(11, 2)]);
    }
    all.push(Field::new(86, 8));
    all
}

/// The record of a session with this key, which as many packets were equal to.
pub fn of(table: &Table, classifier: &classify::Table, key: &[u8], packets: u64) -> Vec<u8> {
    // Where the IP header begins in the key.
    let skipped = (classifier.skip * classify::VECTOR) as isize;
    let start = match classifier.from {
        From::Layer2 => ETHERNET,
        From::Current(offset) => -isize::from(offset),
    } - skipped;
    let byte = |at: isize| usize::try_from(start + at).ok().and_then(|at| key.get(at)).copied();
    let bytes = |at: isize, len: usize| (at..).take(len).map(|at| byte(at).unwrap_or(0));
    let layout = layout(table.version);
    let mut record: Vec<u8> = bytes(layout.src, layout.len).collect();
    record.extend(bytes(layout.dst, layout.len));
    let protocol = byte(layout.protocol).filter(|protocol| *protocol != 0);
    let known = if table.protocol == u8::MAX { 0 } else { table.protocol };
    record.push(protocol.unwrap_or(known));
    if WITH_PORTS.contains(&table.protocol) {
        record.extend(bytes(layout.ports, 4));
    }
    record.extend(packets.to_be_bytes());
    record
}
