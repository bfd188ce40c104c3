//! `ipsec4-input-feature`, `ipsec6-input-feature`: protected inbound packets are decrypted, others
//! are checked by policies; `ipsec4-output-feature`, `ipsec6-output-feature`: outbound ones are
//! checked.

use infra::counter::Rows;
use net::adjacency::{Adjacency, Role};
use net::gso::{self, UNDONE};
use net::prelude::*;

use super::ah;
use super::cut::cut;
use super::flows::{Flows, Key};
use super::sa::Sa;
use super::spd::{Action, Flow, Rule, Spd, has_ports};
use super::{Applied, Work};

/// A packet was decrypted on its receive interface.
pub const OPENED: Flags = Flags::feature(1);
/// A packet was encrypted for its outgoing interface.
pub const SEALED: Flags = Flags::feature(2);

/// The nodes.
pub const INPUT: [&str; 2] = ["ipsec4-input-feature", "ipsec6-input-feature"];
/// The nodes for outbound packets.
pub const OUTPUT: [&str; 2] = ["ipsec4-output-feature", "ipsec6-output-feature"];

/// State read by both kinds of nodes.
#[derive(Clone)]
pub struct Policies {
    pub(super) applied: SlabReader<Applied>,
    pub(super) spds: SlabReader<Spd>,
    pub(super) sas: SlabReader<Sa>,
    pub(super) counters: Rows<VolumeCounter>,
}

impl Policies {
    /// The database of an interface, and its index.
    fn of<'e>(&'e self, interface: u32, epoch: Epoch<'e>) -> Option<(u32, &'e Spd)> {
        let place = self.applied.read(interface, epoch)?.0?;
        Some((place, self.spds.read(place, epoch)?))
    }
    fn count(&self, thread: usize, rule: &Rule, p: &Buffer<'_>) {
        if let Some(counter) = self.counters.row(thread).get(rule.index as usize) {
            counter.add(1, p.total_len() as u64);
        }
    }
}

/// Fields of a packet that policies match.
#[derive(Clone, Copy)]
pub struct Seen {
    pub protocol: Protocol,
    pub src: u128,
    pub dst: u128,
    /// Source and destination port.
    pub ports: Option<(u16, u16)>,
    /// Offset of the upper-layer header.
    pub offset: usize,
    is_fragment: bool,
    /// Whether it is a fragment without the upper-layer header.
    pub is_later: bool,
}

impl Seen {
    /// Parses an IP packet that begins with its header.
    #[inline(always)]
    pub fn of(packet: &[u8], is_6: bool) -> Option<Self> {
        let (protocol, src, dst, offset, is_later, is_fragment) = if is_6 {
            let (h, _) = ip6::Header::ref_from_prefix(packet).ok()?;
            let (src, dst) = (u128::from_be_bytes(h.src), u128::from_be_bytes(h.dst));
            let ah = ip6::extensions(packet).find(|e| e.protocol == Protocol::AH);
            let upper = ip6::upper_layer(packet);
            let fragment = upper.as_ref().and_then(|upper| upper.fragment);
            let is_later = fragment.is_some_and(|f| f.offset() != 0);
            let (protocol, offset) = match ah {
                Some(ah) => (Protocol::AH, ah.offset),
                None => upper.map(|upper| (upper.protocol, upper.offset))?,
            };
            (protocol, src, dst, offset, is_later, fragment.is_some())
        } else {
            let (h, _) = ip4::Header::ref_from_prefix(packet).ok()?;
            let bits = |addr| u128::from(u32::from_be_bytes(addr));
            let is_later = h.fragment_offset() != 0;
            (h.protocol, bits(h.src), bits(h.dst), h.header_len(), is_later, h.is_fragment())
        };
        let ports = packet.get(offset..).filter(|_| has_ports(protocol) && !is_later);
        let ports = ports.and_then(|bytes| {
            let [a, b, c, d] = *bytes.first_chunk::<4>()?;
            Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
        });
        Some(Self { protocol, src, dst, ports, offset, is_fragment, is_later })
    }
    /// The SPI, if this may be a protected packet.
    #[inline(always)]
    fn spi(&self, packet: &[u8]) -> Option<u32> {
        let at = match self.protocol {
            Protocol::ESP => self.offset,
            Protocol::AH => self.offset + ah::SPI_AT,
            Protocol::UDP if self.ports.is_some() => self.offset + size_of::<udp::Header>(),
            _ => return None,
        };
        let spi = u32::from_be_bytes(*packet.get(at..)?.first_chunk()?);
        (spi != 0).then_some(spi)
    }
    fn key(&self, spd: u32) -> Key {
        Key::new(spd, (self.src, self.dst), self.protocol, self.ports)
    }
    fn inbound(&self) -> Flow {
        let Self { protocol, src, dst, ports, .. } = *self;
        Flow { protocol, remote: src, local: dst, ports }
    }
    fn outbound(&self) -> Flow {
        let Self { protocol, src, dst, ports, .. } = *self;
        let ports = ports.map(|(src, dst)| (dst, src));
        Flow { protocol, remote: dst, local: src, ports }
    }
}

/// Checks inbound packets.
#[derive(Clone)]
pub struct Input<const IS_6: bool> {
    pub(super) policies: Policies,
    pub(super) flows: Flows,
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum InputNext<const IS_6: bool> {
    /// Decrypt ESP.
    #[to(["esp4-decrypt", "esp6-decrypt"][IS_6 as usize], payload = Work)]
    Esp,
    /// Verify AH.
    #[to(["ah4-decrypt", "ah6-decrypt"][IS_6 as usize], payload = Work)]
    Ah,
    /// Reassemble, and receive again (RFC 4303 section 3.4.1).
    #[to(["ip4-full-reassembly-again", "ip6-full-reassembly-again"][IS_6 as usize])]
    Reassemble,
    /// On with the features of the interface.
    #[along]
    Continue,
}

/// Drops of [`Input`].
#[derive(Clone, Copy, graph::Reason)]
pub enum InputError {
    /// IPSec policy discard.
    #[name("IPSec policy discard")]
    Discard,
    /// IPSec policy not matched.
    #[name("IPSec policy not matched")]
    NotMatched,
}

/// Counters of [`Input`].
#[derive(Clone, Copy, graph::Count)]
pub enum InputCount {
    /// IPSec pkts received.
    #[name("IPSec pkts received")]
    Received,
    /// IPSec policy match.
    #[name("IPSec policy match")]
    Match,
    /// IPSec policy bypass.
    #[name("IPSec policy bypass")]
    Bypass,
}

impl Policies {
    /// Whether an SA may decrypt the packet of a fragment: only the first fragment has an SPI.
    #[cold]
    #[inline(never)]
    fn may_open(&self, spd: &Spd, seen: &Seen, is_6: bool, epoch: Epoch<'_>) -> bool {
        let flow = seen.inbound();
        let mut all = spd.protect[usize::from(is_6)].values();
        all.any(|rules| self.protecting(rules, (seen, &flow), epoch).is_some())
    }
    /// The policy whose SA decrypts a packet.
    #[inline(always)]
    fn protecting<'e>(
        &'e self,
        rules: &'e [Arc<Rule>],
        (seen, flow): (&Seen, &Flow),
        epoch: Epoch<'e>,
    ) -> Option<&'e Rule> {
        rules.iter().find_map(|rule| {
            let sa = self.sas.read(rule.sa.0, epoch)?;
            let is_kind = match seen.protocol {
                Protocol::UDP => sa.config.udp.is_some(),
                protocol => sa.config.protocol == protocol,
            };
            let is_between = match &sa.config.tunnel {
                Some(outer) => {
                    let bits = net::tunnel::Tuple::bits;
                    (bits(outer.src), bits(outer.dst)) == (flow.remote, flow.local)
                }
                None => rule.has_addresses(flow),
            };
            (is_kind && is_between).then_some(&**rule)
        })
    }
}

impl<const IS_6: bool> Node for Input<IS_6> {
    const NAME: &'static str = INPUT[IS_6 as usize];
    const HOT: bool = true;
    type Next = InputNext<IS_6>;
    type Error = InputError;
    type Count = InputCount;
    const DROP: &'static str = ["ip4-drop", "ip6-drop"][IS_6 as usize];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let Self { policies, flows } = self;
        let (policies, has_flows) = (&*policies, flows.is_on());
        let (mut received, mut matched, mut bypassed) = (0, 0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                if p.flags().has(OPENED) {
                    p.clear_flags(OPENED);
                    return Ok(InputNext::Continue);
                }
                let Some((place, spd)) = policies.of(p.rx(), epoch) else {
                    return Ok(InputNext::Continue);
                };
                let seen = Seen::of(p.bytes(), IS_6).ok_or(InputError::NotMatched)?;
                let judged = [Protocol::ESP, Protocol::AH, Protocol::UDP];
                if !judged.contains(&seen.protocol) {
                    return Ok(InputNext::Continue);
                }
                if seen.is_fragment && policies.may_open(spd, &seen, IS_6, epoch) {
                    return Ok(InputNext::Reassemble);
                }
                received += 1;
                let spi = seen.spi(p.bytes());
                let flow = seen.inbound();
                let rules = spi.and_then(|spi| spd.protect[usize::from(IS_6)].get(&spi));
                let opens = |rules| policies.protecting(rules, (&seen, &flow), epoch);
                // Packets with an SPI of an SA are not cached, since their inner packets can
                // differ.
                let key = (has_flows && rules.is_none()).then(|| seen.key(place));
                let version = spd.versions[0];
                let known = key.as_ref().and_then(|key| flows.find(key, version));
                let known = known.and_then(|place| spd.inbound_at(IS_6, place));
                let rule = rules.and_then(|rules| opens(rules)).or(known).or_else(|| {
                    let rule = spd.inbound(IS_6, &flow)?;
                    if let Some(key) = &key {
                        flows.put(key, version, spd.inbound_place(IS_6, rule)?, thread);
                    }
                    Some(rule)
                });
                p.trace(|_| Judged { spd: spd.id(), spi, rule: rule.map(|rule| rule.index) });
                let rule = rule.ok_or(InputError::NotMatched)?;
                policies.count(thread, rule, p);
                match rule.action() {
                    Action::Bypass => {
                        bypassed += 1;
                        Ok(InputNext::Continue)
                    }
                    Action::Discard => Err(InputError::Discard),
                    Action::Protect(_) => {
                        matched += 1;
                        p.set_payload(Work { sa: rule.sa.0, front: seen.offset as u32, via: 0 });
                        Ok(if rule.is_ah { InputNext::Ah } else { InputNext::Esp })
                    }
                }
            },
        );
        frame.count(InputCount::Received, received);
        frame.count(InputCount::Match, matched);
        frame.count(InputCount::Bypass, bypassed);
    }
}

/// Checks outbound packets.
pub struct Output<const IS_6: bool> {
    pub(super) policies: Policies,
    pub(super) adjacencies: SlabReader<Adjacency>,
    pub(super) flows: Flows,
    /// State of the sequence of IPv4 identifications.
    pub(super) sequence: u64,
}

/// Each thread has its own sequence.
impl<const IS_6: bool> Clone for Output<IS_6> {
    fn clone(&self) -> Self {
        Self {
            policies: self.policies.clone(),
            adjacencies: self.adjacencies.clone(),
            flows: self.flows.clone(),
            sequence: infra::cpu::time_stamp().unwrap_or_default(),
        }
    }
}

/// Edges of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum OutputNext<const IS_6: bool> {
    /// Encrypt with ESP.
    #[to(["esp4-encrypt", "esp6-encrypt"][IS_6 as usize], payload = Work)]
    Esp,
    /// Authenticate with AH.
    #[to(["ah4-encrypt", "ah6-encrypt"][IS_6 as usize], payload = Work)]
    Ah,
    /// The packet was segmented, and the segments are processed one by one.
    #[to(OUTPUT[IS_6 as usize])]
    Again,
    /// On with the features of the interface.
    #[along]
    Continue,
}

/// Drops of [`Output`].
#[derive(Clone, Copy, graph::Reason)]
pub enum OutputError {
    /// IPSec policy discard.
    #[name("IPSec policy discard")]
    Discard,
    /// IPSec policy (no match).
    #[name("IPSec policy (no match)")]
    NoMatch,
    /// IPSec encapsulation failed.
    #[name("IPSec encapsulation failed")]
    Failed,
}

/// Counters of [`Output`].
#[derive(Clone, Copy, graph::Count)]
pub enum OutputCount {
    /// IPSec pkts received.
    #[name("IPSec pkts received")]
    Received,
    /// IPSec policy protect.
    #[name("IPSec policy protect")]
    Protect,
    /// IPSec policy bypass.
    #[name("IPSec policy bypass")]
    Bypass,
}

impl<const IS_6: bool> Node for Output<IS_6> {
    const NAME: &'static str = OUTPUT[IS_6 as usize];
    const HOT: bool = true;
    type Next = OutputNext<IS_6>;
    type Error = OutputError;
    type Count = OutputCount;
    const DROP: &'static str = ["ip4-drop", "ip6-drop"][IS_6 as usize];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let Self { policies, adjacencies, flows, sequence } = self;
        let (policies, adjacencies, has_flows) = (&*policies, &*adjacencies, flows.is_on());
        let (mut received, mut protected, mut bypassed) = (0, 0, 0);
        let mut is_behind = false;
        frame.each(
            #[inline(always)]
            |p| {
                if p.flags().has(SEALED) {
                    p.clear_flags(SEALED);
                    return Ok(OutputNext::Continue);
                }
                let Some((place, spd)) = policies.of(p.tx(), epoch) else {
                    return Ok(OutputNext::Continue);
                };
                let over = adjacencies.read(p.adjacency(), epoch);
                let over = over.filter(|a| a.role != Role::Midchain);
                let (front, mtu) =
                    over.map_or((0, u16::MAX), |a| (usize::from(a.header_len), a.mtu));
                let packet = p.bytes().get(front..).unwrap_or(&[]);
                let seen = Seen::of(packet, IS_6).ok_or(OutputError::NoMatch)?;
                let rules = &spd.outbound[usize::from(IS_6)];
                let key = has_flows.then(|| seen.key(place));
                let version = spd.versions[1];
                let known = key.as_ref().and_then(|key| flows.find(key, version));
                let found = known.and_then(|place| rules.at(place)).or_else(|| {
                    let rule = rules.find(&seen.outbound())?;
                    if let Some(key) = &key {
                        flows.put(key, version, rules.place(rule)?, thread);
                    }
                    Some(rule)
                });
                let is_protected = |rule: &Rule| matches!(rule.action(), Action::Protect(_));
                if found.is_some_and(is_protected) {
                    if p.flags().has(UNDONE) {
                        gso::apply(UNDONE, p).map_err(|_| OutputError::Failed)?;
                        is_behind = true;
                    }
                    if is_behind {
                        return Ok(OutputNext::Again);
                    }
                }
                received += 1;
                let rule = found.map(|rule| rule.index);
                p.trace(|_| Judged { spd: spd.id(), spi: None, rule });
                let rule = found.ok_or(OutputError::NoMatch)?;
                policies.count(thread, rule, p);
                match rule.action() {
                    Action::Bypass => {
                        bypassed += 1;
                        fit(p, front, (mtu, IS_6), sequence)?;
                        Ok(OutputNext::Continue)
                    }
                    Action::Discard => Err(OutputError::Discard),
                    Action::Protect(_) => {
                        protected += 1;
                        p.set_payload(Work { sa: rule.sa.0, front: front as u32, via: 0 });
                        Ok(if rule.is_ah { OutputNext::Ah } else { OutputNext::Esp })
                    }
                }
            },
        );
        frame.count(OutputCount::Received, received);
        frame.count(OutputCount::Protect, protected);
        frame.count(OutputCount::Bypass, bypassed);
    }
}

/// Fragments an unprotected packet that does not fit the link.
#[inline(always)]
fn fit<N: Node>(
    p: &mut Packet<'_, N>,
    front: usize,
    (mtu, is_6): (u16, bool),
    sequence: &mut u64,
) -> Result<(), OutputError> {
    if p.total_len() - front <= mtu.into() || p.flags().has(Flags::GSO) {
        return Ok(());
    }
    let done = cut(p, front, (mtu, is_6), Flags::default(), sequence);
    done.map_err(|_| OutputError::Failed)
}

/// Trace text of the nodes.
struct Judged {
    spd: u32,
    spi: Option<u32>,
    rule: Option<u32>,
}

impl Record for Judged {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  spd {}", self.spd)?;
        if let Some(spi) = self.spi {
            write!(f, " spi {spi} (0x{spi:08x})")?;
        }
        match self.rule {
            Some(rule) => write!(f, " policy {rule}"),
            None => f.write_str(" no policy"),
        }
    }
}
