//! Endpoints: transport, address and port, as URIs.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use control::feature::Refusal;
use serde::Serialize;
use wire::Protocol;

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Cut-through: between two applications of this router, without packets.
    Ct,
}

impl Transport {
    /// Its number in API messages.
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => 0,
            Self::Udp => 1,
            Self::Ct => 2,
        }
    }
    /// The letter for it in lists of sessions.
    pub fn letter(self) -> char {
        match self {
            Self::Tcp => 'T',
            Self::Udp => 'U',
            Self::Ct => 'C',
        }
    }
    /// The IP protocol of its packets.
    pub fn protocol(self) -> Option<Protocol> {
        match self {
            Self::Tcp => Some(Protocol::TCP),
            Self::Udp => Some(Protocol::UDP),
            Self::Ct => None,
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Ct => "ct",
        })
    }
}

/// An endpoint: `tcp://10.0.0.1:80`, `tcp://10.0.0.1/80`, `udp://[2001:db8::1]:53`,
/// `udp://2001:db8::1/53`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Endpoint {
    /// Transport.
    pub transport: Transport,
    /// Address; unspecified means any.
    pub address: IpAddr,
    /// Port.
    pub port: u16,
}

impl Endpoint {
    /// Address and port.
    pub fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.transport, self.socket())
    }
}

/// Reasons why a text is not an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum BadEndpoint {
    /// {0}: no transport (tcp://, udp://)
    #[retval(INVALID_VALUE)]
    Scheme(String),
    /// {0}: transport not available
    #[retval(INVALID_VALUE)]
    Unavailable(String),
    /// {0}: not an address
    #[retval(INVALID_VALUE)]
    Address(String),
    /// {0}: not a port
    #[retval(INVALID_VALUE)]
    Port(String),
}

impl FromStr for Endpoint {
    type Err = BadEndpoint;

    fn from_str(text: &str) -> Result<Self, BadEndpoint> {
        let no_scheme = || BadEndpoint::Scheme(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(no_scheme)?;
        let transport = match scheme {
            "tcp" => Transport::Tcp,
            "udp" => Transport::Udp,
            "tls" | "quic" | "dtls" | "srtp" | "http" | "https" => {
                return Err(BadEndpoint::Unavailable(scheme.to_owned()));
            }
            _ => return Err(no_scheme()),
        };
        let (address, port) = match rest.split_once('/') {
            Some(parts) => parts,
            None => rest.rsplit_once(':').ok_or_else(|| BadEndpoint::Port(rest.to_owned()))?,
        };
        let inner = address.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let bad_address = || BadEndpoint::Address(address.to_owned());
        let address: IpAddr = match inner {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().map_err(|_| bad_address())?.into(),
            None => address.parse().map_err(|_| bad_address())?,
        };
        let port = port.parse().map_err(|_| BadEndpoint::Port(port.to_owned()))?;
        Ok(Self { transport, address, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_read_and_one_is_printed() {
        for (text, printed) in [
            ("tcp://10.0.0.1:80", "tcp://10.0.0.1:80"),
            ("tcp://10.0.0.1/80", "tcp://10.0.0.1:80"),
            ("udp://[2001:db8::1]:53", "udp://[2001:db8::1]:53"),
            ("udp://2001:db8::1/53", "udp://[2001:db8::1]:53"),
            ("tcp://[::]/1234", "tcp://[::]:1234"),
            ("tcp://0.0.0.0:0", "tcp://0.0.0.0:0"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), printed);
        }
    }

    #[test]
    fn others_name_the_word_that_is_wrong() {
        for (text, why) in [
            ("10.0.0.1:80", "10.0.0.1:80: no transport (tcp://, udp://)"),
            ("sctp://10.0.0.1:80", "sctp://10.0.0.1:80: no transport (tcp://, udp://)"),
            ("tls://10.0.0.1:80", "tls: transport not available"),
            ("tcp://10.0.0/80", "10.0.0: not an address"),
            ("tcp://[10.0.0.1]:80", "[10.0.0.1]: not an address"),
            ("tcp://10.0.0.1", "10.0.0.1: not a port"),
            ("tcp://10.0.0.1/65536", "65536: not a port"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap_err().to_string(), why);
        }
    }
}
