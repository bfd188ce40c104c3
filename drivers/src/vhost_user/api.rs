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
    /// Features of a network device, those with bits below 32.
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
    /// Features of a network device, those with bits from 32 on.
    pub enum VirtioNetFeaturesLast32: u32 =
        "virtio_net_features_last_32" in "vnet/devices/virtio/virtio_types.api"
    {
        VERSION_1 = 1 => "VIRTIO_F_API_VERSION_1",
    }
}

/// Declares the two requests that make an interface, and the two that change one.
macro_rules! create_and_modify {
    ($create:ident, $created:ident, $modify:ident, $(#[$meta:meta])* [$($event_idx:ident)?]) => {
        /// Make an interface to a virtual machine.
        #[derive(Message)]
        #[reply($created)]
        $(#[$meta])*
        pub struct $create {
            /// whether it listens
            pub is_server: bool,
            /// file of its socket
            pub sock_filename: Text<256>,
            /// whether `custom_dev_instance` counts
            pub renumber: bool,
            /// a received packet is in one buffer
            pub disable_mrg_rxbuf: bool,
            /// no tables of descriptors
            pub disable_indirect_desc: bool,
            /// packets without checksum and big ones
            pub enable_gso: bool,
            /// packed rings
            pub enable_packed: bool,
            $(
                /// interrupts only where the other side wants them
                pub $event_idx: bool,
            )?
            /// the number in its name
            pub custom_dev_instance: u32,
            /// whether the next field counts
            pub use_custom_mac: bool,
            /// its address
            pub mac_address: MacAddr,
            /// tag of the operator
            pub tag: Text<64>,
        }

        /// It is made.
        #[derive(Message)]
        $(#[$meta])*
        pub struct $created {
            /// its number
            pub sw_if_index: InterfaceIndex,
        }

        /// Change an interface to a virtual machine.
        #[derive(Message)]
        $(#[$meta])*
        pub struct $modify {
            /// its number
            pub sw_if_index: InterfaceIndex,
            /// whether it listens
            pub is_server: bool,
            /// file of its socket
            pub sock_filename: Text<256>,
            /// whether `custom_dev_instance` counts
            pub renumber: bool,
            /// packets without checksum and big ones
            pub enable_gso: bool,
            /// packed rings
            pub enable_packed: bool,
            $(
                /// interrupts only where the other side wants them
                pub $event_idx: bool,
            )?
            /// the number in its name
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

/// Delete an interface to a virtual machine.
#[derive(Message)]
pub struct DeleteVhostUserIf {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Ask for interfaces to virtual machines.
#[derive(Message)]
#[details(SwInterfaceVhostUserDetails)]
pub struct SwInterfaceVhostUserDump {
    /// one of them; all if 4294967295
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// One of them.
#[derive(Message)]
pub struct SwInterfaceVhostUserDetails {
    /// its number
    pub sw_if_index: InterfaceIndex,
    /// its name
    pub interface_name: Text<64>,
    /// bytes in front of each packet
    pub virtio_net_hdr_sz: u32,
    /// features that the driver uses
    pub features_first_32: VirtioNetFeaturesFirst32,
    /// more of them
    pub features_last_32: VirtioNetFeaturesLast32,
    /// whether it listens
    pub is_server: bool,
    /// file of its socket
    pub sock_filename: Text<256>,
    /// stretches of memory
    pub num_regions: u32,
    /// why it could not connect
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
