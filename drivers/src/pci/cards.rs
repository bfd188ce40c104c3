//! Commands for network cards that the router would drive itself: vmxnet3, ports of devices, what
//! a card tells of itself. There are none, and each command says so of the device or interface that
//! it names.

use control::cli::{Cli, Command, Error, Output, Word};
use net::{InterfaceIndex, Router};

use super::bus::{self, Address};
use super::commands::{Nothing, refusal, unattached};

/// Create an interface of a vmxnet3 device on the PCI bus.
#[derive(Command)]
#[command("create interface vmxnet3")]
struct CreateVmxnet3 {
    /// where the device is
    #[positional]
    #[values("pci-address")]
    address: Word,
    /// packets that may wait on the way to the router
    #[keyword("rx-queue-size")]
    _rx_queue_size: Option<u32>,
    /// packets that may wait on the way to the device
    #[keyword("tx-queue-size")]
    _tx_queue_size: Option<u32>,
    /// queues that send
    #[keyword("num-tx-queues")]
    _num_tx_queues: Option<u32>,
    /// queues that receive
    #[keyword("num-rx-queues")]
    _num_rx_queues: Option<u32>,
    /// take it from the kernel
    #[keyword("bind")]
    _bind: bool,
    /// even if it is in use
    #[keyword("force")]
    _force: bool,
    /// big packets
    #[keyword("gso")]
    _gso: bool,
    /// events noted
    #[keyword("elog")]
    _elog: bool,
}

/// Delete an interface of a vmxnet3 device.
#[derive(Command)]
#[command("delete interface vmxnet3")]
struct DeleteVmxnet3 {
    /// its number among interfaces
    #[keyword("sw_if_index")]
    sw_if_index: Option<u32>,
    /// its name
    #[positional]
    interface: Option<InterfaceIndex>,
}

/// Show interfaces of vmxnet3 devices.
#[derive(Command)]
#[command("show vmxnet3")]
struct ShowVmxnet3 {
    /// interface; all if not given
    #[positional]
    interface: Option<InterfaceIndex>,
    /// all descriptors
    #[keyword("desc")]
    _desc: bool,
    /// a ring, and a slot in it
    #[positional]
    #[values("ring")]
    _ring: Vec<Word>,
}

/// Show interfaces of virtio devices on the PCI bus.
#[derive(Command)]
#[command("show virtio pci")]
struct ShowVirtio {
    /// interface; all if not given
    #[positional]
    interface: Option<InterfaceIndex>,
    /// all descriptors
    #[keyword("descriptors")]
    _descriptors: bool,
    /// all descriptors
    #[keyword("desc")]
    _desc: bool,
    /// registers of the device
    #[keyword("debug-device")]
    _debug_device: bool,
}

/// Set what the interface of a virtio device leaves to the device.
#[derive(Command)]
#[command("set virtio pci")]
struct SetVirtio {
    /// its number among interfaces
    #[keyword("sw_if_index")]
    sw_if_index: Option<u32>,
    /// its name
    #[positional]
    interface: Option<InterfaceIndex>,
    /// big packets
    #[keyword("gso-enabled")]
    _gso: bool,
    /// checksums
    #[keyword("csum-offload-enabled")]
    _checksums: bool,
    /// nothing
    #[keyword("offloads-disabled")]
    _nothing: bool,
}

/// Create an interface of a port of a device.
#[derive(Command)]
#[command("device create-interface")]
struct CreatePort {
    /// the device
    #[positional]
    #[values("device-id")]
    device: Word,
    /// the port
    #[keyword("port")]
    _port: Option<u32>,
    /// name of the interface
    #[keyword("if-name")]
    #[alias("name")]
    _name: Option<Word>,
    /// flags of the port
    #[keyword("flags")]
    _flags: Option<Word>,
    /// queues that receive
    #[keyword("num-rx-queues")]
    _num_rx_queues: Option<u32>,
    /// queues that send
    #[keyword("num-tx-queues")]
    _num_tx_queues: Option<u32>,
    /// packets that may wait on the way to the router
    #[keyword("rx-queues-size")]
    _rx_queues_size: Option<u32>,
    /// packets that may wait on the way to the device
    #[keyword("tx-queues-size")]
    _tx_queues_size: Option<u32>,
    /// how its queues go to threads
    #[keyword("rx-queue-assignment")]
    _assignment: Option<Word>,
    /// for the driver
    #[keyword("args")]
    _args: Option<Word>,
}

/// Create another interface of a port.
#[derive(Command)]
#[command("device create-secondary-interface")]
struct CreateSecondary {
    /// the first interface
    #[positional]
    interface: Option<InterfaceIndex>,
    /// the first interface
    primary_if_name: Option<InterfaceIndex>,
    /// the number of the first interface
    #[keyword("sw-if-index")]
    #[alias("primary-sw-if-index")]
    sw_if_index: Option<u32>,
    /// name of the new one
    #[keyword("if-name")]
    _name: Option<Word>,
    /// number of the new one
    #[keyword("id")]
    _id: u32,
    /// for the driver
    #[keyword("args")]
    _args: Option<Word>,
}

/// Delete an interface of a port.
#[derive(Command)]
#[command("device remove-interface")]
struct RemovePort {
    /// its name
    #[positional]
    interface: Option<InterfaceIndex>,
    /// its number
    #[keyword("sw-if-index")]
    sw_if_index: Option<u32>,
}

/// Delete another interface of a port.
#[derive(Command)]
#[command("device remove-secondary-interface")]
struct RemoveSecondary {
    /// its name
    #[positional]
    interface: Option<InterfaceIndex>,
    /// its number
    #[keyword("sw-if-index")]
    sw_if_index: Option<u32>,
}

/// Start a device anew.
#[derive(Command)]
#[command("device reset")]
struct Reset {
    /// the device
    #[positional]
    #[values("device-id")]
    device: Word,
}

/// Set how a card spreads packets over queues.
#[derive(Command)]
#[command("device set-rss-config")]
struct SetRss {
    /// interface of the port
    #[positional]
    interface: Option<InterfaceIndex>,
    /// the port
    #[keyword("port")]
    _port: Option<u32>,
    /// the device
    #[keyword("dev")]
    device: Option<Word>,
    /// the key of the hash
    #[keyword("key")]
    _key: Option<Word>,
    /// queues in the order of the table
    #[keyword("lut")]
    _lut: Option<Word>,
}

/// Set which queues the card of an interface spreads packets over.
#[derive(Command)]
#[command("set interface rss queues")]
struct SetRssQueues {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// queues, as 0,2-3
    #[keyword("list")]
    _queues: Option<Word>,
}

/// Set the kind of frames that an interface carries.
#[derive(Command)]
#[command("set interface hw-class")]
struct SetClass {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// the kind
    #[positional]
    #[values("hw-class")]
    class: Word,
}

/// Show what transceivers tell of themselves.
#[derive(Command)]
#[command("show interface transceiver")]
struct ShowTransceiver {
    /// interface; all if not given
    #[positional]
    interface: Option<InterfaceIndex>,
    /// what it is
    #[keyword("module")]
    _module: bool,
    /// how it is
    #[keyword("diag")]
    _diag: bool,
    /// its memory
    #[keyword("eeprom")]
    _eeprom: bool,
    /// in detail
    #[keyword("verbose")]
    _verbose: bool,
}

/// Show the engines that copy memory.
#[derive(Command)]
#[command("show dma")]
struct ShowDma {
    /// a configuration
    #[keyword("config")]
    config: Option<u32>,
}

/// Show the drivers of engines that copy memory.
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
        None => Error::new(format!("no interface has the number {}", index.0)),
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
    cli.command(|router: &mut Router, c: ShowTransceiver| match c.interface {
        Some(_) => Err(is_none(router, c.interface, None, "an interface with a transceiver")),
        None => nothing(),
    });
    cli.command(|_: &mut Router, c: ShowDma| match c.config {
        Some(config) => Err(Error::new(format!("there is no DMA configuration {config}"))),
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
