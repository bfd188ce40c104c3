//! The UDP nodes: `udp4-input` passes datagrams to sessions and listeners, `udp4-output` sends.

mod input;

use graph::BuildError;
use net::Router;
use net::ip::{V4, V6};

use super::stack::Stack;
use super::transport::{Input, Known, Output};
use super::version::HostVersion;

/// Outcome of a datagram; all UDP nodes have all counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Counted {
    /// No listener for dst port.
    NoListener,
    /// Packets with length errors.
    LengthError,
    /// Packets enqueued.
    #[severity("info")]
    Enqueued,
    /// Fifo full.
    FifoFull,
    /// Fifo no mem.
    FifoNomem,
    /// Connection not ready.
    NotReady,
    /// Accepted session.
    #[severity("info")]
    Accept,
    /// Failed to create session.
    CreateSession,
    /// Invalid connection.
    InvalidConnection,
    /// Packets sent.
    #[severity("info")]
    PktsSent,
    /// Wrong worker thread.
    WrongThread,
}

/// Names of the nodes that receive datagrams, by IP version.
pub const INPUT: [&str; 2] = ["udp4-input", "udp6-input"];

/// Adds the nodes.
pub fn add_nodes(router: &mut Router, stack: &Stack) -> Result<(), BuildError> {
    router.engine.add(input::Taken)?;
    add_for::<V4>(router, stack)?;
    add_for::<V6>(router, stack)
}

fn add_for<V: HostVersion>(router: &mut Router, stack: &Stack) -> Result<(), BuildError> {
    let engine = &mut router.engine;
    engine.add(Output::<input::Udp, V>::new(stack))?;
    engine.add(Known(Input::<input::Udp, V>::new(stack)))?;
    engine.add(Input::<input::Udp, V>::new(stack))?;
    Ok(())
}
