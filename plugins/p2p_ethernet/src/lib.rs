//! Point-to-point sub-interfaces on Ethernet: packets that a port receives from one host belong to
//! a sub-interface of its own, selected by the sender's MAC address.
#![forbid(unsafe_code)]

mod hosts;
mod node;

use net::InterfaceReply;
use net::interface::{DEVICE_INPUT, Error as InterfaceError, SubInterface};
use net::prelude::*;

use hosts::Hosts;
pub use node::Input;

/// Point-to-point sub-interfaces, their command and messages.
pub const FEATURE: Feature = Feature {
    name: "p2p_ethernet",
    about: "Point-to-point sub-interfaces on Ethernet",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// Reasons why a sub-interface is not made or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// not supported by this interface
    #[retval(INVALID_INTERFACE)]
    Unfit,
    /// not a unicast MAC address
    #[retval(INVALID_VALUE)]
    NoHost,
    /// a sub-interface with this ID or host exists
    #[retval(SUBIF_ALREADY_EXISTS)]
    Exists,
    /// no sub-interface for this host
    #[retval(SUBIF_DOESNT_EXIST)]
    Unknown,
    /// no room for another interface
    #[retval(UNSPECIFIED)]
    Full,
}

impl From<InterfaceError> for Error {
    fn from(e: InterfaceError) -> Self {
        match e {
            InterfaceError::Unknown => Self::NoInterface,
            InterfaceError::SubExists(_) => Self::Exists,
            InterfaceError::Full | InterfaceError::Graph(_) => Self::Full,
            _ => Self::Unfit,
        }
    }
}

/// The sub-interfaces there are.
struct Subs {
    all: BTreeMap<(InterfaceIndex, MacAddr), InterfaceIndex>,
    /// The same for the node.
    hosts: Shared<Hosts>,
}

/// Makes a sub-interface for a host behind a port.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn add(
    router: &mut Router,
    port: InterfaceIndex,
    id: u32,
    host: MacAddr,
) -> Result<InterfaceIndex, Error> {
    router.interfaces.at(port).ok_or(Error::NoInterface)?;
    if host.is_multicast() || host == MacAddr::ZERO {
        return Err(Error::NoHost);
    }
    if router.own::<Subs>().all.contains_key(&(port, host)) {
        return Err(Error::Exists);
    }
    let sub = SubInterface { id, sender: Some(host), ..SubInterface::default() };
    let made = router.add_sub_interface(port, sub)?;
    set(router, (port, host), Some(made));
    Ok(made)
}

/// Deletes the sub-interface of a host behind a port.
///
/// # Errors
/// [`Error::NoInterface`], [`Error::Unknown`].
pub fn remove(router: &mut Router, port: InterfaceIndex, host: MacAddr) -> Result<(), Error> {
    router.interfaces.at(port).ok_or(Error::NoInterface)?;
    let sub = router.own::<Subs>().all.get(&(port, host)).copied().ok_or(Error::Unknown)?;
    router.remove_sub_interface(sub)?;
    Ok(())
}

/// Notes the sub-interface of a host; the port has the feature while there are some.
fn set(router: &mut Router, (port, host): (InterfaceIndex, MacAddr), sub: Option<InterfaceIndex>) {
    let subs = router.own_mut::<Subs>();
    match sub {
        Some(sub) => subs.all.insert((port, host), sub),
        None => subs.all.remove(&(port, host)),
    };
    let mut hosts = subs.hosts.current().clone();
    hosts.set((port.0, host), sub.map(|sub| sub.0));
    subs.hosts.publish(hosts);
    let mut there = subs.all.range((port, MacAddr::ZERO)..);
    let is_used = there.next().is_some_and(|((on, _), _)| *on == port);
    let done = router.engine.set_feature(&DEVICE_INPUT, Input::NAME, port.0, is_used);
    done.expect("the node is on the arc since the feature registered");
}

/// Follows the deletion of an interface.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let Some(gone) = router.interfaces.at(interface).filter(|_| change == Change::Deleting) else {
        return;
    };
    if let Some(host) = gone.sub.and_then(|sub| sub.sender) {
        let port = gone.sup;
        set(router, (port, host), None);
    }
}

/// Add or delete a point-to-point sub-interface for a host.
#[derive(Command, Print, Debug, PartialEq)]
#[command("p2p_ethernet")]
#[stage(SubInterfaces)]
struct Make {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// MAC address of the host
    #[positional]
    mac: MacAddr,
    /// sub-interface ID
    #[keyword("sub-id")]
    sub_id: Option<u32>,
    /// delete the sub-interface
    del: bool,
}

/// Add a point-to-point sub-interface for a host.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct P2pEthernetAdd {
    /// interface index
    pub parent_if_index: InterfaceIndex,
    /// sub-interface ID
    pub subif_id: u32,
    /// MAC address of the host
    pub remote_mac: MacAddr,
}

/// Delete a point-to-point sub-interface.
#[derive(Message)]
pub struct P2pEthernetDel {
    /// interface index
    pub parent_if_index: InterfaceIndex,
    /// MAC address of the host
    pub remote_mac: MacAddr,
}

fn register_commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Make| -> Result<String, control::cli::Error> {
        if c.del {
            remove(router, c.interface, c.mac)?;
            return Ok(String::new());
        }
        let id = c.sub_id.ok_or_else(|| control::cli::Error::new("expected sub-id or del"))?;
        let made = add(router, c.interface, id, c.mac)?;
        Ok(router.interfaces.name(made.0).to_owned())
    });
}

fn register_messages(api: &mut Api<Router>) {
    api.core("p2p_ethernet", "1.0.0")
        .call(|router: &mut Router, m: P2pEthernetAdd| {
            let sw_if_index = add(router, m.parent_if_index, m.subif_id, m.remote_mac)?;
            Ok(InterfaceReply { sw_if_index })
        })
        .call(|router: &mut Router, m: P2pEthernetDel| {
            Ok(remove(router, m.parent_if_index, m.remote_mac)?)
        });
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for ((interface, mac), made) in &router.own::<Subs>().all {
        let Some(i) = router.interfaces.at(*made) else { continue };
        let sub_id = i.sub.map(|sub| sub.id);
        let make = Make { interface: *interface, mac: *mac, sub_id, del: false };
        lines.push_interface(i.stage(), &make);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let (router, hosts) = (&mut *parts.router, Shared::new(Hosts::default()));
    let input = Input { hosts: hosts.reader(), counters: router.interfaces.counters() };
    router.engine.add_feature(&DEVICE_INPUT, input).map_err(refuse)?;
    router.insert(Subs { all: BTreeMap::new(), hosts });
    router.interfaces.observe(follow);
    register_commands(&mut parts.cli);
    register_messages(&mut parts.api);
    Ok(())
}
