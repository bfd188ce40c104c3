//! A data-plane thread: its loop, its sleep, and the mailbox through which control reaches it.
//!
//! Safety contract: a thread takes part in read-copy-update from its start; it holds no reference
//! into shared state at the top of its loop, where jobs of control run, nor while it sleeps.

mod doorbell;

use std::any::Any;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use infra::capabilities::Capabilities;
use infra::cpu::numa_node;
use infra::rcu::Participant;
use rustix::event::{Timespec, epoll};

pub(crate) use doorbell::Doorbell;

use crate::engine::{Core, stamp};
use crate::node::InputState;

/// Work for a thread, done between two loops.
pub(crate) type Job = Box<dyn FnOnce(&mut Core) + Send>;

/// An answer of a thread.
type AnyAnswer = Box<dyn Any + Send>;
/// Work for a thread that waits for its answer.
type AnyJob = dyn FnOnce(&mut Core) -> AnyAnswer + Send;

/// Longest wait of control for a thread's answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Idle for so long, a thread goes to sleep on its file descriptors. Seconds.
const IDLE: f64 = 50e-6;
/// Interval at which a thread that shares its CPU with control offers it. Seconds.
const SHARE: f64 = 100e-6;
/// Loops between two looks at the file descriptors of interrupt-driven inputs while there is work.
const LOOK: u64 = 64;
/// Event data of the mailbox; others are node numbers.
const MAILBOX: u64 = u64::MAX;

/// A thread did not answer in time; forwarding may be stuck in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer(pub String);

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "thread {} does not answer", self.0)
    }
}
impl std::error::Error for NoAnswer {}

/// A thread's row of `show threads`.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ThreadInfo {
    /// Number, 0 for the first.
    pub id: usize,
    /// `vpp_main` or `vpp_wk_<n>`.
    pub name: String,
    /// Kernel's number.
    pub lwp: u32,
    /// CPU it is pinned to.
    pub cpu: Option<usize>,
    /// NUMA node of that CPU, where the system tells.
    pub numa_node: Option<usize>,
    /// Loops since start.
    pub loops: u64,
    /// Looks at its file descriptors.
    pub epolls: u64,
    /// Times it went to sleep.
    pub sleeps: u64,
    /// Times a file descriptor woke it.
    pub fd_wakeups: u64,
    /// Times control or another thread asked it to wake.
    pub wake_requests: u64,
    /// Times it woke because of that.
    pub wakeups: u64,
    /// The use of its time.
    #[serde(skip)]
    pub spent: Spent,
}

/// Clocks of a thread since it started; what is neither busy nor asleep it looked for packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// All.
    pub total: u64,
    /// Loops in which there were packets.
    pub busy: u64,
    /// Asleep.
    pub asleep: u64,
}

/// Control's end of a thread.
#[derive(Debug)]
pub(crate) struct Handle {
    /// Number of the thread: 0 for the only one, or from 1 for workers.
    pub number: usize,
    pub name: String,
    pub cpu: Option<usize>,
    shared: Arc<Shared>,
    join: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    mail: AtomicBool,
    stop: AtomicBool,
    /// Whether control has no CPU of its own.
    shares: AtomicBool,
    jobs: Mutex<Jobs>,
    bell: Arc<Doorbell>,
    epoll: OwnedFd,
    lwp: AtomicU32,
    loops: AtomicU64,
    epolls: AtomicU64,
    sleeps: AtomicU64,
    fd_wakeups: AtomicU64,
    wakeups: AtomicU64,
    /// Time stamp of its start.
    started: AtomicU64,
    /// Clocks, see [`Spent`].
    busy: AtomicU64,
    asleep: AtomicU64,
}

#[derive(Default)]
struct Jobs(Vec<Job>);

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} jobs", self.0.len())
    }
}

impl Handle {
    /// Starts a thread that runs `core`, pinned to `cpu` if given, woken by `bell`. `shares` says
    /// that control has no other CPU to run on.
    pub fn start(
        cpu: Option<usize>,
        shares: bool,
        core: Core,
        bell: Arc<Doorbell>,
    ) -> io::Result<Self> {
        let number = core.thread();
        let name = match number.checked_sub(1) {
            None => "vpp_main".to_owned(),
            Some(worker) => format!("vpp_wk_{worker}"),
        };
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64(MAILBOX);
        epoll::add(&poll, bell.as_fd(), data, epoll::EventFlags::IN)?;
        let shared = Arc::new(Shared {
            mail: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            shares: AtomicBool::new(shares),
            jobs: Mutex::default(),
            bell,
            epoll: poll,
            lwp: AtomicU32::new(0),
            loops: AtomicU64::new(0),
            epolls: AtomicU64::new(0),
            sleeps: AtomicU64::new(0),
            fd_wakeups: AtomicU64::new(0),
            wakeups: AtomicU64::new(0),
            started: AtomicU64::new(stamp()),
            busy: AtomicU64::new(0),
            asleep: AtomicU64::new(0),
        });
        let mut thread = Thread { core, shared: Arc::clone(&shared) };
        let join = std::thread::Builder::new().name(name.clone()).spawn(move || {
            settle(&mut thread.core, cpu, cpu.and_then(numa_node));
            // It cannot fail: less is always allowed.
            let _ = Capabilities::PACKETS.keep_only();
            thread.run();
        })?;
        Ok(Self { number, name, cpu, shared, join: Some(join) })
    }
    /// Moves the thread to another CPU.
    pub fn place(&mut self, cpu: Option<usize>, shares: bool) {
        self.shared.shares.store(shares, Ordering::Relaxed);
        if self.cpu != cpu {
            self.cpu = cpu;
            let node = cpu.and_then(numa_node);
            self.post(Box::new(move |core| settle(core, cpu, node)));
        }
    }
    /// The doorbell by which others wake the thread.
    pub fn bell(&self) -> Arc<Doorbell> {
        Arc::clone(&self.shared.bell)
    }
    /// Hands the thread a job, to be done between two loops, in order.
    pub fn post(&self, job: Job) {
        let s = &self.shared;
        s.jobs.lock().unwrap_or_else(PoisonError::into_inner).0.push(job);
        s.mail.store(true, Ordering::SeqCst);
        s.bell.ring();
    }
    /// Does `job` on the thread and waits for its answer.
    pub fn ask<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Core) -> R + Send + 'static,
    ) -> Result<R, NoAnswer> {
        let answer = self.ask_any(Box::new(move |core| Box::new(job(core))))?;
        answer.downcast().map(|answer| *answer).map_err(|_| NoAnswer(self.name.clone()))
    }
    /// As [`Handle::ask`]: one channel for answers of all types.
    fn ask_any(&self, job: Box<AnyJob>) -> Result<AnyAnswer, NoAnswer> {
        let (answer, wait) = mpsc::sync_channel(1);
        self.post(Box::new(move |core| {
            // The receiver is gone: the answer is not needed.
            let _ = answer.send(job(core));
        }));
        wait.recv_timeout(PATIENCE).map_err(|_| NoAnswer(self.name.clone()))
    }
    /// Wakes the thread, and calls node `node`, when `fd` is readable.
    pub fn watch(&self, fd: BorrowedFd<'_>, node: u32) -> io::Result<()> {
        self.add(fd, node, epoll::EventFlags::IN)
    }
    /// The same each time `fd` becomes readable again, though it is never read.
    pub fn watch_rings(&self, fd: BorrowedFd<'_>, node: u32) -> io::Result<()> {
        self.add(fd, node, epoll::EventFlags::IN | epoll::EventFlags::ET)
    }
    fn add(&self, fd: BorrowedFd<'_>, node: u32, when: epoll::EventFlags) -> io::Result<()> {
        let data = epoll::EventData::new_u64(u64::from(node));
        Ok(epoll::add(&self.shared.epoll, fd, data, when)?)
    }
    /// Stops watching a descriptor.
    pub fn unwatch(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.shared.epoll, fd)?)
    }
    pub fn info(&self) -> ThreadInfo {
        let s = &self.shared;
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        ThreadInfo {
            id: self.number,
            name: self.name.clone(),
            lwp: s.lwp.load(Ordering::Relaxed),
            cpu: self.cpu,
            numa_node: self.cpu.and_then(numa_node),
            loops: load(&s.loops),
            epolls: load(&s.epolls),
            sleeps: load(&s.sleeps),
            fd_wakeups: load(&s.fd_wakeups),
            wake_requests: s.bell.requests(),
            wakeups: load(&s.wakeups),
            spent: Spent {
                total: stamp().saturating_sub(load(&s.started)),
                busy: load(&s.busy),
                asleep: load(&s.asleep),
            },
        }
    }
}

impl Drop for Handle {
    /// Ends the thread, which frees all it has.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.post(Box::new(|_| ()));
        if let Some(join) = self.join.take() {
            // A thread that panicked outside a node has said so on stderr.
            let _ = join.join();
        }
    }
}

struct Thread {
    core: Core,
    shared: Arc<Shared>,
}

/// Binds this thread to a CPU, and has it use the buffers of the CPU's NUMA node.
fn settle(core: &mut Core, cpu: Option<usize>, node: Option<usize>) {
    if let Some(cpu) = cpu {
        // A CPU that went away is no reason not to run.
        let _ = infra::cpu::pin(cpu);
    }
    core.cache.move_to(node);
}

impl Thread {
    fn run(&mut self) {
        let tid = rustix::thread::gettid();
        self.shared.lwp.store(tid.as_raw_nonzero().get().cast_unsigned(), Ordering::Relaxed);
        let mut me = Participant::join();
        let mut events = Vec::with_capacity(64);
        let hz = self.core.clock.hz();
        let (idle, share) = ((IDLE * hz) as u64, (SHARE * hz) as u64);
        let (mut busy_at, mut shared_at) = (stamp(), stamp());
        // The end of the last loop, and clocks of those with packets.
        let (mut last, mut busy) = (busy_at, 0);
        loop {
            me.quiescent();
            if self.shared.mail.load(Ordering::Acquire) {
                if self.shared.stop.load(Ordering::Acquire) {
                    return;
                }
                read_mail(&self.shared, &mut self.core);
                busy_at = stamp();
                last = busy_at;
            }
            let received = self.core.run_once(me.epoch());
            self.shared.loops.store(self.core.loops, Ordering::Relaxed);
            if self.core.poll_sleep > 0 {
                let now = stamp();
                if received > 0 {
                    busy += now.wrapping_sub(last);
                    self.shared.busy.store(busy, Ordering::Relaxed);
                }
                self.core.wake_at = self.core.wake_at.min(now + self.core.poll_sleep);
                me.offline();
                last = sleep(&self.shared, &mut self.core, &mut events);
                me.online();
            } else if received > 0 {
                busy_at = stamp();
                busy += busy_at.wrapping_sub(last);
                last = busy_at;
                self.shared.busy.store(busy, Ordering::Relaxed);
                if self.core.loops.is_multiple_of(LOOK) {
                    look(&self.shared, &mut self.core, &mut events, Some(&Timespec::default()));
                }
            } else {
                last = stamp();
                if last.wrapping_sub(busy_at) > idle && may_sleep(&self.core) {
                    me.offline();
                    last = sleep(&self.shared, &mut self.core, &mut events);
                    me.online();
                    busy_at = last;
                }
            }
            if self.shared.shares.load(Ordering::Relaxed) && stamp().wrapping_sub(shared_at) > share
            {
                std::thread::yield_now();
                shared_at = stamp();
            }
        }
    }
}

fn read_mail(shared: &Shared, core: &mut Core) {
    shared.mail.store(false, Ordering::SeqCst);
    let jobs = std::mem::take(&mut *shared.jobs.lock().unwrap_or_else(PoisonError::into_inner));
    for job in jobs.0 {
        // A job that panics is control's mistake; forwarding goes on.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(core)));
    }
}

fn may_sleep(core: &Core) -> bool {
    core.inputs.iter().all(|i| core.nodes[*i as usize].state != InputState::Polling)
}

/// Sleeps until a file descriptor is ready, control has mail, another thread handed packets over,
/// or an input wanted to be called. The time stamp of its end.
fn sleep(shared: &Shared, core: &mut Core, events: &mut Vec<epoll::Event>) -> u64 {
    let since = stamp();
    let wake_at = std::mem::replace(&mut core.wake_at, u64::MAX);
    let timeout = (wake_at != u64::MAX).then(|| {
        let left = wake_at.saturating_sub(stamp()) as f64 / core.clock.hz();
        Timespec { tv_sec: left as i64, tv_nsec: (left.fract() * 1e9) as i64 }
    });
    shared.bell.falls_asleep();
    // What came before that was seen gets no wake-up.
    if !shared.mail.load(Ordering::SeqCst) && core.handoffs.is_empty() {
        shared.sleeps.fetch_add(1, Ordering::Relaxed);
        look(shared, core, events, timeout.as_ref());
    }
    shared.bell.is_awake();
    let now = stamp();
    shared.asleep.fetch_add(now.wrapping_sub(since), Ordering::Relaxed);
    now
}

/// Asks which file descriptors are ready and marks their nodes.
fn look(
    shared: &Shared,
    core: &mut Core,
    events: &mut Vec<epoll::Event>,
    timeout: Option<&Timespec>,
) {
    shared.epolls.fetch_add(1, Ordering::Relaxed);
    events.clear();
    if epoll::wait(&shared.epoll, rustix::buffer::spare_capacity(events), timeout).is_err() {
        return; // interrupted by a signal: look again next time
    }
    for event in events.iter() {
        match event.data.u64() {
            MAILBOX => {
                shared.wakeups.fetch_add(1, Ordering::Relaxed);
                shared.bell.silence();
            }
            node => {
                shared.fd_wakeups.fetch_add(1, Ordering::Relaxed);
                if let Some(n) = core.nodes.get_mut(node as usize) {
                    n.interrupt = true;
                }
            }
        }
    }
}
