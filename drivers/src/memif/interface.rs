//! Interfaces and the sockets they are found on: making, connecting, deleting.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use control::feature::Refusal;
use graph::NodeIndex;
use infra::rcu::Shared;
use net::interface::{self, Change, Interface, Kind, NewInterface, Offloads, TxQueues};
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::channel::{Address, Channel, Listener};
use super::input::Queue;
use super::queue::Sender;
use super::session::{self, Linked, Master, Refused, Slave, Wish};
use super::tx::MemifTx;
use crate::host::output::Sending;
use crate::host::serving::{Failed, Kept, Serving, place, served};
use crate::host::stable_mac;
use crate::shared::Bell;

/// Hardware class.
pub const HARDWARE: &str = "memif";
/// Number of the socket that is always there.
pub const DEFAULT_SOCKET: u32 = 0;
const MTU: u32 = 9000;

/// All of them.
pub struct Memifs {
    /// `memif-input`.
    pub(super) node: NodeIndex,
    /// Folder for files of relative names.
    pub(super) folder: PathBuf,
    /// Sockets by number.
    pub sockets: BTreeMap<u32, Socket>,
    /// In the order they were made.
    pub list: Vec<Memif>,
    /// Wakes the process when memory of peers is lost.
    _losses: OwnedFd,
}

/// A place where interfaces find their peers.
#[derive(Debug)]
pub struct Socket {
    /// Address of the socket.
    pub address: Address,
    /// Listens for slaves as long as there are masters.
    pub listener: Option<Listener>,
    /// Slaves that are not connected yet.
    pub(super) callers: Vec<Caller>,
}

/// A slave that is not connected yet.
#[derive(Debug)]
pub(super) struct Caller {
    pub channel: Channel,
    pub session: Master,
    /// Its request, while the interface that it asked for is switched off.
    pub waiting: Option<wire::memif::Init>,
    /// The interface it asked for.
    pub interface: Option<InterfaceIndex>,
    /// Deadline, in seconds of the router's clock.
    pub deadline: f64,
}

/// Parameters of a new interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Interface ID on the socket.
    pub id: u32,
    /// The socket.
    pub socket: u32,
    /// It listens; else it connects, and has the memory.
    pub is_master: bool,
    /// Carries IP packets without a layer 2 header.
    pub is_ip: bool,
    /// Secret of both ends.
    pub secret: String,
    /// Queues that receive and queues that send; 0 for one. The slave's count.
    pub queues: (u8, u8),
    /// Descriptors of a ring; 0 for as many as is usual. The slave's counts.
    pub ring_size: u32,
    /// Bytes of a slot; 0 for as many as is usual. The slave's counts.
    pub buffer_size: u16,
    /// Its address; one of its own, the same after a restart, if `None`.
    pub mac: Option<MacAddr>,
    /// Parameter of the request; packets are copied in any case.
    pub no_zero_copy: bool,
}

/// One interface.
pub struct Memif {
    /// Parameters that it was made from.
    pub wanted: Wanted,
    /// Interface index.
    pub index: InterfaceIndex,
    /// State of the connection.
    pub link: Link,
    /// Its rings that send.
    pub(super) senders: Shared<Sending<Sender>>,
    /// Threads that serve its receive rings.
    pub serving: Serving,
    /// Reason why there is no connection.
    pub why: String,
    /// Threads and modes of its receive queues when it was connected last.
    pub(super) kept: Kept,
}

/// State of the connection with the peer.
#[derive(Debug)]
pub enum Link {
    /// There is none. A slave tries again at this time of the router's clock.
    Down(f64),
    /// A slave is talking to it, until this time at most.
    Calling(Channel, Slave, f64),
    /// Connected.
    Up(Channel, Peer),
}

/// The other end, and the memory shared with it.
#[derive(Debug)]
pub struct Peer {
    /// Name of the peer.
    pub name: String,
    /// Interface.
    pub interface: String,
    /// Sizes of the regions.
    pub regions: Vec<usize>,
    /// Receive rings and transmit rings, for display.
    pub rings: [Vec<super::ring::Ring>; 2],
}

impl Peer {
    /// Whether memory of rings was removed.
    pub(super) fn is_lost(&self) -> bool {
        self.rings.iter().flatten().any(super::ring::Ring::is_lost)
    }
}

/// Reasons why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no socket {0}
    #[retval(INVALID_ARGUMENT)]
    NoSocket(u32),
    /// socket {0} has another file name
    #[retval(ENTRY_ALREADY_EXISTS)]
    SocketExists(u32),
    /// the default socket cannot be changed
    #[retval(INVALID_ARGUMENT)]
    DefaultSocket,
    /// socket {0} is in use
    #[retval(IN_USE)]
    SocketInUse(u32),
    /// not a valid socket name: {0}
    #[retval(INVALID_ARGUMENT)]
    Name(String),
    /// id {0} is in use on this socket
    #[retval(SUBIF_ALREADY_EXISTS)]
    Exists(u32),
    /// socket {0} has interfaces of the other role
    #[retval(INVALID_ARGUMENT)]
    OtherRole(u32),
    /// ring-size must be a power of 2, at most 16384
    #[retval(INVALID_ARGUMENT)]
    RingSize,
    /// {0}
    #[retval(INVALID_ARGUMENT)]
    Invalid(String),
    /// cannot listen: {0}
    #[retval(SYSCALL_ERROR_1)]
    Listen(String),
    /// not a memif interface
    #[retval(INVALID_SW_IF_INDEX)]
    Unknown,
    /// {0}
    #[retval(UNSPECIFIED)]
    Refused(String),
}

crate::host::refused!(interface::Error, graph::NoAnswer, Failed);

impl Wanted {
    /// Interface name.
    pub fn name(&self) -> String {
        format!("memif{}/{}", self.socket, self.id)
    }
    /// Descriptors of a ring, as a power of 2.
    pub fn log2_ring_size(&self) -> u8 {
        const USUAL: u32 = 1024;
        let size = if self.ring_size == 0 { USUAL } else { self.ring_size };
        size.ilog2() as u8
    }
    /// Bytes of a slot.
    pub fn slot_size(&self) -> u32 {
        const USUAL: u32 = 2048;
        if self.buffer_size == 0 { USUAL } else { self.buffer_size.into() }
    }
    /// Request of a slave.
    pub(super) fn wish(&self) -> Wish {
        let (rx, tx) = self.queues;
        Wish {
            id: self.id,
            mode: if self.is_ip { wire::memif::IP } else { wire::memif::ETHERNET },
            secret: self.secret.clone(),
            rings: [tx.max(1).into(), rx.max(1).into()],
            log2_ring_size: self.log2_ring_size(),
            buffer_size: self.slot_size(),
            interface: self.name(),
        }
    }
    fn check(&self) -> Result<(), Error> {
        const MOST: u32 = 1 << wire::memif::MAX_LOG2_RING;
        let invalid = |why: &str| Err(Error::Invalid(why.to_owned()));
        if self.ring_size > MOST || self.ring_size > 0 && !self.ring_size.is_power_of_two() {
            return Err(Error::RingSize);
        }
        if self.mac.is_some_and(|mac| mac.is_multicast()) {
            return invalid("hw-addr is not a unicast MAC address");
        }
        if self.secret.len() > 24 {
            return invalid("secret has at most 24 characters");
        }
        if (1..64).contains(&self.buffer_size) {
            return invalid("buffer-size is at least 64");
        }
        let wish = self.wish();
        let sized = session::layout(wish.rings, wish.log2_ring_size, wish.buffer_size);
        sized.map(drop).map_err(|e| Error::Invalid(e.to_string()))
    }
}

impl Socket {
    fn new(address: Address) -> Self {
        Self { address, listener: None, callers: Vec::new() }
    }
}

impl Memifs {
    /// None yet, on the default socket in `folder`.
    pub(super) fn new(node: NodeIndex, folder: PathBuf, losses: OwnedFd) -> Self {
        let file = folder.join("memif.sock").to_string_lossy().into_owned();
        let sockets = BTreeMap::from([(DEFAULT_SOCKET, Socket::new(Address(file)))]);
        Self { node, folder, sockets, list: Vec::new(), _losses: losses }
    }
    /// Adds a socket, with the lowest free number if `id` is `None`; a file whose name does not
    /// begin with `/` is in the runtime folder.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn add_socket(&mut self, id: Option<u32>, name: &str) -> Result<u32, Error> {
        /// Longest path of a socket that the kernel takes, without its end.
        const MOST_BYTES: usize = 107;
        let id = match id {
            Some(DEFAULT_SOCKET) => return Err(Error::DefaultSocket),
            Some(id) => id,
            None => (1..).find(|id| !self.sockets.contains_key(id)).unwrap_or(u32::MAX),
        };
        let mut address = Address(name.to_owned());
        let is_relative = address.is_file() && !name.starts_with('/');
        if is_relative {
            address = Address(self.folder.join(name).to_string_lossy().into_owned());
        }
        if name.is_empty() || name.split('/').any(|part| part == "..") {
            return Err(Error::Name(name.to_owned()));
        }
        if address.is_file() && address.0.len() > MOST_BYTES {
            return Err(Error::Name(address.0));
        }
        match self.sockets.get(&id) {
            Some(there) if there.address == address => return Ok(id),
            Some(_) => return Err(Error::SocketExists(id)),
            None => (),
        }
        if is_relative && let Some(folder) = std::path::Path::new(&address.0).parent() {
            std::fs::create_dir_all(folder).map_err(|e| Error::Listen(e.to_string()))?;
        }
        self.sockets.insert(id, Socket::new(address));
        Ok(id)
    }
    /// Deletes a socket that no interface uses.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn delete_socket(&mut self, id: u32) -> Result<(), Error> {
        if id == DEFAULT_SOCKET {
            return Err(Error::DefaultSocket);
        }
        if self.list.iter().any(|m| m.wanted.socket == id) {
            return Err(Error::SocketInUse(id));
        }
        self.sockets.remove(&id).map(drop).ok_or(Error::NoSocket(id))
    }
    /// Makes an interface, down.
    ///
    /// # Errors
    /// See [`Error`]; nothing is made then.
    pub fn create(&mut self, router: &mut Router, wanted: Wanted) -> Result<InterfaceIndex, Error> {
        wanted.check()?;
        let id = wanted.socket;
        let socket = self.sockets.get_mut(&id).ok_or(Error::NoSocket(id))?;
        let mut others = self.list.iter().filter(|m| m.wanted.socket == id);
        if others.clone().any(|m| m.wanted.id == wanted.id) {
            return Err(Error::Exists(wanted.id));
        }
        if others.any(|m| m.wanted.is_master != wanted.is_master) {
            return Err(Error::OtherRole(id));
        }
        if router.engine.data_threads().is_empty() {
            return Err(Error::Refused("the router does not run yet".to_owned()));
        }
        if wanted.is_master && socket.listener.is_none() {
            let text = |e: io::Error| Error::Listen(control::cli::io_text(&e));
            let listener = socket.address.listen().map_err(text)?;
            router.processes.watch(super::process::NAME, listener.as_fd()).map_err(text)?;
            socket.listener = Some(listener);
        }
        let made = add(router, &wanted, &socket.address);
        let (index, senders) = made.inspect_err(|_| self.stop_listening(id))?;
        let (link, why) = (Link::Down(0.0), String::new());
        let (serving, kept) = (Serving::default(), Kept::default());
        self.list.push(Memif { wanted, index, link, senders, serving, why, kept });
        Ok(index)
    }
    /// Ends listening on a socket that no master is on.
    fn stop_listening(&mut self, socket: u32) {
        let is_used = self.list.iter().any(|m| m.wanted.socket == socket && m.wanted.is_master);
        if let Some(socket) = self.sockets.get_mut(&socket).filter(|_| !is_used) {
            socket.listener = None;
            socket.callers.clear();
        }
    }
    /// Deletes an interface.
    ///
    /// # Errors
    /// [`Error::Unknown`]; a thread that does not answer: then it can be done again.
    pub fn delete(&mut self, router: &mut Router, index: InterfaceIndex) -> Result<(), Error> {
        let at = self.list.iter().position(|m| m.index == index).ok_or(Error::Unknown)?;
        self.list[at].disconnect(router, self.node, "interface deleted")?;
        let gone = self.list.remove(at);
        router.remove_interface(index);
        router.engine.fence()?;
        self.stop_listening(gone.wanted.socket);
        Ok(())
    }
}

served!(Memifs, Queue, Error::Unknown);

impl Memif {
    /// Makes the threads use the rings of a connection.
    ///
    /// # Errors
    /// A thread does not answer, or something of the peer's cannot be waited for.
    pub(super) fn connect(
        &mut self,
        router: &mut Router,
        node: NodeIndex,
        (channel, linked): (Channel, Linked),
    ) -> Result<(), Refused> {
        let Linked { receivers, senders, regions, name, interface } = linked;
        let rings = [
            receivers.iter().map(|(receiver, _)| receiver.ring().clone()).collect(),
            senders.iter().map(|sender| sender.ring().clone()).collect(),
        ];
        let regions = regions.iter().map(|region| region.size()).collect();
        self.link = Link::Up(channel, Peer { name, interface, regions, rings });
        let queue = |(number, (receiver, bell)): (_, (_, Bell))| {
            let queue = Queue::new(self.index.0, number, self.wanted.is_ip, receiver);
            (queue, Arc::clone(bell.descriptor()))
        };
        let queues = receivers.into_iter().enumerate().map(queue).collect();
        self.serving = Serving::default();
        let begun = self.serving.begin(router, (node, self.index, place::<Memifs>), queues);
        begun.map_err(|e| Refused(e.to_string()))?;
        let queues = TxQueues::new(senders.len(), router.engine.thread_rows());
        let senders: Vec<_> = senders.into_iter().map(Mutex::new).collect();
        // A slave may offer rings of one direction only.
        let choice = (!senders.is_empty()).then(|| queues.choice());
        self.senders.publish(Sending { choice, senders: senders.into() });
        if choice_is_shown(&self.senders) {
            router.interfaces.set_tx_queues(self.index, queues);
        }
        self.why.clear();
        router.set_link(self.index, true);
        Ok(())
    }
    /// Ends a connection, or what was to become one, and says why.
    ///
    /// # Errors
    /// A thread does not answer; it can be done again.
    pub(super) fn disconnect(
        &mut self,
        router: &mut Router,
        node: NodeIndex,
        why: &str,
    ) -> Result<(), graph::NoAnswer> {
        let again = router.now() + crate::host::turn::RETRY;
        match &self.link {
            Link::Down(_) => return Ok(()),
            Link::Calling(channel, ..) => {
                // It may be gone already.
                let _ = channel.say(&Refused(why.to_owned()).to_message(), None);
                self.link = Link::Down(again);
            }
            Link::Up(channel, _) => {
                let _ = channel.say(&Refused(why.to_owned()).to_message(), None);
                let queues: Vec<Queue> = self.serving.end(router, (node, self.index))?;
                self.kept = Kept::of(router, self.index);
                router.set_rx_queues(self.index, Vec::new());
                self.senders.publish(Sending::none());
                router.set_link(self.index, false);
                // Until here a thread may use the rings.
                router.engine.fence()?;
                self.link = Link::Down(again);
                drop(queues);
            }
        }
        why.clone_into(&mut self.why);
        Ok(())
    }
}

fn choice_is_shown(senders: &Shared<Sending<Sender>>) -> bool {
    senders.current().choice.is_some()
}

fn add(
    router: &mut Router,
    wanted: &Wanted,
    socket: &Address,
) -> Result<(InterfaceIndex, Shared<Sending<Sender>>), interface::Error> {
    let index = Arc::new(OnceLock::new());
    let senders = Shared::new(Sending::none());
    let around = (Arc::clone(&index), &router.interfaces);
    let tx = MemifTx::new(senders.reader(), !wanted.is_ip, around);
    let usual = || {
        let role = if wanted.is_master { "master" } else { "slave" };
        stable_mac(router, format_args!("{HARDWARE} {} {} {role}", socket.0, wanted.id))
    };
    let mac = if wanted.is_ip { MacAddr::ZERO } else { wanted.mac.unwrap_or_else(usual) };
    let new = NewInterface {
        name: wanted.name(),
        kind: if wanted.is_ip { Kind::Ip } else { Kind::Ethernet },
        hardware: HARDWARE,
        mac,
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
    let found = router.own::<Memifs>().list.iter().find(|m| m.index == i.index);
    let line = |m: &Memif| {
        let role = if m.wanted.is_master { "master" } else { "slave" };
        format!("MEMIF interface, {role}, socket {} id {}", m.wanted.socket, m.wanted.id)
    };
    found.map(line).into_iter().collect()
}

/// Connects or disconnects an interface that is set up or down.
pub(super) fn follow(router: &mut Router, index: InterfaceIndex, change: Change) {
    let is_ours = router.interfaces.at(index).is_some_and(|i| i.hardware == HARDWARE);
    if is_ours && change == Change::State {
        router.processes.signal(super::process::NAME, 0);
    }
}
