//! Messages of the module `ip6_nd` about routers.

use control::api::Record;
use control::api::types::Prefix;
use net::prelude::*;
use wire::prefix::IpPrefix;

use super::advertiser::Advertiser;
use super::config::{Changes, PrefixChange};
use super::received::Advertised;
use super::solicit::Retries;

/// Stands for every interface.
const ALL: u32 = u32::MAX;

/// Set or reset router advertisement parameters of an interface; only nonzero fields take effect.
#[derive(Clone, Message)]
pub struct SwInterfaceIp6ndRaConfig {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// suppress advertisements
    pub suppress: u8,
    /// managed flag: addresses are available by DHCPv6
    pub managed: u8,
    /// other flag: other configuration is available by DHCPv6
    pub other: u8,
    /// omit the source link-layer address option
    pub ll_option: u8,
    /// answer solicitations by unicast
    pub send_unicast: u8,
    /// cease: announce that this router stops being one
    pub cease: u8,
    /// true to reset
    pub is_no: bool,
    /// set `lifetime` even if it is 0
    pub default_router: u8,
    /// seconds
    pub max_interval: u32,
    /// seconds
    pub min_interval: u32,
    /// seconds
    pub lifetime: u32,
    /// number of initial advertisements
    pub initial_count: u32,
    /// seconds between initial advertisements
    pub initial_interval: u32,
}

/// Set an advertised prefix.
#[derive(Message)]
pub struct SwInterfaceIp6ndRaPrefix {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// prefix
    pub prefix: Prefix,
    /// use the default lifetimes and flags
    pub use_default: bool,
    /// do not advertise it
    pub no_advertise: bool,
    /// clear the on-link flag and treat the prefix as off-link
    pub off_link: bool,
    /// clear the autonomous flag: no address autoconfiguration
    pub no_autoconfig: bool,
    /// clear the on-link flag
    pub no_onlink: bool,
    /// true to delete
    pub is_no: bool,
    /// valid lifetime in seconds
    pub val_lifetime: u32,
    /// preferred lifetime in seconds
    pub pref_lifetime: u32,
}

/// List router advertisement settings.
#[derive(Message)]
#[option("vat_help", "[(<if-name>|sw_if_index <if-idx>)]")]
#[option("in_progress")]
#[details(SwInterfaceIp6ndRaDetails)]
pub struct SwInterfaceIp6ndRaDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// An advertised prefix.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Ip6ndRaPrefix {
    /// prefix
    pub prefix: Prefix,
    /// on-link flag
    pub onlink_flag: bool,
    /// autonomous flag
    pub autonomous_flag: bool,
    /// valid lifetime in seconds
    pub val_lifetime: u32,
    /// preferred lifetime in seconds
    pub pref_lifetime: u32,
    /// 0: lifetimes are constant while advertised
    pub valid_lifetime_expires: f64,
    /// as above
    pub pref_lifetime_expires: f64,
    /// always false
    pub decrement_lifetime_flag: bool,
    /// not advertised
    pub no_advertise: bool,
}

/// Router advertisement settings of an interface.
#[derive(Message)]
#[option("in_progress")]
pub struct SwInterfaceIp6ndRaDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// advertised hop limit
    pub cur_hop_limit: u8,
    /// managed flag: addresses are available by DHCPv6
    pub adv_managed_flag: bool,
    /// other flag: other configuration is available by DHCPv6
    pub adv_other_flag: bool,
    /// router lifetime in seconds
    pub adv_router_lifetime: u16,
    /// always 0
    pub adv_neighbor_reachable_time: u32,
    /// always 0
    pub adv_retransmit_interval: u32,
    /// MTU in bytes
    pub adv_link_mtu: u32,
    /// advertisements are sent
    pub send_radv: bool,
    /// advertises that it stops being a router
    pub cease_radv: bool,
    /// solicitations are answered by unicast
    pub send_unicast: bool,
    /// advertisements include the link-layer address
    pub adv_link_layer_address: bool,
    /// seconds
    pub max_radv_interval: f64,
    /// seconds
    pub min_radv_interval: f64,
    /// time of the last unicast answer on the router's clock; 0 for none
    pub last_radv_time: f64,
    /// time of the last multicast advertisement
    pub last_multicast_time: f64,
    /// time of the next one
    pub next_multicast_time: f64,
    /// number of initial advertisements
    pub initial_adverts_count: u32,
    /// seconds between initial advertisements
    pub initial_adverts_interval: f64,
    /// initial advertisements sent
    pub initial_adverts_sent: bool,
    /// advertisements sent
    pub n_advertisements_sent: u32,
    /// solicitations received
    pub n_solicitations_rcvd: u32,
    /// solicitations dropped
    pub n_solicitations_dropped: u32,
    /// advertised prefixes
    #[counted(n_prefixes: u32)]
    pub prefixes: Vec<Ip6ndRaPrefix>,
}

/// Send router solicitations on an interface; in all limits, 0 is none.
#[derive(Message)]
pub struct Ip6ndSendRouterSolicitation {
    /// initial retransmission time in seconds
    pub irt: u32,
    /// maximum retransmission time in seconds
    pub mrt: u32,
    /// maximum number of solicitations
    pub mrc: u32,
    /// maximum total time in seconds
    pub mrd: u32,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to stop
    pub stop: bool,
}

/// Register or unregister for router advertisement events.
#[derive(Message)]
#[events(Ip6RaEvent)]
pub struct WantIp6RaEvents {
    /// true to register, false to unregister
    pub enable: bool,
    /// client process ID
    pub pid: u32,
}

/// A prefix advertised by another router.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Ip6RaPrefixInfo {
    /// prefix
    pub prefix: Prefix,
    /// flags
    pub flags: u8,
    /// valid lifetime in seconds
    pub valid_time: u32,
    /// preferred lifetime in seconds
    pub preferred_time: u32,
}

/// An advertisement of another router was received.
#[derive(Debug, PartialEq, Message)]
pub struct Ip6RaEvent {
    /// receive interface
    pub sw_if_index: InterfaceIndex,
    /// router address
    pub router_addr: Ipv6Addr,
    /// advertised hop limit
    pub current_hop_limit: u8,
    /// flags
    pub flags: u8,
    /// router lifetime in seconds
    pub router_lifetime_in_sec: u16,
    /// milliseconds
    pub neighbor_reachable_time_in_msec: u32,
    /// milliseconds
    pub time_in_msec_between_retransmitted_neighbor_solicitations: u32,
    /// advertised prefixes
    #[counted(n_prefixes: u32)]
    pub prefixes: Vec<Ip6RaPrefixInfo>,
}

impl SwInterfaceIp6ndRaConfig {
    fn changes(&self) -> Changes {
        let (count, seconds) = (self.initial_count, self.initial_interval);
        let least = (self.min_interval != 0).then_some(self.min_interval);
        Changes {
            is_no: self.is_no,
            starts: true,
            suppress: self.suppress != 0,
            managed: self.managed != 0,
            other: self.other != 0,
            suppress_mac: self.ll_option != 0,
            unicast: self.send_unicast != 0,
            ceases: self.cease != 0,
            lifetime: (self.default_router != 0 || self.lifetime != 0).then_some(self.lifetime),
            initial: ((count, seconds) != (0, 0)).then_some((count, seconds)),
            interval: (self.max_interval != 0).then_some((self.max_interval, least)),
        }
    }
}

fn set_prefix(router: &mut Router, m: &SwInterfaceIp6ndRaPrefix) -> Result<(), Retval> {
    let wire::Prefix::Ip6(prefix) = m.prefix.native()? else {
        return Err(Retval::INVALID_ADDRESS_FAMILY);
    };
    if m.is_no {
        return Ok(super::remove_prefix(router, m.sw_if_index, prefix)?);
    }
    let change = PrefixChange {
        prefix,
        is_default: m.use_default,
        no_advertise: m.no_advertise,
        off_link: m.off_link,
        no_autoconfig: m.no_autoconfig,
        no_onlink: m.no_onlink,
        valid: m.val_lifetime,
        preferred: m.pref_lifetime,
    };
    Ok(super::set_prefix(router, m.sw_if_index, &change)?)
}

fn details(router: &Router, on: InterfaceIndex, a: &Advertiser) -> SwInterfaceIp6ndRaDetails {
    let now = router.now();
    let (c, prefix) = (&a.config, |p: super::Prefix| Ip6ndRaPrefix {
        prefix: wire::Prefix::Ip6(p.prefix).into(),
        onlink_flag: p.on_link,
        autonomous_flag: p.autonomous,
        val_lifetime: p.valid,
        pref_lifetime: p.preferred,
        valid_lifetime_expires: 0.0,
        pref_lifetime_expires: 0.0,
        decrement_lifetime_flag: false,
        no_advertise: p.is_silent,
    });
    SwInterfaceIp6ndRaDetails {
        sw_if_index: on,
        cur_hop_limit: c.hop_limit,
        adv_managed_flag: c.managed,
        adv_other_flag: c.other,
        adv_router_lifetime: c.lifetime,
        adv_neighbor_reachable_time: 0,
        adv_retransmit_interval: 0,
        adv_link_mtu: router.interfaces.at(on).map_or(0, |i| i.mtu.for_ip6()),
        send_radv: c.sends,
        cease_radv: c.ceases,
        send_unicast: c.unicast,
        adv_link_layer_address: c.tells_mac,
        max_radv_interval: c.max_interval,
        min_radv_interval: c.min_interval,
        last_radv_time: a.last_answer.unwrap_or(0.0),
        last_multicast_time: a.last_multicast.unwrap_or(0.0),
        next_multicast_time: a.next_multicast,
        initial_adverts_count: c.initial_count,
        initial_adverts_interval: c.initial_interval,
        initial_adverts_sent: a.initial_sent >= c.initial_count,
        n_advertisements_sent: a.tally.sent,
        n_solicitations_rcvd: a.tally.received,
        n_solicitations_dropped: a.tally.dropped,
        prefixes: a.all_prefixes(now).map(prefix).collect(),
    }
}

/// Sends clients another router's advertisement.
pub(super) fn heard(router: &mut Router, what: &Advertised) {
    if !router.clients.is_wanted::<Ip6RaEvent>() {
        return;
    }
    let prefixes = what.prefixes().filter_map(|p| {
        let prefix = IpPrefix::new(p.addr, p.len).ok()?;
        Some(Ip6RaPrefixInfo {
            prefix: wire::Prefix::Ip6(prefix).into(),
            flags: p.flags,
            valid_time: p.valid,
            preferred_time: p.preferred,
        })
    });
    router.clients.send(&Ip6RaEvent {
        sw_if_index: what.interface,
        router_addr: what.router,
        current_hop_limit: what.hop_limit,
        flags: what.flags,
        router_lifetime_in_sec: what.lifetime,
        neighbor_reachable_time_in_msec: what.reachable_ms,
        time_in_msec_between_retransmitted_neighbor_solicitations: what.retransmit_ms,
        prefixes: prefixes.collect(),
    });
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip6_nd", "1.1.0")
        .call(|router, m: SwInterfaceIp6ndRaConfig| {
            Ok(super::configure(router, m.sw_if_index, &m.changes())?)
        })
        .call(|router, m: SwInterfaceIp6ndRaPrefix| set_prefix(router, &m))
        .dump(|router, m: SwInterfaceIp6ndRaDump| {
            let wanted = |i: &InterfaceIndex| m.sw_if_index.0 == ALL || m.sw_if_index == *i;
            let all = super::advertisers(router).filter(|(i, _)| wanted(i));
            all.map(|(i, a)| details(router, i, a)).collect()
        })
        .call(|router, m: Ip6ndSendRouterSolicitation| {
            let Ip6ndSendRouterSolicitation { irt, mrt, mrc, mrd, .. } = m;
            let retries = Retries { first: irt, longest: mrt, count: mrc, duration: mrd };
            Ok(super::solicit(router, m.sw_if_index, (!m.stop).then_some(retries))?)
        })
        .call_by(|router, caller, m: WantIp6RaEvents| {
            router.clients.want::<Ip6RaEvent>(caller.client, m.pid, m.enable)
        });
}
