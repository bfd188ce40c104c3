//! The configuration as the commands that make it again.

use net::prelude::*;

use super::Sfdp;
use super::cli::{
    SetDetour, SetInput, SetMargin, SetNonSyn, SetPool, SetServices, SetSnat, SetTenant, SetTimeout,
};
use super::lookup::{ICMP4, ICMP6};
use super::service::DROP;
use super::tcp::NonSyn;
use super::tenant::{self, DETOURS, Tenant};

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let sfdp = router.own::<Sfdp>();
    for (pool, addresses) in sfdp.pools.current() {
        lines.push(&SetPool { pool: *pool, addresses: Some(addresses.clone()) });
    }
    if *sfdp.non_syn.current() != NonSyn::default() {
        lines.push(&SetNonSyn { what: *sfdp.non_syn.current() });
    }
    if sfdp.limits.margin != sfdp.first_margin {
        lines.push(&SetMargin { sessions: sfdp.limits.margin });
    }
    for (_, tenant) in sfdp.tenants.iter() {
        let context = Some(tenant.context).filter(|context| *context != tenant.id);
        lines.push(&SetTenant::Add { tenant: tenant.id, context });
    }
    for (_, tenant) in sfdp.tenants.iter() {
        settings(router, tenant, lines);
    }
    for (interface, version, tenant) in tenant::inputs(router) {
        lines.push(&SetInput { interface, tenant, is_6: version == 1, disable: false });
    }
}

fn settings(router: &Router, tenant: &Tenant, lines: &mut Lines<'_>) {
    for (direction, bits) in tenant.services.into_iter().enumerate() {
        let names = tenant::services_of(router, bits);
        if names != [DROP] {
            let services = names.into_iter().map(str::to_owned).collect();
            let is_reverse = direction == 1;
            lines.push(&SetServices { tenant: tenant.id, services, is_reverse });
        }
    }
    for (at, name, seconds) in tenant::timeouts(router) {
        let set = tenant.timeouts[at];
        if set != seconds {
            lines.push(&SetTimeout { tenant: tenant.id, name: name.to_owned(), seconds: set });
        }
    }
    for (name, detour) in DETOURS.into_iter().zip(&tenant.detours) {
        let detour = detour.as_ref().filter(|detour| ![ICMP4, ICMP6].contains(&&*detour.node));
        if let Some(detour) = detour {
            let (packets, node) = (name.to_owned(), detour.node.clone());
            lines.push(&SetDetour { tenant: tenant.id, packets, node });
        }
    }
    if let Some(snat) = &tenant.snat {
        let wanted = Some((snat.outside, snat.table, snat.pool));
        lines.push(&SetSnat { tenant: tenant.id, wanted });
    }
}
