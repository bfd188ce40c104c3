//! Making and deleting `host-X` interfaces.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use control::feature::Refusal;
use graph::NodeIndex;
use infra::rcu::Shared;
use net::interface::{self, Change, Interface, Kind, NewInterface, Offloads, TxQueues};
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::input::Queue;
use super::link::look_now;
use super::sockets::{Sockets, probe};
use super::tx::{HostTx, Senders};
use super::{ring, ring::Device};
use crate::host::background::{Background, Opening, Opens};
use crate::host::netlink::LinkMonitor;
use crate::host::serving::{Failed, Serving, place, served};
use crate::host::{Kernel, close_elsewhere, close_unused, numa_node, stable_mac};

/// Hardware class.
pub const HARDWARE: &str = "af-packet";
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
    /// Tells when something about devices changes; `None` where the kernel does not.
    pub news: Option<LinkMonitor>,
    /// Time of the next look at all devices, in seconds of the router's clock.
    pub due: f64,
}

/// One interface.
pub struct HostInterface {
    /// Parameters it was made from.
    pub wanted: Parameters,
    /// Number of the device when it was opened last.
    pub number: u32,
    /// Name of the device now: the host may change it.
    pub name: String,
    /// Interface index.
    pub index: InterfaceIndex,
    /// Its sockets that receive, and who serves them.
    pub serving: Serving,
    /// Its sockets that send.
    pub senders: Shared<Senders>,
    /// Sockets being opened for another device of the name.
    pub reopening: Option<Background<Result<Sockets, Error>>>,
    /// Bytes that the device carried, and its speed, when it was last seen.
    pub told: (u32, u32),
    /// Packets the kernel had no room for, as counted so far.
    pub lost: u64,
}

/// Parameters of a new interface.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Device name.
    pub device: String,
    /// Number of receive sockets.
    pub rx_queues: usize,
    /// Number of transmit sockets.
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

/// Reasons why an interface cannot be made or deleted.
#[derive(Debug, Refusal)]
pub enum Error {
    /// Invalid interface name
    #[retval(INVALID_INTERFACE)]
    NoDevice,
    /// Invalid interface name: there is no such device in this network namespace
    #[retval(INVALID_INTERFACE)]
    NoHostDevice,
    /// Interface already exists
    #[retval(IF_ALREADY_EXISTS)]
    Exists,
    /// not permitted: packet sockets need CAP_NET_RAW
    #[retval(SYSCALL_ERROR_1)]
    NotPermitted,
    /// {0}
    #[retval(INVALID_INTERFACE)]
    WrongKind(&'static str),
    /// {0}
    #[retval(SYSCALL_ERROR_1)]
    System(Kernel),
    /// {0}
    #[retval(UNSPECIFIED)]
    Refused(String),
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        match e.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO) => Self::NoHostDevice,
            Some(libc::EPERM | libc::EACCES) => Self::NotPermitted,
            _ => Self::System(Kernel(e)),
        }
    }
}

impl From<Failed> for Error {
    fn from(e: Failed) -> Self {
        match e {
            Failed::NoQueue => Self::NoDevice,
            Failed::NoAnswer(e) => e.into(),
            Failed::System(e) => e.into(),
        }
    }
}

impl From<graph::NoAnswer> for Error {
    fn from(e: graph::NoAnswer) -> Self {
        Self::Refused(e.to_string())
    }
}

impl From<interface::Error> for Error {
    fn from(e: interface::Error) -> Self {
        match e {
            interface::Error::NameInUse(_) => Self::Exists,
            e => Self::Refused(e.to_string()),
        }
    }
}

impl HostInterfaces {
    pub(super) fn new(node: NodeIndex) -> Self {
        let next_group = std::process::id() as u16;
        Self { node, list: Vec::new(), next_group, news: None, due: 0.0 }
    }
    fn open(&mut self, wanted: &Parameters) -> Background<Result<Sockets, Error>> {
        // Several receive sockets share received packets as a group, which has a number.
        self.next_group = self.next_group.wrapping_add(1);
        let (wanted, group) = (wanted.clone(), ring::Fanout(self.next_group));
        Background::begin(move || Sockets::open(&wanted, group))
    }
    /// Starts to reopen the device of an interface: there is another one of its name.
    pub(super) fn reopen(&mut self, at: usize) {
        let wanted = self.list[at].wanted.clone();
        self.list[at].reopening = Some(self.open(&wanted));
    }
    /// Makes an interface use the newly opened sockets.
    ///
    /// # Errors
    /// The kernel's, a thread that does not answer.
    pub(super) fn replace(
        &mut self,
        router: &mut Router,
        at: usize,
        sockets: Sockets,
    ) -> Result<(), Error> {
        let interface = &mut self.list[at];
        let queues = receivers(interface.index, interface.wanted.is_ip, sockets.receivers);
        let key = (self.node, interface.index);
        let old: Vec<Queue> = interface.serving.replace(router, key, queues)?;
        let senders = Arc::clone(interface.senders.current());
        interface.senders.publish(Senders::from(sockets.senders));
        interface.number = sockets.number;
        interface.name.clone_from(&interface.wanted.device);
        interface.told.0 = sockets.device.mtu;
        let (name, Some(i)) = (&interface.name, router.interfaces.at(interface.index)) else {
            return Ok(());
        };
        if let Some(socket) = interface.senders.current().first() {
            if i.admin_up && !sockets.device.is_running {
                Device::switch_on(socket, name)?;
            }
            if i.link_mtu != sockets.device.mtu {
                Device::set_mtu(socket, name, i.link_mtu)?;
                interface.told.0 = i.link_mtu;
            }
        }
        router.engine.fence()?;
        close_elsewhere((old, senders));
        Ok(())
    }
    /// Deletes the interface of a device.
    ///
    /// # Errors
    /// There is none; or a thread does not answer: then the interface stays, to be deleted again.
    pub fn delete(&mut self, router: &mut Router, device: &str) -> Result<(), Error> {
        let is_it = |i: &HostInterface| i.wanted.device == device;
        let at = self.list.iter().position(is_it).ok_or(Error::NoDevice)?;
        let index = self.list[at].index;
        let queues: Vec<Queue> = self.list[at].serving.end(router, (self.node, index))?;
        let gone = self.list.remove(at);
        if self.list.is_empty() {
            self.news = None;
        }
        router.remove_interface(index);
        close_unused(router, (queues, gone.serving, gone.senders));
        Ok(())
    }
}

/// Name of the interface on a device.
fn name_of(device: &str) -> String {
    format!("host-{device}")
}

/// Receive queues made of sockets, each with what wakes its thread.
fn receivers(
    index: InterfaceIndex,
    is_ip: bool,
    sockets: Vec<(OwnedFd, ring::Ring)>,
) -> Vec<(Queue, Arc<OwnedFd>)> {
    let queue = |(number, (socket, ring))| {
        let socket = Arc::new(socket);
        let fd = Arc::clone(&socket);
        (Queue { interface: index.0, number, is_ip, ring, socket }, fd)
    };
    sockets.into_iter().enumerate().map(queue).collect()
}

served!(HostInterfaces, Queue, Error::NoDevice);

impl Opens for HostInterfaces {
    type Wanted = Parameters;
    type Made = Sockets;

    fn begin(&mut self, router: &Router, wanted: &mut Parameters) -> Result<Opening<Self>, Error> {
        if router.interfaces.named(&name_of(&wanted.device)).is_some() {
            return Err(Error::Exists);
        }
        if router.engine.data_threads().is_empty() {
            return Err(Error::Refused("the router does not run yet".to_owned()));
        }
        Ok(self.open(wanted))
    }
    fn finish(
        &mut self,
        router: &mut Router,
        wanted: Parameters,
        opened: io::Result<Result<Sockets, Error>>,
    ) -> Result<InterfaceIndex, Error> {
        let sockets = opened??;
        // Another device of this name, as in another container, has another address.
        let device = probe().and_then(|probe| Device::mac(probe, &wanted.device)).ok();
        let usual = || stable_mac(router, format_args!("{HARDWARE} {} {device:?}", wanted.device));
        let mac = wanted.mac.unwrap_or_else(usual);
        let index = Arc::new(OnceLock::new());
        let senders = Shared::new(Senders::from(sockets.senders));
        let queues = TxQueues::new(wanted.tx_queues, router.engine.thread_rows());
        let around = (Arc::clone(&index), &router.interfaces);
        let tx = HostTx::new(senders.reader(), queues.choice(), !wanted.is_ip, around);
        let new = NewInterface {
            name: name_of(&wanted.device),
            kind: if wanted.is_ip { Kind::Ip } else { Kind::Ethernet },
            hardware: HARDWARE,
            mac: if wanted.is_ip { MacAddr::ZERO } else { mac },
            mtu: sockets.device.mtu,
            offloads: Offloads { checksum: wanted.offloads, gso: wanted.offloads, tunnels: false },
            link_follows_admin: false,
        };
        let made = router.add_interface(new, tx)?;
        index.set(made).expect("set here only");
        router.interfaces.set_tx_queues(made, queues);
        router.set_link(made, sockets.device.is_running);
        router.interfaces.follow_device_speed(made, sockets.device.speed_kbps);
        router.interfaces.set_numa_node(made, numa_node(&wanted.device));
        self.list.push(HostInterface {
            wanted: wanted.clone(),
            number: sockets.number,
            name: wanted.device.clone(),
            index: made,
            serving: Serving::default(),
            senders,
            reopening: None,
            told: (sockets.device.mtu, sockets.device.speed_kbps),
            lost: 0,
        });
        let interface = self.list.last_mut().expect("it was just put there");
        let queues = receivers(made, wanted.is_ip, sockets.receivers);
        if let Err(e) =
            interface.serving.begin(router, (self.node, made, place::<HostInterfaces>), queues)
        {
            self.delete(router, &wanted.device)?;
            return Err(e.into());
        }
        Ok(made)
    }
}

/// Switches the device on with its interface, and lets it carry as much.
pub(super) fn follow(router: &mut Router, index: InterfaceIndex, change: Change) {
    let Some(i) = router.interfaces.at(index).filter(|i| i.hardware == HARDWARE) else { return };
    let (is_up, mtu) = (i.admin_up, i.link_mtu);
    let Some(all) = router.state_mut::<HostInterfaces>() else { return };
    let Some(host) = all.list.iter_mut().find(|i| i.index == index) else { return };
    let name = host.name.clone();
    let Some(socket) = host.senders.current().first() else { return };
    let is_running = || Device::named(socket, &name).is_ok_and(|device| device.is_running);
    let is_switched_on = change == Change::State && is_up && !is_running();
    let (what, done) = match change {
        _ if is_switched_on => ("switch on", Device::switch_on(socket, &name)),
        Change::Mtu if mtu != host.told.0 => {
            ("change the MTU of", Device::set_mtu(socket, &name, mtu))
        }
        _ => return,
    };
    if change == Change::Mtu && done.is_ok() {
        host.told.0 = mtu;
    }
    if let Err(e) = done {
        let log = router.log.class("af_packet", "default");
        log.warn(format_args!("cannot {what} {name}: {e}"));
    } else if is_switched_on {
        // Once all are notified of this change. The kernel's own message may take longer.
        router.after(0.0, look_now, index.0.into());
    }
}

/// Lines of `show hardware-interfaces`.
pub(super) fn describe(router: &Router, i: &Interface) -> Vec<String> {
    let all = router.state::<HostInterfaces>();
    let found = all.and_then(|all| all.list.iter().find(|host| host.index == i.index));
    let Some(host) = found else { return Vec::new() };
    let state = |is_on| if is_on { "enabled" } else { "disabled" };
    vec![
        "Linux PACKET socket interface v2".to_owned(),
        "FEATURES:".to_owned(),
        format!("  qdisc-bpass-{}", state(host.wanted.bypasses_qdisc)),
        format!("  cksum-gso-{}", state(i.offloads.checksum && i.offloads.gso)),
    ]
}
