//! Registrations of a plugin.
//!
//! Safety contract: as of `host`; structs are read before the function returns, and copied.

use std::ffi::{c_char, c_int, c_void};

use control::api::Retval;
use control::api::schema::Head;
use control::cli::{Args, Described, Error};
use ferrovia_sdk::abi::{self, Cx};
use graph::arc::{Beside, FeatureArc};
use graph::{Edge, Foreign};
use net::interface::COLUMNS;

use super::node::CNode;
use super::{Call, Called, Configured, Observer, attempt, bytes, enter, needed, output, text};
use crate::plugin::{Counted, Loader};

/// Most entries of a list.
const MOST: usize = 256;

/// Names and texts up to the end of a list.
///
/// # Safety
/// The list is null or ends with an entry without a name.
pub(super) unsafe fn texts(mut list: *const abi::Text) -> Vec<(String, String)> {
    let mut all = Vec::new();
    while !list.is_null() && all.len() < MOST {
        // SAFETY: the caller's: this entry is there, and behind one with a name is another.
        let (name, about) = unsafe { (text((*list).name), text((*list).text)) };
        let Some(name) = name else { break };
        all.push((name, about.unwrap_or_default()));
        // SAFETY: as above.
        list = unsafe { list.add(1) };
    }
    all
}

/// Names up to the end of a list.
///
/// # Safety
/// The list is null or ends with a null.
unsafe fn names(mut list: *const *const c_char) -> Vec<String> {
    let mut all = Vec::new();
    while !list.is_null() && all.len() < MOST {
        // SAFETY: the caller's: this entry is there, and behind one that is not null is another.
        let Some(name) = (unsafe { text(*list) }) else { break };
        all.push(name);
        // SAFETY: as above.
        list = unsafe { list.add(1) };
    }
    all
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn node(cx: *mut Cx, node: *const abi::Node) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let node = node.as_ref().ok_or("no such node")?;
            let name = needed(node.name, "node name")?;
            let process = node.process.ok_or_else(|| format!("{name} has no function"))?;
            let (reasons, counts) = (texts(node.reasons), texts(node.counts));
            let (next, drop) = (names(node.next), text(node.drop));
            let local = vec![0; (node.local_size as usize).div_ceil(8)];
            let template = CNode { process, state: node.state, local };
            add_node(call, &name, template, (next, drop), (&reasons, &counts))
        })
    }
}

type Texts<'a> = &'a [(String, String)];

fn add_node(
    call: &mut Call<'_>,
    name: &str,
    template: CNode,
    (next, drop): (Vec<String>, Option<String>),
    (reasons, counts): (Texts<'_>, Texts<'_>),
) -> Result<(), String> {
    let declared = &mut call.router.own_mut::<Loader>().declared;
    let edge = |to: &String| Edge { to: declared.text(to), payload: "" };
    let edges: Vec<_> = next.iter().map(edge).collect();
    let drop = declared.text(drop.as_deref().unwrap_or("error-drop"));
    let texts = (declared.counters(reasons, "error"), declared.counters(counts, "info"));
    let make = move || -> Box<dyn Foreign> { Box::new(template.clone()) };
    let added = call.router.engine.add_foreign(name, (&edges, drop), texts, make);
    added.map(std::mem::drop).map_err(|e| e.to_string())
}

pub(super) fn arc_named(call: &Call<'_>, name: &str) -> Result<&'static FeatureArc, String> {
    let arc = call.router.engine.arc_named(name);
    arc.ok_or_else(|| format!("no feature arc {name}"))
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn feature(cx: *mut Cx, feature: *const abi::Feature) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let feature = feature.as_ref().ok_or("no such feature")?;
            let arc = arc_named(call, &needed(feature.arc, "arc")?)?;
            let name = needed(feature.node, "node of the feature")?;
            let (before, after) = (text(feature.before), text(feature.after));
            let declared = &mut call.router.own_mut::<Loader>().declared;
            let (node, mut place) = (declared.text(&name), |name: &String| declared.text(name));
            let before = before.as_ref().map(|name| Beside::Before(place(name)));
            let after = after.as_ref().map(|name| Beside::After(place(name)));
            let engine = &mut call.router.engine;
            let placed = match before.or(after) {
                Some(beside) => engine.place_beside(arc, node, beside),
                None => engine.place(arc, node),
            };
            placed.map_err(|e| e.to_string())
        })
    }
}

/// A pointer that a plugin gave and gets back.
#[derive(Clone, Copy)]
struct State(*mut c_void);

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn command(cx: *mut Cx, command: *const abi::Command) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let command = command.as_ref().ok_or("no such command")?;
            let path = needed(command.path, "path of the command")?;
            let run = command.run.ok_or_else(|| format!("{path} has no function"))?;
            let (usage, about) = (text(command.usage), text(command.about));
            let (state, owner) = (State(command.state), call.owner);
            let loader = call.router.own_mut::<Loader>();
            let described = Described {
                path: loader.declared.text(&path),
                usage: loader.declared.text(&usage.unwrap_or_default()),
                about: loader.declared.text(&about.unwrap_or_default()),
            };
            loader.cli.command_of(described, move |router, args| {
                let words = Words::of(args);
                // SAFETY: the function and its state are of a plugin that is loaded as long as the
                // command is there; the words stay until it returns.
                let (done, called) =
                    enter(router, owner, |cx| run(cx, state.0, words.count(), words.as_ptr()));
                if done == 0 {
                    return Ok(output(called));
                }
                let said = if called.failed.is_empty() { "it failed" } else { &called.failed };
                Err(Error::new(said))
            });
            Ok(())
        })
    }
}

/// Words as C reads them.
struct Words {
    pointers: Vec<*const c_char>,
    _texts: Vec<std::ffi::CString>,
}

impl Words {
    fn of(args: &mut Args<'_>) -> Self {
        // A word has no NUL: that is a blank.
        let words = std::iter::from_fn(|| args.word().map(std::ffi::CString::new));
        let texts: Vec<_> = words.flatten().collect();
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]);
        Self { pointers: pointers.collect(), _texts: texts }
    }
    fn count(&self) -> u32 {
        self.pointers.len() as u32 - 1
    }
    fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn message(cx: *mut Cx, message: *const abi::Message) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let message = message.as_ref().ok_or("no such message")?;
            let name = needed(message.name, "name of the message")?;
            let run = message.run.ok_or_else(|| format!("{name} has no function"))?;
            let version = text(message.version).unwrap_or_else(|| "1.0.0".to_owned());
            let (module, about) = (needed(message.module, "module")?, text(message.about));
            let fields = [message.fields, message.answer].map(|f| text(f).unwrap_or_default());
            let (state, owner) = (State(message.state), call.owner);
            let answer = move |router: &mut net::Router, fields: &[u8]| {
                let (at, len) = (fields.as_ptr(), fields.len() as u64);
                // SAFETY: as of commands; the bytes stay until the function returns.
                enter(router, owner, |cx| run(cx, state.0, at, len))
            };
            let loader = call.router.own_mut::<Loader>();
            let (module, version) = (loader.declared.text(&module), loader.declared.text(&version));
            let dumped = name.strip_suffix("_dump");
            let (answered_by, head) = match dumped {
                Some(rows) => (format!("{rows}_details"), Head::Details),
                None => (format!("{name}_reply"), Head::Reply),
            };
            let about = about.unwrap_or_default();
            let request = loader.declared.message(&name, &about, Head::Request, &fields[0])?;
            let reply = loader.declared.message(&answered_by, "", head, &fields[1])?;
            let mut module = loader.api.plugin(module, version);
            if dumped.is_some() {
                module.described_dump((request, reply), move |cx, fields| {
                    answer(cx, fields).1.answers
                });
            } else {
                module.described_call((request, reply), move |cx, fields| {
                    let (retval, Called { answers, .. }) = answer(cx, fields);
                    (Retval(retval), answers.into_iter().next().unwrap_or_default())
                });
            }
            Ok(())
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn counters(
    cx: *mut Cx,
    name: *const c_char,
    to: *mut abi::Counters,
) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let name = needed(name, "name of the counters")?;
            let _entered = call.owner.enter();
            let rows = call.router.stats.simple(&name, COLUMNS).map_err(|e| e.to_string())?;
            let row = |thread| rows.row(thread).as_ptr().cast_mut().cast();
            let pointers: Box<[*mut u64]> = (0..rows.threads()).map(row).collect();
            let to = to.as_mut().ok_or("no place for the counters")?;
            *to = abi::Counters { rows: pointers.as_ptr(), threads: rows.threads() as u32 };
            let owner = call.owner;
            if let Some(plugin) = call.router.own_mut::<Loader>().by_owner(owner) {
                plugin.counters.push(Counted { rows, _pointers: pointers });
            }
            Ok(())
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn on_interface(
    cx: *mut Cx,
    changed: Option<abi::Changed>,
    state: *mut c_void,
) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let call_back = changed.ok_or("missing function")?;
            let owner = call.owner;
            if let Some(plugin) = call.router.own_mut::<Loader>().by_owner(owner) {
                plugin.observers.push(Observer { call: call_back, state });
            }
            Ok(())
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn configure(
    cx: *mut Cx,
    configure: Option<abi::Configure>,
    state: *mut c_void,
) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let call_back = configure.ok_or("missing function")?;
            let owner = call.owner;
            if let Some(plugin) = call.router.own_mut::<Loader>().by_owner(owner) {
                plugin.configured.push(Configured { call: call_back, state });
            }
            Ok(())
        })
    }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn metadata(
    cx: *mut Cx,
    name: *const c_char,
    bytes: u64,
    to: *mut abi::Metadata,
) -> c_int {
    // SAFETY: the module's contract.
    unsafe {
        attempt(cx, |call| {
            let name = needed(name, "name of the metadata")?;
            let name = call.router.own_mut::<Loader>().declared.text(&name);
            let owner = call.owner.0;
            let to = to.as_mut().ok_or("no place for the metadata")?;
            let engine = &mut call.router.engine;
            let before = engine.owner();
            engine.set_owner(owner);
            let claim = engine.claim_any(name, bytes as usize);
            engine.set_owner(before);
            let claim = claim.map_err(|e| e.to_string())?;
            *to = abi::Metadata { flag: claim.flags.0, offset: 64 + claim.bytes.start as u32 };
            Ok(())
        })
    }
}

/// Copy of a plugin's bytes.
///
/// # Safety
/// As of [`bytes`].
pub(super) unsafe fn copied(from: *const u8, len: u64) -> Vec<u8> {
    // SAFETY: the caller's.
    unsafe { bytes(from, len) }.to_vec()
}
