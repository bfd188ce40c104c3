//! `acl-plugin-macip-ip4`, `acl-plugin-macip-ip6` and `acl-plugin-macip-l2`: received packets by
//! their sources of layers 2 and 3.

use graph::arc::Beside;
use net::ethernet::L2_INPUT;
use net::prelude::*;
use wire::{arp, upper};

use super::macip::{MacIp, MacList, MacLists, mac_word};

/// Names of the nodes for IPv4, IPv6 and bridged frames.
pub(super) const NAMES: [&str; 3] =
    ["acl-plugin-macip-ip4", "acl-plugin-macip-ip6", "acl-plugin-macip-l2"];

/// IPv4 packets.
pub const IP4: usize = 0;
/// IPv6 packets.
pub const IP6: usize = 1;
/// Bridged frames.
pub const LAYER2: usize = 2;

/// Checks the sources of packets of a kind.
#[derive(Clone)]
pub struct Sources<const KIND: usize> {
    lists: SlabReader<MacList>,
    settings: SlabReader<MacIp>,
}

/// Drops of [`Sources`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// MACIP deny packets.
    #[name("MACIP deny packets")]
    Deny,
}

/// Counters of [`Sources`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// MACIP permit packets.
    #[name("MACIP permit packets")]
    Permit,
}

/// The first rule about a packet with its frame, whose payload is of a kind and in `packet`.
fn find(list: &MacList, frame: &[u8], kind: EtherType, packet: &[u8]) -> Option<(u32, bool)> {
    // A link without addresses has none that counts.
    let mac = frame.get(6..12).and_then(|mac| mac.first_chunk()).copied().unwrap_or_default();
    let mac = mac_word(mac);
    match kind {
        EtherType::IP4 => list.find4(mac, ip4::Header::ref_from_prefix(packet).ok()?.0.src),
        EtherType::IP6 => list.find6(mac, &ip6::Header::ref_from_prefix(packet).ok()?.0.src),
        EtherType::ARP => list.find4(mac, arp::Header::ref_from_prefix(packet).ok()?.0.sender.ip),
        _ => None,
    }
}

impl<const KIND: usize> Sources<KIND> {
    fn judge(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> (u32, Option<(u32, bool)>) {
        let Some(number) = self.settings.read(p.rx(), epoch).and_then(|list| list.0) else {
            return (u32::MAX, Some((u32::MAX, true)));
        };
        let Some(list) = self.lists.read(number, epoch) else { return (number, None) };
        let found = if KIND == LAYER2 {
            let frame = p.bytes();
            upper::payload(frame).and_then(|(kind, at)| find(list, frame, kind, &frame[at..]))
        } else {
            let has_frame = p.flags().has(Flags::L2);
            let frame = if has_frame { p.bytes_from(p.l2_offset()) } else { &[] };
            find(list, frame, [EtherType::IP4, EtherType::IP6][KIND & 1], p.bytes())
        };
        (number, found)
    }
}

impl<const KIND: usize> Node for Sources<KIND> {
    const NAME: &'static str = NAMES[KIND];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = ["ip4-drop", "ip6-drop", "error-drop"][KIND];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, mut permitted) = (frame.epoch(), 0);
        frame.each(
            #[inline(always)]
            |p| {
                let (list, found) = self.judge(p, epoch);
                p.trace(|p| Judged { interface: p.rx(), list, found });
                let passes = found.is_some_and(|(_, permit)| permit);
                permitted += u64::from(passes);
                if passes { Ok(Continue) } else { Err(Error::Deny) }
            },
        );
        frame.count(Count::Permit, permitted);
    }
}

/// The trace record of a node.
struct Judged {
    interface: u32,
    list: u32,
    found: Option<(u32, bool)>,
}

impl Record for Judged {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, list, found } = self;
        write!(f, "  acl-plugin-macip: sw_if_index {interface}, list {list}, ")?;
        match found {
            Some((rule, permit)) => write!(f, "rule {rule}, action: {}", u8::from(*permit)),
            None => write!(f, "no rule, action: 0"),
        }
    }
}

/// Adds the nodes of routed packets.
pub(super) fn add(
    router: &mut Router,
    lists: &MacLists,
    settings: &SlabReader<MacIp>,
) -> Result<(), BuildError> {
    let engine = &mut router.engine;
    engine.place_beside(&IP4_UNICAST, NAMES[IP4], Beside::Before("ip4-inacl"))?;
    engine.place_beside(&IP6_UNICAST, NAMES[IP6], Beside::Before("ip6-inacl"))?;
    engine.add(Sources::<IP4> { lists: lists.reader(), settings: settings.clone() })?;
    engine.add(Sources::<IP6> { lists: lists.reader(), settings: settings.clone() })?;
    Ok(())
}

/// Adds that of bridged frames.
pub(super) fn add_layer2(
    router: &mut Router,
    lists: &MacLists,
    settings: &SlabReader<MacIp>,
) -> Result<(), BuildError> {
    let engine = &mut router.engine;
    engine.place_beside(&L2_INPUT, NAMES[LAYER2], Beside::Before("l2-input-acl"))?;
    engine.add(Sources::<LAYER2> { lists: lists.reader(), settings: settings.clone() })?;
    Ok(())
}
