//! Making and deleting loopbacks.

use std::sync::{Arc, OnceLock};

use control::feature::Refusal;
use net::interface::{self, Change, Kind, NewInterface, Offloads};
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::tx::LoopbackTx;

/// Hardware class of loopbacks.
pub const HARDWARE: &str = "Loopback";
/// Instances are below this.
const INSTANCES: u32 = 16384;
const MTU: u32 = 9000;

/// No instance below this one is free, so that the lowest free one is found at once.
#[derive(Default)]
struct Lowest(u32);

/// Notes which instances become free.
pub(super) fn register(router: &mut Router) {
    router.insert(Lowest::default());
    router.interfaces.observe(|router, index, change| {
        let free = match change {
            Change::Deleting => {
                router.interfaces.name(index.0).strip_prefix("loop").and_then(|n| n.parse().ok())
            }
            Change::Name => Some(0), // what it was called is not known any more
            _ => None,
        };
        if let (Some(lowest), Some(free)) = (router.state_mut::<Lowest>(), free) {
            lowest.0 = lowest.0.min(free);
        }
    });
}

/// Reasons why a loopback cannot be made or deleted.
#[derive(Debug, Refusal)]
pub enum Error {
    /// instance {0} is not below {INSTANCES}
    #[retval(INVALID_VALUE)]
    NoInstance(u32),
    /// instance {0} is in use
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// all instances are in use
    #[retval(INSTANCE_IN_USE)]
    AllInUse,
    /// {0} is not a unicast MAC address
    #[retval(INVALID_VALUE)]
    InvalidMac(MacAddr),
    /// {0} is not a loopback interface
    #[retval(INVALID_SW_IF_INDEX)]
    Other(String),
    /// {0}
    #[from]
    Refused(interface::Error),
}

/// Makes a loopback, down: with a MAC address and number that follow from each other and what is
/// free where they are `None`.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn create(
    router: &mut Router,
    mac: Option<MacAddr>,
    instance: Option<u32>,
) -> Result<InterfaceIndex, Error> {
    let is_free = |n: &u32| router.interfaces.named(&format!("loop{n}")).is_none();
    let instance = match instance {
        Some(n) if n >= INSTANCES => return Err(Error::NoInstance(n)),
        Some(n) if !is_free(&n) => return Err(Error::InUse(n)),
        Some(n) => n,
        None => {
            let lowest = router.state().map_or(0, |Lowest(lowest)| *lowest);
            let free = (lowest..INSTANCES).find(is_free);
            router.insert(Lowest(free.unwrap_or(INSTANCES)));
            free.ok_or(Error::AllInUse)?
        }
    };
    let mac = mac.unwrap_or_else(|| usual_mac(instance));
    if mac.is_multicast() || mac == MacAddr::ZERO {
        return Err(Error::InvalidMac(mac));
    }
    make(router, format!("loop{instance}"), HARDWARE, mac).map_err(Error::Refused)
}

/// Makes an interface, down, of any name and hardware class that receives what it sends.
///
/// # Errors
/// As [`Router::add_interface`]; nothing is made then.
pub fn make(
    router: &mut Router,
    name: String,
    hardware: &'static str,
    mac: MacAddr,
) -> Result<InterfaceIndex, interface::Error> {
    let new = NewInterface {
        name,
        kind: Kind::Ethernet,
        hardware,
        mac,
        mtu: MTU,
        // Nothing leaves the router here, so nothing needs to be completed.
        offloads: Offloads { checksum: true, gso: true, tunnels: true },
        link_follows_admin: true,
    };
    let index = Arc::new(OnceLock::new());
    let tx = LoopbackTx::new(Arc::clone(&index), &router.interfaces);
    let made = router.add_interface(new, tx)?;
    index.set(made).expect("set here only");
    Ok(made)
}

/// The address of a loopback to which none is given.
pub(super) fn usual_mac(instance: u32) -> MacAddr {
    let [.., high, low] = instance.to_be_bytes();
    MacAddr([0xde, 0xad, 0, 0, high, low])
}

/// Deletes a loopback.
///
/// # Errors
/// [`Error::Refused`] if the interface does not exist, [`Error::Other`] if it is not one.
pub fn delete(router: &mut Router, index: InterfaceIndex) -> Result<(), Error> {
    let i = router.interfaces.at(index).ok_or(Error::Refused(interface::Error::Unknown))?;
    if i.hardware != HARDWARE || i.is_sub() {
        return Err(Error::Other(i.name.clone()));
    }
    router.remove_interface(index);
    Ok(())
}
