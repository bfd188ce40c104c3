//! Tests of the data path: applications and hosts on the links of a whole router.

mod bounds;
mod datagrams;
mod handed;
mod icmp;
mod local;
mod many;
pub mod refused;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use net::testing::whole::Bench;
use wire::{Protocol, checksum, ethernet, ip4, udp};
use zerocopy::{FromBytes, IntoBytes};

use super::app::{Application, Stream};
use super::session::{Failure, SessionId};

/// A call of an application.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Accepted(SocketAddr, SocketAddr),
    Connected(u64),
    Refused(u64, Failure),
    Closed(Vec<u8>),
    Reset(Failure),
    Bytes(Vec<u8>),
}

/// Calls of all parts of an application.
pub type Log = Arc<Mutex<Vec<Seen>>>;

/// Echoes what it reads, or says something when it is connected.
pub struct Echo {
    pub log: Log,
    /// Said when a session is there.
    pub says: Vec<u8>,
    pub echoes: bool,
    pub is_datagrams: bool,
}

impl Echo {
    fn note(&self, what: Seen) {
        self.log.lock().unwrap().push(what);
    }
}

impl Application for Echo {
    fn on_accept(&mut self, stream: &mut Stream<'_>) -> bool {
        let ends = stream.ends();
        self.note(Seen::Accepted(ends.local, ends.peer));
        true
    }
    fn on_connected(&mut self, stream: &mut Stream<'_>) {
        self.note(Seen::Connected(stream.data()));
        let says = std::mem::take(&mut self.says);
        let written = stream.write(&says);
        self.says = says[written..].to_vec();
    }
    fn on_refused(&mut self, opaque: u64, why: Failure) {
        self.note(Seen::Refused(opaque, why));
    }
    fn on_readable(&mut self, stream: &mut Stream<'_>) {
        let mut bytes = vec![0; 65_536];
        if self.is_datagrams {
            while let Some((n, from)) = stream.receive(&mut bytes) {
                self.note(Seen::Bytes(bytes[..n].to_vec()));
                if self.echoes {
                    assert!(stream.send(&bytes[..n], Some(from)));
                }
            }
            return;
        }
        let n = stream.copy(0, &mut bytes);
        let n = if self.echoes { stream.write(&bytes[..n]) } else { n };
        stream.consume(n);
        if n > 0 {
            self.note(Seen::Bytes(bytes[..n].to_vec()));
        }
    }
    fn on_writable(&mut self, stream: &mut Stream<'_>) {
        if !self.says.is_empty() {
            let says = std::mem::take(&mut self.says);
            let written = stream.write(&says);
            self.says = says[written..].to_vec();
        }
        if self.echoes {
            self.on_readable(stream);
        }
    }
    fn on_close(&mut self, stream: &mut Stream<'_>) {
        self.note(Seen::Closed(stream.peek().to_vec()));
        stream.close();
    }
    fn on_reset(&mut self, _: SessionId, _: u64, why: Failure) {
        self.note(Seen::Reset(why));
    }
}

/// A bench with the layer on.
pub fn bench(threads: usize) -> Bench {
    let mut bench = Bench::plugged_on(threads, &[crate::FEATURE]);
    bench.set("session enable");
    bench
}

/// Attaches an application; its number and what it sees.
pub fn attach(
    bench: &mut Bench,
    name: &str,
    options: super::apps::Options,
    (says, echoes, is_datagrams): (&[u8], bool, bool),
) -> (u32, Log) {
    let (log, says) = (Log::default(), says.to_vec());
    let to = Arc::clone(&log);
    let make = move |_| -> Box<dyn Application> {
        let (log, says) = (Arc::clone(&to), says.clone());
        Box::new(Echo { log, says, echoes, is_datagrams })
    };
    let app = bench.control(|router, _| super::apps::attach(router, name, options, make).unwrap());
    (app, log)
}

/// Calls since the last look.
pub fn seen(log: &Log) -> Vec<Seen> {
    std::mem::take(&mut *log.lock().unwrap())
}

/// A frame with a datagram of IPv4 to the router.
pub fn datagram(from: &str, to: &str, data: &[u8]) -> Vec<u8> {
    let [SocketAddr::V4(from), SocketAddr::V4(to)] =
        [from, to].map(|a| a.parse::<SocketAddr>().unwrap())
    else {
        unreachable!("tests use IPv4")
    };
    let packet = net::ip::datagram((*from.ip(), from.port()), (*to.ip(), to.port()), data, true);
    let (port, host) = (net::testing::whole::PG0, net::testing::whole::HOST);
    let header = ethernet::Header::new(port, host, ethernet::EtherType::IP4);
    [header.as_bytes(), &packet.unwrap()].concat()
}

/// Ends and data of a frame with a datagram of IPv4, whose checksums are right.
pub fn read_datagram(frame: &[u8]) -> Option<(SocketAddr, SocketAddr, Vec<u8>)> {
    let (_, rest) = ethernet::Header::ref_from_prefix(frame).ok()?;
    let (ip, rest) = ip4::Header::ref_from_prefix(rest).ok()?;
    if ip.protocol != Protocol::UDP {
        return None;
    }
    let rest = &rest[..usize::from(ip.total_len.get()) - 20];
    let (udp, data) = udp::Header::ref_from_prefix(rest).ok()?;
    let sum = checksum::ip4_pseudo(ip.src, ip.dst, Protocol::UDP, rest.len() as u16);
    assert!(sum.add_bytes(rest).is_valid(), "checksum");
    let end = |addr: [u8; 4], port: u16| SocketAddr::new(addr.into(), port);
    Some((end(ip.src, udp.src_port.get()), end(ip.dst, udp.dst_port.get()), data.to_vec()))
}
