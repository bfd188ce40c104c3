//! Messages of the module `virtio`.

use control::api::{Api, Message, Record, Retval};
use net::{InterfaceIndex, InterfaceReply, Router};
use wire::MacAddr;

use super::bus::{self, Address, Refused};

control::numbers! {
    /// Options of an interface.
    pub flags VirtioFlags: u32 = "virtio_flags" in "" {
        GSO = 1 => "VIRTIO_API_FLAG_GSO",
        CSUM_OFFLOAD = 2 => "VIRTIO_API_FLAG_CSUM_OFFLOAD",
        GRO_COALESCE = 4 => "VIRTIO_API_FLAG_GRO_COALESCE",
        PACKED = 8 => "VIRTIO_API_FLAG_PACKED",
        IN_ORDER = 16 => "VIRTIO_API_FLAG_IN_ORDER",
        BUFFERING = 32 => "VIRTIO_API_FLAG_BUFFERING" later,
        RSS = 64 => "VIRTIO_API_FLAG_RSS" later,
    }
}

/// Address of a device.
#[derive(Clone, Copy, Debug, Default, Record)]
#[file("vlib/pci/pci_types.api")]
pub struct PciAddress {
    /// its domain
    pub domain: u16,
    /// its bus
    pub bus: u8,
    /// its slot
    pub slot: u8,
    /// its function
    pub function: u8,
}

/// Make an interface of a virtio device on the PCI bus.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct VirtioPciCreate {
    /// where it is
    pub pci_addr: PciAddress,
    /// whether its address is random
    pub use_random_mac: bool,
    /// its address
    pub mac_address: MacAddr,
    /// big packets
    pub gso_enabled: bool,
    /// packets without checksum
    pub checksum_offload_enabled: bool,
    /// features that may be used
    pub features: u64,
}

/// Make an interface of a virtio device on the PCI bus.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct VirtioPciCreateV2 {
    /// where it is
    pub pci_addr: PciAddress,
    /// whether its address is random
    pub use_random_mac: bool,
    /// its address
    pub mac_address: MacAddr,
    /// options
    pub virtio_flags: VirtioFlags,
    /// features that may be used
    pub features: u64,
}

/// Delete an interface of a virtio device on the PCI bus.
#[derive(Message)]
pub struct VirtioPciDelete {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Ask for interfaces of virtio devices on the PCI bus.
#[derive(Message)]
#[details(SwInterfaceVirtioPciDetails)]
pub struct SwInterfaceVirtioPciDump {}

/// One of them.
#[derive(Message)]
pub struct SwInterfaceVirtioPciDetails {
    /// its number
    pub sw_if_index: InterfaceIndex,
    /// where it is
    pub pci_addr: PciAddress,
    /// its address
    pub mac_addr: MacAddr,
    /// packets that may wait on the way to the device
    pub tx_ring_sz: u16,
    /// packets that may wait on the way to the router
    pub rx_ring_sz: u16,
    /// features that are used
    pub features: u64,
}

/// The answer to who wants a device driven here.
pub(super) fn refuse(at: PciAddress) -> Retval {
    let PciAddress { domain, bus, slot, function } = at;
    match bus::refusal(Address { domain, bus, slot, function }) {
        Refused::NoAddress(_) => Retval::INVALID_VALUE,
        Refused::Missing(_) => Retval::NO_SUCH_ENTRY,
        Refused::NoDriver(_) => Retval::UNSUPPORTED,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("virtio", "3.0.0")
        .call(|_: &mut Router, m: VirtioPciCreate| Err::<InterfaceReply, _>(refuse(m.pci_addr)))
        .call(|_: &mut Router, m: VirtioPciCreateV2| Err::<InterfaceReply, _>(refuse(m.pci_addr)))
        .call(|_: &mut Router, _: VirtioPciDelete| Err::<(), _>(Retval::INVALID_SW_IF_INDEX))
        .dump(|_: &mut Router, _: SwInterfaceVirtioPciDump| -> Vec<SwInterfaceVirtioPciDetails> {
            Vec::new()
        });
}
