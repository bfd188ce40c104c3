//! Virtual addresses, and why a request about them is refused.

use net::prelude::*;

/// Places among kinds of encapsulation, which nodes are made for.
pub const GRE4: usize = 0;
/// GRE over IPv6.
pub const GRE6: usize = 1;
/// Another destination and a DSCP.
pub const L3DSR: usize = 2;
/// Another destination and port, of either version.
pub const NAT: usize = 3;

/// VIPs at most.
pub const MOST_VIPS: usize = 1 << 16;
/// Servers at most, counted for each VIP that has them.
pub const MOST_SERVERS: usize = 1 << 20;
/// Places of a table of new flows at most.
pub const MOST_PLACES: u32 = 1 << 20;
/// Default length of a new-flows table.
pub const PLACES: u32 = 1024;
/// Buckets of known flows on each thread at most.
pub const MOST_BUCKETS: u32 = 1 << 20;
/// The highest weight, and that of a server without one.
pub const FULL_WEIGHT: u8 = 100;
/// The highest DSCP.
const MOST_DSCP: u8 = 63;

/// How packets get to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encap {
    /// In GRE over IPv4.
    #[default]
    Gre4,
    /// In GRE over IPv6.
    Gre6,
    /// With another destination, and a DSCP that names the VIP.
    L3dsr,
    /// With another destination and port, in IPv4.
    Nat4,
    /// The same in IPv6.
    Nat6,
}

impl Encap {
    /// All, in the order of their numbers, with their words.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Gre4, "gre4"),
        (Self::Gre6, "gre6"),
        (Self::L3dsr, "l3dsr"),
        (Self::Nat4, "nat4"),
        (Self::Nat6, "nat6"),
    ];
    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }
    /// The kind of node.
    pub fn kind(self) -> usize {
        match self {
            Self::Gre4 => GRE4,
            Self::Gre6 => GRE6,
            Self::L3dsr => L3DSR,
            Self::Nat4 | Self::Nat6 => NAT,
        }
    }
    /// Whether servers have addresses of IPv4.
    pub fn is_to_ip4(self) -> bool {
        !matches!(self, Self::Gre6 | Self::Nat6)
    }
}

/// A VIP: its prefix, and its protocol and port unless it has all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The prefix, without host bits.
    pub prefix: Prefix,
    /// The protocol and port.
    pub port: Option<(Protocol, u16)>,
}

/// How a VIP that translates is met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// At its address and port.
    #[default]
    ClusterIp,
    /// Also at a port of any address of the router.
    NodePort(u16),
}

/// Declaration of a VIP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vip {
    /// Identification.
    pub key: Key,
    /// Encapsulation to servers.
    pub encap: Encap,
    /// DSCP of L3DSR.
    pub dscp: u8,
    /// Where it is met.
    pub service: Service,
    /// Server port, for NAT.
    pub target_port: u16,
    /// Length of the new-flows table, a power of 2.
    pub places: u32,
    /// Whether all flows of a source go to one server.
    pub is_sticky: bool,
}

impl Vip {
    /// Whether it can be.
    ///
    /// # Errors
    /// [`Error`].
    pub fn check(&self) -> Result<(), Error> {
        let is_ip4 = self.key.prefix.addr().is_ipv4();
        let is_fit = match self.encap {
            Encap::Gre4 | Encap::Gre6 => true,
            Encap::L3dsr | Encap::Nat4 => is_ip4,
            Encap::Nat6 => !is_ip4,
        };
        if !is_fit {
            return Err(Error::Version(self.encap.word()));
        }
        if self.dscp > MOST_DSCP {
            return Err(Error::Dscp(self.dscp));
        }
        if !self.places.is_power_of_two() || self.places > MOST_PLACES {
            return Err(Error::Places(self.places));
        }
        let is_known = |protocol| matches!(protocol, Protocol::TCP | Protocol::UDP);
        match self.key.port {
            Some((protocol, _)) if !is_known(protocol) => return Err(Error::Protocol(protocol.0)),
            Some((_, 0)) => return Err(Error::NoPort),
            None if self.encap.kind() == NAT => return Err(Error::NoPort),
            _ => (),
        }
        if self.encap.kind() != NAT {
            return Ok(());
        }
        if self.target_port == 0 {
            return Err(Error::NoTargetPort);
        }
        match (self.service, self.key.port) {
            (Service::NodePort(_), Some((Protocol::TCP, _))) => Err(Error::NodePortProtocol),
            (Service::NodePort(0), _) => Err(Error::NoPort),
            _ => Ok(()),
        }
    }
    /// The port that answers of servers come from.
    pub fn port_of_answers(&self) -> u16 {
        match (self.service, self.key.port) {
            (Service::NodePort(port), _) | (Service::ClusterIp, Some((_, port))) => port,
            (Service::ClusterIp, None) => 0,
        }
    }
}

/// Reasons why something is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no such VIP
    #[retval(NO_SUCH_ENTRY)]
    NoVip,
    /// the VIP exists
    #[retval(VALUE_EXIST)]
    VipExists,
    /// a prefix has either one VIP for all ports or one per port
    #[retval(VALUE_EXIST)]
    Ports,
    /// VIPs of a prefix must have the same encapsulation
    #[retval(INVALID_ARGUMENT)]
    OtherEncap,
    /// {0} is not available for this IP version
    #[retval(INVALID_ADDRESS_FAMILY)]
    Version(&'static str),
    /// dscp {0} is not 0 to 63
    #[retval(INVALID_VALUE)]
    Dscp(u8),
    /// the new-flows table length must be a power of 2, at most 1048576, not {0}
    #[retval(INVALID_MEMORY_SIZE)]
    Places(u32),
    /// the number of sticky buckets must be a power of 2, at most 1048576, not {0}
    #[retval(INVALID_MEMORY_SIZE)]
    Buckets(u32),
    /// a timeout is at least one second
    #[retval(INVALID_VALUE)]
    Timeout,
    /// protocol {0} is neither TCP nor UDP
    #[retval(INVALID_VALUE)]
    Protocol(u8),
    /// protocol and port are missing
    #[retval(INVALID_VALUE)]
    NoPort,
    /// target_port is missing
    #[retval(INVALID_VALUE)]
    NoTargetPort,
    /// node ports are UDP only
    #[retval(UNSUPPORTED)]
    NodePortProtocol,
    /// node port {0} is in use
    #[retval(UDP_PORT_TAKEN)]
    NodePort(u16),
    /// weight {0} is not 0 to 100
    #[retval(INVALID_VALUE)]
    Weight(u8),
    /// {0} is of another IP version than the servers of the VIP
    #[retval(INVALID_ADDRESS_FAMILY)]
    ServerVersion(IpAddr),
    /// server {0} exists
    #[retval(VALUE_EXIST)]
    ServerExists(IpAddr),
    /// no server {0}
    #[retval(NO_SUCH_ENTRY)]
    NoServer(IpAddr),
    /// {0} serves another VIP on that port
    #[retval(VALUE_EXIST)]
    Answers(IpAddr),
    /// table full
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// the route cannot be added
    #[retval(UNSPECIFIED)]
    NoRoute,
}
