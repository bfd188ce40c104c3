//! Listeners, as control publishes them to the threads.

use std::collections::HashMap;
use std::net::IpAddr;

use super::endpoint::{Endpoint, Transport};

/// Listeners there may be.
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
    /// Where it listens.
    pub endpoint: Endpoint,
    /// The table of its addresses: index of the FIB.
    pub fib: u16,
    /// Whether sessions come from outside.
    pub is_global: bool,
    /// Whether sessions come from applications of the same namespace.
    pub is_local: bool,
    /// Whether datagrams of each peer are a session of their own.
    pub by_peer: bool,
    /// Received bytes that a session keeps.
    pub rx_limit: u32,
    /// Bytes to send that a session keeps.
    pub tx_limit: u32,
    /// Connections that are being set up at most, on each thread.
    pub backlog: u32,
}

/// Key of a listener: transport, table or namespace, whether of IPv6, port.
type Place = (Transport, u32, bool, u16);

/// All listeners.
#[derive(Clone, Debug, Default)]
pub struct Listeners {
    all: HashMap<u32, Listener>,
    global: HashMap<Place, Vec<Listener>>,
    local: HashMap<Place, Vec<Listener>>,
}

fn place(listener: &Listener, scope: u32) -> Place {
    let Endpoint { transport, address, port } = listener.endpoint;
    (transport, scope, address.is_ipv6(), port)
}

fn find(table: &HashMap<Place, Vec<Listener>>, place: Place, own: IpAddr) -> Option<&Listener> {
    let here = table.get(&place)?;
    let is = |listener: &&Listener| listener.endpoint.address == own;
    let any = |listener: &&Listener| listener.endpoint.address.is_unspecified();
    here.iter().find(is).or_else(|| here.iter().find(any))
}

impl Listeners {
    /// Number of listeners.
    pub fn count(&self) -> usize {
        self.all.len()
    }
    /// All, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Listener> {
        self.all.values()
    }
    /// The listener with a number.
    pub fn at(&self, index: u32) -> Option<&Listener> {
        self.all.get(&index)
    }
    /// A listener of the same place, which keeps a new one from being added.
    pub fn rival(&self, new: &Listener) -> Option<&Listener> {
        let same = |table: &'_ HashMap<Place, Vec<Listener>>, scope| {
            let here = table.get(&place(new, scope)).into_iter().flatten();
            let mut rivals = here.filter(|l| l.endpoint.address == new.endpoint.address);
            rivals.next().map(|rival| rival.index)
        };
        let global = new.is_global.then(|| same(&self.global, new.fib.into())).flatten();
        let local = || new.is_local.then(|| same(&self.local, new.namespace)).flatten();
        global.or_else(local).and_then(|index| self.at(index))
    }
    /// Adds one without rivals.
    pub fn add(&mut self, new: Listener) {
        if new.is_global {
            self.global.entry(place(&new, new.fib.into())).or_default().push(new);
        }
        if new.is_local {
            self.local.entry(place(&new, new.namespace)).or_default().push(new);
        }
        self.all.insert(new.index, new);
    }
    /// Takes one out.
    pub fn remove(&mut self, index: u32) -> Option<Listener> {
        let gone = self.all.remove(&index)?;
        for (table, scope) in
            [(&mut self.global, gone.fib.into()), (&mut self.local, gone.namespace)]
        {
            let at = place(&gone, scope);
            if let Some(here) = table.get_mut(&at) {
                here.retain(|listener| listener.index != index);
                if here.is_empty() {
                    table.remove(&at);
                }
            }
        }
        Some(gone)
    }
    /// The listener for what comes from outside to an address and port in a table: of exactly this
    /// address, else of any, else one that takes all ports.
    pub fn find(&self, of: Transport, fib: u16, own: IpAddr, port: u16) -> Option<&Listener> {
        let at = |port| find(&self.global, (of, fib.into(), own.is_ipv6(), port), own);
        at(port).or_else(|| at(0))
    }
    /// A listener of an application, for what a rule sends there.
    pub fn of_app(&self, of: Transport, app: u32) -> Option<&Listener> {
        let mut all = self.all.values();
        all.find(|listener| listener.app == app && listener.endpoint.transport == of)
    }
    /// The listener for what comes from an application of a namespace.
    pub fn find_local(&self, to: &Endpoint, namespace: u32) -> Option<&Listener> {
        let place = (to.transport, namespace, to.address.is_ipv6(), to.port);
        find(&self.local, place, to.address)
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
    fn only_one_listens_at_a_place() {
        let mut all = Listeners::default();
        all.add(listener(0, "tcp://10.0.0.1:80"));
        assert_eq!(all.rival(&listener(1, "tcp://10.0.0.1:80")).map(|l| l.index), Some(0));
        assert_eq!(all.rival(&listener(1, "tcp://0.0.0.0:80")), None);
        let elsewhere = Listener { fib: 8, namespace: 4, ..listener(1, "tcp://10.0.0.1:80") };
        assert_eq!(all.rival(&elsewhere), None);
        let local_only = Listener { is_global: false, fib: 8, ..listener(1, "tcp://10.0.0.1:80") };
        assert_eq!(all.rival(&local_only).map(|l| l.index), Some(0));
        assert_eq!(all.remove(0).map(|l| l.index), Some(0));
        assert_eq!((all.remove(0), all.count()), (None, 0));
        assert_eq!(all.rival(&listener(1, "tcp://10.0.0.1:80")), None);
    }
}
