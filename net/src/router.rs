//! Everything the control plane owns.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::str::FromStr;

use control::api::{Api, Clients};
use control::cli::Cli;
use control::config::Stanza;
use control::configuration::Configured;
use control::events::{EventLog, Topic};
use control::feature::Refused;
use control::log::Log;
use control::process::{Action, Processes, Timer};
use control::stats::{Columns, Segment};
use graph::{Engine, MOST_COUNTERS, Names, Settings};

use crate::address::Addresses;
use crate::adjacency::{Adjacencies, AdjacencyIndex};
use crate::events::Events;
use crate::fib::Fib;
use crate::interface::Interfaces;
use crate::mfib::Mfib;

/// A router: the graph and all that control knows. One thread owns it; commands, messages and
/// processes get it as `&mut Router` and change it at once.
pub struct Router {
    /// The graph, its threads and counters.
    pub engine: Engine,
    /// The interfaces.
    pub interfaces: Interfaces,
    /// How neighbours are reached.
    pub adjacencies: Adjacencies,
    /// Routing tables and routes.
    pub fib: Fib,
    /// Multicast routes.
    pub mfib: Mfib,
    /// Addresses of interfaces.
    pub addresses: Addresses,
    /// Called with each new adjacency.
    pub on_adjacency: Vec<fn(&mut Self, AdjacencyIndex)>,
    /// Called when the data-plane threads change, while old and new ones are there, with the
    /// numbers of those that stay.
    pub on_threads: Vec<OnThreads>,
    /// Events from the data plane, handled by [`Router::handle_events`].
    pub events: Events,
    /// What runs on time and events.
    pub processes: Processes<Self>,
    /// Who is connected to the binary API, and which events they want.
    pub clients: Clients,
    /// The log.
    pub log: Log,
    /// What happened when.
    pub event_log: EventLog,
    /// Counters that other programs read.
    pub stats: Segment,
    /// Called when the statistics are brought up to date; see [`Router::on_statistics`].
    pub(crate) on_statistics: Vec<fn(&mut Self)>,
    /// What features were told, in the order in which they registered.
    pub configured: Configured<Self>,
    states: HashMap<TypeId, Box<dyn Any>>,
}

/// The counters of nodes, by number.
const NODE_ERRORS: &str = "/node/errors";
const BY_COUNTER: Columns = Columns::growing("counter", MOST_COUNTERS);

/// Moves what a feature has on threads that are about to end. The text of an error is its own.
pub type OnThreads = fn(&mut Router, &Range<usize>) -> Result<(), String>;

/// What a feature registers its parts with.
pub struct Parts {
    /// The router, with the graph not yet built.
    pub router: Router,
    /// The command line.
    pub cli: Cli<Router>,
    /// The messages of the binary API.
    pub api: Api<Router>,
    /// Stanzas of the startup configuration that belong to features.
    pub stanzas: Vec<Stanza>,
}

impl Parts {
    /// A router, the built-in commands and the messages that connections are made of.
    pub fn new(router: Router) -> Self {
        let mut cli = Cli::new();
        router.event_log.register(&mut cli);
        control::configuration::register(&mut cli, |router: &Router| &router.configured);
        Self { router, cli, api: Api::new(), stanzas: Vec::new() }
    }
    /// The value of a word in the stanzas of this name in the startup configuration; the last one
    /// counts.
    ///
    /// # Errors
    /// A value that cannot be read: its line and the reason.
    pub fn startup<T: FromStr>(&self, stanza: &str, word: &str) -> Result<Option<T>, Refused> {
        let mut last = None;
        for stanza in self.stanzas.iter().filter(|s| s.word == stanza) {
            last = stanza.value(word).map_err(refuse)?.or(last);
        }
        Ok(last)
    }
    /// Has a feature register its parts.
    ///
    /// # Errors
    /// The feature's.
    pub fn add(&mut self, feature: &Feature) -> Result<(), Refused> {
        self.router.configured.push((feature.name, feature.configuration));
        (feature.register)(self)
    }
}

/// One part of the router: a folder, and one line in a list.
pub type Feature = control::feature::Feature<Parts, Router>;
/// What a feature was told, as the commands that make it again.
pub type Configuration = control::configuration::Configuration<Router>;
pub use control::feature::Origin;

/// An error of any kind as the reason a feature could not be registered.
pub fn refuse(why: impl Display) -> Refused {
    Refused(why.to_string())
}

impl Router {
    /// A router without nodes; features bring them.
    ///
    /// # Errors
    /// The kernel's, when it refuses memory.
    pub fn new(settings: Settings, log: Log) -> io::Result<Self> {
        let stats = Segment::new(settings.thread_rows(), None)?;
        Self::counting_in(stats, settings, log)
    }
    /// A router that counts in this segment, which has [`Settings::thread_rows`] threads.
    ///
    /// # Errors
    /// The kernel's, and a segment that is too small for what is always there.
    pub fn counting_in(mut stats: Segment, settings: Settings, log: Log) -> io::Result<Self> {
        let errors = stats.simple(NODE_ERRORS, BY_COUNTER).map_err(io::Error::other)?;
        let engine = Engine::counting_in(settings, errors)?;
        let event_log = EventLog::new(engine.clock().clone());
        let clocks = || infra::cpu::time_stamp().unwrap_or_default();
        Ok(Self {
            interfaces: Interfaces::new(&mut stats)?,
            adjacencies: Adjacencies::new(&mut stats)?,
            fib: Fib::new(&mut stats)?,
            mfib: Mfib::new(&mut stats)?,
            addresses: Addresses::new()?,
            on_adjacency: Vec::new(),
            on_threads: Vec::new(),
            events: Events::default(),
            processes: Processes::new(log.class("process", "default"), event_log.clone(), clocks),
            engine,
            clients: Clients::noting(event_log.clone()),
            log,
            event_log,
            stats,
            on_statistics: Vec::new(),
            configured: Vec::new(),
            states: HashMap::new(),
        })
    }
    /// Has `update` called whenever the statistics are brought up to date (`statseg {
    /// update-interval }`), for what is computed and not counted.
    pub fn on_statistics(&mut self, update: fn(&mut Self)) {
        self.on_statistics.push(update);
    }
    /// Lets clients see the counters of nodes that came, and no longer those of nodes that went.
    pub fn publish_counters(&mut self) {
        let changes = self.engine.take_counter_changes();
        let Some(most) = changes.iter().map(|c| c.index as usize + 1).max() else { return };
        let failed = self.stats.change(|stats| {
            let mut failed = stats.grow(BY_COUNTER, most.next_multiple_of(256)).err();
            for change in changes {
                let name = format!("/err/{}/{}", change.node, change.name);
                let done = if change.is_new {
                    stats.symlink(&name, NODE_ERRORS, change.index)
                } else {
                    stats.remove(&name)
                };
                failed = failed.or(done.err());
            }
            failed
        });
        if let Some(why) = failed {
            self.log.class("stats", "counters").warn(why);
        }
    }
    /// Notes in the event log that the router has changed.
    pub fn note(&self, what: impl Display) {
        self.event_log.note(Topic::State, what);
    }
    /// Seconds on the router's clock.
    pub fn now(&self) -> f64 {
        self.engine.clock().now()
    }
    /// Does what is due: what the data plane reports, processes and timers, one turn of them;
    /// returns when the next turn is, as [`Processes::run_due`].
    pub fn run_due(&mut self) -> Option<f64> {
        self.handle_events();
        let now = self.now();
        Processes::run_due(self, |router| &mut router.processes, now)
    }
    /// Has `action` called with `key` once, in `seconds` on the router's clock.
    pub fn after(&mut self, seconds: f64, action: Action<Self>, key: u64) -> Timer {
        let time = self.now() + seconds;
        self.processes.at(time, action, key)
    }
    /// Stops a timer. False when it has fired or was cancelled before.
    pub fn cancel(&mut self, timer: Timer) -> bool {
        self.processes.cancel(timer)
    }
    /// Puts in the state of a feature, found again by its type.
    pub fn insert<T: Any>(&mut self, state: T) {
        self.states.insert(TypeId::of::<T>(), Box::new(state));
    }
    /// The state of a feature, if it is there.
    pub fn state<T: Any>(&self) -> Option<&T> {
        self.states.get(&TypeId::of::<T>())?.downcast_ref()
    }
    /// The state of a feature, for changing, if it is there.
    pub fn state_mut<T: Any>(&mut self) -> Option<&mut T> {
        self.states.get_mut(&TypeId::of::<T>())?.downcast_mut()
    }
    /// The state of a feature, for the feature itself.
    ///
    /// # Panics
    /// When the feature has put in none: only its own commands, messages and handlers may ask.
    pub fn own<T: Any>(&self) -> &T {
        self.state().expect("a feature puts its state in when it registers")
    }
    /// As [`Router::own`], for changing.
    pub fn own_mut<T: Any>(&mut self) -> &mut T {
        self.state_mut().expect("a feature puts its state in when it registers")
    }
    /// Lets `work` at the state of a feature and the rest of the router together. `None` when the
    /// feature is not there (or is at work already). The state is put back also when `work` panics.
    pub fn with<T: Any, R>(&mut self, work: impl FnOnce(&mut T, &mut Self) -> R) -> Option<R> {
        let mut state = self.states.remove(&TypeId::of::<T>())?.downcast::<T>().ok()?;
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut state, self)));
        self.states.insert(TypeId::of::<T>(), state);
        Some(done.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

impl Names for Router {
    fn name(&self, kind: &str, index: u32) -> String {
        match kind {
            "interface" => self.interfaces.name(index).to_owned(),
            "error" => self.engine.describe_error(index),
            _ => index.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rig;

    #[test]
    fn features_read_their_stanzas() {
        let config = "punt { socket /a }\npunt { other }\npunt { socket /b }\nip { socket /c }";
        let mut parts = Parts::new(Rig::new(&[]).router);
        parts.stanzas = control::config::Config::parse(config, &[]).unwrap().others;
        assert_eq!(parts.startup("punt", "socket"), Ok(Some("/b".to_owned())));
        assert_eq!(parts.startup::<u32>("punt", "nothing"), Ok(None));
        assert!(parts.startup::<u32>("ip", "socket").unwrap_err().0.contains("/c"));
    }

    #[test]
    fn a_panic_at_work_loses_no_state() {
        let mut rig = Rig::new(&[]);
        rig.router.insert(7_u8);
        let work = |router: &mut Router| router.with::<u8, ()>(|seven, _| panic!("with {seven}"));
        let panicked = catch_unwind(AssertUnwindSafe(|| work(&mut rig.router)));
        assert!(panicked.is_err());
        assert_eq!(rig.router.state::<u8>(), Some(&7));
        let added = rig.router.with::<u8, _>(|seven, router| {
            *seven += 1;
            router.state::<u8>().is_none()
        });
        assert_eq!((added, rig.router.own::<u8>()), (Some(true), &8));
    }
}
