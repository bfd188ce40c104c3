//! Functions of a plugin that the router calls on its control thread.
//!
//! Safety contract: as of the module above.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::PoisonError;

use super::{Configuration, KEPT, Kept, Router};
use crate::abi::Cx;
use crate::{Change, Error, Fields};

pub(super) type RunCommand = Box<dyn Fn(&mut Router<'_>, &[&str]) -> Result<(), Error> + Send>;
pub(super) type RunMessage = Box<dyn Fn(&mut Router<'_>, Fields<'_>) -> i32 + Send>;
pub(super) type Changed = Box<dyn Fn(&mut Router<'_>, u32, Change) + Send>;
pub(super) type Configure = Box<dyn Fn(&mut Configuration<'_>) + Send>;
pub(super) type Due = Box<dyn FnOnce(&mut Router<'_>) + Send>;

/// # Safety
/// The router calls it with a `RunCommand` that is kept.
pub(super) unsafe extern "C" fn run_command(
    cx: *mut Cx,
    state: *mut c_void,
    count: u32,
    words: *const *const c_char,
) -> c_int {
    // SAFETY: by the contract of the module; there are so many words.
    let (mut router, run, words) = unsafe {
        let words = std::slice::from_raw_parts(words, count as usize);
        (Router::of(cx), &*state.cast::<RunCommand>(), words)
    };
    // SAFETY: each is a text that ends with a NUL.
    let texts = words.iter().map(|word| unsafe { CStr::from_ptr(*word) }.to_string_lossy());
    let texts: Vec<_> = texts.collect();
    let words: Vec<&str> = texts.iter().map(|text| &**text).collect();
    router.done(|router| run(router, &words))
}

/// # Safety
/// The router calls it with a `RunMessage` that is kept.
pub(super) unsafe extern "C" fn run_message(
    cx: *mut Cx,
    state: *mut c_void,
    fields: *const u8,
    len: u64,
) -> c_int {
    // SAFETY: by the contract of the module; there are so many bytes, at least those declared.
    let (mut router, run) = unsafe { (Router::of(cx), &*state.cast::<RunMessage>()) };
    let bytes = if len == 0 {
        &[]
    } else {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(fields, len as usize) }
    };
    let mut retval = crate::UNSPECIFIED;
    router.done(|router| {
        retval = run(router, Fields::of(bytes));
        Ok(())
    });
    retval
}

/// # Safety
/// The router calls it with a `Changed` that is kept.
pub(super) unsafe extern "C" fn run_changed(
    cx: *mut Cx,
    state: *mut c_void,
    interface: u32,
    what: c_int,
) {
    // SAFETY: by the contract of the module.
    let (mut router, run) = unsafe { (Router::of(cx), &*state.cast::<Changed>()) };
    router.done(|router| {
        run(router, interface, Change::of(what));
        Ok(())
    });
}

/// # Safety
/// The router calls it with a `Configure` that is kept.
pub(super) unsafe extern "C" fn run_configure(cx: *mut Cx, state: *mut c_void) {
    // SAFETY: by the contract of the module.
    let (mut router, run) = unsafe { (Router::of(cx), &*state.cast::<Configure>()) };
    router.done(|router| {
        run(&mut Configuration(Router { cx: router.cx, of: std::marker::PhantomData }));
        Ok(())
    });
}

/// # Safety
/// The router calls it once with an `Option<Due>` that is kept.
pub(super) unsafe extern "C" fn run_due(cx: *mut Cx, state: *mut c_void) {
    // SAFETY: by the contract of the module; there is no other reference.
    let (mut router, run) = unsafe { (Router::of(cx), (*state.cast::<Option<Due>>()).take()) };
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let own = kept.iter().position(|kept| kept.at == state).map(|at| kept.swap_remove(at));
    drop(kept);
    router.done(|router| {
        run.into_iter().for_each(|run| run(router));
        Ok(())
    });
    // SAFETY: kept once, and the timer is gone.
    own.into_iter().for_each(|Kept { at, free }| unsafe { free(at) });
}
