//! Making and deleting interfaces on devices, which are looked at once a second.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use control::feature::Refusal;
use graph::NodeIndex;
use net::interface::{self, Change, Interface, Kind, NewInterface, Offloads, TxQueues};
use net::{InterfaceIndex, Router};

use super::input::Queue;
use super::kernel::{self, Mode, Opened, Options, Program};
use super::tx::AfXdpTx;
use crate::af_packet::ring::Device;
use crate::af_packet::sockets::{look, probe};
use crate::host::background::{Background, Opening, Opens};
use crate::host::namespace::within;
use crate::host::serving::{Failed, Serving, place, served};
use crate::host::{Kernel, close_elsewhere, names_in, numa_node, stable_mac};

/// Hardware class.
pub const HARDWARE: &str = "af_xdp";
/// Queues at most.
pub const MAX_QUEUES: u16 = 64;
/// Stands for all queues that the device has.
pub const ALL_QUEUES: u16 = u16::MAX;
/// Packets that may wait, each way, when nothing else is said.
const USUAL_RING: u16 = 1024;

/// All of them.
pub struct AfXdps {
    /// `af_xdp-input`.
    node: NodeIndex,
    /// In the order they were made.
    pub list: Vec<AfXdp>,
    /// Number of the next one, for its name.
    next: u32,
}

/// One interface.
pub struct AfXdp {
    /// Parameters it was made from.
    pub wanted: Wanted,
    /// Interface index.
    pub index: InterfaceIndex,
    /// Its device, in its namespace.
    device: Asked,
    /// Queues of its own.
    pub queues: usize,
    /// The device writes to the memory of the sockets itself.
    pub is_zero_copy: bool,
    serving: Serving,
    /// Passes packets to the sockets during its lifetime.
    program: Program,
}

/// Device and namespace that questions are about.
struct Asked {
    probe: OwnedFd,
    number: u32,
}

/// Parameters of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Device name.
    pub device: String,
    /// Its name; that of the device and a number if `None`.
    pub name: Option<String>,
    /// Queues of the device that it has.
    pub queues: u16,
    /// Receive and transmit ring sizes; 0 for the default.
    pub rings: (u16, u16),
    /// Copy mode.
    pub mode: Mode,
    /// Packets may be longer than a frame.
    pub is_multi_buffer: bool,
    /// Use the MAC address of the device.
    pub reuses_mac: bool,
    /// Network namespace of the device; the router's own if `None`.
    pub namespace: Option<String>,
}

/// Sockets, memory and program of an interface.
pub struct Made {
    device: Device,
    asked: Asked,
    mac: Option<wire::MacAddr>,
    program: Program,
    sockets: Vec<Opened>,
}

/// Reason why an interface cannot be made or deleted.
#[derive(Debug, Refusal)]
pub enum Error {
    /// not an af_xdp interface
    #[retval(INVALID_SW_IF_INDEX)]
    Unknown,
    /// {0}
    #[retval(INVALID_VALUE)]
    Invalid(String),
    /// {0}: {1}
    #[retval(SYSCALL_ERROR_1)]
    System(&'static str, Kernel),
    /// {0}
    #[retval(UNSPECIFIED)]
    Refused(String),
}

crate::host::refused!(interface::Error, graph::NoAnswer, Failed);

impl Wanted {
    fn check(&self) -> Result<(), Error> {
        let invalid = |why: &str| Err(Error::Invalid(why.to_owned()));
        let is_ring = |n: u16| n == 0 || n.is_power_of_two() && (64..=16_384).contains(&n);
        if !is_ring(self.rings.0) || !is_ring(self.rings.1) {
            return invalid("queue size must be a power of 2, 64 to 16384");
        }
        if self.queues != ALL_QUEUES && !(1..=MAX_QUEUES).contains(&self.queues) {
            return invalid("queues must be 1 to 64, or all");
        }
        if self.device.is_empty() {
            return invalid("host-if is missing");
        }
        Ok(())
    }
    /// Opens what it takes, which the kernel takes long for.
    fn open(&self) -> Result<Made, Error> {
        let mut step = "host-if";
        let made = within(self.namespace.as_deref(), || {
            let seen = look(None, &self.device)?;
            let probe = probe()?;
            let queues = match self.queues {
                ALL_QUEUES => {
                    let folder = format!("/sys/class/net/{}/queues", self.device);
                    let count = names_in(folder).iter().filter(|q| q.starts_with("rx-")).count();
                    count.clamp(1, MAX_QUEUES.into()) as u32
                }
                n => n.into(),
            };
            let ring = |n: u16| u32::from(if n == 0 { USUAL_RING } else { n });
            let options = Options {
                sizes: (ring(self.rings.0), ring(self.rings.1)),
                mode: self.mode,
                is_multi_buffer: self.is_multi_buffer,
            };
            step = "attach the program";
            let program = Program::attach(seen.number, queues, self.is_multi_buffer)?;
            step = "open a socket";
            let opened = |queue| kernel::open(seen.number, queue, &options);
            let sockets = (0..queues).map(opened).collect::<io::Result<Vec<_>>>()?;
            step = "hand packets to the sockets";
            for (queue, opened) in (0..).zip(&sockets) {
                program.set(queue, opened.socket.as_fd())?;
            }
            let mac = self.reuses_mac.then(|| Device::mac(&probe, &self.device)).transpose()?;
            let asked = Asked { probe, number: seen.number };
            Ok(Made { device: seen.device, asked, mac, program, sockets })
        });
        made.map_err(|e| Error::System(step, Kernel(e)))
    }
}

impl AfXdps {
    pub(super) fn new(node: NodeIndex) -> Self {
        Self { node, list: Vec::new(), next: 0 }
    }
    /// Deletes an interface. The device is as it was before.
    ///
    /// # Errors
    /// [`Error::Unknown`]; a thread that does not answer: then it can be done again.
    pub fn delete(&mut self, router: &mut Router, index: InterfaceIndex) -> Result<(), Error> {
        let at = self.list.iter().position(|i| i.index == index).ok_or(Error::Unknown)?;
        let queues: Vec<Queue> = self.list[at].serving.end(router, (self.node, index))?;
        let gone = self.list.remove(at);
        router.remove_interface(index);
        // Until here a thread may hold the sockets.
        router.engine.fence()?;
        // At once: the device may be wanted for something else.
        drop(gone.program);
        close_elsewhere((queues, gone.serving));
        Ok(())
    }
}

served!(AfXdps, Queue, Error::Unknown);

impl Opens for AfXdps {
    type Wanted = Wanted;
    type Made = Made;

    fn begin(&mut self, router: &Router, wanted: &mut Wanted) -> Result<Opening<Self>, Error> {
        wanted.check()?;
        if let Some(name) = wanted.name.as_deref().filter(|n| router.interfaces.named(n).is_some())
        {
            return Err(interface::Error::NameInUse(name.to_owned()).into());
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
        let made = made.map_err(|e| Error::System("open", Kernel(e)))??;
        let Made { device, asked, mac, program, sockets } = made;
        let index = Arc::new(OnceLock::new());
        let is_zero_copy = sockets.iter().all(|s| s.is_zero_copy);
        let queues = TxQueues::new(sockets.len(), router.engine.thread_rows());
        let (mut receivers, mut senders) = (Vec::new(), Vec::new());
        for Opened { socket, rx, tx, .. } in sockets {
            receivers.push((rx, socket));
            senders.push(tx);
        }
        let around = (Arc::clone(&index), &router.interfaces);
        let tx = AfXdpTx::new(senders, queues.choice(), around);
        let usual = || format!("{}/{}", wanted.device, self.next);
        let new = NewInterface {
            name: wanted.name.clone().unwrap_or_else(usual),
            kind: Kind::Ethernet,
            hardware: HARDWARE,
            mac: mac.unwrap_or_else(|| {
                stable_mac(router, format_args!("{HARDWARE} {}", wanted.device))
            }),
            mtu: device.mtu,
            offloads: Offloads::default(),
            link_follows_admin: false,
        };
        let made = router.add_interface(new, tx)?;
        index.set(made).expect("set here only");
        self.next += 1;
        router.interfaces.set_tx_queues(made, queues);
        router.set_link(made, device.is_running);
        router.interfaces.follow_device_speed(made, device.speed_kbps);
        if wanted.namespace.is_none() {
            router.interfaces.set_numa_node(made, numa_node(&wanted.device));
        }
        let (serving, queues) = (Serving::default(), receivers.len());
        let queue = |(number, (rx, socket))| (Queue { interface: made.0, number, rx }, socket);
        let receivers = receivers.into_iter().enumerate().map(queue).collect();
        let entry =
            AfXdp { wanted, index: made, device: asked, queues, is_zero_copy, serving, program };
        self.list.push(entry);
        let entry = self.list.last_mut().expect("it was just put there");
        if let Err(e) = entry.serving.begin(router, (self.node, made, place::<AfXdps>), receivers) {
            self.delete(router, made)?;
            return Err(e.into());
        }
        if self.list.len() == 1 {
            router.after(router.until_next_second(), watch, 0);
        }
        Ok(made)
    }
}

/// Follows the links of devices, as long as there are interfaces.
fn watch(router: &mut Router, _: u64) {
    let list = &router.own::<AfXdps>().list;
    let state = |i: &AfXdp| {
        // One that has gone has no link.
        let seen = rustix::net::netdevice::index_to_name(&i.device.probe, i.device.number);
        let seen = seen.ok().and_then(|name| Device::named(&i.device.probe, &name).ok());
        (i.index, seen.map(|device| device.is_running))
    };
    let states: Vec<_> = list.iter().map(state).collect();
    for (index, is_running) in &states {
        match is_running {
            Some(is_running) => router.set_link(*index, *is_running),
            None => router.lose_device(*index),
        }
    }
    if !states.is_empty() {
        router.after(router.until_next_second(), watch, 0);
    }
}

/// Switches the device on with its interface.
pub(super) fn follow(router: &mut Router, index: InterfaceIndex, change: Change) {
    let Some(i) = router.interfaces.at(index).filter(|i| i.hardware == HARDWARE) else { return };
    if change != Change::State || !i.admin_up {
        return;
    }
    let Some(all) = router.state::<AfXdps>() else { return };
    let Some(entry) = all.list.iter().find(|i| i.index == index) else { return };
    let name = &entry.wanted.device;
    if let Err(e) = Device::switch_on(&entry.device.probe, name) {
        let log = router.log.class("af_xdp", "default");
        log.warn(format_args!("cannot switch on {name}: {e}"));
    }
}

/// Lines of `show hardware-interfaces`.
pub(super) fn describe(router: &Router, i: &Interface) -> Vec<String> {
    let found = router.own::<AfXdps>().list.iter().find(|entry| entry.index == i.index);
    let Some(entry) = found else { return Vec::new() };
    let copies = if entry.is_zero_copy { "zero-copy" } else { "copy" };
    let long = if entry.wanted.is_multi_buffer { "multi-buffer" } else { "single-buffer" };
    let ring = |n: u16| if n == 0 { USUAL_RING } else { n };
    let (rx, tx) = (ring(entry.wanted.rings.0), ring(entry.wanted.rings.1));
    vec![
        format!("AF_XDP interface on {}", entry.wanted.device),
        format!("  mode {copies} {long}"),
        format!("  queues {} rx-queue-size {rx} tx-queue-size {tx}", entry.queues),
    ]
}
