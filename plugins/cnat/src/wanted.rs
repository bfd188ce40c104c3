//! Translations as they are asked for, and reasons why they are refused.

use net::fib::FlowHash;
use net::prelude::*;

use crate::service::MOST;

/// Reasons why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no translation {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(u32),
    /// translation {0} has that address, port and protocol
    #[retval(VALUE_EXIST)]
    Taken(u32),
    /// at most {MOST} translations
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// protocol {0} is not supported: tcp, udp or sctp
    #[retval(INVALID_VALUE)]
    Protocol(u8),
    /// a service needs an address or an interface
    #[retval(INVALID_VALUE)]
    NoAddress,
    /// a service and its backends must have the same IP version
    #[retval(INVALID_ADDRESS_FAMILY)]
    Version,
    /// load-balancing type {0} is unknown: 0 (equal shares) or 1 (Maglev)
    #[retval(INVALID_VALUE)]
    Balancing(u8),
    /// unknown translation flags {0}
    #[retval(INVALID_VALUE)]
    Flags(u8),
    /// flow hash {0} has unsupported fields
    #[retval(INVALID_VALUE)]
    Hash(u32),
    /// prefix {0} is not excluded
    #[retval(NO_SUCH_ENTRY)]
    NotExcluded(Prefix),
    /// sessions of {0} are not logged
    #[retval(NO_SUCH_ENTRY)]
    NotLogged(IpAddr),
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// no room for the route
    #[retval(UNSPECIFIED)]
    NoRoute,
    /// a thread does not answer
    #[retval(UNSPECIFIED)]
    NoAnswer,
}

/// An endpoint: an address, or the first address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address; that of no host for none.
    pub addr: IpAddr,
    /// The interface whose address it is.
    pub interface: Option<InterfaceIndex>,
    /// Address family of the interface's address.
    pub version: IpVersion,
    /// Port.
    pub port: u16,
}

impl Endpoint {
    /// The address now; `None` while there is none.
    pub fn resolve(&self, router: &Router) -> Option<IpAddr> {
        match self.interface {
            Some(interface) => router.addresses.of(interface).first(self.version),
            None => Some(self.addr).filter(|addr| !addr.is_unspecified()),
        }
    }
    /// Whether it names anything.
    pub fn is_some(&self) -> bool {
        self.interface.is_some() || !self.addr.is_unspecified()
    }
    /// Version.
    pub fn version(&self) -> IpVersion {
        if self.interface.is_some() { self.version } else { self.addr.into() }
    }
}

/// A backend of a translation as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Destination of packets.
    pub dst: Endpoint,
    /// The source that they get, if any.
    pub src: Endpoint,
    /// Whether packets go there as they are.
    pub is_untranslated: bool,
}

/// A translation as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Service address.
    pub vip: Endpoint,
    /// Its protocol.
    pub protocol: Protocol,
    /// Whether packets to other ports of the address go on.
    pub is_real: bool,
    /// [`ALLOCATES_PORT`] and the like.
    pub flags: u8,
    /// Whether backends are chosen by a Maglev table.
    pub is_maglev: bool,
    /// The fields of packets that choose.
    pub hash: FlowHash,
    /// Backends.
    pub backends: Vec<Wanted>,
}

/// Sources get another port.
pub const ALLOCATES_PORT: u8 = 1;
/// Answers are not translated.
pub const ONE_WAY: u8 = 4;
/// Only interfaces with the feature on have the translation.
pub const LOCAL: u8 = 8;

impl Translation {
    /// Whether it can be.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, router: &Router) -> Result<(), Error> {
        if !matches!(self.protocol, Protocol::TCP | Protocol::UDP | Protocol::SCTP) {
            return Err(Error::Protocol(self.protocol.0));
        }
        if self.flags & !(ALLOCATES_PORT | ONE_WAY | LOCAL) != 0 {
            return Err(Error::Flags(self.flags));
        }
        if self.hash.0 & !FlowHash::ALL != 0 {
            return Err(Error::Hash(self.hash.0));
        }
        let ends = self.backends.iter().flat_map(|b| {
            let src = Some(b.src).filter(Endpoint::is_some);
            [Some(b.dst), src].into_iter().flatten()
        });
        for end in std::iter::once(self.vip).chain(ends) {
            if !end.is_some() {
                return Err(Error::NoAddress);
            }
            if end.version() != self.vip.version() {
                return Err(Error::Version);
            }
            if let Some(interface) = end.interface {
                router.interfaces.at(interface).ok_or(Error::NoInterface)?;
            }
        }
        Ok(())
    }
    /// Whether an end is an interface's.
    pub fn follows(&self, interface: InterfaceIndex) -> bool {
        let ends = self.backends.iter().flat_map(|b| [b.dst, b.src]);
        std::iter::once(self.vip).chain(ends).any(|end| end.interface == Some(interface))
    }
}
