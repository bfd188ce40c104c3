//! Commands about receive queues: which thread serves them, and when they are looked at.

use std::collections::BTreeMap;
use std::fmt;

use control::cli::{Cli, Command, Error, Output, Print, Words};
use control::config::CpuList;
use control::configuration::Lines;
use graph::InputState;
use infra::order::Order;
use serde::Serialize;

use super::InterfaceIndex;
use super::queues::{QueueError, RxQueue};
use crate::router::Router;

/// Show the threads of receive queues.
#[derive(Command)]
#[command("show interface rx-placement")]
struct ShowPlacement;

/// Set the receive mode of an interface: polling, interrupt or adaptive.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface rx-mode")]
#[undo("=set interface rx-mode {1} [queue {queue}] default")]
struct SetMode {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// only this queue
    queue: Option<usize>,
    /// default mode of new interfaces
    default: bool,
    /// polling, interrupt or adaptive
    #[positional]
    #[words]
    mode: Option<Mode>,
}

/// Mode of a queue.
#[derive(Words, Clone, Copy, Debug, PartialEq)]
enum Mode {
    Polling,
    Interrupt,
    Adaptive,
}

impl Mode {
    fn state(self) -> InputState {
        match self {
            Self::Polling => InputState::Polling,
            Self::Interrupt => InputState::Interrupt,
            Self::Adaptive => InputState::Adaptive,
        }
    }
    fn of(state: InputState) -> Option<Self> {
        let all = [Self::Polling, Self::Interrupt, Self::Adaptive];
        all.into_iter().find(|mode| mode.state() == state)
    }
}

/// Assign a receive queue to a worker or, without workers, to the main thread.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface rx-placement")]
#[undo("=set interface rx-placement {1} queue {queue} default")]
struct SetPlacement {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// queue; default the first
    queue: Option<usize>,
    /// worker index, from 0
    #[values("worker")]
    worker: Option<usize>,
    /// the main thread
    main: bool,
    /// chosen by the router
    default: bool,
}

/// Set the threads that transmit on a queue.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface tx-queue")]
#[undo("=set interface tx-queue {1} queue {queue} default")]
struct SetTxQueue {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// the queue
    queue: Option<usize>,
    /// thread indexes, such as 0,2-3; default none
    threads: Option<CpuList>,
    /// threads chosen by the router
    default: bool,
}

/// Set the default receive mode of new interfaces.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface default rx-mode")]
#[undo("=set interface default rx-mode adaptive")]
#[stage(Objects)]
struct SetDefaultMode {
    /// polling, interrupt or adaptive
    #[positional]
    #[words]
    mode: Mode,
}

/// Show the default receive mode of new interfaces.
#[derive(Command)]
#[command("show interface default rx-mode")]
struct ShowDefaultMode;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, _: ShowPlacement| Ok(Output::rows(placement(router), write_placement)));
    cli.command(|router, set: SetMode| {
        let usual = Some(router.interfaces.default_rx_mode).filter(|_| set.default);
        let mode = usual.or(set.mode.map(Mode::state)).ok_or("missing mode")?;
        match router.set_rx_mode(set.interface, set.queue, mode) {
            // There is none whose mode is another.
            Err(QueueError::NoQueue) if set.queue.is_none() => Ok(()),
            done => done.map_err(|e| Error::new(e.to_string())),
        }
    });
    cli.command(|router: &mut Router, set: SetDefaultMode| {
        router.interfaces.default_rx_mode = set.mode.state();
        Ok(())
    });
    cli.command(|router: &mut Router, _: ShowDefaultMode| {
        let mode = name_of(router.interfaces.default_rx_mode);
        Ok(Output::both(format!("default rx-mode: {mode}"), BTreeMap::from([("rx-mode", mode)])))
    });
    cli.command(|router, set: SetTxQueue| {
        let queue = set.queue.ok_or("missing `queue <number>'")?;
        if set.default {
            let done = router.choose_tx_threads(set.interface, queue);
            return done.map_err(|e| Error::new(e.to_string()));
        }
        let threads = set.threads.unwrap_or_default().0;
        let threads: Vec<_> = threads.into_iter().map(|t| t as usize).collect();
        let done = router.place_tx_queue(set.interface, queue, &threads);
        done.map_err(|e| Error::new(e.to_string()))
    });
    cli.command(|router, set: SetPlacement| {
        let queue = set.queue.unwrap_or(0);
        let done = match (set.worker, set.main, set.default) {
            (Some(worker), false, false) => router.place_rx_queue(set.interface, queue, worker + 1),
            (None, true, false) => router.place_rx_queue(set.interface, queue, 0),
            (None, false, true) => router.choose_rx_thread(set.interface, queue),
            _ => return Err(Error::new("expected `worker <number>', `main' or `default'")),
        };
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

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let usual = router.interfaces.default_rx_mode;
    if let Some(mode) = Mode::of(usual).filter(|mode| *mode != Mode::Adaptive) {
        lines.push(&SetDefaultMode { mode });
    }
    for i in router.interfaces.iter() {
        let interface = i.index;
        for (number, q) in i.queues.iter().enumerate() {
            let queue = Some(number);
            if let Some(mode) = Mode::of(q.mode).filter(|_| q.mode != usual) {
                let (default, mode) = (false, Some(mode));
                lines.push(&SetMode { interface, queue, default, mode });
            }
            if q.is_placed {
                let (main, worker) = (q.thread == 0, q.thread.checked_sub(1));
                let default = false;
                lines.push(&SetPlacement { interface, queue, worker, main, default });
            }
        }
        for (number, threads) in router.interfaces.placed_tx_queues(interface) {
            let threads = CpuList(threads.iter().map(|thread| *thread as u32).collect());
            let threads = Some(threads).filter(|threads| !threads.0.is_empty());
            let (queue, default) = (Some(number), false);
            lines.push(&SetTxQueue { interface, queue, threads, default });
        }
    }
}

/// One receive queue.
#[derive(Serialize)]
pub(super) struct Row {
    /// Thread index.
    pub thread: usize,
    /// Name of its thread.
    pub thread_name: String,
    node: String,
    interface: String,
    queue: usize,
    /// Mode: polling, interrupt or adaptive.
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

fn placement(router: &Router) -> Vec<Row> {
    let mut rows: Vec<_> = router.interfaces.iter().flat_map(|i| of(router, i.index)).collect();
    rows.order_by(|a, b| (a.thread, &a.node).cmp(&(b.thread, &b.node)));
    rows
}

fn write_placement(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut before: Option<&Row> = None;
    for row in rows {
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
