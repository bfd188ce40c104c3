//! Messages of the module `ip6_nd` about routers.

use std::net::Ipv6Addr;

use control::api::types::Prefix;
use control::api::{Api, Message, Record, Retval};
use wire::prefix::IpPrefix;

use super::advertiser::Advertiser;
use super::config::{Changes, PrefixChange};
use super::received::Advertised;
use super::solicit::Retries;
use net::InterfaceIndex;
use net::Router;

/// Stands for every interface.
const ALL: u32 = u32::MAX;

/// Set how an interface advertises: what is not 0 is set, or reset.
#[derive(Clone, Message)]
pub struct SwInterfaceIp6ndRaConfig {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// do not advertise
    pub suppress: u8,
    /// addresses come from DHCPv6
    pub managed: u8,
    /// other configuration comes from DHCPv6
    pub other: u8,
    /// leave the address of layer 2 out
    pub ll_option: u8,
    /// answer solicitations by unicast
    pub send_unicast: u8,
    /// announce that this is no router any more
    pub cease: u8,
    /// reset
    pub is_no: bool,
    /// `lifetime` is meant, also when it is 0
    pub default_router: u8,
    /// seconds
    pub max_interval: u32,
    /// seconds
    pub min_interval: u32,
    /// seconds
    pub lifetime: u32,
    /// first advertisements
    pub initial_count: u32,
    /// seconds between them
    pub initial_interval: u32,
}

/// Set a prefix that is advertised.
#[derive(Message)]
pub struct SwInterfaceIp6ndRaPrefix {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the prefix
    pub prefix: Prefix,
    /// with the default lifetimes and flags
    pub use_default: bool,
    /// leave it out of advertisements
    pub no_advertise: bool,
    /// it is not on the link
    pub off_link: bool,
    /// hosts may not make addresses of it
    pub no_autoconfig: bool,
    /// without the on-link flag
    pub no_onlink: bool,
    /// delete it
    pub is_no: bool,
    /// seconds for which it is valid
    pub val_lifetime: u32,
    /// seconds for which its addresses are preferred
    pub pref_lifetime: u32,
}

/// Show how interfaces advertise.
#[derive(Message)]
#[option("vat_help", "[(<if-name>|sw_if_index <if-idx>)]")]
#[option("in_progress")]
#[details(SwInterfaceIp6ndRaDetails)]
pub struct SwInterfaceIp6ndRaDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A prefix that is advertised.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Ip6ndRaPrefix {
    /// the prefix
    pub prefix: Prefix,
    /// it is on the link
    pub onlink_flag: bool,
    /// hosts may make addresses of it
    pub autonomous_flag: bool,
    /// seconds for which it is valid
    pub val_lifetime: u32,
    /// seconds for which its addresses are preferred
    pub pref_lifetime: u32,
    /// 0: lifetimes do not run out while it is advertised
    pub valid_lifetime_expires: f64,
    /// as above
    pub pref_lifetime_expires: f64,
    /// always false
    pub decrement_lifetime_flag: bool,
    /// left out of advertisements
    pub no_advertise: bool,
}

/// Advertising of an interface.
#[derive(Message)]
#[option("in_progress")]
pub struct SwInterfaceIp6ndRaDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// hop limit for hosts
    pub cur_hop_limit: u8,
    /// addresses come from DHCPv6
    pub adv_managed_flag: bool,
    /// other configuration comes from DHCPv6
    pub adv_other_flag: bool,
    /// seconds for which it is a default router
    pub adv_router_lifetime: u16,
    /// always 0
    pub adv_neighbor_reachable_time: u32,
    /// always 0
    pub adv_retransmit_interval: u32,
    /// MTU in bytes
    pub adv_link_mtu: u32,
    /// advertisements are sent
    pub send_radv: bool,
    /// it announces that it no longer is a router
    pub cease_radv: bool,
    /// solicitations are answered by unicast
    pub send_unicast: bool,
    /// the address of layer 2 is in advertisements
    pub adv_link_layer_address: bool,
    /// seconds
    pub max_radv_interval: f64,
    /// seconds
    pub min_radv_interval: f64,
    /// time of the last answer on the router's clock; 0: none yet
    pub last_radv_time: f64,
    /// time of the last multicast advertisement
    pub last_multicast_time: f64,
    /// time of the next one
    pub next_multicast_time: f64,
    /// first advertisements
    pub initial_adverts_count: u32,
    /// seconds between them
    pub initial_adverts_interval: f64,
    /// all of them were sent
    pub initial_adverts_sent: bool,
    /// advertisements sent
    pub n_advertisements_sent: u32,
    /// solicitations received
    pub n_solicitations_rcvd: u32,
    /// solicitations without an answer
    pub n_solicitations_dropped: u32,
    /// advertised prefixes
    #[counted(n_prefixes: u32)]
    pub prefixes: Vec<Ip6ndRaPrefix>,
}

/// Send router solicitations on an interface. All bounds: 0 for none.
#[derive(Message)]
pub struct Ip6ndSendRouterSolicitation {
    /// seconds until the second one
    pub irt: u32,
    /// most seconds between two
    pub mrt: u32,
    /// most solicitations
    pub mrc: u32,
    /// most seconds in all
    pub mrd: u32,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// stop it
    pub stop: bool,
}

/// Register for advertisements of other routers.
#[derive(Message)]
#[events(Ip6RaEvent)]
pub struct WantIp6RaEvents {
    /// registered, else no longer
    pub enable: bool,
    /// the client's process
    pub pid: u32,
}

/// A prefix, as another router advertised it.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Ip6RaPrefixInfo {
    /// the prefix
    pub prefix: Prefix,
    /// its flags
    pub flags: u8,
    /// seconds for which it is valid
    pub valid_time: u32,
    /// seconds for which its addresses are preferred
    pub preferred_time: u32,
}

/// Another router advertised itself.
#[derive(Debug, PartialEq, Message)]
pub struct Ip6RaEvent {
    /// the interface it came in on
    pub sw_if_index: InterfaceIndex,
    /// its sender
    pub router_addr: Ipv6Addr,
    /// hop limit for hosts
    pub current_hop_limit: u8,
    /// its flags
    pub flags: u8,
    /// seconds for which it is a default router
    pub router_lifetime_in_sec: u16,
    /// milliseconds
    pub neighbor_reachable_time_in_msec: u32,
    /// milliseconds
    pub time_in_msec_between_retransmitted_neighbor_solicitations: u32,
    /// its prefixes
    #[counted(n_prefixes: u32)]
    pub prefixes: Vec<Ip6RaPrefixInfo>,
}

impl SwInterfaceIp6ndRaConfig {
    fn changes(&self) -> Changes {
        let (count, seconds) = (self.initial_count, self.initial_interval);
        let least = (self.min_interval != 0).then_some(self.min_interval);
        Changes {
            is_no: self.is_no,
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
    let (c, prefix) = (&a.config, |p: &super::Prefix| Ip6ndRaPrefix {
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
        prefixes: a.prefixes.iter().map(prefix).collect(),
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
