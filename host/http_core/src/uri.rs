//! Endpoints of servers, and escapes in paths.

use control::feature::Refusal;
use host_stack::{BadEndpoint, Endpoint, Transport};

/// Reasons why a server cannot have a URI.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum BadUri {
    /// {0}
    #[from]
    Endpoint(BadEndpoint),
    /// {0}: TLS is not supported, use http:// or tcp://
    #[retval(INVALID_VALUE)]
    NoTls(String),
    /// {0}: HTTP is over TCP, use http:// or tcp://
    #[retval(INVALID_VALUE)]
    NotTcp(String),
}

/// Parses the endpoint of a server: `http://10.0.0.1/80`, `tcp://10.0.0.1/80`.
///
/// # Errors
/// See [`BadUri`].
pub fn endpoint(uri: &str) -> Result<Endpoint, BadUri> {
    if uri.starts_with("https://") || uri.starts_with("tls://") {
        return Err(BadUri::NoTls(uri.to_owned()));
    }
    let at: Endpoint = match uri.strip_prefix("http://") {
        Some(rest) => format!("tcp://{rest}").parse()?,
        None => uri.parse()?,
    };
    match at.transport {
        Transport::Tcp => Ok(at),
        _ => Err(BadUri::NotTcp(uri.to_owned())),
    }
}

/// Decodes `%XX` in a path; `None` for an invalid escape, a byte that is not allowed, and bytes
/// that are not UTF-8.
pub fn decoded(path: &str, is_allowed: impl Fn(u8) -> bool) -> Option<String> {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'%' => (digit(bytes.next())? * 16 + digit(bytes.next())?) as u8,
            byte => byte,
        };
        decoded.push(is_allowed(byte).then_some(byte)?);
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_listen_on_tcp_without_tls() {
        for uri in ["http://10.0.0.1/80", "tcp://10.0.0.1:80"] {
            assert_eq!(endpoint(uri).unwrap().to_string(), "tcp://10.0.0.1:80");
        }
        assert!(matches!(endpoint("https://10.0.0.1/80"), Err(BadUri::NoTls(_))));
        assert!(matches!(endpoint("udp://10.0.0.1/80"), Err(BadUri::NotTcp(_))));
        assert!(matches!(endpoint("10.0.0.1"), Err(BadUri::Endpoint(_))));
    }

    #[test]
    fn escapes_are_decoded_before_bytes_are_checked() {
        let decoded = |path| decoded(path, |byte| byte != b'|');
        assert_eq!(decoded("/a%2fb%C3%a4").as_deref(), Some("/a/bä"));
        for path in ["/%7c", "/%", "/%2", "/%zz", "/%c3"] {
            assert_eq!(decoded(path), None, "{path}");
        }
    }
}
