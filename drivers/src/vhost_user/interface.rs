//! Interfaces and their connections: making, serving, changing, deleting.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use control::feature::Refusal;
use graph::{NoAnswer, NodeIndex};
use infra::rcu::Shared;
use net::interface::{self, Interface, Kind, NewInterface, Offloads, TxQueues};
use net::{InterfaceIndex, Router};
use wire::MacAddr;
use wire::virtio_ring::feature;

use super::channel::{Channel, Listener};
use super::input::Queue;
use super::queue::{Line, Receiver, Sender};
use super::ring::Ring;
use super::session::{Offer, Refused, Session};
use super::tx::VhostTx;
use crate::host::output::Sending;
use crate::host::serving::{Failed, Kept, Serving, place, served};
use crate::host::{stable_mac, turn};

/// Hardware class.
pub const HARDWARE: &str = "vhost-user";
const MTU: u32 = 9000;
/// Bytes that the kernel takes for the path of a socket, without its end.
const MOST_BYTES: usize = 107;

/// All of them.
pub struct Vhosts {
    /// `vhost-user-input`.
    pub(super) node: NodeIndex,
    /// In the order they were made.
    pub list: Vec<Vhost>,
    /// Wakes the process when memory of front ends is lost.
    _losses: OwnedFd,
}

/// Parameters of a new interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The number in its name; the lowest free one if `None`.
    pub instance: Option<u32>,
    /// The file of its socket.
    pub socket: String,
    /// It listens there; else it connects.
    pub is_server: bool,
    /// Features to offer to the driver.
    pub offer: Offer,
    /// Its address; one of its own, the same after a restart, if `None`.
    pub mac: Option<MacAddr>,
}

/// One interface.
pub struct Vhost {
    /// Parameters it was made from; its number is filled in.
    pub wanted: Wanted,
    /// Interface index.
    pub index: InterfaceIndex,
    /// State of its connection.
    pub link: Link,
    /// Socket that it listens on.
    pub(super) listener: Option<Listener>,
    /// Rings that threads use.
    pub running: Option<Running>,
    /// Its rings that send, for its transmit node.
    senders: Shared<Sending<Sender>>,
    /// Threads that serve its rings that receive.
    pub serving: Serving,
    /// Reason why there is no connection.
    pub why: String,
    /// The kernel's number for that.
    pub errno: i32,
    /// Threads and modes of its receive queues when it ran last.
    pub(super) kept: Kept,
}

/// State of the connection to the front end.
#[derive(Debug)]
pub enum Link {
    /// There is none. One that connects tries again at this time of the router's clock.
    Down(f64),
    /// There is one.
    Up(Box<Connection>),
}

/// A front end.
#[derive(Debug)]
pub struct Connection {
    /// Channel to the front end.
    pub(super) channel: Channel,
    /// Its requests so far.
    pub session: Session,
}

/// Rings that threads use.
pub struct Running {
    senders: Arc<[Mutex<Sender>]>,
    /// All rings by their numbers in the machine, for display.
    pub rings: Vec<(usize, Ring)>,
}

/// Reasons why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// not a valid socket path: {0}
    #[retval(INVALID_ARGUMENT)]
    Path(String),
    /// socket {0} has an interface
    #[retval(IF_ALREADY_EXISTS)]
    Exists(String),
    /// interface {0} already exists
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// hwaddr is not a unicast MAC address
    #[retval(INVALID_ARGUMENT)]
    Mac,
    /// cannot listen: {0}
    #[retval(SYSCALL_ERROR_1)]
    Listen(String),
    /// not a vhost-user interface
    #[retval(INVALID_SW_IF_INDEX)]
    Unknown,
    /// {0}
    #[retval(UNSPECIFIED)]
    Refused(String),
}

crate::host::refused!(interface::Error, graph::NoAnswer, Failed);

impl Wanted {
    fn name(&self) -> String {
        format!("VirtualEthernet0/0/{}", self.instance.unwrap_or(0))
    }
    fn check(&self) -> Result<(), Error> {
        let path = &self.socket;
        if !path.starts_with('/') || path.len() > MOST_BYTES || path.ends_with('/') {
            return Err(Error::Path(path.clone()));
        }
        if self.mac.is_some_and(|mac| mac.is_multicast()) {
            return Err(Error::Mac);
        }
        Ok(())
    }
    fn listener(&self, router: &mut Router) -> Result<Option<Listener>, Error> {
        let text = |e: io::Error| Error::Listen(control::cli::io_text(&e));
        let listen = || {
            let listener = Listener::new(Path::new(&self.socket))?;
            router.processes.watch(super::process::NAME, listener.as_fd())?;
            Ok(listener)
        };
        self.is_server.then(listen).transpose().map_err(text)
    }
}

impl Vhosts {
    pub(super) fn new(node: NodeIndex, losses: OwnedFd) -> Self {
        Self { node, list: Vec::new(), _losses: losses }
    }
    /// Chooses a free number, or checks that the requested one is free.
    fn number(&self, wanted: &mut Wanted, own: Option<InterfaceIndex>) -> Result<(), Error> {
        let is_used =
            |n: u32| self.list.iter().any(|v| v.wanted.instance == Some(n) && Some(v.index) != own);
        match wanted.instance {
            Some(n) if is_used(n) => Err(Error::InUse(n)),
            Some(_) => Ok(()),
            None => {
                wanted.instance = (0..u32::MAX).find(|n| !is_used(*n));
                Ok(())
            }
        }
    }
    /// Makes an interface, down.
    ///
    /// # Errors
    /// See [`Error`]; nothing is made then.
    pub fn create(
        &mut self,
        router: &mut Router,
        mut wanted: Wanted,
    ) -> Result<InterfaceIndex, Error> {
        wanted.check()?;
        self.number(&mut wanted, None)?;
        if self.list.iter().any(|v| v.wanted.socket == wanted.socket) {
            return Err(Error::Exists(wanted.socket));
        }
        if router.engine.data_threads().is_empty() {
            return Err(Error::Refused("the router does not run yet".to_owned()));
        }
        let listener = wanted.listener(router)?;
        let (index, senders) = add(router, &wanted)?;
        self.list.push(Vhost {
            wanted,
            index,
            link: Link::Down(0.0),
            listener,
            running: None,
            senders,
            serving: Serving::default(),
            why: String::new(),
            errno: 0,
            kept: Kept::default(),
        });
        router.announce_state(index);
        Ok(index)
    }
    /// Replaces the settings of an interface; its connection ends. Its address stays.
    ///
    /// # Errors
    /// See [`Error`]; it stays as it was then.
    pub fn modify(
        &mut self,
        router: &mut Router,
        index: InterfaceIndex,
        mut wanted: Wanted,
    ) -> Result<(), Error> {
        let at = self.list.iter().position(|v| v.index == index).ok_or(Error::Unknown)?;
        let old = &self.list[at].wanted;
        wanted.instance = wanted.instance.or(old.instance);
        wanted.mac = old.mac;
        wanted.offer.hidden = old.offer.hidden;
        wanted.check()?;
        self.number(&mut wanted, Some(index))?;
        if self.list.iter().any(|v| v.wanted.socket == wanted.socket && v.index != index) {
            return Err(Error::Exists(wanted.socket));
        }
        let (node, vhost) = (self.node, &mut self.list[at]);
        let listens_there = vhost.wanted.is_server && vhost.wanted.socket == wanted.socket;
        let listener = match listens_there && wanted.is_server {
            true => None,
            false => wanted.listener(router)?,
        };
        if wanted.instance != vhost.wanted.instance {
            router.rename_interface(index, &wanted.name())?;
        }
        vhost.disconnect(router, node, "interface changed")?;
        if listener.is_some() || !wanted.is_server {
            vhost.listener = listener;
        }
        (vhost.wanted, vhost.link) = (wanted, Link::Down(0.0));
        Ok(())
    }
    /// Deletes an interface.
    ///
    /// # Errors
    /// [`Error::Unknown`]; a thread that does not answer: then it can be done again.
    pub fn delete(&mut self, router: &mut Router, index: InterfaceIndex) -> Result<(), Error> {
        let at = self.list.iter().position(|v| v.index == index).ok_or(Error::Unknown)?;
        self.list[at].disconnect(router, self.node, "interface deleted")?;
        self.list.remove(at);
        router.remove_interface(index);
        router.engine.fence()?;
        Ok(())
    }
}

served!(Vhosts, Queue, Error::Unknown);

impl Vhost {
    /// The front end's requests so far, if there is one.
    pub fn session(&self) -> Option<&Session> {
        match &self.link {
            Link::Up(connection) => Some(&connection.session),
            Link::Down(_) => None,
        }
    }
    /// Takes the rings from the threads, and notes where they stopped.
    ///
    /// # Errors
    /// A thread does not answer; it can be done again.
    pub(super) fn halt(
        &mut self,
        router: &mut Router,
        node: NodeIndex,
        session: &mut Session,
    ) -> Result<(), NoAnswer> {
        let Some(running) = &self.running else { return Ok(()) };
        let queues: Vec<Queue> = self.serving.end(router, (node, self.index))?;
        self.kept = Kept::of(router, self.index);
        router.set_rx_queues(self.index, Vec::new());
        self.senders.publish(Sending::none());
        // Until here a thread may use the rings.
        router.engine.fence()?;
        let mut stop = |line: &Line| {
            if let Some(ring) = session.rings.get_mut(&line.number) {
                ring.base = line.ring.base();
            }
        };
        queues.iter().for_each(|queue| stop(queue.line()));
        running.senders.iter().for_each(|sender| stop(turn(sender).line()));
        self.running = None;
        Ok(())
    }
    /// Makes the threads use all usable rings; returns whether there are any.
    ///
    /// # Errors
    /// A thread does not answer, or something of the front end's cannot be waited for.
    pub(super) fn launch(
        &mut self,
        router: &mut Router,
        node: NodeIndex,
        session: &Session,
    ) -> Result<bool, Refused> {
        let lines: Vec<_> = session.rings.keys().filter_map(|n| session.line(*n)).collect();
        let rings: Vec<_> = lines.iter().map(|line| (line.number, line.ring.clone())).collect();
        let is_whole = [0, 1].map(|rest| rings.iter().any(|ring| ring.0 % 2 == rest));
        if is_whole == [true, true] {
            let (received, sent): (Vec<_>, Vec<_>) =
                lines.into_iter().partition(|line| line.number % 2 == 1);
            self.start(router, node, (received, sent), rings)?;
            let checksum = session.has(feature::GUEST_CSUM);
            let both =
                [feature::GUEST_TSO4, feature::GUEST_TSO6].iter().all(|bit| session.has(*bit));
            let offloads = Offloads { checksum, gso: checksum && both, tunnels: false };
            router.interfaces.set_offloads(self.index, offloads);
        }
        router.set_link(self.index, self.running.is_some());
        Ok(self.running.is_some())
    }
    fn start(
        &mut self,
        router: &mut Router,
        node: NodeIndex,
        (received, sent): (Vec<Line>, Vec<Line>),
        rings: Vec<(usize, Ring)>,
    ) -> Result<(), Refused> {
        let queue = |(number, line): (usize, Line)| {
            let kick = Arc::clone(line.kick.descriptor());
            (Queue::new(self.index.0, number, Receiver::new(line)), kick)
        };
        let queues = received.into_iter().enumerate().map(queue).collect();
        let choices = TxQueues::new(sent.len(), router.engine.thread_rows());
        let senders: Arc<[_]> = sent.into_iter().map(Sender::new).map(Mutex::new).collect();
        let running = Running { senders: Arc::clone(&senders), rings };
        // From here on there is something to be taken back.
        self.running = Some(running);
        self.serving = Serving::default();
        let begun = self.serving.begin(router, (node, self.index, place::<Vhosts>), queues);
        begun.map_err(|e| Refused(e.to_string()))?;
        self.senders.publish(Sending { choice: Some(choices.choice()), senders });
        router.interfaces.set_tx_queues(self.index, choices);
        self.why.clear();
        self.errno = 0;
        Ok(())
    }
    /// Ends a connection and says why.
    ///
    /// # Errors
    /// A thread does not answer; it can be done again.
    pub(super) fn disconnect(
        &mut self,
        router: &mut Router,
        node: NodeIndex,
        why: &str,
    ) -> Result<(), NoAnswer> {
        let again = router.now() + crate::host::turn::RETRY;
        let Link::Up(mut connection) = std::mem::replace(&mut self.link, Link::Down(again)) else {
            return Ok(());
        };
        if let Err(e) = self.halt(router, node, &mut connection.session) {
            self.link = Link::Up(connection);
            return Err(e);
        }
        router.set_link(self.index, false);
        why.clone_into(&mut self.why);
        Ok(())
    }
}

fn add(
    router: &mut Router,
    wanted: &Wanted,
) -> Result<(InterfaceIndex, Shared<Sending<Sender>>), interface::Error> {
    let index = Arc::new(OnceLock::new());
    let senders = Shared::new(Sending::none());
    let tx = VhostTx::new(senders.reader(), (Arc::clone(&index), &router.interfaces));
    let usual = || {
        let role = if wanted.is_server { "server" } else { "client" };
        stable_mac(router, format_args!("{HARDWARE} {} {role}", wanted.socket))
    };
    let new = NewInterface {
        name: wanted.name(),
        kind: Kind::Ethernet,
        hardware: HARDWARE,
        mac: wanted.mac.unwrap_or_else(usual),
        mtu: MTU,
        offloads: Offloads { checksum: false, gso: false, tunnels: false },
        link_follows_admin: false,
    };
    let made = router.add_interface(new, tx)?;
    index.set(made).expect("set here only");
    Ok((made, senders))
}

/// Lines of `show hardware-interfaces`.
pub(super) fn describe(router: &Router, i: &Interface) -> Vec<String> {
    let found = router.own::<Vhosts>().list.iter().find(|v| v.index == i.index);
    let line = |v: &Vhost| {
        let role = if v.wanted.is_server { "server" } else { "client" };
        format!("vhost-user interface, {role}, socket {}", v.wanted.socket)
    };
    found.map(line).into_iter().collect()
}
