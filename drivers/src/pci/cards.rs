//! Commands for network cards that the router would drive itself: vmxnet3, ports of devices, what
//! a card tells of itself. There are none, and each command says so of the device or interface that
//! it names.

use control::cli::{Cli, Command, Error, Output, Word};
use net::{InterfaceIndex, Router};

use super::bus::{self, Address};
use super::commands::{Nothing, refusal, unattached};

/// Create a vmxnet3 interface.
#[derive(Command)]
#[command("create interface vmxnet3")]
struct CreateVmxnet3 {
    /// PCI address
    #[positional]
    #[values("pci-address")]
    address: Word,
    /// receive ring size
    #[keyword("rx-queue-size")]
    _rx_queue_size: Option<u32>,
    /// transmit ring size
    #[keyword("tx-queue-size")]
    _tx_queue_size: Option<u32>,
    /// number of transmit queues
    #[keyword("num-tx-queues")]
    _num_tx_queues: Option<u32>,
    /// number of receive queues
    #[keyword("num-rx-queues")]
    _num_rx_queues: Option<u32>,
    /// unbind the device from the kernel driver
    #[keyword("bind")]
    _bind: bool,
    /// even if it is in use
    #[keyword("force")]
    _force: bool,
    /// segmentation offload
    #[keyword("gso")]
    _gso: bool,
    /// log events
    #[keyword("elog")]
    _elog: bool,
}

/// Delete a vmxnet3 interface.
#[derive(Command)]
#[command("delete interface vmxnet3")]
struct DeleteVmxnet3 {
    /// interface index
    #[keyword("sw_if_index")]
    sw_if_index: Option<u32>,
    /// name
    #[positional]
    interface: Option<InterfaceIndex>,
}

/// Show vmxnet3 interfaces.
#[derive(Command)]
#[command("show vmxnet3")]
struct ShowVmxnet3 {
    /// interface; default all
    #[positional]
    interface: Option<InterfaceIndex>,
    /// all descriptors
    #[keyword("desc")]
    _desc: bool,
    /// a ring of completions
    #[keyword("rx-comp")]
    #[alias("tx-comp")]
    _completions: bool,
    /// a ring of descriptors
    #[keyword("rx-desc-0")]
    #[alias("rx-desc-1")]
    #[alias("tx-desc")]
    _ring: bool,
    /// a slot in it
    #[positional]
    _slot: Option<u32>,
}

/// Show virtio PCI interfaces.
#[derive(Command)]
#[command("show virtio pci")]
struct ShowVirtio {
    /// interface; default all
    #[positional]
    interface: Option<InterfaceIndex>,
    /// all descriptors
    #[keyword("descriptors")]
    _descriptors: bool,
    /// all descriptors
    #[keyword("desc")]
    _desc: bool,
    /// device registers
    #[keyword("debug-device")]
    _debug_device: bool,
}

/// Set the offloads of a virtio interface.
#[derive(Command)]
#[command("set virtio pci")]
struct SetVirtio {
    /// interface index
    #[keyword("sw_if_index")]
    sw_if_index: Option<u32>,
    /// name
    #[positional]
    interface: Option<InterfaceIndex>,
    /// segmentation offload
    #[keyword("gso-enabled")]
    _gso: bool,
    /// checksums
    #[keyword("csum-offload-enabled")]
    _checksums: bool,
    /// nothing
    #[keyword("offloads-disabled")]
    _nothing: bool,
}

/// Create an interface on a device port.
#[derive(Command)]
#[command("device create-interface")]
struct CreatePort {
    /// the device
    #[positional]
    #[values("device-id")]
    device: Word,
    /// port
    #[keyword("port")]
    _port: Option<u32>,
    /// interface name
    #[keyword("if-name")]
    #[alias("name")]
    _name: Option<Word>,
    /// port flags
    #[keyword("flags")]
    _flags: Option<Word>,
    /// number of receive queues
    #[keyword("num-rx-queues")]
    _num_rx_queues: Option<u32>,
    /// number of transmit queues
    #[keyword("num-tx-queues")]
    _num_tx_queues: Option<u32>,
    /// receive ring size
    #[keyword("rx-queues-size")]
    _rx_queues_size: Option<u32>,
    /// transmit ring size
    #[keyword("tx-queues-size")]
    _tx_queues_size: Option<u32>,
    /// assignment of queues to threads
    #[keyword("rx-queue-assignment")]
    _assignment: Option<Word>,
    /// driver arguments
    #[keyword("args")]
    _args: Option<Word>,
}

/// Create another interface on a device port.
#[derive(Command)]
#[command("device create-secondary-interface")]
struct CreateSecondary {
    /// primary interface
    #[positional]
    interface: Option<InterfaceIndex>,
    /// primary interface
    primary_if_name: Option<InterfaceIndex>,
    /// index of the primary interface
    #[keyword("sw-if-index")]
    #[alias("primary-sw-if-index")]
    sw_if_index: Option<u32>,
    /// name of the new interface
    #[keyword("if-name")]
    _name: Option<Word>,
    /// ID of the new interface
    #[keyword("id")]
    _id: u32,
    /// driver arguments
    #[keyword("args")]
    _args: Option<Word>,
}

/// Delete a device port's interface.
#[derive(Command)]
#[command("device remove-interface")]
struct RemovePort {
    /// name
    #[positional]
    interface: Option<InterfaceIndex>,
    /// interface index
    #[keyword("sw-if-index")]
    sw_if_index: Option<u32>,
}

/// Delete a secondary interface.
#[derive(Command)]
#[command("device remove-secondary-interface")]
struct RemoveSecondary {
    /// name
    #[positional]
    interface: Option<InterfaceIndex>,
    /// interface index
    #[keyword("sw-if-index")]
    sw_if_index: Option<u32>,
}

/// Reset a device.
#[derive(Command)]
#[command("device reset")]
struct Reset {
    /// the device
    #[positional]
    #[values("device-id")]
    device: Word,
}

/// Configure RSS on a NIC.
#[derive(Command)]
#[command("device set-rss-config")]
struct SetRss {
    /// interface of the port
    #[positional]
    interface: Option<InterfaceIndex>,
    /// port
    #[keyword("port")]
    _port: Option<u32>,
    /// the device
    #[keyword("dev")]
    device: Option<Word>,
    /// hash key
    #[keyword("key")]
    _key: Option<Word>,
    /// indirection table
    #[keyword("lut")]
    _lut: Option<Word>,
}

/// Set the RSS queues of an interface's NIC.
#[derive(Command)]
#[command("set interface rss queues")]
struct SetRssQueues {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// queues, such as 0,2-3
    #[keyword("list")]
    _queues: Option<Word>,
}

/// Set the class of an interface.
#[derive(Command)]
#[command("set interface hw-class")]
struct SetClass {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// class
    #[positional]
    #[values("hw-class")]
    class: Word,
}

/// Show transceiver information.
#[derive(Command)]
#[command("show interface transceiver")]
struct ShowTransceiver {
    /// interface; default all
    #[positional]
    _interface: Option<InterfaceIndex>,
    /// identification
    #[keyword("module")]
    _module: bool,
    /// diagnostics
    #[keyword("diag")]
    _diag: bool,
    /// EEPROM contents
    #[keyword("eeprom")]
    _eeprom: bool,
    /// in detail
    #[keyword("verbose")]
    _verbose: bool,
}

/// Show DMA engines.
#[derive(Command)]
#[command("show dma")]
struct ShowDma {
    /// configuration index
    #[keyword("config")]
    config: Option<u32>,
}

/// Show DMA engine drivers.
#[derive(Command)]
#[command("show dma backends")]
struct ShowDmaBackends {}

fn nothing<T>() -> Result<Output, T> {
    Ok(Output::of(Nothing { devices: [] }))
}

/// The refusal for an interface, named or by its number, of which a command expects that it is one
/// of `kind`.
fn is_none(
    router: &Router,
    interface: Option<InterfaceIndex>,
    number: Option<u32>,
    kind: &str,
) -> Error {
    let index = match (interface, number) {
        (Some(index), None) => index,
        (None, Some(number)) => InterfaceIndex(number),
        _ => return "expected the name or the number of an interface".into(),
    };
    match router.interfaces.at(index) {
        Some(_) => {
            let name = router.interfaces.name(index.0);
            Error::new(format!("{name} is not {kind}"))
        }
        None => Error::new(format!("no interface with index {}", index.0)),
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    const VMXNET3: &str = "an interface of a vmxnet3 device";
    const VIRTIO: &str = "an interface of a virtio device";
    const PORT: &str = "an interface of a port of a device";
    const CARD: &str = "an interface of a card that spreads packets by a table of its own";
    cli.command(|_: &mut Router, c: CreateVmxnet3| {
        let parsed = c.address.parse::<Address>();
        let refused = parsed.map_or_else(|why| why, bus::refusal);
        Err::<(), _>(Error::new(refused.to_string()))
    });
    cli.command(|router: &mut Router, c: DeleteVmxnet3| {
        Err::<(), _>(is_none(router, c.interface, c.sw_if_index, VMXNET3))
    });
    cli.command(|router: &mut Router, c: ShowVmxnet3| match c.interface {
        Some(_) => Err(is_none(router, c.interface, None, VMXNET3)),
        None => nothing(),
    });
    cli.command(|router: &mut Router, c: ShowVirtio| match c.interface {
        Some(_) => Err(is_none(router, c.interface, None, VIRTIO)),
        None => nothing(),
    });
    cli.command(|router: &mut Router, c: SetVirtio| {
        Err::<(), _>(is_none(router, c.interface, c.sw_if_index, VIRTIO))
    });
    cli.command(|_: &mut Router, c: CreatePort| Err::<(), _>(not_attached(&c.device)));
    cli.command(|_: &mut Router, c: Reset| Err::<(), _>(not_attached(&c.device)));
    cli.command(|router: &mut Router, c: CreateSecondary| {
        let interface = c.interface.or(c.primary_if_name);
        Err::<(), _>(is_none(router, interface, c.sw_if_index, PORT))
    });
    cli.command(|router: &mut Router, c: RemovePort| {
        Err::<(), _>(is_none(router, c.interface, c.sw_if_index, PORT))
    });
    cli.command(|router: &mut Router, c: RemoveSecondary| {
        Err::<(), _>(is_none(router, c.interface, c.sw_if_index, PORT))
    });
    cli.command(|router: &mut Router, c: SetRss| {
        Err::<(), _>(match &c.device {
            Some(device) => not_attached(device),
            None => is_none(router, c.interface, None, CARD),
        })
    });
    cli.command(|router: &mut Router, c: SetRssQueues| {
        Err::<(), _>(is_none(router, Some(c.interface), None, CARD))
    });
    cli.command(|router: &mut Router, c: SetClass| set_class(router, &c));
    cli.command(|_: &mut Router, _: ShowTransceiver| nothing::<Error>());
    cli.command(|_: &mut Router, c: ShowDma| match c.config {
        Some(config) => Err(Error::new(format!("no DMA configuration {config}"))),
        None => nothing(),
    });
    cli.command(|_: &mut Router, _: ShowDmaBackends| nothing::<Error>());
}

/// The refusal for a device that is not attached: what can be said of it on the bus, if nothing is
/// there.
fn not_attached(device: &Word) -> Error {
    match device.strip_prefix("pci/").map(str::parse::<Address>) {
        Some(Ok(_)) => unattached(device),
        _ => Error::new(refusal(device)),
    }
}

/// Refusal of another class: the payload of an interface is settled when it is made.
fn set_class(router: &Router, c: &SetClass) -> Result<(), Error> {
    let name = router.interfaces.name(c.interface.0);
    match &*c.class {
        "Ethernet" | "ethernet" => Ok(()),
        other => Err(Error::new(format!("{name} cannot carry `{other}': only Ethernet"))),
    }
}
