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
    /// Options for sending.
    pub enum AfPacketFlags: u32 = "af_packet_flags" in "" {
        QDISC_BYPASS = 1 => "AF_PACKET_API_FLAG_QDISC_BYPASS",
        CKSUM_GSO = 2 => "AF_PACKET_API_FLAG_CKSUM_GSO",
        VERSION_2 = 8 => "AF_PACKET_API_FLAG_VERSION_2" later,
    }
}

/// Make an interface on a device of the host.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct AfPacketCreate {
    /// its address
    pub hw_addr: MacAddr,
    /// a random one instead
    pub use_random_hw_addr: bool,
    /// name of the device
    pub host_if_name: Text<64>,
}

/// Make an interface on a device of the host.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct AfPacketCreateV2 {
    /// its address
    pub hw_addr: MacAddr,
    /// a random one instead
    pub use_random_hw_addr: bool,
    /// name of the device
    pub host_if_name: Text<64>,
    /// has no meaning here, nor have the next three
    pub rx_frame_size: u32,
    /// has no meaning here
    pub tx_frame_size: u32,
    /// has no meaning here
    pub rx_frames_per_block: u32,
    /// has no meaning here
    pub tx_frames_per_block: u32,
    /// options for sending
    pub flags: u32,
    /// sockets that receive
    #[preset(1)]
    pub num_rx_queues: u16,
}

/// Make an interface on a device of the host.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct AfPacketCreateV3 {
    /// first header of packets
    pub mode: AfPacketMode,
    /// its address
    pub hw_addr: MacAddr,
    /// a random one instead
    pub use_random_hw_addr: bool,
    /// name of the device
    pub host_if_name: Text<64>,
    /// has no meaning here, nor have the next three
    pub rx_frame_size: u32,
    /// has no meaning here
    pub tx_frame_size: u32,
    /// has no meaning here
    pub rx_frames_per_block: u32,
    /// has no meaning here
    pub tx_frames_per_block: u32,
    /// options for sending
    pub flags: AfPacketFlags,
    /// sockets that receive
    #[preset(1)]
    pub num_rx_queues: u16,
    /// sockets that send
    #[preset(1)]
    pub num_tx_queues: u16,
}

/// Delete the interface on a device of the host.
#[derive(Message)]
pub struct AfPacketDelete {
    /// name of the device
    pub host_if_name: Text<64>,
}

/// Choose whether the host or the router completes checksums of TCP and UDP.
#[derive(Message)]
pub struct AfPacketSetL4CksumOffload {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the host, else the router
    pub set: bool,
}

/// Ask for interfaces on devices of the host.
#[derive(Message)]
#[details(AfPacketDetails)]
pub struct AfPacketDump {}

/// One of them.
#[derive(Message)]
pub struct AfPacketDetails {
    /// its number
    pub sw_if_index: InterfaceIndex,
    /// name of the device
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
