//! Policers: packets beyond a rate are dropped or marked (RFC 2475 section 2.3.3.4), those of an
//! interface, received or sent, routed or bridged, punted ones, and those that the classifier finds
//! a policer for.
//!
//! A policer has a configuration and a meter; nodes find its number in the setting of the
//! interface. Changing or resetting one makes a new meter, with full buckets, under the same
//! number.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod config;
mod judge;
mod node;
mod show;
mod station;
mod trial;

use control::stats::Columns;
use graph::Claim;
use infra::counter::Rows;
use infra::meter::Meter;
use infra::owner::Owner;
use net::prelude::*;

pub use api::*;
pub use config::{Action, Config, Kind, Rounding, Unit};
pub use judge::color_of;

use judge::Judge;

/// Policers at most.
const MOST: usize = 1 << 16;
const COLUMNS: Columns = Columns::growing("policer", MOST);

/// Policers.
pub const FEATURE: Feature = Feature {
    name: "policer",
    about: "Policer",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "classify"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// One policer.
#[derive(Debug)]
pub struct Policer {
    /// Name.
    pub name: String,
    /// Configuration.
    pub config: Config,
    /// On green, yellow and red packets.
    actions: [Action; 3],
    meter: Meter,
    owner: Owner,
}

impl Policer {
    fn new(name: &str, config: Config, now: f64, thread: Option<usize>) -> Result<Self, Error> {
        let meter = Meter::new(config.profile().map_err(Error::Unfit)?, now);
        let (actions, owner) = (config.actions(), Owner::new(thread));
        Ok(Self { name: name.to_owned(), config, actions, meter, owner })
    }
    /// Tokens in its buckets when they were filled last, and when that was, in seconds.
    pub fn levels(&self) -> ((f64, f64), f64) {
        (self.meter.levels(), self.meter.filled_at())
    }
    /// The thread it belongs to, if there is one.
    pub fn thread(&self) -> Option<usize> {
        self.owner.thread()
    }
}

/// The direction of an interface's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received ones.
    Input,
    /// Sent ones.
    Output,
}

/// The setting of an interface: the policers of received and sent packets.
#[derive(Clone, Debug, Default, PartialEq)]
struct Applied([Option<u32>; 2]);

/// Reasons why a policer cannot be made, changed or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// a policer with this name exists
    #[retval(VALUE_EXIST)]
    Exists,
    /// no such policer
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// at most {MOST} policers
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// {0}
    #[retval(INVALID_VALUE)]
    Unfit(&'static str),
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no such worker
    #[retval(INVALID_WORKER)]
    NoWorker,
}

/// All policers.
struct Policers {
    slab: SharedSlab<Policer>,
    by_name: HashMap<String, u32>,
    /// Packets and bytes by colour.
    counters: [Rows<VolumeCounter>; 3],
    /// The policers of punted packets of IPv4 and IPv6.
    punts: Shared<[Option<u32>; 2]>,
    threads: Shared<Range<usize>>,
}

/// All policers, by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Policer)> {
    router.own::<Policers>().slab.iter()
}

/// The number of a policer.
///
/// # Errors
/// [`Error::Unknown`].
pub fn named(router: &Router, name: &str) -> Result<u32, Error> {
    router.own::<Policers>().by_name.get(name).copied().ok_or(Error::Unknown)
}

/// A policer.
///
/// # Errors
/// [`Error::Unknown`].
pub fn at(router: &Router, index: u32) -> Result<&Policer, Error> {
    router.own::<Policers>().slab.at(index).ok_or(Error::Unknown)
}

/// Counters of green, yellow and red packets, by policer.
pub fn counters(router: &Router) -> &[Rows<VolumeCounter>; 3] {
    &router.own::<Policers>().counters
}

/// Green, yellow and red packets of a policer.
pub fn counted(router: &Router, index: u32) -> [Volume; 3] {
    counters(router).each_ref().map(|counters| counters.sum(index as usize))
}

/// Makes a policer with a number, which others name it by, or any; returns the number.
fn add_at(
    router: &mut Router,
    name: &str,
    index: Option<u32>,
    config: Config,
) -> Result<u32, Error> {
    if !control::cli::is_word(name) {
        return Err(Error::Unfit("the name is not a word"));
    }
    if named(router, name).is_ok() {
        return Err(Error::Exists);
    }
    let new = Policer::new(name, config, router.now(), None)?;
    let policers = router.own_mut::<Policers>();
    let index = match index {
        Some(index) if index as usize >= MOST => return Err(Error::Full),
        Some(index) if policers.slab.at(index).is_some() => return Err(Error::Exists),
        Some(index) => {
            policers.slab.put(index, Some(new));
            index
        }
        None => policers.slab.insert(new).map_err(|_| Error::Full)?,
    };
    policers.by_name.insert(name.to_owned(), index);
    for counters in policers.counters.clone() {
        router.count_from_zero(&counters, COLUMNS, index, "policers");
    }
    Ok(index)
}

/// Changes the configuration of a policer; its buckets are full again.
fn update(router: &mut Router, index: u32, config: Config) -> Result<(), Error> {
    let old = at(router, index)?;
    let new = Policer::new(&old.name, config, router.now(), old.thread())?;
    router.own_mut::<Policers>().slab.replace(index, new);
    Ok(())
}

/// Fills the buckets of a policer.
fn reset(router: &mut Router, index: u32) -> Result<(), Error> {
    let config = at(router, index)?.config;
    update(router, index, config)
}

/// Deletes a policer; its packets are policed no longer.
fn remove(router: &mut Router, index: u32) -> Result<(), Error> {
    let name = at(router, index)?.name.clone();
    let users =
        router.settings::<Applied>().filter(|(_, applied)| applied.0.contains(&Some(index)));
    for (interface, applied) in users.map(|(i, applied)| (i, applied.clone())).collect::<Vec<_>>() {
        router.put(interface, Applied(applied.0.map(|used| used.filter(|i| *i != index))))?;
    }
    for version in IpVersion::ALL {
        if punted(router)[version as usize] == Some(index) {
            apply_to_punted(router, version, None)?;
        }
    }
    let policers = router.own_mut::<Policers>();
    policers.by_name.remove(&name);
    policers.slab.remove(index);
    Ok(())
}

/// Binds a policer to a worker, counted from 0; `None`: to the first that has a packet for it.
fn bind(router: &mut Router, index: u32, worker: Option<usize>) -> Result<(), Error> {
    let policer = at(router, index)?;
    let thread = worker.map(|worker| worker.saturating_add(1));
    if thread.is_some_and(|thread| !router.engine.data_threads().contains(&thread)) {
        return Err(Error::NoWorker);
    }
    policer.owner.set(thread);
    Ok(())
}

/// Sets or removes the policer of an interface's packets.
///
/// # Errors
/// [`Error::NoInterface`], [`Error::Unknown`]; nothing has changed then.
pub fn apply(
    router: &mut Router,
    interface: InterfaceIndex,
    direction: Direction,
    policer: u32,
    on: bool,
) -> Result<(), Error> {
    at(router, policer)?;
    let Applied(mut applied) = router.setting(interface);
    applied[direction as usize] = on.then_some(policer);
    Ok(router.put(interface, Applied(applied))?)
}

/// The policers of punted packets, by version.
fn punted(router: &Router) -> [Option<u32>; 2] {
    *router.own::<Policers>().punts.current()
}

/// Sets or removes the policer of punted packets of a version.
fn apply_to_punted(
    router: &mut Router,
    version: IpVersion,
    policer: Option<u32>,
) -> Result<(), Error> {
    policer.map(|index| at(router, index)).transpose()?;
    let mut new = punted(router);
    new[version as usize] = policer;
    router.own_mut::<Policers>().punts.publish(new);
    let (arc, node) = station::PUNTS[version as usize];
    router.set_feature_everywhere(arc, node, policer.is_some());
    Ok(())
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let colors = Claim::of("policed", judge::YELLOW.with(judge::RED));
    router.engine.claim(colors).map_err(refuse)?;
    let mut rows = |name: &str| {
        router.stats.combined(&format!("/net/policer/{name}"), COLUMNS).map_err(refuse)
    };
    let policers = Policers {
        counters: [rows("conform")?, rows("exceed")?, rows("violate")?],
        slab: SharedSlab::new(MOST).map_err(refuse)?,
        by_name: HashMap::new(),
        punts: Shared::new([None; 2]),
        threads: Shared::new(0..usize::MAX),
    };
    let judge = Judge {
        applied: router.attach::<Applied>().map_err(refuse)?,
        punts: policers.punts.reader(),
        policers: policers.slab.reader(),
        counters: policers.counters.clone(),
        threads: policers.threads.reader(),
        adjacencies: router.adjacencies.reader(),
        ports: router.interfaces.ports(),
        tables: classify::reader(router),
        sorted: classify::interfaces(router),
    };
    node::register(router, &judge).map_err(refuse)?;
    classify::name_policers(router, |router, name| named(router, name).ok());
    router.insert(policers);
    router.on_threads.push(|router, stay| {
        router.own_mut::<Policers>().threads.publish(stay.clone());
        Ok(())
    });
    cli::register(&mut parts.cli);
    trial::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
