//! Messages of the module `virtio`.

use control::api::{Api, Message, Record, Retval};
use net::{InterfaceIndex, InterfaceReply, Router};
use wire::MacAddr;

use super::bus::{self, Address, Refused};

control::numbers! {
    /// Interface options.
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
    /// PCI domain
    pub domain: u16,
    /// PCI bus
    pub bus: u8,
    /// PCI slot
    pub slot: u8,
    /// PCI function
    pub function: u8,
}

/// Create a virtio PCI interface.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct VirtioPciCreate {
    /// PCI address
    pub pci_addr: PciAddress,
    /// true for a random MAC address
    pub use_random_mac: bool,
    /// MAC address
    pub mac_address: MacAddr,
    /// segmentation offload
    pub gso_enabled: bool,
    /// checksum offload
    pub checksum_offload_enabled: bool,
    /// permitted features
    pub features: u64,
}

/// Create a virtio PCI interface.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct VirtioPciCreateV2 {
    /// PCI address
    pub pci_addr: PciAddress,
    /// true for a random MAC address
    pub use_random_mac: bool,
    /// MAC address
    pub mac_address: MacAddr,
    /// options
    pub virtio_flags: VirtioFlags,
    /// permitted features
    pub features: u64,
}

/// Delete a virtio PCI interface.
#[derive(Message)]
pub struct VirtioPciDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List virtio PCI interfaces.
#[derive(Message)]
#[details(SwInterfaceVirtioPciDetails)]
pub struct SwInterfaceVirtioPciDump {}

/// One item of the list.
#[derive(Message)]
pub struct SwInterfaceVirtioPciDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// PCI address
    pub pci_addr: PciAddress,
    /// MAC address
    pub mac_addr: MacAddr,
    /// transmit ring size
    pub tx_ring_sz: u16,
    /// receive ring size
    pub rx_ring_sz: u16,
    /// negotiated features
    pub features: u64,
}

/// The error for requests to drive a device.
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
