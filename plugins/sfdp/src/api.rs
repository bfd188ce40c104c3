//! Answers to messages.

use net::prelude::*;
use sessions::slices;

use super::error::Error;
use super::messages::*;
use super::show::Row;
use super::tenant::{self, ICMP_ERRORS};
use super::{Sfdp, input, nat, rows};

/// The name of the only set of services.
const SCOPE: &str = "default";
/// A context or tenant that is not said.
const NONE: u32 = u32::MAX;

fn details(row: &Row) -> SfdpSessionDetails {
    SfdpSessionDetails {
        session_id: row.id,
        thread_index: row.thread as u32,
        tenant_id: row.tenant,
        session_idx: row.number,
        session_type: SfdpSessionType(row.kind),
        protocol: control::api::types::IpProto(row.protocol.0),
        state: SfdpSessionState(row.state),
        remaining_time: row.remaining,
        forward_bitmap: row.services[0],
        reverse_bitmap: row.services[1],
        keys: row.keys.iter().map(|key| key.native()).collect(),
    }
}

fn tcp_details(row: &Row) -> SfdpTcpSessionDetails {
    SfdpTcpSessionDetails {
        session_id: row.id,
        thread_index: row.thread as u32,
        tenant_id: row.tenant,
        session_idx: row.number,
        session_type: SfdpSessionType(row.kind),
        flags: SfdpTcpCheckSessionFlags(row.tcp),
        keys: row.keys.iter().map(|key| key.native()).collect(),
    }
}

/// The name of a node by its number.
fn node_of(router: &Router, index: u32) -> Result<String, Error> {
    let unknown = || Error::NoNode(index.to_string());
    let found = router.engine.node_names().find(|(at, _)| at.0 == index);
    found.map(|(_, name)| name.to_owned()).ok_or_else(unknown)
}

fn set_sp_node(router: &mut Router, m: &SfdpSetSpNode) -> Result<(), Error> {
    let at = usize::from(m.sp_node.0);
    if at > usize::from(SfdpSpNode::IP6_ICMP6_ERROR.0) {
        return Err(Error::NoDetour);
    }
    let node = node_of(router, m.node_index)?;
    tenant::set_detour(router, m.tenant_id, at, &node)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("sfdp", "1.0.0")
        .call(|router: &mut Router, m: SfdpTenantAddDel| {
            Ok(match m.is_del {
                true => tenant::delete(router, m.tenant_id),
                false => {
                    let context = Some(m.context_id).filter(|context| *context != NONE);
                    tenant::add(router, m.tenant_id, context)
                }
            }?)
        })
        .call(|router, m: SfdpSetServices| {
            let names: Vec<_> = m.services.iter().map(|s| s.data.to_string()).collect();
            let direction = usize::from(m.dir.0);
            if direction > 1 {
                return Err(Error::NoDirection.into());
            }
            Ok(tenant::set_services(router, m.tenant_id, direction, &names)?)
        })
        .dump_some(|router, _: SfdpSessionDump| {
            slices::rows(slices::map(rows::rows(router, |_| true), |_, row| details(&row)))
        })
        .task(|router, _, m: SfdpKillSession| {
            Ok(rows::kill(router, m.session_index, m.is_all, |done| Ok(done?)))
        })
        .dump(|router, _: SfdpTenantDump| {
            let count = tenant::timeouts(router).iter().map(|(at, ..)| at + 1).max().unwrap_or(0);
            let row = |(index, tenant): (u32, &tenant::Tenant)| SfdpTenantDetails {
                index,
                context_id: tenant.context,
                forward_bitmap: tenant.services[0],
                reverse_bitmap: tenant.services[1],
                timeout: tenant.timeouts[..count].to_vec(),
            };
            router.own::<Sfdp>().tenants.iter().map(row).collect()
        })
        .dump(|router, m: SfdpTimeoutDump| {
            let own = tenant::tenant(router, m.tenant_id).map(|(_, tenant)| tenant.timeouts).ok();
            let all = tenant::timeouts(router).into_iter();
            let all = all.filter(|_| own.is_some() || m.tenant_id == NONE);
            let row = |(at, name, seconds): (usize, &str, u32)| SfdpTimeoutDetails {
                index: at as u32,
                name: name.into(),
                timeout_value: own.map_or(seconds, |own| own[at]),
            };
            all.map(row).collect()
        })
        .call(|router, m: SfdpSetTimeout| {
            let at = m.timeout_id as usize;
            Ok(tenant::set_timeout(router, m.tenant_id, at, m.timeout_value)?)
        })
        .call(|router, m: SfdpSetSpNode| Ok(set_sp_node(router, &m)?))
        .call(|router, m: SfdpSetIcmpErrorNode| {
            let node = node_of(router, m.node_index)?;
            let at = ICMP_ERRORS + usize::from(m.is_ip6);
            Ok(tenant::set_detour(router, m.tenant_id, at, &node)?)
        })
        .dump(|router, _: SfdpServiceDump| {
            let all = router.own::<Sfdp>().registry.services().into_iter();
            let row = |service: super::service::Service| SfdpServiceDetails {
                node_name: service.node.into(),
                scope: SCOPE.into(),
                is_terminal: service.is_terminal(),
                index: service.bit,
            };
            all.map(row).collect()
        });
    register_services(api);
}

fn register_services(api: &mut Api<Router>) {
    api.plugin("interface_input", "0.0.1").call(|router: &mut Router, m: SfdpInterfaceInputSet| {
        let tenant = (m.tenant_id, m.is_disable == 0);
        let version = usize::from(m.is_ip6 != 0);
        Ok::<_, Retval>(input::set_tenant(router, m.sw_if_index, version, tenant)?)
    });
    api.plugin("tcp_check", "0.0.1").dump_some(|router: &mut Router, _: SfdpTcpSessionDump| {
        slices::rows(slices::map(rows::tcp_rows(router), |_, row| tcp_details(&row)))
    });
    api.plugin("nat", "0.0.1")
        .call(|router: &mut Router, m: SfdpNatSetExternalInterface| {
            let tenant = (m.tenant_id, m.is_disable == 0);
            Ok(nat::set_external(router, m.sw_if_index, tenant)?)
        })
        .call(|router, m: SfdpNatAllocPoolAddDel| {
            Ok(match m.is_del {
                0 => nat::add_pool(router, m.alloc_pool_id, m.addr),
                _ => nat::remove_pool(router, m.alloc_pool_id),
            }?)
        })
        .call(|router, m: SfdpNatSnatSetUnset| {
            let (outside, table) = (m.outside_tenant_id, m.table_id);
            let wanted = nat::Wanted { outside, table, pool: m.alloc_pool_id };
            Ok(match m.is_disable {
                0 => nat::set_snat(router, m.tenant_id, wanted),
                _ => nat::unset_snat(router, m.tenant_id),
            }?)
        });
}
