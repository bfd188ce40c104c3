//! Answers to the messages of the module `nat44_ed`.

use nat_log::Translator;
use net::prelude::*;
use translation::mapping::{Local, Mapping, Twice};
use translation::messages::{
    ANY, IdentityFields, SessionHost, SessionTraffic, StaticFields, buckets,
};
use translation::numbers::{NatConfigFlags, NatLogLevel};
use translation::requests::SessionName;
use translation::role::Side;
use translation::session::{BALANCED, NatSession, STATIC, TWICE, Timeouts};

use crate::messages::*;
use crate::requests;
use crate::session_messages::*;
use crate::state::{Error, Nat, Role, Settings};

fn has(flags: NatConfigFlags, flag: NatConfigFlags) -> bool {
    flags.0 & flag.0 != 0
}

fn flags(all: &[(NatConfigFlags, bool)]) -> NatConfigFlags {
    NatConfigFlags(all.iter().filter(|(_, is)| *is).fold(0, |sum, (flag, _)| sum | flag.0))
}

/// Flags of a mapping.
fn flags_of(m: &Mapping) -> NatConfigFlags {
    flags(&[
        (NatConfigFlags::TWICE_NAT, m.twice == Twice::Always),
        (NatConfigFlags::SELF_TWICE_NAT, m.twice == Twice::ToItself),
        (NatConfigFlags::OUT2IN_ONLY, m.is_out2in_only),
        (NatConfigFlags::ADDR_ONLY, m.is_of_address()),
    ])
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("nat44_ed", "5.5.0")
        .call(|router: &mut Router, m: Nat44EdPluginEnableDisable| {
            if !m.enable {
                return Ok(Nat::disable(router)?);
            }
            let Nat44EdPluginEnableDisable { inside_vrf, outside_vrf, sessions, .. } = m;
            let new = Settings { inside_vrf, outside_vrf, sessions, ..Settings::default() };
            Ok(Nat::enable(router, new)?)
        })
        .call(|router, m: Nat44ForwardingEnableDisable| Ok(Nat::set_forwarding(router, m.enable)?))
        .call(|router, m: NatSetTimeouts| {
            let NatSetTimeouts { udp, tcp_established, tcp_transitory, icmp } = m;
            let (established, transitory) = (tcp_established, tcp_transitory);
            Ok(Nat::set_timeouts(router, Timeouts { udp, established, transitory, icmp })?)
        })
        .call(|router, m: Nat44SetSessionLimit| {
            Ok(requests::set_limit(router, m.vrf_id, m.session_limit)?)
        })
        .call(|router, _: Nat44ShowRunningConfig| running(router))
        .call(|router, m: NatSetMssClamping| {
            Ok(Nat::set_mss(router, m.enable.then_some(m.mss_value))?)
        })
        .call(|router, m: Nat44EdSetFqOptions| {
            Ok(Nat::frame_queue(router, Some(m.frame_queue_nelts)).map(drop)?)
        })
        .call(|router: &mut Router, _: Nat44EdShowFqOptions| {
            let frame_queue_nelts = Nat::frame_queue(router, None)?;
            Ok(Nat44EdShowFqOptionsReply { frame_queue_nelts })
        })
        .call(|router, _: NatGetMssClamping| {
            let mss = Nat::known(router).mss;
            let mss_value = mss.unwrap_or(0);
            Ok(NatGetMssClampingReply { mss_value, enable: mss.is_some() })
        });
    register_interfaces(api);
    register_addresses(api);
    register_mappings(api);
    register_sessions(api);
    register_tables(api);
}

fn running(router: &mut Router) -> Result<Nat44ShowRunningConfigReply, Retval> {
    let s = Nat::settings(router)?;
    Ok(Nat44ShowRunningConfigReply {
        inside_vrf: s.inside_vrf,
        outside_vrf: s.outside_vrf,
        users: 0,
        sessions: s.sessions,
        user_sessions: 0,
        user_buckets: 0,
        translation_buckets: buckets(s.sessions),
        forwarding_enabled: s.is_forwarding,
        ipfix_logging_enabled: false,
        timeouts: s.timeouts.into(),
        log_level: NatLogLevel(Translator::Nat44Ed.level(router).number()),
        flags: Nat44ConfigFlags::ENDPOINT_DEPENDENT,
    })
}

fn register_interfaces(api: &mut Api<Router>) {
    api.plugin("nat44_ed", "5.5.0")
        .call(|router: &mut Router, m: Nat44InterfaceAddDelFeature| {
            let is_inside = has(m.flags, NatConfigFlags::INSIDE);
            let (interface, is_add) = (m.sw_if_index, m.is_add);
            Ok(match is_inside {
                true => Nat::set_interface(router, interface, Side::Inside, is_add),
                false => Nat::set_interface(router, interface, Side::Outside, is_add),
            }?)
        })
        .dump(|router, _: Nat44InterfaceDump| {
            let all = router.settings::<Role>().filter(|(_, r)| r.is_inside || r.is_outside);
            let details = all.map(|(sw_if_index, r)| Nat44InterfaceDetails {
                flags: flags(&[
                    (NatConfigFlags::INSIDE, r.is_inside),
                    (NatConfigFlags::OUTSIDE, r.is_outside),
                ]),
                sw_if_index,
            });
            details.collect()
        })
        .call(|router, m: Nat44EdAddDelOutputInterface| {
            let (interface, is_add) = (m.sw_if_index, m.is_add);
            Ok(Nat::set_interface(router, interface, Side::Output, is_add)?)
        })
        .stream_rows(
            |m: &Nat44EdOutputInterfaceGet| m.cursor,
            |router, _, piece| {
                let mut all = router.settings::<Role>().filter(|(_, r)| r.is_output);
                all.all(|(i, _)| {
                    piece.offer(i.0, || Nat44EdOutputInterfaceDetails { sw_if_index: i })
                });
                Ok(())
            },
            |cursor| Nat44EdOutputInterfaceGetReply { cursor },
        );
}

fn register_addresses(api: &mut Api<Router>) {
    api.plugin("nat44_ed", "5.5.0")
        .call(|router: &mut Router, m: Nat44AddDelInterfaceAddr| {
            let is_twice = has(m.flags, NatConfigFlags::TWICE_NAT);
            Ok(Nat::set_interface_address(router, m.sw_if_index, is_twice, m.is_add)?)
        })
        .dump(|router, _: Nat44InterfaceAddrDump| {
            let all = Nat::known(router).pool.interfaces.into_iter();
            let details = all.map(|(sw_if_index, is_twice)| {
                let flags = flags(&[(NatConfigFlags::TWICE_NAT, is_twice)]);
                Nat44InterfaceAddrDetails { sw_if_index, flags }
            });
            details.collect()
        })
        .call(|router, m: Nat44AddDelAddressRange| {
            let range = [m.first_ip_address, m.last_ip_address];
            let vrf = Some(m.vrf_id).filter(|vrf| *vrf != ANY);
            let is_twice = has(m.flags, NatConfigFlags::TWICE_NAT);
            Ok(Nat::set_addresses(router, range, vrf, is_twice, m.is_add)?)
        })
        .dump(|router, _: Nat44AddressDump| {
            let all = Nat::known(router).pool.all(router).into_iter();
            let details = all.map(|a| Nat44AddressDetails {
                ip_address: a.addr,
                flags: flags(&[(NatConfigFlags::TWICE_NAT, a.is_twice)]),
                vrf_id: a.vrf.unwrap_or(ANY),
            });
            details.collect()
        });
}

/// A mapping as a message names it.
fn mapping(
    flags: NatConfigFlags,
    fields: &StaticFields,
    pool: Option<Ipv4Addr>,
) -> Result<Mapping, Error> {
    let always = has(flags, NatConfigFlags::TWICE_NAT);
    Ok(Mapping {
        is_out2in_only: has(flags, NatConfigFlags::OUT2IN_ONLY),
        twice: requests::twice_of(always, has(flags, NatConfigFlags::SELF_TWICE_NAT))?,
        pool,
        ..fields.mapping(has(flags, NatConfigFlags::ADDR_ONLY))
    })
}

impl Nat44LbAddrPort {
    fn local(&self) -> Local {
        let Self { addr, port, probability, vrf_id: vrf } = *self;
        Local { addr, port, probability, vrf }
    }
    fn of(local: &Local) -> Self {
        let Local { addr, port, probability, vrf } = *local;
        Self { addr, port, probability, vrf_id: vrf }
    }
}

fn balanced(m: &Nat44AddDelLbStaticMapping) -> Result<Mapping, Error> {
    let always = has(m.flags, NatConfigFlags::TWICE_NAT);
    Ok(Mapping {
        locals: m.locals.iter().map(Nat44LbAddrPort::local).collect(),
        is_balanced: true,
        external: m.external_addr,
        port: m.external_port,
        protocol: Some(Protocol(m.protocol)),
        interface: None,
        is_identity: false,
        is_out2in_only: has(m.flags, NatConfigFlags::OUT2IN_ONLY),
        twice: requests::twice_of(always, has(m.flags, NatConfigFlags::SELF_TWICE_NAT))?,
        affinity: m.affinity,
        pool: None,
        tag: m.tag.to_string(),
    })
}

fn register_mappings(api: &mut Api<Router>) {
    api.plugin("nat44_ed", "5.5.0")
        .call(|router: &mut Router, m: Nat44AddDelStaticMapping| {
            Ok(Nat::set_mapping(router, mapping(m.flags, &m.mapping, None)?, m.is_add)?)
        })
        .call(|router, m: Nat44AddDelStaticMappingV2| {
            let pool = m.match_pool.then_some(m.pool_ip_address);
            Ok(Nat::set_mapping(router, mapping(m.flags, &m.mapping, pool)?, m.is_add)?)
        })
        .dump(|router, _: Nat44StaticMappingDump| {
            let all = Nat::mappings(router, |m| !m.is_identity && !m.is_balanced);
            let details = all.map(|(m, local)| Nat44StaticMappingDetails {
                flags: flags_of(&m),
                mapping: StaticFields::of(&m, &local),
            });
            details.collect()
        })
        .call(|router, m: Nat44AddDelIdentityMapping| {
            let is_of_address = has(m.flags, NatConfigFlags::ADDR_ONLY);
            Ok(Nat::set_mapping(router, m.mapping.mapping(is_of_address), m.is_add)?)
        })
        .dump(|router, _: Nat44IdentityMappingDump| {
            let all = Nat::mappings(router, |m| m.is_identity);
            let details = all.map(|(m, local)| Nat44IdentityMappingDetails {
                flags: flags_of(&m),
                mapping: IdentityFields::of(&m, &local),
            });
            details.collect()
        })
        .call(|router, m: Nat44AddDelLbStaticMapping| {
            Ok(Nat::set_mapping(router, balanced(&m)?, m.is_add)?)
        })
        .call(|router, m: Nat44LbStaticMappingAddDelLocal| {
            let external = (m.external_addr, m.external_port, Protocol(m.protocol));
            Ok(requests::set_local(router, external, m.local.local(), m.is_add)?)
        })
        .dump(|router, _: Nat44LbStaticMappingDump| {
            let all = Nat::known(router).mappings;
            let details =
                all.iter().filter(|m| m.is_balanced).map(|m| Nat44LbStaticMappingDetails {
                    external_addr: m.external,
                    external_port: m.port,
                    protocol: m.protocol.map_or(0, |p| p.0),
                    flags: flags_of(m),
                    affinity: m.affinity,
                    tag: m.tag.as_str().into(),
                    locals: m.locals.iter().map(Nat44LbAddrPort::of).collect(),
                });
            details.collect()
        });
}

/// Whether a session is over.
fn is_over(router: &Router, s: &NatSession) -> bool {
    let timeouts = Nat::settings(router).map(|s| s.timeouts).unwrap_or_default();
    router.now() - s.heard() > timeouts.of(s).into()
}

impl SessionFields {
    fn of(s: &NatSession) -> Self {
        let far = Some(&s.forward).filter(|_| s.data.is(TWICE));
        Self {
            host: SessionHost::of(s),
            flags: flags(&[
                (NatConfigFlags::STATIC, s.data.is(STATIC | BALANCED)),
                (NatConfigFlags::TWICE_NAT, far.is_some()),
                (NatConfigFlags::EXT_HOST_VALID, true),
            ]),
            last_heard: s.heard() as u64,
            traffic: SessionTraffic::of(s, true),
            ext_host_nat_address: far.map_or(Ipv4Addr::UNSPECIFIED, |f| f.dst.into()),
            ext_host_nat_port: far.map_or(0, |f| f.dst_port),
        }
    }
}

fn details(router: &Router, s: &NatSession) -> Nat44UserSessionV3Details {
    let fields = SessionFields::of(s);
    let SessionFields { host, flags, last_heard, traffic, .. } = fields;
    Nat44UserSessionV3Details {
        host,
        flags,
        last_heard,
        time_since_last_heard: (router.now() - s.heard()).max(0.0) as u64,
        traffic,
        ext_host_nat_address: fields.ext_host_nat_address,
        ext_host_nat_port: fields.ext_host_nat_port,
        is_timed_out: is_over(router, s),
    }
}

fn register_sessions(api: &mut Api<Router>) {
    api.plugin("nat44_ed", "5.5.0")
        .task(|router: &mut Router, _, m: Nat44DelSession| {
            let far = (m.ext_host_address.octets(), m.ext_host_port);
            let name = SessionName {
                is_inside: has(m.flags, NatConfigFlags::INSIDE),
                near: (m.address.octets(), m.port),
                far: has(m.flags, NatConfigFlags::EXT_HOST_VALID).then_some(far),
                protocol: Protocol(m.protocol),
                vrf: m.vrf_id,
            };
            Ok(Nat::remove_session(router, name, |done| Ok(done?))?)
        })
        .dump_some(|router, _: Nat44UserDump| Nat::users(router, |user| Nat44UserDetails { user }))
        .dump_some(|router, m: Nat44UserSessionDump| {
            Nat::sessions_of(router, m.ip_address, m.vrf_id, |_, s| Nat44UserSessionDetails {
                session: SessionFields::of(s),
            })
        })
        .dump_some(|router, m: Nat44UserSessionV2Dump| {
            Nat::sessions_of(router, m.ip_address, m.vrf_id, |router, s| {
                let is_timed_out = is_over(router, s);
                Nat44UserSessionV2Details { session: SessionFields::of(s), is_timed_out }
            })
        })
        .dump_some(|router, m: Nat44UserSessionV3Dump| {
            Nat::sessions_of(router, m.ip_address, m.vrf_id, details)
        });
}

/// Tables of hosts with those of their far ends.
fn tables(router: &Router) -> Vec<(u32, Vec<u32>)> {
    let all = Nat::settings(router).map(|s| s.more.vrfs.clone()).unwrap_or_default();
    all.into_iter().map(|(table, far)| (table, far.into_iter().collect())).collect()
}

fn register_tables(api: &mut Api<Router>) {
    api.plugin("nat44_ed", "5.5.0")
        .call(|router: &mut Router, m: Nat44EdAddDelVrfTable| {
            Ok(requests::set_table(router, m.table_vrf_id, m.is_add)?)
        })
        .call(|router, m: Nat44EdAddDelVrfRoute| {
            Ok(requests::set_route(router, m.table_vrf_id, m.vrf_id, m.is_add)?)
        })
        .dump(|router, _: Nat44EdVrfTablesDump| {
            let all = tables(router).into_iter();
            let details = all
                .map(|(table_vrf_id, vrf_ids)| Nat44EdVrfTablesDetails { table_vrf_id, vrf_ids });
            details.collect()
        })
        .dump(|router, _: Nat44EdVrfTablesV2Dump| {
            let all = tables(router).into_iter();
            let details = all
                .map(|(table_vrf_id, vrf_ids)| Nat44EdVrfTablesV2Details { table_vrf_id, vrf_ids });
            details.collect()
        })
        .call(|router, m: NatSetWorkers| Ok(Nat::set_worker_mask(router, m.worker_mask)?))
        .dump(|router, _: NatWorkerDump| {
            Nat::worker_rows(router).map(|worker| NatWorkerDetails { worker }).collect()
        });
}
