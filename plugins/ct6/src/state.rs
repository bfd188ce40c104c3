//! Connections that are remembered.

use net::prelude::*;
use sessions::slices::Slices;
use sessions::tcp::State;
use sessions::{
    Affinity, Class, Counted, Direction, Flow6, Kind, New, Seen, SessionIndex, Sessions, Table,
    Usage, Walked,
};
use zerocopy::FromZeros;

/// Connections at most, on each thread.
const LIMIT: usize = 1 << 20;

/// Class of everything but TCP and echoes.
const OTHER: u8 = 0;
const ESTABLISHED: u8 = 1;
const TRANSITORY: u8 = 2;
const ECHO: u8 = 3;

/// Timeouts of the classes: RFC 4787 for UDP, RFC 5382 for TCP, RFC 4890 for echoes.
pub fn classes() -> [Class; 4] {
    [300.0, 7440.0, 240.0, 60.0].map(|timeout| Class {
        timeout,
        may_be_evicted: true,
        goes_first: false,
    })
}

/// Properties of a connection besides its flow.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
#[repr(C)]
pub struct Data {
    /// State of TCP.
    pub tcp: State,
    padding: [u8; 7],
}

/// All connections.
pub type All = Sessions<Flow6, Flow6, Data>;
/// The connections of a thread.
pub type Here = Table<Flow6, Flow6, Data>;
/// A connection.
pub type Connection = Counted<Flow6, Flow6, Data>;

/// Control's end of the connections.
pub struct Tracker(pub All);

/// Empty tables.
///
/// # Errors
/// The kernel's, when it refuses the address space.
pub fn new(router: &Router) -> io::Result<All> {
    Sessions::new(router, LIMIT, &classes())
}

/// A new connection that a packet begins.
#[inline(always)]
pub fn begun(flow: Flow6) -> New<Flow6, Flow6, Data> {
    let class = match flow.protocol() {
        Protocol::TCP => TRANSITORY,
        Protocol::ICMP6 => ECHO,
        _ => OTHER,
    };
    New { forward: flow, reverse: flow.reversed(), data: Data::default(), class }
}

/// The connection of a packet and its direction, unless it is over.
#[inline(always)]
pub fn find(table: &mut Here, flow: &Flow6, now: f64) -> Option<(SessionIndex, Direction)> {
    let (at, direction) = table.find_any(flow)?;
    if table.is_over(at, now) {
        table.remove(at);
        return None;
    }
    Some((at, direction))
}

/// Notes a packet of a connection. An error does not keep alive what it is about.
#[inline(always)]
pub fn pass(
    table: &mut Here,
    (at, direction): (SessionIndex, Direction),
    seen: &Seen<[u8; 16]>,
    bytes: usize,
    now: f64,
) {
    if let Kind::Tcp(flags) = seen.kind
        && let Some(data) = table.data_mut(at)
    {
        data.tcp = data.tcp.after(flags, direction);
        let class = if data.tcp.is_established() { ESTABLISHED } else { TRANSITORY };
        table.set_class(at, class);
    }
    if !matches!(seen.kind, Kind::Error(_)) {
        table.passed(at, bytes, now);
    }
}

/// Usage of the tables of all threads.
pub fn usage(router: &mut Router) -> Vec<Usage> {
    let all = router.own::<Tracker>().0.clone();
    all.usage(router).unwrap_or_default()
}

/// All connections, each with its thread, in slices.
pub fn slices(router: &Router) -> Slices<(usize, Connection)> {
    let look = |thread: usize, one: &mut Connection| Walked::keep(Some((thread, *one)));
    router.own::<Tracker>().0.slices(look)
}

/// Ends what is over; whether there may be more.
pub fn expire(router: &mut Router) -> bool {
    let all = router.own::<Tracker>().0.clone();
    all.expire(router, |_, _, _| ())
}

/// Other threads: connections go over to the one that has their packets from now on.
pub fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let all = router.own::<Tracker>().0.clone();
    let seed = all.seed();
    let way = move |connection: &Connection| [Affinity::of(connection.forward.meeting(seed))];
    all.rehome(router, stay, way, |_, _, _| ()).map_err(|e| e.to_string())?;
    Ok(())
}
