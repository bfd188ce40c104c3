//! Datagrams in FIFOs, each with a header that has its length and the remote endpoint.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::fifo::{Chunks, Fifo};

/// Length of the header in bytes: length, port, address, IPv6 flag.
pub const HEADER: usize = 2 + 2 + 16 + 1;

/// Longest datagram to an address in bytes.
pub fn most(to: IpAddr) -> usize {
    usize::from(u16::MAX) - 8 - if to.is_ipv4() { 20 } else { 0 }
}

fn header(other: SocketAddr, len: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let address = match other.ip() {
        IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
        IpAddr::V6(a) => a.octets(),
    };
    header[..2].copy_from_slice(&(len as u16).to_be_bytes());
    header[2..4].copy_from_slice(&other.port().to_be_bytes());
    header[4..20].copy_from_slice(&address);
    header[20] = u8::from(other.is_ipv6());
    header
}

/// Appends a whole datagram; false if it does not fit.
pub fn put(fifo: &mut Fifo, chunks: &mut Chunks, other: SocketAddr, bytes: &[u8]) -> bool {
    put_parts(fifo, chunks, other, bytes.len(), [bytes])
}

/// Appends a datagram of `len` bytes in several pieces.
pub fn put_parts<'b>(
    fifo: &mut Fifo,
    chunks: &mut Chunks,
    other: SocketAddr,
    len: usize,
    parts: impl IntoIterator<Item = &'b [u8]>,
) -> bool {
    if fifo.space() < HEADER + len {
        return false;
    }
    // The data becomes valid when all of it is written.
    let (first, mut at) = (fifo.end(), fifo.end() + HEADER as u64);
    for part in parts {
        if fifo.write_at(chunks, at, part) < part.len() {
            fifo.drop_ahead(chunks);
            return false;
        }
        at += part.len() as u64;
    }
    if fifo.write_at(chunks, first, &header(other, len)) < HEADER {
        fifo.drop_ahead(chunks);
        return false;
    }
    fifo.advance(HEADER + len);
    true
}

/// Length and remote endpoint of the first datagram.
pub fn first(fifo: &Fifo, chunks: &Chunks) -> Option<(usize, SocketAddr)> {
    let mut header = [0; HEADER];
    if fifo.copy(chunks, fifo.start(), &mut header) < HEADER {
        return None;
    }
    let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let address: [u8; 16] = header[4..20].try_into().expect("16 bytes");
    let address = match header[20] {
        0 => IpAddr::V4(Ipv4Addr::from_bits(u128::from_be_bytes(address) as u32)),
        _ => IpAddr::V6(Ipv6Addr::from(address)),
    };
    Some((number(0).into(), SocketAddr::new(address, number(2))))
}

/// Copies as much of the first datagram as fits.
pub fn copy_first(fifo: &Fifo, chunks: &Chunks, to: &mut [u8]) -> Option<(usize, SocketAddr)> {
    let (len, other) = first(fifo, chunks)?;
    let n = len.min(to.len());
    fifo.copy(chunks, fifo.start() + HEADER as u64, &mut to[..n]);
    Some((len, other))
}

/// Removes the first datagram, and copies as much of it as fits.
pub fn take(fifo: &mut Fifo, chunks: &mut Chunks, to: &mut [u8]) -> Option<(usize, SocketAddr)> {
    let (len, other) = copy_first(fifo, chunks, to)?;
    fifo.consume(chunks, HEADER + len);
    Some((len, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_come_out_whole_with_their_senders() {
        let mut chunks = Chunks::new(16).unwrap();
        let mut fifo = Fifo::new(8000, 0);
        let [a, b]: [SocketAddr; 2] =
            ["10.0.0.1:5".parse().unwrap(), "[2001:db8::1]:6".parse().unwrap()];
        assert!(put(&mut fifo, &mut chunks, a, b"one"));
        assert!(put(&mut fifo, &mut chunks, b, &[7; 5000]));
        assert!(put(&mut fifo, &mut chunks, a, b""));
        assert!(!put(&mut fifo, &mut chunks, a, &[0; 4000]), "no room for all of it");
        let mut room = [0; 6000];
        assert_eq!(take(&mut fifo, &mut chunks, &mut room), Some((3, a)));
        assert_eq!(&room[..3], b"one");
        assert_eq!(take(&mut fifo, &mut chunks, &mut room[..10]), Some((5000, b)));
        assert_eq!(room[..11], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0]);
        assert_eq!(take(&mut fifo, &mut chunks, &mut room), Some((0, a)));
        assert_eq!(take(&mut fifo, &mut chunks, &mut room), None);
        assert_eq!(chunks.used(), 0);
    }

    #[test]
    fn half_a_datagram_leaves_nothing_behind_when_chunks_run_out() {
        let mut chunks = Chunks::new(2).unwrap();
        let mut fifo = Fifo::new(60_000, 0);
        let to = "10.0.0.1:5".parse().unwrap();
        assert!(!put(&mut fifo, &mut chunks, to, &[1; 20_000]));
        assert!(fifo.is_empty());
        assert!(put(&mut fifo, &mut chunks, to, &[2; 100]));
        let mut room = [0; 200];
        assert_eq!(take(&mut fifo, &mut chunks, &mut room), Some((100, to)));
        assert_eq!((room[99], chunks.used()), (2, 0));
    }
}
