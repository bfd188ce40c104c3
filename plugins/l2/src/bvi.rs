//! The bridge's virtual interface: a loopback by which the router itself is a port of a domain.

use net::InterfaceReply;
use net::prelude::*;

use super::fib;
use super::macs::{self, Target};
use super::state::{Bridging, Role};

/// Hardware class of these interfaces.
const HARDWARE: &str = "BVI";
/// Instances are below this.
const INSTANCES: u32 = 16384;

/// Reasons why one cannot be made or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Refused {
    /// the instance is in use, or not below 16384
    #[retval(INSTANCE_IN_USE)]
    Instance,
    /// no such BVI
    #[retval(INVALID_SW_IF_INDEX)]
    NoBvi,
    /// the interface cannot be created
    #[retval(INVALID_VALUE)]
    Interface,
}

fn create(
    router: &mut Router,
    mac: Option<MacAddr>,
    instance: Option<u32>,
) -> Result<InterfaceIndex, Refused> {
    let name = |n: u32| format!("bvi{n}");
    let is_free = |n: &u32| *n < INSTANCES && router.interfaces.named(&name(*n)).is_none();
    let instance = match instance {
        Some(n) => Some(n).filter(is_free),
        None => (0..INSTANCES).find(is_free),
    };
    let instance = instance.ok_or(Refused::Instance)?;
    let [.., high, low] = instance.to_be_bytes();
    let mac = mac.unwrap_or(MacAddr([0xb0, 0xb0, 0, 0, high, low]));
    if mac.is_multicast() {
        return Err(Refused::Interface);
    }
    drivers::loopback::make(router, name(instance), HARDWARE, mac).map_err(|_| Refused::Interface)
}

fn delete(router: &mut Router, interface: InterfaceIndex) -> Result<(), Refused> {
    let i = router.interfaces.at(interface).ok_or(Refused::NoBvi)?;
    if i.hardware != HARDWARE || i.is_sub() {
        return Err(Refused::NoBvi);
    }
    router.remove_interface(interface);
    Ok(())
}

/// Makes the domain's address that of the interface.
pub(crate) fn follow_mac(router: &mut Router, interface: InterfaceIndex) {
    let Some((id, Role::Bvi, _)) = router.own::<Bridging>().domain_of(interface) else { return };
    let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
    macs::sweep(router, |_, entry| entry.has(fib::BVI) && entry.interface() == interface.0);
    let done = macs::add_mac(router, id, mac, Target::Bvi(interface));
    debug_assert!(done.is_ok(), "it is a port of the domain and its address was one");
}

/// Create a bridge virtual interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("bvi create")]
#[undo("bvi delete bvi{instance}")]
#[stage(Interfaces)]
struct Create {
    /// MAC address; default b0:b0:00:00:<instance>
    mac: Option<MacAddr>,
    /// instance number in the name; by default the lowest free one
    instance: Option<u32>,
}

/// Delete a bridge virtual interface.
#[derive(Command)]
#[command("bvi delete")]
struct Delete {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Create a bridge virtual interface.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct BviCreate {
    /// MAC address; zero for one derived from the instance number
    pub mac: MacAddr,
    /// instance number in the name; 4294967295 for the lowest free one
    #[preset(4294967295)]
    pub user_instance: u32,
}

/// Delete a bridge virtual interface.
#[derive(Message)]
pub struct BviDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// The interfaces that were made, as commands.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for i in router.interfaces.iter().filter(|i| i.hardware == HARDWARE && !i.is_sub()) {
        let instance = i.made.name.strip_prefix("bvi").and_then(|n| n.parse().ok());
        lines.push_at(i.index.0, &Create { mac: Some(i.made.mac), instance });
    }
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| {
        let made = create(router, c.mac, c.instance).map_err(|e| Error::new(e.to_string()))?;
        Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, c: Delete| {
        delete(router, c.interface).map_err(|e| Error::new(e.to_string()))
    });
}

pub(super) fn register(parts: &mut Parts) {
    commands(&mut parts.cli);
    parts
        .api
        .core("l2", super::api::VERSION)
        .call(|router: &mut Router, m: BviCreate| {
            let mac = (m.mac != MacAddr::ZERO).then_some(m.mac);
            let instance = (m.user_instance != u32::MAX).then_some(m.user_instance);
            let made: Result<_, Retval> = create(router, mac, instance).map_err(Retval::from);
            Ok(InterfaceReply { sw_if_index: made? })
        })
        .call(|router: &mut Router, m: BviDelete| Ok(delete(router, m.sw_if_index)?));
}
