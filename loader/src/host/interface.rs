//! Interfaces that plugins make.
//!
//! Safety contract: as of `host`.

use std::ffi::c_int;

use ferrovia_sdk::abi::{self, Cx};
use graph::Foreign;
use net::interface::{Kind, NewInterface, Offloads};
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::node::CNode;
use super::register::texts;
use super::{attempt, needed};
use crate::plugin::Loader;

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn add(
    cx: *mut Cx,
    interface: *const abi::Interface,
    to: *mut u32,
) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let given = interface.as_ref().ok_or("no such interface")?;
            let name = needed(given.name, "interface name")?;
            let hardware = needed(given.hardware, "hardware class")?;
            let process = given.transmit.ok_or_else(|| format!("{name} has no function"))?;
            let to = to.as_mut().ok_or("no place for the number")?;
            let local = vec![0; (given.local_size as usize).div_ceil(8)];
            let template = CNode { process, state: given.state, local };
            let (owner, router) = (call.owner, &mut *call.router);
            let declared = &mut router.own_mut::<Loader>().declared;
            let reasons = declared.counters(&texts(given.reasons), "error");
            let new = NewInterface {
                name,
                kind: if given.mac == [0; 6] { Kind::Ip } else { Kind::Ethernet },
                hardware: declared.text(&hardware),
                mac: MacAddr(given.mac),
                mtu: given.mtu.into(),
                offloads: Offloads::default(),
                link_follows_admin: true,
            };
            // The nodes go with the interface.
            let before = router.engine.owner();
            router.engine.set_owner(0);
            let made = router.add_interface_by(new, |engine, name| {
                let make = move || -> Box<dyn Foreign> { Box::new(template.clone()) };
                engine.add_foreign(name, (&[], "error-drop"), (reasons, &[]), make)
            });
            router.engine.set_owner(before);
            let index = made.map_err(|e| e.to_string())?;
            if let Some(plugin) = router.own_mut::<Loader>().by_owner(owner) {
                plugin.interfaces.push(index);
            }
            *to = index.0;
            Ok(())
        })
    }
}

/// One of the interfaces of the plugin.
fn own(router: &mut Router, owner: ::control::feature::Owner, index: u32) -> Result<(), String> {
    let plugin = router.own_mut::<Loader>().by_owner(owner);
    let is_own = plugin.is_some_and(|plugin| plugin.interfaces.contains(&InterfaceIndex(index)));
    if is_own { Ok(()) } else { Err("not an interface of the plugin".to_owned()) }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn delete(cx: *mut Cx, interface: u32) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            own(&mut call.router, call.owner, interface)?;
            call.router.remove_interface(InterfaceIndex(interface));
            Ok(())
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn set_link(cx: *mut Cx, interface: u32, up: c_int) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            own(&mut call.router, call.owner, interface)?;
            call.router.set_link(InterfaceIndex(interface), up != 0);
            Ok(())
        })
    }
}
