//! Messages of the module `ip6_nd` about routers.

use std::net::Ipv6Addr;

use control::api::types::Prefix;
use control::api::{Api, Message, Record, Retval};
use wire::prefix::IpPrefix;

use super::advertiser::Advertiser;
use super::config::{Changes, PrefixChange, Refusal};
use super::heard::Advertised;
use super::solicit::Retries;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Stands for every interface.
const ALL: u32 = u32::MAX;

/// Set how an interface advertises: what is not 0 is set, or taken back.
#[derive(Clone, Message)]
struct SwInterfaceIp6ndRaConfig {
    sw_if_index: InterfaceIndex,
    /// do not advertise
    suppress: u8,
    /// addresses come from DHCPv6
    managed: u8,
    /// other configuration comes from DHCPv6
    other: u8,
    /// do not tell the address of layer 2
    ll_option: u8,
    /// answer who asks, and nobody else
    send_unicast: u8,
    /// tell everybody that this is no router any more
    cease: u8,
    /// take back
    is_no: bool,
    /// `lifetime` is meant, also when it is 0
    default_router: u8,
    /// seconds
    max_interval: u32,
    /// seconds
    min_interval: u32,
    /// seconds
    lifetime: u32,
    /// first advertisements
    initial_count: u32,
    /// seconds between them
    initial_interval: u32,
}

/// Set a prefix that is advertised.
#[derive(Message)]
struct SwInterfaceIp6ndRaPrefix {
    sw_if_index: InterfaceIndex,
    prefix: Prefix,
    /// with lifetimes and flags as they are when nothing is said
    use_default: bool,
    /// keep it and do not say it
    no_advertise: bool,
    /// it is not on the link
    off_link: bool,
    /// hosts may not make addresses of it
    no_autoconfig: bool,
    /// do not say that it is on the link
    no_onlink: bool,
    /// no longer advertise it
    is_no: bool,
    /// seconds for which it is valid
    val_lifetime: u32,
    /// seconds for which its addresses are preferred
    pref_lifetime: u32,
}

/// Show how interfaces advertise.
#[derive(Message)]
#[option("vat_help", "[(<if-name>|sw_if_index <if-idx>)]")]
#[option("in_progress")]
#[details(SwInterfaceIp6ndRaDetails)]
struct SwInterfaceIp6ndRaDump {
    /// only this one; 4294967295 for all
    sw_if_index: InterfaceIndex,
}

/// A prefix that is advertised.
#[derive(Clone, Debug, PartialEq, Record)]
struct Ip6ndRaPrefix {
    prefix: Prefix,
    onlink_flag: bool,
    autonomous_flag: bool,
    val_lifetime: u32,
    pref_lifetime: u32,
    /// 0: lifetimes do not run out while it is advertised
    valid_lifetime_expires: f64,
    /// as above
    pref_lifetime_expires: f64,
    decrement_lifetime_flag: bool,
    no_advertise: bool,
}

/// How an interface advertises.
#[derive(Message)]
#[option("in_progress")]
struct SwInterfaceIp6ndRaDetails {
    sw_if_index: InterfaceIndex,
    cur_hop_limit: u8,
    adv_managed_flag: bool,
    adv_other_flag: bool,
    adv_router_lifetime: u16,
    adv_neighbor_reachable_time: u32,
    adv_retransmit_interval: u32,
    adv_link_mtu: u32,
    send_radv: bool,
    cease_radv: bool,
    send_unicast: bool,
    adv_link_layer_address: bool,
    max_radv_interval: f64,
    min_radv_interval: f64,
    /// when somebody was last answered, on the router's clock; 0: nobody yet
    last_radv_time: f64,
    last_multicast_time: f64,
    next_multicast_time: f64,
    initial_adverts_count: u32,
    initial_adverts_interval: f64,
    initial_adverts_sent: bool,
    n_advertisements_sent: u32,
    n_solicitations_rcvd: u32,
    n_solicitations_dropped: u32,
    #[counted(n_prefixes: u32)]
    prefixes: Vec<Ip6ndRaPrefix>,
}

/// Look for routers on an interface. All bounds: 0 for none.
#[derive(Message)]
struct Ip6ndSendRouterSolicitation {
    /// seconds until the second one
    irt: u32,
    /// most seconds between two
    mrt: u32,
    /// most solicitations
    mrc: u32,
    /// most seconds in all
    mrd: u32,
    sw_if_index: InterfaceIndex,
    /// no longer
    stop: bool,
}

/// Register for what other routers say.
#[derive(Message)]
#[events(Ip6RaEvent)]
struct WantIp6RaEvents {
    enable: bool,
    pid: u32,
}

/// A prefix, as another router advertised it.
#[derive(Clone, Debug, PartialEq, Record)]
struct Ip6RaPrefixInfo {
    prefix: Prefix,
    flags: u8,
    valid_time: u32,
    preferred_time: u32,
}

/// Another router advertised itself.
#[derive(Debug, PartialEq, Message)]
struct Ip6RaEvent {
    sw_if_index: InterfaceIndex,
    router_addr: Ipv6Addr,
    current_hop_limit: u8,
    flags: u8,
    router_lifetime_in_sec: u16,
    neighbor_reachable_time_in_msec: u32,
    time_in_msec_between_retransmitted_neighbor_solicitations: u32,
    #[counted(n_prefixes: u32)]
    prefixes: Vec<Ip6RaPrefixInfo>,
}

impl From<Refusal> for Retval {
    fn from(e: Refusal) -> Self {
        match e {
            Refusal::NoInterface => Self::INVALID_SW_IF_INDEX,
            Refusal::NotEnabled => Self::IP6_NOT_ENABLED,
            Refusal::Bounds(_) | Refusal::Invalid => Self::INVALID_VALUE,
            Refusal::Unknown => Self::NO_SUCH_ENTRY,
            Refusal::Full => Self::LIMIT_EXCEEDED,
        }
    }
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
        return Ok(router.remove_ra_prefix(m.sw_if_index, prefix)?);
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
    Ok(router.set_ra_prefix(m.sw_if_index, &change)?)
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

/// Tells clients what another router said.
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
            Ok(router.configure_ra(m.sw_if_index, &m.changes())?)
        })
        .call(|router, m: SwInterfaceIp6ndRaPrefix| set_prefix(router, &m))
        .dump(|router, m: SwInterfaceIp6ndRaDump| {
            let wanted = |i: &InterfaceIndex| m.sw_if_index.0 == ALL || m.sw_if_index == *i;
            let all = router.advertisers().filter(|(i, _)| wanted(i));
            all.map(|(i, a)| details(router, i, a)).collect()
        })
        .call(|router, m: Ip6ndSendRouterSolicitation| {
            let Ip6ndSendRouterSolicitation { irt, mrt, mrc, mrd, .. } = m;
            let retries = Retries { first: irt, longest: mrt, count: mrc, duration: mrd };
            Ok(router.solicit_routers(m.sw_if_index, (!m.stop).then_some(retries))?)
        })
        .call_by(|router, caller, m: WantIp6RaEvents| {
            router.clients.want::<Ip6RaEvent>(caller.client, m.pid, m.enable)
        });
}

#[cfg(test)]
mod tests {
    use super::super::tests::advertisement;
    use super::*;
    use crate::neighbor::testing::Bench;

    fn nothing(sw_if_index: InterfaceIndex) -> SwInterfaceIp6ndRaConfig {
        SwInterfaceIp6ndRaConfig {
            sw_if_index,
            suppress: 0,
            managed: 0,
            other: 0,
            ll_option: 0,
            send_unicast: 0,
            cease: 0,
            is_no: false,
            default_router: 0,
            max_interval: 0,
            min_interval: 0,
            lifetime: 0,
            initial_count: 0,
            initial_interval: 0,
        }
    }

    #[test]
    fn advertisers_come_back_as_they_were_set() {
        Bench::new().talk(|local, router| {
            let pg0 = router.interfaces.named("pg0").unwrap().index;
            let base = nothing(pg0);
            let config = SwInterfaceIp6ndRaConfig {
                managed: 1,
                send_unicast: 1,
                max_interval: 20,
                default_router: 1,
                lifetime: 100,
                ..base.clone()
            };
            local.call(router, &config).unwrap();
            let on = SwInterfaceIp6ndRaConfig { is_no: true, suppress: 1, ..base.clone() };
            local.call(router, &on).unwrap();
            let prefix: wire::Prefix = "2001:db8::1/64".parse().unwrap();
            let set = |is_no| SwInterfaceIp6ndRaPrefix {
                sw_if_index: pg0,
                prefix: prefix.into(),
                use_default: false,
                no_advertise: false,
                off_link: false,
                no_autoconfig: true,
                no_onlink: false,
                is_no,
                val_lifetime: 20,
                pref_lifetime: 10,
            };
            local.call(router, &set(false)).unwrap();
            let dump = SwInterfaceIp6ndRaDump { sw_if_index: pg0 };
            let rows = local.dump(router, &dump);
            let (row, p) = (&rows[0], &rows[0].prefixes[0]);
            assert!(row.send_radv && row.adv_managed_flag && row.send_unicast);
            assert_eq!((row.max_radv_interval, row.min_radv_interval), (20.0, 15.0));
            assert_eq!((row.adv_router_lifetime, row.adv_link_mtu, rows.len()), (100, 9000, 1));
            assert_eq!((p.prefix, p.autonomous_flag), (prefix.into(), false));
            assert_eq!(
                local
                    .dump(router, &SwInterfaceIp6ndRaDump { sw_if_index: InterfaceIndex(ALL) })
                    .len(),
                2
            );
            local.call(router, &set(true)).unwrap();
            assert_eq!(local.call(router, &set(true)).err(), Some(Retval::NO_SUCH_ENTRY));
            let bad = SwInterfaceIp6ndRaConfig { max_interval: 2, ..base };
            assert_eq!(local.call(router, &bad).err(), Some(Retval::INVALID_VALUE));
            let nowhere = SwInterfaceIp6ndRaConfig { sw_if_index: InterfaceIndex(77), ..bad };
            assert_eq!(local.call(router, &nowhere).err(), Some(Retval::INVALID_SW_IF_INDEX));
            let look = |stop| Ip6ndSendRouterSolicitation {
                irt: 1,
                mrt: 0,
                mrc: 2,
                mrd: 0,
                sw_if_index: pg0,
                stop,
            };
            local.call(router, &look(false)).unwrap();
            local.call(router, &look(true)).unwrap();
        });
    }

    #[test]
    fn clients_hear_what_other_routers_say() {
        let mut b = Bench::new();
        let frame = advertisement("fe80::1", 1800, &[("2001:db8:7::", 50, 0xc0, 200, 100)]);
        let mut client = 0;
        b.talk(|local, router| {
            local.call(router, &WantIp6RaEvents { enable: true, pid: 7 }).unwrap();
            client = local.index();
            assert_eq!(router.clients.waiting(client), 0);
            let mut what = Advertised::new(InterfaceIndex(1), "fe80::1".parse().unwrap());
            what.lifetime = 1800;
            heard(router, &what);
            assert!(router.clients.waiting(client) > 0);
        });
        b.receive(b.pg0, &[frame]);
    }
}
