//! `show pci`, `create interface virtio`, `device attach` and what goes with them.

use std::fmt;

use control::cli::{Cli, Command, Error, Output, Word};
use net::Router;
use serde::Serialize;

use super::bus::{self, Address, Device};
use crate::host::Which;

/// Show the network devices on the PCI bus.
#[derive(Command)]
#[command("show pci")]
struct ShowPci {
    /// all devices
    all: bool,
}

/// Create an interface of a virtio device on the PCI bus.
#[derive(Command)]
#[command("create interface virtio")]
struct CreateVirtio {
    /// where the device is
    #[positional]
    #[values("pci-address")]
    address: Word,
    /// name of the interface
    #[keyword("if-name")]
    _if_name: Option<String>,
    /// features that may be used, as a hexadecimal number
    #[keyword("feature-mask")]
    #[values("hex")]
    _feature_mask: Option<Word>,
    /// packets that may wait on the way to the device
    #[keyword("tx-queue-size")]
    _tx_queue_size: Option<u32>,
    /// big packets
    #[keyword("gso-enabled")]
    _gso: bool,
    /// packets without checksum
    #[keyword("csum-enabled")]
    _checksum: bool,
    /// flows spread over queues
    #[keyword("rss-enabled")]
    _rss: bool,
    /// addresses filtered by the device
    #[keyword("mac-filter-enabled")]
    _mac_filter: bool,
    /// packets wait for room in the ring
    #[keyword("buffering")]
    _buffering: bool,
    /// so many of them
    #[keyword("size")]
    _size: Option<u32>,
    /// packed rings
    #[keyword("packed")]
    _packed: bool,
    /// queues in pairs from the start
    #[keyword("consistent-qp")]
    _consistent_qp: bool,
    /// take it from the kernel
    #[keyword("bind")]
    _bind: bool,
    /// even if it is in use
    #[keyword("force")]
    _force: bool,
}

/// Delete an interface of a virtio device.
#[derive(Command)]
#[command("delete interface virtio")]
struct DeleteVirtio {
    #[flatten]
    which: Which,
}

/// Drive a device.
#[derive(Command)]
#[command("device attach")]
struct Attach {
    /// its bus and its address there
    #[positional]
    #[values("device-id")]
    device: Word,
    /// the driver; chosen by the device if not given
    #[keyword("driver")]
    _driver: Option<Word>,
    /// for the driver
    #[keyword("args")]
    _args: Option<Word>,
    /// flags of the device
    #[keyword("flags")]
    _flags: Option<Word>,
}

/// No longer drive a device.
#[derive(Command)]
#[command("device detach")]
struct Detach {
    /// its bus and its address there
    #[positional]
    #[values("device-id")]
    device: Word,
}

/// Show the devices that are driven.
#[derive(Command)]
#[command("show device")]
struct ShowDevice {
    /// devices; all when none is given
    #[positional]
    #[values("device-id")]
    devices: Vec<Word>,
}

/// Show the drivers of devices.
#[derive(Command)]
#[command("show device drivers")]
struct ShowDrivers {}

#[derive(Serialize)]
#[serde(transparent)]
struct Table(Vec<Row>);

#[derive(Serialize)]
struct Row {
    address: String,
    vendor: u16,
    device: u16,
    class: u32,
    driver: Option<String>,
    /// Network devices of the kernel.
    networks: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Nothing {
    pub(super) devices: [String; 0],
}

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<13} {:<10} {:<20} Network devices", "Address", "VID:PID", "Driver")?;
        self.0.iter().try_for_each(|row| {
            let id = format!("{:04x}:{:04x}", row.vendor, row.device);
            let driver = row.driver.as_deref().unwrap_or("none");
            writeln!(f, "{:<13} {id:<10} {driver:<20} {}", row.address, row.networks.join(" "))
        })
    }
}

/// The answer to who wants a device driven here, whose bus stands before its address.
pub(super) fn refusal(device: &str) -> String {
    let Some(address) = device.strip_prefix("pci/") else {
        return format!("unknown bus of device `{device}': expected pci/ADDRESS");
    };
    let parsed = address.parse::<Address>();
    parsed.map_or_else(|why| why.to_string(), |address| bus::refusal(address).to_string())
}

fn show_pci(c: &ShowPci) -> Output {
    const NETWORK: u32 = 2;
    let is_shown = |device: &Device| c.all || device.class >> 16 == NETWORK;
    let row = |device: Device| Row {
        address: device.address.to_string(),
        vendor: device.id.0,
        device: device.id.1,
        class: device.class,
        driver: device.driver,
        networks: device.networks,
    };
    Output::of(Table(bus::all().into_iter().filter(is_shown).map(row).collect()))
}

pub(super) fn unattached(device: &Word) -> Error {
    Error::new(format!("device `{device}' is not attached"))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|_: &mut Router, c: ShowPci| Ok(show_pci(&c)));
    cli.command(|_: &mut Router, c: CreateVirtio| {
        let parsed = c.address.parse::<Address>();
        let refused = parsed.map_or_else(|why| why, bus::refusal);
        Err::<(), _>(Error::new(refused.to_string()))
    });
    cli.command(|_: &mut Router, c: DeleteVirtio| {
        c.which.index()?;
        Err::<(), _>("not an interface of a virtio device".into())
    });
    cli.command(|_: &mut Router, c: Attach| Err::<(), _>(Error::new(refusal(&c.device))));
    cli.command(|_: &mut Router, c: Detach| Err::<(), _>(unattached(&c.device)));
    cli.command(|_: &mut Router, c: ShowDevice| match c.devices.first() {
        Some(device) => Err(unattached(device)),
        None => Ok(Output::of(Nothing { devices: [] })),
    });
    cli.command(|_: &mut Router, _: ShowDrivers| Ok(Output::of(Nothing { devices: [] })));
}
