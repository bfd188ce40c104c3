//! The interface between the router and its plugins, as `include/ferrovia.h` has it for C; there is
//! what each field means. A test holds both against each other.

use std::ffi::{c_char, c_int, c_void};

/// The version of the interface.
pub const ABI: u32 = 1;
/// The section with the stamp, and whose it is.
pub const SECTION: &str = ".note.ferrovia";
/// Owner of the note.
pub const OWNER: [u8; 12] = *b"Ferrovia\0\0\0\0";
/// The function that starts a plugin.
pub const START: &str = "ferrovia_plugin_start";
/// The function that stops one, if it has it.
pub const STOP: &str = "ferrovia_plugin_stop";
/// The function that frees what a plugin has, if it has it, when nothing of it is in use any more.
pub const END: &str = "ferrovia_plugin_end";
/// Most packets in a frame.
pub const FRAME: usize = 256;
/// Most interfaces.
pub const MOST_INTERFACES: u32 = 1 << 16;

/// The router, for the time of a call.
#[repr(C)]
pub struct Cx {
    private: [u8; 0],
}

/// `fv_buffer`: the first cache line of a buffer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Buffer {
    pub offset: i16,
    pub len: u16,
    pub flags: u32,
    pub rest: u32,
    pub rx: u32,
    pub tx: u32,
    pub next: u32,
    pub error: u32,
    pub l2: i16,
    pub l3: i16,
    pub l4: i16,
    pub gso_size: u16,
    pub flow_hash: u32,
    pub fib: u16,
    pub trace: u16,
    pub adjacency: u32,
    pub payload: [u8; 16],
}

/// Start of the bytes of packets in a buffer when nothing was taken off or put in front.
pub const DATA: usize = 256;

/// `fv_frame`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Frame {
    pub count: u32,
    pub thread: u32,
    pub now: f64,
    pub pool: *mut u8,
    pub indices: *const u32,
    pub verdicts: *mut u32,
    pub local: *mut c_void,
    pub engine: *mut c_void,
}

/// `fv_text`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Text {
    pub name: *const c_char,
    pub text: *const c_char,
}

/// The function of a node.
pub type Process = unsafe extern "C" fn(state: *mut c_void, frame: *mut Frame);

/// `fv_node`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Node {
    pub name: *const c_char,
    pub process: Option<Process>,
    pub state: *mut c_void,
    pub local_size: u64,
    pub next: *const *const c_char,
    pub reasons: *const Text,
    pub counts: *const Text,
    pub drop: *const c_char,
}

/// `fv_feature`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Feature {
    pub arc: *const c_char,
    pub node: *const c_char,
    pub before: *const c_char,
    pub after: *const c_char,
}

/// The function of a command.
pub type RunCommand = unsafe extern "C" fn(
    cx: *mut Cx,
    state: *mut c_void,
    count: u32,
    words: *const *const c_char,
) -> c_int;

/// `fv_command`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Command {
    pub path: *const c_char,
    pub usage: *const c_char,
    pub about: *const c_char,
    pub run: Option<RunCommand>,
    pub state: *mut c_void,
}

/// The function of a message.
pub type RunMessage =
    unsafe extern "C" fn(cx: *mut Cx, state: *mut c_void, fields: *const u8, len: u64) -> c_int;

/// `fv_message`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Message {
    pub module: *const c_char,
    pub version: *const c_char,
    pub name: *const c_char,
    pub about: *const c_char,
    pub fields: *const c_char,
    pub answer: *const c_char,
    pub run: Option<RunMessage>,
    pub state: *mut c_void,
}

/// `fv_counters`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Counters {
    pub rows: *const *mut u64,
    pub threads: u32,
}

/// `fv_metadata`: a bit and a place of a plugin in the metadata of packets.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Metadata {
    pub flag: u32,
    pub offset: u32,
}

/// `fv_interface`: an interface that a plugin makes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Interface {
    pub name: *const c_char,
    pub hardware: *const c_char,
    pub mac: [u8; 6],
    pub mtu: u16,
    pub transmit: Option<Process>,
    pub state: *mut c_void,
    pub local_size: u64,
    pub reasons: *const Text,
}

/// Called for the configuration of a plugin.
pub type Configure = unsafe extern "C" fn(cx: *mut Cx, state: *mut c_void);
/// Called when an interface changed.
pub type Changed =
    unsafe extern "C" fn(cx: *mut Cx, state: *mut c_void, sw_if_index: u32, what: c_int);
/// Called when a timer is due.
pub type Due = unsafe extern "C" fn(cx: *mut Cx, state: *mut c_void);

/// `fv_host`: functions of the router.
#[repr(C)]
#[allow(missing_docs)]
#[rustfmt::skip]
pub struct Host {
    pub abi: u32,
    pub size: u32,
    pub threads: u32,
    pub most_interfaces: u32,
    pub count: unsafe extern "C" fn(*mut Frame, u32, u64),
    pub trace: unsafe extern "C" fn(*mut Frame, u32, *const c_char, u64),
    pub node: unsafe extern "C" fn(*mut Cx, *const Node) -> c_int,
    pub feature: unsafe extern "C" fn(*mut Cx, *const Feature) -> c_int,
    pub command: unsafe extern "C" fn(*mut Cx, *const Command) -> c_int,
    pub message: unsafe extern "C" fn(*mut Cx, *const Message) -> c_int,
    pub counters: unsafe extern "C" fn(*mut Cx, *const c_char, *mut Counters) -> c_int,
    pub on_interface: unsafe extern "C" fn(*mut Cx, Option<Changed>, *mut c_void) -> c_int,
    pub set_feature:
        unsafe extern "C" fn(*mut Cx, *const c_char, *const c_char, u32, c_int) -> c_int,
    pub interface_named: unsafe extern "C" fn(*mut Cx, *const c_char) -> u32,
    pub interface_name: unsafe extern "C" fn(*mut Cx, u32, *mut c_char, u64) -> c_int,
    pub next_interface: unsafe extern "C" fn(*mut Cx, u32) -> u32,
    pub after: unsafe extern "C" fn(*mut Cx, f64, Option<Due>, *mut c_void) -> u32,
    pub cancel: unsafe extern "C" fn(*mut Cx, u32) -> c_int,
    pub now: unsafe extern "C" fn(*mut Cx) -> f64,
    pub inject: unsafe extern "C" fn(*mut Cx, *const c_char, u32, *const u8, u64) -> c_int,
    pub log: unsafe extern "C" fn(*mut Cx, c_int, *const c_char, u64),
    pub print: unsafe extern "C" fn(*mut Cx, *const c_char, u64),
    pub json: unsafe extern "C" fn(*mut Cx, *const c_char, u64),
    pub fail: unsafe extern "C" fn(*mut Cx, *const c_char, u64),
    pub answer: unsafe extern "C" fn(*mut Cx, *const u8, u64),
    pub configure: unsafe extern "C" fn(*mut Cx, Option<Configure>, *mut c_void) -> c_int,
    pub line: unsafe extern "C" fn(*mut Cx, c_int, *const c_char, u64),
    pub metadata: unsafe extern "C" fn(*mut Cx, *const c_char, u64, *mut Metadata) -> c_int,
    pub interface: unsafe extern "C" fn(*mut Cx, *const Interface, *mut u32) -> c_int,
    pub delete_interface: unsafe extern "C" fn(*mut Cx, u32) -> c_int,
    pub set_link: unsafe extern "C" fn(*mut Cx, u32, c_int) -> c_int,
    pub alloc: unsafe extern "C" fn(*mut Frame, *mut u32, u32) -> u32,
    pub free: unsafe extern "C" fn(*mut Frame, *const u32, u32),
    pub send: unsafe extern "C" fn(*mut Frame, u32, u32, *const u32, u32) -> u32,
}

/// The function that starts a plugin.
pub type Start = unsafe extern "C" fn(*const Host, *mut Cx) -> c_int;
/// The function that stops one.
pub type Stop = unsafe extern "C" fn(*mut Cx);

/// The function that frees what one has.
pub type End = unsafe extern "C" fn();

/// `fv_stamp`: the note that is read before anything of a plugin runs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Stamp {
    pub name_size: u32,
    pub text_size: u32,
    pub kind: u32,
    pub owner: [u8; 12],
    pub abi: u32,
    pub table: u32,
    pub name: [u8; 32],
    pub version: [u8; 32],
    pub router: [u8; 32],
    pub about: [u8; 128],
    pub needs: [u8; 128],
}

impl Stamp {
    /// The stamp of a plugin. Texts that are too long do not compile.
    pub const fn new(name: &str, version: &str, about: &str, router: &str, needs: &str) -> Self {
        Self {
            name_size: 9,
            text_size: (size_of::<Self>() - 24) as u32,
            kind: 1,
            owner: OWNER,
            abi: ABI,
            table: size_of::<Host>() as u32,
            name: fixed(name),
            version: fixed(version),
            router: fixed(router),
            about: fixed(about),
            needs: fixed(needs),
        }
    }
}

const fn fixed<const N: usize>(text: &str) -> [u8; N] {
    let (bytes, mut out, mut at) = (text.as_bytes(), [0; N], 0);
    assert!(bytes.len() < N, "a text of the stamp is too long");
    while at < bytes.len() {
        out[at] = bytes[at];
        at += 1;
    }
    out
}
