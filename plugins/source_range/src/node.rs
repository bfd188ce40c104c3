//! `ip4-source-and-port-range-check-rx`, `-tx`.

use net::adjacency::Adjacency;
use net::ip4::IP4_OUTPUT;
use net::prelude::*;

use super::{List, Lists};

/// For received packets.
pub(super) const RX: &str = "ip4-source-and-port-range-check-rx";
/// For sent packets.
pub(super) const TX: &str = "ip4-source-and-port-range-check-tx";

/// Checks received packets, or sent ones (`OUT`).
#[derive(Clone)]
pub struct Check<const OUT: bool> {
    settings: SlabReader<Lists>,
    lists: Reader<Vec<Arc<List>>>,
    adjacencies: SlabReader<Adjacency>,
}

/// Drops of [`Check`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// ip4 source and port range check bad packets.
    #[name("ip4 source and port range check bad packets")]
    Bad,
}

/// Counters of [`Check`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// ip4 source and port range check good packets.
    #[name("ip4 source and port range check good packets")]
    Good,
}

/// The fields of a packet that are checked.
struct CheckedFields {
    /// TCP (0) or UDP (1).
    kind: usize,
    source: Ipv4Addr,
    port: u16,
}

impl CheckedFields {
    /// Of a packet whose IP header is `l3` bytes from its start; `None` for what always passes.
    #[inline(always)]
    fn at(p: &Buffer<'_>, l3: usize) -> Option<Self> {
        let packet = p.bytes().get(l3..)?;
        let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
        let kind = match header.protocol {
            Protocol::TCP => 0,
            Protocol::UDP => 1,
            _ => return None,
        };
        if header.fragment_offset() != 0 {
            let port = p.ports()?.dst;
            return Some(Self { kind, source: header.src_addr(), port });
        }
        // Ports are where they are in both.
        let upper = packet.get(header.header_len()..).unwrap_or_default();
        let ports = udp::Header::ref_from_prefix(upper).ok();
        let port = ports.map_or(0, |(ports, _)| ports.dst_port.get());
        Some(Self { kind, source: header.src_addr(), port })
    }
}

impl<const OUT: bool> Node for Check<OUT> {
    const NAME: &'static str = if OUT { TX } else { RX };
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let known = self.lists.read(epoch);
        let mut good = 0;
        frame.each(|p| {
            let interface = if OUT { p.tx() } else { p.rx() };
            // On output the headers of the adjacency are in front.
            let l3 = match self.adjacencies.read(p.adjacency(), epoch) {
                Some(a) if OUT => a.front(),
                _ => 0,
            };
            let Some(looked) = CheckedFields::at(p, l3) else { return Ok(Continue) };
            let lists: Option<&Lists> = self.settings.read(interface, epoch);
            let number = lists.and_then(|lists| lists[usize::from(OUT)][looked.kind]);
            let Some(list) = number.and_then(|n| known.get(usize::from(n))) else {
                return Ok(Continue);
            };
            let passes = list.passes(looked.source, looked.port);
            p.trace(|_| RangeTrace { list: number.unwrap_or_default(), looked, passes });
            if !passes {
                return Err(Error::Bad);
            }
            good += 1;
            Ok(Continue)
        });
        frame.count(Count::Good, good);
    }
}

struct RangeTrace {
    list: u16,
    looked: CheckedFields,
    passes: bool,
}

impl Record for RangeTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CheckedFields { kind, source, port } = &self.looked;
        let protocol = if *kind == 0 { "TCP" } else { "UDP" };
        let verdict = if self.passes { "PASS" } else { "FAIL" };
        write!(f, "  list {} {protocol} source ip {source} port {port} {verdict}", self.list)
    }
}

pub(super) fn add(
    router: &mut Router,
    settings: SlabReader<Lists>,
    lists: &Shared<Vec<Arc<List>>>,
) -> Result<(), BuildError> {
    let (lists, adjacencies) = (lists.reader(), router.adjacencies.reader());
    let rx = Check::<false> {
        settings: settings.clone(),
        lists: lists.clone(),
        adjacencies: adjacencies.clone(),
    };
    router.engine.add_feature(&IP4_UNICAST, rx)?;
    router.engine.add_feature(&IP4_OUTPUT, Check::<true> { settings, lists, adjacencies })?;
    Ok(())
}
