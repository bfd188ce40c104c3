//! Messages of the module `lcp`.

use drivers::host::background::Pending;

use net::prelude::*;

use super::pair::{self, Kind, Pair, Wanted};
use super::settings;

control::numbers! {
    /// Type of the host device.
    pub enum LcpItfHostType: u8 = "lcp_itf_host_type" in "" {
        TAP = 0 => "LCP_API_ITF_HOST_TAP",
        TUN = 1 => "LCP_API_ITF_HOST_TUN",
    }
}

/// Set the default network namespace of host devices.
#[derive(Message)]
#[option("in_progress")]
#[reply(LcpDefaultNsSetReply)]
pub struct LcpDefaultNsSet {
    /// namespace; empty for the router's own
    pub netns: Text<32>,
}

/// Reply: success.
#[derive(Message)]
#[option("in_progress")]
pub struct LcpDefaultNsSetReply {}

/// Get the default network namespace of host devices.
#[derive(Message)]
#[reply(LcpDefaultNsGetReply)]
pub struct LcpDefaultNsGet {}

/// Default network namespace.
#[derive(Message)]
#[head(details)]
#[option("in_progress")]
pub struct LcpDefaultNsGetReply {
    /// namespace; empty for the router's own
    pub netns: Text<32>,
}

macro_rules! add_del {
    ($(#[$meta:meta])* $name:ident) => {
        /// Add or delete an interface pair (a mirror in Linux).
        #[derive(Message)]
        $(#[$meta])*
        pub struct $name {
            /// true to add, false to delete
            pub is_add: bool,
            /// interface index
            pub sw_if_index: InterfaceIndex,
            /// device name
            pub host_if_name: Text<16>,
            /// host device type
            pub host_if_type: LcpItfHostType,
            /// network namespace of the device; empty for the default
            pub netns: Text<32>,
        }

        impl $name {
            fn carry_out<R: 'static>(
                self,
                router: &mut Router,
                answer: fn(&Pair) -> R,
                gone: R,
            ) -> Result<Pending<Result<R, Retval>>, Retval> {
                if !self.is_add {
                    pair::remove(router, self.sw_if_index)?;
                    return Ok(Pending::ready(Ok(gone)));
                }
                let kind = match self.host_if_type {
                    LcpItfHostType::TAP => None,
                    LcpItfHostType::TUN => Some(Kind::Tun),
                    _ => return Err(Retval::INVALID_ARGUMENT),
                };
                let wanted = Wanted {
                    phy: self.sw_if_index,
                    name: self.host_if_name.to_string(),
                    kind,
                    namespace: self.netns.to_string(),
                    id: None,
                };
                pair::begin(router, wanted, answer)
            }
        }
    };
}

add_del!(
    #[option("deprecated")]
    #[reply(LcpItfPairAddDelReply)]
    LcpItfPairAddDel
);
add_del!(
    #[option("in_progress")]
    #[reply(LcpItfPairAddDelV2Reply)]
    LcpItfPairAddDelV2
);
add_del!(
    #[option("in_progress")]
    #[reply(LcpItfPairAddDelV3Reply)]
    LcpItfPairAddDelV3
);

/// Reply: success.
#[derive(Message)]
#[option("deprecated")]
pub struct LcpItfPairAddDelReply {}

/// Reply: success.
#[derive(Message)]
#[option("in_progress")]
pub struct LcpItfPairAddDelV2Reply {
    /// host interface index; 4294967295 when deleted
    pub host_sw_if_index: InterfaceIndex,
}

/// Reply: success.
#[derive(Message)]
#[option("in_progress")]
pub struct LcpItfPairAddDelV3Reply {
    /// device number in its namespace
    pub vif_index: u32,
    /// host interface index; 4294967295 when deleted
    pub host_sw_if_index: InterfaceIndex,
}

/// List mirrors.
#[derive(Message)]
#[stream(LcpItfPairDetails, LcpItfPairGetReply)]
pub struct LcpItfPairGet {
    /// cursor from the previous reply; 0 at first
    pub cursor: u32,
}

/// End of the list, or cursor for the next request.
#[derive(Message)]
pub struct LcpItfPairGetReply {
    /// cursor for the next request; 4294967295 at the end
    pub cursor: u32,
}

/// List mirrors, or that of one interface.
#[derive(Message)]
#[stream(LcpItfPairDetails, LcpItfPairGetV2Reply)]
pub struct LcpItfPairGetV2 {
    /// cursor from the previous reply; 0 at first
    pub cursor: u32,
    /// interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// End of the list, or cursor for the next request.
#[derive(Message)]
pub struct LcpItfPairGetV2Reply {
    /// cursor for the next request; 4294967295 at the end
    pub cursor: u32,
}

/// A mirror.
#[derive(Message)]
#[option("in_progress")]
pub struct LcpItfPairDetails {
    /// interface index
    pub phy_sw_if_index: InterfaceIndex,
    /// host interface
    pub host_sw_if_index: InterfaceIndex,
    /// device number in its namespace
    pub vif_index: u32,
    /// device name
    pub host_if_name: Text<16>,
    /// host device type
    pub host_if_type: LcpItfHostType,
    /// network namespace of the device
    pub netns: Text<32>,
}

impl LcpItfPairDetails {
    fn of(pair: &Pair) -> Self {
        let is_tun = pair.kind == Kind::Tun;
        Self {
            phy_sw_if_index: pair.phy,
            host_sw_if_index: pair.host,
            vif_index: pair.device,
            host_if_name: pair.name.clone().into(),
            host_if_type: if is_tun { LcpItfHostType::TUN } else { LcpItfHostType::TAP },
            netns: pair.namespace.clone().into(),
        }
    }
}

/// Pass frames of an EtherType between mirrors and interfaces.
#[derive(Message)]
pub struct LcpEthertypeEnable {
    /// type
    pub ethertype: u16,
}

/// Get the EtherTypes passed.
#[derive(Message)]
#[reply(LcpEthertypeGetReply)]
pub struct LcpEthertypeGet {}

/// EtherTypes.
#[derive(Message)]
pub struct LcpEthertypeGetReply {
    /// EtherTypes
    #[counted(count: u16)]
    pub ethertypes: Vec<u16>,
}

/// Pass frames of an OSI protocol between mirrors and interfaces.
#[derive(Message)]
pub struct LcpOsiProtoEnable {
    /// protocol
    pub osi_proto: u8,
}

/// Get the OSI protocols passed.
#[derive(Message)]
#[reply(LcpOsiProtoGetReply)]
pub struct LcpOsiProtoGet {}

/// OSI protocols.
#[derive(Message)]
pub struct LcpOsiProtoGetReply {
    /// OSI protocols
    #[counted(count: u8)]
    pub osi_protos: Vec<u8>,
}

/// Enable or disable copying of borrowed addresses to the devices of unnumbered interfaces.
#[derive(Message)]
pub struct LcpSyncUnnumberedSet {
    /// true to enable, false to disable
    pub is_enable: bool,
}

/// Get whether borrowed addresses are copied.
#[derive(Message)]
#[reply(LcpSyncUnnumberedGetReply)]
pub struct LcpSyncUnnumberedGet {}

/// Whether borrowed addresses are copied.
#[derive(Message)]
pub struct LcpSyncUnnumberedGetReply {
    /// true to enable, false to disable
    pub is_enable: bool,
}

/// Start replacing all mirrors.
#[derive(Message)]
pub struct LcpItfPairReplaceBegin {}

/// Finish replacing: delete mirrors not created again.
#[derive(Message)]
pub struct LcpItfPairReplaceEnd {}

/// No interface.
const NONE: InterfaceIndex = InterfaceIndex(u32::MAX);

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("lcp", "1.0.0")
        .call(|router: &mut Router, m: LcpDefaultNsSet| {
            super::set_namespace(router, &m.netns)?;
            Ok(LcpDefaultNsSetReply {})
        })
        .call(|router: &mut Router, _: LcpDefaultNsGet| {
            Ok(LcpDefaultNsGetReply { netns: settings(router).namespace.clone().into() })
        })
        .task(|router: &mut Router, _, m: LcpItfPairAddDel| {
            m.carry_out(router, |_| LcpItfPairAddDelReply {}, LcpItfPairAddDelReply {})
        })
        .task(|router: &mut Router, _, m: LcpItfPairAddDelV2| {
            let reply = |host_sw_if_index| LcpItfPairAddDelV2Reply { host_sw_if_index };
            let made = |p: &Pair| LcpItfPairAddDelV2Reply { host_sw_if_index: p.host };
            m.carry_out(router, made, reply(NONE))
        })
        .task(|router: &mut Router, _, m: LcpItfPairAddDelV3| {
            let made = |p: &Pair| LcpItfPairAddDelV3Reply {
                vif_index: p.device,
                host_sw_if_index: p.host,
            };
            let gone = LcpItfPairAddDelV3Reply { vif_index: u32::MAX, host_sw_if_index: NONE };
            m.carry_out(router, made, gone)
        })
        .stream_rows(
            |m: &LcpItfPairGet| m.cursor,
            |router, _, piece| {
                super::all(router).all(|p| piece.offer(p.phy.0, || LcpItfPairDetails::of(p)));
                Ok(())
            },
            |cursor| LcpItfPairGetReply { cursor },
        )
        .stream_rows(
            |m: &LcpItfPairGetV2| m.cursor,
            |router, m, piece| {
                if m.sw_if_index != NONE && router.interfaces.at(m.sw_if_index).is_none() {
                    return Err(Retval::INVALID_SW_IF_INDEX);
                }
                let is_meant = |p: &&Pair| m.sw_if_index == NONE || m.sw_if_index == p.phy;
                super::all(router)
                    .filter(is_meant)
                    .all(|p| piece.offer(p.phy.0, || LcpItfPairDetails::of(p)));
                Ok(())
            },
            |cursor| LcpItfPairGetV2Reply { cursor },
        )
        .call(|router: &mut Router, _: LcpItfPairReplaceBegin| {
            super::begin_replacement(router);
            Ok(())
        })
        .call(|router: &mut Router, _: LcpItfPairReplaceEnd| {
            super::end_replacement(router);
            Ok(())
        });
    register_settings(api);
}

/// The messages about what holds for all pairs.
fn register_settings(api: &mut Api<Router>) {
    api.plugin("lcp", "1.0.0")
        .call(|router: &mut Router, m: LcpEthertypeEnable| {
            Ok(super::enable_ethertype(router, m.ethertype)?)
        })
        .call(|router: &mut Router, _: LcpEthertypeGet| {
            Ok(LcpEthertypeGetReply { ethertypes: super::ethertypes(router).collect() })
        })
        .call(|router: &mut Router, m: LcpOsiProtoEnable| {
            Ok(super::enable_osi(router, m.osi_proto)?)
        })
        .call(|router: &mut Router, _: LcpOsiProtoGet| {
            Ok(LcpOsiProtoGetReply { osi_protos: super::osi_protocols(router).collect() })
        })
        .call(|router: &mut Router, m: LcpSyncUnnumberedSet| {
            super::set_unnumbered(router, m.is_enable);
            Ok(())
        })
        .call(|router: &mut Router, _: LcpSyncUnnumberedGet| {
            let is_enable = !settings(router).ignores_unnumbered;
            Ok(LcpSyncUnnumberedGetReply { is_enable })
        });
}
