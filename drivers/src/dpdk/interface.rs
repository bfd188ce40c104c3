//! Making and deleting interfaces on DPDK's ports.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use graph::NodeIndex;
use net::health::Severity;
use net::interface::{self, Change, Interface, Kind, NewInterface, Offloads, TxQueues};
use net::{InterfaceIndex, Router};
use rustix::event::{EventfdFlags, eventfd};
use wire::MacAddr;

use super::input::Queue;
use super::shim::{Dpdk, Info, Port, Rx, Stats, Tx};
use super::startup::Startup;
use super::tx::DpdkTx;
use crate::host::background::{Background, Opening, Opens};
use crate::host::serving::{Failed, Serving, place, served};
use crate::host::{close_elsewhere, stable_mac};

/// Hardware class.
pub const HARDWARE: &str = "dpdk";
/// Queues at most, each way.
pub const MAX_QUEUES: u16 = 64;
/// Seconds between two looks at the links.
const PERIOD: f64 = 0.5;

/// All of them, and DPDK.
pub struct Dpdks {
    /// `dpdk-input`.
    node: NodeIndex,
    /// The stanza of startup.conf.
    startup: Startup,
    /// DPDK, once it is started.
    dpdk: Option<Dpdk>,
    /// In the order they were made.
    pub list: Vec<DpdkInterface>,
}

/// One interface.
pub struct DpdkInterface {
    /// Parameters it was made from.
    pub wanted: Wanted,
    /// Interface index.
    pub index: InterfaceIndex,
    /// Made by a command, not by startup.conf.
    pub is_configured: bool,
    port: Arc<Port>,
    info: Info,
    rings: (u16, u16),
    /// MTU and address that the port has.
    known: (u32, MacAddr),
    serving: Serving,
}

/// Parameters of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The device: its address on the PCI bus, or a virtual device and its options.
    pub device: String,
    /// Name of the interface; that of the device if `None`.
    pub name: Option<String>,
    /// Receive and transmit queues; 0 for as many as is usual.
    pub queues: (u16, u16),
    /// Receive and transmit ring sizes; 0 for the default.
    pub rings: (u16, u16),
}

/// A port that runs.
pub struct Made {
    port: Arc<Port>,
    info: Info,
    receivers: Vec<Rx>,
    senders: Vec<Tx>,
    rings: (u16, u16),
}

/// Reason why an interface cannot be made or deleted.
#[derive(Debug)]
pub enum Error {
    /// There is no such interface.
    Unknown,
    /// A value is out of its range.
    Invalid(String),
    /// DPDK says no, to this.
    Dpdk(String, String),
    /// The router says no.
    Refused(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("not an interface on a DPDK device"),
            Self::Dpdk(what, why) => write!(f, "{what}: {why}"),
            Self::Invalid(why) | Self::Refused(why) => f.write_str(why),
        }
    }
}
impl std::error::Error for Error {}

crate::host::refused!(interface::Error, graph::NoAnswer, Failed);

impl Wanted {
    /// Interface name.
    pub fn name(&self) -> &str {
        let device = || self.device.split(',').next().unwrap_or_default();
        self.name.as_deref().unwrap_or_else(device)
    }
    fn check(&self) -> Result<(), Error> {
        let invalid = |why: &str| Err(Error::Invalid(why.to_owned()));
        if self.queues.0.max(self.queues.1) > MAX_QUEUES {
            return invalid("queues must be 1 to 64");
        }
        if self.device.is_empty() || self.device.starts_with(',') {
            return invalid("missing device");
        }
        Ok(())
    }
    /// Finds the device, or makes it, and starts its port for so many threads.
    fn open(&self, dpdk: Dpdk, threads: usize) -> Result<Made, Error> {
        let failed = |why| Error::Dpdk(self.device.clone(), why);
        let port = dpdk.port(&self.device).map_err(failed)?;
        let info = port.info().map_err(failed)?;
        for (wanted, most, what) in [
            (self.queues.0, info.rx_queues, "receive"),
            (self.queues.1, info.tx_queues, "transmit"),
        ] {
            if wanted > most {
                let why = format!("{}: at most {most} {what} queues", self.device);
                return Err(Error::Invalid(why));
            }
        }
        let threads = u16::try_from(threads).unwrap_or(MAX_QUEUES).clamp(1, MAX_QUEUES);
        let queues = match self.queues {
            (0, tx) => (1, tx),
            given => given,
        };
        // As the original: a transmit queue for each thread, as far as the device has them.
        let usual = |n: u16| if n == 0 { threads.min(info.tx_queues.max(1)) } else { n };
        let queues = (queues.0, usual(queues.1));
        let started = port.start(queues, self.rings, info.has_pieces());
        let (receivers, senders, rings) = started.map_err(failed)?;
        // What it says of itself can be another now.
        let info = port.info().unwrap_or(info);
        Ok(Made { port, info, receivers, senders, rings })
    }
}

impl Dpdks {
    pub(super) fn new(node: NodeIndex, startup: Startup) -> Self {
        Self { node, startup, dpdk: None, list: Vec::new() }
    }
    /// DPDK, started when it is not yet.
    ///
    /// # Errors
    /// [`Error::Dpdk`].
    pub fn dpdk(&mut self) -> Result<Dpdk, Error> {
        if let Some(dpdk) = self.dpdk {
            return Ok(dpdk);
        }
        let failed = |why| Error::Dpdk("DPDK".to_owned(), why);
        let dpdk = Dpdk::load(&self.startup.folders()).map_err(failed)?;
        let args = self.startup.arguments().map_err(failed)?;
        dpdk.start(&args, self.startup.packets).map_err(failed)?;
        self.dpdk = Some(dpdk);
        Ok(dpdk)
    }
    /// DPDK's version, if it is started.
    pub fn version(&self) -> Option<String> {
        self.dpdk.map(|dpdk| dpdk.version())
    }
    /// Arguments that DPDK is started with.
    pub fn arguments(&self) -> Result<Vec<String>, String> {
        self.startup.arguments()
    }
    fn prepare(&mut self, router: &Router, wanted: &Wanted) -> Result<(Dpdk, usize), Error> {
        wanted.check()?;
        if router.interfaces.named(wanted.name()).is_some() {
            return Err(interface::Error::NameInUse(wanted.name().to_owned()).into());
        }
        let device = |device: &str| device.split(',').next().map(str::to_owned);
        if self.list.iter().any(|i| device(&i.wanted.device) == device(&wanted.device)) {
            let why = format!("{} already has an interface", wanted.device);
            return Err(Error::Refused(why));
        }
        let threads = router.engine.data_threads().len();
        if threads == 0 {
            return Err(Error::Refused("the router does not run yet".to_owned()));
        }
        Ok((self.dpdk()?, threads))
    }
    /// Deletes an interface. Its device is DPDK's still, or gone if it was made for the interface.
    ///
    /// # Errors
    /// [`Error::Unknown`]; a thread that does not answer: then it can be done again.
    pub fn delete(&mut self, router: &mut Router, index: InterfaceIndex) -> Result<(), Error> {
        let at = self.list.iter().position(|i| i.index == index).ok_or(Error::Unknown)?;
        let queues: Vec<Queue> = self.list[at].serving.end(router, (self.node, index))?;
        let gone = self.list.remove(at);
        router.remove_interface(index);
        // Until here a thread may hold the queues.
        router.engine.fence()?;
        infra::rcu::reclaim();
        close_elsewhere((queues, gone.serving, gone.port));
        Ok(())
    }
}

served!(Dpdks, Queue, Error::Unknown);

impl Opens for Dpdks {
    /// And whether a command made it.
    type Wanted = (Wanted, bool);
    type Made = Made;

    fn begin(
        &mut self,
        router: &Router,
        (wanted, _): &mut (Wanted, bool),
    ) -> Result<Opening<Self>, Error> {
        let (dpdk, threads) = self.prepare(router, wanted)?;
        let wanted = wanted.clone();
        Ok(Background::begin(move || wanted.open(dpdk, threads)))
    }
    fn finish(
        &mut self,
        router: &mut Router,
        (wanted, is_configured): (Wanted, bool),
        made: io::Result<Result<Made, Error>>,
    ) -> Result<InterfaceIndex, Error> {
        let made = made.map_err(|e| Error::Refused(control::cli::io_text(&e)))??;
        let Made { port, info, receivers, senders, rings } = made;
        let index = Arc::new(OnceLock::new());
        let queues = TxQueues::new(senders.len(), router.engine.thread_rows());
        let around = (Arc::clone(&index), &router.interfaces);
        let tx = DpdkTx::new(senders, queues.choice(), around);
        let usual = || stable_mac(router, format_args!("{HARDWARE} {}", wanted.name()));
        let new = NewInterface {
            name: wanted.name().to_owned(),
            kind: Kind::Ethernet,
            hardware: HARDWARE,
            mac: Some(MacAddr(info.mac())).filter(|m| *m != MacAddr::ZERO).unwrap_or_else(usual),
            mtu: if info.mtu == 0 { 1500 } else { info.mtu },
            offloads: Offloads { checksum: info.has_checksums(), ..Offloads::default() },
            link_follows_admin: false,
        };
        let known = (new.mtu, new.mac);
        let made = router.add_interface(new, tx)?;
        index.set(made).expect("set here only");
        router.interfaces.set_tx_queues(made, queues);
        router.interfaces.set_numa_node(made, usize::try_from(info.node).ok());
        show_link(router, made, &port);
        let serving = Serving::default();
        let looked_at = || {
            let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
            fd.map(Arc::<OwnedFd>::new).map_err(|e| Failed::System(e.into()))
        };
        // Never readable: devices are looked at from time to time.
        let queue = |(number, rx)| Ok((Queue { interface: made.0, number, rx }, looked_at()?));
        let receivers: Result<Vec<_>, Failed> =
            receivers.into_iter().enumerate().map(queue).collect();
        let entry =
            DpdkInterface { wanted, index: made, is_configured, port, info, rings, known, serving };
        self.list.push(entry);
        let entry = self.list.last_mut().expect("it was just put there");
        let begun = receivers.and_then(|receivers| {
            entry.serving.begin(router, (self.node, made, place::<Self>), receivers)
        });
        if let Err(e) = begun {
            self.delete(router, made)?;
            return Err(e.into());
        }
        if self.list.len() == 1 {
            router.after(PERIOD, watch, 0);
        }
        Ok(made)
    }
}

/// Makes the interfaces of startup.conf. What cannot be made is in the log; the router runs.
pub(super) fn make_all(router: &mut Router) {
    let all = router.own::<Dpdks>();
    let (is_wanted, devices) = (all.startup.is_there, all.startup.devices.clone());
    if !is_wanted {
        return;
    }
    let log = router.log.class("dpdk", "default");
    let started = router.with(|all: &mut Dpdks, _| all.dpdk().map(|dpdk| dpdk.version()));
    match started {
        Some(Ok(version)) => log.notice(version),
        Some(Err(why)) => {
            log.error(&why);
            // Without devices nothing is missing.
            let severity = if devices.is_empty() { Severity::Note } else { Severity::Error };
            return router.note_start(severity, "dpdk", why);
        }
        None => return,
    }
    for wanted in devices {
        let name = wanted.name().to_owned();
        let made = router.with(|all: &mut Dpdks, router| {
            let (dpdk, threads) = all.prepare(router, &wanted)?;
            let made = wanted.open(dpdk, threads);
            all.finish(router, (wanted, false), Ok(made))
        });
        if let Some(Err(why)) = made {
            log.error(format_args!("{name}: {why}"));
            router.note_start(Severity::Error, name, why);
        }
    }
}

fn show_link(router: &mut Router, index: InterfaceIndex, port: &Port) {
    let link = port.link();
    router.set_link(index, link.is_up());
    router.interfaces.follow_device_speed(index, link.kbps());
}

/// Follows the links of ports, as long as there are interfaces.
fn watch(router: &mut Router, _: u64) {
    let list = &router.own::<Dpdks>().list;
    let ports: Vec<_> = list.iter().map(|i| (i.index, Arc::clone(&i.port))).collect();
    for (index, port) in &ports {
        show_link(router, *index, port);
    }
    if !ports.is_empty() {
        router.after(PERIOD, watch, 0);
    }
}

/// Makes the port follow its interface.
pub(super) fn follow(router: &mut Router, index: InterfaceIndex, change: Change) {
    let Some(i) = router.interfaces.at(index).filter(|i| i.hardware == HARDWARE) else { return };
    let (is_up, now) = (i.admin_up, (i.link_mtu, i.mac));
    let name = i.name.to_string();
    let Some(all) = router.state_mut::<Dpdks>() else { return };
    let Some(entry) = all.list.iter_mut().find(|i| i.index == index) else { return };
    let known = std::mem::replace(&mut entry.known, now);
    let (what, done) = match change {
        Change::State => return entry.port.set_up(is_up),
        Change::Mtu if known.0 != now.0 => {
            let mtu = u16::try_from(now.0).map_err(|_| "too much".to_owned());
            ("MTU", mtu.and_then(|mtu| entry.port.set_mtu(mtu)))
        }
        Change::Mac if known.1 != now.1 => ("MAC address", entry.port.set_mac(now.1)),
        _ => return,
    };
    if let Err(why) = done {
        let log = router.log.class("dpdk", "default");
        log.warn(format_args!("{name}: the device cannot change its {what}: {why}"));
    }
}

/// Lines of `show hardware-interfaces`.
pub(super) fn describe(router: &Router, i: &Interface) -> Vec<String> {
    let found = router.own::<Dpdks>().list.iter().find(|entry| entry.index == i.index);
    let Some(entry) = found else { return Vec::new() };
    let DpdkInterface { info, rings, port, wanted, serving, .. } = entry;
    let (rx, tx) = (serving.queues.len(), router.tx_queues(i.index).len());
    let Stats { rx_missed, rx_errors, rx_no_mbuf, tx_errors } = port.stats();
    let yes = |is, what| if is { what } else { "" };
    let mut lines = vec![
        format!("DPDK device {} driver {}", wanted.device, info.driver()),
        format!("  rx queues {rx} of {} desc {}", info.rx_queues, rings.0),
        format!("  tx queues {tx} of {} desc {}", info.tx_queues, rings.1),
        format!(
            "  offloads{}{}{}",
            yes(info.has_checksums(), " tx-checksum"),
            yes(info.has_pieces(), " multi-segs"),
            yes(info.has_rss(), " rss")
        ),
        format!(
            "  rx missed {rx_missed} rx errors {rx_errors} rx no mbuf {rx_no_mbuf} tx errors \
             {tx_errors}"
        ),
    ];
    let xstats = port.xstats().into_iter().filter(|(_, value)| *value > 0);
    lines.extend(xstats.map(|(name, value)| format!("  {name:<40}{value:>20}")));
    lines
}
