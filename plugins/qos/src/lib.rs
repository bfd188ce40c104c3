//! Quality of service: the mark that a packet comes with (the traffic class of IP, that of an MPLS
//! label, the priority of a VLAN tag) is recorded, or one is stored that its interface gives it;
//! interfaces mark what they send by egress maps from it.
//!
//! A map has a row for each source of a recorded mark, so that a mark means what it meant where it
//! was read. Packets without a recorded mark leave as they are.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod mark;
mod packet;
mod record;

use net::prelude::*;

pub use api::*;
pub use packet::mark_of;

/// Sources of marks.
pub const SOURCES: usize = 4;
/// Egress maps at most.
const MOST_MAPS: usize = 1 << 16;

/// The place of a mark in a packet.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[number(QosSource)]
pub enum Source {
    /// Given by another feature.
    Ext,
    /// Priority and drop eligibility of the outer VLAN tag (4 bits).
    Vlan,
    /// Traffic class of MPLS labels (3 bits).
    Mpls,
    /// Type of service of IPv4, traffic class of IPv6 (8 bits).
    Ip,
}

impl Source {
    /// All, by number.
    pub const ALL: [Self; SOURCES] = [Self::Ext, Self::Vlan, Self::Mpls, Self::Ip];
}

/// An egress map: for each source the mark to be sent for each mark recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(8))]
pub struct Map(pub [[u8; 256]; SOURCES]);

impl Default for Map {
    fn default() -> Self {
        Self([[0; 256]; SOURCES])
    }
}

/// Sources whose marks are recorded on an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Recorded([bool; SOURCES]);

/// The source and the mark that packets of an interface get on receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stored(Option<u8>);

/// The maps by which an interface marks what it sends, by the place of the mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marked([Option<u32>; SOURCES]);

/// All egress maps.
struct Maps {
    slab: SharedSlab<Map>,
    by_id: BTreeMap<u32, u32>,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// marks of source {0} cannot be recorded
    #[retval(UNIMPLEMENTED)]
    NotRecorded(Source),
    /// marks can be stored for source ip only, not {0}
    #[retval(UNIMPLEMENTED)]
    NotStored(Source),
    /// packets have no mark {0}
    #[retval(UNIMPLEMENTED)]
    NotMarked(Source),
    /// QoS is not configured there for source {0}
    #[retval(NO_SUCH_ENTRY)]
    NotSet(Source),
    /// no egress map {0}
    #[retval(NO_SUCH_TABLE)]
    NoMap(u32),
    /// egress map {0} is in use by an interface
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// at most {MOST_MAPS} egress maps
    #[retval(LIMIT_EXCEEDED)]
    Full,
}

/// Enables or disables recording of marks of received packets.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn record(
    router: &mut Router,
    interface: InterfaceIndex,
    source: Source,
    on: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    if source == Source::Ext {
        return Err(Error::NotRecorded(source));
    }
    let mut recorded = router.setting::<Recorded>(interface);
    if !on && !recorded.0[source as usize] {
        return Err(Error::NotSet(source));
    }
    recorded.0[source as usize] = on;
    Ok(router.put(interface, recorded)?)
}

/// Assigns a fixed mark to received packets, or stops.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn store(
    router: &mut Router,
    interface: InterfaceIndex,
    source: Source,
    mark: Option<u8>,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    if source != Source::Ip {
        return Err(Error::NotStored(source));
    }
    if mark.is_none() && router.setting::<Stored>(interface).0.is_none() {
        return Err(Error::NotSet(source));
    }
    Ok(router.put(interface, Stored(mark))?)
}

/// Enables or disables marking of transmitted packets by an egress map.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn mark(
    router: &mut Router,
    interface: InterfaceIndex,
    output: Source,
    map: Option<u32>,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    if output == Source::Ext {
        return Err(Error::NotMarked(output));
    }
    let by_id = &router.own::<Maps>().by_id;
    let slot = map.map(|id| by_id.get(&id).copied().ok_or(Error::NoMap(id))).transpose()?;
    let mut marked = router.setting::<Marked>(interface);
    if slot.is_none() && marked.0[output as usize].is_none() {
        return Err(Error::NotSet(output));
    }
    marked.0[output as usize] = slot;
    Ok(router.put(interface, marked)?)
}

/// An egress map.
pub fn map(router: &Router, id: u32) -> Option<&Map> {
    let maps = router.own::<Maps>();
    maps.slab.at(*maps.by_id.get(&id)?)
}

/// All egress maps, by identifier.
pub fn maps(router: &Router) -> impl Iterator<Item = (u32, &Map)> {
    let Maps { slab, by_id } = router.own::<Maps>();
    by_id.iter().filter_map(|(id, slot)| Some((*id, slab.at(*slot)?)))
}

/// Makes an egress map, or changes the one with this identifier while packets are marked by it.
///
/// # Errors
/// [`Error::Full`].
pub fn set_map(router: &mut Router, id: u32, map: Map) -> Result<(), Error> {
    let maps = router.own_mut::<Maps>();
    match maps.by_id.get(&id) {
        Some(slot) => maps.slab.replace(*slot, map),
        None => {
            let slot = maps.slab.insert(map).map_err(|_| Error::Full)?;
            maps.by_id.insert(id, slot);
        }
    }
    Ok(())
}

/// Deletes an egress map.
///
/// # Errors
/// [`Error::NoMap`], [`Error::InUse`].
pub fn remove_map(router: &mut Router, id: u32) -> Result<(), Error> {
    let slot = *router.own::<Maps>().by_id.get(&id).ok_or(Error::NoMap(id))?;
    if router.settings::<Marked>().any(|(_, marked)| marked.0.contains(&Some(slot))) {
        return Err(Error::InUse(id));
    }
    let maps = router.own_mut::<Maps>();
    maps.by_id.remove(&id);
    maps.slab.remove(slot);
    Ok(())
}

/// Interfaces and the sources whose marks they record.
fn records(router: &Router) -> impl Iterator<Item = (InterfaceIndex, Source)> {
    router.settings::<Recorded>().flat_map(|(interface, recorded)| {
        let sources = Source::ALL.into_iter().filter(|s| recorded.0[*s as usize]);
        sources.map(move |source| (interface, source))
    })
}

/// Interfaces, the source and the mark that they store.
fn stores(router: &Router) -> impl Iterator<Item = (InterfaceIndex, Source, u8)> {
    let stored = router.settings::<Stored>();
    stored.filter_map(|(interface, stored)| Some((interface, Source::Ip, stored.0?)))
}

/// Interfaces, the place that they mark and the map by which.
fn marks(router: &Router) -> impl Iterator<Item = (InterfaceIndex, Source, u32)> {
    let by_id = &router.own::<Maps>().by_id;
    router.settings::<Marked>().flat_map(move |(interface, marked)| {
        Source::ALL.into_iter().filter_map(move |output| {
            let slot = marked.0[output as usize]?;
            let (id, _) = by_id.iter().find(|(_, s)| **s == slot)?;
            Some((interface, output, *id))
        })
    })
}

/// Quality of service.
pub const FEATURE: Feature = Feature {
    name: "qos",
    about: "Quality of service: marks of packets recorded and rewritten",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6", "mpls", "l2"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let stored = router.attach::<Stored>().map_err(refuse)?;
    let marked = router.attach::<Marked>().map_err(refuse)?;
    router.attach::<Recorded>().map_err(refuse)?;
    let slab = SharedSlab::new(MOST_MAPS).map_err(refuse)?;
    record::add(router, &stored).map_err(refuse)?;
    mark::add(router, &marked, &slab.reader()).map_err(refuse)?;
    let is_recorded = |source: Source| -> fn(&Recorded) -> bool {
        match source {
            Source::Vlan => |r| r.0[Source::Vlan as usize],
            Source::Mpls => |r| r.0[Source::Mpls as usize],
            _ => |r| r.0[Source::Ip as usize],
        }
    };
    for (arc, node, source) in record::places() {
        router.attach_at([AttachedAt { arc, node, is_on: is_recorded(source) }]);
    }
    for (arc, node) in record::stores() {
        router.attach_at::<Stored, _>([AttachedAt { arc, node, is_on: |s| s.0.is_some() }]);
    }
    let is_marked = |source: Source| -> fn(&Marked) -> bool {
        match source {
            Source::Vlan => |m| m.0[Source::Vlan as usize].is_some(),
            Source::Mpls => |m| m.0[Source::Mpls as usize].is_some(),
            _ => |m| m.0[Source::Ip as usize].is_some(),
        }
    };
    for (arc, node, source) in mark::places() {
        router.attach_at([AttachedAt { arc, node, is_on: is_marked(source) }]);
    }
    router.insert(Maps { slab, by_id: BTreeMap::new() });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
