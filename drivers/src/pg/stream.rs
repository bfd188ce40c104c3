//! Streams as control knows them.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use control::api::Retval;
use control::cli::Error;
use graph::{BuildError, Flags, InputState, NodeIndex};
use net::interface::DEVICE_INPUT;
use net::{InterfaceIndex, Router};

use super::capturing::Capturing;
use super::data::{Layout, Sizes, Template};
use super::input::{PacketBuffer, PacketRate, PgInput, Progress, Running};
use super::interface::{Mode, PgSettings};
use super::offload::Offload;
use super::replay::{Frames, Replay};
use super::source::Source;
use super::spec::Spec;
use super::trace::Origin;
use crate::pcap;

/// Streams there may be at most.
const MOST_STREAMS: usize = 10_000;

/// The state of the packet generator.
pub struct Generator {
    /// `pg-input`.
    input: NodeIndex,
    streams: Vec<Stream>,
    /// Settings of the interfaces that it made.
    pub own: HashMap<InterfaceIndex, PgSettings>,
    pub(super) captures: HashMap<InterfaceIndex, Capturing>,
    /// Number of the next stream.
    next_id: u32,
}

/// One stream.
#[derive(Clone)]
pub struct Stream {
    id: u32,
    /// Name.
    pub name: String,
    /// Most packets; 0, or a negative number as unsigned, for no end.
    pub limit: u64,
    /// Packets a second; 0 for as many as go.
    pub rate: f64,
    /// Receive interface.
    pub interface: InterfaceIndex,
    /// Transmit interface, if given.
    tx_interface: Option<InterfaceIndex>,
    /// Whether their checksums are left to the router.
    without_checksums: bool,
    /// Payload of the segments that their TCP packets may be cut into, if that is said.
    gso_size: Option<u16>,
    /// Bytes of a buffer that the operator asked for.
    pub buffer_size: u32,
    /// Node that they go to.
    pub node: String,
    /// Number of the worker that sends them, from 0; 0 also where there are none.
    pub worker: usize,
    /// The thread it was started on.
    thread: usize,
    /// Most packets in a frame.
    pub max_frame: usize,
    /// Recipe of its packets.
    recipe: Recipe,
    /// Lengths that were asked for.
    asked: Option<Sizes>,
    source: Source,
    is_enabled: bool,
    progress: Arc<Progress>,
}

/// Material of packets.
#[derive(Clone)]
enum Recipe {
    Data(Arc<Layout>),
    File(Arc<Frames>),
}

impl Recipe {
    fn read(spec: &mut Spec) -> Result<Self, Error> {
        match (spec.pcap.take(), spec.data.take()) {
            (Some(path), None) => {
                let frames = Frames::read(&path).map_err(|e| {
                    let verb = if matches!(e, pcap::Error::Io(_)) { "open" } else { "read" };
                    Error::new(format!("{verb} `{}': {e}", path.display()))
                })?;
                Ok(Self::File(Arc::new(frames)))
            }
            (None, Some(layout)) => Ok(Self::Data(Arc::new(layout))),
            (None, None) => Err(Error::new("expected `pcap <file>' or `data { … }'")),
            (Some(_), Some(_)) => Err(Error::new("either `pcap' or `data', not both")),
        }
    }
    fn source(&self, sizes: Option<Sizes>, id: u32) -> Result<Source, Error> {
        match self {
            Self::File(_) if sizes.is_some() => {
                Err(Error::new("packets of a file have fixed sizes"))
            }
            Self::File(frames) => Ok(Source::Replay(Replay::new(Arc::clone(frames)))),
            Self::Data(layout) => {
                let sizes = sizes.unwrap_or(Sizes::fixed(layout.size()));
                let template = Template::new(layout, sizes, id).map_err(|headers| {
                    let low = sizes.low;
                    Error::new(format!("size {low} is less than the headers' {headers} bytes"))
                })?;
                Ok(Source::Template(Box::new(template)))
            }
        }
    }
    fn starts_with_ip(&self) -> Option<u8> {
        match self {
            Self::Data(layout) => layout.starts_with_ip(),
            Self::File(_) => None,
        }
    }
}

impl Stream {
    /// Whether it is switched on and has packets left.
    pub fn is_running(&self) -> bool {
        self.is_enabled && !self.progress.done.load(Ordering::Acquire)
    }
    /// Packets sent since it was switched on.
    pub fn sent(&self) -> u64 {
        self.progress.sent.value()
    }
    /// Shortest and longest packet in bytes.
    pub fn sizes(&self) -> (usize, usize) {
        match (&self.source, &self.recipe) {
            (Source::Template(t), _) => (t.sizes().low, t.sizes().high),
            (_, Recipe::File(f)) => (f.shortest, f.longest),
            (_, Recipe::Data(l)) => (l.size(), l.size()),
        }
    }
    /// Description of its packets for `show packet-generator verbose`.
    pub fn describe(&self) -> String {
        match (&self.source, &self.recipe) {
            (Source::Template(t), _) => wire::print::hex(t.bytes(), 4).to_string(),
            (_, Recipe::File(f)) => format!("    {} packets of a file", f.count()),
            _ => String::new(),
        }
    }
    /// Takes over what `spec` says; all or nothing.
    fn apply(&mut self, spec: &Spec, generator: &Generator, r: &mut Router) -> Result<(), Error> {
        let mut new = self.clone();
        if let Some(word) = &spec.interface {
            let found = r.interfaces.named(word).ok_or_else(|| word.unknown("interface"))?;
            new.interface = found.index;
        }
        if let Some(word) = &spec.tx_interface {
            let found = r.interfaces.named(word).ok_or_else(|| word.unknown("interface"))?;
            new.tx_interface = Some(found.index);
        }
        new.without_checksums |= spec.without_checksums;
        new.gso_size = spec.gso_size.or(new.gso_size);
        if let Some(worker) = spec.worker {
            // Files of commands are for any number of workers: missing ones are the first, as in
            // the original.
            let is_there = worker < r.engine.data_threads().len();
            new.worker = if is_there { worker } else { 0 };
        }
        new.limit = spec.limit.unwrap_or(new.limit);
        new.rate = spec.rate.unwrap_or(new.rate);
        new.max_frame = spec.max_frame.unwrap_or(new.max_frame);
        new.buffer_size = spec.buffer_size.unwrap_or(new.buffer_size);
        new.asked = spec.size.or(new.asked);
        new.source = new.recipe.source(new.asked, new.id)?;
        match &spec.node {
            Some(node) => new.node.clone_from(node),
            None if new.node.is_empty() || spec.interface.is_some() => {
                new.node = generator.entrance(new.interface, new.recipe.starts_with_ip(), r)?;
            }
            None => (),
        }
        connect(r, &new.node)?;
        *self = new;
        Ok(())
    }
}

fn connect(router: &mut Router, node: &str) -> Result<graph::Slot, Error> {
    if router.engine.index_of(node).is_some_and(|n| router.engine.is_input(n)) {
        return Err(Error::new(format!("node {node} does not accept packets")));
    }
    let slot = router.engine.connect("pg-input", node);
    slot.map_err(|e| match e {
        BuildError::Payload { .. } => {
            Error::new(format!("node {node} accepts packets from certain nodes only"))
        }
        _ => Error::new(format!("unknown node `{node}'")),
    })
}

impl Generator {
    /// Without streams; `input` is `pg-input`.
    pub fn new(input: NodeIndex) -> Self {
        Self {
            input,
            streams: Vec::new(),
            own: HashMap::new(),
            captures: HashMap::new(),
            next_id: 0,
        }
    }
    /// All streams, in the order they were made.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }
    /// Node at which packets of an interface enter when none is named.
    fn entrance(
        &self,
        index: InterfaceIndex,
        ip_version: Option<u8>,
        router: &Router,
    ) -> Result<String, Error> {
        let mode = match (self.own.get(&index).map(|o| o.mode), ip_version) {
            (Some(mode @ (Mode::Ip4 | Mode::Ip6)), _) => mode,
            (_, Some(4)) => Mode::Ip4,
            (_, Some(_)) => Mode::Ip6,
            (own, None) => own.unwrap_or_default(),
        };
        if router.interfaces.at(index).is_none() {
            return Err(Error::new("the interface was deleted"));
        }
        Ok(mode.input().to_owned())
    }
    /// Makes a stream, switched off.
    ///
    /// # Errors
    /// What does not fit; no stream is made then.
    pub fn add(&mut self, router: &mut Router, mut spec: Spec) -> Result<(), Error> {
        let id = self.next_id;
        let name = spec.name.take().unwrap_or_else(|| format!("stream{id}"));
        if self.streams.iter().any(|s| s.name == name) {
            return Err(Error::new(format!("stream `{name}' exists")));
        }
        if self.streams.len() >= MOST_STREAMS {
            return Err(Error::new(format!("at most {MOST_STREAMS} streams")));
        }
        let recipe = Recipe::read(&mut spec)?;
        let limit = match &recipe {
            Recipe::File(frames) => frames.count() as u64,
            Recipe::Data(_) => 0,
        };
        let mut stream = Stream {
            id,
            name,
            limit,
            rate: 0.0,
            interface: InterfaceIndex(0),
            tx_interface: None,
            without_checksums: false,
            gso_size: None,
            node: String::new(),
            worker: 0,
            thread: 0,
            max_frame: graph::FRAME,
            buffer_size: graph::data_size() as u32,
            source: recipe.source(spec.size, id)?,
            asked: None,
            recipe,
            is_enabled: false,
            progress: Arc::default(),
        };
        stream.apply(&spec, self, router)?;
        self.next_id += 1;
        self.streams.push(stream);
        Ok(())
    }
    fn position(&self, name: &str) -> Result<usize, Error> {
        let found = self.streams.iter().position(|s| s.name == name);
        let unknown = || Error::new(format!("unknown stream `{name}'"));
        found.ok_or_else(|| unknown().with_code(Retval::NO_SUCH_ENTRY.0))
    }
    /// Changes a stream; one that runs goes on with what is left of its limit.
    ///
    /// # Errors
    /// What does not fit; nothing is changed then.
    pub fn configure(&mut self, router: &mut Router, name: &str, spec: &Spec) -> Result<(), Error> {
        if spec.name.is_some() || spec.pcap.is_some() || spec.data.is_some() {
            return Err(Error::new("name, pcap and data of a stream cannot be changed"));
        }
        let at = self.position(name)?;
        let mut stream = self.streams[at].clone();
        stream.apply(spec, self, router)?;
        let was_running = self.streams[at].is_running();
        self.stop(router, at)?;
        self.streams[at] = Stream { is_enabled: false, ..stream };
        if was_running { self.start(router, at, false) } else { Ok(()) }
    }
    /// Deletes a stream.
    ///
    /// # Errors
    /// No stream has this name.
    pub fn delete(&mut self, router: &mut Router, name: &str) -> Result<(), Error> {
        let at = self.position(name)?;
        self.stop(router, at)?;
        self.streams.remove(at);
        Ok(())
    }
    /// Switches one stream or all on or off.
    ///
    /// # Errors
    /// No stream has this name, or a thread does not answer.
    pub fn switch(
        &mut self,
        router: &mut Router,
        name: Option<&str>,
        on: bool,
    ) -> Result<(), Error> {
        let which = match name {
            Some(name) => {
                let at = self.position(name)?;
                at..at + 1
            }
            None => 0..self.streams.len(),
        };
        for at in which {
            match (on, self.streams[at].is_running()) {
                (true, false) => self.start(router, at, true)?,
                (false, true) => self.stop(router, at)?,
                _ => (),
            }
        }
        Ok(())
    }
    /// Starts a stream, from the beginning or with what is left.
    fn start(&mut self, router: &mut Router, at: usize, afresh: bool) -> Result<(), Error> {
        let next = connect(router, &self.streams[at].node)?;
        let interface = self.streams[at].interface;
        let is_down = router.interfaces.at(interface).is_some_and(|i| !i.admin_up);
        if afresh && is_down && self.own.contains_key(&interface) {
            router.set_admin(interface, true);
        }
        let own = self.own.get(&self.streams[at].interface);
        let mut offload = own.and_then(|o| o.offload);
        let s = &mut self.streams[at];
        let sent = if afresh { 0 } else { s.sent() };
        s.progress = Arc::default();
        s.progress.sent.add(sent);
        let is_ip =
            s.recipe.starts_with_ip().is_some() || s.node == "ip4-input" || s.node == "ip6-input";
        let usual = Offload { checksum: false, gso_size: None, is_ethernet: !is_ip };
        if s.without_checksums {
            offload = Some(Offload { checksum: true, ..offload.unwrap_or(usual) });
        }
        if s.gso_size.is_some() {
            offload = Some(Offload { gso_size: s.gso_size, ..offload.unwrap_or(usual) });
        }
        let tx = s.tx_interface.map(|i| i.0);
        let origin = Origin { stream: s.name.clone(), next: s.node.clone(), is_ethernet: !is_ip };
        let running = Running {
            id: s.id,
            source: s.source.clone(),
            rx: s.interface.0,
            next,
            meets_features: s.node == DEVICE_INPUT.end,
            flags: if is_ip { Flags::L3 } else { Flags::default() },
            offload,
            tx,
            max_frame: s.max_frame,
            left: if s.limit == 0 { u64::MAX } else { s.limit.saturating_sub(sent) },
            pace: (s.rate > 0.0).then(|| PacketRate::new(s.rate)),
            progress: Arc::clone(&s.progress),
            origin: Arc::new(origin),
            big: PacketBuffer::new(s.sizes().1, offload.is_some() || tx.is_some()),
        };
        s.is_enabled = true;
        let threads = router.engine.data_threads();
        let thread = (threads.start + s.worker).min(threads.end - 1);
        s.thread = thread;
        let old = router.engine.with_node(thread, self.input, |n: &mut PgInput| n.start(running));
        old.map_err(|e| Error::new(e.to_string()))?;
        self.set_state(router, thread);
        Ok(())
    }
    fn stop(&mut self, router: &mut Router, at: usize) -> Result<(), Error> {
        let s = &mut self.streams[at];
        if !s.is_enabled {
            return Ok(());
        }
        s.is_enabled = false;
        let (id, thread) = (s.id, s.thread);
        // What it held is freed here, not on the thread.
        let old = router.engine.with_node(thread, self.input, move |n: &mut PgInput| n.stop(id));
        old.map_err(|e| Error::new(e.to_string()))?;
        self.set_state(router, thread);
        Ok(())
    }
    /// The data-plane threads change: captures are for all, streams go on at those that
    /// stay.
    ///
    /// # Errors
    /// A thread does not answer.
    pub fn move_to(&mut self, router: &mut Router, threads: &Range<usize>) -> Result<(), Error> {
        for (index, of) in &self.captures {
            if let Some(interface) = router.interfaces.at(*index).cloned() {
                self.hand_out(router, &interface, Some(Arc::clone(&of.capture)))?;
            }
        }
        let no_answer = |e: graph::NoAnswer| Error::new(e.to_string());
        for at in 0..self.streams.len() {
            let s = &mut self.streams[at];
            let (id, from) = (s.id, s.thread);
            s.worker = s.worker.min(threads.len() - 1);
            let to = threads.start + s.worker;
            if !s.is_enabled || from == to {
                continue;
            }
            let stop = move |n: &mut PgInput| n.stop(id);
            let running = router.engine.with_node(from, self.input, stop).map_err(no_answer)?;
            if let Some(running) = running {
                let start = move |n: &mut PgInput| n.start(running);
                router.engine.with_node(to, self.input, start).map_err(no_answer)?;
            }
            self.streams[at].thread = to;
            self.set_state(router, from);
            self.set_state(router, to);
        }
        Ok(())
    }
    /// A thread polls as long as a stream sends as many as go, and sleeps between packets of
    /// others.
    fn set_state(&self, router: &mut Router, thread: usize) {
        let mine = || self.streams.iter().filter(|s| s.thread == thread && s.is_running());
        let state = match (mine().any(|s| s.rate == 0.0), mine().next()) {
            (true, _) => InputState::Polling,
            (false, Some(_)) => InputState::Adaptive,
            (false, None) => InputState::Disabled,
        };
        router.engine.set_input_state(thread, self.input, state);
    }
    /// An interface is about to be deleted: streams on it and into it, and its capture, end.
    pub fn forget(&mut self, router: &mut Router, index: InterfaceIndex) {
        let Some(interface) = router.interfaces.at(index).cloned() else { return };
        let gone = [interface.output, interface.tx].map(|n| router.engine.name_of(n).to_owned());
        let is_own = !interface.is_sub();
        let refers = |s: &Stream| {
            [Some(s.interface), s.tx_interface].contains(&Some(index))
                || is_own && gone.contains(&s.node)
        };
        while let Some(at) = self.streams.iter().position(refers) {
            // A thread that does not answer has no use for the stream either.
            let _ = self.stop(router, at);
            self.streams.remove(at);
        }
        let _ = self.end_capture(router, &interface);
        // One without Ethernet has none.
        let _ = self.filter(router, index, false);
        self.own.remove(&index);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.name)
    }
}
