//! Messages of the module `vhost_user`.
#![forbid(unsafe_code)]

use control::api::{Api, Message, Retval, Text};
use net::{InterfaceIndex, Router};
use wire::MacAddr;
use wire::virtio_ring::feature;

use super::commands::with;
use super::interface::{Vhost, Vhosts, Wanted};
use super::session::Offer;

/// Value for no number.
const ANY: u32 = u32::MAX;

control::numbers! {
    /// Virtio network features, bits 0 to 31.
    pub enum VirtioNetFeaturesFirst32: u32 =
        "virtio_net_features_first_32" in "vnet/devices/virtio/virtio_types.api"
    {
        CSUM = 1 => "VIRTIO_NET_F_API_CSUM",
        GUEST_CSUM = 2 => "VIRTIO_NET_F_API_GUEST_CSUM",
        GUEST_TSO4 = 128 => "VIRTIO_NET_F_API_GUEST_TSO4",
        GUEST_TSO6 = 256 => "VIRTIO_NET_F_API_GUEST_TSO6",
        GUEST_UFO = 1024 => "VIRTIO_NET_F_API_GUEST_UFO",
        HOST_TSO4 = 2048 => "VIRTIO_NET_F_API_HOST_TSO4",
        HOST_TSO6 = 4096 => "VIRTIO_NET_F_API_HOST_TSO6",
        HOST_UFO = 16384 => "VIRTIO_NET_F_API_HOST_UFO",
        MRG_RXBUF = 32768 => "VIRTIO_NET_F_API_MRG_RXBUF",
        CTRL_VQ = 131072 => "VIRTIO_NET_F_API_CTRL_VQ",
        GUEST_ANNOUNCE = 2097152 => "VIRTIO_NET_F_API_GUEST_ANNOUNCE",
        MQ = 4194304 => "VIRTIO_NET_F_API_MQ",
        LOG_ALL = 67108864 => "VHOST_F_API_LOG_ALL",
        ANY_LAYOUT = 134217728 => "VIRTIO_F_API_ANY_LAYOUT",
        INDIRECT_DESC = 268435456 => "VIRTIO_F_API_INDIRECT_DESC",
        PROTOCOL_FEATURES = 1073741824 => "VHOST_USER_F_API_PROTOCOL_FEATURES",
    }
    /// Virtio network features, bits 32 and above.
    pub enum VirtioNetFeaturesLast32: u32 =
        "virtio_net_features_last_32" in "vnet/devices/virtio/virtio_types.api"
    {
        VERSION_1 = 1 => "VIRTIO_F_API_VERSION_1",
    }
}

/// Declares the two requests that make an interface, and the two that change one.
macro_rules! create_and_modify {
    ($create:ident, $created:ident, $modify:ident, $(#[$meta:meta])* [$($event_idx:ident)?]) => {
        /// Create a vhost-user interface.
        #[derive(Message)]
        #[reply($created)]
        $(#[$meta])*
        pub struct $create {
            /// true to listen, false to connect
            pub is_server: bool,
            /// path of the socket
            pub sock_filename: Text<256>,
            /// true if `custom_dev_instance` is valid
            pub renumber: bool,
            /// disable mergeable receive buffers
            pub disable_mrg_rxbuf: bool,
            /// disable indirect descriptors
            pub disable_indirect_desc: bool,
            /// checksum and segmentation offload
            pub enable_gso: bool,
            /// packed rings
            pub enable_packed: bool,
            $(
                /// event index: interrupts only on request
                pub $event_idx: bool,
            )?
            /// instance number in the interface name
            pub custom_dev_instance: u32,
            /// true if the next field is valid
            pub use_custom_mac: bool,
            /// MAC address
            pub mac_address: MacAddr,
            /// operator-defined tag
            pub tag: Text<64>,
        }

        /// Reply: index of the new interface.
        #[derive(Message)]
        $(#[$meta])*
        pub struct $created {
            /// interface index
            pub sw_if_index: InterfaceIndex,
        }

        /// Change a vhost-user interface.
        #[derive(Message)]
        $(#[$meta])*
        pub struct $modify {
            /// interface index
            pub sw_if_index: InterfaceIndex,
            /// true to listen, false to connect
            pub is_server: bool,
            /// path of the socket
            pub sock_filename: Text<256>,
            /// true if `custom_dev_instance` is valid
            pub renumber: bool,
            /// checksum and segmentation offload
            pub enable_gso: bool,
            /// packed rings
            pub enable_packed: bool,
            $(
                /// event index: interrupts only on request
                pub $event_idx: bool,
            )?
            /// instance number in the interface name
            pub custom_dev_instance: u32,
        }
    };
}

create_and_modify!(
    CreateVhostUserIf,
    CreateVhostUserIfReply,
    ModifyVhostUserIf,
    #[option("deprecated")]
    []
);
create_and_modify!(
    CreateVhostUserIfV2,
    CreateVhostUserIfV2Reply,
    ModifyVhostUserIfV2,
    [enable_event_idx]
);

/// Delete a vhost-user interface.
#[derive(Message)]
pub struct DeleteVhostUserIf {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List vhost-user interfaces.
#[derive(Message)]
#[details(SwInterfaceVhostUserDetails)]
pub struct SwInterfaceVhostUserDump {
    /// only this one; 4294967295 for all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// One item of the list.
#[derive(Message)]
pub struct SwInterfaceVhostUserDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// name
    pub interface_name: Text<64>,
    /// bytes of the header before each packet
    pub virtio_net_hdr_sz: u32,
    /// features accepted by the driver
    pub features_first_32: VirtioNetFeaturesFirst32,
    /// remaining features
    pub features_last_32: VirtioNetFeaturesLast32,
    /// true to listen, false to connect
    pub is_server: bool,
    /// path of the socket
    pub sock_filename: Text<256>,
    /// number of memory regions
    pub num_regions: u32,
    /// error number of the last connection attempt
    pub sock_errno: i32,
}

impl SwInterfaceVhostUserDetails {
    fn of(router: &Router, vhost: &Vhost) -> Option<Self> {
        let (i, session) = (router.interfaces.at(vhost.index)?, vhost.session());
        let features = session.map_or(0, |s| s.features);
        Some(Self {
            sw_if_index: i.index,
            interface_name: i.name.as_str().into(),
            virtio_net_hdr_sz: session.map_or(0, |s| s.header() as u32),
            features_first_32: VirtioNetFeaturesFirst32(features as u32),
            features_last_32: VirtioNetFeaturesLast32((features >> 32) as u32),
            is_server: vhost.wanted.is_server,
            sock_filename: vhost.wanted.socket.as_str().into(),
            num_regions: session.map_or(0, |s| s.table.0.len() as u32),
            sock_errno: vhost.errno,
        })
    }
}

fn create(router: &mut Router, m: &CreateVhostUserIfV2) -> Result<InterfaceIndex, Retval> {
    let hidden = |is_hidden: bool, bit: u32| if is_hidden { 1 << bit } else { 0 };
    let wanted = Wanted {
        instance: m.renumber.then_some(m.custom_dev_instance).filter(|n| *n != ANY),
        socket: m.sock_filename.to_string(),
        is_server: m.is_server,
        offer: Offer {
            gso: m.enable_gso,
            packed: m.enable_packed,
            event_idx: m.enable_event_idx,
            hidden: hidden(m.disable_mrg_rxbuf, feature::MRG_RXBUF)
                | hidden(m.disable_indirect_desc, feature::INDIRECT_DESC),
        },
        mac: m.use_custom_mac.then_some(m.mac_address),
    };
    let made = with(router, |all, router| all.create(router, wanted))?;
    if let Err(e) = router.set_tag(made, &m.tag) {
        with(router, |all, router| all.delete(router, made))?;
        return Err(e.into());
    }
    Ok(made)
}

fn modify(router: &mut Router, m: &ModifyVhostUserIfV2) -> Result<(), Retval> {
    let wanted = Wanted {
        instance: m.renumber.then_some(m.custom_dev_instance).filter(|n| *n != ANY),
        socket: m.sock_filename.to_string(),
        is_server: m.is_server,
        offer: Offer {
            gso: m.enable_gso,
            packed: m.enable_packed,
            event_idx: m.enable_event_idx,
            hidden: 0,
        },
        mac: None,
    };
    Ok(with(router, |all, router| all.modify(router, m.sw_if_index, wanted))?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("vhost_user", "4.1.1")
        .call(|router: &mut Router, m: CreateVhostUserIf| {
            let m = CreateVhostUserIfV2 {
                is_server: m.is_server,
                sock_filename: m.sock_filename,
                renumber: m.renumber,
                disable_mrg_rxbuf: m.disable_mrg_rxbuf,
                disable_indirect_desc: m.disable_indirect_desc,
                enable_gso: m.enable_gso,
                enable_packed: m.enable_packed,
                enable_event_idx: false,
                custom_dev_instance: m.custom_dev_instance,
                use_custom_mac: m.use_custom_mac,
                mac_address: m.mac_address,
                tag: m.tag,
            };
            create(router, &m).map(|sw_if_index| CreateVhostUserIfReply { sw_if_index })
        })
        .call(|router: &mut Router, m: CreateVhostUserIfV2| {
            create(router, &m).map(|sw_if_index| CreateVhostUserIfV2Reply { sw_if_index })
        })
        .call(|router: &mut Router, m: ModifyVhostUserIf| {
            let m = ModifyVhostUserIfV2 {
                sw_if_index: m.sw_if_index,
                is_server: m.is_server,
                sock_filename: m.sock_filename,
                renumber: m.renumber,
                enable_gso: m.enable_gso,
                enable_packed: m.enable_packed,
                enable_event_idx: false,
                custom_dev_instance: m.custom_dev_instance,
            };
            modify(router, &m)
        })
        .call(|router: &mut Router, m: ModifyVhostUserIfV2| modify(router, &m))
        .call(|router: &mut Router, m: DeleteVhostUserIf| {
            Ok(with(router, |all, router| all.delete(router, m.sw_if_index))?)
        })
        .dump(|router: &mut Router, m: SwInterfaceVhostUserDump| {
            let list = router.own::<Vhosts>().list.iter();
            let meant = list.filter(|v| m.sw_if_index.0 == ANY || v.index == m.sw_if_index);
            meant.filter_map(|v| SwInterfaceVhostUserDetails::of(router, v)).collect()
        });
}
