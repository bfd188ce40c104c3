//! Making and deleting `host-X` interfaces.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use graph::{InputState, NodeIndex};
use net::interface::{Change, Kind, NewInterface, Offloads, RxQueue};
use net::{InterfaceIndex, Router};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use wire::MacAddr;

use super::AfPacketInput;
use super::input::Queue;
use super::ring::{Device, Fanout, Options, Ring, open};
use super::tx::HostTx;
use crate::host::{close_elsewhere, random_mac};

/// Hardware class.
pub const HARDWARE: &str = "af-packet";
/// Slots in a receive ring: 4 MB.
const SLOTS: usize = 2048;
/// Queues at most, each way.
pub const MAX_QUEUES: usize = 64;

/// All `host-X` interfaces.
pub struct HostInterfaces {
    /// `af-packet-input`.
    node: NodeIndex,
    /// In the order they were made.
    pub list: Vec<HostInterface>,
    /// Group of the next interface with several receive queues.
    next_group: u16,
}

/// One interface.
pub struct HostInterface {
    /// Name of the device.
    pub device: String,
    /// Its interface.
    pub index: InterfaceIndex,
    /// Sockets that receive, and the thread each is served by. The ring belongs to that thread.
    pub receivers: Vec<(usize, Arc<OwnedFd>)>,
    /// Sockets that send. Control keeps them so that it is who closes them: that takes long.
    pub senders: Arc<[OwnedFd]>,
    /// Packets the kernel had no room for, as counted so far.
    pub lost: u64,
}

/// What an interface is made from.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Name of the device.
    pub device: String,
    /// Sockets that receive.
    pub rx_queues: usize,
    /// Sockets that send.
    pub tx_queues: usize,
    /// Its address; random if `None`.
    pub mac: Option<MacAddr>,
    /// Carries IP packets without a header in front.
    pub is_ip: bool,
    /// Sends past the queueing discipline of the device.
    pub bypasses_qdisc: bool,
    /// Leaves checksums and segmentation to the host.
    pub offloads: bool,
}

/// Why an interface cannot be made or deleted.
#[derive(Debug)]
pub enum Error {
    /// There is no such device, or no such interface.
    NoDevice,
    /// The interface is there already.
    Exists,
    /// Packet sockets are not for everybody.
    NotPermitted,
    /// The device carries no Ethernet frames (or, in IP mode, does).
    WrongKind(&'static str),
    /// The kernel says something else.
    System(io::Error),
    /// The router says no.
    Refused(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice => f.write_str("Invalid interface name"),
            Self::Exists => f.write_str("Interface already exists"),
            Self::NotPermitted => f.write_str("not permitted: packet sockets need CAP_NET_RAW"),
            Self::WrongKind(why) => f.write_str(why),
            Self::System(e) => f.write_str(&control::cli::io_text(e)),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        match e.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO) => Self::NoDevice,
            Some(libc::EPERM | libc::EACCES) => Self::NotPermitted,
            _ => Self::System(e),
        }
    }
}

impl HostInterfaces {
    pub(super) fn new(node: NodeIndex) -> Self {
        Self { node, list: Vec::new(), next_group: std::process::id() as u16 }
    }
    /// Makes an interface, down.
    ///
    /// # Errors
    /// See [`Error`]; nothing is made then.
    pub fn create(&mut self, router: &mut Router, wanted: &Wanted) -> Result<String, Error> {
        let name = format!("host-{}", wanted.device);
        if router.interfaces.named(&name).is_some() {
            return Err(Error::Exists);
        }
        let mac = wanted.mac.unwrap_or_else(random_mac);
        if router.engine.data_threads().is_empty() {
            return Err(Error::Refused("the router does not run yet".to_owned()));
        }
        let sockets = Sockets::open(wanted, self.group(wanted))?;
        let index = Arc::new(OnceLock::new());
        let tx = HostTx::new(Arc::clone(&sockets.senders), Arc::clone(&index), &router.interfaces);
        let new = NewInterface {
            name: name.clone(),
            kind: if wanted.is_ip { Kind::Ip } else { Kind::Ethernet },
            hardware: HARDWARE,
            mac: if wanted.is_ip { MacAddr::ZERO } else { mac },
            mtu: sockets.device.mtu,
            offloads: Offloads { checksum: wanted.offloads, gso: wanted.offloads },
            link_follows_admin: false,
        };
        let made = router.add_interface(new, tx).map_err(|e| Error::Refused(e.to_string()))?;
        index.set(made).expect("set here only");
        router.set_link(made, sockets.device.is_running);
        let mut interface = HostInterface {
            device: wanted.device.clone(),
            index: made,
            receivers: Vec::new(),
            senders: sockets.senders,
            lost: 0,
        };
        let threads = router.threads_for_queues(sockets.receivers.len());
        let receivers = sockets.receivers.into_iter().zip(threads).enumerate();
        for (number, ((socket, ring), thread)) in receivers {
            let socket = Arc::new(socket);
            interface.receivers.push((thread, Arc::clone(&socket)));
            let queue = Queue { interface: made.0, number, is_ip: wanted.is_ip, ring, socket };
            if let Err(e) = self.hand_over(router, thread, queue) {
                self.list.push(interface);
                self.delete(router, &wanted.device)?;
                return Err(e);
            }
        }
        let queues = interface.receivers.iter().map(|r| RxQueue::new(r.0, self.node, place));
        router.set_rx_queues(made, queues.collect());
        self.list.push(interface);
        Ok(name)
    }
    fn hand_over(&self, router: &mut Router, thread: usize, queue: Queue) -> Result<(), Error> {
        let mode = router.interfaces.default_rx_mode;
        let (engine, node) = (&mut router.engine, self.node);
        engine.watch(thread, node, queue.socket.as_fd())?;
        engine
            .with_node(thread, node, |n: &mut AfPacketInput| n.add(queue))
            .map_err(|e| Error::Refused(e.to_string()))?;
        engine.set_input_state(thread, node, mode);
        Ok(())
    }
    /// Moves a receive queue to another thread.
    fn place(
        &mut self,
        router: &mut Router,
        index: InterfaceIndex,
        number: usize,
        thread: usize,
    ) -> Result<(), Error> {
        let interface = self.list.iter().position(|i| i.index == index).ok_or(Error::NoDevice)?;
        let receiver = self.list[interface].receivers.get(number).ok_or(Error::NoDevice)?;
        let (from, socket) = (receiver.0, Arc::clone(&receiver.1));
        let take = move |n: &mut AfPacketInput| n.take(index.0, Some(number));
        let taken = router.engine.with_node(from, self.node, take);
        let (queues, _) = taken.map_err(|e| Error::Refused(e.to_string()))?;
        router.engine.unwatch(from, socket.as_fd())?;
        for queue in queues {
            self.hand_over(router, thread, queue)?;
        }
        self.list[interface].receivers[number].0 = thread;
        Ok(())
    }
    /// A number for a group of receive sockets, when there are several.
    fn group(&mut self, wanted: &Wanted) -> Option<Fanout> {
        self.next_group = self.next_group.wrapping_add(1);
        (wanted.rx_queues > 1).then_some(Fanout(self.next_group))
    }
    /// Deletes the interface of a device.
    ///
    /// # Errors
    /// There is none; or a thread does not answer: then the interface stays, to be deleted again.
    pub fn delete(&mut self, router: &mut Router, device: &str) -> Result<(), Error> {
        let at = self.list.iter().position(|i| i.device == device).ok_or(Error::NoDevice)?;
        let no_answer = |e: graph::NoAnswer| Error::Refused(e.to_string());
        let (engine, node) = (&mut router.engine, self.node);
        let interface = self.list[at].index.0;
        let mut queues = Vec::new();
        for thread in engine.data_threads() {
            let take = move |n: &mut AfPacketInput| n.take(interface, None);
            let (rings, left) = engine.with_node(thread, node, take).map_err(no_answer)?;
            if left == 0 {
                engine.set_input_state(thread, node, InputState::Disabled);
            }
            queues.extend(rings);
        }
        let gone = self.list.remove(at);
        for (thread, socket) in &gone.receivers {
            // It may not be watched, if making the interface failed half-way.
            let _ = engine.unwatch(*thread, socket.as_fd());
        }
        router.remove_interface(gone.index);
        // Until here a thread may hold the sockets that send.
        router.engine.fence().map_err(no_answer)?;
        close_elsewhere((queues, gone));
        Ok(())
    }
}

/// What an interface needs of the kernel.
struct Sockets {
    device: Device,
    receivers: Vec<(OwnedFd, Ring)>,
    senders: Arc<[OwnedFd]>,
}

impl Sockets {
    fn open(wanted: &Wanted, fanout: Option<Fanout>) -> Result<Self, Error> {
        // Any socket can ask; one of packets would take long to close.
        let probe =
            socket(AddressFamily::UNIX, SocketType::DGRAM, None).map_err(io::Error::from)?;
        let device = Device::named(&probe, &wanted.device)?;
        let number = name_to_index(&probe, &wanted.device).map_err(io::Error::from)?;
        match (device.is_ethernet, wanted.is_ip) {
            (false, false) => return Err(Error::WrongKind("no Ethernet device: try `mode ip'")),
            (true, true) => return Err(Error::WrongKind("an Ethernet device cannot do `mode ip'")),
            _ => (),
        }
        let options = Options {
            device: number,
            receives: false,
            bypasses_qdisc: wanted.bypasses_qdisc,
            fanout,
        };
        let sender = |_| Ok(open(options, |_| Ok(()))?.0);
        let senders = (0..wanted.tx_queues).map(sender).collect::<Result<_, Error>>()?;
        let options = Options { receives: true, ..options };
        let receiver = |_| Ok(open(options, |socket| Ring::new(socket, SLOTS))?);
        let receivers = (0..wanted.rx_queues).map(receiver).collect::<Result<_, Error>>()?;
        Ok(Self { device, receivers, senders })
    }
}

/// Moves a receive queue of an interface to another thread.
fn place(
    router: &mut Router,
    index: InterfaceIndex,
    number: usize,
    thread: usize,
) -> Result<(), String> {
    let done = router
        .with(|all: &mut HostInterfaces, router: &mut Router| {
            all.place(router, index, number, thread)
        })
        .unwrap_or(Err(Error::NoDevice));
    done.map_err(|e| e.to_string())
}

/// Switches the device on with its interface.
pub(super) fn follow(router: &mut Router, index: InterfaceIndex, change: Change) {
    let is_up = router.interfaces.at(index).is_some_and(|i| i.admin_up);
    if change != Change::State || !is_up {
        return;
    }
    let Some(all) = router.state::<HostInterfaces>() else { return };
    let Some(i) = all.list.iter().find(|i| i.index == index) else { return };
    if let Some(socket) = i.senders.first()
        && Device::named(socket, &i.device).is_ok_and(|d| !d.is_running)
        && let Err(e) = Device::switch_on(socket, &i.device)
    {
        let log = router.log.class("af_packet", "");
        log.warn(format_args!("cannot switch on {}: {e}", i.device));
    }
}
