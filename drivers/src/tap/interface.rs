//! Making and deleting tap and tun interfaces.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use graph::{InputState, NodeIndex};
use net::interface::{self, Change, Kind, NewInterface, Offloads, RxQueue};
use net::{InterfaceIndex, Router};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use wire::{MacAddr, Prefix};

use super::TapInput;
use super::device::{self, Leaves};
use super::input::Queue;
use super::tx::TapTx;
use crate::host::netlink::Netlink;
use crate::host::{close_elsewhere, namespace, random_mac};

/// Hardware class.
pub const HARDWARE: &str = "tap";
/// Numbers of interfaces are below this.
pub const MOST_TAPS: u32 = 1024;
/// Queues at most, each way.
pub const MAX_QUEUES: usize = 64;
/// Packets that may wait on the way to the router at most.
const MAX_RING: u32 = 32_768;
const MTU: u32 = 9000;

/// The queues of a device.
pub type Queues = Arc<[Arc<OwnedFd>]>;

/// All of them.
pub struct Taps {
    /// `tap-input`.
    node: NodeIndex,
    /// In the order they were made.
    pub list: Vec<Tap>,
    /// What is still being closed.
    closing: Vec<JoinHandle<()>>,
}

/// One interface.
pub struct Tap {
    /// Its number.
    pub id: u32,
    /// Its interface.
    pub index: InterfaceIndex,
    /// What it was made from; the name of the device is filled in.
    pub wanted: Wanted,
    /// Number of the device in its namespace.
    pub device: u32,
    /// Its queues. Control keeps them so that it is who closes them.
    pub queues: Queues,
    /// Thread of each queue that receives.
    pub threads: Vec<usize>,
}

/// What an interface is made from.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Its number; the lowest free one if `None`.
    pub id: Option<u32>,
    /// Its name; `tap` or `tun` and its number if `None`.
    pub name: Option<String>,
    /// Its address; random if `None`.
    pub mac: Option<MacAddr>,
    /// Queues that receive, and queues that send; 0 for one.
    pub queues: (usize, usize),
    /// Packets that may wait on the way to the router, and on the way to the host; 0 for as many as
    /// is usual.
    pub rings: (u32, u32),
    /// Carries IP packets without a layer 2 header.
    pub is_tun: bool,
    /// What is left undone on the way to the router.
    pub leaves: Leaves,
    /// Everything is completed on the way to the host.
    pub completes: bool,
    /// The device stays when the interface goes.
    pub persists: bool,
    /// The device is there already.
    pub attaches: bool,
    /// About the device.
    pub host: Host,
}

/// What the device is to be like.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Its name; that of the interface if `None`.
    pub name: Option<String>,
    /// Its network namespace; the router's own if `None`.
    pub namespace: Option<String>,
    /// A bridge that it is to be a port of.
    pub bridge: Option<String>,
    /// Its address of layer 2.
    pub mac: Option<MacAddr>,
    /// Its MTU in bytes.
    pub mtu: Option<u32>,
    /// Its IPv4 address.
    pub ip4: Option<Prefix>,
    /// Its IPv6 address.
    pub ip6: Option<Prefix>,
    /// Gateways of default routes over it.
    pub gateways: Vec<IpAddr>,
}

/// Why an interface cannot be made or deleted.
#[derive(Debug)]
pub enum Error {
    /// The number is in use.
    IdInUse(u32),
    /// A value is out of its range.
    Invalid(String),
    /// There is no such interface, or it is none of these.
    Unknown,
    /// The kernel says no, at this step.
    System(&'static str, io::Error),
    /// The router says no.
    Refused(interface::Error),
    /// A thread does not answer.
    NoAnswer(graph::NoAnswer),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdInUse(id) => write!(f, "interface {id} already exists"),
            Self::Invalid(why) => f.write_str(why),
            Self::Unknown => f.write_str("not a tap interface"),
            Self::System(step, e) => write!(f, "{step}: {}", control::cli::io_text(e)),
            Self::Refused(e) => e.fmt(f),
            Self::NoAnswer(e) => e.fmt(f),
        }
    }
}
impl std::error::Error for Error {}

impl From<interface::Error> for Error {
    fn from(e: interface::Error) -> Self {
        Self::Refused(e)
    }
}

impl From<graph::NoAnswer> for Error {
    fn from(e: graph::NoAnswer) -> Self {
        Self::NoAnswer(e)
    }
}

impl Wanted {
    fn check(&self) -> Result<(), Error> {
        let invalid = |why: &str| Err(Error::Invalid(why.to_owned()));
        let (rx, tx) = self.queues;
        let is_ring = |n: u32| n == 0 || n.is_power_of_two() && n <= MAX_RING;
        let is_unicast = |mac: Option<MacAddr>| mac.is_none_or(|m| !m.is_multicast());
        if rx > MAX_QUEUES || tx > MAX_QUEUES {
            return invalid("no more than 64 queues");
        }
        if !is_ring(self.rings.0) || !is_ring(self.rings.1) {
            return invalid("ring size must be a power of 2, 32768 at most");
        }
        if !is_unicast(self.mac) || !is_unicast(self.host.mac) {
            return invalid("no address of one interface");
        }
        if self.attaches && self.host.name.is_none() {
            return invalid("attach needs host-if-name");
        }
        if self.is_tun && (self.mac.is_some() || self.host.mac.is_some()) {
            return invalid("a tun interface has no layer 2 address");
        }
        Ok(())
    }
}

/// Moves a receiving queue of an interface to another thread.
fn place(
    router: &mut Router,
    index: InterfaceIndex,
    number: usize,
    thread: usize,
) -> Result<(), String> {
    let done =
        router.with(|all: &mut Taps, router: &mut Router| all.place(router, index, number, thread));
    done.unwrap_or(Err(Error::Unknown)).map_err(|e| e.to_string())
}

impl Taps {
    pub(super) fn new(node: NodeIndex) -> Self {
        Self { node, list: Vec::new(), closing: Vec::new() }
    }
    /// Makes an interface, down, and its device, switched on.
    ///
    /// # Errors
    /// See [`Error`]; nothing is made then.
    pub fn create(
        &mut self,
        router: &mut Router,
        mut wanted: Wanted,
    ) -> Result<InterfaceIndex, Error> {
        wanted.check()?;
        let is_used = |id: &u32| self.list.iter().any(|t| t.id == *id);
        let id = match wanted.id {
            Some(id) if id >= MOST_TAPS => {
                return Err(Error::Invalid(format!("an id is below {MOST_TAPS}")));
            }
            Some(id) if is_used(&id) => return Err(Error::IdInUse(id)),
            Some(id) => id,
            None => (0..MOST_TAPS).find(|id| !is_used(id)).ok_or(Error::IdInUse(MOST_TAPS))?,
        };
        let usual = format!("{}{id}", if wanted.is_tun { "tun" } else { "tap" });
        let name = wanted.name.clone().unwrap_or(usual);
        wanted.host.name.get_or_insert_with(|| name.clone());
        if router.interfaces.named(&name).is_some() {
            return Err(interface::Error::NameInUse(name).into());
        }
        let (device, queues) = self.open(&wanted)?;
        let made = self.add(router, &wanted, name, &queues)?;
        let threads = self.hand_over(router, made, &wanted, &queues);
        self.list.push(Tap { id, index: made, wanted, device, queues, threads: Vec::new() });
        match threads {
            Ok(threads) => {
                let rx = threads.iter().map(|thread| RxQueue::new(*thread, self.node, place));
                router.set_rx_queues(made, rx.collect());
                if let Some(tap) = self.list.last_mut() {
                    tap.threads = threads;
                }
                router.set_link(made, true);
                Ok(made)
            }
            Err(e) => {
                self.delete(router, made)?;
                Err(e)
            }
        }
    }
    /// Opens the device. If it is in use it may be one that is being closed.
    fn open(&mut self, wanted: &Wanted) -> Result<(u32, Queues), Error> {
        let opened = open(wanted);
        let is_busy = |e: &Error| {
            let codes = [Some(libc::EBUSY), Some(libc::EINVAL)];
            matches!(e, Error::System(_, e) if codes.contains(&e.raw_os_error()))
        };
        if !opened.as_ref().is_err_and(is_busy) || self.closing.is_empty() {
            return opened;
        }
        for thread in self.closing.drain(..) {
            // Whether closing went well is seen below.
            let _ = thread.join();
        }
        open(wanted)
    }
    fn add(
        &self,
        router: &mut Router,
        wanted: &Wanted,
        name: String,
        queues: &Queues,
    ) -> Result<InterfaceIndex, Error> {
        let mac = if wanted.is_tun { MacAddr::ZERO } else { wanted.mac.unwrap_or_else(random_mac) };
        let index = Arc::new(OnceLock::new());
        let tx = TapTx::new(Arc::clone(queues), Arc::clone(&index), &router.interfaces);
        let new = NewInterface {
            name,
            kind: if wanted.is_tun { Kind::Ip } else { Kind::Ethernet },
            hardware: HARDWARE,
            mac,
            mtu: MTU,
            offloads: Offloads { checksum: !wanted.completes, gso: !wanted.completes },
            link_follows_admin: false,
        };
        let made = router.add_interface(new, tx)?;
        index.set(made).expect("set here only");
        Ok(made)
    }
    /// Gives the receiving queues to threads; returns which.
    fn hand_over(
        &self,
        router: &mut Router,
        index: InterfaceIndex,
        wanted: &Wanted,
        queues: &[Arc<OwnedFd>],
    ) -> Result<Vec<usize>, Error> {
        if router.engine.data_threads().is_empty() {
            return Err(Error::Invalid("the router does not run yet".to_owned()));
        }
        let threads = router.threads_for_queues(wanted.queues.0.max(1).min(queues.len()));
        for (number, (fd, thread)) in queues.iter().zip(&threads).enumerate() {
            let queue = Queue::new(index.0, number, wanted.is_tun, Arc::clone(fd));
            self.serve(router, *thread, fd, queue)?;
        }
        Ok(threads)
    }
    /// Has a thread serve a queue.
    fn serve(
        &self,
        router: &mut Router,
        thread: usize,
        fd: &OwnedFd,
        queue: Queue,
    ) -> Result<(), Error> {
        let (engine, node) = (&mut router.engine, self.node);
        engine.watch(thread, node, fd.as_fd()).map_err(|e| Error::System("epoll", e))?;
        engine.with_node(thread, node, |n: &mut TapInput| n.add(queue))?;
        engine.set_input_state(thread, node, InputState::Adaptive);
        Ok(())
    }
    /// Moves a receiving queue to another thread.
    fn place(
        &mut self,
        router: &mut Router,
        index: InterfaceIndex,
        number: usize,
        thread: usize,
    ) -> Result<(), Error> {
        let at = self.list.iter().position(|t| t.index == index).ok_or(Error::Unknown)?;
        let fd = Arc::clone(self.list[at].queues.get(number).ok_or(Error::Unknown)?);
        let from = *self.list[at].threads.get(number).ok_or(Error::Unknown)?;
        let take = move |n: &mut TapInput| n.take(index.0, Some(number));
        let (queues, _) = router.engine.with_node(from, self.node, take)?;
        router.engine.unwatch(from, fd.as_fd()).map_err(|e| Error::System("epoll", e))?;
        for queue in queues {
            self.serve(router, thread, &fd, queue)?;
        }
        self.list[at].threads[number] = thread;
        Ok(())
    }
    /// Deletes an interface and, unless it is to stay, its device.
    ///
    /// # Errors
    /// [`Error::Unknown`]; [`Error::NoAnswer`]: then the interface stays, to be deleted again.
    pub fn delete(&mut self, router: &mut Router, index: InterfaceIndex) -> Result<(), Error> {
        let at = self.list.iter().position(|t| t.index == index).ok_or(Error::Unknown)?;
        let (engine, node) = (&mut router.engine, self.node);
        for thread in engine.data_threads() {
            let take = move |n: &mut TapInput| n.take(index.0, None);
            let (_, left) = engine.with_node(thread, node, take)?;
            if left == 0 {
                engine.set_input_state(thread, node, InputState::Disabled);
            }
        }
        let gone = self.list.remove(at);
        for (thread, fd) in gone.threads.iter().zip(gone.queues.iter()) {
            // It may not be watched, if making the interface failed half-way.
            let _ = engine.unwatch(*thread, fd.as_fd());
        }
        router.remove_interface(index);
        // Until here a thread may hold the queues.
        router.engine.fence()?;
        self.closing.retain(|thread| !thread.is_finished());
        self.closing.extend(close_elsewhere(gone.queues));
        Ok(())
    }
}

/// Opens the queues of the device, in its namespace, and makes it as it is wanted.
fn open(wanted: &Wanted) -> Result<(u32, Queues), Error> {
    let mut step = "open /dev/net/tun";
    let opened = namespace::within(wanted.host.namespace.as_deref(), || {
        let name = wanted.host.name.as_deref().unwrap_or_default();
        if wanted.attaches {
            step = "host-if-name";
            number_of(name)?;
        }
        let count = wanted.queues.0.max(wanted.queues.1).max(1);
        let kind = device::Kind { is_tun: wanted.is_tun, has_queues: count > 1 };
        step = "create device";
        let queue = |_| Ok(Arc::new(device::open_queue(name, kind)?));
        let queues = (0..count).map(queue).collect::<io::Result<Arc<[_]>>>()?;
        if let Some(first) = queues.first() {
            step = "offloads";
            device::set_leaves(first, wanted.leaves)?;
            if wanted.persists {
                step = "persist";
                device::set_persistent(first, true)?;
            }
        }
        let number = number_of(name)?;
        set_up(number, wanted, &mut step)?;
        Ok((number, queues))
    });
    opened.map_err(|e| Error::System(step, e))
}

/// The number of a device in the namespace of this thread.
fn number_of(name: &str) -> io::Result<u32> {
    let probe = socket(AddressFamily::UNIX, SocketType::DGRAM, None)?;
    Ok(name_to_index(probe, name)?)
}

fn set_up(device: u32, wanted: &Wanted, step: &mut &'static str) -> io::Result<()> {
    let host = &wanted.host;
    let mut netlink = Netlink::open()?;
    if wanted.rings.0 > 0 {
        *step = "rx-ring-size";
        netlink.set_queue_len(device, wanted.rings.0)?;
    }
    if let Some(mac) = host.mac {
        *step = "host-mac-addr";
        netlink.set_mac(device, mac)?;
    }
    if let Some(mtu) = host.mtu {
        *step = "host-mtu-size";
        netlink.set_mtu(device, mtu)?;
    }
    if let Some(bridge) = &host.bridge {
        *step = "host-bridge";
        netlink.set_bridge(device, number_of(bridge)?)?;
    }
    *step = "switch the device on";
    netlink.switch_on(device)?;
    for address in host.ip4.iter().chain(&host.ip6) {
        *step = "host-ip-addr";
        netlink.add_address(device, *address)?;
    }
    for gateway in &host.gateways {
        *step = "host-ip-gw";
        netlink.add_default_route(device, *gateway)?;
    }
    Ok(())
}

/// Shows the host whether the interface is up.
pub(super) fn follow(router: &mut Router, index: InterfaceIndex, change: Change) {
    let is_up = router.interfaces.at(index).is_some_and(|i| i.admin_up);
    if change != Change::State {
        return;
    }
    let Some(taps) = router.state::<Taps>() else { return };
    let Some(tap) = taps.list.iter().find(|t| t.index == index) else { return };
    if let Some(Err(e)) = tap.queues.first().map(|queue| device::set_carrier(queue, is_up)) {
        router.log.class("tap", "").warn(format_args!("cannot set the carrier: {e}"));
    }
}
