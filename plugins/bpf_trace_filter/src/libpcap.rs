//! The compiler of libpcap, from the shared object of the system.
//!
//! Safety contract: the functions are called as pcap.h declares them in all versions since 1.0, on
//! control's thread only: `bpf_image` and the compiler share buffers among callers.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{NonNull, null};

use super::program::Instruction;

/// Names of the shared object, on Debian and elsewhere.
const NAMES: [&CStr; 2] = [c"libpcap.so.0.8", c"libpcap.so.1"];
/// `LINKTYPE_ETHERNET`, `DLT_EN10MB`: packets begin with an Ethernet header.
pub const ETHERNET: u16 = 1;
/// `LINKTYPE_RAW`: packets begin with a header of IPv4 or IPv6.
const RAW: u16 = 101;
/// `DLT_RAW`, the same for libpcap.
const DLT_RAW: c_int = 12;
/// Bytes of a packet that a program may accept.
const WHOLE: c_int = 0x4_0000;
/// `PCAP_NETMASK_UNKNOWN`: no broadcast addresses of IPv4 are known.
const NO_MASK: c_uint = u32::MAX;

/// `struct bpf_program`.
#[repr(C)]
struct Compiled {
    len: c_uint,
    instructions: *const Instruction,
}

type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut c_void;
type Compile =
    unsafe extern "C" fn(*mut c_void, *mut Compiled, *const c_char, c_int, c_uint) -> c_int;
type Text = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type Free = unsafe extern "C" fn(*mut Compiled);
type Close = unsafe extern "C" fn(*mut c_void);
type Image = unsafe extern "C" fn(*const Instruction, c_int) -> *const c_char;

/// libpcap's functions; it stays loaded.
#[derive(Clone, Copy, Debug)]
pub struct Libpcap {
    open_dead: OpenDead,
    compile: Compile,
    error: Text,
    free: Free,
    close: Close,
    image: Image,
}

impl Libpcap {
    /// Loads it; `None` where the system has none.
    pub fn load() -> Option<Self> {
        // SAFETY: the names end with a NUL; libpcap has no constructors that ask anything of us.
        let open = |name: &&CStr| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        let object = NAMES.iter().map(open).find_map(NonNull::new)?;
        let symbol = |name: &CStr| {
            // SAFETY: the object is open and stays so, the name ends with a NUL.
            NonNull::new(unsafe { libc::dlsym(object.as_ptr(), name.as_ptr()) })
        };
        let open_dead = symbol(c"pcap_open_dead")?.as_ptr();
        let compile = symbol(c"pcap_compile")?.as_ptr();
        let error = symbol(c"pcap_geterr")?.as_ptr();
        let free = symbol(c"pcap_freecode")?.as_ptr();
        let close = symbol(c"pcap_close")?.as_ptr();
        let image = symbol(c"bpf_image")?.as_ptr();
        // SAFETY: these are the types that pcap.h declares for functions of these names.
        unsafe {
            Some(Self {
                open_dead: std::mem::transmute::<*mut c_void, OpenDead>(open_dead),
                compile: std::mem::transmute::<*mut c_void, Compile>(compile),
                error: std::mem::transmute::<*mut c_void, Text>(error),
                free: std::mem::transmute::<*mut c_void, Free>(free),
                close: std::mem::transmute::<*mut c_void, Close>(close),
                image: std::mem::transmute::<*mut c_void, Image>(image),
            })
        }
    }

    /// Compiles a filter for packets that begin with a header of this link type.
    ///
    /// # Errors
    /// libpcap's text.
    pub fn compile(
        &self,
        filter: &str,
        link: u16,
        optimizes: bool,
    ) -> Result<Vec<Instruction>, String> {
        let link = if link == RAW { DLT_RAW } else { link.into() };
        let text = CString::new(filter).map_err(|e| e.to_string())?;
        // SAFETY: plain numbers.
        let pcap = unsafe { (self.open_dead)(link, WHOLE) };
        if pcap.is_null() {
            return Err("out of memory".to_owned());
        }
        let mut compiled = Compiled { len: 0, instructions: null() };
        let optimizes = c_int::from(optimizes);
        // SAFETY: the handle is open, the text ends with a NUL, the program is ours to be written.
        let failed =
            unsafe { (self.compile)(pcap, &raw mut compiled, text.as_ptr(), optimizes, NO_MASK) };
        let result = if failed == 0 {
            let len = compiled.len as usize;
            // SAFETY: compiled without an error, there are `len` instructions until they are freed.
            let all = unsafe { std::slice::from_raw_parts(compiled.instructions, len) }.to_vec();
            // SAFETY: as above; it is not looked at any more.
            unsafe { (self.free)(&raw mut compiled) };
            Ok(all)
        } else {
            // SAFETY: the handle is open; the text is valid until the next call with it.
            let text = unsafe { CStr::from_ptr((self.error)(pcap)) };
            Err(text.to_string_lossy().into_owned())
        };
        // SAFETY: open, and not used any more.
        unsafe { (self.close)(pcap) };
        result
    }

    /// A line for each instruction, as `tcpdump -d` has it.
    pub fn lines(&self, program: &[Instruction]) -> Vec<String> {
        let line = |(at, instruction): (usize, &Instruction)| {
            // SAFETY: an instruction that lives; the text is valid until the next call.
            let text = unsafe { CStr::from_ptr((self.image)(instruction, at as c_int)) };
            text.to_string_lossy().into_owned()
        };
        program.iter().enumerate().map(line).collect()
    }
}
