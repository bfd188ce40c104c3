//! Starting threads, talking to them, and asking what they did.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use infra::counter::{Counter, Rows};
use infra::cpu::Variant;
use infra::table::names::Names;
use infra::time::Clock;

use super::errors::{Errors, MOST_COUNTERS};
use super::metadata::Claims;
use super::spec::{Engine, NodeIndex};
use crate::buffer::{Buffer, Pool, PoolUse};
use crate::engine::{Core, Frame};
use crate::node::{InputState, Node};
use crate::show::{EdgeCount, NodeRow, ThreadRow};
use crate::trace::TracedPacket;
use crate::worker::{Handle, Job, NoAnswer, ThreadInfo};

/// Settings of the engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Most buffers on a NUMA node.
    pub buffers: usize,
    /// NUMA nodes that have buffers, at least one.
    pub numa_nodes: Vec<usize>,
    /// CPUs of the workers; empty: one data-plane thread does everything.
    pub workers: Vec<Option<usize>>,
    /// Most workers there may be later.
    pub most_workers: usize,
    /// CPU of the only data-plane thread.
    pub main_cpu: Option<usize>,
    /// Whether control has no other CPU than the data-plane thread's.
    pub shares_cpu: bool,
    /// Sleep of a data-plane thread after each of its loops, unless woken. Zero: only when it has
    /// nothing to do.
    pub poll_sleep: Duration,
    /// CPU variant of all nodes; `None` for the best there is.
    pub variant: Option<Variant>,
    /// CPU variant of single nodes.
    pub node_variants: HashMap<String, Variant>,
}

impl Settings {
    /// Number of rows of counters: one for each worker there may ever be, and before these one for
    /// the only thread, or, beside workers, for control.
    pub fn thread_rows(&self) -> usize {
        self.workers.len().max(self.most_workers) + 1
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            buffers: 131_072,
            numa_nodes: vec![0],
            workers: Vec::new(),
            most_workers: 0,
            main_cpu: None,
            shares_cpu: false,
            poll_sleep: Duration::ZERO,
            variant: None,
            node_variants: HashMap::new(),
        }
    }
}

pub(super) struct VariantChoice(Variant, HashMap<String, Variant>);

impl VariantChoice {
    pub fn of(&self, node: &str) -> Variant {
        self.1.get(node).copied().unwrap_or(self.0)
    }
}

/// The threads, or, in tests, one core that runs when asked.
pub(super) enum Threads {
    None(Settings),
    /// In the order of their numbers, without a gap.
    Running(Vec<Handle>),
    Inline(Vec<Core>),
}

impl Threads {
    pub fn are_running(&self) -> bool {
        !matches!(self, Self::None(_))
    }
    fn handle(&self, thread: usize) -> Option<&Handle> {
        let Self::Running(handles) = self else { return None };
        handles.get(thread.checked_sub(handles.first()?.number)?)
    }
}

impl Engine {
    /// An empty graph.
    ///
    /// # Errors
    /// The kernel's, when it refuses memory.
    pub fn new(settings: Settings) -> io::Result<Self> {
        let counters = Rows::new(settings.thread_rows(), MOST_COUNTERS)?;
        Self::counting_in(settings, counters)
    }
    /// An empty graph whose nodes count in `counters`: [`Settings::thread_rows`] rows of
    /// [`MOST_COUNTERS`].
    ///
    /// # Errors
    /// The kernel's, when it refuses memory.
    pub fn counting_in(settings: Settings, counters: Rows<Counter>) -> io::Result<Self> {
        let supported = |v: Variant| if v.is_supported() { v } else { Variant::best() };
        let choice = settings.variant.map_or_else(Variant::best, supported);
        let single =
            settings.node_variants.iter().map(|(n, v)| (n.clone(), supported(*v))).collect();
        Ok(Self {
            specs: Vec::new(),
            by_name: Names::default(),
            deleted: Vec::new(),
            arcs: Vec::new(),
            pending: Vec::new(),
            starts: Vec::new(),
            errors: Errors::new(),
            cleared: Vec::new(),
            counters,
            pool: Pool::new(settings.buffers, &settings.numa_nodes)?,
            clock: Clock::start(),
            variants: VariantChoice(choice, single),
            poll_sleep: settings.poll_sleep,
            is_held: false,
            watches: Vec::new(),
            monitored: [false; 2],
            owner: 0,
            placed: Vec::new(),
            claims: Claims::new(),
            waiting: HashMap::new(),
            trace_filter: None,
            threads: Threads::None(settings),
        })
    }
    pub(super) fn post(&mut self, thread: usize, job: Job) {
        if let Threads::Inline(cores) = &mut self.threads {
            if let Some(core) = cores.iter_mut().find(|core| core.thread() == thread) {
                job(core);
            }
        } else if let Some(handle) = self.threads.handle(thread) {
            handle.post(job);
        }
    }
    pub(crate) fn post_all(&mut self, mut job: impl FnMut(&Self) -> Job) {
        for thread in self.data_threads() {
            let job = job(self);
            self.post(thread, job);
        }
    }
    pub(super) fn ask<R: Send + 'static>(
        &mut self,
        thread: usize,
        job: impl FnOnce(&mut Core) -> R + Send + 'static,
    ) -> Result<R, NoAnswer> {
        let nobody = || NoAnswer(thread.to_string());
        match &mut self.threads {
            Threads::Inline(cores) => {
                let core = cores.iter_mut().find(|core| core.thread() == thread);
                Ok(job(core.ok_or_else(nobody)?))
            }
            threads => threads.handle(thread).ok_or_else(nobody)?.ask(job),
        }
    }
    pub(super) fn hand_out(&mut self, index: NodeIndex) {
        let is_input = self.specs[index.0 as usize].is_input;
        self.post_all(|this| {
            let runtime = this.runtime(index);
            Box::new(move |core| {
                let at = index.0 as usize;
                if at == core.nodes.len() {
                    core.nodes.push(runtime);
                } else {
                    // Packets that wait for the old node are for the new one to drop or take.
                    let old = std::mem::replace(&mut core.nodes[at], runtime);
                    core.nodes[at].open = old.open;
                    core.nodes[at].full = old.full;
                }
                core.inputs.retain(|i| *i != index.0);
                if is_input {
                    core.inputs.push(index.0);
                }
            })
        });
    }
    /// Gives the threads one more edge of a node, whatever the number of those it has.
    pub(super) fn hand_out_edge(&mut self, index: NodeIndex, target: NodeIndex) {
        self.post_all(|_| {
            Box::new(move |core| core.nodes[index.0 as usize].edges.push((target.0, 0)))
        });
    }
    pub(super) fn hand_out_edges(&mut self, index: NodeIndex) {
        self.post_all(|this| {
            let edges = this.edge_numbers(index);
            let arcs = this.specs[index.0 as usize].arcs.clone();
            Box::new(move |core| {
                let n = &mut core.nodes[index.0 as usize];
                let counted = n.edges.iter().map(|e| e.1).chain(std::iter::repeat(0));
                n.edges = edges.into_iter().zip(counted).map(|(e, c)| (e.0, c)).collect();
                n.arcs = arcs;
            })
        });
    }
    /// Changes the state a node has on a thread, between two of its loops, and waits for it.
    ///
    /// # Errors
    /// When the thread does not answer, or the node is of another type.
    pub fn with_node<N: 'static, R: Send + 'static>(
        &mut self,
        thread: usize,
        node: NodeIndex,
        change: impl FnOnce(&mut N) -> R + Send + 'static,
    ) -> Result<R, NoAnswer> {
        let done =
            self.ask(thread, move |core| core.with_node(node.0, |n: &mut N, _| change(n)))?;
        done.ok_or_else(|| NoAnswer(format!("{thread}: node {} is of another type", node.0)))
    }
    /// Lets `work` at a node on a thread, without waiting, as if it had been given a frame without
    /// packets: so control has it send on what it holds.
    pub fn visit<N: Node>(
        &mut self,
        thread: usize,
        node: NodeIndex,
        work: impl FnOnce(&mut N, &mut Frame<'_, N>) + Send + 'static,
    ) {
        self.post(thread, Box::new(move |core| core.visit(node.0, work)));
    }
    /// Sets when an input node is called on a thread.
    pub fn set_input_state(&mut self, thread: usize, node: NodeIndex, state: InputState) {
        self.post(thread, Box::new(move |core| core.set_state(node.0, state)));
    }
    /// State of an input node on a thread: polling, interrupts or off; `None` for other nodes.
    ///
    /// # Errors
    /// When the thread does not answer.
    pub fn input_state(
        &mut self,
        thread: usize,
        node: NodeIndex,
    ) -> Result<Option<InputState>, NoAnswer> {
        self.ask(thread, move |core| {
            core.inputs.contains(&node.0).then(|| core.nodes[node.0 as usize].state)
        })
    }
    /// Wakes a thread, and calls the node there, when `fd` is readable. End it with
    /// [`Engine::unwatch`] before the descriptor is closed.
    ///
    /// # Errors
    /// The kernel's.
    pub fn watch(&mut self, thread: usize, node: NodeIndex, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.threads.handle(thread).map_or(Ok(()), |h| h.watch(fd, node.0))
    }
    /// As [`Engine::watch`], for a descriptor that is rung (an eventfd that others write to) and
    /// never read: once for each ring.
    ///
    /// # Errors
    /// The kernel's.
    pub fn watch_rings(
        &mut self,
        thread: usize,
        node: NodeIndex,
        fd: BorrowedFd<'_>,
    ) -> io::Result<()> {
        self.threads.handle(thread).map_or(Ok(()), |h| h.watch_rings(fd, node.0))
    }
    /// Ends [`Engine::watch`] or [`Engine::watch_rings`] of a descriptor.
    ///
    /// # Errors
    /// The kernel's.
    pub fn unwatch(&mut self, thread: usize, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.threads.handle(thread).map_or(Ok(()), |h| h.unwatch(fd))
    }
    /// Puts a packet made by control at the entrance of a node; `prepare` sets its metadata. One
    /// that finds no buffers is not sent.
    pub fn inject(
        &mut self,
        thread: usize,
        node: NodeIndex,
        bytes: Vec<u8>,
        prepare: impl FnOnce(&mut Buffer<'_>) + Send + 'static,
    ) {
        self.post(thread, Box::new(move |core| core.inject(node.0, &bytes, prepare)));
    }
    /// Traces the next `count` packets of a node where traces start, on each thread.
    pub fn trace(&mut self, node: NodeIndex, count: u32) {
        self.trace_filtered(node, count, false);
    }
    /// As [`Engine::trace`]; if `filters`, only those that the filter chooses.
    pub fn trace_filtered(&mut self, node: NodeIndex, count: u32, filters: bool) {
        self.post_all(|_| {
            Box::new(move |core| {
                let of = &mut core.nodes[node.0 as usize];
                of.to_trace = of.to_trace.saturating_add(count);
                of.filters_trace = filters;
                core.filtered_at = if filters { node.0 } else { u32::MAX };
            })
        });
    }
    /// Traced packets of a thread.
    ///
    /// # Errors
    /// When the thread does not answer.
    pub fn traced(&mut self, thread: usize) -> Result<Vec<TracedPacket>, NoAnswer> {
        self.ask(thread, |core| core.trace.packets())
    }
    /// Forgets what was traced and what was still to be.
    pub fn clear_trace(&mut self) {
        for thread in self.data_threads() {
            // What was kept is freed here, not on the thread.
            let _ = self.ask(thread, |core| {
                core.nodes.iter_mut().for_each(|n| n.to_trace = 0);
                core.trace.clear()
            });
        }
    }
    /// Statistics of each thread since `show runtime` was cleared.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn runtime_rows(&mut self) -> Result<Vec<ThreadRow>, NoAnswer> {
        let mut rows = Vec::new();
        for thread in self.data_threads() {
            let mut row = self.ask(thread, |core| core.thread_row())?;
            let names = |n: &mut NodeRow| n.name = self.name_of(NodeIndex(n.index)).to_owned();
            row.nodes.iter_mut().for_each(names);
            if let Some(handle) = self.threads.handle(thread) {
                (row.name, row.cpu) = (handle.name.clone(), handle.cpu);
            }
            rows.push(row);
        }
        Ok(rows)
    }
    /// Resets the statistics of `show runtime`.
    pub fn clear_runtime(&mut self) {
        self.post_all(|_| Box::new(Core::clear_stats));
    }
    /// Packets over each edge of a node, all threads together.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn edge_counts(&mut self, node: NodeIndex) -> Result<Vec<EdgeCount>, NoAnswer> {
        let targets = self.edge_numbers(node);
        let mut counts: Vec<_> = targets
            .iter()
            .enumerate()
            .map(|(slot, (n, _))| EdgeCount {
                slot: slot as u32,
                node: *n,
                name: self.name_of(NodeIndex(*n)).to_owned(),
                vectors: 0,
            })
            .collect();
        for thread in self.data_threads() {
            let edges = self.ask(thread, move |core| core.nodes[node.0 as usize].edges.clone())?;
            counts.iter_mut().zip(edges).for_each(|(c, e)| c.vectors += e.1);
        }
        Ok(counts)
    }
    /// Edges that packets took, all threads together: the nodes at both ends, and the packets.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn edges_taken(&mut self) -> Result<BTreeMap<(NodeIndex, NodeIndex), u64>, NoAnswer> {
        let mut all = BTreeMap::new();
        for thread in self.data_threads() {
            let edges = self.ask(thread, |core| core.edges_taken())?;
            for (from, to, packets) in edges {
                *all.entry((NodeIndex(from), NodeIndex(to))).or_default() += packets;
            }
        }
        Ok(all)
    }
    /// Threads, as `show threads` lists them.
    pub fn thread_infos(&self) -> Vec<ThreadInfo> {
        match &self.threads {
            Threads::Running(handles) => handles.iter().map(Handle::info).collect(),
            _ => Vec::new(),
        }
    }
    /// Buffers of each NUMA node, and their use.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn pool_usage(&mut self) -> Result<Vec<PoolUse>, NoAnswer> {
        let nodes = self.pool.nodes().len();
        let mut cached = vec![0; nodes];
        for thread in self.data_threads() {
            let kept = move |core: &mut Core| (0..nodes).map(|at| core.cache.kept(at)).collect();
            let kept: Vec<usize> = self.ask(thread, kept)?;
            cached.iter_mut().zip(kept).for_each(|(all, one)| *all += one);
        }
        Ok(self.pool.usage(&cached))
    }
    /// The same, when threads keep `cached` of each node's.
    pub fn pool_usage_with(&self, cached: &[usize]) -> Vec<PoolUse> {
        self.pool.usage(cached)
    }
    /// Buffers in packets.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn buffers_used(&mut self) -> Result<usize, NoAnswer> {
        Ok(self.pool_usage()?.iter().map(|pool| pool.used).sum())
    }
    /// Adds buffers if a thread ran short.
    ///
    /// # Errors
    /// The kernel's, when it refuses memory.
    pub fn tend_pool(&mut self) -> io::Result<()> {
        if self.pool.is_short() { self.pool.grow() } else { Ok(()) }
    }
    /// Calls `waker`, on any thread, when [`Engine::tend_pool`] has work.
    pub fn on_short_pool(&self, waker: impl Fn() + Send + Sync + 'static) {
        self.pool.on_short(waker);
    }
    /// The router's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
    /// The CPU variant of a node.
    pub fn variant_of(&self, index: NodeIndex) -> Variant {
        self.specs.get(index.0 as usize).map_or(Variant::Default, |s| s.variant)
    }
    /// Runs a node as compiled for this variant, from its next frame on; false if there is no such
    /// node or the processor does not support the variant.
    pub fn set_variant(&mut self, index: NodeIndex, variant: Variant) -> bool {
        let at = index.0 as usize;
        let Some(spec) = self.specs.get_mut(at).filter(|_| variant.is_supported()) else {
            return false;
        };
        spec.variant = variant;
        self.post_all(|_| {
            Box::new(move |core| {
                if let Some(dispatch) = core.nodes.get_mut(at).and_then(|n| n.dispatch.as_mut()) {
                    dispatch.choose(variant);
                }
            })
        });
        true
    }
    /// Whether a node brings packets in.
    pub fn is_input(&self, index: NodeIndex) -> bool {
        self.specs.get(index.0 as usize).is_some_and(|s| s.is_input)
    }
    /// Whether traces start at a node.
    pub fn starts_traces(&self, index: NodeIndex) -> bool {
        self.specs.get(index.0 as usize).is_some_and(|s| s.starts_traces)
    }
    /// The nodes at the end of a node's edges, in the order of the edges; none without a node of
    /// this number.
    pub fn next_of(&self, index: NodeIndex) -> Vec<NodeIndex> {
        let is_there = (index.0 as usize) < self.specs.len();
        let edges = if is_there { self.edge_numbers(index) } else { Vec::new() };
        edges.into_iter().map(|(node, _)| NodeIndex(node)).collect()
    }
    /// The nodes with an edge to each of `wanted`.
    pub fn sources_of(&self, wanted: &[NodeIndex]) -> HashMap<NodeIndex, Vec<NodeIndex>> {
        let mut sources: HashMap<_, _> = wanted.iter().map(|node| (*node, Vec::new())).collect();
        for (from, _) in self.node_names() {
            for (to, _) in self.edge_numbers(from) {
                let list = sources.get_mut(&NodeIndex(to));
                // One with several edges is one source.
                if let Some(list) = list.filter(|list| list.last() != Some(&from)) {
                    list.push(from);
                }
            }
        }
        sources
    }
}

impl Core {
    fn thread_row(&mut self) -> ThreadRow {
        let row = |(i, n): (usize, &crate::engine::NodeRuntime)| NodeRow {
            index: i as u32,
            name: String::new(),
            state: self.inputs.contains(&(i as u32)).then_some(n.state),
            stats: n.stats,
        };
        ThreadRow {
            thread: self.thread(),
            name: "vpp_main".to_owned(),
            cpu: None,
            seconds: self.seconds_since_clear(),
            now: self.clock().now(),
            loops: self.loops_since_clear(),
            input: self.vectors_in,
            output: self.vectors_out,
            drop: self.vectors_drop,
            punt: self.vectors_punt,
            nodes: self.nodes.iter().enumerate().map(row).collect(),
        }
    }
}
