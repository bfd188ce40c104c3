//! Sessions, clients and the interface of the control plane, as control keeps them.

use std::collections::VecDeque;

use infra::table::exact::{Change as Entry, Exact, ExactReader};
use net::fib::{Path, Source};
use net::interface::{Kind, NewInterface, Offloads};
use net::prelude::*;

use super::Error;
use super::control::Learned;
use super::output::{Encapsulation, Output};

/// Hardware class of sessions.
const HARDWARE: &str = "PPPoE";
/// Bytes that fit into an Ethernet frame beside the headers (RFC 2516 section 7).
const MTU: u32 = 1492;
/// Clients that are known at most, and on one interface while another has some, too.
const CLIENTS: usize = 1 << 17;
const SHARE: usize = CLIENTS / 2;
/// Clients that are looked at for one that can give way.
const MOST_LOOKS: usize = 64;

/// Parameters of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct New {
    /// Session ID.
    pub id: u16,
    /// Client MAC address.
    pub mac: MacAddr,
    /// Client IP address.
    pub ip: IpAddr,
    /// Table to look up packets from the client in.
    pub table_id: u32,
}

/// A session.
pub struct Session {
    /// Parameters it was made from.
    pub new: New,
    /// Number in the name of its interface.
    pub instance: u32,
    /// Interface that the client is behind.
    pub over: InterfaceIndex,
    /// Local MAC address.
    pub local_mac: MacAddr,
    pub(super) table: TableIndex,
    sends: Shared<Encapsulation>,
}

/// All that control keeps.
pub struct Sessions {
    /// By interface.
    pub sessions: BTreeMap<InterfaceIndex, Session>,
    by_number: BTreeMap<(MacAddr, u16), InterfaceIndex>,
    /// Interfaces that clients are behind, as learned.
    pub clients: BTreeMap<MacAddr, InterfaceIndex>,
    /// Clients by interface, in the order in which they came; some may have moved or have sessions.
    queues: BTreeMap<InterfaceIndex, VecDeque<MacAddr>>,
    /// The interface of the control plane.
    pub control: Option<InterfaceIndex>,
    /// Interface of the control plane, for nodes.
    seen_control: Shared<u32>,
    table: Exact,
}

/// State for nodes.
#[derive(Clone)]
pub struct SessionsReader {
    /// The interface of the control plane; 0 for none.
    pub control: Reader<u32>,
    /// By [`key`]: the interface of a client in the upper half, and the one of the session in the
    /// lower; of session 0, only that of the client.
    pub table: ExactReader,
}

/// A session of a client as a number; that of session 0 is the client.
#[inline(always)]
pub fn key(MacAddr([a, b, c, d, e, f]): MacAddr, session: u16) -> u64 {
    u64::from_be_bytes([a, b, c, d, e, f, 0, 0]) | u64::from(session)
}

impl Sessions {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            sessions: BTreeMap::new(),
            by_number: BTreeMap::new(),
            clients: BTreeMap::new(),
            queues: BTreeMap::new(),
            control: None,
            seen_control: Shared::new(0),
            table: Exact::new(1024)?,
        })
    }
    pub(super) fn reader(&self) -> SessionsReader {
        SessionsReader { control: self.seen_control.reader(), table: self.table.reader() }
    }
    fn set(&mut self, key: u64, value: u64) -> Result<(), Error> {
        let entry = if value == 0 { Entry::Remove } else { Entry::Set(value) };
        let is_none = |now| value == 0 && now == 0;
        self.table
            .change(key, |now| if is_none(now) { Entry::Nothing } else { entry })
            .map_err(|_| Error::Full)
    }
}

impl Sessions {
    fn has_session(&self, mac: MacAddr) -> bool {
        let (first, last) = ((mac, 0), (mac, u16::MAX));
        self.by_number.range(first..=last).next().is_some()
    }
    /// Makes room for one more client on an interface: the oldest without a session gives way, of
    /// the interface that has most.
    fn make_room(&mut self, interface: InterfaceIndex) -> bool {
        let own = self.queues.get(&interface).map_or(0, VecDeque::len);
        let most = self.queues.iter().max_by_key(|(_, queue)| queue.len()).map(|(on, _)| *on);
        let is_alone = self.queues.len() <= 1;
        let from = match most {
            _ if own >= SHARE && !is_alone => interface,
            Some(most) if self.queued() >= CLIENTS => most,
            _ => return true,
        };
        // Those that have sessions go to the end of the queue.
        for _ in 0..MOST_LOOKS {
            let Some(mac) = self.queues.get_mut(&from).and_then(VecDeque::pop_front) else { break };
            if self.clients.get(&mac) != Some(&from) {
                return true;
            }
            if !self.has_session(mac) {
                self.clients.remove(&mac);
                return self.set(key(mac, 0), 0).is_ok();
            }
            self.queues.entry(from).or_default().push_back(mac);
        }
        false
    }
    fn queued(&self) -> usize {
        self.queues.values().map(VecDeque::len).sum()
    }
}

/// Sets or removes the control-plane interface.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_control(router: &mut Router, at: InterfaceIndex, is_on: bool) -> Result<(), Error> {
    let i = router.interfaces.at(at).ok_or(Error::NoInterface)?;
    if i.kind != Kind::Ethernet {
        return Err(Error::Unfit);
    }
    let all = router.own_mut::<Sessions>();
    let before = all.control;
    match before {
        Some(other) if other != at && !is_on => return Err(Error::HasControl),
        None if !is_on => return Err(Error::Unknown),
        _ => (),
    }
    all.control = is_on.then_some(at);
    all.seen_control.publish(if is_on { at.0 } else { 0 });
    if let Some(before) = before.filter(|before| *before != at) {
        router.interfaces.change_port(before, |port| port.takes_all = false);
    }
    // What comes from there is for clients, not for the router.
    router.interfaces.change_port(at, |port| port.takes_all = is_on);
    Ok(())
}

/// A single address.
fn host(ip: IpAddr) -> Prefix {
    match ip {
        IpAddr::V4(ip) => Prefix::Ip4(Ip4Prefix::host(ip)),
        IpAddr::V6(ip) => Prefix::Ip6(Ip6Prefix::host(ip)),
    }
}

/// Makes a session, up.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn add(router: &mut Router, new: New) -> Result<InterfaceIndex, Error> {
    let New { id, mac, ip, table_id } = new;
    if !(1..u16::MAX).contains(&id) {
        return Err(Error::Number);
    }
    if mac.is_multicast() || mac == MacAddr::ZERO || ip.is_multicast() || ip.is_unspecified() {
        return Err(Error::Address);
    }
    let link = Link::of(ip);
    let all = router.own::<Sessions>();
    if all.by_number.contains_key(&(mac, id)) {
        return Err(Error::Exists);
    }
    let over = *all.clients.get(&mac).ok_or(Error::NoClient)?;
    // Of the other version the table may be missing, as in the original.
    let table = |of| match router.fib.table_for(of, table_id) {
        None if of != link => Some(TableIndex(0)),
        found => found,
    };
    let both = [Link::Ip4, Link::Ip6].map(table);
    let [Some(table4), Some(table6)] = both else { return Err(Error::NoTable(table_id)) };
    let instances: std::collections::BTreeSet<_> =
        all.sessions.values().map(|session| session.instance).collect();
    let instance = (0..).find(|n| !instances.contains(n)).expect("fewer sessions than numbers");
    let local_mac = router.interfaces.at(over).ok_or(Error::NoClient)?.mac;
    let interface = NewInterface {
        name: format!("pppoe_session{instance}"),
        kind: Kind::Ip,
        hardware: HARDWARE,
        mac: MacAddr::ZERO,
        mtu: MTU,
        offloads: Offloads::default(),
        link_follows_admin: true,
    };
    let nowhere = Encapsulation { dst: mac, src: local_mac, session: id, to: (0, Slot(0)) };
    let sends = Shared::new(nowhere);
    let output = Output { sends: sends.reader() };
    let made = router.add_interface(interface, output).map_err(Error::Interface)?;
    let table = if link == Link::Ip4 { table4 } else { table6 };
    let session = Session { new, instance, over, local_mac, table, sends };
    let all = router.own_mut::<Sessions>();
    all.sessions.insert(made, session);
    all.by_number.insert((mac, id), made);
    lead(router, made);
    if complete(router, made, (table4, table6)).is_err() {
        router.remove_interface(made);
        return Err(Error::Full);
    }
    Ok(made)
}

/// Gives a session its tables, its route and its entry, and switches it on.
fn complete(
    router: &mut Router,
    made: InterfaceIndex,
    (table4, table6): (TableIndex, TableIndex),
) -> Result<(), Error> {
    router.set_interface_table4(made, table4).map_err(|_| Error::Full)?;
    router.set_interface_table6(made, table6).map_err(|_| Error::Full)?;
    router.set_admin(made, true);
    router.start_with_ip(made);
    let session = &router.own::<Sessions>().sessions[&made];
    let (table, prefix, New { mac, id, .. }) = (session.table, host(session.new.ip), session.new);
    let value = u64::from(session.over.0) << 32 | u64::from(made.0);
    let own = Link::of(session.new.ip).unspecified();
    let path = Path::to(Target::Attached { interface: made, own });
    router.add_route(table, prefix, Source::INTERFACE, &[path]).map_err(|_| Error::Full)?;
    router.own_mut::<Sessions>().set(key(mac, id), value)
}

/// Makes a session send to its client's interface.
fn lead(router: &mut Router, session: InterfaceIndex) {
    let Some(of) = router.own::<Sessions>().sessions.get(&session) else { return };
    let (over, tx) = (of.over, router.interfaces.at(session).map(|i| i.tx));
    let Some(i) = router.interfaces.at(over) else { return };
    let (mac, output) = (i.mac, i.output);
    let Some(tx) = tx else { return };
    let names = [tx, output].map(|node| router.engine.name_of(node).to_owned());
    let Ok(slot) = router.engine.connect(&names[0], &names[1]) else { return };
    let Some(of) = router.own_mut::<Sessions>().sessions.get_mut(&session) else { return };
    of.local_mac = mac;
    let sends = Encapsulation { src: mac, to: (over.0, slot), ..of.sends.current().clone() };
    of.sends.publish(sends);
}

/// Ends a session.
///
/// # Errors
/// [`Error::Unknown`].
pub fn remove(router: &mut Router, id: u16, mac: MacAddr) -> Result<InterfaceIndex, Error> {
    let found = router.own::<Sessions>().by_number.get(&(mac, id)).copied();
    let interface = found.ok_or(Error::Unknown)?;
    router.remove_interface(interface);
    Ok(interface)
}

/// Notes where a client is.
pub fn learn(router: &mut Router, Learned { mac, interface }: Learned) {
    if router.interfaces.at(interface).is_none() {
        return;
    }
    let all = router.own_mut::<Sessions>();
    let known = all.clients.get(&mac).copied();
    // Another host may use the address of a client with a session.
    if known == Some(interface) || known.is_some() && all.has_session(mac) {
        return;
    }
    if !all.make_room(interface) {
        return;
    }
    if all.set(key(mac, 0), interface.0.into()).is_ok() {
        all.clients.insert(mac, interface);
        all.queues.entry(interface).or_default().push_back(mac);
    }
}

pub(super) fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let all = router.own_mut::<Sessions>();
    let over = |all: &Sessions| -> Vec<_> {
        let over = all.sessions.iter().filter(|(_, session)| session.over == interface);
        over.map(|(index, _)| *index).collect()
    };
    match change {
        Change::Mac => over(all).into_iter().for_each(|session| lead(router, session)),
        Change::Deleting => {
            if let Some(gone) = all.sessions.remove(&interface) {
                let New { mac, id, ip, .. } = gone.new;
                all.by_number.remove(&(mac, id));
                let _ = all.set(key(mac, id), 0);
                let table = gone.table;
                let _ = router.remove_route(table, host(ip), Source::INTERFACE, &[]);
                return;
            }
            if all.control == Some(interface) {
                all.control = None;
                all.seen_control.publish(0);
            }
            let gone: Vec<_> =
                all.clients.iter().filter(|(_, at)| **at == interface).map(|(m, _)| *m).collect();
            all.queues.remove(&interface);
            for mac in gone {
                all.clients.remove(&mac);
                let _ = all.set(key(mac, 0), 0);
            }
            over(all).into_iter().for_each(|session| router.remove_interface(session));
        }
        _ => (),
    }
}
