//! Opening the host's end of an interface: its queues, and the device as it is wanted.
#![forbid(unsafe_code)]

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::net::netdevice::name_to_index;

use super::device;
use super::interface::{Error, Parameters, Queues};
use crate::af_packet::sockets::probe;
use crate::host::netlink::{LinkMonitor, Netlink};
use crate::host::{Kernel, namespace};

/// A device of the host that was opened.
pub struct Opened {
    /// Its number in its namespace.
    pub device: u32,
    /// Its queues.
    pub queues: Queues,
    /// Tells when something about it changes.
    pub news: LinkMonitor,
    /// Its MTU in bytes.
    pub mtu: u32,
}

/// Opens the device. If it is in use it may be one of those that are being closed: these are waited
/// for then.
///
/// # Errors
/// The kernel's, with the step it was about.
pub fn open_after(wanted: &Parameters, closing: Vec<JoinHandle<()>>) -> Result<Opened, Error> {
    let opened = open(wanted);
    let is_busy = |e: &Error| {
        let codes = [Some(libc::EBUSY), Some(libc::EINVAL)];
        matches!(e, Error::System(_, e) if codes.contains(&e.0.raw_os_error()))
    };
    if !opened.as_ref().is_err_and(is_busy) || closing.is_empty() {
        return opened;
    }
    for thread in closing {
        // Whether closing went well is seen below.
        let _ = thread.join();
    }
    open(wanted)
}

/// Opens the queues of the device, in its namespace, and makes it as it is wanted.
fn open(wanted: &Parameters) -> Result<Opened, Error> {
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
        step = "ask about the device";
        let (news, mtu) = (LinkMonitor::open()?, Netlink::open()?.mtu(number)?);
        Ok(Opened { device: number, queues, news, mtu })
    });
    opened.map_err(|e| Error::System(step, Kernel(e)))
}

/// The number of a device in the namespace of this thread.
fn number_of(name: &str) -> io::Result<u32> {
    Ok(name_to_index(probe()?, name)?)
}

fn set_up(device: u32, wanted: &Parameters, step: &mut &'static str) -> io::Result<()> {
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
    if !host.is_off {
        *step = "switch the device on";
        netlink.switch(device, true)?;
    }
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
