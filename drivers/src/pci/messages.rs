//! Messages of drivers for cards that are not driven here: `vmxnet3`, `idpf`, `rdma`, `pp2`. Each
//! is answered with what the bus or the host knows of the device.

use control::api::{Api, Message, Record, Retval, Text};
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::virtio::{PciAddress, refuse};

/// Make an interface of a vmxnet3 device on the PCI bus.
#[derive(Message)]
#[reply(Vmxnet3CreateReply)]
#[option(
    "vat_help",
    "<pci-address> [rx-queue-size <size>] [tx-queue-size <size>] [num-tx-queues <num>] \
     [num-rx-queues <num>] [bind] [gso]"
)]
pub struct Vmxnet3Create {
    /// where it is: function, slot, bus and domain, from the highest bits on
    pub pci_addr: u32,
    /// not read
    pub enable_elog: i32,
    /// packets that may wait on the way to the router
    pub rxq_size: u16,
    /// queues that receive
    pub rxq_num: u16,
    /// packets that may wait on the way to the device
    pub txq_size: u16,
    /// queues that send
    pub txq_num: u16,
    /// take it from the kernel
    pub bind: u8,
    /// big packets
    pub enable_gso: bool,
}

/// It is made.
#[derive(Message)]
pub struct Vmxnet3CreateReply {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Delete an interface of a vmxnet3 device.
#[derive(Message)]
#[option("vat_help", "sw_if_index <sw_if_index>")]
pub struct Vmxnet3Delete {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// A ring that sends.
#[derive(Clone, Copy, Debug, Default, Record)]
pub struct Vmxnet3TxList {
    /// slots
    pub tx_qsize: u16,
    /// next slot
    pub tx_next: u16,
    /// slots that were filled
    pub tx_produce: u16,
    /// slots that were emptied
    pub tx_consume: u16,
}

/// A ring that receives.
#[derive(Clone, Copy, Debug, Default, Record)]
pub struct Vmxnet3RxList {
    /// slots
    pub rx_qsize: u16,
    /// buffers that are there
    pub rx_fill: [u16; 2],
    /// next slot
    pub rx_next: u16,
    /// slots that were filled
    pub rx_produce: [u16; 2],
    /// slots that were emptied
    pub rx_consume: [u16; 2],
}

/// Ask for interfaces of vmxnet3 devices.
#[derive(Message)]
#[option("deprecated")]
#[details(Vmxnet3Details)]
pub struct Vmxnet3Dump {}

/// One of them.
#[derive(Message)]
pub struct Vmxnet3Details {
    /// its number
    pub sw_if_index: InterfaceIndex,
    /// its name
    pub if_name: Text<64>,
    /// its address
    pub hw_addr: MacAddr,
    /// where it is
    pub pci_addr: u32,
    /// of the device
    pub version: u8,
    /// up
    pub admin_up_down: bool,
    /// rings that receive
    pub rx_count: u8,
    /// these
    pub rx_list: [Vmxnet3RxList; 16],
    /// rings that send
    pub tx_count: u8,
    /// these
    pub tx_list: [Vmxnet3TxList; 8],
}

/// Ask for interfaces of vmxnet3 devices.
#[derive(Message)]
#[details(SwVmxnet3InterfaceDetails)]
pub struct SwVmxnet3InterfaceDump {
    /// only this one
    #[preset(4_294_967_295)]
    pub sw_if_index: InterfaceIndex,
}

/// One of them.
#[derive(Message)]
pub struct SwVmxnet3InterfaceDetails {
    /// its number
    pub sw_if_index: InterfaceIndex,
    /// its name
    pub if_name: Text<64>,
    /// its address
    pub hw_addr: MacAddr,
    /// where it is
    pub pci_addr: u32,
    /// of the device
    pub version: u8,
    /// up
    pub admin_up_down: bool,
    /// rings that receive
    pub rx_count: u8,
    /// these
    pub rx_list: [Vmxnet3RxList; 16],
    /// rings that send
    pub tx_count: u8,
    /// these
    pub tx_list: [Vmxnet3TxList; 8],
}

/// Make an interface of a port of an Intel infrastructure device.
#[derive(Message)]
#[reply(IdpfCreateReply)]
#[option(
    "vat_help",
    "<pci-address> [vport-num <size>] [rx-single <size>] [tx-single <size>] [rxq-num <size>] \
     [txq-num <size>] [rxq-size <size>] [txq-size <size>]"
)]
pub struct IdpfCreate {
    /// where it is
    pub pci_addr: u32,
    /// receive queues without a completion queue
    pub rxq_single: u16,
    /// send queues without a completion queue
    pub txq_single: u16,
    /// queues that receive
    pub rxq_num: u16,
    /// queues that send
    pub txq_num: u16,
    /// packets that may wait on the way to the router
    pub rxq_size: u16,
    /// packets that may wait on the way to the device
    pub txq_size: u16,
    /// ports
    pub req_vport_nb: u16,
}

/// It is made.
#[derive(Message)]
pub struct IdpfCreateReply {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Delete an interface of an Intel infrastructure device.
#[derive(Message)]
#[option("vat_help", "<sw_if_index>")]
pub struct IdpfDelete {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Make an interface of a Marvell packet processor.
#[derive(Message)]
#[reply(MrvlPp2CreateReply)]
#[option("vat_help", "[name <ifname>] [rx-queue-size <size>] [tx-queue-size <size>]")]
pub struct MrvlPp2Create {
    /// name of the device
    pub if_name: Text<64>,
    /// packets that may wait on the way to the router
    pub rx_q_sz: u16,
    /// packets that may wait on the way to the device
    pub tx_q_sz: u16,
}

/// It is made.
#[derive(Message)]
pub struct MrvlPp2CreateReply {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Delete an interface of a Marvell packet processor.
#[derive(Message)]
#[option("vat_help", "sw_if_index <sw_if_index>")]
pub struct MrvlPp2Delete {
    /// its number
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

/// The answer to who wants a device of the host driven here.
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
