//! From safe Rust to the table of host functions and back.
//!
//! Safety contract: the router calls a plugin's functions with what `ferrovia.h` says, and with
//! pointers that it was given when they were registered: boxes that are freed in [`end`], when the
//! router has nothing of the plugin left. A [`Router`] or [`Frame`] exists while the function it is
//! for runs, and does not leave it. Control functions run one at a time; a node has memory of its
//! own for each thread.

mod calls;
mod node;
mod plugin;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Acquire, Ordering::Release};
use std::sync::{Mutex, PoisonError};

pub use node::{Counters, Frame, Metadata, Packet};

use crate::abi::{self, Cx, Host};
use crate::{Change, Command, Error, Fields, Message, NewInterface, Node, Place, Stage, Timer};
use calls::{
    Changed, Configure, Due, RunCommand, RunMessage, run_changed, run_command, run_configure,
    run_due, run_message,
};
use node::{Shared, process};

static HOST: AtomicPtr<Host> = AtomicPtr::new(null_mut());
/// Objects given to the router, and the functions that free them.
static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
/// The text of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

struct Kept {
    at: *mut c_void,
    free: unsafe fn(*mut c_void),
}

// SAFETY: what is kept is `Send`, as everything that is registered must be.
unsafe impl Send for Kept {}

fn host() -> &'static Host {
    // SAFETY: set at the start of the plugin, before anything of it is called; the router keeps the
    // table until the plugin is gone.
    unsafe { &*HOST.load(Acquire) }
}

/// Gives something to the router for as long as the plugin is loaded.
fn keep<T: Send + 'static>(value: T) -> *mut c_void {
    /// # Safety
    /// `at` is a box of a `T` without other references.
    unsafe fn free<T>(at: *mut c_void) {
        // SAFETY: the caller's.
        drop(unsafe { Box::from_raw(at.cast::<T>()) });
    }
    let at = Box::into_raw(Box::new(value)).cast();
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(Kept { at, free: free::<T> });
    at
}

/// Starts the plugin.
///
/// # Safety
/// The router calls it.
pub unsafe fn start(
    table: *const Host,
    cx: *mut Cx,
    start: fn(&mut Router<'_>) -> Result<(), Error>,
) -> c_int {
    HOST.store(table.cast_mut(), Release);
    // The usual hook would leave something on this thread that keeps the file mapped.
    std::panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    // SAFETY: what the router gave, for this call.
    let mut router = unsafe { Router::of(cx) };
    router.done(|router| start(router))
}

/// Frees what was given to the router.
///
/// # Safety
/// The router calls it when nothing of the plugin is in use.
pub unsafe fn end() {
    let kept = std::mem::take(&mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner));
    for Kept { at, free } in kept.into_iter().rev() {
        // SAFETY: each is kept once, with the function that frees it.
        unsafe { free(at) };
    }
    drop(std::panic::take_hook());
}

/// The router, for the time of a call of a control function.
pub struct Router<'c> {
    cx: *mut Cx,
    of: PhantomData<&'c mut Cx>,
}

impl Router<'_> {
    /// # Safety
    /// The router gave `cx` for a call that lasts longer than this value.
    unsafe fn of(cx: *mut Cx) -> Self {
        Self { cx, of: PhantomData }
    }

    /// Runs a function of the plugin; a panic is an error with its text.
    fn done(&mut self, work: impl FnOnce(&mut Self) -> Result<(), Error>) -> c_int {
        let done = catch_unwind(AssertUnwindSafe(|| work(self)));
        let why = match done {
            Ok(Ok(())) => return 0,
            Ok(Err(Error(why))) => why,
            Err(_) => std::mem::take(&mut *PANIC.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        if !why.is_empty() {
            // SAFETY: our call; so many bytes of text.
            unsafe { (host().fail)(self.cx, why.as_ptr().cast(), why.len() as u64) };
        }
        -1
    }

    /// The router has said why, if it is none of 0.
    fn told(answer: c_int) -> Result<(), Error> {
        if answer == 0 { Ok(()) } else { Err(Error::default()) }
    }

    /// Adds a node, and puts it on feature arcs.
    ///
    /// # Errors
    /// The router's.
    pub fn node<N: Node>(
        &mut self,
        name: &str,
        node: N,
        places: &[Place<'_>],
    ) -> Result<(), Error> {
        let shared = keep(Shared::new(node, host().threads));
        let mut texts = Texts::default();
        let (name, drop) = (texts.add(name), texts.add(N::DROP));
        let (reasons, counts) = (texts.list(N::REASONS), texts.list(N::COUNTS));
        let next: Vec<_> = N::NEXT.iter().map(|to| texts.add(to)).chain([null()]).collect();
        let given = abi::Node {
            name,
            process: Some(process::<N>),
            state: shared,
            local_size: 0,
            next: next.as_ptr(),
            reasons: reasons.as_ptr(),
            counts: counts.as_ptr(),
            drop,
        };
        // SAFETY: our call; texts and lists live and end as they should.
        Self::told(unsafe { (host().node)(self.cx, &raw const given) })?;
        for place in places {
            let (arc, other) = (texts.add(place.arc), texts.add(place.beside.unwrap_or_default()));
            let (before, after) = match (place.beside, place.is_before) {
                (None, _) => (null(), null()),
                (Some(_), true) => (other, null()),
                (Some(_), false) => (null(), other),
            };
            let given = abi::Feature { arc, node: name, before, after };
            // SAFETY: as above.
            Self::told(unsafe { (host().feature)(self.cx, &raw const given) })?;
        }
        Ok(())
    }

    /// Adds a command; `run` gets the words behind its path.
    ///
    /// # Errors
    /// The router's.
    pub fn command(
        &mut self,
        command: Command<'_>,
        run: impl Fn(&mut Router<'_>, &[&str]) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let mut texts = Texts::default();
        let state = keep(Box::new(run) as RunCommand);
        let (path, usage, about) =
            (texts.add(command.path), texts.add(command.usage), texts.add(command.about));
        let given = abi::Command { path, usage, about, run: Some(run_command), state };
        // SAFETY: our call; the texts live.
        Self::told(unsafe { (host().command)(self.cx, &raw const given) })
    }

    /// Adds a message; `run` gets its fields, answers with [`Router::answer`] and returns the error
    /// number of the binary API, or 0.
    ///
    /// # Errors
    /// The router's.
    pub fn message(
        &mut self,
        message: Message<'_>,
        run: impl Fn(&mut Router<'_>, Fields<'_>) -> i32 + Send + 'static,
    ) -> Result<(), Error> {
        let mut texts = Texts::default();
        let state = keep(Box::new(run) as RunMessage);
        let given = abi::Message {
            module: texts.add(message.module),
            version: texts.add(message.version),
            name: texts.add(message.name),
            about: texts.add(message.about),
            fields: texts.add(message.fields),
            answer: texts.add(message.answer),
            run: Some(run_message),
            state,
        };
        // SAFETY: our call; the texts live.
        Self::told(unsafe { (host().message)(self.cx, &raw const given) })
    }

    /// Calls `changed` after an interface has changed, or before it is deleted.
    ///
    /// # Errors
    /// The router's.
    pub fn on_interface(
        &mut self,
        changed: impl Fn(&mut Router<'_>, u32, Change) + Send + 'static,
    ) -> Result<(), Error> {
        let state = keep(Box::new(changed) as Changed);
        // SAFETY: our call; what is kept lives as long as the plugin is loaded.
        Self::told(unsafe { (host().on_interface)(self.cx, Some(run_changed), state) })
    }

    /// Counters by interface, under a name in the statistics.
    ///
    /// # Errors
    /// The router's.
    pub fn counters(&mut self, name: &str) -> Result<Counters, Error> {
        let mut given = abi::Counters { rows: null(), threads: 0 };
        let name = c_text(name);
        // SAFETY: our call; the name lives, and there is a place for the answer.
        Self::told(unsafe { (host().counters)(self.cx, name.as_ptr(), &raw mut given) })?;
        Ok(Counters(given))
    }

    /// Calls `given` for the commands that restore the plugin's state, for `show configuration`.
    ///
    /// # Errors
    /// The router's.
    pub fn configuration(
        &mut self,
        given: impl Fn(&mut Configuration<'_>) + Send + 'static,
    ) -> Result<(), Error> {
        let state = keep(Box::new(given) as Configure);
        // SAFETY: our call; what is kept lives as long as the plugin is loaded.
        Self::told(unsafe { (host().configure)(self.cx, Some(run_configure), state) })
    }

    /// A bit and a number in the metadata of packets, reserved for the plugin.
    ///
    /// # Errors
    /// There is none left.
    pub fn metadata(&mut self, name: &str) -> Result<Metadata, Error> {
        let mut given = abi::Metadata { flag: 0, offset: 0 };
        let (name, size) = (c_text(name), size_of::<u64>() as u64);
        // SAFETY: our call; the name lives, and there is a place for the answer.
        Self::told(unsafe { (host().metadata)(self.cx, name.as_ptr(), size, &raw mut given) })?;
        Ok(Metadata(given))
    }

    /// Makes an interface; `transmit` is the node that gets what it sends, which has no edges.
    ///
    /// # Errors
    /// The router's: a name that is in use, or none.
    pub fn interface<N: Node>(
        &mut self,
        interface: NewInterface<'_>,
        transmit: N,
    ) -> Result<u32, Error> {
        let shared = keep(Shared::new(transmit, host().threads));
        let (mut texts, mut index) = (Texts::default(), 0);
        let (name, hardware) = (texts.add(interface.name), texts.add(interface.hardware));
        let reasons = texts.list(N::REASONS);
        let given = abi::Interface {
            name,
            hardware,
            mac: interface.mac,
            mtu: interface.mtu,
            transmit: Some(process::<N>),
            state: shared,
            local_size: 0,
            reasons: reasons.as_ptr(),
        };
        // SAFETY: our call; texts and list live and end as they should, and there is a place for
        // the answer.
        Self::told(unsafe { (host().interface)(self.cx, &raw const given, &raw mut index) })?;
        Ok(index)
    }

    /// Deletes an interface of the plugin.
    ///
    /// # Errors
    /// It is none.
    pub fn delete_interface(&mut self, interface: u32) -> Result<(), Error> {
        // SAFETY: our call.
        Self::told(unsafe { (host().delete_interface)(self.cx, interface) })
    }

    /// Says whether the link of an interface of the plugin is up.
    ///
    /// # Errors
    /// It is none.
    pub fn set_link(&mut self, interface: u32, up: bool) -> Result<(), Error> {
        // SAFETY: our call.
        Self::told(unsafe { (host().set_link)(self.cx, interface, up.into()) })
    }

    /// Switches a feature on or off for an interface.
    ///
    /// # Errors
    /// No such interface or feature.
    pub fn set_feature(
        &mut self,
        arc: &str,
        node: &str,
        interface: u32,
        on: bool,
    ) -> Result<(), Error> {
        let (arc, node) = (c_text(arc), c_text(node));
        // SAFETY: our call; the texts live.
        let done = unsafe {
            (host().set_feature)(self.cx, arc.as_ptr(), node.as_ptr(), interface, on.into())
        };
        if done == -2 { Err("no such interface".into()) } else { Self::told(done) }
    }

    /// The interface of a name.
    pub fn interface_named(&mut self, name: &str) -> Option<u32> {
        let name = c_text(name);
        // SAFETY: our call; the text lives.
        let found = unsafe { (host().interface_named)(self.cx, name.as_ptr()) };
        (found != u32::MAX).then_some(found)
    }

    /// The name of an interface.
    pub fn interface_name(&mut self, interface: u32) -> Option<String> {
        let mut name = [0; 64];
        let (at, len) = (name.as_mut_ptr(), name.len() as u64);
        // SAFETY: our call; there is room for as many bytes.
        let found = unsafe { (host().interface_name)(self.cx, interface, at, len) };
        // SAFETY: the router has put a text that ends with a NUL there.
        (found == 0).then(|| unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
    }

    /// The numbers of all interfaces.
    pub fn interfaces(&mut self) -> Vec<u32> {
        let mut all = Vec::new();
        let mut next = 0;
        loop {
            // SAFETY: our call.
            next = unsafe { (host().next_interface)(self.cx, next) };
            if next == u32::MAX {
                return all;
            }
            all.push(next);
            next += 1;
        }
    }

    /// Calls `due` once, after this many seconds on the router's clock.
    pub fn after(
        &mut self,
        seconds: f64,
        due: impl FnOnce(&mut Router<'_>) + Send + 'static,
    ) -> Option<Timer> {
        let state = keep(Some(Box::new(due) as Due));
        // SAFETY: our call; what is kept lives as long as the plugin is loaded.
        let timer = unsafe { (host().after)(self.cx, seconds, Some(run_due), state) };
        (timer != u32::MAX).then_some(Timer(timer))
    }

    /// Stops a timer. False when it is due already.
    pub fn cancel(&mut self, timer: Timer) -> bool {
        // SAFETY: our call.
        unsafe { (host().cancel)(self.cx, timer.0) == 0 }
    }

    /// Seconds on the router's clock.
    pub fn now(&mut self) -> f64 {
        // SAFETY: our call.
        unsafe { (host().now)(self.cx) }
    }

    /// Sends a packet to a node, as if received on interface `rx`.
    ///
    /// # Errors
    /// No such node.
    pub fn inject(&mut self, node: &str, rx: u32, bytes: &[u8]) -> Result<(), Error> {
        let (node, at, len) = (c_text(node), bytes.as_ptr(), bytes.len() as u64);
        // SAFETY: our call; the text and the bytes live.
        Self::told(unsafe { (host().inject)(self.cx, node.as_ptr(), rx, at, len) })
    }

    /// Logs something an operator wants to know.
    pub fn notice(&mut self, text: impl fmt::Display) {
        let text = text.to_string();
        // SAFETY: our call; so many bytes of text.
        unsafe { (host().log)(self.cx, 5, text.as_ptr().cast(), text.len() as u64) }
    }

    /// Prints, in a command.
    pub fn print(&mut self, text: impl fmt::Display) {
        let mut all = String::new();
        let _ = write!(all, "{text}");
        // SAFETY: our call; so many bytes of text.
        unsafe { (host().print)(self.cx, all.as_ptr().cast(), all.len() as u64) }
    }

    /// Adds to what programs get instead of what is printed: JSON.
    pub fn json(&mut self, text: &str) {
        // SAFETY: our call; so many bytes of text.
        unsafe { (host().json)(self.cx, text.as_ptr().cast(), text.len() as u64) }
    }

    /// Adds an answer to a message: the own fields of the reply or of one of the details.
    pub fn answer(&mut self, bytes: &[u8]) {
        // SAFETY: our call; so many bytes.
        unsafe { (host().answer)(self.cx, bytes.as_ptr(), bytes.len() as u64) }
    }
}

/// Receiver of a plugin's configuration.
pub struct Configuration<'c>(Router<'c>);

impl Configuration<'_> {
    /// Gives a command.
    pub fn line(&mut self, stage: Stage, command: impl fmt::Display) {
        let text = command.to_string();
        // SAFETY: our call; so many bytes of text.
        unsafe {
            (host().line)(self.0.cx, stage as c_int, text.as_ptr().cast(), text.len() as u64);
        }
    }
}

impl<'c> Deref for Configuration<'c> {
    type Target = Router<'c>;
    fn deref(&self) -> &Router<'c> {
        &self.0
    }
}

/// The router refuses what would change it.
impl DerefMut for Configuration<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// Texts that live while they are shown to the router.
#[derive(Default)]
struct Texts(Vec<CString>);

impl Texts {
    fn add(&mut self, text: &str) -> *const c_char {
        self.0.push(c_text(text));
        self.0.last().map_or(null(), |text| text.as_ptr())
    }
    fn list(&mut self, texts: &[(&str, &str)]) -> Vec<abi::Text> {
        let end = abi::Text { name: null(), text: null() };
        let all: Vec<_> = texts
            .iter()
            .map(|(name, text)| abi::Text { name: self.add(name), text: self.add(text) })
            .collect();
        all.into_iter().chain([end]).collect()
    }
}

/// A text up to its first NUL.
fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
