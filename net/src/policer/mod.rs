//! Policers: packets beyond a rate are dropped or marked (RFC 2475 section 2.3.3.4), those of an
//! interface, in or out, and what is punted.
//!
//! A policer has a configuration and a meter; nodes find it by its number in a table of their
//! station. Changing or resetting one makes a new meter, with full buckets, under the same number.

mod api;
mod cli;
mod config;
mod judge;
mod node;
mod punt;
#[cfg(test)]
mod tests;
mod trial;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;

use control::feature::Refused;
use control::stats::Columns;
use infra::counter::{Rows, Volume, VolumeCounter};
use infra::meter::{Color, Meter};
use infra::owner::Owner;
use infra::rcu::{Shared, SharedSlab};

use crate::interface::{Change, InterfaceIndex};
use crate::ip::{V4, V6};
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use config::{Action, Config, Rounding, Unit};
pub use judge::Verdict;

use judge::{Judge, Station, Table};
use node::{Input, OnInterface, Output};

/// Policers at most.
const MOST: usize = 1 << 16;
const COLUMNS: Columns = Columns::growing("policer", MOST);
/// Stands for no policer in a [`Table`].
const NONE: u32 = u32::MAX;

/// One policer.
#[derive(Debug)]
pub struct Policer {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub config: Config,
    meter: Meter,
    owner: Owner,
}

impl Policer {
    /// Tokens in its buckets when they were filled last, and when that was, in seconds.
    pub fn levels(&self) -> ((f64, f64), f64) {
        (self.meter.levels(), self.meter.filled_at())
    }
    /// The thread that works it, if there is one.
    pub fn thread(&self) -> Option<usize> {
        self.owner.thread()
    }
}

/// A place in the path of packets that has policers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What comes in on an interface.
    Input,
    /// What goes out of it.
    Output,
}

/// Why a policer cannot be made, changed or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is one of this name.
    Exists,
    /// There is none of this name or number.
    Unknown,
    /// There are as many as there may be.
    Full,
    /// What it is to do does not fit together.
    Unfit(&'static str),
    /// There is no such interface.
    NoInterface,
    /// There is no such worker.
    NoWorker,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("a policer of this name exists"),
            Self::Unknown => f.write_str("no such policer"),
            Self::Full => write!(f, "no more than {MOST} policers"),
            Self::Unfit(why) => f.write_str(why),
            Self::NoInterface => f.write_str("no such interface"),
            Self::NoWorker => f.write_str("no such worker"),
        }
    }
}
impl std::error::Error for Error {}

/// All policers and where they are used.
struct Policers {
    slab: SharedSlab<Policer>,
    by_name: HashMap<String, u32>,
    /// Packets and bytes by colour.
    counters: [Rows<VolumeCounter>; 3],
    /// By interface: what comes in, what goes out.
    interfaces: [Shared<Table>; 2],
    /// What is punted of IPv4 and IPv6: one entry, or none.
    punts: [Shared<Table>; 2],
    threads: Shared<Range<usize>>,
}

impl Policers {
    fn new(router: &mut Router) -> io::Result<Self> {
        let mut rows = |name: &str| {
            let path = format!("/net/policer/{name}");
            router.stats.combined(&path, COLUMNS).map_err(io::Error::other)
        };
        Ok(Self {
            counters: [rows("conform")?, rows("exceed")?, rows("violate")?],
            slab: SharedSlab::new(MOST)?,
            by_name: HashMap::new(),
            interfaces: [(); 2].map(|()| Shared::new(Table::new())),
            punts: [(); 2].map(|()| Shared::new(Table::new())),
            threads: Shared::new(0..usize::MAX),
        })
    }
    fn judge(&self, table: &Shared<Table>) -> Judge {
        Judge {
            table: table.reader(),
            policers: self.slab.reader(),
            counters: self.counters.clone(),
            threads: self.threads.reader(),
        }
    }
}

impl Router {
    fn policing(&mut self) -> &mut Policers {
        self.own_mut()
    }
    /// All policers, by number.
    pub fn policers(&self) -> impl Iterator<Item = (u32, &Policer)> {
        self.state::<Policers>().into_iter().flat_map(|p| p.slab.iter())
    }
    /// The number of a policer.
    pub fn policer_named(&self, name: &str) -> Option<u32> {
        self.state::<Policers>()?.by_name.get(name).copied()
    }
    /// A policer.
    pub fn policer(&self, index: u32) -> Option<&Policer> {
        self.state::<Policers>()?.slab.at(index)
    }
    /// Packets that a policer found green, yellow and red.
    pub fn policed(&self, index: u32) -> [Volume; 3] {
        let counters = self.state::<Policers>().map(|p| &p.counters);
        let sum = |color: Color| counters.map(|c| c[color as usize].sum(index as usize));
        [Color::Green, Color::Yellow, Color::Red].map(|color| sum(color).unwrap_or_default())
    }
    /// Makes a policer; returns its number.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn add_policer(&mut self, name: &str, config: Config) -> Result<u32, Error> {
        if self.policer_named(name).is_some() {
            return Err(Error::Exists);
        }
        let profile = config.profile().map_err(Error::Unfit)?;
        let meter = Meter::new(profile, self.now());
        let new = Policer { name: name.to_owned(), config, meter, owner: Owner::new(None) };
        let policing = self.policing();
        let index = policing.slab.insert(new).map_err(|_| Error::Full)?;
        policing.by_name.insert(name.to_owned(), index);
        for counters in policing.counters.clone() {
            self.count_from_zero(&counters, COLUMNS, index, "policers");
        }
        Ok(index)
    }
    /// Has a policer do something else from now on; its buckets are full again.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn update_policer(&mut self, index: u32, config: Config) -> Result<(), Error> {
        let old = self.policer(index).ok_or(Error::Unknown)?;
        let profile = config.profile().map_err(Error::Unfit)?;
        let (name, owner) = (old.name.clone(), Owner::new(old.thread()));
        let meter = Meter::new(profile, self.now());
        self.policing().slab.replace(index, Policer { name, config, meter, owner });
        Ok(())
    }
    /// Fills the buckets of a policer.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn reset_policer(&mut self, index: u32) -> Result<(), Error> {
        let config = self.policer(index).ok_or(Error::Unknown)?.config;
        self.update_policer(index, config)
    }
    /// Deletes a policer; what it was used for is policed no longer.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn remove_policer(&mut self, index: u32) -> Result<(), Error> {
        let name = self.policer(index).ok_or(Error::Unknown)?.name.clone();
        for direction in [Direction::Input, Direction::Output] {
            let table = self.policing().interfaces[direction as usize].current();
            let users = (0..).map(InterfaceIndex).zip(table).filter(|(_, used)| **used == index);
            let users: Vec<_> = users.map(|(interface, _)| interface).collect();
            users.into_iter().for_each(|i| self.put_policer(i, direction, NONE));
        }
        for is_ip6 in [false, true] {
            if self.punt_policer(is_ip6) == Some(index) {
                self.put_punt_policer(is_ip6, None);
            }
        }
        let policing = self.policing();
        policing.by_name.remove(&name);
        policing.slab.remove(index);
        Ok(())
    }
    /// Has a worker, counted from 0, do the work of a policer; `None`: whichever has the next
    /// packet for it.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::NoWorker`].
    pub fn bind_policer(&mut self, index: u32, worker: Option<usize>) -> Result<(), Error> {
        let policer = self.policer(index).ok_or(Error::Unknown)?;
        let thread = worker.map(|worker| worker.saturating_add(1));
        if thread.is_some_and(|thread| !self.engine.data_threads().contains(&thread)) {
            return Err(Error::NoWorker);
        }
        policer.owner.set(thread);
        Ok(())
    }
    /// Has what passes an interface policed, by another policer than before, or no longer.
    ///
    /// # Errors
    /// [`Error::NoInterface`], [`Error::Unknown`]; nothing has changed then.
    pub fn apply_policer(
        &mut self,
        interface: InterfaceIndex,
        direction: Direction,
        policer: Option<u32>,
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        if policer.is_some_and(|index| self.policer(index).is_none()) {
            return Err(Error::Unknown);
        }
        self.put_policer(interface, direction, policer.unwrap_or(NONE));
        Ok(())
    }
    fn put_policer(&mut self, interface: InterfaceIndex, direction: Direction, policer: u32) {
        let table = &mut self.policing().interfaces[direction as usize];
        let at = interface.0 as usize;
        if table.current().get(at).copied().unwrap_or(NONE) == policer {
            return;
        }
        let mut new = table.current().clone();
        new.resize(new.len().max(at + 1), NONE);
        new[at] = policer;
        table.publish(new);
        let (arcs, node) = match direction {
            Direction::Input => (Input::ARCS, Input::NAME),
            Direction::Output => (Output::ARCS, Output::NAME),
        };
        for arc in arcs {
            let done = self.engine.set_feature(arc, node, interface.0, policer != NONE);
            done.expect("the node is on the arcs since the feature registered");
        }
    }
    /// The policer of what is punted of a version, if there is one.
    pub fn punt_policer(&self, is_ip6: bool) -> Option<u32> {
        self.state::<Policers>()?.punts[usize::from(is_ip6)].current().first().copied()
    }
    /// Has what is punted of a version policed, by another policer than before, or no longer.
    ///
    /// # Errors
    /// [`Error::Unknown`]; nothing has changed then.
    pub fn set_punt_policer(&mut self, is_ip6: bool, policer: Option<u32>) -> Result<(), Error> {
        if policer.is_some_and(|index| self.policer(index).is_none()) {
            return Err(Error::Unknown);
        }
        self.put_punt_policer(is_ip6, policer);
        Ok(())
    }
    fn put_punt_policer(&mut self, is_ip6: bool, policer: Option<u32>) {
        self.policing().punts[usize::from(is_ip6)].publish(policer.into_iter().collect());
        if is_ip6 {
            punt::switch::<V6>(self, policer.is_some());
        } else {
            punt::switch::<V4>(self, policer.is_some());
        }
    }
}

/// Forgets an interface that goes, and polices what is punted on one that comes.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::Added => punt::follow(router, interface, true),
        Change::Deleting => {
            for direction in [Direction::Input, Direction::Output] {
                router.put_policer(interface, direction, NONE);
            }
            punt::follow(router, interface, false);
        }
        _ => (),
    }
}

/// Policers.
pub const FEATURE: Feature = Feature {
    name: "policer",
    about: "Policer",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::None("its commands do not print themselves yet"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let policers = Policers::new(router).map_err(refuse)?;
    let [input, output] = &policers.interfaces;
    node::add(router, Input, &policers.judge(input)).map_err(refuse)?;
    node::add(router, Output, &policers.judge(output)).map_err(refuse)?;
    let [punt4, punt6] = &policers.punts;
    punt::add::<V4>(router, policers.judge(punt4)).map_err(refuse)?;
    punt::add::<V6>(router, policers.judge(punt6)).map_err(refuse)?;
    router.insert(policers);
    router.interfaces.observe(follow);
    router.on_threads.push(|router, stay| {
        router.policing().threads.publish(stay.clone());
        Ok(())
    });
    cli::register(&mut parts.cli);
    trial::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
