//! Devices follow their interfaces: state, MTU and addresses, from the router to Linux.

use drivers::host::netlink::Netlink;
use drivers::tap::Taps;

use net::prelude::*;

use super::pair::Device;
use super::{settings, with_kernel};

/// MTU of a device of Linux in bytes, at least.
const LEAST_MTU: u32 = 68;

/// Updates the device of an interface, if it has one: its link always, the rest as far as enabled.
/// Equal settings are left alone.
pub fn push(router: &mut Router, phy: InterfaceIndex) {
    let Some(pair) = super::of(router, phy).filter(|pair| pair.device != 0) else { return };
    let Some(i) = router.interfaces.at(phy) else { return };
    let (host, link_up) = (pair.host, i.link_up);
    let on = router.addresses.of(phy);
    let lent = on.borrowed.as_ref().filter(|_| !settings(router).ignores_unnumbered);
    let lent = lent.map(|borrowed| router.addresses.of(borrowed.from));
    let wanted = Device {
        is_up: i.admin_up,
        mtu: router.interfaces.mtu_of(phy, |mtu| mtu.l3),
        addresses: lent.unwrap_or(on).iter().collect(),
    };
    let (mut known, device, namespace) = (pair.known.clone(), pair.device, pair.namespace.clone());
    router.with(|taps: &mut Taps, _| taps.show_carrier(host, link_up));
    if !settings(router).is_synced || known == wanted {
        return;
    }
    let mut problems = Vec::new();
    let done = with_kernel(router, &namespace, |kernel| {
        change(kernel, device, (&mut known, &wanted), |what, e| {
            problems.push(format!("{what}: {e}"));
        });
        Ok(())
    });
    problems.extend(done.err().map(|e| format!("namespace {namespace}: {e}")));
    let log = router.log.class("linux-cp", "sync");
    let name = router.interfaces.name(phy.0);
    problems.iter().for_each(|problem| log.warn(format_args!("the device of {name}: {problem}")));
    if let Some(pair) = super::of_mut(router, phy) {
        pair.known = known;
    }
}

/// Changes a device where it is not as wanted, and what is known of it with it.
fn change(
    kernel: &mut Netlink,
    device: u32,
    (known, wanted): (&mut Device, &Device),
    mut problem: impl FnMut(String, io::Error),
) {
    if known.is_up != wanted.is_up {
        match kernel.switch(device, wanted.is_up) {
            Ok(()) => {
                known.is_up = wanted.is_up;
                if !wanted.is_up {
                    // Linux forgets the IPv6 addresses of a device that is switched off.
                    known.addresses.retain(|address| address.addr().is_ipv4());
                }
            }
            Err(e) => problem("state".to_owned(), e),
        }
    }
    if known.mtu != wanted.mtu && wanted.mtu >= LEAST_MTU {
        match kernel.set_mtu(device, wanted.mtu) {
            Ok(()) => known.mtu = wanted.mtu,
            Err(e) => problem(format!("MTU {}", wanted.mtu), e),
        }
    }
    let gone: Vec<_> = known.addresses.difference(&wanted.addresses).copied().collect();
    for address in gone {
        if let Err(e) = kernel.remove_address(device, address)
            && e.kind() != io::ErrorKind::AddrNotAvailable
        {
            problem(format!("without {address}"), e);
        }
        known.addresses.remove(&address);
    }
    let new: Vec<_> = wanted.addresses.difference(&known.addresses).copied().collect();
    for address in new {
        match kernel.add_address(device, address) {
            Ok(()) => drop(known.addresses.insert(address)),
            Err(e) => problem(format!("address {address}"), e),
        }
    }
}
