//! Messages of the module `cnat`.

use control::api::Record;
use control::api::types::{Address, AddressFamily, IpProto, Prefix};
use net::fib::FlowHash;
use net::fib::types::IpFlowHashConfigV2;
use net::prelude::*;

use crate::config::Policy;
use crate::interfaces;
use crate::sources::{self, WantedSources};
use crate::state::{self, Cnat};
use crate::walk::{self, Shown};
use crate::wanted::{Endpoint, Error, Translation, Wanted};

/// No interface.
const NONE: InterfaceIndex = InterfaceIndex(u32::MAX);
/// Packets go to a backend as they are.
const NO_NAT: u8 = 2;
/// The default table.
const DEFAULT_TABLE: u32 = u32::MAX;

control::numbers! {
    /// Load-balancing method of backends.
    pub enum CnatLbType: u8 = "cnat_lb_type" in "" {
        DEFAULT = 0 => "CNAT_LB_TYPE_DEFAULT",
        MAGLEV = 1 => "CNAT_LB_TYPE_MAGLEV",
    }
    /// Source NAT policy.
    pub enum CnatSnatPolicyFlags: u8 = "cnat_snat_policy_flags" in "" {
        NONE = 0 => "CNAT_SNAT_POLICY_F_NONE",
        BUFFER_NEXT = 1 => "CNAT_SNAT_POLICY_F_BUFFER_NEXT",
        NO_CLIENT = 2 => "CNAT_SNAT_POLICY_F_NO_CLIENT",
        USE_AS_DEFAULT = 4 => "CNAT_SNAT_POLICY_F_USE_AS_DEFAULT",
    }
    /// An interface table of the source NAT policy.
    pub enum CnatSnatPolicyTable: u8 = "cnat_snat_policy_table" in "" {
        INCLUDE_V4 = 0 => "CNAT_POLICY_INCLUDE_V4",
        INCLUDE_V6 = 1 => "CNAT_POLICY_INCLUDE_V6",
        POD = 2 => "CNAT_POLICY_POD",
        HOST = 3 => "CNAT_POLICY_HOST",
    }
    /// Packets subject to source NAT.
    pub enum CnatSnatPolicies: u8 = "cnat_snat_policies" in "" {
        NONE = 0 => "CNAT_POLICY_NONE",
        IF_PFX = 1 => "CNAT_POLICY_IF_PFX",
        K8S = 2 => "CNAT_POLICY_K8S",
        DNAT = 3 => "CNAT_POLICY_DNAT",
    }
}

/// An endpoint: an address, or the first address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("")]
pub struct CnatEndpoint {
    /// the address
    pub addr: Address,
    /// interface whose address is used; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// address family of the interface's address
    pub if_af: AddressFamily,
    /// port
    pub port: u16,
}

/// A backend and the source address for packets to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("")]
pub struct CnatEndpointTuple {
    /// backend
    pub dst_ep: CnatEndpoint,
    /// source address; unspecified to keep the packet's
    pub src_ep: CnatEndpoint,
    /// 2: do not translate
    pub flags: u8,
}

/// A 5-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("")]
#[name("cnat_5tuple")]
pub struct Cnat5tuple {
    /// source and destination
    pub addr: [Address; 2],
    /// ports
    pub port: [u16; 2],
    /// protocol
    pub ip_proto: IpProto,
}

/// A translation.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
#[file("")]
pub struct CnatTranslation {
    /// service address
    pub vip: CnatEndpoint,
    /// ignored
    pub id: u32,
    /// protocol: TCP, UDP or SCTP
    pub ip_proto: IpProto,
    /// pass packets to other ports of the address
    pub is_real_ip: u8,
    /// 1: allocate source ports; 4: do not translate replies; 8: only on interfaces with the
    /// feature enabled
    pub flags: u8,
    /// load-balancing method
    pub lb_type: CnatLbType,
    /// flow hash fields; none for the default
    pub flow_hash_config: IpFlowHashConfigV2,
    /// backends
    #[counted(n_paths: u32, before = flow_hash_config)]
    pub paths: Vec<CnatEndpointTuple>,
}

/// One direction of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
#[file("")]
pub struct CnatSession {
    /// 5-tuple of received packets
    pub tuple: Cnat5tuple,
    /// session index, the same for both directions
    pub ts_index: u32,
    /// 1 for replies
    pub flags: u32,
}

/// Add a translation, or replace that of the same service.
#[derive(Message)]
#[reply(CnatTranslationUpdateReply)]
pub struct CnatTranslationUpdate {
    /// translation
    pub translation: CnatTranslation,
}

/// Reply: index of the translation.
#[derive(Message)]
pub struct CnatTranslationUpdateReply {
    /// index
    pub id: u32,
}

/// Delete a translation and its sessions.
#[derive(Message)]
pub struct CnatTranslationDel {
    /// index
    pub id: u32,
}

/// A translation.
#[derive(Message)]
pub struct CnatTranslationDetails {
    /// translation
    pub translation: CnatTranslation,
}

/// List translations.
#[derive(Message)]
#[details(CnatTranslationDetails)]
pub struct CnatTranslationDump {}

/// Delete all sessions.
#[derive(Message)]
pub struct CnatSessionPurge {}

/// One direction of a session.
#[derive(Message)]
pub struct CnatSessionDetails {
    /// session
    pub session: CnatSession,
}

/// List sessions, one entry per direction.
#[derive(Message)]
#[details(CnatSessionDetails)]
pub struct CnatSessionDump {}

/// Set the source NAT addresses of the default table.
#[derive(Message)]
pub struct CnatSetSnatAddresses {
    /// IPv4 address; 0.0.0.0 for none
    pub snat_ip4: Ipv4Addr,
    /// IPv6 address; :: for none
    pub snat_ip6: Ipv6Addr,
    /// use this interface's addresses instead; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
}

/// Set the source NAT addresses of a table.
#[derive(Message)]
pub struct CnatSetSnatAddressesV2 {
    /// table of packets; 4294967295 for the default
    pub fwd_fib_index: u32,
    /// table of replies; 4294967295 for the default
    pub ret_fib_index: u32,
    /// IPv4 address; 0.0.0.0 for none
    pub snat_ip4: Ipv4Addr,
    /// IPv6 address; :: for none
    pub snat_ip6: Ipv6Addr,
    /// use this interface's addresses instead; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
    /// flags
    pub flags: CnatSnatPolicyFlags,
}

/// Get the source NAT addresses of the default table.
#[derive(Message)]
#[reply(CnatGetSnatAddressesReply)]
pub struct CnatGetSnatAddresses {}

/// Source NAT addresses of the default table.
#[derive(Message)]
pub struct CnatGetSnatAddressesReply {
    /// always 0
    pub id: u32,
    /// IPv4
    pub snat_ip4: Ipv4Addr,
    /// true for IPv6
    pub snat_ip6: Ipv6Addr,
    /// interface whose addresses are used; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
}

/// List source NAT addresses by table.
#[derive(Message)]
#[details(CnatSnatAddressesDetails)]
pub struct CnatSnatAddressesDump {}

/// Source NAT addresses of a table.
#[derive(Message)]
pub struct CnatSnatAddressesDetails {
    /// always 0
    pub retval: i32,
    /// table of IPv4 packets
    pub fwd_table_id4: u32,
    /// table of IPv6 packets
    pub fwd_table_id6: u32,
    /// table of IPv4 replies
    pub ret_table_id4: u32,
    /// table of IPv6 replies
    pub ret_table_id6: u32,
    /// IPv4
    pub snat_ip4: Ipv4Addr,
    /// true for IPv6
    pub snat_ip6: Ipv6Addr,
    /// interface whose addresses are used; 4294967295 for none
    pub sw_if_index: InterfaceIndex,
}

/// Add or delete a prefix excluded from source NAT.
#[derive(Message)]
pub struct CnatSnatPolicyAddDelExcludePfx {
    /// true to add, false to delete
    pub is_add: u8,
    /// prefix
    pub prefix: Prefix,
}

/// Add or delete an interface of a source NAT policy table.
#[derive(Message)]
pub struct CnatSnatPolicyAddDelIf {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to add, false to delete
    pub is_add: u8,
    /// table
    pub table: CnatSnatPolicyTable,
}

/// Set the source NAT policy.
#[derive(Message)]
pub struct CnatSetSnatPolicy {
    /// policy
    pub policy: CnatSnatPolicies,
}

/// Enable or disable translations that are limited to selected interfaces.
#[derive(Message)]
#[option("vat_help", "<intfc> | sw_if_index <nn> [enable | disable]")]
#[reply(FeatureCnatEnableDisableReply)]
pub struct FeatureCnatEnableDisable {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub enable_disable: bool,
}

/// Reply: success.
#[derive(Message)]
#[option("vat_help", "<intfc> | sw_if_index <nn> [enable | disable]")]
pub struct FeatureCnatEnableDisableReply {}

impl CnatEndpoint {
    fn native(self) -> Result<Endpoint, Retval> {
        let interface = Some(self.sw_if_index).filter(|i| *i != NONE);
        let version = IpVersion::six(self.if_af == AddressFamily::IP6);
        // With an interface the bytes of the address are not read.
        let addr = match interface {
            Some(_) => version.unspecified(),
            None => self.addr.native()?,
        };
        Ok(Endpoint { addr, interface, version, port: self.port })
    }
    fn of(router: &Router, end: &Endpoint) -> Self {
        let addr = end.resolve(router).unwrap_or_else(|| end.version().unspecified());
        let if_af = end.version().into();
        let sw_if_index = end.interface.unwrap_or(NONE);
        Self { addr: addr.into(), sw_if_index, if_af, port: end.port }
    }
}

impl CnatTranslation {
    fn native(&self) -> Result<Translation, Retval> {
        let backend = |path: &CnatEndpointTuple| {
            if path.flags & !NO_NAT != 0 {
                return Err(Error::Flags(path.flags).into());
            }
            let (dst, src) = (path.dst_ep.native()?, path.src_ep.native()?);
            Ok(Wanted { dst, src, is_untranslated: path.flags & NO_NAT != 0 })
        };
        let is_maglev = match self.lb_type {
            CnatLbType::DEFAULT => false,
            CnatLbType::MAGLEV => true,
            CnatLbType(other) => return Err(Error::Balancing(other).into()),
        };
        let hash = Some(FlowHash(self.flow_hash_config.0)).filter(|hash| hash.0 != 0);
        Ok(Translation {
            vip: self.vip.native()?,
            protocol: Protocol(self.ip_proto.0),
            is_real: self.is_real_ip != 0,
            flags: self.flags,
            is_maglev,
            hash: hash.unwrap_or(FlowHash::DEFAULT),
            backends: self.paths.iter().map(backend).collect::<Result<_, Retval>>()?,
        })
    }
    fn of(router: &Router, id: u32, t: &Translation) -> Self {
        let path = |b: &Wanted| CnatEndpointTuple {
            dst_ep: CnatEndpoint::of(router, &b.dst),
            src_ep: CnatEndpoint::of(router, &b.src),
            flags: if b.is_untranslated { NO_NAT } else { 0 },
        };
        Self {
            vip: CnatEndpoint::of(router, &t.vip),
            id,
            ip_proto: IpProto(t.protocol.0),
            is_real_ip: t.is_real.into(),
            flags: t.flags,
            lb_type: if t.is_maglev { CnatLbType::MAGLEV } else { CnatLbType::DEFAULT },
            flow_hash_config: IpFlowHashConfigV2(t.hash.0),
            paths: t.backends.iter().map(path).collect(),
        }
    }
}

impl CnatSession {
    /// Both directions of a session, or the only one that is translated.
    fn of(s: &Shown) -> impl Iterator<Item = Self> + use<> {
        let directions = if s.is_answered { 2 } else { 1 };
        let (flows, ip_proto, ts_index) = (s.flows, IpProto(s.protocol.0), s.number);
        (0..directions).map(move |n| {
            let [(src, src_port), (dst, dst_port)] = flows[n];
            let (addr, port) = ([src.into(), dst.into()], [src_port, dst_port]);
            Self { tuple: Cnat5tuple { addr, port, ip_proto }, ts_index, flags: n as u32 }
        })
    }
}

fn wanted_sources(m: &CnatSetSnatAddressesV2) -> WantedSources {
    let table = |id| if id == DEFAULT_TABLE { 0 } else { id };
    WantedSources {
        table: table(m.fwd_fib_index),
        answers: table(m.ret_fib_index),
        ip4: Some(m.snat_ip4).filter(|addr| !addr.is_unspecified()),
        ip6: Some(m.snat_ip6).filter(|addr| !addr.is_unspecified()),
        interface: Some(m.sw_if_index).filter(|i| *i != NONE),
        flags: m.flags.0,
    }
}

/// The addresses of a source now.
fn addresses(router: &Router, s: &WantedSources) -> (Ipv4Addr, Ipv6Addr) {
    let [ip4, ip6] = s.resolve(router);
    let ip4 = match ip4 {
        Some(IpAddr::V4(addr)) => addr,
        _ => Ipv4Addr::UNSPECIFIED,
    };
    let ip6 = match ip6 {
        Some(IpAddr::V6(addr)) => addr,
        _ => Ipv6Addr::UNSPECIFIED,
    };
    (ip4, ip6)
}

fn of_default_table(m: &CnatSetSnatAddresses) -> CnatSetSnatAddressesV2 {
    let CnatSetSnatAddresses { snat_ip4, snat_ip6, sw_if_index } = *m;
    let (fwd_fib_index, ret_fib_index) = (DEFAULT_TABLE, DEFAULT_TABLE);
    let flags = CnatSnatPolicyFlags::NONE;
    CnatSetSnatAddressesV2 { fwd_fib_index, ret_fib_index, snat_ip4, snat_ip6, sw_if_index, flags }
}

impl CnatGetSnatAddressesReply {
    fn of(router: &Router) -> Self {
        let set = router.own::<Cnat>().sources.get(&0);
        let none = (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
        let (snat_ip4, snat_ip6) = set.map_or(none, |s| addresses(router, s));
        let sw_if_index = set.and_then(|s| s.interface).unwrap_or(NONE);
        Self { id: 0, snat_ip4, snat_ip6, sw_if_index }
    }
}

impl CnatSnatAddressesDetails {
    fn of(router: &Router, s: &WantedSources) -> Self {
        let (snat_ip4, snat_ip6) = addresses(router, s);
        Self {
            retval: 0,
            fwd_table_id4: s.table,
            fwd_table_id6: s.table,
            ret_table_id4: s.answers,
            ret_table_id6: s.answers,
            snat_ip4,
            snat_ip6,
            sw_if_index: s.interface.unwrap_or(NONE),
        }
    }
}

fn set_included(router: &mut Router, m: &CnatSnatPolicyAddDelIf) -> Result<(), Retval> {
    let table = usize::from(m.table.0);
    if table >= crate::config::TABLES.len() {
        return Err(Retval::INVALID_VALUE);
    }
    Ok(interfaces::set_included(router, m.sw_if_index, table, m.is_add != 0)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("cnat", "1.0.0")
        .call(|router: &mut Router, m: CnatTranslationUpdate| {
            let id = state::update(router, m.translation.native()?)?;
            Ok(CnatTranslationUpdateReply { id })
        })
        .call(|router: &mut Router, m: CnatTranslationDel| Ok(state::remove(router, m.id)?))
        .dump(|router: &mut Router, _: CnatTranslationDump| {
            let all = router.own::<Cnat>().translations.iter();
            let details = |(id, t): (&u32, &Translation)| CnatTranslationDetails {
                translation: CnatTranslation::of(router, *id, t),
            };
            all.map(details).collect()
        })
        .call(|router: &mut Router, _: CnatSessionPurge| Ok(walk::purge(router)?))
        .dump_some(|router: &mut Router, _: CnatSessionDump| {
            let mut slices = walk::sessions(router);
            move |router: &mut Router, rows: &mut Vec<_>| {
                let Ok(Some(all)) = slices(router) else { return false };
                let sessions = all.iter().flat_map(|(_, s)| CnatSession::of(s));
                rows.extend(sessions.map(|session| CnatSessionDetails { session }));
                true
            }
        })
        .call(|router: &mut Router, m: CnatSetSnatAddresses| {
            Ok(sources::set_sources(router, wanted_sources(&of_default_table(&m)))?)
        })
        .call(|router: &mut Router, m: CnatSetSnatAddressesV2| {
            Ok(sources::set_sources(router, wanted_sources(&m))?)
        })
        .call(|router: &mut Router, _: CnatGetSnatAddresses| {
            Ok(CnatGetSnatAddressesReply::of(router))
        })
        .dump(|router: &mut Router, _: CnatSnatAddressesDump| {
            let all = router.own::<Cnat>().sources.values();
            all.map(|s| CnatSnatAddressesDetails::of(router, s)).collect()
        })
        .call(|router: &mut Router, m: CnatSnatPolicyAddDelExcludePfx| {
            Ok(sources::set_excluded(router, m.prefix.native()?, m.is_add != 0)?)
        })
        .call(|router: &mut Router, m: CnatSnatPolicyAddDelIf| set_included(router, &m))
        .call(|router: &mut Router, m: CnatSetSnatPolicy| {
            let policy = Policy::WORDS.get(usize::from(m.policy.0));
            sources::set_policy(router, policy.ok_or(Retval::INVALID_VALUE)?.0);
            Ok(())
        })
        .call(|router: &mut Router, m: FeatureCnatEnableDisable| {
            interfaces::set_feature(router, m.sw_if_index, m.enable_disable)?;
            Ok(FeatureCnatEnableDisableReply {})
        });
}
