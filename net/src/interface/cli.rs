//! Commands about interfaces: state, addresses of layer 2, MTUs, counters.

use control::cli::{Args, Cli, Command, Error, Line, Output, Print, PrintValue, Value, Word};
use control::configuration::Stage;
use infra::order::Order;
use wire::MacAddr;

use super::show::{Hardware, HardwareRow, Row, write_counted};
use super::{Interface, InterfaceIndex, Mtu};
use crate::router::{Router, no_answer};

/// Show interfaces and their counters.
#[derive(Command)]
#[command("show interface")]
struct ShowInterface {
    /// interfaces; default all
    #[positional]
    #[values("interface")]
    interfaces: Vec<Word>,
    /// accepted; the output is the same
    #[keyword("verbose")]
    _verbose: bool,
}

/// Show the hardware of interfaces.
#[derive(Command)]
#[command("show hardware-interfaces")]
struct ShowHardware {
    /// interfaces; default all
    #[positional]
    #[values("interface")]
    interfaces: Vec<Word>,
    /// one line per interface
    brief: bool,
    /// accepted; the default
    #[keyword("detail")]
    #[alias("verbose")]
    _detail: bool,
    /// accepted: bonds are listed with the others
    #[keyword("bond")]
    _bond: bool,
}

/// Clear the counters of all interfaces.
#[derive(Command)]
#[command("clear interfaces")]
struct ClearInterfaces;

/// Set an interface up or down.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface state")]
#[undo("=set interface state {?down} {1} up|set interface state {1} down")]
#[stage(State)]
pub(super) struct SetState {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// set the interface up
    #[alias("enable")]
    pub up: bool,
    /// set the interface down
    #[alias("disable")]
    pub down: bool,
    /// set the interface up and punt all received packets
    pub punt: bool,
}

/// Set the MAC address of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface mac address")]
#[undo("=set interface mac address {1} default")]
pub(super) struct SetMac {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// the original address, or that of the parent
    pub default: bool,
    /// new MAC address
    #[positional]
    pub mac: Option<MacAddr>,
}

/// `set interface mtu [packet|ip4|ip6|mpls] BYTES INTERFACE`.
#[derive(Debug, PartialEq)]
pub(super) struct SetMtu {
    pub protocol: Protocol,
    pub bytes: u32,
    pub interface: InterfaceIndex,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Protocol {
    All,
    Packet,
    Ip4,
    Ip6,
    Mpls,
}

impl Command for SetMtu {
    const PATHS: &'static [&'static str] = &["set interface mtu"];
    const ABOUT: &'static str = "Set the MTUs of an interface";
    const USAGE: &'static str = "[packet | ip4 | ip6 | mpls] <bytes> <interface>";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let named = Protocol::WORDS.iter().find(|(_, word)| args.keyword(word));
        let protocol = named.map_or(Protocol::All, |(protocol, _)| *protocol);
        Ok(Self { protocol, bytes: args.value("mtu")?, interface: args.value("interface")? })
    }
}

impl Protocol {
    const WORDS: [(Self, &'static str); 4] =
        [(Self::Packet, "packet"), (Self::Ip4, "ip4"), (Self::Ip6, "ip6"), (Self::Mpls, "mpls")];
}

impl Print for SetMtu {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=set interface mtu {?ip4} ip4 0 {3}|\
        set interface mtu {?ip6} ip6 0 {3}|set interface mtu {?mpls} mpls 0 {3}|\
        set interface mtu {?packet} packet 9000 {3}|set interface mtu 9000 {2}";
    fn print(&self, line: &mut Line<'_>) {
        let named = Protocol::WORDS.iter().find(|(protocol, _)| *protocol == self.protocol);
        line.flag(named.map_or("", |(_, word)| word), named.is_some());
        line.value(&self.bytes).value(&self.interface);
    }
}

/// Enable or disable promiscuous mode.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface promiscuous")]
pub(super) struct SetPromiscuous {
    /// accept frames to any address
    pub on: bool,
    /// accept frames to its own addresses only
    pub off: bool,
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
}

/// Simulate link up or down.
#[derive(Command)]
#[command("test interface link-state")]
struct TestLinkState {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// link up
    up: bool,
    /// link down
    down: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("interface", |router: &Router| {
        router.interfaces.iter().map(|i| i.name.clone()).collect()
    });
    cli.command(|router, show: ShowInterface| {
        Ok(Output::rows(counted(router, &show.interfaces)?, write_counted))
    });
    cli.command(show_hardware);
    cli.command(|router, _: ClearInterfaces| {
        router.clear_interface_counters(None).map_err(no_answer)
    });
    cli.command(|router, set: SetState| {
        match (set.punt, set.up, set.down) {
            (true, false, false) => router.set_punting(set.interface),
            (true, ..) => return Err(Error::new("expected only one of them")),
            (false, up, down) => router.set_admin(set.interface, one_of(up, down)?),
        }
        Ok(())
    });
    cli.command(|router, set: SetMac| {
        let usual = router.interfaces.usual_mac(set.interface).filter(|_| set.default);
        let mac = usual.or(set.mac).ok_or("missing mac")?;
        if mac.is_multicast() {
            return Err(Error::new("an interface cannot have a multicast address"));
        }
        router.set_mac(set.interface, mac);
        Ok(())
    });
    cli.command(set_mtu);
    cli.command(|router, set: SetPromiscuous| {
        let on = one_of(set.on, set.off)?;
        Ok(router.interfaces.set_promiscuous(set.interface, on)?)
    });
    cli.command(|router, test: TestLinkState| {
        router.set_link(test.interface, one_of(test.up, test.down)?);
        Ok(())
    });
}

/// The name of an interface, as an argument of commands.
impl Value for InterfaceIndex {
    const IS_NAME: bool = true;

    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let router = args.context();
        // Its number, wherever a name is taken.
        if args.keyword("sw_if_index") {
            return args.value("sw_if_index").map(Self);
        }
        let name: Word = args.value(what)?;
        find(router.ok_or_else(|| name.unknown("interface"))?, &name)
    }
}

impl PrintValue for InterfaceIndex {
    fn print(&self, line: &mut Line<'_>) {
        let name = line.context::<Router>().map(|router| router.interfaces.name(self.0));
        line.word(name.unwrap_or_default());
    }
}

/// The number of the interface with this name.
pub(crate) fn find(router: &Router, name: &Word) -> Result<InterfaceIndex, Error> {
    let found = router.interfaces.named(name).map(|i| i.index);
    found.ok_or_else(|| name.unknown("interface"))
}

/// True for the first of two words that exclude each other.
fn one_of(yes: bool, no: bool) -> Result<bool, Error> {
    match (yes, no) {
        (true, false) | (false, true) => Ok(yes),
        (true, true) => Err(Error::new("expected only one of them")),
        (false, false) => Err(Error::new("missing state")),
    }
}

fn show_hardware(router: &mut Router, show: ShowHardware) -> Result<Output, Error> {
    let chosen = chosen(router, &show.interfaces)?.into_iter();
    let chosen: Vec<_> = chosen.filter(|i| !i.is_sub()).collect();
    let rows = chosen.iter().map(|i| HardwareRow::of(router, i)).collect();
    Ok(Output::of(Hardware { brief: show.brief, rows }))
}

fn set_mtu(router: &mut Router, set: SetMtu) -> Result<(), Error> {
    const MOST: u32 = 65_535;
    let SetMtu { protocol, bytes, interface: index } = set;
    if bytes > MOST {
        return Err(Error::new(format!("an MTU is at most {MOST} bytes")));
    }
    let Some((old, is_sub)) = router.interfaces.at(index).map(|i| (i.mtu, i.is_sub())) else {
        return Ok(());
    };
    let mtu = match protocol {
        Protocol::All => Mtu { l3: bytes, ip4: 0, ip6: 0, mpls: 0 },
        Protocol::Packet => Mtu { l3: bytes, ..old },
        Protocol::Ip4 => Mtu { ip4: bytes, ..old },
        Protocol::Ip6 => Mtu { ip6: bytes, ..old },
        Protocol::Mpls => Mtu { mpls: bytes, ..old },
    };
    // Clients may set that of packets to 0 alone, and so what prints it.
    if bytes == 0 && matches!(protocol, Protocol::All) && !is_sub {
        return Err(Error::new("the layer 3 MTU cannot be 0"));
    }
    if matches!(protocol, Protocol::All) && !is_sub {
        // The device is to carry as much.
        router.set_link_mtu(index, bytes)?;
    }
    router.set_mtu(index, mtu);
    Ok(())
}

/// The interfaces named, by name or number, or all by name.
pub(super) fn chosen<'r>(router: &'r Router, names: &[Word]) -> Result<Vec<&'r Interface>, Error> {
    if names.is_empty() {
        let mut all: Vec<_> = router.interfaces.iter().collect();
        all.order_by(|a, b| a.name.cmp(&b.name));
        return Ok(all);
    }
    let by_number = |name: &Word| router.interfaces.at(InterfaceIndex(name.parse().ok()?));
    let found = |name: &Word| router.interfaces.named(name).or_else(|| by_number(name));
    names.iter().map(|name| found(name).ok_or_else(|| name.unknown("interface"))).collect()
}

fn counted(router: &Router, names: &[Word]) -> Result<Vec<Row>, Error> {
    let row =
        |i: &Interface| Row { interface: i.clone(), counters: router.interfaces.values(i.index) };
    Ok(chosen(router, names)?.into_iter().map(row).collect())
}
