//! Dumps of interfaces.

use control::api::{Api, Message, Text};
use wire::MacAddr;

use super::super::sub::SubInterface;
use super::super::{Interface, InterfaceIndex, Kind};
use super::types::{IfStatusFlags, IfType, LinkDuplex, SubIfFlags};
use crate::router::Router;

/// List interfaces.
#[derive(Message)]
#[details(SwInterfaceDetails)]
pub struct SwInterfaceDump {
    /// only this interface; all for 0 or the default, and where there is a name filter
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
    /// true if `name_filter` is valid
    pub name_filter_valid: bool,
    /// only interfaces whose name contains this, ignoring case
    pub name_filter: String,
}

/// An interface.
#[derive(Message)]
pub struct SwInterfaceDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index of the hardware interface
    pub sup_sw_if_index: u32,
    /// MAC address
    pub l2_address: MacAddr,
    /// administrative and link state
    pub flags: IfStatusFlags,
    /// true for a sub-interface
    #[name("type")]
    pub kind: IfType,
    /// unknown
    pub link_duplex: LinkDuplex,
    /// link speed in kilobits per second; 0 if unknown
    pub link_speed: u32,
    /// link MTU in bytes
    pub link_mtu: u16,
    /// MTUs: layer 3, IPv4, IPv6, MPLS
    pub mtu: [u32; 4],
    /// sub-interface ID
    pub sub_id: u32,
    /// number of tags of a sub-interface
    pub sub_number_of_tags: u8,
    /// Outer VLAN ID
    pub sub_outer_vlan_id: u16,
    /// Inner VLAN ID
    pub sub_inner_vlan_id: u16,
    /// tags and frames matched by a sub-interface
    pub sub_if_flags: SubIfFlags,
    /// VLAN tag rewrite operation; 0 for none
    pub vtr_op: u32,
    /// push an 802.1Q tag
    pub vtr_push_dot1q: u32,
    /// first pushed tag
    pub vtr_tag1: u32,
    /// second pushed tag
    pub vtr_tag2: u32,
    /// provider backbone bridging, as are the following fields
    pub outer_tag: u16,
    /// destination address
    pub b_dmac: MacAddr,
    /// source address
    pub b_smac: MacAddr,
    /// VLAN ID
    pub b_vlanid: u16,
    /// service identifier
    pub i_sid: u32,
    /// name
    pub interface_name: Text<64>,
    /// device type
    pub interface_dev_type: Text<64>,
    /// operator-defined tag
    pub tag: Text<64>,
}

impl SwInterfaceDetails {
    fn of(i: &Interface) -> Self {
        let (sub, rewrite) = (i.sub.unwrap_or_default(), i.tag_rewrite);
        let flags = IfStatusFlags::default()
            .with(IfStatusFlags::ADMIN_UP, i.admin_up)
            .with(IfStatusFlags::LINK_UP, i.link_up);
        Self {
            sw_if_index: i.index,
            sup_sw_if_index: i.sup.0,
            l2_address: if i.kind == Kind::Ethernet { i.mac } else { MacAddr::ZERO },
            flags,
            kind: match i.sub {
                None => IfType::HARDWARE,
                Some(sub) if sub.sender.is_some() => IfType::P2P,
                Some(_) => IfType::SUB,
            },
            link_duplex: LinkDuplex::UNKNOWN,
            link_speed: i.link_speed,
            link_mtu: u16::try_from(i.link_mtu).unwrap_or(u16::MAX),
            mtu: [i.mtu.l3, i.mtu.ip4, i.mtu.ip6, i.mtu.mpls],
            sub_id: sub.id,
            sub_number_of_tags: sub.tags,
            sub_outer_vlan_id: sub.outer.unwrap_or(0),
            sub_inner_vlan_id: sub.inner.unwrap_or(0),
            sub_if_flags: i.sub.as_ref().map(flags_of).unwrap_or_default(),
            vtr_op: rewrite.op,
            vtr_push_dot1q: rewrite.push_dot1q,
            vtr_tag1: rewrite.tags[0],
            vtr_tag2: rewrite.tags[1],
            outer_tag: rewrite.outer_tag,
            b_dmac: rewrite.b_dmac,
            b_smac: rewrite.b_smac,
            b_vlanid: rewrite.b_vlanid,
            i_sid: rewrite.i_sid,
            interface_name: i.name.clone().into(),
            interface_dev_type: i.hardware.into(),
            tag: i.tag.clone().into(),
        }
    }
}

fn flags_of(sub: &SubInterface) -> SubIfFlags {
    SubIfFlags::default()
        .with(SubIfFlags::NO_TAGS, sub.tags == 0 && !sub.is_default)
        .with(SubIfFlags::ONE_TAG, sub.tags == 1)
        .with(SubIfFlags::TWO_TAGS, sub.tags == 2)
        .with(SubIfFlags::DOT1AD, sub.is_dot1ad)
        .with(SubIfFlags::EXACT_MATCH, sub.is_exact)
        .with(SubIfFlags::DEFAULT, sub.is_default)
        .with(SubIfFlags::OUTER_VLAN_ID_ANY, sub.tags > 0 && sub.outer.is_none())
        .with(SubIfFlags::INNER_VLAN_ID_ANY, sub.tags > 1 && sub.inner.is_none())
}

pub(super) fn register(api: &mut Api<Router>) {
    super::module(api).dump_each(|router: &mut Router, m: SwInterfaceDump| {
        let filter = m.name_filter_valid.then(|| m.name_filter.to_ascii_lowercase());
        let mut waiting: Vec<_> = match m.sw_if_index {
            // Clients that leave fields at zero mean all, and get them from the original.
            InterfaceIndex(0 | u32::MAX) => router.interfaces.iter().map(|i| i.index).collect(),
            _ if filter.is_some() => router.interfaces.iter().map(|i| i.index).collect(),
            one => vec![one],
        };
        waiting.reverse();
        move |router: &mut Router| loop {
            let Some(i) = router.interfaces.at(waiting.pop()?) else { continue };
            let is_meant =
                |f: &String| i.name.to_ascii_lowercase().contains(f.trim_end_matches('\0'));
            if filter.as_ref().is_none_or(is_meant) {
                return Some(SwInterfaceDetails::of(i));
            }
        }
    });
}
