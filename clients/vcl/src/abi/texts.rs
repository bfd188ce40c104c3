//! Names of protocols and results.

use std::ffi::{c_char, c_int};

use super::{Ptr, export, text};

const PROTOCOLS: [&[u8]; 8] =
    [b"TCP\0", b"UDP\0", b"NONE\0", b"TLS\0", b"QUIC\0", b"DTLS\0", b"SRTP\0", b"HTTP\0"];

const RESULTS: &[(i32, &[u8])] = &[
    (0, b"VPPCOM_OK\0"),
    (libc::EAGAIN, b"VPPCOM_EAGAIN\0"),
    (libc::EINPROGRESS, b"VPPCOM_EINPROGRESS\0"),
    (libc::EALREADY, b"VPPCOM_EALREADY\0"),
    (libc::EFAULT, b"VPPCOM_EFAULT\0"),
    (libc::ENOMEM, b"VPPCOM_ENOMEM\0"),
    (libc::EINVAL, b"VPPCOM_EINVAL\0"),
    (libc::EBADFD, b"VPPCOM_EBADFD\0"),
    (libc::EAFNOSUPPORT, b"VPPCOM_EAFNOSUPPORT\0"),
    (libc::ECONNABORTED, b"VPPCOM_ECONNABORTED\0"),
    (libc::ECONNRESET, b"VPPCOM_ECONNRESET\0"),
    (libc::ENOTCONN, b"VPPCOM_ENOTCONN\0"),
    (libc::ECONNREFUSED, b"VPPCOM_ECONNREFUSED\0"),
    (libc::ETIMEDOUT, b"VPPCOM_ETIMEDOUT\0"),
    (libc::EEXIST, b"VPPCOM_EEXIST\0"),
    (libc::ENOPROTOOPT, b"VPPCOM_ENOPROTOOPT\0"),
    (libc::EPIPE, b"VPPCOM_EPIPE\0"),
    (libc::ENOENT, b"VPPCOM_ENOENT\0"),
    (libc::EADDRINUSE, b"VPPCOM_EADDRINUSE\0"),
    (libc::EOPNOTSUPP, b"VPPCOM_ENOTSUP\0"),
];

export! {
    /// The name of a protocol.
    fn vppcom_proto_str(proto: c_int) -> *const c_char = std::ptr::null(); {
        let known = usize::try_from(proto).ok().and_then(|proto| PROTOCOLS.get(proto));
        known.copied().unwrap_or(b"UNKNOWN\0").as_ptr().cast()
    }
    /// The name of a result.
    fn vppcom_retval_str(retval: c_int) -> *const c_char = std::ptr::null(); {
        let known = RESULTS.iter().find(|(number, _)| -*number == retval);
        known.map_or(&b"UNKNOWN\0"[..], |(_, name)| name).as_ptr().cast()
    }
    /// The number of a protocol, by its name.
    fn vppcom_unformat_proto(proto: Ptr<u8>, name: Ptr<c_char>) -> c_int = -libc::EFAULT; {
        let is = |known: &[u8]| {
            let known = &known[..known.len() - 1];
            text(name).is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(known))
        };
        match PROTOCOLS.iter().copied().position(is) {
            Some(number) => {
                proto.set(number as u8);
                0
            }
            None => -libc::EINVAL,
        }
    }
}
