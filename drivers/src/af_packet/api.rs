//! Messages of the module `af_packet`.
#![forbid(unsafe_code)]

use control::api::{Api, Message, Retval, Text};
use net::interface::Offloads;
use net::{InterfaceIndex, InterfaceReply, Router, interface};
use wire::MacAddr;

use super::commands::make;
use super::interface::{Error, HARDWARE, HostInterfaces, MAX_QUEUES, Parameters};
use crate::host::background::Pending;

control::numbers! {
    /// First header of packets.
    pub enum AfPacketMode: u32 = "af_packet_mode" in "" {
        ETHERNET = 1 => "AF_PACKET_API_MODE_ETHERNET",
        IP = 2 => "AF_PACKET_API_MODE_IP",
    }
    /// Transmit options.
    pub enum AfPacketFlags: u32 = "af_packet_flags" in "" {
        QDISC_BYPASS = 1 => "AF_PACKET_API_FLAG_QDISC_BYPASS",
        CKSUM_GSO = 2 => "AF_PACKET_API_FLAG_CKSUM_GSO",
        VERSION_2 = 8 => "AF_PACKET_API_FLAG_VERSION_2" later,
    }
}

/// Create an interface on a host device.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct AfPacketCreate {
    /// MAC address
    pub hw_addr: MacAddr,
    /// use a random address instead
    pub use_random_hw_addr: bool,
    /// device name
    pub host_if_name: Text<64>,
}

/// Create an interface on a host device.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct AfPacketCreateV2 {
    /// MAC address
    pub hw_addr: MacAddr,
    /// use a random address instead
    pub use_random_hw_addr: bool,
    /// device name
    pub host_if_name: Text<64>,
    /// ignored, as are the next three fields
    pub rx_frame_size: u32,
    /// ignored
    pub tx_frame_size: u32,
    /// ignored
    pub rx_frames_per_block: u32,
    /// ignored
    pub tx_frames_per_block: u32,
    /// transmit options
    pub flags: u32,
    /// number of receive sockets
    #[preset(1)]
    pub num_rx_queues: u16,
}

/// Create an interface on a host device.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct AfPacketCreateV3 {
    /// first header of packets
    pub mode: AfPacketMode,
    /// MAC address
    pub hw_addr: MacAddr,
    /// use a random address instead
    pub use_random_hw_addr: bool,
    /// device name
    pub host_if_name: Text<64>,
    /// ignored, as are the next three fields
    pub rx_frame_size: u32,
    /// ignored
    pub tx_frame_size: u32,
    /// ignored
    pub rx_frames_per_block: u32,
    /// ignored
    pub tx_frames_per_block: u32,
    /// transmit options
    pub flags: AfPacketFlags,
    /// number of receive sockets
    #[preset(1)]
    pub num_rx_queues: u16,
    /// number of transmit sockets
    #[preset(1)]
    pub num_tx_queues: u16,
}

/// Delete an interface on a host device.
#[derive(Message)]
pub struct AfPacketDelete {
    /// device name
    pub host_if_name: Text<64>,
}

/// Set whether the host or the router completes TCP and UDP checksums.
#[derive(Message)]
pub struct AfPacketSetL4CksumOffload {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true for the host, false for the router
    pub set: bool,
}

/// List interfaces on host devices.
#[derive(Message)]
#[details(AfPacketDetails)]
pub struct AfPacketDump {}

/// One item of the list.
#[derive(Message)]
pub struct AfPacketDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// device name
    pub host_if_name: Text<64>,
}

/// Creation of an interface by any of the three requests, in the form of the last.
fn create<R: 'static>(
    router: &mut Router,
    m: &AfPacketCreateV3,
    reply: fn(&Router, InterfaceIndex) -> R,
) -> Result<Pending<Result<R, Retval>>, Retval> {
    let is_ip = match m.mode {
        AfPacketMode::ETHERNET => false,
        AfPacketMode::IP => true,
        _ => return Err(Retval::INVALID_VALUE),
    };
    let queues = [m.num_rx_queues, m.num_tx_queues].map(usize::from);
    if queues.iter().any(|n| *n > MAX_QUEUES) {
        return Err(Retval::INVALID_VALUE);
    }
    if !m.use_random_hw_addr && (m.hw_addr.is_multicast() || m.hw_addr == MacAddr::ZERO) {
        return Err(Retval::INVALID_VALUE);
    }
    let wanted = Parameters {
        device: m.host_if_name.to_string(),
        rx_queues: queues[0].max(1),
        tx_queues: queues[1].max(1),
        mac: (!m.use_random_hw_addr).then_some(m.hw_addr),
        is_ip,
        bypasses_qdisc: m.flags.contains(AfPacketFlags::QDISC_BYPASS),
        offloads: m.flags.contains(AfPacketFlags::CKSUM_GSO),
    };
    make(router, wanted, reply)
}

/// A request of the last version that says nothing but this.
fn plain(mac: MacAddr, random: bool, name: Text<64>, flags: u32, rx: u16) -> AfPacketCreateV3 {
    AfPacketCreateV3 {
        mode: AfPacketMode::ETHERNET,
        hw_addr: mac,
        use_random_hw_addr: random,
        host_if_name: name,
        rx_frame_size: 0,
        tx_frame_size: 0,
        rx_frames_per_block: 0,
        tx_frames_per_block: 0,
        flags: AfPacketFlags(flags),
        num_rx_queues: rx,
        num_tx_queues: 1,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    creation(api);
    api.plugin("af_packet", "2.0.0")
        .call(|router: &mut Router, m: AfPacketDelete| {
            let name = m.host_if_name.as_str();
            let gone = router.with(|all: &mut HostInterfaces, router| all.delete(router, name));
            gone.ok_or(Retval::UNSPECIFIED)?.map_err(|e| match e {
                Error::NoDevice | Error::NoHostDevice => Retval::SYSCALL_ERROR_1,
                e => e.into(),
            })
        })
        .call(|router: &mut Router, m: AfPacketSetL4CksumOffload| {
            let i = interface::api::find(router, m.sw_if_index)?;
            if i.hardware != HARDWARE || i.is_sub() {
                return Err(Retval::INVALID_INTERFACE);
            }
            let gso = i.offloads.gso && m.set;
            router
                .interfaces
                .set_offloads(m.sw_if_index, Offloads { checksum: m.set, gso, tunnels: false });
            Ok(())
        })
        .dump(|router: &mut Router, _: AfPacketDump| {
            let all = router.state::<HostInterfaces>().map_or(&[][..], |all| &all.list);
            let row = |i: &super::interface::HostInterface| AfPacketDetails {
                sw_if_index: i.index,
                host_if_name: i.wanted.device.clone().into(),
            };
            all.iter().map(row).collect()
        });
}

fn creation(api: &mut Api<Router>) {
    api.plugin("af_packet", "2.0.0")
        .task(|router: &mut Router, _, m: AfPacketCreate| {
            let flags = AfPacketFlags::QDISC_BYPASS.0;
            let m = plain(m.hw_addr, m.use_random_hw_addr, m.host_if_name, flags, 1);
            create(router, &m, |_, sw_if_index| InterfaceReply { sw_if_index })
        })
        .task(|router: &mut Router, _, m: AfPacketCreateV2| {
            let (random, name) = (m.use_random_hw_addr, m.host_if_name);
            let m = plain(m.hw_addr, random, name, m.flags, m.num_rx_queues);
            create(router, &m, |_, sw_if_index| InterfaceReply { sw_if_index })
        })
        .task(|router: &mut Router, _, m: AfPacketCreateV3| {
            create(router, &m, |_, sw_if_index| InterfaceReply { sw_if_index })
        });
}
