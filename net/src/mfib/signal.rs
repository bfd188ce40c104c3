//! Packets that control wants to hear of: one for each route and interface until it is read.

use super::forward::Rpf;
use super::kind::Multicast;
use super::routes::prefix;
use super::table::MKey;
use super::{ItfFlags, MPrefix};
use crate::fib::{Ip4, Ip6, TableIndex};
use crate::interface::InterfaceIndex;
use crate::router::Router;
use infra::order::Order;

/// Bytes of a packet that are kept.
pub const KEPT: usize = 256;
/// Most that wait on a thread.
const MOST: usize = 256;

/// A packet that control wants to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Matching route.
    pub prefix: MPrefix,
    /// The table of the route.
    pub table: TableIndex,
    /// Receive interface.
    pub interface: InterfaceIndex,
    /// Its first bytes, from the IP header on; at most [`KEPT`].
    pub bytes: Vec<u8>,
}

/// Signals on one thread that wait to be read.
pub(super) struct Signals(Vec<Noted>);

struct Noted {
    route: u32,
    rx: u32,
    /// Router time.
    at: f64,
    len: usize,
    bytes: [u8; KEPT],
}

impl Default for Signals {
    fn default() -> Self {
        Self(Vec::with_capacity(MOST))
    }
}

impl Clone for Signals {
    /// Empty, and with room of its own: every thread notes for itself.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Signals {
    /// Keeps a packet, unless one of its kind waits or there is no room.
    #[cold]
    pub fn note(&mut self, route: u32, rx: u32, at: f64, packet: &[u8]) {
        if self.0.len() == MOST || self.0.iter().any(|n| (n.route, n.rx) == (route, rx)) {
            return;
        }
        let len = packet.len().min(KEPT);
        let mut bytes = [0; KEPT];
        bytes[..len].copy_from_slice(&packet[..len]);
        self.0.push(Noted { route, rx, at, len, bytes });
    }
    fn take(&mut self) -> Vec<Noted> {
        self.0.drain(..).collect()
    }
}

impl Router {
    /// Takes the packets that control wants to hear of, the newest first, but of routes that are
    /// gone.
    pub fn take_signals(&mut self) -> Vec<Signal> {
        let mut all = self.signals_of::<Ip4>();
        all.extend(self.signals_of::<Ip6>());
        all.reverse(); // those of one frame have one time
        all.order_by(|a, b| b.0.total_cmp(&a.0));
        let mut newest: Vec<Signal> = Vec::new();
        for (_, signal) in all {
            let of = |s: &Signal| (s.table, s.prefix, s.interface);
            if !newest.iter().any(|s| of(s) == of(&signal)) {
                newest.push(signal);
            }
        }
        newest
    }
    /// Signals of all threads, with the router's time.
    fn signals_of<F: Multicast>(&mut self) -> Vec<(f64, Signal)> {
        let Some(node) = self.engine.index_of(F::NODES.rpf) else { return Vec::new() };
        let mut noted = Vec::new();
        for thread in self.engine.data_threads() {
            let take = |rpf: &mut Rpf<F>| rpf.signals.take();
            // A thread that does not answer has none.
            noted.extend(self.engine.with_node(thread, node, take).unwrap_or_default());
        }
        let of = |n: Noted| {
            let (table, key) = self.route_key::<F>(n.route)?;
            let (prefix, interface) = (prefix::<F>(key), InterfaceIndex(n.rx));
            let bytes = n.bytes[..n.len].to_vec();
            Some((n.at, Signal { prefix, table, interface, bytes }))
        };
        noted.into_iter().filter_map(of).collect()
    }
    fn route_key<F: Multicast>(&self, route: u32) -> Option<(TableIndex, MKey<F>)> {
        let table = self.mfib.routes.at(route)?.table;
        let t = F::mtables(&self.mfib).at(table)?;
        t.entries.iter().find(|(_, e)| e.route == route).map(|(key, _)| (table, *key))
    }
}

impl ItfFlags {
    /// Whether packets from there are signalled, on a route with or without `Signal`.
    #[inline(always)]
    pub fn signals(self, route: super::EntryFlags) -> bool {
        self.has(Self::NEGATE_SIGNAL) != route.has(super::EntryFlags::SIGNAL)
    }
}
