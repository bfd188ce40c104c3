//! Listeners, published to the threads by the control thread.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::endpoint::{Endpoint, Transport};
use super::version::unspecified;

/// Limit of listeners.
pub const MOST: usize = 1 << 16;

/// A listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its number.
    pub index: u32,
    /// Number of the application.
    pub app: u32,
    /// The application's namespace.
    pub namespace: u32,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// FIB index of its addresses.
    pub fib: u16,
    /// Whether it accepts sessions from hosts.
    pub is_global: bool,
    /// Whether it accepts sessions from applications of the same namespace.
    pub is_local: bool,
    /// Whether each peer that sends datagrams has its own session.
    pub by_peer: bool,
    /// Size of a session's receive FIFO in bytes.
    pub rx_limit: u32,
    /// Size of a session's transmit FIFO in bytes.
    pub tx_limit: u32,
    /// Limit of half-open connections, on each thread.
    pub backlog: u32,
    /// Peers that have a session of datagrams at most, on each thread.
    pub peers: u32,
}

/// Place of a listener: transport, table or namespace, address, port.
type Place = (Transport, u32, IpAddr, u16);

/// Parts that a table is in: a change copies one of them.
const SHARDS: usize = 256;

/// A table in parts. A clone shares them, and the first change of one copies it.
#[derive(Clone, Debug)]
struct Sharded<K, V>(Vec<Arc<HashMap<K, V>>>);

impl<K: Clone + Eq + Hash, V: Clone> Sharded<K, V> {
    fn new() -> Self {
        Self(vec![Arc::default(); SHARDS])
    }
    fn shard(key: &K) -> usize {
        // Without a secret: within parts there is one.
        let mut hash = DefaultHasher::new();
        key.hash(&mut hash);
        hash.finish() as usize % SHARDS
    }
    fn get(&self, key: &K) -> Option<&V> {
        self.0[Self::shard(key)].get(key)
    }
    fn insert(&mut self, key: K, value: V) {
        Arc::make_mut(&mut self.0[Self::shard(&key)]).insert(key, value);
    }
    fn remove(&mut self, key: &K) -> Option<V> {
        let shard = &mut self.0[Self::shard(key)];
        // One without it is not copied.
        shard.contains_key(key).then(|| Arc::make_mut(shard).remove(key)).flatten()
    }
    fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().flat_map(|shard| shard.values())
    }
}

/// All listeners. To clone them takes little, and so does a change.
#[derive(Clone, Debug)]
pub struct Listeners {
    count: usize,
    all: Sharded<u32, Listener>,
    global: Sharded<Place, u32>,
    local: Sharded<Place, u32>,
    /// The first listener of an application for a transport.
    first: Arc<BTreeMap<(u32, Transport), u32>>,
}

impl Default for Listeners {
    fn default() -> Self {
        let (all, first) = (Sharded::new(), Arc::default());
        Self { count: 0, all, global: Sharded::new(), local: Sharded::new(), first }
    }
}

fn place(of: &Endpoint, scope: u32) -> Place {
    (of.transport, scope, of.address, of.port)
}

impl Listeners {
    /// Number of listeners.
    pub fn count(&self) -> usize {
        self.count
    }
    /// All listeners, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Listener> {
        self.all.values()
    }
    /// The listener with the given number.
    pub fn at(&self, index: u32) -> Option<&Listener> {
        self.all.get(&index)
    }
    /// An existing listener that conflicts with a new one.
    pub fn rival(&self, new: &Listener) -> Option<&Listener> {
        let global = self.global.get(&place(&new.endpoint, new.fib.into()));
        let local = self.local.get(&place(&new.endpoint, new.namespace));
        let global = global.filter(|_| new.is_global);
        global.or(local.filter(|_| new.is_local)).and_then(|index| self.at(*index))
    }
    /// Adds a listener that has no conflict.
    pub fn add(&mut self, new: Listener) {
        if new.is_global {
            self.global.insert(place(&new.endpoint, new.fib.into()), new.index);
        }
        if new.is_local {
            self.local.insert(place(&new.endpoint, new.namespace), new.index);
        }
        let of = (new.app, new.endpoint.transport);
        if !self.first.contains_key(&of) {
            Arc::make_mut(&mut self.first).insert(of, new.index);
        }
        self.all.insert(new.index, new);
        self.count += 1;
    }
    /// Takes one out. `next` is the next one of its application for the same transport.
    pub fn remove(&mut self, index: u32, next: Option<u32>) -> Option<Listener> {
        let gone = self.all.remove(&index)?;
        self.count -= 1;
        if gone.is_global {
            self.global.remove(&place(&gone.endpoint, gone.fib.into()));
        }
        if gone.is_local {
            self.local.remove(&place(&gone.endpoint, gone.namespace));
        }
        let of = (gone.app, gone.endpoint.transport);
        if self.first.get(&of) == Some(&index) {
            let first = Arc::make_mut(&mut self.first);
            match next {
                Some(next) => first.insert(of, next),
                None => first.remove(&of),
            };
        }
        Some(gone)
    }
    /// The listener for incoming packets to an address and port in a table: one for this address,
    /// else for any address, else for all ports.
    pub fn find(&self, of: Transport, fib: u16, own: IpAddr, port: u16) -> Option<&Listener> {
        let at = |address, port| self.global.get(&(of, fib.into(), address, port));
        let here = |port| at(own, port).or_else(|| at(unspecified(own), port));
        here(port).or_else(|| here(0)).and_then(|index| self.at(*index))
    }
    /// Whether a listener has this port, at the address or at any.
    pub fn has(&self, of: Transport, fib: u16, own: SocketAddr) -> bool {
        let has = |address| self.global.get(&(of, fib.into(), address, own.port())).is_some();
        has(own.ip()) || has(unspecified(own.ip()))
    }
    /// A listener of an application, for redirected connections.
    pub fn of_app(&self, of: Transport, app: u32) -> Option<&Listener> {
        self.at(*self.first.get(&(app, of))?)
    }
    /// The listener for sessions from an application of the same namespace.
    pub fn find_local(&self, to: &Endpoint, namespace: u32) -> Option<&Listener> {
        let exact = self.local.get(&place(to, namespace));
        let any = Endpoint { address: unspecified(to.address), ..*to };
        let found = exact.or_else(|| self.local.get(&place(&any, namespace)));
        found.and_then(|index| self.at(*index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(index: u32, uri: &str) -> Listener {
        Listener {
            index,
            app: 0,
            namespace: 3,
            endpoint: uri.parse().unwrap(),
            fib: 7,
            is_global: true,
            is_local: true,
            by_peer: true,
            rx_limit: 1,
            tx_limit: 1,
            backlog: 1,
            peers: 1,
        }
    }

    #[test]
    fn an_exact_address_wins_then_any_then_one_that_takes_all_ports() {
        let mut all = Listeners::default();
        let uris = ["tcp://0.0.0.0:80", "tcp://10.0.0.1:80", "tcp://0.0.0.0:0", "udp://[::]:80"];
        for (index, uri) in (0..).zip(uris) {
            all.add(listener(index, uri));
        }
        let find = |of, own: &str, port, fib| {
            all.find(of, fib, own.parse().unwrap(), port).map(|found| found.index)
        };
        assert_eq!(find(Transport::Tcp, "10.0.0.1", 80, 7), Some(1));
        assert_eq!(find(Transport::Tcp, "10.0.0.2", 80, 7), Some(0));
        assert_eq!(find(Transport::Tcp, "10.0.0.1", 81, 7), Some(2));
        assert_eq!(find(Transport::Tcp, "10.0.0.1", 80, 8), None);
        assert_eq!(find(Transport::Tcp, "2001:db8::1", 80, 7), None);
        assert_eq!(find(Transport::Udp, "2001:db8::1", 80, 7), Some(3));
        assert_eq!(find(Transport::Udp, "10.0.0.1", 80, 7), None);
        let to: Endpoint = "tcp://10.0.0.1:80".parse().unwrap();
        assert_eq!(all.find_local(&to, 3).map(|found| found.index), Some(1));
        assert_eq!(all.find_local(&to, 4), None);
    }

    #[test]
    fn a_change_copies_little_and_an_application_has_a_first_one() {
        let mut all = Listeners::default();
        for index in 0..10_000u32 {
            let uri = format!("tcp://10.0.{}.{}:80", index >> 8, index & 255);
            all.add(listener(index, &uri));
        }
        let before = all.clone();
        all.remove(7, Some(8));
        let kept = |a: &Sharded<Place, u32>, b: &Sharded<Place, u32>| {
            a.0.iter().zip(&b.0).filter(|(a, b)| Arc::ptr_eq(a, b)).count()
        };
        assert_eq!(kept(&all.global, &before.global), SHARDS - 1);
        assert_eq!(kept(&all.local, &before.local), SHARDS - 1);
        assert!(before.global.0.iter().all(|shard| shard.len() < 200), "none of them has most");
        assert_eq!(all.of_app(Transport::Tcp, 0).map(|l| l.index), Some(0));
        all.remove(0, Some(1));
        assert_eq!(all.of_app(Transport::Tcp, 0).map(|l| l.index), Some(1));
        assert_eq!((all.of_app(Transport::Udp, 0), all.of_app(Transport::Tcp, 1)), (None, None));
        assert_eq!((all.count(), before.count()), (9998, 10_000));
    }

    #[test]
    fn only_one_listens_at_a_place() {
        let mut all = Listeners::default();
        all.add(listener(0, "tcp://10.0.0.1:80"));
        assert_eq!(all.rival(&listener(1, "tcp://10.0.0.1:80")).map(|l| l.index), Some(0));
        assert_eq!(all.rival(&listener(1, "tcp://0.0.0.0:80")), None);
        let elsewhere = Listener { fib: 8, namespace: 4, ..listener(1, "tcp://10.0.0.1:80") };
        assert_eq!(all.rival(&elsewhere), None);
        let local_only = Listener { is_global: false, fib: 8, ..listener(1, "tcp://10.0.0.1:80") };
        assert_eq!(all.rival(&local_only).map(|l| l.index), Some(0));
        assert_eq!(all.remove(0, None).map(|l| l.index), Some(0));
        assert_eq!((all.remove(0, None), all.count()), (None, 0));
        assert_eq!(all.rival(&listener(1, "tcp://10.0.0.1:80")), None);
    }
}
