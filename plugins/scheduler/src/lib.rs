//! Hierarchical scheduler: what an interface sends waits in queues of classes of pipes of subports,
//! each level of which is shaped.
//!
//! Operators know the levels from DPDK: a *port* is an interface, a *subport* a group of
//! subscribers, a *pipe* a subscriber. A pipe has four traffic classes, served in strict order, and
//! each class four queues that share by weight. Control keeps the settings of a port and publishes
//! a plan of them; the queues belong to one thread.
#![forbid(unsafe_code)]

mod api;
mod bucket;
mod change;
mod cli;
mod core;
mod list;
mod node;
mod plan;
mod red;
mod show;
mod tree;

use control::stats::Columns;
use net::interface::INTERFACE_OUTPUT;
use net::prelude::*;

pub use api::*;
pub use change::*;
pub use plan::{
    CLASSES, COLORS, Config, Level, PipeId, Place, Profile, QUEUES, Rate, Shape, Target,
};
pub use red::Red;
pub use show::{Counted, Pipe, Queue, pipes};

use self::core::Core;
use node::{Counters, OUTPUT, Output, Readers};
use plan::{Plan, QUEUES_OF_PIPE};

/// Ports at most.
const MOST_PORTS: usize = 64;
/// Pipes of all ports at most.
const MOST_PIPES: u32 = 1 << 14;
/// Packets that the queues of a port may hold at most.
const MOST_PACKETS: u32 = 1 << 20;
/// Bytes of a packet's surroundings on the wire at most.
const MOST_OVERHEAD: u32 = 256;
const COLUMNS: Columns = Columns::growing("scheduler-queue", MOST_PIPES as usize * QUEUES_OF_PIPE);

/// Hierarchical scheduler.
pub const FEATURE: Feature = Feature {
    name: "scheduler",
    about: "Hierarchical scheduler: queues, shaping and random early detection of sent packets",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ethernet", "classify", "policer", "qos"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The setting of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Scheduled {
    /// Port.
    port: Option<u32>,
    /// The pipe of a sub-interface.
    pipe: Option<PipeId>,
    /// The pipe's place in the tables of the port.
    pipe_slot: Option<u32>,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// scheduling applies to the parent of a sub-interface
    #[retval(INVALID_SW_IF_INDEX)]
    SubInterface,
    /// not a sub-interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoSubInterface,
    /// the interface has no scheduler
    #[retval(NO_SUCH_ENTRY)]
    NoPort,
    /// no subport {0}
    #[retval(NO_SUCH_ENTRY)]
    NoSubport(u16),
    /// no pipe {1} in subport {0}
    #[retval(NO_SUCH_ENTRY)]
    NoPipe(u16, u16),
    /// no profile {0}
    #[retval(NO_SUCH_ENTRY)]
    NoProfile(u32),
    /// nothing is configured there
    #[retval(NO_SUCH_ENTRY)]
    NotSet,
    /// {0}
    #[retval(INVALID_VALUE)]
    Unfit(&'static str),
    /// {0} is in use
    #[retval(INSTANCE_IN_USE)]
    InUse(&'static str),
    /// {0} cannot be deleted
    #[retval(INVALID_VALUE)]
    Fixed(&'static str),
    /// at most {1} {0}
    #[retval(LIMIT_EXCEEDED)]
    Full(&'static str, u32),
}

/// A port as control keeps it.
struct Port {
    slot: u32,
    /// Number of its first pipe among those of all ports.
    first_pipe: u32,
    config: Config,
    core: Arc<Core>,
}

/// The state of control.
struct Scheduler {
    ports: BTreeMap<InterfaceIndex, Port>,
    profiles: BTreeMap<u32, Profile>,
    plans: SharedSlab<Plan>,
    counters: Counters,
    threads: Shared<Range<usize>>,
    /// Of plans, and serial numbers of pipes.
    generation: u64,
}

impl Port {
    /// Column of its first queue in counters.
    fn column(&self) -> usize {
        self.first_pipe as usize * QUEUES_OF_PIPE
    }
}

/// Consequences of interfaces that come and go.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let parent = router.interfaces.at(interface).filter(|i| i.is_sub()).map(|i| i.sup);
    match (change, parent) {
        (Change::Added, Some(parent)) => {
            let Scheduled { port, .. } = router.setting(parent);
            let done = router.put(interface, Scheduled { port, ..Scheduled::default() });
            done.expect("an interface that was added is there");
        }
        (Change::Deleting, Some(parent)) => {
            let port = router.own::<Scheduler>().ports.get(&parent);
            let Some(core) = port.map(|port| port.core.clone()) else { return };
            visit(router, core, move |_, tree, _| tree.forget(interface.0));
        }
        (Change::Deleting, None) => {
            // Most interfaces are no ports.
            let _ = remove_port(router, interface);
        }
        _ => (),
    }
}

/// Runs work on the queues of a port on its thread, without waiting for it.
fn visit(
    router: &mut Router,
    core: Arc<Core>,
    work: impl FnOnce(&mut graph::Frame<'_, Output>, &mut tree::Tree, usize) + Send + 'static,
) {
    let (node, thread) = (router.engine.index_of(OUTPUT), core.owner.thread());
    // A port without a thread has no packets.
    if let (Some(node), Some(thread)) = (node, thread) {
        router.engine.visit(thread, node, move |_: &mut Output, frame| {
            if let Some(mut tree) = core.lend() {
                work(frame, &mut tree, thread);
            }
        });
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let mut rows = |name: &str| {
        let path = format!("/scheduler/{name}");
        router.stats.combined(&path, COLUMNS).map_err(io::Error::other)
    };
    let mut counters = || -> io::Result<Counters> {
        Ok(Counters {
            queued: rows("queued")?,
            sent: rows("sent")?,
            dropped: rows("dropped")?,
            early: rows("early-dropped")?,
            flushed: rows("flushed")?,
        })
    };
    let scheduler = Scheduler {
        ports: BTreeMap::new(),
        profiles: BTreeMap::new(),
        plans: SharedSlab::new(MOST_PORTS).map_err(refuse)?,
        counters: counters().map_err(refuse)?,
        threads: Shared::new(0..usize::MAX),
        generation: 0,
    };
    let readers = Readers {
        scheduled: router.attach::<Scheduled>().map_err(refuse)?,
        plans: scheduler.plans.reader(),
        tables: classify::reader(router),
        threads: scheduler.threads.reader(),
        counters: scheduler.counters.clone(),
    };
    node::add(router, &readers).map_err(refuse)?;
    router.attach_at::<Scheduled, _>([AttachedAt {
        arc: &INTERFACE_OUTPUT,
        node: OUTPUT,
        is_on: |s| s.port.is_some(),
    }]);
    router.insert(scheduler);
    router.interfaces.observe(follow);
    router.on_threads.push(|router, stay| {
        router.own_mut::<Scheduler>().threads.publish(stay.clone());
        Ok(())
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
