//! Messages of drivers for cards that are not driven here: `vmxnet3`, `idpf`, `rdma`, `pp2`. Each
//! is answered with what the bus or the host knows of the device.

use control::api::{Api, Message, Record, Retval, Text};
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::virtio::{PciAddress, refuse};

/// Create a vmxnet3 interface.
#[derive(Message)]
#[reply(Vmxnet3CreateReply)]
#[option(
    "vat_help",
    "<pci-address> [rx-queue-size <size>] [tx-queue-size <size>] [num-tx-queues <num>] \
     [num-rx-queues <num>] [bind] [gso]"
)]
pub struct Vmxnet3Create {
    /// PCI address: function, slot, bus and domain, from the most significant bits
    pub pci_addr: u32,
    /// ignored
    pub enable_elog: i32,
    /// receive ring size
    pub rxq_size: u16,
    /// number of receive queues
    pub rxq_num: u16,
    /// transmit ring size
    pub txq_size: u16,
    /// number of transmit queues
    pub txq_num: u16,
    /// unbind the device from the kernel driver
    pub bind: u8,
    /// segmentation offload
    pub enable_gso: bool,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct Vmxnet3CreateReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Delete a vmxnet3 interface.
#[derive(Message)]
#[option("vat_help", "sw_if_index <sw_if_index>")]
pub struct Vmxnet3Delete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// A transmit ring.
#[derive(Clone, Copy, Debug, Default, Record)]
pub struct Vmxnet3TxList {
    /// ring size in slots
    pub tx_qsize: u16,
    /// next slot
    pub tx_next: u16,
    /// producer index
    pub tx_produce: u16,
    /// consumer index
    pub tx_consume: u16,
}

/// A receive ring.
#[derive(Clone, Copy, Debug, Default, Record)]
pub struct Vmxnet3RxList {
    /// ring size in slots
    pub rx_qsize: u16,
    /// buffers in the ring
    pub rx_fill: [u16; 2],
    /// next slot
    pub rx_next: u16,
    /// producer index
    pub rx_produce: [u16; 2],
    /// consumer index
    pub rx_consume: [u16; 2],
}

/// List vmxnet3 interfaces.
#[derive(Message)]
#[option("deprecated")]
#[details(Vmxnet3Details)]
pub struct Vmxnet3Dump {}

/// One item of the list.
#[derive(Message)]
pub struct Vmxnet3Details {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// name
    pub if_name: Text<64>,
    /// MAC address
    pub hw_addr: MacAddr,
    /// PCI address
    pub pci_addr: u32,
    /// device version
    pub version: u8,
    /// administratively up
    pub admin_up_down: bool,
    /// number of receive rings
    pub rx_count: u8,
    /// the rings
    pub rx_list: [Vmxnet3RxList; 16],
    /// number of transmit rings
    pub tx_count: u8,
    /// the rings
    pub tx_list: [Vmxnet3TxList; 8],
}

/// List vmxnet3 interfaces.
#[derive(Message)]
#[details(SwVmxnet3InterfaceDetails)]
pub struct SwVmxnet3InterfaceDump {
    /// only this one
    #[preset(4_294_967_295)]
    pub sw_if_index: InterfaceIndex,
}

/// One item of the list.
#[derive(Message)]
pub struct SwVmxnet3InterfaceDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// name
    pub if_name: Text<64>,
    /// MAC address
    pub hw_addr: MacAddr,
    /// PCI address
    pub pci_addr: u32,
    /// device version
    pub version: u8,
    /// administratively up
    pub admin_up_down: bool,
    /// number of receive rings
    pub rx_count: u8,
    /// the rings
    pub rx_list: [Vmxnet3RxList; 16],
    /// number of transmit rings
    pub tx_count: u8,
    /// the rings
    pub tx_list: [Vmxnet3TxList; 8],
}

/// Create an interface on a port of an Intel IDPF device.
#[derive(Message)]
#[reply(IdpfCreateReply)]
#[option(
    "vat_help",
    "<pci-address> [vport-num <size>] [rx-single <size>] [tx-single <size>] [rxq-num <size>] \
     [txq-num <size>] [rxq-size <size>] [txq-size <size>]"
)]
pub struct IdpfCreate {
    /// PCI address
    pub pci_addr: u32,
    /// receive queues without completion queues
    pub rxq_single: u16,
    /// transmit queues without completion queues
    pub txq_single: u16,
    /// number of receive queues
    pub rxq_num: u16,
    /// number of transmit queues
    pub txq_num: u16,
    /// receive ring size
    pub rxq_size: u16,
    /// transmit ring size
    pub txq_size: u16,
    /// ports
    pub req_vport_nb: u16,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct IdpfCreateReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Delete an IDPF interface.
#[derive(Message)]
#[option("vat_help", "<sw_if_index>")]
pub struct IdpfDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Create a Marvell PP2 interface.
#[derive(Message)]
#[reply(MrvlPp2CreateReply)]
#[option("vat_help", "[name <ifname>] [rx-queue-size <size>] [tx-queue-size <size>]")]
pub struct MrvlPp2Create {
    /// device name
    pub if_name: Text<64>,
    /// receive ring size
    pub rx_q_sz: u16,
    /// transmit ring size
    pub tx_q_sz: u16,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct MrvlPp2CreateReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Delete a Marvell PP2 interface.
#[derive(Message)]
#[option("vat_help", "sw_if_index <sw_if_index>")]
pub struct MrvlPp2Delete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// The address in a number.
fn address(number: u32) -> PciAddress {
    let [function_slot, bus, high, low] = number.to_be_bytes();
    PciAddress {
        domain: u16::from_be_bytes([high, low]),
        bus,
        slot: function_slot & 31,
        function: function_slot >> 5,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("vmxnet3", "1.2.0")
        .call(|_: &mut Router, m: Vmxnet3Create| {
            Err::<Vmxnet3CreateReply, _>(refuse(address(m.pci_addr)))
        })
        .call(|_: &mut Router, _: Vmxnet3Delete| Err::<(), _>(Retval::INVALID_SW_IF_INDEX))
        .dump(|_: &mut Router, _: Vmxnet3Dump| Vec::<Vmxnet3Details>::new())
        .dump(|_: &mut Router, _: SwVmxnet3InterfaceDump| Vec::<SwVmxnet3InterfaceDetails>::new());
    api.plugin("idpf", "1.0.0")
        .call(|_: &mut Router, m: IdpfCreate| {
            Err::<IdpfCreateReply, _>(refuse(address(m.pci_addr)))
        })
        .call(|_: &mut Router, _: IdpfDelete| Err::<(), _>(Retval::INVALID_SW_IF_INDEX));
    api.plugin("pp2", "1.0.0")
        .call(|_: &mut Router, m: MrvlPp2Create| {
            Err::<MrvlPp2CreateReply, _>(host_refusal(&m.if_name))
        })
        .call(|_: &mut Router, _: MrvlPp2Delete| Err::<(), _>(Retval::INVALID_SW_IF_INDEX));
    super::rdma::register(api);
}

/// The error for requests to drive a host device.
pub(super) fn host_refusal(name: &str) -> Retval {
    let is_name = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    let is_there = is_name && std::path::Path::new("/sys/class/net").join(name).exists();
    if is_there { Retval::UNSUPPORTED } else { Retval::NO_SUCH_ENTRY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_addresses_on_the_bus() {
        let at = address(0xe2_0b_00_05);
        assert_eq!((at.domain, at.bus, at.slot, at.function), (5, 0x0b, 2, 7));
        assert_eq!(host_refusal("lo"), Retval::UNSUPPORTED);
        for wrong in ["", "nosuch0", "../net/lo"] {
            assert_eq!(host_refusal(wrong), Retval::NO_SUCH_ENTRY);
        }
    }
}
