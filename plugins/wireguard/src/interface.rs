//! Interfaces: a private key, a port, and the peers behind it.

use net::interface::{Error as InterfaceError, Kind, NewInterface, Offloads};
use net::prelude::*;
use net::tunnel::Carrier;

use super::cookie::Checker;
use super::input::NAMES;
use super::noise::Identity;
use super::{Error, Wireguard, handoff, handshake, peer};

/// MTU of a new interface, as of other tunnels.
const MTU: u32 = 9000;

/// An interface to be made.
#[derive(Clone, Debug)]
pub struct New {
    /// Number in its name; the first that is free unless given.
    pub instance: Option<u32>,
    /// Key pair.
    pub key: Identity,
    /// Port.
    pub port: u16,
    /// Local address.
    pub src: IpAddr,
}

/// An interface.
pub struct Interface {
    /// Instance number in the name.
    pub instance: u32,
    /// Key pair.
    pub key: Identity,
    /// Port.
    pub port: u16,
    /// Local address.
    pub src: IpAddr,
    /// True if up.
    pub is_up: bool,
    pub(super) checker: Checker,
}

/// The carrier of messages to a port, and the node that receives them.
fn carrier(src: IpAddr, port: u16) -> (IpVersion, Carrier, &'static str) {
    let version = IpVersion::from(src);
    (version, Carrier::Port(port), NAMES[0][version as usize])
}

/// Makes an interface, down.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn add(router: &mut Router, new: New) -> Result<InterfaceIndex, Error> {
    if new.src.is_unspecified() || new.src.is_multicast() {
        return Err(Error::Source(new.src));
    }
    if new.port == 0 {
        return Err(Error::Port);
    }
    let all = router.own::<Wireguard>().interfaces.values();
    let used: BTreeSet<_> = all.map(|i| i.instance).collect();
    let instance = match new.instance {
        Some(wanted) if used.contains(&wanted) => return Err(Error::InUse(wanted)),
        Some(wanted) => wanted,
        None => (0..).find(|n| !used.contains(n)).expect("fewer interfaces than numbers"),
    };
    let checker = Checker::new(&new.key.public, router.now()).ok_or(Error::NoRandom)?;
    let (version, carrier, node) = carrier(new.src, new.port);
    router.use_carrier(version, carrier, node).map_err(Error::Taken)?;
    let made = NewInterface {
        name: format!("wg{instance}"),
        kind: Kind::Ip,
        hardware: "Wireguard",
        mac: MacAddr::ZERO,
        mtu: MTU,
        offloads: Offloads::default(),
        link_follows_admin: true,
    };
    let interface = match router.add_interface(made, handoff::ToOutput) {
        Ok(interface) => interface,
        Err(e) => {
            router.leave_carrier(version, carrier, node);
            return Err(Error::Interface(e));
        }
    };
    let New { key, port, src, .. } = new;
    let interfaces = &mut router.own_mut::<Wireguard>().interfaces;
    let new = Interface { instance, key, port, src, is_up: false, checker };
    interfaces.insert(interface, new);
    Ok(interface)
}

/// Deletes an interface with its peers.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn remove(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    if !router.own::<Wireguard>().interfaces.contains_key(&interface) {
        return Err(Error::NoInterface);
    }
    router.remove_interface(interface);
    Ok(())
}

/// Follows an interface: sessions are those of one that is up, and peers go with it.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let is_up = router.interfaces.at(interface).is_some_and(|i| i.admin_up);
    let all = router.own_mut::<Wireguard>();
    let Some(own) = all.interfaces.get_mut(&interface) else { return };
    let mine = all.peers.iter().filter(|(_, peer)| peer.interface == interface);
    let mine: Vec<_> = mine.map(|(number, _)| *number).collect();
    match change {
        Change::Deleting => {
            for number in mine {
                peer::remove(router, number).expect("it was there just now");
            }
            let all = router.own_mut::<Wireguard>();
            all.tables.allowed.put(interface.0, None);
            let Some(gone) = all.interfaces.remove(&interface) else { return };
            let (version, carrier, node) = carrier(gone.src, gone.port);
            router.leave_carrier(version, carrier, node);
        }
        Change::State if own.is_up != is_up => {
            own.is_up = is_up;
            for number in mine {
                match is_up {
                    true => handshake::begin(router, number),
                    false => peer::end_sessions(router, number),
                }
            }
        }
        _ => (),
    }
}

impl From<InterfaceError> for Error {
    fn from(why: InterfaceError) -> Self {
        Self::Interface(why)
    }
}
