//! Receive queues: which thread and node serve them, and when they are looked at.

use std::fmt;
use std::str::FromStr;

use control::cli::{Cli, Command, Error, Output, Word};
use graph::{InputState, NodeIndex};
use serde::Serialize;

use super::InterfaceIndex;
use crate::router::Router;

/// A receive queue of an interface; its number is its place in the interface's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxQueue {
    /// Position of its thread among the data-plane threads.
    pub thread: usize,
    /// The input node that reads it.
    pub node: NodeIndex,
}

/// Show which threads serve which receive queues.
#[derive(Command)]
#[command("show interface rx-placement")]
struct ShowPlacement;

/// Set when the receive queues of an interface are looked at (with all others of their node and
/// thread).
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

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, _: ShowPlacement| Ok(Output::of(placement(router)?)));
    cli.command(|router, set: SetMode| {
        let interface = router.interfaces.named(&set.interface);
        let interface = interface.ok_or_else(|| set.interface.unknown("interface"))?;
        let queues = interface.queues.iter().enumerate();
        let chosen = queues.filter(|(number, _)| set.queue.is_none_or(|q| q == *number));
        let chosen: Vec<_> = chosen.map(|(_, queue)| *queue).collect();
        if chosen.is_empty() {
            return Err(Error::new("the interface has no such receive queue"));
        }
        for RxQueue { thread, node } in chosen {
            router.engine.set_input_state(thread, node, set.mode.0);
        }
        Ok(())
    });
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
///
/// # Errors
/// A thread that does not answer.
pub(super) fn of(router: &mut Router, index: InterfaceIndex) -> Result<Vec<Row>, Error> {
    let Some(i) = router.interfaces.at(index) else { return Ok(Vec::new()) };
    let (name, queues) = (i.name.clone(), i.queues.clone());
    let infos = router.engine.thread_infos();
    let mut rows = Vec::new();
    for (queue, RxQueue { thread, node }) in queues.into_iter().enumerate() {
        let state = router.engine.input_state(thread, node);
        let mode = match state.map_err(|e| Error::new(e.to_string()))? {
            Some(InputState::Polling) => "polling",
            Some(InputState::Interrupt) => "interrupt",
            Some(InputState::Adaptive) => "adaptive",
            Some(InputState::Disabled) | None => "disabled",
        };
        let info = infos.get(thread);
        rows.push(Row {
            thread: info.map_or(thread, |info| info.id),
            thread_name: info.map_or_else(|| "vpp_main".to_owned(), |info| info.name.clone()),
            node: router.engine.name_of(node).to_owned(),
            interface: name.clone(),
            queue,
            mode,
        });
    }
    Ok(rows)
}

fn placement(router: &mut Router) -> Result<Placement, Error> {
    let all: Vec<_> = router.interfaces.iter().map(|i| i.index).collect();
    let mut rows = Vec::new();
    for index in all {
        rows.extend(of(router, index)?);
    }
    rows.sort_by(|a, b| (a.thread, &a.node).cmp(&(b.thread, &b.node)));
    Ok(Placement(rows))
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
