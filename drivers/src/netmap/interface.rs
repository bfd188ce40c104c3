//! Making and deleting interfaces on ports.
#![forbid(unsafe_code)]

use std::io;
use std::sync::{Arc, OnceLock};

use control::feature::Refusal;
use graph::NodeIndex;
use net::interface::{self, Change, Interface, Kind, NewInterface, Offloads, TxQueues};
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::input::Queue;
use super::kernel::{Direction, Socket, rings};
use super::memory::Ring;
use super::tx::{NetmapTx, Sender};
use crate::af_packet::ring::Device;
use crate::af_packet::sockets::{look, probe};
use crate::host::background::{Background, Opening, Opens};
use crate::host::serving::{Failed, Serving, place, served};
use crate::host::{Kernel, close_unused, stable_mac};

/// Hardware class.
pub const HARDWARE: &str = "netmap";
/// MTU of ports that are no devices.
const USUAL_MTU: u32 = 1500;
/// Bytes of an Ethernet header with two tags.
const HEADER: usize = 22;
/// Seconds between two looks at devices.
const PERIOD: f64 = 0.5;

/// All of them.
pub struct Netmaps {
    /// `netmap-input`.
    node: NodeIndex,
    /// In the order they were made.
    pub list: Vec<Netmap>,
}

/// One interface.
pub struct Netmap {
    /// Parameters it was made from.
    pub wanted: Wanted,
    /// Interface index.
    pub index: InterfaceIndex,
    /// Numbers of its receive and transmit rings.
    rings: (usize, usize),
    serving: Serving,
}

/// Parameters of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Name of the port: that of a device, a port of a VALE switch, or one of those with `{` or `}`
    /// and a number for an end of a pipe.
    pub port: String,
    /// Its address; that of the device if `None`, or a random one.
    pub mac: Option<MacAddr>,
}

/// A port that is open, before it becomes an interface.
pub struct Made {
    /// State of the device, where the port is one.
    pub(super) device: Option<Device>,
    pub(super) mac: Option<MacAddr>,
    pub(super) receivers: Vec<(Ring, Socket)>,
    pub(super) senders: Vec<Sender>,
}

/// Reason why an interface cannot be made or deleted.
#[derive(Debug, Refusal)]
pub enum Error {
    /// not a netmap interface
    #[retval(INVALID_INTERFACE)]
    Unknown,
    /// `{0}' has an interface
    #[retval(IF_ALREADY_EXISTS)]
    Exists(String),
    /// {0}
    #[retval(INVALID_VALUE)]
    Invalid(&'static str),
    /// {0}: {1}
    #[retval(SYSCALL_ERROR_1)]
    System(&'static str, Kernel),
    /// the kernel has no netmap: load its module, which creates /dev/netmap
    #[retval(SYSCALL_ERROR_1)]
    NoNetmap,
    /// {0}
    #[retval(UNSPECIFIED)]
    Refused(String),
}

crate::host::refused!(interface::Error, graph::NoAnswer, Failed);

impl Wanted {
    /// The device that the port is, if it is one.
    fn device(&self) -> Option<&str> {
        let is_other = self.port.starts_with("vale") || self.port.contains(['{', '}']);
        (!is_other).then_some(&*self.port)
    }
    /// Interface name.
    pub fn name(&self) -> String {
        format!("netmap-{}", self.port)
    }
    /// Opens what it takes, which the kernel takes long for.
    fn open(&self) -> Result<Made, Error> {
        let system = |step| move |e| Error::System(step, Kernel(e));
        let (tx, rx) = rings(&self.port).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Error::NoNetmap,
            _ => Error::System("ask for the port", Kernel(e)),
        })?;
        if tx == 0 || rx == 0 {
            return Err(Error::Invalid("the port has no rings"));
        }
        let device = self.device().map(|name| look(None, name)).transpose();
        let device = device.map_err(system("name"))?.map(|seen| seen.device);
        let open = |direction| {
            move |number| {
                let socket = Socket::open(&self.port, direction, number);
                let socket = socket.map_err(system("take a ring"))?;
                let ring = Ring::new(&socket.region, socket.port, direction, number);
                let ring = ring.ok_or(Error::Invalid("the kernel's rings are of another kind"))?;
                Ok((ring, socket))
            }
        };
        let receivers = (0..rx).map(open(Direction::Rx)).collect::<Result<_, Error>>()?;
        let senders = (0..tx).map(open(Direction::Tx)).collect::<Result<Vec<_>, Error>>()?;
        let senders = senders.into_iter().map(|(ring, socket)| Sender { ring, socket }).collect();
        let mac = self.device().map(mac_of).transpose().map_err(system("name"))?;
        Ok(Made { device, mac, receivers, senders })
    }
}

fn mac_of(device: &str) -> io::Result<MacAddr> {
    Device::mac(probe()?, device)
}

impl Netmaps {
    pub(super) fn new(node: NodeIndex) -> Self {
        Self { node, list: Vec::new() }
    }
    /// The interface on a port.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn named(&self, port: &str) -> Result<InterfaceIndex, Error> {
        let found = self.list.iter().find(|i| i.wanted.port == port);
        found.map(|i| i.index).ok_or(Error::Unknown)
    }
    /// Deletes an interface. The device is the host's again.
    ///
    /// # Errors
    /// [`Error::Unknown`]; a thread that does not answer: then it can be done again.
    pub fn delete(&mut self, router: &mut Router, index: InterfaceIndex) -> Result<(), Error> {
        let at = self.list.iter().position(|i| i.index == index).ok_or(Error::Unknown)?;
        let queues: Vec<Queue> = self.list[at].serving.end(router, (self.node, index))?;
        let gone = self.list.remove(at);
        router.remove_interface(index);
        close_unused(router, (queues, gone.serving));
        Ok(())
    }
}

served!(Netmaps, Queue, Error::Unknown);

impl Opens for Netmaps {
    type Wanted = Wanted;
    type Made = Made;

    fn begin(&mut self, router: &Router, wanted: &mut Wanted) -> Result<Opening<Self>, Error> {
        if wanted.port.is_empty() || wanted.port.contains(char::is_whitespace) {
            return Err(Error::Invalid("name: expected that of a port"));
        }
        if self.list.iter().any(|i| i.wanted.port == wanted.port) {
            return Err(Error::Exists(wanted.port.clone()));
        }
        if router.engine.data_threads().is_empty() {
            return Err(Error::Refused("the router does not run yet".to_owned()));
        }
        let wanted = wanted.clone();
        Ok(Background::begin(move || wanted.open()))
    }
    fn finish(
        &mut self,
        router: &mut Router,
        wanted: Wanted,
        made: io::Result<Result<Made, Error>>,
    ) -> Result<InterfaceIndex, Error> {
        let Made { device, mac, receivers, senders } =
            made.map_err(|e| Error::System("open", Kernel(e)))??;
        let index = Arc::new(OnceLock::new());
        let rings = (receivers.len(), senders.len());
        let queues = TxQueues::new(senders.len(), router.engine.thread_rows());
        let around = (Arc::clone(&index), &router.interfaces);
        let room = senders.iter().map(|s| s.ring.room()).min().unwrap_or(0);
        let most = u32::try_from(room.saturating_sub(HEADER)).unwrap_or(USUAL_MTU);
        let tx = NetmapTx::new(senders, queues.choice(), around);
        let usual = || stable_mac(router, format_args!("{HARDWARE} {}", wanted.name()));
        let new = NewInterface {
            name: wanted.name(),
            kind: Kind::Ethernet,
            hardware: HARDWARE,
            mac: wanted.mac.or(mac).unwrap_or_else(usual),
            mtu: device.as_ref().map_or(USUAL_MTU, |device| device.mtu).min(most),
            offloads: Offloads::default(),
            link_follows_admin: device.is_none(),
        };
        let made = router.add_interface(new, tx)?;
        index.set(made).expect("set here only");
        router.interfaces.set_tx_queues(made, queues);
        if let Some(device) = &device {
            router.set_link(made, device.is_running);
            router.interfaces.follow_device_speed(made, device.speed_kbps);
        }
        let queue = |(number, (ring, socket)): (usize, (Ring, Socket))| {
            let fd = socket.fd();
            (Queue { interface: made.0, number, ring, socket }, fd)
        };
        let receivers = receivers.into_iter().enumerate().map(queue).collect();
        self.list.push(Netmap { wanted, index: made, rings, serving: Serving::default() });
        let entry = self.list.last_mut().expect("it was just put there");
        let place = place::<Self>;
        if let Err(e) = entry.serving.begin(router, (self.node, made, place), receivers) {
            self.delete(router, made)?;
            return Err(e.into());
        }
        if self.list.len() == 1 {
            router.after(PERIOD, watch, 0);
        }
        Ok(made)
    }
}

/// Follows the links of devices, as long as there are interfaces.
fn watch(router: &mut Router, _: u64) {
    let list = &router.own::<Netmaps>().list;
    let state = |i: &Netmap| {
        let device = i.wanted.device()?;
        Some((i.index, look(None, device).ok().map(|seen| seen.device.is_running)))
    };
    let (is_more, states) = (!list.is_empty(), list.iter().filter_map(state).collect::<Vec<_>>());
    for (index, is_running) in states {
        match is_running {
            Some(is_running) => router.set_link(index, is_running),
            None => router.lose_device(index),
        }
    }
    if is_more {
        router.after(PERIOD, watch, 0);
    }
}

/// Switches the device on with its interface.
pub(super) fn follow(router: &mut Router, index: InterfaceIndex, change: Change) {
    let Some(i) = router.interfaces.at(index).filter(|i| i.hardware == HARDWARE) else { return };
    if change != Change::State || !i.admin_up {
        return;
    }
    let Some(all) = router.state::<Netmaps>() else { return };
    let entry = all.list.iter().find(|i| i.index == index);
    let Some(device) = entry.and_then(|entry| entry.wanted.device()) else { return };
    if let Err(e) = probe().and_then(|probe| Device::switch_on(probe, device)) {
        let log = router.log.class("netmap", "default");
        log.warn(format_args!("cannot switch on {device}: {e}"));
    }
}

/// Lines of `show hardware-interfaces`.
pub(super) fn describe(router: &Router, i: &Interface) -> Vec<String> {
    let found = router.own::<Netmaps>().list.iter().find(|entry| entry.index == i.index);
    let Some(entry) = found else { return Vec::new() };
    let (rx, tx) = entry.rings;
    vec![format!("netmap port {}", entry.wanted.port), format!("  rx rings {rx} tx rings {tx}")]
}
