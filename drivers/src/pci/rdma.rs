//! Messages of the module `rdma`: cards of Mellanox that are shared with the host.

use control::api::{Api, Message, Retval, Text};
use net::{InterfaceIndex, Router};

use super::messages::host_refusal;

control::numbers! {
    /// RDMA driver mode.
    pub enum RdmaMode: u32 = "rdma_mode" in "" {
        AUTO = 0 => "RDMA_API_MODE_AUTO",
        IBV = 1 => "RDMA_API_MODE_IBV",
        DV = 2 => "RDMA_API_MODE_DV",
    }
    /// IPv4 RSS fields.
    pub enum RdmaRss4: u32 = "rdma_rss4" in "" {
        AUTO = 0 => "RDMA_API_RSS4_AUTO",
        IP = 1 => "RDMA_API_RSS4_IP",
        IP_UDP = 2 => "RDMA_API_RSS4_IP_UDP",
        IP_TCP = 3 => "RDMA_API_RSS4_IP_TCP",
    }
    /// IPv6 RSS fields.
    pub enum RdmaRss6: u32 = "rdma_rss6" in "" {
        AUTO = 0 => "RDMA_API_RSS6_AUTO",
        IP = 1 => "RDMA_API_RSS6_IP",
        IP_UDP = 2 => "RDMA_API_RSS6_IP_UDP",
        IP_TCP = 3 => "RDMA_API_RSS6_IP_TCP",
    }
}

/// Declares a version of the request to make an interface, and its reply.
macro_rules! create {
    ($name:ident, $reply:ident, [$($option:meta),*], [$($of_reply:meta),*], {$($field:tt)*}) => {
        /// Create an interface on a host device.
        #[derive(Message)]
        #[reply($reply)]
        $(#[$option])*
        pub struct $name {
            /// device name
            pub host_if: Text<64>,
            /// interface name
            pub name: Text<64>,
            /// number of receive queues
            #[preset(1)]
            pub rxq_num: u16,
            /// receive ring size
            #[preset(1024)]
            pub rxq_size: u16,
            /// transmit ring size
            #[preset(1024)]
            pub txq_size: u16,
            /// driver mode
            #[preset(0)]
            pub mode: RdmaMode,
            $($field)*
        }

        /// Reply: index of the new interface.
        #[derive(Message)]
        $(#[$of_reply])*
        pub struct $reply {
            /// interface index
            pub sw_if_index: InterfaceIndex,
        }
    };
}

create!(
    RdmaCreate,
    RdmaCreateReply,
    [
        option("deprecated", "21.01"),
        option(
            "vat_help",
            "<host-if ifname> [name <name>] [rx-queue-size <size>] [tx-queue-size <size>] \
             [num-rx-queues <size>] [mode <auto|ibv|dv>]"
        )
    ],
    [option("deprecated")],
    {}
);
create!(
    RdmaCreateV2,
    RdmaCreateV2Reply,
    [
        option("deprecated"),
        option(
            "vat_help",
            "<host-if ifname> [name <name>] [rx-queue-size <size>] [tx-queue-size <size>] \
             [num-rx-queues <size>] [mode <auto|ibv|dv>] [no-multi-seg] [max-pktlen <size>]"
        )
    ],
    [option("deprecated")],
    {
        /// packets in a single buffer
        #[preset(0)]
        pub no_multi_seg: bool,
        /// maximum packet length
        #[preset(0)]
        pub max_pktlen: u16,
    }
);
create!(
    RdmaCreateV3,
    RdmaCreateV3Reply,
    [
        option("deprecated"),
        option("replaced_by", "rdma_create_v4"),
        option(
            "vat_help",
            "<host-if ifname> [name <name>] [rx-queue-size <size>] [tx-queue-size <size>] \
             [num-rx-queues <size>] [mode <auto|ibv|dv>] [no-multi-seg] [max-pktlen <size>] [rss \
             <ipv4|ipv4-udp|ipv4-tcp>] [rss <ipv6|ipv6-udp|ipv6-tcp>]"
        )
    ],
    [],
    {
        /// packets in a single buffer
        #[preset(0)]
        pub no_multi_seg: bool,
        /// maximum packet length
        #[preset(0)]
        pub max_pktlen: u16,
        /// IPv4 RSS fields
        #[preset(0)]
        pub rss4: RdmaRss4,
        /// IPv6 RSS fields
        #[preset(0)]
        pub rss6: RdmaRss6,
    }
);
create!(
    RdmaCreateV4,
    RdmaCreateV4Reply,
    [
        option(
            "vat_help",
            "<host-if ifname> [name <name>] [rx-queue-size <size>] [tx-queue-size <size>] \
             [num-rx-queues <size>] [mode <auto|ibv|dv>] [no-multi-seg] [max-pktlen <size>] [rss \
             <ipv4|ipv4-udp|ipv4-tcp>] [rss <ipv6|ipv6-udp|ipv6-tcp>]"
        )
    ],
    [],
    {
        /// packets in a single buffer
        #[preset(0)]
        pub no_multi_seg: bool,
        /// maximum packet length
        #[preset(0)]
        pub max_pktlen: u16,
        /// IPv4 RSS fields
        #[preset(0)]
        pub rss4: RdmaRss4,
        /// IPv6 RSS fields
        #[preset(0)]
        pub rss6: RdmaRss6,
    }
);

/// Delete an interface on a host device.
#[derive(Message)]
#[option("vat_help", "<sw_if_index index>")]
pub struct RdmaDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("rdma", "3.0.0")
        .call(|_: &mut Router, m: RdmaCreate| Err::<RdmaCreateReply, _>(host_refusal(&m.host_if)))
        .call(|_: &mut Router, m: RdmaCreateV2| {
            Err::<RdmaCreateV2Reply, _>(host_refusal(&m.host_if))
        })
        .call(|_: &mut Router, m: RdmaCreateV3| {
            Err::<RdmaCreateV3Reply, _>(host_refusal(&m.host_if))
        })
        .call(|_: &mut Router, m: RdmaCreateV4| {
            Err::<RdmaCreateV4Reply, _>(host_refusal(&m.host_if))
        })
        .call(|_: &mut Router, _: RdmaDelete| Err::<(), _>(Retval::INVALID_SW_IF_INDEX));
}
