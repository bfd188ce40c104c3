//! The data-plane threads: starting them, ending them, and waiting for all of them.
//!
//! A thread has a number: 0 is the only one where there are no workers, workers count from 1. It is
//! the thread's row of counters, and what clients see. The numbers in use are a range; while
//! workers take over from the only thread (or it from them) both are there.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use infra::rcu::Participant;
use infra::ring;

use super::run::Threads;
use super::spec::{Engine, NodeIndex};
use crate::engine::{CAPACITY, Core, HandoffEntry, Monitored, Outbound};
use crate::worker::{Doorbell, Handle, Job, NoAnswer};

/// Rounds after which a fence no longer waits for packets that threads hand to each other.
const MOST_ROUNDS: usize = 64;

/// A data-plane thread as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// CPU it is pinned to.
    pub cpu: Option<usize>,
    /// Whether control has no other CPU than those of the data plane.
    pub shares: bool,
}

impl Engine {
    /// The state of a thread without nodes, whose row of counters is not summed.
    pub(crate) fn bare_core(&self) -> Core {
        Core::new(self.thread_rows(), &self.pool, self.counters.clone(), self.clock.clone())
    }
    /// The state of a new thread.
    fn core(&self, thread: usize) -> Core {
        let counters = self.counters.clone();
        let mut core = Core::new(thread, &self.pool, counters, self.clock.clone());
        for at in 0..self.specs.len() {
            core.nodes.push(self.runtime(NodeIndex(at as u32)));
            if self.specs[at].is_input {
                core.inputs.push(at as u32);
            }
        }
        core.is_held = self.is_held;
        core.poll_sleep = (self.poll_sleep.as_secs_f64() * self.clock.hz()) as u64;
        core.watches = self.watches.clone();
        [Monitored::Buffers, Monitored::Fields]
            .into_iter()
            .filter(|what| self.is_monitored(*what))
            .for_each(|what| core.monitor(what, true));
        core.trace_filter = self.trace_filter.clone();
        core.handoff_trace = self.index_of("handoff_trace").map(|node| node.0);
        core
    }
    /// Starts the data-plane threads.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(&mut self) -> io::Result<()> {
        let Threads::None(settings) = &self.threads else { return Ok(()) };
        let shares = settings.shares_cpu;
        let plan = |cpu: &Option<usize>| Plan { cpu: *cpu, shares };
        let (first, plans) = match settings.workers.as_slice() {
            [] => (0, vec![Plan { cpu: settings.main_cpu, shares }]),
            workers => (1, workers.iter().map(plan).collect()),
        };
        self.threads = Threads::Running(Vec::new());
        self.add_threads(first, &plans)
    }
    /// Sees to it that threads `first`, `first + 1`… run as planned. Others go on as they are.
    ///
    /// # Errors
    /// The kernel's; those started so far run then.
    pub fn add_threads(&mut self, first: usize, plans: &[Plan]) -> io::Result<()> {
        for (number, plan) in (first..).zip(plans) {
            let there = self.data_threads();
            if there.contains(&number) {
                if let Threads::Running(handles) = &mut self.threads {
                    handles[number - there.start].place(plan.cpu, plan.shares);
                }
                continue;
            }
            assert!(number < self.thread_rows(), "counters have a row for each thread");
            let bell = Arc::new(Doorbell::new()?);
            let mut core = self.core(number);
            match &mut self.threads {
                Threads::Running(handles) => {
                    let mut news = Vec::new();
                    for other in handles.iter() {
                        let ends = connect(&mut core, &bell, (other.number, other.bell()));
                        news.push(Box::new(move |core: &mut Core| ends.take(core)) as Job);
                    }
                    let handle = Handle::start(plan.cpu, plan.shares, core, bell)?;
                    handles.iter().zip(news).for_each(|(other, job)| other.post(job));
                    let at = handles.iter().take_while(|h| h.number < number).count();
                    handles.insert(at, handle);
                }
                Threads::Inline(cores) => {
                    for other in cores.iter_mut() {
                        let of_other = Arc::new(Doorbell::new()?);
                        connect(&mut core, &bell, (other.thread(), of_other)).take(other);
                    }
                    let at = cores.iter().take_while(|c| c.thread() < number).count();
                    cores.insert(at, core);
                }
                Threads::None(_) => return Ok(()),
            }
        }
        Ok(())
    }
    /// Stops threads from calling input nodes, including those started meanwhile, or resumes them.
    /// When they are held, and have finished their packets ([`Engine::fence`]), only packets from
    /// control or from timed nodes are in the graph.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn hold_inputs(&mut self, is_held: bool) -> Result<(), NoAnswer> {
        self.is_held = is_held;
        self.post_all(|_| Box::new(move |core| core.is_held = is_held));
        if is_held { self.fence() } else { Ok(()) }
    }
    /// Ends all threads but those in `kept`, when they have finished what was handed to them; what
    /// nodes hold there is dropped and counted ([`Node::end`](crate::Node::end)). What brings
    /// packets in must be elsewhere by now.
    ///
    /// # Errors
    /// When a thread does not answer; all go on then.
    pub fn keep_threads(&mut self, kept: Range<usize>) -> Result<(), NoAnswer> {
        let gone: Vec<_> = self.data_threads().filter(|t| !kept.contains(t)).collect();
        for thread in self.data_threads() {
            let closed = if kept.contains(&thread) {
                gone.clone()
            } else {
                (0..self.thread_rows()).collect()
            };
            self.ask(thread, move |core| closed.iter().for_each(|t| core.handoffs.close(*t)))?;
        }
        self.fence()?;
        for thread in &gone {
            self.ask(*thread, Core::end)?;
        }
        for thread in kept {
            let gone = gone.clone();
            let forget = move |core: &mut Core| {
                core.handoffs.incoming.retain(|(from, _)| !gone.contains(from));
            };
            self.ask(thread, forget)?;
        }
        match &mut self.threads {
            Threads::Running(handles) => handles.retain(|h| !gone.contains(&h.number)),
            Threads::Inline(cores) => cores.retain(|core| !gone.contains(&core.thread())),
            Threads::None(_) => (),
        }
        Ok(())
    }
    /// For tests: no thread is started, [`Engine::run_inline`] runs the graph.
    pub fn start_inline(&mut self) {
        self.start_inline_threads(1);
    }
    /// For tests: as [`Engine::start_inline`], as if there were `count` threads, from number 0.
    pub fn start_inline_threads(&mut self, count: usize) {
        let plan = Plan { cpu: None, shares: true };
        self.threads = Threads::Inline(Vec::new());
        self.add_threads(0, &vec![plan; count]).expect("a test may open a descriptor");
    }
    /// Runs the graph of [`Engine::start_inline`] until no input brings anything and no
    /// thread has handed packets over; at most `loops` loops.
    pub fn run_inline(&mut self, loops: usize) {
        if let Threads::Inline(cores) = &mut self.threads {
            let mut me = Participant::join();
            for _ in 0..loops {
                me.quiescent();
                let epoch = me.epoch();
                let packets: u64 = cores.iter_mut().map(|core| core.run_once(epoch)).sum();
                if packets == 0 && cores.iter().all(|core| core.handoffs.is_empty()) {
                    break;
                }
            }
        }
    }
    /// Numbers of the data-plane threads.
    pub fn data_threads(&self) -> Range<usize> {
        match &self.threads {
            Threads::Running(handles) => {
                let first = handles.first().map_or(0, |h| h.number);
                first..first + handles.len()
            }
            Threads::Inline(cores) => {
                let first = cores.first().map_or(0, Core::thread);
                first..first + cores.len()
            }
            Threads::None(_) => 0..0,
        }
    }
    /// Numbers of the data-plane threads that are pinned to a CPU of a NUMA node.
    pub fn threads_on(&self, node: usize) -> impl Iterator<Item = usize> {
        let infos = self.thread_infos().into_iter();
        infos.filter(move |info| info.numa_node == Some(node)).map(|info| info.id)
    }
    /// Waits until every thread has finished the packets it had, also those it handed to another,
    /// and what nodes sent on when control visited them.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn fence(&mut self) -> Result<(), NoAnswer> {
        let mut before = None;
        for _ in 0..MOST_ROUNDS {
            let (mut sent, mut is_empty) = (0, true);
            for thread in self.data_threads() {
                let look = |core: &mut Core| (core.handoffs.sent, core.handoffs.is_empty());
                let (sent_by, is_empty_at) = self.ask(thread, look)?;
                (sent, is_empty) = (sent + sent_by, is_empty & is_empty_at);
            }
            // No handoff between the two rounds, and nothing waited. One round is not enough for a
            // single thread either: it may end between a visit and the loop in which the packets of
            // the visit continue.
            if is_empty && before == Some(sent) {
                break;
            }
            before = Some(sent);
        }
        Ok(())
    }
}

/// The ends of the rings to and from a new thread that another one gets.
struct Ends {
    number: usize,
    incoming: ring::Receiver<HandoffEntry>,
    out: Outbound,
}

impl Ends {
    /// Opens the way to the new thread.
    fn take(self, core: &mut Core) {
        core.handoffs.incoming.push((self.number, self.incoming));
        core.handoffs.open(self.number, self.out);
    }
}

/// Opens the ways between a new thread and another one: the ends for the latter.
fn connect(core: &mut Core, bell: &Arc<Doorbell>, (other, its): (usize, Arc<Doorbell>)) -> Ends {
    let (to, incoming) = ring::channel(CAPACITY);
    let (back, from) = ring::channel(CAPACITY);
    core.handoffs.open(other, outbound(to, its));
    core.handoffs.incoming.push((other, from));
    Ends { number: core.thread(), incoming, out: outbound(back, Arc::clone(bell)) }
}

fn outbound(ring: ring::Sender<HandoffEntry>, bell: Arc<Doorbell>) -> Outbound {
    Outbound { ring, bell, has_new: false }
}
