//! Messages of the module `det44`.

use std::net::Ipv4Addr;

use control::api::Message;
use net::InterfaceIndex;

/// Enable deterministic NAT, or disable it: all settings and sessions go then.
#[derive(Message)]
pub struct Det44PluginEnableDisable {
    /// the table of hosts
    pub inside_vrf: u32,
    /// the table of far ends
    pub outside_vrf: u32,
    /// on, else off
    pub enable: bool,
}

/// Put an interface on a side, or take it off.
#[derive(Message)]
pub struct Det44InterfaceAddDelFeature {
    /// added, else taken away
    pub is_add: bool,
    /// hosts are there, else far ends
    pub is_inside: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// List the interfaces that have a side.
#[derive(Message)]
#[details(Det44InterfaceDetails)]
pub struct Det44InterfaceDump {}

/// An interface.
#[derive(Message)]
pub struct Det44InterfaceDetails {
    /// hosts are there
    pub is_inside: bool,
    /// far ends are there
    pub is_outside: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
}

/// Set the timeouts of sessions, in seconds.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Det44SetTimeouts {
    /// of UDP
    pub udp: u32,
    /// of established TCP connections
    pub tcp_established: u32,
    /// of other TCP connections
    pub tcp_transitory: u32,
    /// of ICMP echoes
    pub icmp: u32,
}

/// Ask for the timeouts of sessions.
#[derive(Message)]
#[reply(Det44GetTimeoutsReply)]
pub struct Det44GetTimeouts {}

/// The timeouts of sessions, in seconds.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct Det44GetTimeoutsReply {
    /// of UDP
    pub udp: u32,
    /// of established TCP connections
    pub tcp_established: u32,
    /// of other TCP connections
    pub tcp_transitory: u32,
    /// of ICMP echoes
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
        /// Add a map of a network of hosts to one outside, or take it away.
        #[derive(Message)]
        $(#[$option])*
        pub struct $set {
            /// added, else taken away
            pub is_add: bool,
            /// the network of hosts
            pub in_addr: Ipv4Addr,
            /// its length
            pub in_plen: u8,
            /// the network outside
            pub out_addr: Ipv4Addr,
            /// its length
            pub out_plen: u8,
        }

        /// Ask for the address and the ports of a host outside.
        #[derive(Message)]
        #[reply($forward_reply)]
        $(#[$option])*
        pub struct $forward {
            /// the host
            pub in_addr: Ipv4Addr,
        }

        /// The address and the ports of a host outside.
        #[derive(Message)]
        $(#[$option])*
        pub struct $forward_reply {
            /// the first port
            pub out_port_lo: u16,
            /// the last port
            pub out_port_hi: u16,
            /// the address
            pub out_addr: Ipv4Addr,
        }

        /// Ask for the host that has an address and a port outside.
        #[derive(Message)]
        #[reply($reverse_reply)]
        $(#[$option])*
        pub struct $reverse {
            /// the port
            pub out_port: u16,
            /// the address
            pub out_addr: Ipv4Addr,
        }

        /// The host that has an address and a port outside.
        #[derive(Message)]
        $(#[$option])*
        pub struct $reverse_reply {
            /// the host
            pub in_addr: Ipv4Addr,
        }

        /// List the maps.
        #[derive(Message)]
        #[details($map)]
        $(#[$option])*
        pub struct $maps {}

        /// A map.
        #[derive(Message)]
        $(#[$option])*
        pub struct $map {
            /// the network of hosts
            pub in_addr: Ipv4Addr,
            /// its length
            pub in_plen: u8,
            /// the network outside
            pub out_addr: Ipv4Addr,
            /// its length
            pub out_plen: u8,
            /// hosts that share an address
            pub sharing_ratio: u32,
            /// ports of each host
            pub ports_per_host: u16,
            /// sessions whose ends have not closed them
            pub ses_num: u32,
        }

        /// End a session, named by what is outside.
        #[derive(Message)]
        $(#[$option])*
        pub struct $close_out {
            /// the address outside
            pub out_addr: Ipv4Addr,
            /// its port
            pub out_port: u16,
            /// the far end
            pub ext_addr: Ipv4Addr,
            /// its port
            pub ext_port: u16,
        }

        /// End a session, named by its host.
        #[derive(Message)]
        $(#[$option])*
        pub struct $close_in {
            /// the host
            pub in_addr: Ipv4Addr,
            /// its port
            pub in_port: u16,
            /// the far end
            pub ext_addr: Ipv4Addr,
            /// its port
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
            /// the port of the host
            pub in_port: u16,
            /// the far end
            pub ext_addr: Ipv4Addr,
            /// its port
            pub ext_port: u16,
            /// the port outside
            pub out_port: u16,
            /// what has passed: 1 UDP, 2 TCP that is not established, 3 TCP that is, 8 TCP that was
            /// closed, 9 ICMP
            pub state: u8,
            /// when it is over, in seconds on the router's clock
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
