//! The C functions, with the names and structs of `vppcom.h`.
//!
//! Safety contract: the program passes arguments as documented in the header: pointers are null
//! where that is allowed, or point to values and buffers of the given lengths, which do not change
//! during the call. [`Ptr`] is only created from such arguments. No function unwinds into C.

mod calls;
mod texts;

use std::ffi::{CStr, c_char, c_int};
use std::net::{IpAddr, SocketAddr};

use super::Done;

/// A pointer from C, or null.
#[repr(transparent)]
pub(super) struct Ptr<T>(*mut T);

impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ptr<T> {}

impl<T: Copy> Ptr<T> {
    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The value; `None` for null.
    pub(super) fn get(self) -> Option<T> {
        // SAFETY: not null, so it points to a value, by the module's contract, wherever it lies.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }
    /// Sets the value, unless it is null.
    pub(super) fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so there is room for a value, by the module's contract.
            unsafe { self.0.write_unaligned(value) }
        }
    }
    /// Pointer to an array element.
    pub(super) fn at(self, index: usize) -> Self {
        Self(self.0.wrapping_add(index))
    }
    /// The same address with another type.
    pub(super) fn cast<U>(self) -> Ptr<U> {
        Ptr(self.0.cast())
    }
}

impl Ptr<u8> {
    /// The `len` bytes at the address; empty for null.
    pub(super) fn bytes<'a>(self, len: usize) -> &'a [u8] {
        if self.0.is_null() {
            return &[];
        }
        // SAFETY: not null, so it points to `len` bytes that do not change during the call, by the
        // module's contract; the slice is not kept for longer.
        unsafe { std::slice::from_raw_parts(self.0, len) }
    }
    /// The buffer of `len` bytes at the address; empty for null.
    pub(super) fn room<'a>(self, len: usize) -> &'a mut [u8] {
        if self.0.is_null() {
            return &mut [];
        }
        // SAFETY: not null, so there is a buffer of `len` bytes that no other thread uses during
        // the call, by the module's contract; the slice is not kept for longer.
        unsafe { std::slice::from_raw_parts_mut(self.0, len) }
    }
}

/// A C string; `None` for null or invalid UTF-8.
fn text<'a>(at: Ptr<c_char>) -> Option<&'a str> {
    if at.is_null() {
        return None;
    }
    // SAFETY: not null, so it points to a string with a zero at its end, by the module's contract;
    // it is not kept for longer than the call.
    unsafe { CStr::from_ptr(at.0) }.to_str().ok()
}

/// `vppcom_endpt_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Endpoint {
    unused: u8,
    is_ip4: u8,
    ip: *mut u8,
    port: u16,
    unused2: u64,
    app_tlv_len: u32,
    app_tlvs: *mut u8,
}

/// `vcl_poll_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Poll {
    fds_ndx: u32,
    sh: u32,
    events: i16,
    revents: i16,
}

/// `vppcom_data_segment_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Segment {
    data: *mut u8,
    len: u32,
}

/// `vppcom_cfg_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Cfg {
    heapsize: usize,
    max_workers: u32,
    segment_baseva: usize,
    segment_size: usize,
    add_segment_size: usize,
    preallocated_fifo_pairs: u32,
    rx_fifo_size: u32,
    tx_fifo_size: u32,
    event_queue_size: u32,
    app_proxy_transport_tcp: u8,
    app_proxy_transport_udp: u8,
    app_scope_local: u8,
    app_scope_global: u8,
    namespace_id: *mut c_char,
    namespace_secret: u64,
    use_mq_eventfd: u8,
    app_timeout: f64,
    session_timeout: f64,
    event_log_path: *mut c_char,
    vpp_app_socket_api: *mut c_char,
    vpp_bapi_socket_name: *mut c_char,
    app_name: *mut c_char,
    tls_engine: u32,
    mt_wrk_supported: u8,
    huge_page: u8,
    app_original_dst: u8,
    debug_level: u8,
}

const _: () = assert!(size_of::<Endpoint>() == 48 && size_of::<Poll>() == 12);
const _: () = assert!(size_of::<Segment>() == 16 && size_of::<Cfg>() == 144);

impl Endpoint {
    /// The endpoint; `None` without an address.
    fn socket(self) -> Option<SocketAddr> {
        let ip = Ptr(self.ip);
        let address: IpAddr = if self.is_ip4 != 0 {
            <[u8; 4]>::try_from(ip.bytes(4)).ok()?.into()
        } else {
            <[u8; 16]>::try_from(ip.bytes(16)).ok()?.into()
        };
        Some(SocketAddr::new(address, u16::from_be(self.port)))
    }
}

/// Writes an endpoint, unless the pointer is null.
fn fill(at: Ptr<Endpoint>, end: Option<SocketAddr>) {
    let (Some(mut endpoint), Some(end)) = (at.get(), end) else { return };
    endpoint.is_ip4 = u8::from(end.is_ipv4());
    endpoint.port = end.port().to_be();
    let ip = Ptr(endpoint.ip);
    match end.ip() {
        IpAddr::V4(address) if !ip.is_null() => ip.room(4).copy_from_slice(&address.octets()),
        IpAddr::V6(address) if !ip.is_null() => ip.room(16).copy_from_slice(&address.octets()),
        _ => {}
    }
    at.set(endpoint);
}

/// Converts a result to a C return value.
fn number(done: Done<usize>) -> c_int {
    match done {
        Ok(n) => n.min(c_int::MAX as usize) as c_int,
        Err(why) => -why,
    }
}

/// Zero, or a negative error number.
fn zero(done: Done<()>) -> c_int {
    number(done.map(|()| 0))
}

/// Defines C functions: each runs its body, and returns the value after `=` if that panics.
macro_rules! export {
    ($($(#[$about:meta])*
        fn $name:ident($($arg:ident: $of:ty),*) -> $to:ty = $fail:expr; $body:block)*) => {$(
        $(#[$about])*
        ///
        /// # Safety
        /// As the module's contract says.
        // SAFETY: no other function of a program with this library has the name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $of),*) -> $to {
            std::panic::catch_unwind(move || $body).unwrap_or($fail)
        }
    )*};
}
pub(super) use export;
