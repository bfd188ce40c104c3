//! Sessions and statistics for display.

use std::net::SocketAddr;

use graph::NoAnswer;
use infra::order::Order;
use net::Router;
use serde::Serialize;
use tcp_machine::{Counters, State};

use super::endpoint::Transport;
use super::layer::Layer;
use super::listeners::Listener;
use super::session::{Inner, Life, Session, SessionId};
use super::worker::{Refusals, Worker};

/// Limit of sessions shown per thread.
const MOST: usize = 1 << 16;

/// A session.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// Its name.
    pub id: SessionId,
    /// Transport.
    pub transport: Transport,
    /// The local endpoint.
    pub local: SocketAddr,
    /// The peer.
    pub peer: SocketAddr,
    /// State of the transport, for TCP with the names of RFC 9293.
    pub state: String,
    /// State as seen by the application.
    pub life: Life,
    /// Number of bytes in the receive FIFO.
    pub rx: usize,
    /// Number of bytes in the transmit FIFO.
    pub tx: usize,
    /// FIB index of its addresses.
    pub fib: u16,
    /// Number of the application.
    pub app: u32,
    /// Lines of the transport, for `verbose 2`.
    pub details: Vec<String>,
}

/// Statistics of a thread.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Thread.
    pub thread: usize,
    /// Sessions.
    pub sessions: usize,
    /// Number of active timers.
    pub timers: usize,
    /// Counters of TCP.
    pub tcp: Counters,
    /// Counts of refused requests.
    pub refusals: Refusals,
    /// Number of FIFO chunks in use, and their limit.
    pub chunks: (usize, usize),
    /// Largest number of tries for a port.
    pub port_tries: u32,
}

fn transport(session: &Session) -> Transport {
    match session.inner {
        Inner::Udp => Transport::Udp,
        Inner::Cut(_) => Transport::Ct,
        _ => Transport::Tcp,
    }
}

fn state(session: &Session) -> String {
    match &session.inner {
        Inner::Tcp(connection) => connection.state().to_string(),
        Inner::Half(_) => State::SynRcvd.to_string(),
        Inner::Wait(_) => State::TimeWait.to_string(),
        Inner::Udp if session.life == Life::Listening => "LISTEN".to_owned(),
        Inner::Udp => "OPENED".to_owned(),
        Inner::Over => State::Closed.to_string(),
        Inner::Cut(_) | Inner::Free => session.life.to_string(),
    }
}

fn show(worker: &Worker, index: u32, verbose: bool) -> Shown {
    let session = &worker.sessions[index as usize];
    let details = match &session.inner {
        Inner::Tcp(connection) if verbose => vec![format!("{connection:?}")],
        _ => Vec::new(),
    };
    Shown {
        id: worker.id_of(index),
        transport: transport(session),
        local: session.key.local(),
        peer: session.key.peer(),
        state: state(session),
        life: session.life,
        rx: session.rx.len(),
        tx: session.tx.len(),
        fib: session.key.fib(),
        app: session.app,
        details,
    }
}

/// Sessions of all threads, by thread.
///
/// # Errors
/// When a thread does not answer.
pub fn sessions(router: &mut Router, verbose: bool) -> Result<Vec<(usize, Vec<Shown>)>, NoAnswer> {
    let stack = router.own::<Layer>().stack.clone();
    stack.ask(&mut router.engine, move |worker| {
        let is_used = |at: &u32| !matches!(worker.sessions[*at as usize].inner, Inner::Free);
        let all = (0..worker.sessions.len() as u32).filter(is_used).take(MOST);
        all.map(|at| show(worker, at, verbose)).collect()
    })
}

/// Statistics by thread.
///
/// # Errors
/// When a thread does not answer.
pub fn totals(router: &mut Router) -> Result<Vec<Totals>, NoAnswer> {
    let stack = router.own::<Layer>().stack.clone();
    let all = stack.ask(&mut router.engine, |worker| Totals {
        thread: worker.thread,
        sessions: worker.count(),
        timers: worker.timers(),
        tcp: worker.machine.counters,
        refusals: worker.refusals,
        chunks: (worker.chunks.used(), worker.chunks.limit()),
        port_tries: worker.ports.most_tries(),
    })?;
    Ok(all.into_iter().map(|(_, totals)| totals).collect())
}

/// Clears the TCP counters.
///
/// # Errors
/// When a thread does not answer.
pub fn clear(router: &mut Router) -> Result<(), NoAnswer> {
    let stack = router.own::<Layer>().stack.clone();
    stack.visit(&mut router.engine, |worker| {
        worker.machine.counters = Counters::default();
        worker.refusals = Refusals::default();
    })
}

/// Listeners by number.
pub fn listeners(router: &Router) -> Vec<Listener> {
    let mut all: Vec<_> = router.own::<Layer>().listeners.current().iter().copied().collect();
    all.order_by_key(|listener| listener.index);
    all
}

/// Resets a session of a thread, or all of them; returns their number.
///
/// # Errors
/// When a thread does not answer.
pub fn reset(router: &mut Router, thread: usize, index: Option<u32>) -> Result<usize, NoAnswer> {
    let stack = router.own::<Layer>().stack.clone();
    let counts = stack.ask(&mut router.engine, move |worker| {
        let mut count = 0;
        for at in 0..worker.sessions.len() as u32 {
            let is_meant = worker.thread == thread && index.is_none_or(|index| index == at);
            if is_meant && worker.withdraw_at(at) {
                count += 1;
            }
        }
        count
    })?;
    Ok(counts.into_iter().map(|(_, count): (_, usize)| count).sum())
}
