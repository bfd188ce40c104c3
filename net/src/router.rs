//! Everything the control plane owns.

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::str::FromStr;
use std::time::{Duration, Instant};

use control::api::{Api, Clients};
use control::cli::{self, Cli};
use control::config::Stanza;
use control::configuration::{Collection, Configured, Lines};
use control::events::{EventLog, Topic};
use control::feature::{Owner, Refused, Registered};
use control::log::Log;
use control::process::{Action, Processes, Timer};
use control::stats::gauges::{Gauges, Published};
use control::stats::{Columns, Segment};
use graph::{Engine, MOST_COUNTERS, Names, NoAnswer, NodeIndex, Settings};

use crate::address::Addresses;
use crate::adjacency::{Adjacencies, AdjacencyIndex};
use crate::events::Events;
use crate::fib::Fib;
use crate::health::{Check, When};
use crate::interface::{InterfaceIndex, Interfaces};
use crate::mfib::Mfib;

/// A router: the graph and all control-plane state. One thread owns it; commands, messages and
/// processes get it as `&mut Router` and change it at once.
pub struct Router {
    /// The graph, its threads and counters.
    pub engine: Engine,
    /// Interfaces.
    pub interfaces: Interfaces,
    /// Adjacencies to neighbours.
    pub adjacencies: Adjacencies,
    /// Routing tables and routes.
    pub fib: Fib,
    /// Multicast routes.
    pub mfib: Mfib,
    /// Addresses of interfaces.
    pub addresses: Addresses,
    /// Called with each new adjacency.
    pub on_adjacency: Registered<fn(&mut Self, AdjacencyIndex)>,
    /// Called with a peer of a tunnel that is made known or forgotten.
    pub on_peer: Registered<OnPeer>,
    /// Called when the data-plane threads change, while old and new ones are there, with the
    /// numbers of those that stay.
    pub on_threads: Registered<OnThreads>,
    /// Called before the data plane goes over to other threads: whether that is refused.
    pub before_threads: Registered<OnThreads>,
    /// Called before nodes of a feature leave the graph: code that sends packets to one of them by
    /// number stops.
    pub on_leaving: Registered<fn(&mut Self, &HashSet<NodeIndex>)>,
    /// Events from the data plane, handled by [`Router::handle_events`].
    pub events: Events,
    /// Processes and timers.
    pub processes: Processes<Self>,
    /// Clients of the binary API, and the events that they want.
    pub clients: Clients,
    /// The log.
    pub log: Log,
    /// The event log.
    pub event_log: EventLog,
    /// Counters that other programs read.
    pub stats: Segment,
    /// Uses of features, that is reasons why they cannot go.
    pub uses: Registered<fn(&Self) -> Option<String>>,
    /// Called once the threads run; see [`Router::on_start`].
    on_start: Registered<fn(&mut Self)>,
    /// Numbers of the host's devices that stand for interfaces.
    pub host_devices: Registered<fn(&Self, InterfaceIndex) -> Option<u32>>,
    /// Checks that `show health` has look.
    pub checks: Registered<(Check, When)>,
    /// Numbers that features add to the router's state: see [`Router::publish_gauges`].
    pub gauges: Registered<fn(&mut Self, &mut Gauges)>,
    /// That state, as its readers get it.
    pub published: Published,
    /// Configurations of features, in the order in which they registered.
    pub configured: Configured<Self>,
    /// Finders of commands in the configuration, by the path of the commands.
    pub finders: Registered<(&'static str, Finder)>,
    /// Stanzas of the startup configuration that belong to features.
    pub stanzas: Vec<Stanza>,
    /// Loaded built-in features, with their owners.
    pub features: Vec<(Owner, Feature)>,
    states: HashMap<TypeId, (Owner, Box<dyn Any>)>,
}

/// The counters of nodes, by number.
const NODE_ERRORS: &str = "/node/errors";
pub(crate) const BY_COUNTER: Columns = Columns::growing("counter", MOST_COUNTERS);

/// Called with a peer of a tunnel: the interface and the next hop.
pub type OnPeer = fn(&mut Router, (InterfaceIndex, IpAddr));

/// Puts in the commands of the configuration about the same thing as a command: the one with which
/// it shares a key. An error of a command that makes or changes more than that.
pub type Finder = fn(&Router, &str, &mut Lines<'_>) -> Result<(), cli::Error>;

/// Moves what a feature has on threads that are about to end. The text of an error is its own.
pub type OnThreads = fn(&mut Router, &Range<usize>) -> Result<(), String>;

/// Marks a router that only tries a configuration; put in as state before its features.
pub struct Trial;

/// A router with its commands and messages.
pub struct Assembly {
    /// The router.
    pub router: Router,
    /// The command line.
    pub cli: Cli<Router>,
    /// The messages of the binary API.
    pub api: Api<Router>,
}

impl Assembly {
    /// A router, the built-in commands and the messages that connections are made of.
    pub fn new(router: Router) -> Self {
        let mut cli = Cli::new();
        router.event_log.register(&mut cli);
        control::configuration::register(&mut cli, |router: &Router| &router.configured);
        Self { router, cli, api: Api::new() }
    }
    /// Registers the parts of a feature.
    ///
    /// # Errors
    /// The feature's.
    pub fn add(&mut self, feature: &Feature) -> Result<(), Refused> {
        let (cli, api) = (self.cli.clone(), self.api.clone());
        Parts { router: &mut self.router, cli, api }.add(feature)
    }
}

/// The registration of a feature's parts.
pub struct Parts<'r> {
    /// The router, with the graph not yet built or with packets flowing.
    pub router: &'r mut Router,
    /// The command line.
    pub cli: Cli<Router>,
    /// The messages of the binary API.
    pub api: Api<Router>,
}

impl Parts<'_> {
    /// The value of a word in the stanzas of this name in the startup configuration; the last one
    /// counts.
    ///
    /// # Errors
    /// A value that cannot be read: its line and the reason.
    pub fn startup<T: FromStr>(&self, stanza: &str, word: &str) -> Result<Option<T>, Refused> {
        let mut last = None;
        for stanza in self.router.stanzas.iter().filter(|s| s.word == stanza) {
            last = stanza.value(word).map_err(refuse)?.or(last);
        }
        Ok(last)
    }
    /// Registers the parts of a feature. They belong to it, unless every router needs it.
    ///
    /// # Errors
    /// The feature's.
    pub fn add(&mut self, feature: &Feature) -> Result<(), Refused> {
        let is_core = crate::FEATURES.iter().any(|core| core.name == feature.name);
        let owner = if is_core { Owner::CORE } else { Owner::next() };
        self.router.configured.push((feature.name, feature.configuration));
        self.router.features.push((owner, *feature));
        let _entered = owner.enter();
        self.router.engine.set_owner(owner.0);
        let registered = (feature.register)(self);
        self.router.engine.set_owner(Owner::CORE.0);
        registered
    }
}

/// One part of the router: a folder, and one line in a list.
pub type Feature = control::feature::Feature<Register, Router>;
/// Registers everything a feature brings.
pub type Register = fn(&mut Parts<'_>) -> Result<(), Refused>;
/// The configuration of a feature, as the commands that make it again.
pub type Configuration = control::configuration::Configuration<Router>;
pub use control::feature::Origin;

/// An error of any kind as the reason a feature could not be registered.
pub fn refuse(why: impl Display) -> Refused {
    Refused(why.to_string())
}

/// Returns the error of a command for which a data-plane thread did not answer.
pub fn no_answer(why: NoAnswer) -> cli::Error {
    cli::Error::new(why.to_string())
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
            on_adjacency: Registered::default(),
            on_peer: Registered::default(),
            on_threads: Registered::default(),
            before_threads: Registered::default(),
            on_leaving: Registered::default(),
            events: Events::default(),
            processes: Processes::new(log.class("process", "default"), event_log.clone(), clocks),
            engine,
            clients: Clients::noting(event_log.clone()),
            log,
            event_log,
            stats,
            uses: Registered::default(),
            checks: Registered::default(),
            gauges: Registered::default(),
            published: Published::default(),
            on_start: Registered::default(),
            host_devices: Registered::default(),
            configured: Vec::new(),
            finders: Registered::default(),
            stanzas: Vec::new(),
            features: Vec::new(),
            states: HashMap::new(),
        })
    }
    /// Calls `work` once the threads of the data plane run, before any command runs.
    pub fn on_start(&mut self, work: fn(&mut Self)) {
        self.on_start.push(work);
    }
    /// Does that: the threads run.
    pub fn started(&mut self) {
        std::mem::take(&mut self.on_start).iter().for_each(|work| work(self));
    }
    /// Publishes the counters of new nodes, and withdraws those of removed ones.
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
    /// Hides counters after the last existing one from clients.
    pub(crate) fn shrink_counters(&mut self) {
        self.publish_counters();
        self.stats.shrink(BY_COUNTER, self.engine.counter_count().next_multiple_of(256));
    }
    /// Notes in the event log that the router has changed.
    pub fn note(&self, what: impl Display) {
        self.event_log.note(Topic::State, what);
    }
    /// Seconds on the router's clock.
    pub fn now(&self) -> f64 {
        self.engine.clock().now()
    }
    /// Seconds until the next whole second on that clock: looks that come once a second meet there,
    /// so that an idle router wakes once for all of them.
    pub fn until_next_second(&self) -> f64 {
        let now = self.now();
        now.floor() + 1.0 - now
    }
    /// Begins to collect the configuration.
    pub fn collect(&self) -> Collection<Self> {
        Collection::new(self, |router| &router.configured)
    }
    /// Whether the router only tries a configuration: nothing outside it changes.
    pub fn is_trial(&self) -> bool {
        self.state::<Trial>().is_some()
    }
    /// Handles reports of the data plane and runs one turn of due processes and timers; returns
    /// when the next turn is, as [`Processes::run_due`] does.
    pub fn run_due(&mut self) -> Option<f64> {
        self.handle_events();
        let now = self.now();
        Processes::run_due(self, |router| &mut router.processes, now)
    }
    /// The same, but stops after the given time; the rest is for the next turn. Reports have half
    /// of it, however many there are.
    pub fn run_due_within(&mut self, turn: Duration) -> Option<f64> {
        #[allow(clippy::disallowed_methods, reason = "what others wait is real time")]
        let start = Instant::now();
        let is_left = self.handle_events_until(&|| start.elapsed() >= turn / 2);
        let now = self.now();
        let is_over = || start.elapsed() >= turn;
        let next = Processes::run_some(self, |router| &mut router.processes, now, is_over);
        if is_left { Some(now) } else { next }
    }
    /// Calls `action` with `key` once, in `seconds` on the router's clock.
    pub fn after(&mut self, seconds: f64, action: Action<Self>, key: u64) -> Timer {
        let time = self.now() + seconds;
        self.processes.at(time, action, key)
    }
    /// Stops a timer. False when it has fired or was cancelled before.
    pub fn cancel(&mut self, timer: Timer) -> bool {
        self.processes.cancel(timer)
    }
    /// The router as values of arguments look it up. Another crate that turned it into a `dyn Any`
    /// would compile all that it consists of.
    pub fn as_any(&self) -> &dyn Any {
        self
    }
    /// Puts in the state of a feature, found again by its type.
    pub fn insert<T: Any>(&mut self, state: T) {
        self.states.insert(TypeId::of::<T>(), (Owner::current(), Box::new(state)));
    }
    /// The state of a feature, if loaded.
    pub fn state<T: Any>(&self) -> Option<&T> {
        self.states.get(&TypeId::of::<T>())?.1.downcast_ref()
    }
    /// The state of a feature, for changing, if loaded.
    pub fn state_mut<T: Any>(&mut self) -> Option<&mut T> {
        self.states.get_mut(&TypeId::of::<T>())?.1.downcast_mut()
    }
    /// The state of a feature, for the feature itself.
    ///
    /// # Panics
    /// If the feature has inserted none: only its own commands, messages and handlers may ask.
    pub fn own<T: Any>(&self) -> &T {
        self.state().expect("a feature puts its state in when it registers")
    }
    /// As [`Router::own`], for changing.
    pub fn own_mut<T: Any>(&mut self) -> &mut T {
        self.state_mut().expect("a feature puts its state in when it registers")
    }
    /// Takes away all that belongs to an owner but commands and messages: first nothing is called
    /// any more, then no packets get to its nodes, then these and the state go. What they hold is
    /// dropped and counted.
    ///
    /// # Errors
    /// A thread does not answer: it may still use what is there, so that stays in memory.
    pub fn remove_all_of(&mut self, owner: Owner) -> Result<(), NoAnswer> {
        owner.end();
        self.processes.remove_all_of(owner);
        let nodes: HashSet<_> = self.engine.nodes_of(owner.0).into_iter().collect();
        for leaving in self.on_leaving.clone().iter() {
            leaving(self, &nodes);
        }
        let gone = self.engine.remove_all_of(owner.0);
        self.publish_counters();
        self.stats.remove_all_of(owner);
        self.features.retain(|(of, feature)| {
            let stays = *of != owner;
            if !stays {
                self.configured.retain(|(name, _)| *name != feature.name);
            }
            stays
        });
        let states = self.states.extract_if(|_, (of, _)| *of == owner).collect::<Vec<_>>();
        if gone.is_err() {
            std::mem::forget(states);
        }
        gone
    }
    /// Calls `work` with the state of a feature and the rest of the router. `None` if the feature
    /// is not loaded (or is at work already). The state is put back also when `work` panics.
    pub fn with<T: Any, R>(&mut self, work: impl FnOnce(&mut T, &mut Self) -> R) -> Option<R> {
        let (owner, state) = self.states.remove(&TypeId::of::<T>())?;
        let mut state = state.downcast::<T>().ok()?;
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut state, self)));
        self.states.insert(TypeId::of::<T>(), (owner, state));
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
    fn router(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rig;

    #[test]
    fn features_read_their_stanzas() {
        let config = "punt { socket /a }\npunt { }\npunt { socket /b }\nip { route-counters on }";
        let mut rig = Rig::new(&[]);
        let (cli, api) = (rig.cli.clone(), rig.api.clone());
        let parts = Parts { router: &mut rig.router, cli, api };
        parts.router.stanzas = control::config::Config::parse(config, &[]).unwrap().others;
        assert_eq!(parts.startup("punt", "socket"), Ok(Some("/b".to_owned())));
        assert_eq!(parts.startup::<u32>("punt", "nothing"), Ok(None));
        assert!(parts.startup::<u32>("ip", "route-counters").unwrap_err().0.contains("on"));
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
