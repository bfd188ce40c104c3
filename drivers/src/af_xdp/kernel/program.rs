//! The program that hands what a queue of a device receives to the socket on that queue, and what
//! has no socket to the kernel as ever.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands of bpf(2).
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;

/// A program on a device. The device is without it when this is dropped, or the process ends.
#[derive(Debug)]
pub struct Program {
    sockets: OwnedFd,
    _link: OwnedFd,
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    _pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    device: u32,
    attaches: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    device: u32,
    attaches: u32,
    flags: u32,
}

/// One instruction: operation, registers (source above target), offset, number.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction(u8, u8, i16, i32);

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_long> {
    let (pointer, size) = (std::ptr::from_ref(attributes), size_of::<T>());
    // SAFETY: the attributes are a plain struct of this size, as the command expects it; what they
    // point to lives as long as they are borrowed. The kernel only reads them.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, size) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done) }
}

fn descriptor(number: libc::c_long) -> OwnedFd {
    // SAFETY: the kernel has just made this descriptor for us.
    unsafe { OwnedFd::from_raw_fd(number as libc::c_int) }
}

fn raw(fd: &OwnedFd) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

/// Attachment point of programs on devices, for bpf(2).
const XDP: u32 = 37;

impl Program {
    /// Loads it for so many queues and puts it on a device, in the namespace of this thread.
    ///
    /// # Errors
    /// The kernel's: not permitted, another program is there, or packets that are too long for it.
    pub fn attach(device: u32, queues: u32, is_multi_buffer: bool) -> io::Result<Self> {
        const XSK_MAP: u32 = 17;
        let (key_size, value_size) = (4, 4);
        let map = MapCreate { kind: XSK_MAP, key_size, value_size, max_entries: queues, flags: 0 };
        let sockets = descriptor(bpf(MAP_CREATE, &map)?);
        let program = load(&sockets, is_multi_buffer)?;
        let link = LinkCreate { program: raw(&program), device, attaches: XDP, flags: 0 };
        let link = descriptor(bpf(LINK_CREATE, &link)?);
        Ok(Self { sockets, _link: link })
    }
    /// Hands what a queue receives to a socket.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        let (key, value) = (&raw const queue as u64, &raw const fd as u64);
        let update = MapUpdate { map: raw(&self.sockets), _pad: 0, key, value, flags: 0 };
        bpf(MAP_UPDATE, &update).map(drop)
    }
}

fn load(sockets: &OwnedFd, is_multi_buffer: bool) -> io::Result<OwnedFd> {
    const PROGRAM_XDP: u32 = 6;
    const HAS_FRAGMENTS: u32 = 1 << 5;
    /// Place of the queue's number in `struct xdp_md`.
    const QUEUE: i16 = 16;
    const PASS: i32 = 2;
    const REDIRECT_MAP: i32 = 51;
    let instructions = [
        Instruction(0x61, 0x12, QUEUE, 0), // r2 = queue of the packet that r1 describes
        Instruction(0x18, 0x11, 0, sockets.as_raw_fd()), // r1 = the map of sockets
        Instruction(0, 0, 0, 0),           // (the other half)
        Instruction(0xb7, 0x03, 0, PASS),  // r3 = what to do without a socket
        Instruction(0x85, 0, 0, REDIRECT_MAP), // call
        Instruction(0x95, 0, 0, 0),        // return what it says
    ];
    let license = c"Apache-2.0";
    let mut name = [0; 16];
    name[..8].copy_from_slice(b"ferrovia");
    let load = ProgLoad {
        kind: PROGRAM_XDP,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: if is_multi_buffer { HAS_FRAGMENTS } else { 0 },
        name,
        device: 0,
        attaches: XDP,
    };
    bpf(PROG_LOAD, &load).map(descriptor)
}
