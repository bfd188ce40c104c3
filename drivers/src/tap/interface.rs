//! Making and deleting tap and tun interfaces.
#![forbid(unsafe_code)]

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use crate::gro::{Coalescer, Shape};
use control::feature::Refusal;
use graph::NodeIndex;
use net::interface::{self, Change, Interface, Kind, NewInterface, Offloads, TxQueues};
use net::{InterfaceIndex, Router};
use wire::{MacAddr, Prefix};

use super::device::{self, Leaves};
use super::input::Queue;
use super::link;
use super::open::{Opened, open_after};
use super::tx::TapTx;
use crate::host::background::{Background, Opening, Opens};
use crate::host::netlink::{LinkMonitor, Namespace};
use crate::host::serving::{Failed, Serving, place, served};
use crate::host::{Kernel, close_unused, stable_mac};

/// Hardware class.
pub const HARDWARE: &str = "virtio";
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
    /// Devices that are still being closed.
    closing: Vec<JoinHandle<()>>,
    /// Tell when something about devices changes, each for a namespace.
    pub news: Vec<LinkMonitor>,
    /// Time of the next check that all devices are there, in seconds of the router's clock.
    pub due: f64,
}

/// One interface.
pub struct Tap {
    /// Index.
    pub id: u32,
    /// Interface index.
    pub index: InterfaceIndex,
    /// Parameters it was made from; the name of the device is filled in.
    pub wanted: Parameters,
    /// Device number in its namespace.
    pub device: u32,
    /// The namespace it was made in.
    pub namespace: Namespace,
    /// MTU of the device when it was last seen.
    pub mtu: u32,
    /// Its queues. Control keeps them so that it is who closes them.
    pub queues: Queues,
    /// Threads that serve the queues that receive.
    pub serving: Serving,
    /// Whether the host has deleted the device.
    pub is_gone: bool,
}

/// Parameters of a new interface.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// Its number; the lowest free one if `None`.
    pub id: Option<u32>,
    /// Its name; `tap` or `tun` and its number if `None`.
    pub name: Option<String>,
    /// Its address; one of its own, the same after a restart, if `None`.
    pub mac: Option<MacAddr>,
    /// Queues that receive, and queues that send; 0 for one. The device has as many as the more of
    /// both, and all of them receive.
    pub queues: (usize, usize),
    /// Packets that may wait on the way to the router, and on the way to the host; 0 for as many as
    /// is usual.
    pub rings: (u32, u32),
    /// Carries IP packets without a layer 2 header.
    pub is_tun: bool,
    /// Offloads left undone on the way to the router.
    pub leaves: Leaves,
    /// Everything is completed on the way to the host.
    pub completes: bool,
    /// TCP segments are joined on the way to the host.
    pub coalesces: bool,
    /// The device stays when the interface goes.
    pub persists: bool,
    /// Attach to an existing device.
    pub attaches: bool,
    /// Part of something else, in whose configuration it is.
    pub is_part: bool,
    /// About the device.
    pub host: Host,
}

/// The host's side of the device.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Its name; that of the interface if `None`.
    pub name: Option<String>,
    /// Its network namespace; the router's own if `None`.
    pub namespace: Option<String>,
    /// A bridge that it is to be a port of.
    pub bridge: Option<String>,
    /// MAC address.
    pub mac: Option<MacAddr>,
    /// Its MTU in bytes.
    pub mtu: Option<u32>,
    /// Its IPv4 address.
    pub ip4: Option<Prefix>,
    /// Its IPv6 address.
    pub ip6: Option<Prefix>,
    /// Gateways of default routes over it.
    pub gateways: Vec<IpAddr>,
    /// Left down.
    pub is_off: bool,
}

/// Reasons why an interface cannot be made or deleted.
#[derive(Debug, Refusal)]
pub enum Error {
    /// interface {0} already exists
    #[retval(INVALID_INTERFACE)]
    IdInUse(u32),
    /// {0}
    #[retval(INVALID_VALUE)]
    Invalid(String),
    /// not a tap interface
    #[retval(INVALID_SW_IF_INDEX)]
    Unknown,
    /// {0}: {1}
    #[retval(SYSCALL_ERROR_1)]
    System(&'static str, Kernel),
    /// {0}
    #[from]
    Refused(interface::Error),
    /// {0}
    #[from]
    #[retval(UNSPECIFIED)]
    NoAnswer(graph::NoAnswer),
}

impl From<Failed> for Error {
    fn from(e: Failed) -> Self {
        match e {
            Failed::NoQueue => Self::Unknown,
            Failed::NoAnswer(e) => Self::NoAnswer(e),
            Failed::System(e) => Self::System("epoll", Kernel(e)),
        }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), Error> {
        let invalid = |why: &str| Err(Error::Invalid(why.to_owned()));
        let (rx, tx) = self.queues;
        let is_ring = |n: u32| n == 0 || n.is_power_of_two() && n <= MAX_RING;
        let is_unicast = |mac: Option<MacAddr>| mac.is_none_or(|m| !m.is_multicast());
        if rx > MAX_QUEUES || tx > MAX_QUEUES {
            return invalid("at most 64 queues");
        }
        if !is_ring(self.rings.0) || !is_ring(self.rings.1) {
            return invalid("ring size must be a power of 2, 32768 at most");
        }
        if !is_unicast(self.mac) || !is_unicast(self.host.mac) {
            return invalid("not a unicast MAC address");
        }
        if self.attaches && self.host.name.is_none() {
            return invalid("attach needs host-if-name");
        }
        if self.is_tun && (self.mac.is_some() || self.host.mac.is_some()) {
            return invalid("a tun interface has no MAC address");
        }
        Ok(())
    }
}

served!(Taps, Queue, Error::Unknown);

impl Opens for Taps {
    type Wanted = Parameters;
    type Made = Opened;

    fn begin(&mut self, router: &Router, wanted: &mut Parameters) -> Result<Opening<Self>, Error> {
        wanted.check()?;
        if router.engine.data_threads().is_empty() {
            return Err(Error::Invalid("the router does not run yet".to_owned()));
        }
        let id = match wanted.id {
            Some(id) if id >= MOST_TAPS => {
                return Err(Error::Invalid(format!("an id must be below {MOST_TAPS}")));
            }
            Some(id) if self.is_used(id) => return Err(Error::IdInUse(id)),
            Some(id) => id,
            None => {
                let free = (0..MOST_TAPS).find(|id| !self.is_used(*id));
                free.ok_or(Error::IdInUse(MOST_TAPS))?
            }
        };
        wanted.id = Some(id);
        let usual = format!("{}{id}", if wanted.is_tun { "tun" } else { "tap" });
        let name = wanted.name.get_or_insert(usual).clone();
        wanted.host.name.get_or_insert_with(|| name.clone());
        if router.interfaces.named(&name).is_some() {
            return Err(interface::Error::NameInUse(name).into());
        }
        let (wanted, closing) = (wanted.clone(), std::mem::take(&mut self.closing));
        Ok(Background::begin(move || open_after(&wanted, closing)))
    }
    fn finish(
        &mut self,
        router: &mut Router,
        wanted: Parameters,
        opened: io::Result<Result<Opened, Error>>,
    ) -> Result<InterfaceIndex, Error> {
        let Opened { device, queues, news, mtu } =
            opened.map_err(|e| Error::System("open", Kernel(e)))??;
        let id = wanted.id.unwrap_or_default();
        if self.is_used(id) {
            return Err(Error::IdInUse(id));
        }
        let watched = router.processes.watch(link::PROCESS, news.as_fd());
        watched.map_err(|e| Error::System("epoll", Kernel(e)))?;
        let made = add(router, &wanted, &queues)?;
        let queue = |(number, fd): (usize, &Arc<OwnedFd>)| {
            (Queue::new(made.0, number, wanted.is_tun, Arc::clone(fd)), Arc::clone(fd))
        };
        // The host sends on all queues, whichever of them the router sends on.
        let receivers = queues.iter().enumerate().map(queue).collect();
        let serving = Serving::default();
        let (is_gone, namespace) = (false, news.namespace());
        if self.news.iter().all(|other| other.namespace() != namespace) {
            self.news.push(news);
        }
        self.list.push(Tap {
            id,
            index: made,
            wanted,
            device,
            namespace,
            mtu,
            queues,
            serving,
            is_gone,
        });
        let tap = self.list.last_mut().expect("it was just put there");
        if let Err(e) = tap.serving.begin(router, (self.node, made, place::<Taps>), receivers) {
            self.delete(router, made)?;
            return Err(e.into());
        }
        router.set_link(made, true);
        router.processes.signal(link::PROCESS, 0);
        Ok(made)
    }
}

impl Taps {
    pub(super) fn new(node: NodeIndex) -> Self {
        let (list, closing, news) = (Vec::new(), Vec::new(), Vec::new());
        Self { node, list, closing, news, due: 0.0 }
    }
    fn is_used(&self, id: u32) -> bool {
        self.list.iter().any(|tap| tap.id == id)
    }
    /// Shows the host a link that is up or down, whatever the state of the interface, until that
    /// changes.
    pub fn show_carrier(&self, index: InterfaceIndex, is_up: bool) {
        let tap = self.list.iter().find(|t| t.index == index);
        if let Some(queue) = tap.and_then(|tap| tap.queues.first()) {
            // A device that is gone has no link to show.
            let _ = device::set_carrier(queue, is_up);
        }
    }
    /// Deletes an interface and, unless it is to stay, its device.
    ///
    /// # Errors
    /// [`Error::Unknown`]; [`Error::NoAnswer`]: then the interface stays, to be deleted again.
    pub fn delete(&mut self, router: &mut Router, index: InterfaceIndex) -> Result<(), Error> {
        let at = self.list.iter().position(|t| t.index == index).ok_or(Error::Unknown)?;
        let queues: Vec<Queue> = self.list[at].serving.end(router, (self.node, index))?;
        let gone = self.list.remove(at);
        router.remove_interface(index);
        self.closing.retain(|thread| !thread.is_finished());
        self.closing.extend(close_unused(router, (queues, gone.queues, gone.serving)));
        Ok(())
    }
}

fn add(router: &mut Router, wanted: &Parameters, fds: &Queues) -> Result<InterfaceIndex, Error> {
    let (name, host) = (wanted.name.as_deref().unwrap_or_default(), &wanted.host);
    let usual = || {
        let device = (host.namespace.as_deref(), host.name.as_deref());
        stable_mac(router, format_args!("{HARDWARE} {name} {device:?}"))
    };
    let mac = if wanted.is_tun { MacAddr::ZERO } else { wanted.mac.unwrap_or_else(usual) };
    let index = Arc::new(OnceLock::new());
    let queues = TxQueues::new(wanted.queues.1, router.engine.thread_rows());
    let around = (Arc::clone(&index), &router.interfaces);
    let shape = Shape { is_ethernet: !wanted.is_tun, is_gso: true };
    let coalescer = Coalescer::new(shape, wanted.coalesces);
    let tx = TapTx::new(Arc::clone(fds), queues.choice(), coalescer, around);
    let new = NewInterface {
        name: wanted.name.clone().unwrap_or_default(),
        kind: if wanted.is_tun { Kind::Ip } else { Kind::Ethernet },
        hardware: HARDWARE,
        mac,
        mtu: MTU,
        offloads: Offloads { checksum: !wanted.completes, gso: !wanted.completes, tunnels: false },
        link_follows_admin: false,
    };
    let made = router.add_interface(new, tx)?;
    index.set(made).expect("set here only");
    router.interfaces.set_tx_queues(made, queues);
    Ok(made)
}

/// Lines of `show hardware-interfaces`.
pub(super) fn describe(router: &Router, i: &Interface) -> Vec<String> {
    let all = router.state::<Taps>();
    let found = all.and_then(|all| all.list.iter().find(|tap| tap.index == i.index));
    let line = |tap: &Tap| {
        let kind = if tap.wanted.is_tun { "TUN" } else { "TAP" };
        let name = tap.wanted.host.name.as_deref().unwrap_or_default();
        format!("Linux {kind} interface, host device {name} (ifindex {})", tap.device)
    };
    found.map(line).into_iter().collect()
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
        router.log.class("tap", "default").warn(format_args!("cannot set the carrier: {e}"));
    }
}
