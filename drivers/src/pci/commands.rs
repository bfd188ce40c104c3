//! `show pci`, `create interface virtio`, `device attach` and what goes with them.

use std::fmt;

use control::cli::{Cli, Command, Error, Output, Word};
use net::Router;
use serde::Serialize;

use super::bus::{self, Address, Device};
use crate::host::Which;

/// Show PCI network devices.
#[derive(Command)]
#[command("show pci")]
struct ShowPci {
    /// all devices
    all: bool,
}

/// Create a virtio PCI interface.
#[derive(Command)]
#[command("create interface virtio")]
struct CreateVirtio {
    /// PCI address
    #[positional]
    #[values("pci-address")]
    address: Word,
    /// interface name
    #[keyword("if-name")]
    _if_name: Option<String>,
    /// feature mask, in hexadecimal
    #[keyword("feature-mask")]
    #[values("hex")]
    _feature_mask: Option<Word>,
    /// transmit ring size
    #[keyword("tx-queue-size")]
    _tx_queue_size: Option<u32>,
    /// segmentation offload
    #[keyword("gso-enabled")]
    _gso: bool,
    /// checksum offload
    #[keyword("csum-enabled")]
    _checksum: bool,
    /// receive-side scaling
    #[keyword("rss-enabled")]
    _rss: bool,
    /// MAC filtering by the device
    #[keyword("mac-filter-enabled")]
    _mac_filter: bool,
    /// buffer packets while the ring is full
    #[keyword("buffering")]
    _buffering: bool,
    /// buffer size in packets
    #[keyword("size")]
    _size: Option<u32>,
    /// packed rings
    #[keyword("packed")]
    _packed: bool,
    /// paired queues from the start
    #[keyword("consistent-qp")]
    _consistent_qp: bool,
    /// unbind the device from the kernel driver
    #[keyword("bind")]
    _bind: bool,
    /// even if it is in use
    #[keyword("force")]
    _force: bool,
}

/// Delete a virtio PCI interface.
#[derive(Command)]
#[command("delete interface virtio")]
struct DeleteVirtio {
    #[flatten]
    which: Which,
}

/// Attach a driver to a device.
#[derive(Command)]
#[command("device attach")]
struct Attach {
    /// bus and address of the device
    #[positional]
    #[values("device-id")]
    device: Word,
    /// driver; by default chosen by the device
    #[keyword("driver")]
    _driver: Option<Word>,
    /// driver arguments
    #[keyword("args")]
    _args: Option<Word>,
    /// device flags
    #[keyword("flags")]
    _flags: Option<Word>,
}

/// Detach the driver from a device.
#[derive(Command)]
#[command("device detach")]
struct Detach {
    /// bus and address of the device
    #[positional]
    #[values("device-id")]
    device: Word,
}

/// Show attached devices.
#[derive(Command)]
#[command("show device")]
struct ShowDevice {
    /// devices; default all
    #[positional]
    #[values("device-id")]
    devices: Vec<Word>,
    /// accepted: `show hardware-interfaces` has the counters of devices
    #[keyword("counters")]
    _counters: bool,
    /// accepted; see counters
    #[keyword("zero-counters")]
    _zero_counters: bool,
    /// accepted: `clear hardware-interfaces` clears counters of devices
    #[keyword("clear")]
    _clear: bool,
    /// accepted; the output is the same
    #[keyword("debug")]
    _debug: bool,
    /// accepted; the output is the same
    #[keyword("debug-level")]
    _debug_level: Option<u32>,
}

/// Show device drivers.
#[derive(Command)]
#[command("show device drivers")]
struct ShowDrivers {}

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

fn write_table(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<13} {:<10} {:<20} Network devices", "Address", "VID:PID", "Driver")?;
    rows.iter().try_for_each(|row| {
        let id = format!("{:04x}:{:04x}", row.vendor, row.device);
        let driver = row.driver.as_deref().unwrap_or("none");
        writeln!(f, "{:<13} {id:<10} {driver:<20} {}", row.address, row.networks.join(" "))
    })
}

/// The error for requests to drive a device, given by bus and address.
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
    Output::rows(bus::all().into_iter().filter(is_shown).map(row), write_table)
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
