//! API messages of the module `ipsec`.

mod associations;
mod convert;
mod policies;
mod types;

use net::prelude::*;
use net::tunnel::TunnelMode;

use super::{Ipsec, protect, sa, spd};

pub use associations::*;
pub use policies::*;
pub use types::*;

use convert::{Described, policy};

const BACKEND: &str = "crypto engine backend";

fn is_known(protocol: IpsecProto) -> bool {
    protocol == IpsecProto::ESP || protocol == IpsecProto::AH
}

/// The associations selected by a request.
fn chosen(router: &Router, id: u32) -> Vec<Described<'_>> {
    // Clients that leave the field out send 0.
    let is_meant = |sa: &sa::Sa| id == u32::MAX || id == 0 || sa.config.id == id;
    let found = sa::all(router).filter(|(_, sa)| is_meant(sa));
    found.map(|(index, sa)| Described { router, index, sa }).collect()
}

fn add_del(
    router: &mut Router,
    is_add: bool,
    id: u32,
    config: Result<sa::Config, Retval>,
) -> Result<CountedReply, Retval> {
    if is_add {
        return Ok(CountedReply { stat_index: sa::add(router, config?)? });
    }
    sa::remove(router, id)?;
    Ok(CountedReply { stat_index: 0 })
}

fn add_del_policy(
    router: &mut Router,
    is_add: bool,
    fields: &PolicyFields,
) -> Result<CountedReply, Retval> {
    let (id, policy) = policy(fields)?;
    let stat_index = match is_add {
        true => spd::add_policy(router, id, policy)?,
        false => spd::remove_policy(router, id, &policy)?,
    };
    Ok(CountedReply { stat_index })
}

pub(super) fn register(api: &mut Api<Router>) {
    let mut module = api.core("ipsec", "5.0.2");
    module
        .call(|router: &mut Router, m: IpsecSadEntryAddDel| {
            let config = m.entry.native(router);
            add_del(router, m.is_add, m.entry.keys.sad_id, config)
        })
        .call(|router, m: IpsecSadEntryAddDelV2| {
            let config = m.entry.native(router);
            add_del(router, m.is_add, m.entry.keys.sad_id, config)
        })
        .call(|router, m: IpsecSadEntryAddDelV3| {
            let config = m.entry.native(router);
            add_del(router, m.is_add, m.entry.keys.sad_id, config)
        })
        .call(|router, m: IpsecSadEntryAdd| {
            let config = m.entry.native(router)?;
            Ok(CountedReply { stat_index: sa::add(router, config)? })
        })
        .call(|router, m: IpsecSadEntryAddV2| {
            let config = m.entry.native(router)?;
            Ok(CountedReply { stat_index: sa::add(router, config)? })
        })
        .call(|router, m: IpsecSadEntryDel| Ok(sa::remove(router, m.id)?))
        .call(|router, m: IpsecSadBind| Ok(sa::bind(router, m.sa_id, Some(m.worker))?))
        .call(|router, m: IpsecSadUnbind| Ok(sa::bind(router, m.sa_id, None)?))
        .call(|router, m: IpsecSadEntryUpdate| {
            let port = |port| Some(port).filter(|port| *port != u16::MAX);
            let tunnel = if m.is_tun { Some(m.tunnel.native(router)?) } else { None };
            let ports = (port(m.udp_src_port), port(m.udp_dst_port));
            Ok(sa::update(router, m.sad_id, tunnel, ports)?)
        })
        .dump(|router, m: IpsecSaDump| {
            chosen(router, m.sa_id).iter().map(Described::details).collect()
        })
        .dump(|router, m: IpsecSaV2Dump| {
            chosen(router, m.sa_id).iter().map(Described::details_v2).collect()
        })
        .dump(|router, m: IpsecSaV3Dump| {
            chosen(router, m.sa_id).iter().map(Described::details_v3).collect()
        })
        .dump(|router, m: IpsecSaV4Dump| {
            chosen(router, m.sa_id).iter().map(Described::details_v4).collect()
        })
        .dump(|router, m: IpsecSaV5Dump| {
            chosen(router, m.sa_id).iter().map(Described::details_v5).collect()
        });
    register_policies(api);
    register_tunnels(api);
}

fn register_policies(api: &mut Api<Router>) {
    api.core("ipsec", "5.0.2")
        .call(|router: &mut Router, m: IpsecSpdAddDel| match m.is_add {
            true => Ok(spd::add(router, m.spd_id)?),
            false => Ok(spd::remove(router, m.spd_id)?),
        })
        .call(|router, m: IpsecInterfaceAddDelSpd| {
            let id = m.is_add.then_some(m.spd_id);
            Ok(spd::apply(router, m.sw_if_index, id)?)
        })
        .call(|router, m: IpsecSpdEntryAddDel| {
            let protocol = Some(m.entry.policy.protocol).filter(|protocol| *protocol != 0);
            let protocol = protocol.unwrap_or(convert::ANY);
            add_del_policy(router, m.is_add, &PolicyFields { protocol, ..m.entry.policy })
        })
        .call(|router, m: IpsecSpdEntryAddDelV2| add_del_policy(router, m.is_add, &m.entry.policy))
        .dump(|router, _: IpsecSpdsDump| {
            let row = |(_, spd): (u32, &spd::Spd)| {
                let npolicies = spd.policies().len() as u32;
                IpsecSpdsDetails { spd_id: spd.id(), npolicies }
            };
            spd::all(router).map(row).collect()
        })
        .dump(|router, m: IpsecSpdDump| {
            let found = spd::all(router).find(|(_, spd)| spd.id() == m.spd_id);
            let all = found.map(|(_, spd)| spd.policies()).unwrap_or_default();
            let rows = all.iter().map(|(_, policy)| convert::described(m.spd_id, policy));
            let is_meant = |row: &PolicyFields| m.sa_id == u32::MAX || row.sa_id == m.sa_id;
            let details = |policy| IpsecSpdDetails { entry: IpsecSpdEntry { policy } };
            rows.filter(is_meant).map(details).collect()
        })
        .dump(|router, m: IpsecSpdInterfaceDump| {
            let is_meant = |id: u32| m.spd_index_valid == 0 || id == m.spd_index;
            let row =
                |(sw_if_index, spd_index)| IpsecSpdInterfaceDetails { spd_index, sw_if_index };
            spd::applied(router).into_iter().filter(|(_, id)| is_meant(*id)).map(row).collect()
        })
        .dump(|_, _: IpsecBackendDump| {
            let row = |protocol| IpsecBackendDetails {
                name: BACKEND.to_owned().into(),
                protocol,
                index: 0,
                active: true,
            };
            vec![row(IpsecProto::AH), row(IpsecProto::ESP)]
        })
        .call(|_, m: IpsecSelectBackend| match m.index {
            _ if !is_known(m.protocol) => Err(Retval::INVALID_VALUE),
            0 => Ok(()),
            _ => Err(Retval::INVALID_VALUE),
        })
        .call(|router, m: IpsecSetAsyncMode| {
            router.own_mut::<Ipsec>().is_async = m.async_enable;
            Ok(())
        });
}

fn register_tunnels(api: &mut Api<Router>) {
    api.core("ipsec", "5.0.2")
        .call(|router: &mut Router, m: IpsecTunnelProtectUpdate| {
            let nh = m.tunnel.nh.native()?;
            let (interface, sa_in) = (m.tunnel.sw_if_index, &m.tunnel.sa_in);
            Ok(protect::update(router, interface, nh, m.tunnel.sa_out, sa_in)?)
        })
        .call(|router, m: IpsecTunnelProtectDel| {
            Ok(protect::remove(router, m.sw_if_index, m.nh.native()?)?)
        })
        .dump(|router, m: IpsecTunnelProtectDump| {
            let is_meant = |i: InterfaceIndex| m.sw_if_index.0 == u32::MAX || i == m.sw_if_index;
            let all = protect::all(router).filter(|t| is_meant(t.interface));
            let row = |t: &protect::Protected| IpsecTunnelProtect {
                sw_if_index: t.interface,
                nh: t.next_hop.into(),
                sa_out: protect::id_of(router, t.sa_out),
                sa_in: t.sa_in.iter().map(|sa| protect::id_of(router, *sa)).collect(),
            };
            all.map(|t| IpsecTunnelProtectDetails { tun: row(t) }).collect()
        })
        .call(|router, m: IpsecItfCreate| {
            let instance = Some(m.itf.user_instance).filter(|n| *n != u32::MAX);
            let is_multipoint = m.itf.mode == TunnelMode::MP;
            let sw_if_index = protect::itf::add(router, instance, is_multipoint)?;
            Ok(IpsecItfCreateReply { sw_if_index })
        })
        .call(|router, m: IpsecItfDelete| Ok(protect::itf::remove(router, m.sw_if_index)?))
        .dump(|router, m: IpsecItfDump| {
            let is_meant = |i: InterfaceIndex| m.sw_if_index.0 == u32::MAX || i == m.sw_if_index;
            let row = |(sw_if_index, itf): (InterfaceIndex, protect::itf::Itf)| IpsecItfDetails {
                itf: IpsecItf {
                    user_instance: itf.instance,
                    mode: TunnelMode::of(itf.is_multipoint),
                    sw_if_index,
                },
            };
            protect::itf::all(router).filter(|(i, _)| is_meant(*i)).map(row).collect()
        });
}
