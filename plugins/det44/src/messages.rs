//! Messages of the module `det44`.

use net::prelude::*;

/// Enable or disable deterministic NAT; disabling deletes its settings and sessions.
#[derive(Message)]
pub struct Det44PluginEnableDisable {
    /// inside table
    pub inside_vrf: u32,
    /// outside table
    pub outside_vrf: u32,
    /// true to enable, false to disable
    pub enable: bool,
}

/// Add or remove an inside or outside interface.
#[derive(Message)]
pub struct Det44InterfaceAddDelFeature {
    /// true to add, false to delete
    pub is_add: bool,
    /// true for inside, false for outside
    pub is_inside: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List inside and outside interfaces.
#[derive(Message)]
#[details(Det44InterfaceDetails)]
pub struct Det44InterfaceDump {}

/// An interface.
#[derive(Message)]
pub struct Det44InterfaceDetails {
    /// true for inside
    pub is_inside: bool,
    /// true for outside
    pub is_outside: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Set session timeouts, in seconds.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Det44SetTimeouts {
    /// UDP timeout
    pub udp: u32,
    /// timeout of established TCP connections
    pub tcp_established: u32,
    /// timeout of other TCP connections
    pub tcp_transitory: u32,
    /// ICMP timeout
    pub icmp: u32,
}

/// Get session timeouts.
#[derive(Message)]
#[reply(Det44GetTimeoutsReply)]
pub struct Det44GetTimeouts {}

/// Session timeouts, in seconds.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Det44GetTimeoutsReply {
    /// UDP timeout
    pub udp: u32,
    /// timeout of established TCP connections
    pub tcp_established: u32,
    /// timeout of other TCP connections
    pub tcp_transitory: u32,
    /// ICMP timeout
    pub icmp: u32,
}

/// The messages about maps and sessions, which have two names each.
macro_rules! messages {
    (
        $(#[$option:meta])* $set:ident,
        $forward:ident -> $forward_reply:ident,
        $reverse:ident -> $reverse_reply:ident,
        $maps:ident -> $map:ident,
        $close_out:ident, $close_in:ident,
        $sessions:ident -> $session:ident
    ) => {
        /// Add or delete a mapping of an inside network to an outside network.
        #[derive(Message)]
        $(#[$option])*
        pub struct $set {
            /// true to add, false to delete
            pub is_add: bool,
            /// inside network
            pub in_addr: Ipv4Addr,
            /// length
            pub in_plen: u8,
            /// outside network
            pub out_addr: Ipv4Addr,
            /// length
            pub out_plen: u8,
        }

        /// Get the outside address and ports of a host.
        #[derive(Message)]
        #[reply($forward_reply)]
        $(#[$option])*
        pub struct $forward {
            /// the host
            pub in_addr: Ipv4Addr,
        }

        /// Outside address and ports of a host.
        #[derive(Message)]
        $(#[$option])*
        pub struct $forward_reply {
            /// first port
            pub out_port_lo: u16,
            /// last port
            pub out_port_hi: u16,
            /// the address
            pub out_addr: Ipv4Addr,
        }

        /// Get the inside host of an outside address and port.
        #[derive(Message)]
        #[reply($reverse_reply)]
        $(#[$option])*
        pub struct $reverse {
            /// port
            pub out_port: u16,
            /// the address
            pub out_addr: Ipv4Addr,
        }

        /// The inside host of an outside address and port.
        #[derive(Message)]
        $(#[$option])*
        pub struct $reverse_reply {
            /// the host
            pub in_addr: Ipv4Addr,
        }

        /// List mappings.
        #[derive(Message)]
        #[details($map)]
        $(#[$option])*
        pub struct $maps {}

        /// A mapping.
        #[derive(Message)]
        $(#[$option])*
        pub struct $map {
            /// inside network
            pub in_addr: Ipv4Addr,
            /// length
            pub in_plen: u8,
            /// outside network
            pub out_addr: Ipv4Addr,
            /// length
            pub out_plen: u8,
            /// hosts that share an address
            pub sharing_ratio: u32,
            /// ports of each host
            pub ports_per_host: u16,
            /// open sessions
            pub ses_num: u32,
        }

        /// Close a session, given its outside end.
        #[derive(Message)]
        $(#[$option])*
        pub struct $close_out {
            /// outside address
            pub out_addr: Ipv4Addr,
            /// port
            pub out_port: u16,
            /// external host
            pub ext_addr: Ipv4Addr,
            /// port
            pub ext_port: u16,
        }

        /// Close a session, given its inside host.
        #[derive(Message)]
        $(#[$option])*
        pub struct $close_in {
            /// the host
            pub in_addr: Ipv4Addr,
            /// port
            pub in_port: u16,
            /// external host
            pub ext_addr: Ipv4Addr,
            /// port
            pub ext_port: u16,
        }

        /// List the sessions of a host.
        #[derive(Message)]
        #[details($session)]
        $(#[$option])*
        pub struct $sessions {
            /// the host
            pub user_addr: Ipv4Addr,
        }

        /// A session.
        #[derive(Message)]
        $(#[$option])*
        pub struct $session {
            /// inside port
            pub in_port: u16,
            /// external host
            pub ext_addr: Ipv4Addr,
            /// port
            pub ext_port: u16,
            /// outside port
            pub out_port: u16,
            /// state: 1 UDP, 2 TCP not established, 3 TCP established, 8 TCP closed, 9 ICMP
            pub state: u8,
            /// expiry, in seconds on the router's clock
            pub expire: u32,
        }
    };
}

messages!(
    Det44AddDelMap,
    Det44Forward -> Det44ForwardReply,
    Det44Reverse -> Det44ReverseReply,
    Det44MapDump -> Det44MapDetails,
    Det44CloseSessionOut, Det44CloseSessionIn,
    Det44SessionDump -> Det44SessionDetails
);
messages!(
    #[option("deprecated")]
    NatDetAddDelMap,
    NatDetForward -> NatDetForwardReply,
    NatDetReverse -> NatDetReverseReply,
    NatDetMapDump -> NatDetMapDetails,
    NatDetCloseSessionOut, NatDetCloseSessionIn,
    NatDetSessionDump -> NatDetSessionDetails
);
