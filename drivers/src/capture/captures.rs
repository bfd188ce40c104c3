//! Starting and ending captures.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::UNIX_EPOCH;

use graph::{NodeIndex, Watch};
use net::interface::{Change, Kind as Carries};
use net::{InterfaceIndex, Router};

use super::copies::{Lanes, Place};
use super::dispatch::Dispatches;
use super::form::{Form, Kind, Names};
use super::points::{Chooser, Points, Spot};
pub use super::request::{CaptureRequest, Error, place, reasons};
use super::writer::{Limits, Progress, Shared, Sink, Writer};
use crate::host::background::Background;

/// Nodes at which dropped packets end: some are answered by an ICMP error.
const DROPS: [&str; 3] = ["error-drop", "ip4-icmp-error", "ip6-icmp-error"];
/// Node of received frames.
const RX: &str = "ethernet-input";
/// Node that changes the receive interface of a member to its bond.
const BONDS: &str = "bond-input";
/// Node of what leaves by a tunnel, in its headers.
const TUNNELLED: &str = "adj-midchain-tx";
/// Seconds between two looks at captures that may have ended by themselves.
const LOOK: f64 = 0.25;

/// Number of packets in files.
pub type Written = Result<u64, Error>;

/// A capture.
pub struct Capture {
    /// Captured packets, in words.
    pub what: String,
    /// The destination, in words.
    pub to: String,
    /// The filter; empty for none.
    pub filter: String,
    /// Its limits.
    pub limits: Limits,
    seen: Seen,
    lanes: Arc<Lanes>,
    orders: Sender<Arc<Names>>,
    progress: Shared,
    written: Background<Written>,
}

/// Packets that a capture sees.
enum Seen {
    /// Packets at certain places.
    Places(Box<Places>),
    /// All, at every node.
    All,
}

/// Places, as they were asked for.
pub struct Places {
    wanted: CaptureRequest,
    /// Counters of the wanted reasons.
    reasons: HashSet<u32>,
    chooser: Chooser,
    is_early: bool,
}

/// The captures, by name.
#[derive(Default)]
pub struct Captures {
    running: BTreeMap<String, Capture>,
    /// Number of captures that were streamed so far.
    pub streams: u64,
    /// Whether [`look`] will be called.
    looks: bool,
}

/// A new capture.
pub struct NewCapture {
    /// Captured packets, in words.
    pub what: String,
    /// The form of files.
    pub kind: Kind,
    /// The destination, and in words.
    pub sink: (Sink, String),
    /// Limits.
    pub limits: Limits,
}

/// A capture that has ended, but for what is still to be written.
pub struct Ended {
    /// The destination, in words.
    pub to: String,
    lanes: Arc<Lanes>,
    progress: Shared,
}

impl Ended {
    /// Its course, and copies lost.
    pub fn progress(&self) -> (Progress, u64) {
        (self.progress.now(), self.lanes.lost())
    }
}

impl Capture {
    /// Its course, and copies lost.
    pub fn progress(&self) -> (Progress, u64) {
        (self.progress.now(), self.lanes.lost())
    }
    /// Interfaces whose packets it sees; of all if there is none.
    pub fn interfaces(&self) -> &[InterfaceIndex] {
        match &self.seen {
            Seen::Places(places) => &places.wanted.interfaces,
            Seen::All => &[],
        }
    }
}

impl Captures {
    /// The captures.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Capture)> {
        self.running.iter()
    }
    /// The capture of this name.
    pub fn get(&self, name: &str) -> Option<&Capture> {
        self.running.get(name)
    }
    /// Starts a capture of packets at certain places; one of this name that has ended by itself
    /// goes.
    ///
    /// # Errors
    /// See [`Error`]; nothing is captured then.
    pub fn start(
        &mut self,
        router: &mut Router,
        name: &str,
        places: Places,
        new: NewCapture,
    ) -> Result<(), Error> {
        let most_bytes = places.wanted.most_bytes;
        self.begin(router, name, Seen::Places(Box::new(places)), (most_bytes, new))
    }
    /// Starts a capture of what every node is given.
    ///
    /// # Errors
    /// See [`Error`]; nothing is captured then.
    pub fn start_dispatch(
        &mut self,
        router: &mut Router,
        name: &str,
        new: NewCapture,
    ) -> Result<(), Error> {
        self.begin(router, name, Seen::All, (super::dispatch::MOST_BYTES, new))
    }
    fn begin(
        &mut self,
        router: &mut Router,
        name: &str,
        seen: Seen,
        (most_bytes, new): (usize, NewCapture),
    ) -> Result<(), Error> {
        self.check_free(name)?;
        let (lanes, receivers) =
            Lanes::new(router.engine.thread_rows()).map_err(|_| Error::NoMemory)?;
        let (lanes, (orders, wait)) = (Arc::new(lanes), channel());
        let filter = match &new.kind {
            Kind::NextGeneration { filter, .. } => filter.clone(),
            _ => String::new(),
        };
        let names = Arc::new(names(router));
        let epoch = epoch(router);
        let progress = Shared::default();
        let writer = Writer {
            orders: wait,
            receivers,
            lanes: Arc::clone(&lanes),
            form: Form { kind: new.kind, epoch, most_bytes, names, interfaces: Vec::new() },
            sink: new.sink.0,
            limits: new.limits,
            progress: progress.clone(),
            clock: router.engine.clock().clone(),
        };
        let written = Background::begin(move || writer.run());
        let (what, to, limits) = (new.what, new.sink.1, new.limits);
        let capture = Capture { what, to, filter, limits, seen, lanes, orders, progress, written };
        self.running.insert(name.to_owned(), capture);
        self.watch(router);
        if !self.looks {
            self.looks = true;
            router.after(LOOK, look, 0);
        }
        Ok(())
    }
    /// Whether a capture of this name may start.
    ///
    /// # Errors
    /// [`Error::Taken`].
    pub fn check_free(&self, name: &str) -> Result<(), Error> {
        match self.running.get(name) {
            Some(capture) if capture.progress.now().ended.is_none() => {
                Err(Error::Taken(name.to_owned()))
            }
            _ => Ok(()),
        }
    }
    /// Ends a capture. The rest of it is written elsewhere, and then there is the number of
    /// packets.
    ///
    /// # Errors
    /// [`Error::NoCapture`], a thread that does not answer.
    pub fn stop(
        &mut self,
        router: &mut Router,
        name: &str,
    ) -> Result<(Ended, Background<Written>), Error> {
        let no_capture = || Error::NoCapture(name.to_owned());
        let Capture { to, lanes, orders, progress, written, .. } =
            self.running.remove(name).ok_or_else(no_capture)?;
        // No thread adds to a capture that has ended; what was under way before is in it.
        router.engine.fence().map_err(Error::NoAnswer)?;
        self.watch(router);
        router.engine.fence().map_err(Error::NoAnswer)?;
        // The writer ends when nothing can order it any more.
        drop(orders);
        Ok((Ended { to, lanes, progress }, written))
    }
    /// Shows the threads' packets to their watchers.
    fn watch(&self, router: &mut Router) {
        let mut watches = Vec::new();
        for capture in self.running.values() {
            if capture.progress.now().ended.is_some() {
                continue;
            }
            let lanes = Arc::clone(&capture.lanes);
            match &capture.seen {
                Seen::All => watches.push(Watch::new(None, Arc::new(Dispatches { lanes }))),
                Seen::Places(places) => {
                    // What is gone since the start is not looked at.
                    let spots = places.spots(router).unwrap_or_default();
                    let points = places.points(router, spots, lanes);
                    watches.push(Watch::new(Some(&points.nodes()), Arc::new(points)));
                }
            }
        }
        router.engine.set_watches(watches);
    }
}

impl Places {
    /// The places that are asked for, and the choice among the packets there. With `is_early` sent
    /// packets are seen before the features of their interface, as `pcap trace` has it, instead of
    /// after these.
    ///
    /// # Errors
    /// A missing object.
    pub fn new(
        router: &Router,
        wanted: CaptureRequest,
        chooser: Chooser,
        is_early: bool,
    ) -> Result<Self, Error> {
        if wanted.what().is_empty() {
            return Err(Error::Nothing);
        }
        let mut counters = HashSet::new();
        for reason in &wanted.reasons {
            counters.extend(reasons(router, reason)?);
        }
        let places = Self { wanted, reasons: counters, chooser, is_early };
        places.spots(router)?;
        Ok(places)
    }
    fn points(&self, router: &Router, spots: Vec<Option<Spot>>, lanes: Arc<Lanes>) -> Points {
        let is_late = |i: &&net::Interface| i.is_sub() || i.kind != Carries::Ethernet;
        let is_member = |i: &u32| {
            router.engine.features_of(*i).iter().any(|(_, features)| features.contains(&BONDS))
        };
        Points {
            spots,
            interfaces: self.wanted.interfaces.iter().map(|i| i.0).collect(),
            late: match self.is_early {
                true => HashSet::new(),
                false => router.interfaces.iter().filter(is_late).map(|i| i.index.0).collect(),
            },
            members: self.wanted.interfaces.iter().map(|i| i.0).filter(is_member).collect(),
            reasons: self.reasons.clone(),
            chooser: self.chooser.clone(),
            most_bytes: self.wanted.most_bytes,
            lanes,
        }
    }
    /// The places, by node.
    fn spots(&self, router: &Router) -> Result<Vec<Option<Spot>>, Error> {
        let (engine, wanted) = (&router.engine, &self.wanted);
        let mut spots = Spots(Vec::new());
        let (interface, is_late, is_early) = (None, false, false);
        let spot = |place| Spot { place, interface, is_ethernet: false, is_late, is_early };
        if wanted.rx
            && let Some(input) = engine.index_of(RX)
        {
            if !self.is_early {
                for node in engine.next_of(input) {
                    spots.put(node, Spot { is_late: true, ..spot(Place::Rx) });
                }
            }
            spots.put(input, Spot { is_ethernet: true, ..spot(Place::Rx) });
            if let Some(bonds) = engine.index_of(BONDS) {
                let early = Spot { is_early: true, is_ethernet: true, ..spot(Place::Rx) };
                spots.put(bonds, early);
            }
        }
        if wanted.tx {
            for i in router.interfaces.iter().filter(|i| !i.is_sub()) {
                let is_ethernet = self.is_early || i.kind == Carries::Ethernet;
                let node = if self.is_early { i.output } else { i.tx };
                let interface = (!self.is_early).then_some(i.index.0);
                spots.put(node, Spot { interface, is_ethernet, ..spot(Place::Tx) });
            }
            if let Some(node) = engine.index_of(TUNNELLED).filter(|_| !self.is_early) {
                spots.put(node, spot(Place::Tx));
            }
        }
        if wanted.drop {
            let nodes = DROPS.iter().filter_map(|name| engine.index_of(name));
            nodes.for_each(|node| spots.put(node, spot(Place::Drop)));
        }
        let mut names: Vec<&str> = wanted.nodes.iter().map(String::as_str).collect();
        for name in &wanted.arcs {
            let mut arcs = engine.arcs();
            let (_, features, end) =
                arcs.find(|arc| arc.0 == name).ok_or_else(|| Error::NoArc(name.clone()))?;
            names.extend(features.iter().chain([&end]));
        }
        for name in names {
            let node = engine.index_of(name).ok_or_else(|| Error::NoNode(name.to_owned()))?;
            if engine.is_input(node) {
                return Err(Error::Input(name.to_owned()));
            }
            let own = router.interfaces.iter().find(|i| i.output == node || i.tx == node);
            let interface = own.map(|i| i.index.0);
            let is_ethernet = own.map_or_else(|| has_frames(name), |i| i.kind == Carries::Ethernet);
            spots.put(node, Spot { interface, is_ethernet, ..spot(Place::Node) });
        }
        Ok(spots.0)
    }
}

/// Places by node; the last one put at a node counts.
struct Spots(Vec<Option<Spot>>);

impl Spots {
    fn put(&mut self, node: NodeIndex, spot: Spot) {
        let at = node.0 as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(spot);
    }
}

/// Whether the packets of a node begin with an Ethernet header, by its name.
fn has_frames(node: &str) -> bool {
    node == RX || node.starts_with("l2-") || node == "interface-output-arc-end"
}

/// Interfaces that come later are captured like the others.
pub(super) fn follow(router: &mut Router, _: InterfaceIndex, change: Change) {
    let follows = matches!(change, Change::Added | Change::Name);
    if follows && router.state::<Captures>().is_some_and(|c| !c.running.is_empty()) {
        let names = Arc::new(names(router));
        router.with(|captures: &mut Captures, router| {
            for capture in captures.running.values() {
                // A writer that has ended needs no names.
                let _ = capture.orders.send(Arc::clone(&names));
            }
            captures.watch(router);
        });
    }
}

/// Checks whether captures have ended by themselves, so that threads stop copying packets for them.
fn look(router: &mut Router, _: u64) {
    router.with(|captures: &mut Captures, router| {
        let nobody = Error::NoReader.to_string();
        captures.running.retain(|_, c| c.progress.now().ended.as_ref() != Some(&nobody));
        let has_ended = |c: &Capture| c.progress.now().ended.is_some();
        captures.looks = captures.running.values().any(|c| !has_ended(c));
        captures.watch(router);
        if captures.looks {
            router.after(LOOK, look, 0);
        }
    });
}

/// Names of all that copies have numbers of.
fn names(router: &Router) -> Names {
    let engine = &router.engine;
    let reason = |c: (u32, &str, graph::CounterText, u64)| (c.0, format!("{}: {}", c.1, c.2.text));
    Names {
        nodes: engine.node_names().map(|(index, name)| (index.0, name.to_owned())).collect(),
        interfaces: router.interfaces.iter().map(|i| (i.index.0, i.name.clone())).collect(),
        reasons: engine.counters().map(reason).collect::<HashMap<_, _>>(),
    }
}

/// Nanoseconds from 1970 to the start of the router's clock.
fn epoch(router: &Router) -> u64 {
    let since = router.engine.clock().started_at().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_nanos() as u64
}

/// The folder of sockets of streamed captures.
pub struct Folder(pub PathBuf);
