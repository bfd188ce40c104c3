//! The sockets of an interface: those that receive and those that send.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{AddressFamily, SocketType, socket};

use super::interface::{Error, Parameters};
use super::ring::{Device, Fanout, Options, Ring, open};

/// Slots in a receive ring: 4 MB.
const SLOTS: usize = 2048;

/// Sockets on a device.
pub struct Sockets {
    /// The device as it was.
    pub device: Device,
    /// Number.
    pub number: u32,
    /// Sockets that receive, with their rings.
    pub receivers: Vec<(OwnedFd, Ring)>,
    /// Number of transmit sockets.
    pub senders: Vec<OwnedFd>,
}

/// A device as the kernel says it is now.
pub struct DeviceState {
    /// State.
    pub device: Device,
    /// Number.
    pub number: u32,
    /// Name.
    pub name: String,
}

/// A socket that can be asked about devices. Any can; one of packets would take long to close.
///
/// # Errors
/// The kernel's.
pub fn probe() -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::UNIX, SocketType::DGRAM, None)?)
}

/// Looks for the device with a number, whatever its name is, else for the one of a name.
///
/// # Errors
/// The kernel's: there is none.
pub fn look(number: Option<u32>, name: &str) -> io::Result<DeviceState> {
    let probe = probe()?;
    if let Some(number) = number
        && let Ok(name) = index_to_name(&probe, number)
    {
        return Ok(DeviceState { device: Device::named(&probe, &name)?, number, name });
    }
    let (device, number) = (Device::named(&probe, name)?, name_to_index(&probe, name)?);
    Ok(DeviceState { device, number, name: name.to_owned() })
}

impl Sockets {
    /// Opens them, which takes the kernel long. Several receiving ones share received packets as
    /// `group`.
    ///
    /// # Errors
    /// The kernel's, a device of the wrong kind.
    pub fn open(wanted: &Parameters, group: Fanout) -> Result<Self, Error> {
        let DeviceState { device, number, .. } = look(None, &wanted.device)?;
        match (device.is_ethernet, wanted.is_ip) {
            (false, false) => return Err(Error::WrongKind("no Ethernet device: try `mode ip'")),
            (true, true) => return Err(Error::WrongKind("an Ethernet device cannot do `mode ip'")),
            _ => (),
        }
        let options = Options {
            device: number,
            receives: false,
            bypasses_qdisc: wanted.bypasses_qdisc,
            fanout: (wanted.rx_queues > 1).then_some(group),
        };
        let sender = |_| Ok(open(options, |_| Ok(()))?.0);
        let senders = (0..wanted.tx_queues).map(sender).collect::<Result<_, Error>>()?;
        let options = Options { receives: true, ..options };
        let receiver = |_| Ok(open(options, |socket| Ring::new(socket, SLOTS))?);
        let receivers = (0..wanted.rx_queues).map(receiver).collect::<Result<_, Error>>()?;
        Ok(Self { device, number, receivers, senders })
    }
}
