//! Interface pairs: an interface of the router has a mirror in Linux, a TAP or TUN device in a
//! network namespace, where programs work as if it were theirs.
//!
//! Packets that the router does not handle itself go to the device (`linux-cp-punt`), as do copies
//! of ARP and ICMP replies; packets that programs send on the device leave by the interface,
//! unchanged. With `lcp-sync` the device has the addresses, MTU and state of the interface.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
pub mod osi;
mod pair;
mod startup;
mod sync;

use control::cli::is_word;
use control::feature::Registered;
use drivers::host::background::Pending;
use drivers::host::namespace;
use drivers::host::netlink::Netlink;
use drivers::tap;
use net::prelude::*;
use net::punt::Port;

pub use api::*;
pub use node::{Paired, Side};
pub use pair::{Device, Kind, Pair, Wanted, add, add_sub, begin, remove};
pub use sync::push;

/// Interface pairs.
pub const FEATURE: Feature = Feature {
    name: "linux_cp",
    about: "Linux Control Plane - Interface Mirror",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ethernet", "arp", "punt", "tap"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Bytes of a namespace's name at most.
const MOST_NAME: usize = 31;

/// Settings of all pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Namespace of devices for which none is named; empty for the router's own.
    pub namespace: String,
    /// Devices follow their interfaces.
    pub is_synced: bool,
    /// Sub-interfaces of an interface in a pair get pairs of their own.
    pub has_auto_subs: bool,
    /// Interfaces that borrow addresses pass them on to their devices.
    pub ignores_unnumbered: bool,
    /// Routes that an operator of Linux set go when their link goes down.
    pub deletes_static: bool,
    /// Routes of routing daemons go when their link goes down.
    pub deletes_dynamic: bool,
}

/// Called after a pair came, or before it goes.
pub type Observer = fn(&mut Router, InterfaceIndex, bool);

/// All that control keeps.
#[derive(Default)]
pub struct Pairs {
    /// By the interface.
    list: BTreeMap<InterfaceIndex, Pair>,
    /// Settings.
    pub settings: Settings,
    ethertypes: BTreeSet<u16>,
    osi: BTreeSet<u8>,
    /// Pairs that go at the end of a replacement unless they are added again.
    stale: BTreeSet<InterfaceIndex>,
    kernels: HashMap<String, Netlink>,
    observers: Registered<Observer>,
    /// Pairs whose devices are being opened, of sub-interfaces.
    making: Vec<(InterfaceIndex, Pending<Result<(), Error>>)>,
    /// Protocols punted because of pairs.
    punted: Vec<Port>,
}

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// the interface is already in a pair
    #[retval(VALUE_EXIST)]
    Exists,
    /// the interface is not in a pair
    #[retval(INVALID_SW_IF_INDEX)]
    Unknown,
    /// the parent interface is not in a pair
    #[retval(INVALID_SW_IF_INDEX)]
    NoParent,
    /// a device name has 1 to 15 characters
    #[retval(INVALID_ARGUMENT)]
    Name,
    /// a namespace name is one word of at most 31 characters
    #[retval(INVALID_ARGUMENT)]
    Namespace,
    /// an interface without Ethernet needs a tun
    #[retval(INVALID_ARGUMENT)]
    NoTap,
    /// a mirror needs a sub-interface with exact VLAN tags
    #[retval(INVALID_ARGUMENT)]
    Inexact,
    /// {0}
    #[retval(SYSCALL_ERROR_1)]
    System(String),
    /// IP, ARP and length values cannot be passed
    #[retval(INVALID_ARGUMENT)]
    EtherType,
    /// unknown OSI protocol
    #[retval(INVALID_REGISTRATION)]
    OsiProtocol,
    /// the osi plugin is not loaded
    #[retval(FEATURE_DISABLED)]
    NoOsi,
}

impl From<tap::Error> for Error {
    fn from(e: tap::Error) -> Self {
        Self::System(e.to_string())
    }
}

/// The pairs, by interface.
pub fn all(router: &Router) -> impl Iterator<Item = &Pair> {
    router.state::<Pairs>().into_iter().flat_map(|pairs| pairs.list.values())
}

/// The pair of an interface of the router.
pub fn of(router: &Router, phy: InterfaceIndex) -> Option<&Pair> {
    router.state::<Pairs>()?.list.get(&phy)
}

/// As [`of`], for changing what is known of its device.
pub fn of_mut(router: &mut Router, phy: InterfaceIndex) -> Option<&mut Pair> {
    router.state_mut::<Pairs>()?.list.get_mut(&phy)
}

/// Settings of all pairs.
pub fn settings(router: &Router) -> &Settings {
    &router.own::<Pairs>().settings
}

/// Calls `observer` when pairs are added or deleted.
pub fn observe(router: &mut Router, observer: Observer) {
    router.own_mut::<Pairs>().observers.push(observer);
}

fn tell(router: &mut Router, phy: InterfaceIndex, is_there: bool) {
    for observer in router.own::<Pairs>().observers.clone().iter() {
        observer(router, phy, is_there);
    }
}

/// Talks to the kernel about a namespace.
///
/// # Errors
/// The kernel's.
pub fn with_kernel<R>(
    router: &mut Router,
    name: &str,
    work: impl FnOnce(&mut Netlink) -> io::Result<R>,
) -> io::Result<R> {
    let kernels = &mut router.own_mut::<Pairs>().kernels;
    if !kernels.contains_key(name) {
        let file = Some(name).filter(|name| !name.is_empty());
        kernels.insert(name.to_owned(), namespace::within(file, Netlink::open)?);
    }
    work(kernels.get_mut(name).expect("it was put there"))
}

/// Sets the namespace of devices for which none is named; empty for the router's own.
///
/// # Errors
/// [`Error::Namespace`].
pub fn set_namespace(router: &mut Router, name: &str) -> Result<(), Error> {
    check_namespace(name)?;
    router.own_mut::<Pairs>().settings.namespace = name.to_owned();
    Ok(())
}

fn check_namespace(name: &str) -> Result<(), Error> {
    let is_fit = name.is_empty() || is_word(name);
    if is_fit && name.len() <= MOST_NAME { Ok(()) } else { Err(Error::Namespace) }
}

/// Enables or disables copying of interface state to devices. Enabling copies the current state.
pub fn set_sync(router: &mut Router, is_on: bool) {
    router.own_mut::<Pairs>().settings.is_synced = is_on;
    let all: Vec<_> = all(router).map(|pair| pair.phy).collect();
    all.into_iter().for_each(|phy| push(router, phy));
}

/// Enables or disables copying of borrowed addresses to devices.
pub fn set_unnumbered(router: &mut Router, is_on: bool) {
    router.own_mut::<Pairs>().settings.ignores_unnumbered = !is_on;
    let all: Vec<_> = all(router).map(|pair| pair.phy).collect();
    all.into_iter().for_each(|phy| push(router, phy));
}

/// Passes frames of a type between the interfaces of each pair.
///
/// # Errors
/// [`Error::EtherType`].
pub fn enable_ethertype(router: &mut Router, ethertype: u16) -> Result<(), Error> {
    let kind = EtherType::new(ethertype);
    let is_own = [EtherType::IP4, EtherType::IP6, EtherType::ARP].contains(&kind);
    if ethertype < 0x600 || is_own || kind.is_vlan() {
        return Err(Error::EtherType);
    }
    router.register_ethertype(kind, node::CROSS[3]).map_err(|e| Error::System(e.to_string()))?;
    router.own_mut::<Pairs>().ethertypes.insert(ethertype);
    Ok(())
}

/// Stops passing frames of a type between the interfaces of each pair.
///
/// # Errors
/// [`Error::EtherType`]: it does not.
pub fn disable_ethertype(router: &mut Router, ethertype: u16) -> Result<(), Error> {
    if !router.own_mut::<Pairs>().ethertypes.remove(&ethertype) {
        return Err(Error::EtherType);
    }
    router.release_ethertype(EtherType::new(ethertype));
    Ok(())
}

/// Stops passing frames of an OSI protocol between the interfaces of each pair.
///
/// # Errors
/// [`Error::OsiProtocol`]: it does not.
pub fn disable_osi(router: &mut Router, protocol: u8) -> Result<(), Error> {
    if !router.own_mut::<Pairs>().osi.remove(&protocol) {
        return Err(Error::OsiProtocol);
    }
    osi::release_protocol(router, protocol);
    Ok(())
}

/// The types of frames that pass between the interfaces of each pair.
pub fn ethertypes(router: &Router) -> impl Iterator<Item = u16> {
    router.own::<Pairs>().ethertypes.iter().copied()
}

/// Passes frames of an OSI protocol between the interfaces of each pair.
///
/// # Errors
/// [`Error::NoOsi`], [`Error::OsiProtocol`].
pub fn enable_osi(router: &mut Router, protocol: u8) -> Result<(), Error> {
    if !router.features.iter().any(|(_, feature)| feature.name == osi::FEATURE.name) {
        return Err(Error::NoOsi);
    }
    if !osi::is_known(protocol) {
        return Err(Error::OsiProtocol);
    }
    let done = osi::register_protocol(router, protocol, node::CROSS[3]);
    done.map_err(|e| Error::System(e.to_string()))?;
    router.own_mut::<Pairs>().osi.insert(protocol);
    Ok(())
}

/// The protocols of OSI whose frames pass between the interfaces of each pair.
pub fn osi_protocols(router: &Router) -> impl Iterator<Item = u8> {
    router.own::<Pairs>().osi.iter().copied()
}

/// Starts to replace all pairs: those not added until [`end_replacement`] are deleted then.
pub fn begin_replacement(router: &mut Router) {
    let pairs = router.own_mut::<Pairs>();
    pairs.stale = pairs.list.keys().copied().collect();
}

/// Removes pairs that were not added again since the replacement began.
pub fn end_replacement(router: &mut Router) {
    for phy in std::mem::take(&mut router.own_mut::<Pairs>().stale) {
        // One that went meanwhile went before.
        let _ = remove(router, phy);
    }
}

/// Punts packets without a listener while there are pairs.
fn punt(router: &mut Router) {
    let is_wanted = all(router).next().is_some();
    let punted = std::mem::take(&mut router.own_mut::<Pairs>().punted);
    if is_wanted != punted.is_empty() {
        router.own_mut::<Pairs>().punted = punted;
        return;
    }
    for port in punted {
        // The operator may have undone it.
        let _ = router.set_punt(port, false);
    }
    if !is_wanted {
        return;
    }
    let ports = IpVersion::ALL.map(|version| {
        [Protocol::UDP, Protocol::TCP].map(|protocol| Port { version, protocol, port: None })
    });
    for port in ports.into_iter().flatten() {
        let is_there = router.punted_ports().any(|other| other == port);
        match router.punt_for_feature(port) {
            Ok(()) if !is_there => router.own_mut::<Pairs>().punted.push(port),
            Ok(()) => (),
            Err(e) => router.log.class("linux-cp", "if").warn(e),
        }
    }
}

fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::Added => pair::mirror_sub(router, interface),
        Change::Deleting => pair::forget(router, interface),
        Change::State | Change::Mtu | Change::Mac => push(router, interface),
        Change::Name | Change::Segments => (),
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let settings = startup::read(parts)?;
    let router = &mut *parts.router;
    router.insert(Pairs { settings, ..Pairs::default() });
    node::add(router)?;
    router.interfaces.observe(follow);
    router.host_devices.push(|router, phy| of(router, phy).map(|pair| pair.device));
    router.addresses.observe(|router, interface, _| {
        pair::follow_tables(router, interface);
        push(router, interface);
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
