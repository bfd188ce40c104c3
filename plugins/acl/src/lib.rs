//! Access lists: ordered rules that say which packets pass, by addresses, protocol, ports, types of
//! ICMP and flags of TCP, on what an interface receives and sends, routed or bridged.
//!
//! The first rule about a packet counts, of the lists of an interface in their order; a packet that
//! no rule is about is dropped. A list is made ready for lookups in slices
//! ([`infra::table::rules`]) and published whole: a packet meets the old list or the new one.
//! Besides, an interface may take frames other than IP of some types only, and MACIP lists say
//! which pairs of addresses of layers 2 and 3 it may receive from.
#![forbid(unsafe_code)]

mod api;
mod api_types;
mod cli;
mod configuration;
mod error;
mod handoff;
pub mod list;
pub mod macip;
mod macip_api;
mod macip_cli;
mod macip_node;
mod meeting;
mod node;
mod nonip;
pub mod packet;
mod place;
pub mod rule;
pub mod session;
mod session_cli;
mod show;
mod tcp;
mod trace;
mod words;

use control::feature::Registered;
use control::stats::Columns;
use infra::counter::Rows;
use net::ethernet::{
    L2_INPUT, L2_INPUT_IP4, L2_INPUT_IP6, L2_INPUT_NONIP, L2_OUTPUT, L2_OUTPUT_IP4, L2_OUTPUT_IP6,
    L2_OUTPUT_NONIP,
};
use net::ip4::IP4_OUTPUT;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;

pub use api::*;
pub use api_types::*;
pub use error::Error;
pub use list::{List, ListBuilder, Verdict};
pub use macip_api::*;
pub use node::Access;
pub use packet::Matched;
pub use place::Path;
pub use rule::{Action, Rule};
pub use session::{Both, Reflected, Timeouts};

/// Lists at most.
pub const MOST_LISTS: usize = 1 << 16;
/// Sessions of a version on a thread at most.
pub const MOST_SESSIONS: usize = 1_000_000;
/// Lists in one direction of an interface at most, as messages count them in a byte.
const MOST_APPLIED: usize = 255;

/// Access lists.
pub const FEATURE: Feature = Feature {
    name: "acl",
    about: "Access Control Lists (ACL)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "sessions"],
    register,
    configuration: Configuration::Commands(configuration::configuration),
};

/// The direction of an interface's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received ones.
    Input,
    /// Sent ones.
    Output,
}

/// The lists of an interface, and the types of other frames that pass, received and sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Numbers of lists, in the order in which they are asked.
    pub lists: [Vec<u32>; 2],
    /// Types of Ethernet; all pass where none is named.
    pub types: [Vec<u16>; 2],
}

impl Applied {
    const fn has_lists<const DIRECTION: usize>(&self) -> bool {
        !self.lists[DIRECTION].is_empty()
    }
    /// Whether types are looked at: as in the original, only where lists are applied.
    const fn has_types<const DIRECTION: usize>(&self) -> bool {
        !self.types[DIRECTION].is_empty() && self.has_lists::<DIRECTION>()
    }
}

/// Options of all lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Packets are counted by rule.
    pub counts: bool,
    /// Clients have asked for lookups by hash; they are always fast.
    pub hash_lookup: bool,
    /// Sessions end when lists change; their packets are re-evaluated.
    pub reclassifies: bool,
    /// Raised whenever lists change.
    generation: u32,
}

/// A use of lists: two numbers, and the lists in the order in which they are asked.
pub type Use = ([u32; 2], Vec<u32>);

/// The lists that a feature uses.
pub struct User {
    /// The feature.
    pub name: &'static str,
    /// Names of the two numbers of a use.
    pub labels: [&'static str; 2],
    /// Its uses.
    pub uses: fn(&Router) -> Vec<Use>,
}

/// All access lists.
pub struct Lists {
    slab: SharedSlab<List>,
    options: Shared<Options>,
    users: Registered<User>,
    sessions: Both,
    timeouts: Timeouts,
    /// Whether there were sessions at the last look.
    has_sessions: bool,
}

impl Lists {
    /// The lists in the hands of a node.
    pub fn reader(&self) -> SlabReader<List> {
        self.slab.reader()
    }
    /// A list.
    pub fn at(&self, index: u32) -> Option<&List> {
        self.slab.at(index)
    }
    /// All lists by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &List)> {
        self.slab.iter()
    }
    /// Lists from a number on.
    pub fn iter_from(&self, first: u32) -> impl Iterator<Item = (u32, &List)> {
        self.slab.iter_from(first)
    }
    /// Options of all lists.
    pub fn options(&self) -> &Options {
        self.options.current()
    }
    /// The sessions that rules began.
    pub fn sessions(&self) -> &Both {
        &self.sessions
    }
    /// Their timeouts.
    pub fn timeouts(&self) -> Timeouts {
        self.timeouts
    }
    /// Users of lists besides interfaces.
    pub fn users(&self) -> impl Iterator<Item = &User> {
        self.users.iter()
    }
    fn options_reader(&self) -> Reader<Options> {
        self.options.reader()
    }
}

/// All lists.
pub fn all(router: &Router) -> &Lists {
    router.own::<Lists>()
}

/// Protects lists that a feature uses from deletion.
pub fn add_user(router: &mut Router, user: User) {
    router.own_mut::<Lists>().users.push(user);
}

/// Changes what holds for all lists.
pub fn set_options(router: &mut Router, change: impl FnOnce(&mut Options)) {
    let lists = router.own_mut::<Lists>();
    let mut options = *lists.options();
    change(&mut options);
    lists.options.publish(options);
}

/// Re-evaluates sessions created by lists of another state, if configured.
fn note_change(router: &mut Router) {
    set_options(router, |options| options.generation = options.generation.wrapping_add(1));
}

/// A list that is to be made or replaced, while it is made ready.
pub struct Making {
    /// The one that is replaced, or the number that a new one is to have.
    pub index: Option<u32>,
    /// New, under its number.
    pub is_new: bool,
    tag: String,
    builder: ListBuilder,
}

impl Making {
    /// Begins with rules that are still to be checked.
    ///
    /// # Errors
    /// [`Error`] about a rule, the number or the tag.
    pub fn begin(
        router: &Router,
        index: Option<u32>,
        is_new: bool,
        tag: &str,
        rules: Vec<Rule>,
    ) -> Result<Self, Error> {
        check_number(router, index, is_new)?;
        check_tag(tag)?;
        (0..).zip(&rules).try_for_each(|(number, rule)| rule.check(number))?;
        let builder = ListBuilder::new(rules);
        Ok(Self { index, is_new, tag: tag.to_owned(), builder })
    }
    /// Does a slice; whether that was all.
    pub fn step(&mut self) -> bool {
        self.builder.step()
    }
    /// Publishes the list, after the last slice; returns its number.
    ///
    /// # Errors
    /// [`Error`], when other things have changed meanwhile.
    pub fn finish(&mut self, router: &mut Router) -> Result<u32, Error> {
        check_number(router, self.index, self.is_new)?;
        let index = match self.index {
            Some(index) => index,
            None => first_free(all(router)).ok_or(Error::Full)?,
        };
        let builder = std::mem::replace(&mut self.builder, ListBuilder::new(Vec::new()));
        let matches = counters(router, index, builder.count());
        let list = builder.finish(std::mem::take(&mut self.tag), matches);
        router.own_mut::<Lists>().slab.put(index, Some(list));
        note_change(router);
        Ok(index)
    }
}

/// A tag is the end of a command.
fn check_tag(tag: &str) -> Result<(), Error> {
    if control::cli::is_printable(tag) { Ok(()) } else { Err(Error::Tag) }
}

fn check_number(router: &Router, index: Option<u32>, is_new: bool) -> Result<(), Error> {
    let is_there = |index| all(router).at(index).is_some();
    match index {
        Some(index) if index as usize >= MOST_LISTS => Err(Error::Unknown(index)),
        Some(index) if is_new && is_there(index) => Err(Error::Exists(index)),
        Some(index) if !is_new && !is_there(index) => Err(Error::Unknown(index)),
        _ => Ok(()),
    }
}

fn first_free(lists: &Lists) -> Option<u32> {
    (0..MOST_LISTS as u32).find(|index| lists.at(*index).is_none())
}

fn counters_name(index: u32) -> String {
    format!("/acl/{index}/matches")
}

/// Counters of a list's rules, at zero.
fn counters(router: &mut Router, index: u32, count: usize) -> Rows<VolumeCounter> {
    let name = counters_name(index);
    // Those who still count in the old ones do no harm.
    let _ = router.stats.remove(&name);
    let columns = Columns::fixed(count.max(1));
    router.stats.combined(&name, columns).unwrap_or_else(|why| {
        let log = router.log.class("acl", "");
        log.warn(format_args!("access list {index} has no per-rule counters: {why}"));
        Rows::of(Vec::new())
    })
}

/// Makes a list, or replaces one, at once: for lists that are not long.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn put(
    router: &mut Router,
    index: Option<u32>,
    tag: &str,
    rules: Vec<Rule>,
) -> Result<u32, Error> {
    let mut making = Making::begin(router, index, false, tag, rules)?;
    while !making.step() {}
    making.finish(router)
}

/// Deletes a list.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn delete(router: &mut Router, index: u32) -> Result<(), Error> {
    all(router).at(index).ok_or(Error::Unknown(index))?;
    for (interface, applied) in router.settings::<Applied>() {
        if applied.lists[0].contains(&index) {
            return Err(Error::UsedInput(interface.0));
        }
        if applied.lists[1].contains(&index) {
            return Err(Error::UsedOutput(interface.0));
        }
    }
    let is_used = |user: &User| (user.uses)(router).iter().any(|(_, lists)| lists.contains(&index));
    if all(router).users.iter().any(is_used) {
        return Err(Error::Used);
    }
    router.own_mut::<Lists>().slab.put(index, None);
    let _ = router.stats.remove(&counters_name(index));
    Ok(())
}

/// Sets the lists of an interface for received and sent packets.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn apply(
    router: &mut Router,
    interface: InterfaceIndex,
    lists: [Vec<u32>; 2],
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    for lists in &lists {
        if lists.len() > MOST_APPLIED {
            return Err(Error::TooMany);
        }
        for (at, list) in lists.iter().enumerate() {
            all(router).at(*list).ok_or(Error::Unknown(*list))?;
            if lists[..at].contains(list) {
                return Err(Error::Twice(*list));
            }
        }
    }
    let applied = Applied { lists, ..router.setting(interface) };
    router.put(interface, applied)?;
    note_change(router);
    Ok(())
}

/// Puts one list behind the others of an interface, or takes it off.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn apply_one(
    router: &mut Router,
    interface: InterfaceIndex,
    direction: Direction,
    list: u32,
    is_add: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let Applied { mut lists, .. } = router.setting(interface);
    all(router).at(list).ok_or(Error::Unknown(list))?;
    let these = &mut lists[direction as usize];
    let place = these.iter().position(|l| *l == list);
    match (place, is_add) {
        (Some(_), true) if direction == Direction::Input => Err(Error::UsedInput(interface.0)),
        (Some(_), true) => Err(Error::UsedOutput(interface.0)),
        (None, false) => Err(Error::NotApplied(list)),
        (None, true) => {
            these.push(list);
            apply(router, interface, lists)
        }
        (Some(at), false) => {
            these.remove(at);
            apply(router, interface, lists)
        }
    }
}

/// Permits only these types of non-IP frames, received and sent; all if none is named.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_types(
    router: &mut Router,
    interface: InterfaceIndex,
    types: [Vec<u16>; 2],
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if types.iter().any(|types| types.len() > MOST_APPLIED) {
        return Err(Error::TooMany);
    }
    let applied = Applied { types, ..router.setting(interface) };
    Ok(router.put(interface, applied)?)
}

/// Whether frames are bridged here.
fn has_layer2(router: &Router) -> bool {
    router.engine.index_of(L2_INPUT_IP4.end).is_some()
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let slab = SharedSlab::new(MOST_LISTS).map_err(refuse)?;
    let timeouts = Timeouts::default();
    let sessions = Both::new(router, MOST_SESSIONS, &timeouts).map_err(refuse)?;
    let options = Shared::new(Options { hash_lookup: true, ..Options::default() });
    let (users, has_sessions) = (Registered::default(), false);
    let lists = Lists { slab, options, users, sessions, timeouts, has_sessions };
    let settings = router.attach::<Applied>().map_err(refuse)?;
    node::add(router, &lists, &settings).map_err(refuse)?;
    let at = |arc, node, is_on| AttachedAt { arc, node, is_on };
    router.attach_at([
        at(&IP4_UNICAST, place::name::<V4>(Path::Routed, 0), Applied::has_lists::<0>),
        at(&IP6_UNICAST, place::name::<V6>(Path::Routed, 0), Applied::has_lists::<0>),
        at(&IP4_OUTPUT, place::name::<V4>(Path::Routed, 1), Applied::has_lists::<1>),
        at(&IP6_OUTPUT, place::name::<V6>(Path::Routed, 1), Applied::has_lists::<1>),
    ]);
    if has_layer2(router) {
        node::add_layer2(router, &lists, &settings).map_err(refuse)?;
        nonip::add(router, &settings).map_err(refuse)?;
        router.attach_at([
            at(&L2_INPUT, "l2-input-feat-arc", Applied::has_lists::<0>),
            at(&L2_INPUT_IP4, place::name::<V4>(Path::Bridged, 0), Applied::has_lists::<0>),
            at(&L2_INPUT_IP6, place::name::<V6>(Path::Bridged, 0), Applied::has_lists::<0>),
            at(&L2_INPUT_NONIP, nonip::NAMES[0], Applied::has_types::<0>),
            at(&L2_OUTPUT, "l2-output-feat-arc", Applied::has_lists::<1>),
            at(&L2_OUTPUT_IP4, place::name::<V4>(Path::Bridged, 1), Applied::has_lists::<1>),
            at(&L2_OUTPUT_IP6, place::name::<V6>(Path::Bridged, 1), Applied::has_lists::<1>),
            at(&L2_OUTPUT_NONIP, nonip::NAMES[1], Applied::has_types::<1>),
        ]);
    }
    router.insert(lists);
    session_cli::spawn(router);
    router.on_threads.push(session::threads_changed);
    router.interfaces.observe(|router, interface, change| {
        if change == Change::Deleting && router.state::<Lists>().is_some() {
            session_cli::forget(router, interface);
        }
    });
    macip::register(router)?;
    cli::register(&mut parts.cli);
    session_cli::register(&mut parts.cli);
    macip_cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    macip_api::register(&mut parts.api);
    Ok(())
}
