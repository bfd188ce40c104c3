//! Commands about receive queues: which thread serves them, and when they are looked at.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use control::cli::{Cli, Command, Error, Output, Word};
use control::config::CpuList;
use graph::InputState;
use serde::Serialize;

use super::InterfaceIndex;
use super::queues::RxQueue;
use crate::router::Router;

/// Show which threads serve which receive queues.
#[derive(Command)]
#[command("show interface rx-placement")]
struct ShowPlacement;

/// Set when the receive queues of an interface are looked at.
#[derive(Command)]
#[command("set interface rx-mode")]
struct SetMode {
    /// interface
    #[positional]
    #[values("interface")]
    interface: Word,
    /// only this queue
    queue: Option<usize>,
    /// polling, interrupt or adaptive
    #[positional]
    #[values("polling|interrupt|adaptive")]
    mode: Mode,
}

struct Mode(InputState);

impl FromStr for Mode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "polling" => Ok(Self(InputState::Polling)),
            "interrupt" => Ok(Self(InputState::Interrupt)),
            "adaptive" => Ok(Self(InputState::Adaptive)),
            _ => Err(()),
        }
    }
}

/// Set which thread serves a receive queue of an interface: a worker, or, without workers, main.
#[derive(Command)]
#[command("set interface rx-placement")]
struct SetPlacement {
    /// interface
    #[positional]
    #[values("interface")]
    interface: Word,
    /// the queue; the first one if not given
    queue: Option<usize>,
    /// number of the worker, from 0
    #[values("worker")]
    worker: Option<usize>,
    /// the main thread
    main: bool,
}

/// Set which threads send on a queue of an interface.
#[derive(Command)]
#[command("set interface tx-queue")]
struct SetTxQueue {
    /// interface
    #[positional]
    #[values("interface")]
    interface: Word,
    /// the queue
    queue: Option<usize>,
    /// numbers of threads, as 0,2-3; none if not given
    threads: Option<CpuList>,
}

/// Set when the receive queues of interfaces to come are looked at.
#[derive(Command)]
#[command("set interface default rx-mode")]
struct SetDefaultMode {
    /// polling, interrupt or adaptive
    #[positional]
    #[values("polling|interrupt|adaptive")]
    mode: Mode,
}

/// Show when the receive queues of interfaces to come are looked at.
#[derive(Command)]
#[command("show interface default rx-mode")]
struct ShowDefaultMode;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, _: ShowPlacement| Ok(Output::of(placement(router))));
    cli.command(|router, set: SetMode| {
        let interface = index_of(router, &set.interface)?;
        let done = router.set_rx_mode(interface, set.queue, set.mode.0);
        done.map_err(|e| Error::new(e.to_string()))
    });
    cli.command(|router: &mut Router, set: SetDefaultMode| {
        router.interfaces.default_rx_mode = set.mode.0;
        Ok(())
    });
    cli.command(|router: &mut Router, _: ShowDefaultMode| {
        let mode = name_of(router.interfaces.default_rx_mode);
        Ok(Output::both(format!("default rx-mode: {mode}"), BTreeMap::from([("rx-mode", mode)])))
    });
    cli.command(|router, set: SetTxQueue| {
        let interface = index_of(router, &set.interface)?;
        let queue = set.queue.ok_or("missing `queue <number>'")?;
        let threads = set.threads.unwrap_or_default().0;
        let threads: Vec<_> = threads.into_iter().map(|t| t as usize).collect();
        let done = router.place_tx_queue(interface, queue, &threads);
        done.map_err(|e| Error::new(e.to_string()))
    });
    cli.command(|router, set: SetPlacement| {
        let interface = index_of(router, &set.interface)?;
        let thread = match (set.worker, set.main) {
            (Some(worker), false) => worker + 1,
            (None, true) => 0,
            _ => return Err(Error::new("expected `worker <number>' or `main'")),
        };
        let done = router.place_rx_queue(interface, set.queue.unwrap_or(0), thread);
        done.map_err(|e| Error::new(e.to_string()))
    });
}

fn name_of(mode: InputState) -> &'static str {
    match mode {
        InputState::Polling => "polling",
        InputState::Interrupt => "interrupt",
        InputState::Adaptive => "adaptive",
        InputState::Disabled => "disabled",
    }
}

fn index_of(router: &Router, word: &Word) -> Result<InterfaceIndex, Error> {
    let interface = router.interfaces.named(word);
    interface.map(|i| i.index).ok_or_else(|| word.unknown("interface"))
}

#[derive(Serialize)]
#[serde(transparent)]
struct Placement(Vec<Row>);

/// One receive queue.
#[derive(Serialize)]
pub(super) struct Row {
    /// Number of its thread.
    pub thread: usize,
    /// Name of its thread.
    pub thread_name: String,
    node: String,
    interface: String,
    queue: usize,
    /// When it is looked at.
    pub mode: &'static str,
}

/// The receive queues of an interface, by number.
pub(super) fn of(router: &Router, index: InterfaceIndex) -> Vec<Row> {
    let Some(i) = router.interfaces.at(index) else { return Vec::new() };
    let (name, queues) = (i.name.clone(), i.queues.clone());
    let infos = router.engine.thread_infos();
    let row = |(number, queue): (usize, RxQueue)| {
        let info = infos.iter().find(|info| info.id == queue.thread);
        Row {
            thread: queue.thread,
            thread_name: info.map_or_else(|| "vpp_main".to_owned(), |info| info.name.clone()),
            node: router.engine.name_of(queue.node).to_owned(),
            interface: name.clone(),
            queue: number,
            mode: name_of(queue.mode),
        }
    };
    queues.into_iter().enumerate().map(row).collect()
}

fn placement(router: &Router) -> Placement {
    let mut rows: Vec<_> = router.interfaces.iter().flat_map(|i| of(router, i.index)).collect();
    rows.sort_by(|a, b| (a.thread, &a.node).cmp(&(b.thread, &b.node)));
    Placement(rows)
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before: Option<&Row> = None;
        for row in &self.0 {
            let same_thread = before.is_some_and(|b| b.thread == row.thread);
            if !same_thread {
                writeln!(f, "Thread {} ({}):", row.thread, row.thread_name)?;
            }
            if !same_thread || before.is_some_and(|b| b.node != row.node) {
                writeln!(f, "  node {}:", row.node)?;
            }
            writeln!(f, "    {} queue {} ({})", row.interface, row.queue, row.mode)?;
            before = Some(row);
        }
        Ok(())
    }
}
