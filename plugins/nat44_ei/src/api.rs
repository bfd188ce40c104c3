//! Answers to the messages of the module `nat44_ei`.

use nat_log::{Level, Translator};
use net::prelude::*;
use translation::mapping::{Local, Mapping};
use translation::messages::{
    ANY, IdentityFields, SessionHost, SessionTraffic, StaticFields, buckets,
};
use translation::numbers::NatLogLevel;
use translation::ports::PortSet;
use translation::requests::SessionName;
use translation::role::Side;
use translation::session::{NatSession, STATIC, Timeouts};

use crate::messages::Nat44EiConfigFlags as Flags;
use crate::messages::*;
use crate::requests;
use crate::session_messages::*;
use crate::state::{Error, More, Nat, Role, Settings};

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("nat44_ei", "1.1.1")
        .call(|router: &mut Router, m: Nat44EiPluginEnableDisable| {
            if !m.enable {
                return Ok(Nat::disable(router)?);
            }
            if m.flags.contains(Flags::OUT2IN_DPO) {
                return Err(Retval::UNSUPPORTED);
            }
            let Nat44EiPluginEnableDisable { inside_vrf, outside_vrf, users, .. } = m;
            let Nat44EiPluginEnableDisable { sessions, user_sessions, flags, .. } = m;
            let is_static_only = flags.contains(Flags::STATIC_MAPPING_ONLY);
            let tracks = flags.contains(Flags::CONNECTION_TRACKING);
            let more = More { users, user_sessions, is_static_only, tracks, ..More::default() };
            let new = Settings { inside_vrf, outside_vrf, sessions, more, ..Settings::default() };
            Ok(Nat::enable(router, new)?)
        })
        .call(|router, _: Nat44EiShowRunningConfig| running(router))
        .call(|router, m: Nat44EiForwardingEnableDisable| {
            Ok(Nat::set_forwarding(router, m.enable)?)
        })
        .call(|router, m: Nat44EiSetTimeouts| {
            let (established, transitory) = (m.tcp_established, m.tcp_transitory);
            let new = Timeouts { udp: m.udp, established, transitory, icmp: m.icmp };
            Ok(Nat::set_timeouts(router, new)?)
        })
        .call(|router, m: Nat44EiSetMssClamping| {
            Ok(Nat::set_mss(router, m.enable.then_some(m.mss_value))?)
        })
        .call(|router, m: Nat44EiSetFqOptions| {
            Ok(Nat::frame_queue(router, Some(m.frame_queue_nelts)).map(drop)?)
        })
        .call(|router: &mut Router, _: Nat44EiShowFqOptions| {
            let frame_queue_nelts = Nat::frame_queue(router, None)?;
            Ok(Nat44EiShowFqOptionsReply { frame_queue_nelts })
        })
        .call(|router, _: Nat44EiGetMssClamping| {
            let mss = Nat::known(router).mss;
            let mss_value = mss.unwrap_or(0);
            Ok(Nat44EiGetMssClampingReply { mss_value, enable: mss.is_some() })
        })
        .call(|router, m: Nat44EiIpfixEnableDisable| {
            let to = m.enable.then_some((m.domain_id, m.src_port));
            Ok(requests::set_export(router, to)?)
        })
        .call(|router, m: Nat44EiSetLogLevel| {
            let level = Level::of(m.log_level.0).ok_or(Retval::INVALID_VALUE)?;
            Translator::Nat44Ei.set_level(router, level);
            Ok(())
        })
        .call(|router, m: Nat44EiSetWorkers| Ok(Nat::set_worker_mask(router, m.worker_mask)?))
        .dump(|router, _: Nat44EiWorkerDump| {
            Nat::worker_rows(router).map(|worker| Nat44EiWorkerDetails { worker }).collect()
        });
    register_ports(api);
    register_interfaces(api);
    register_addresses(api);
    register_mappings(api);
    register_sessions(api);
}

fn running(router: &mut Router) -> Result<Nat44EiShowRunningConfigReply, Retval> {
    let s = Nat::settings(router)?;
    let flags = Flags::NONE
        .with(Flags::STATIC_MAPPING_ONLY, s.more.is_static_only)
        .with(Flags::CONNECTION_TRACKING, s.more.tracks);
    Ok(Nat44EiShowRunningConfigReply {
        inside_vrf: s.inside_vrf,
        outside_vrf: s.outside_vrf,
        users: s.more.users,
        sessions: s.sessions,
        user_sessions: s.more.user_sessions,
        user_buckets: buckets(s.more.users),
        translation_buckets: buckets(s.sessions),
        forwarding_enabled: s.is_forwarding,
        ipfix_logging_enabled: nat_log::exported(router).is_some(),
        timeouts: s.timeouts.into(),
        log_level: NatLogLevel(Translator::Nat44Ei.level(router).number()),
        flags,
    })
}

fn register_ports(api: &mut Api<Router>) {
    api.plugin("nat44_ei", "1.1.1")
        .call(|router: &mut Router, m: Nat44EiSetAddrAndPortAllocAlg| {
            let ports = match m.alg {
                0 => PortSet::All,
                1 => PortSet::Psid { offset: m.psid_offset, len: m.psid_length, psid: m.psid },
                2 => PortSet::Range { first: m.start_port, last: m.end_port },
                _ => return Err(Retval::INVALID_VALUE),
            };
            Ok(requests::set_ports(router, ports)?)
        })
        .call(|router, _: Nat44EiGetAddrAndPortAllocAlg| {
            let none = Nat44EiGetAddrAndPortAllocAlgReply {
                alg: 0,
                psid_offset: 0,
                psid_length: 0,
                psid: 0,
                start_port: 0,
                end_port: 0,
            };
            Ok(match Nat::known(router).more.ports {
                PortSet::All => none,
                PortSet::Psid { offset: psid_offset, len: psid_length, psid } => {
                    let alg = 1;
                    Nat44EiGetAddrAndPortAllocAlgReply {
                        alg,
                        psid_offset,
                        psid_length,
                        psid,
                        ..none
                    }
                }
                PortSet::Range { first: start_port, last: end_port } => {
                    Nat44EiGetAddrAndPortAllocAlgReply { alg: 2, start_port, end_port, ..none }
                }
            })
        });
}

fn register_interfaces(api: &mut Api<Router>) {
    let set_output = |router: &mut Router, interface, is_add| {
        Nat::set_interface(router, interface, Side::Output, is_add)
    };
    api.plugin("nat44_ei", "1.1.1")
        .call(|router: &mut Router, m: Nat44EiInterfaceAddDelFeature| {
            let (interface, is_add) = (m.sw_if_index, m.is_add);
            Ok(match m.flags.contains(Flags::IF_INSIDE) {
                true => Nat::set_interface(router, interface, Side::Inside, is_add),
                false => Nat::set_interface(router, interface, Side::Outside, is_add),
            }?)
        })
        .dump(|router, _: Nat44EiInterfaceDump| {
            let all = router.settings::<Role>().filter(|(_, r)| r.is_inside || r.is_outside);
            let details = all.map(|(sw_if_index, r)| Nat44EiInterfaceDetails {
                flags: Flags::NONE
                    .with(Flags::IF_INSIDE, r.is_inside)
                    .with(Flags::IF_OUTSIDE, r.is_outside),
                sw_if_index,
            });
            details.collect()
        })
        .call(move |router, m: Nat44EiInterfaceAddDelOutputFeature| {
            // Hosts are known by their addresses: what is inside needs nothing.
            match m.flags.contains(Flags::IF_INSIDE) {
                true => Ok(Nat::set_interface(router, m.sw_if_index, Side::Inside, m.is_add)?),
                false => Ok(set_output(router, m.sw_if_index, m.is_add)?),
            }
        })
        .dump(|router, _: Nat44EiInterfaceOutputFeatureDump| {
            let all = router.settings::<Role>().filter(|(_, r)| r.is_output);
            let details = all.map(|(sw_if_index, _)| Nat44EiInterfaceOutputFeatureDetails {
                flags: Flags::IF_OUTSIDE,
                sw_if_index,
            });
            details.collect()
        })
        .call(move |router, m: Nat44EiAddDelOutputInterface| {
            Ok(set_output(router, m.sw_if_index, m.is_add)?)
        })
        .stream_rows(
            |m: &Nat44EiOutputInterfaceGet| m.cursor,
            |router, _, piece| {
                let mut all = router.settings::<Role>().filter(|(_, r)| r.is_output);
                all.all(|(i, _)| {
                    piece.offer(i.0, || Nat44EiOutputInterfaceDetails { sw_if_index: i })
                });
                Ok(())
            },
            |cursor| Nat44EiOutputInterfaceGetReply { cursor },
        );
}

fn register_addresses(api: &mut Api<Router>) {
    api.plugin("nat44_ei", "1.1.1")
        .call(|router: &mut Router, m: Nat44EiAddDelInterfaceAddr| {
            Ok(Nat::set_interface_address(router, m.sw_if_index, false, m.is_add)?)
        })
        .dump(|router, _: Nat44EiInterfaceAddrDump| {
            let all = Nat::known(router).pool.interfaces;
            let details =
                all.into_iter().map(|(sw_if_index, _)| Nat44EiInterfaceAddrDetails { sw_if_index });
            details.collect()
        })
        .call(|router, m: Nat44EiAddDelAddressRange| {
            let range = [m.first_ip_address, m.last_ip_address];
            let vrf = Some(m.vrf_id).filter(|vrf| *vrf != ANY);
            Ok(requests::set_addresses(router, range, vrf, m.is_add)?)
        })
        .dump(|router, _: Nat44EiAddressDump| {
            let all = Nat::known(router).pool.all(router);
            let details = all.into_iter().map(|a| Nat44EiAddressDetails {
                ip_address: a.addr,
                vrf_id: a.vrf.unwrap_or(ANY),
            });
            details.collect()
        });
}

fn flags_of(m: &Mapping) -> Flags {
    Flags::NONE.with(Flags::ADDR_ONLY_MAPPING, m.is_of_address())
}

fn register_mappings(api: &mut Api<Router>) {
    api.plugin("nat44_ei", "1.1.1")
        .call(|router: &mut Router, m: Nat44EiAddDelStaticMapping| {
            let mapping = m.mapping.mapping(m.flags.contains(Flags::ADDR_ONLY_MAPPING));
            Ok(Nat::set_mapping(router, mapping, m.is_add)?)
        })
        .dump(|router, _: Nat44EiStaticMappingDump| {
            let all = Nat::mappings(router, |m| !m.is_identity);
            let details = all.map(|(m, local)| Nat44EiStaticMappingDetails {
                flags: flags_of(&m),
                mapping: StaticFields::of(&m, &local),
            });
            details.collect()
        })
        .call(|router, m: Nat44EiAddDelIdentityMapping| {
            let mapping = m.mapping.mapping(m.flags.contains(Flags::ADDR_ONLY_MAPPING));
            Ok(Nat::set_mapping(router, mapping, m.is_add)?)
        })
        .dump(|router, _: Nat44EiIdentityMappingDump| {
            let all = Nat::mappings(router, |m| m.is_identity);
            let details = all.map(|(m, local)| Nat44EiIdentityMappingDetails {
                flags: flags_of(&m),
                mapping: identity(&m, &local),
            });
            details.collect()
        });
}

/// As in the original, one of all protocols has the reserved number.
fn identity(m: &Mapping, local: &Local) -> IdentityFields {
    let fields = IdentityFields::of(m, local);
    let protocol = if m.is_of_address() { u8::MAX } else { fields.protocol };
    IdentityFields { protocol, ..fields }
}

fn details(router: &Router, s: &NatSession) -> Nat44EiUserSessionV2Details {
    Nat44EiUserSessionV2Details {
        host: SessionHost::of(s),
        flags: Flags::NONE.with(Flags::STATIC_MAPPING, s.data.is(STATIC)),
        last_heard: s.heard() as u64,
        time_since_last_heard: (router.now() - s.heard()).max(0.0) as u64,
        traffic: SessionTraffic::of(s, false),
    }
}

impl From<Nat44EiUserSessionV2Details> for Nat44EiUserSessionDetails {
    fn from(s: Nat44EiUserSessionV2Details) -> Self {
        let Nat44EiUserSessionV2Details { host, flags, last_heard, traffic, .. } = s;
        Self { host, flags, last_heard, traffic }
    }
}

fn register_sessions(api: &mut Api<Router>) {
    api.plugin("nat44_ei", "1.1.1")
        .task(|router: &mut Router, _, m: Nat44EiDelSession| {
            let name = SessionName {
                far: None,
                is_inside: m.flags.contains(Flags::IF_INSIDE),
                near: (m.address.octets(), m.port),
                protocol: Protocol(m.protocol),
                vrf: m.vrf_id,
            };
            Ok(Nat::remove_session(router, name, |done| Ok(done?))?)
        })
        .task(|router, _, m: Nat44EiDelUser| {
            let table = TableIndex(m.fib_index.try_into().unwrap_or(u16::MAX));
            requests::remove_user(router, m.ip_address, table, |done| match done {
                // A host without sessions has a number of its own in the original.
                Err(Error::Unknown) => Err(Retval(1)),
                done => Ok(done?),
            })
            .map_err(Retval::from)
        })
        .dump_some(|router, _: Nat44EiUserDump| {
            Nat::users(router, |user| Nat44EiUserDetails { user })
        })
        .dump_some(|router, m: Nat44EiUserSessionDump| {
            let row = |router: &Router, s: &NatSession| details(router, s).into();
            Nat::sessions_of(router, m.ip_address, m.vrf_id, row)
        })
        .dump_some(|router, m: Nat44EiUserSessionV2Dump| {
            Nat::sessions_of(router, m.ip_address, m.vrf_id, details)
        });
}
