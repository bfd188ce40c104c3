//! Uses of tables: those of an interface, and those of punted packets.
#![forbid(unsafe_code)]

use graph::arc::FeatureArc;
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::ip4::IP4_OUTPUT;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;

use super::Error;
use super::table::NONE;
use super::tables::Classifier;

/// The use of an interface's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Filter of received packets.
    Input,
    /// Filter of sent packets.
    Output,
    /// Received packets are counted, and marked for nodes behind.
    Flow,
    /// Policer of received packets: the plugin of policers acts on them.
    Police,
    /// Next node of received frames of bridged and cross-connected interfaces.
    InputFrames,
    /// Filter of sent frames.
    OutputFrames,
}

/// The kind of packets that a table is for.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// Bridged and cross-connected frames; among those that are sorted as frames, all that carry
    /// neither IPv4 nor IPv6.
    #[word("l2")]
    Layer2,
}

const USES: usize = 6;
const KINDS: usize = 3;
/// Kinds of what is punted.
const VERSIONS: usize = 2;

/// The tables of an interface, by use and kind; [`NONE`] where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables(pub [[u32; KINDS]; USES]);

impl Default for Tables {
    fn default() -> Self {
        Self([[NONE; KINDS]; USES])
    }
}

impl Tables {
    /// Whether there is a table for a kind of packets.
    pub const fn is_on<const USE: usize, const KIND: usize>(&self) -> bool {
        self.0[USE][KIND] != NONE
    }
    fn is_any<const USE: usize>(&self) -> bool {
        self.0[USE] != [NONE; KINDS]
    }
}

/// The tables for what is punted, by kind.
pub struct Punted(Shared<[u32; VERSIONS]>);

impl Punted {
    pub(super) fn new() -> (Self, Reader<[u32; VERSIONS]>) {
        let tables = Shared::new([NONE; VERSIONS]);
        let reader = tables.reader();
        (Self(tables), reader)
    }
}

/// Arcs on which the tables of interfaces act.
pub(super) fn places() -> [AttachedAt<Tables>; 3 * VERSIONS] {
    use super::node::NAMES;
    let at = |arc: &'static FeatureArc, node, is_on| AttachedAt { arc, node, is_on };
    let [input, output, flow, ..] = NAMES;
    [
        at(&IP4_UNICAST, input[0], Tables::is_on::<0, 0>),
        at(&IP6_UNICAST, input[1], Tables::is_on::<0, 1>),
        at(&IP4_OUTPUT, output[0], Tables::is_on::<1, 0>),
        at(&IP6_OUTPUT, output[1], Tables::is_on::<1, 1>),
        at(&IP4_UNICAST, flow[0], Tables::is_on::<2, 0>),
        at(&IP6_UNICAST, flow[1], Tables::is_on::<2, 1>),
    ]
}

/// Arcs on which they act on bridged frames.
pub(super) fn places2() -> [AttachedAt<Tables>; 4] {
    let [[.., input], [.., output], _, _, [.., received], [.., sent], ..] = super::node::NAMES;
    [
        AttachedAt { arc: &L2_INPUT, node: input, is_on: Tables::is_on::<0, 2> },
        AttachedAt { arc: &L2_OUTPUT, node: output, is_on: Tables::is_on::<1, 2> },
        AttachedAt { arc: &L2_INPUT, node: received, is_on: Tables::is_any::<4> },
        AttachedAt { arc: &L2_OUTPUT, node: sent, is_on: Tables::is_any::<5> },
    ]
}

/// Gives an interface these tables for a use, or takes them off; [`NONE`] leaves what is there.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    of: Use,
    tables: [u32; KINDS],
    is_add: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    check(router, &tables)?;
    let [_, _, layer2] = tables;
    if layer2 != NONE && (of == Use::Flow || !super::node::has_layer2(router)) {
        return Err(Error::NoLayer2);
    }
    if of == Use::Police && router.own::<Classifier>().policer.is_none() {
        return Err(Error::NoPolicers);
    }
    let mut all = router.setting::<Tables>(interface);
    change(&mut all.0[of as usize], &tables, is_add)?;
    Ok(router.put(interface, all)?)
}

/// Gives an interface exactly these tables to sort its frames by; [`NONE`] for none.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_frames(
    router: &mut Router,
    interface: InterfaceIndex,
    of: Use,
    tables: [u32; KINDS],
) -> Result<(), Error> {
    debug_assert!(matches!(of, Use::InputFrames | Use::OutputFrames));
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let known = [Error::NoTable, Error::NoIp6Table, Error::NoOtherTable];
    for (table, missing) in tables.iter().zip(known) {
        check(router, &[*table]).map_err(|_| missing)?;
    }
    if !super::node::has_layer2(router) {
        return Err(Error::NoLayer2);
    }
    let mut all = router.setting::<Tables>(interface);
    all.0[of as usize] = tables;
    Ok(router.put(interface, all)?)
}

/// Checks punted packets by these tables, or stops.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_punted(router: &mut Router, tables: [u32; VERSIONS], is_add: bool) -> Result<(), Error> {
    check(router, &tables)?;
    let mut all = punted(router);
    change(&mut all, &tables, is_add)?;
    router.own_mut::<Punted>().0.publish(all);
    let punt = super::node::NAMES[super::node::PUNT as usize];
    for (version, arc) in [V4::PUNT_ARC, V6::PUNT_ARC].into_iter().enumerate() {
        router.set_feature_everywhere(arc, punt[version], all[version] != NONE);
    }
    Ok(())
}

/// The tables for what is punted.
pub fn punted(router: &Router) -> [u32; VERSIONS] {
    *router.own::<Punted>().0.current()
}

fn check(router: &Router, tables: &[u32]) -> Result<(), Error> {
    let all = router.own::<Classifier>();
    let is_known = |table: &u32| *table == NONE || all.table(*table).is_some();
    if tables.iter().all(is_known) { Ok(()) } else { Err(Error::NoTable) }
}

fn change(all: &mut [u32], tables: &[u32], is_add: bool) -> Result<(), Error> {
    for (now, table) in all.iter_mut().zip(tables).filter(|(_, table)| **table != NONE) {
        if !is_add && now != table {
            return Err(Error::NotThere);
        }
        *now = if is_add { *table } else { NONE };
    }
    Ok(())
}

/// Whether an interface or what is punted uses a table.
pub(super) fn is_used(router: &Router, table: u32) -> bool {
    let mut interfaces = router.settings::<Tables>().map(|(_, tables)| tables);
    interfaces.any(|tables| tables.0.as_flattened().contains(&table))
        || punted(router).contains(&table)
        || router.own::<Classifier>().users.iter().any(|uses| uses(router, table))
}

/// The interfaces that have a table for this, with it.
pub fn of(router: &Router, of: Use, kind: Kind) -> impl Iterator<Item = (InterfaceIndex, u32)> {
    let all = router.settings::<Tables>();
    let all = all.map(move |(i, tables)| (i, tables.0[of as usize][kind as usize]));
    all.filter(|(_, table)| *table != NONE)
}
