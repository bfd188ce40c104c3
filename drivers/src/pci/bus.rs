//! The kernel's list of devices.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use infra::order::Order;

use crate::host::names_in;

/// Address of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// PCI domain.
    pub domain: u16,
    /// PCI bus.
    pub bus: u8,
    /// Its slot, below 32.
    pub slot: u8,
    /// Its function, below 8.
    pub function: u8,
}

/// The kernel's entry for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// MAC address.
    pub address: Address,
    /// Its maker and its number among those of the maker.
    pub id: (u16, u16),
    /// Kind.
    pub class: u32,
    /// The kernel's driver.
    pub driver: Option<String>,
    /// Its network devices.
    pub networks: Vec<String>,
}

/// Reasons why a device cannot be driven here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Text that is no address.
    NoAddress(String),
    /// There is none.
    Missing(Address),
    /// There is one, but no driver for it.
    NoDriver(Box<Device>),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, slot, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{slot:02x}.{function:x}")
    }
}

impl FromStr for Address {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let parsed = || {
            let (bus, function) = text.rsplit_once('.')?;
            let mut parts = bus.split(':').rev();
            let mut part = || u16::from_str_radix(parts.next()?, 16).ok();
            let (slot, bus) = (u8::try_from(part()?).ok()?, u8::try_from(part()?).ok()?);
            let domain = part().unwrap_or(0);
            let function = u8::from_str_radix(function, 16).ok()?;
            let is_whole = text.matches(':').count() <= 2 && slot < 32 && function < 8;
            is_whole.then_some(Self { domain, bus, slot, function })
        };
        parsed().ok_or_else(|| Refused::NoAddress(text.to_owned()))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress(text) => write!(f, "not a PCI address: `{text}'"),
            Self::Missing(address) => write!(f, "no PCI device {address}"),
            Self::NoDriver(device) => {
                let Device { address, id: (vendor, number), driver, networks, .. } = &**device;
                write!(f, "no driver for device {address} ({vendor:04x}:{number:04x})")?;
                match (driver, networks.first()) {
                    (_, Some(name)) => {
                        write!(
                            f,
                            "; the kernel has it as {name}: `create host-interface name {name}'"
                        )
                    }
                    (Some(driver), None) => write!(f, "; the kernel drives it with {driver}"),
                    (None, None) => Ok(()),
                }
            }
        }
    }
}

/// Folder in which the kernel lists devices.
fn folder() -> &'static Path {
    Path::new("/sys/bus/pci/devices")
}

fn hexadecimal(path: PathBuf) -> Option<u32> {
    let text = fs::read_to_string(path).ok()?;
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// All devices, in the order of their addresses.
pub fn all() -> Vec<Device> {
    let addresses = names_in(folder()).into_iter().filter_map(|name| name.parse().ok());
    let mut devices: Vec<_> = addresses.filter_map(device).collect();
    devices.order_by_key(|device| device.address);
    devices
}

/// The device at an address.
fn device(address: Address) -> Option<Device> {
    let at = folder().join(address.to_string());
    let number = |name: &str| hexadecimal(at.join(name));
    let driver = fs::read_link(at.join("driver")).ok();
    let driver = driver.and_then(|d| Some(d.file_name()?.to_string_lossy().into_owned()));
    let mut networks = names_in(at.join("net"));
    // Virtio devices are one step further.
    for name in names_in(&at).into_iter().filter(|name| name.starts_with("virtio")) {
        networks.extend(names_in(at.join(name).join("net")));
    }
    let id = (number("vendor")? as u16, number("device")? as u16);
    Some(Device { address, id, class: number("class")?, driver, networks })
}

/// The error for requests to drive a device.
pub fn refusal(address: Address) -> Refused {
    device(address).map_or(Refused::Missing(address), |d| Refused::NoDriver(Box::new(d)))
}
