//! Requests of a plugin to the router.
//!
//! Safety contract: as of `host`.

use std::ffi::{c_char, c_int, c_void};

use control::configuration::Stage;
use control::feature::Owner;
use control::log::Level;
use ferrovia_sdk::abi::{self, Cx};
use net::{InterfaceIndex, Router};

use super::register::{arc_named, copied};
use super::{Pending, attempt, enter, lossy, needed, within};
use crate::plugin::Loader;

/// No interface, no timer.
const NONE: u32 = u32::MAX;
/// There is no interface of this number.
const NO_INTERFACE: c_int = -2;

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn set_feature(
    cx: *mut Cx,
    arc: *const c_char,
    node: *const c_char,
    interface: u32,
    on: c_int,
) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        if within(cx, true, |call| call.router.interfaces.at(InterfaceIndex(interface)).is_none()) {
            return NO_INTERFACE;
        }
        attempt(cx, |call| {
            let arc = arc_named(call, &needed(arc, "arc")?)?;
            let node = needed(node, "node of the feature")?;
            let done = call.router.engine.set_feature(arc, &node, interface, on != 0);
            done.map_err(|e| e.to_string())
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn interface_named(cx: *mut Cx, name: *const c_char) -> u32 {
    // SAFETY: the module's contract.
    unsafe {
        within(cx, NONE, |call| {
            let Ok(name) = needed(name, "name") else { return NONE };
            call.router.interfaces.named(&name).map_or(NONE, |i| i.index.0)
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn interface_name(
    cx: *mut Cx,
    interface: u32,
    to: *mut c_char,
    size: u64,
) -> c_int {
    // SAFETY: the module's contract; as much is written as there is room for.
    unsafe {
        within(cx, NO_INTERFACE, |call| {
            let Some(found) = call.router.interfaces.at(InterfaceIndex(interface)) else {
                return NO_INTERFACE;
            };
            let len = found.name.len().min((size as usize).saturating_sub(1));
            if size > 0 && !to.is_null() {
                std::ptr::copy_nonoverlapping(found.name.as_ptr(), to.cast(), len);
                to.add(len).write(0);
            }
            0
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn next_interface(cx: *mut Cx, first: u32) -> u32 {
    // SAFETY: the module's contract.
    unsafe {
        within(cx, NONE, |call| {
            let mut all = call.router.interfaces.iter().map(|i| i.index.0);
            all.find(|index| *index >= first).unwrap_or(NONE)
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn after(
    cx: *mut Cx,
    seconds: f64,
    due: Option<abi::Due>,
    state: *mut c_void,
) -> u32 {
    // SAFETY: the module's contract.
    unsafe {
        within(cx, NONE, |call| {
            let (Some(call_back), owner) = (due, call.owner) else { return NONE };
            let Some(plugin) = call.router.own_mut::<Loader>().by_owner(owner) else { return NONE };
            let number = plugin.next_timer;
            plugin.next_timer = (number + 1) % NONE;
            let key = u64::from(owner.0) << 32 | u64::from(number);
            let timer = call.router.after(seconds.max(0.0), fire, key);
            if let Some(plugin) = call.router.own_mut::<Loader>().by_owner(owner) {
                plugin.timers.insert(number, (timer, Pending { call: call_back, state }));
            }
            number
        })
    }
}

/// A plugin's timer is due.
fn fire(router: &mut Router, key: u64) {
    let (owner, number) = (Owner((key >> 32) as u32), key as u32);
    let plugin = router.own_mut::<Loader>().by_owner(owner);
    let pending = plugin.and_then(|plugin| plugin.timers.remove(&number));
    if let Some((_, Pending { call, state })) = pending {
        // SAFETY: the function and its state are of a plugin that is loaded.
        enter(router, owner, |cx| unsafe { call(cx, state) });
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn cancel(cx: *mut Cx, timer: u32) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let owner = call.owner;
            let plugin = call.router.own_mut::<Loader>().by_owner(owner);
            let pending = plugin.and_then(|plugin| plugin.timers.remove(&timer));
            let (timer, _) = pending.ok_or("no such timer")?;
            call.router.cancel(timer);
            Ok(())
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn now(cx: *mut Cx) -> f64 {
    // SAFETY: the module's contract.
    unsafe { within(cx, 0.0, |call| call.router.now()) }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn inject(
    cx: *mut Cx,
    node: *const c_char,
    rx: u32,
    from: *const u8,
    len: u64,
) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let name = needed(node, "node name")?;
            let node = call.router.engine.index_of(&name);
            let node = node.ok_or_else(|| format!("no node {name}"))?;
            let thread = call.router.engine.data_threads().start;
            let bytes = copied(from, len);
            call.router.engine.inject(thread, node, bytes, move |p| p.set_rx(rx));
            Ok(())
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn log(cx: *mut Cx, level: c_int, text: *const c_char, len: u64) {
    // SAFETY: the module's contract.
    unsafe {
        within(cx, (), |call| {
            let (owner, text) = (call.owner, lossy(text, len));
            let loader = call.router.own_mut::<Loader>();
            let name = loader.by_owner(owner).map(|plugin| plugin.stamp.name.clone());
            let name = loader.declared.text(&name.unwrap_or_default());
            let level = match level {
                ..=3 => Level::Error,
                4 => Level::Warn,
                5 => Level::Notice,
                6 => Level::Info,
                _ => Level::Debug,
            };
            call.router.log.class("plugin", name).log(level, text);
        });
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn print(cx: *mut Cx, text: *const c_char, len: u64) {
    // SAFETY: the module's contract.
    unsafe { within(cx, (), |call| call.text += &lossy(text, len)) }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn json(cx: *mut Cx, text: *const c_char, len: u64) {
    // SAFETY: the module's contract.
    unsafe { within(cx, (), |call| call.json += &lossy(text, len)) }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn fail(cx: *mut Cx, text: *const c_char, len: u64) {
    // SAFETY: the module's contract.
    unsafe { within(cx, (), |call| call.failed = lossy(text, len)) }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn answer(cx: *mut Cx, from: *const u8, len: u64) {
    // SAFETY: the module's contract.
    unsafe { within(cx, (), |call| call.answers.push(copied(from, len))) }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn line(cx: *mut Cx, stage: c_int, text: *const c_char, len: u64) {
    // SAFETY: the module's contract.
    unsafe {
        within(cx, (), |call| {
            let stage = Stage::ALL.get(stage as usize).copied().unwrap_or(Stage::Attachments);
            call.lines.push((stage, lossy(text, len)));
        });
    }
}
