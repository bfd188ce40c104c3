//! The host functions, and calls into plugins.
//!
//! Safety contract: a plugin calls host functions only with the pointer it was given, before it
//! returns, and with pointers that are what `ferrovia.h` says: texts that end with a NUL, structs
//! that are complete, lists that end. An `fv_cx` is a [`Call`] on the stack of the function that
//! calls the plugin, which does not touch it meanwhile; an `fv_frame` is one of [`node`]. Function
//! pointers and `state` of a plugin are used as long as it is loaded.

mod control;
mod interface;
mod node;
mod register;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ::control::cli::Output;
use ::control::configuration::Stage;
use ::control::feature::Owner;
use ferrovia_sdk::abi::{self, Cx, Host};
use net::interface::Change;
use net::{InterfaceIndex, Router};

use crate::plugin::Loader;

/// The table of functions of a plugin, at a place that stays.
pub struct Table(Host);

impl Table {
    pub fn as_ptr(&self) -> *const Host {
        &raw const self.0
    }
}

/// The functions for a router with so many rows of counters.
pub fn table(threads: u32) -> Box<Table> {
    Box::new(Table(Host {
        abi: abi::ABI,
        size: size_of::<Host>() as u32,
        threads,
        most_interfaces: abi::MOST_INTERFACES,
        count: node::count,
        trace: node::trace,
        node: register::node,
        feature: register::feature,
        command: register::command,
        message: register::message,
        counters: register::counters,
        on_interface: register::on_interface,
        set_feature: control::set_feature,
        interface_named: control::interface_named,
        interface_name: control::interface_name,
        next_interface: control::next_interface,
        after: control::after,
        cancel: control::cancel,
        now: control::now,
        inject: control::inject,
        log: control::log,
        print: control::print,
        json: control::json,
        fail: control::fail,
        answer: control::answer,
        configure: register::configure,
        line: control::line,
        metadata: register::metadata,
        interface: interface::add,
        delete_interface: interface::delete,
        set_link: interface::set_link,
        alloc: node::alloc,
        free: node::free,
        send: node::send,
    }))
}

/// A call into a plugin on control's thread.
struct Call<'r> {
    router: Access<'r>,
    owner: Owner,
    text: String,
    json: String,
    failed: String,
    answers: Vec<Vec<u8>>,
    lines: Vec<(Stage, String)>,
}

/// The router as far as a call may have it.
enum Access<'r> {
    Whole(&'r mut Router),
    /// A plugin gives its configuration: it changes nothing.
    Look(&'r Router),
}

impl Deref for Access<'_> {
    type Target = Router;
    fn deref(&self) -> &Router {
        match self {
            Self::Whole(router) => router,
            Self::Look(router) => router,
        }
    }
}

impl DerefMut for Access<'_> {
    fn deref_mut(&mut self) -> &mut Router {
        match self {
            Self::Whole(router) => router,
            // The function of the plugin that asked for it fails: see `within`.
            Self::Look(_) => resume_unwind(Box::new("nothing is changed while it is looked at")),
        }
    }
}

/// Outcome of a call.
pub(super) struct Called {
    text: String,
    json: String,
    failed: String,
    answers: Vec<Vec<u8>>,
    lines: Vec<(Stage, String)>,
}

/// A function that gives the configuration of a plugin.
#[derive(Clone, Copy)]
pub struct Configured {
    call: abi::Configure,
    state: *mut c_void,
}

/// A function that is called when an interface changed.
#[derive(Clone, Copy)]
pub struct Observer {
    call: abi::Changed,
    state: *mut c_void,
}

/// A function that is called when a timer is due.
#[derive(Clone, Copy)]
pub struct Pending {
    call: abi::Due,
    state: *mut c_void,
}

/// Calls a plugin.
fn enter<R>(router: &mut Router, owner: Owner, work: impl FnOnce(*mut Cx) -> R) -> (R, Called) {
    enter_with(Access::Whole(router), owner, work)
}

fn enter_with<R>(router: Access<'_>, owner: Owner, work: impl FnOnce(*mut Cx) -> R) -> (R, Called) {
    let (text, json, failed, answers, lines) = Default::default();
    let mut call = Call { router, owner, text, json, failed, answers, lines };
    let done = work((&raw mut call).cast());
    let Call { text, json, failed, answers, lines, .. } = call;
    (done, Called { text, json, failed, answers, lines })
}

/// The commands that recreate a plugin's settings.
pub fn configuration(
    router: &Router,
    owner: Owner,
    functions: &[Configured],
) -> Vec<(Stage, String)> {
    let lines = functions.iter().flat_map(|Configured { call, state }| {
        // SAFETY: the function and its state are of a plugin that is loaded.
        enter_with(Access::Look(router), owner, |cx| unsafe { call(cx, *state) }).1.lines
    });
    lines.collect()
}

/// Lets `work` at the call that a plugin's pointer stands for. A panic is its failure.
///
/// # Safety
/// `cx` is what [`enter`] gave, and the plugin has not returned.
unsafe fn within<R>(cx: *mut Cx, otherwise: R, work: impl FnOnce(&mut Call<'_>) -> R) -> R {
    // SAFETY: the caller's; `enter` does not touch the call while the plugin is called, and a
    // plugin calls one function at a time.
    let call = unsafe { &mut *cx.cast::<Call<'_>>() };
    catch_unwind(AssertUnwindSafe(|| work(call))).unwrap_or(otherwise)
}

/// The same for what succeeds or says why not.
///
/// # Safety
/// As of [`within`].
unsafe fn attempt(cx: *mut Cx, work: impl FnOnce(&mut Call<'_>) -> Result<(), String>) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        within(cx, FAILED, |call| match work(call) {
            Ok(()) => 0,
            Err(why) => {
                if call.failed.is_empty() {
                    call.failed = why;
                }
                FAILED
            }
        })
    }
}

const FAILED: c_int = -1;

/// A text of a plugin, if given.
///
/// # Safety
/// It is null or ends with a NUL.
unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// A text that must be there.
///
/// # Safety
/// As of [`text`].
unsafe fn needed(from: *const c_char, what: &str) -> Result<String, String> {
    // SAFETY: the caller's.
    let found = unsafe { text(from) };
    found.filter(|text| !text.is_empty()).ok_or_else(|| format!("no such {what}"))
}

/// Text of so many bytes.
///
/// # Safety
/// There are as many, or the pointer is null.
unsafe fn lossy(from: *const c_char, len: u64) -> String {
    // SAFETY: the caller's.
    String::from_utf8_lossy(unsafe { bytes(from.cast(), len) }).into_owned()
}

/// So many bytes.
///
/// # Safety
/// As of [`lossy`]; they stay as they are while they are borrowed.
unsafe fn bytes<'a>(from: *const u8, len: u64) -> &'a [u8] {
    if from.is_null() {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(from, len as usize) }
}

/// Starts a plugin.
///
/// # Errors
/// What it says.
pub fn start(
    router: &mut Router,
    owner: Owner,
    start: abi::Start,
    table: *const Host,
) -> Result<(), String> {
    // SAFETY: the function of a plugin that is loaded, with what the header says it gets.
    let (done, called) = enter(router, owner, |cx| unsafe { start(table, cx) });
    if done == 0 { Ok(()) } else { Err(reason(called.failed)) }
}

fn reason(said: String) -> String {
    if said.is_empty() { "its start failed".to_owned() } else { said }
}

/// Lets a plugin undo what only it can undo.
pub fn stop(router: &mut Router, owner: Owner, stop: abi::Stop) {
    // SAFETY: as in `start`.
    enter(router, owner, |cx| unsafe { stop(cx) });
}

/// Tells all plugins that an interface has changed.
pub fn tell_interface(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let what = match change {
        Change::Added => 0,
        Change::Deleting => 1,
        Change::State => 2,
        _ => 3,
    };
    let all = router.own::<Loader>().loaded.iter();
    let all = all.flat_map(|plugin| plugin.observers.iter().map(|o| (plugin.owner, *o)));
    for (owner, Observer { call, state }) in all.collect::<Vec<_>>() {
        // SAFETY: the function and its state are of a plugin that is loaded.
        enter(router, owner, |cx| unsafe { call(cx, state, interface.0, what) });
    }
}

/// Output of a plugin's command.
fn output(Called { text, json, .. }: Called) -> Output {
    if json.is_empty() {
        return Output::text(text);
    }
    let value: Result<serde_json::Value, _> = serde_json::from_str(&json);
    match value {
        Ok(value) => Output::both(text, value),
        Err(e) => Output::both(text, format!("not JSON: {e}")),
    }
}
