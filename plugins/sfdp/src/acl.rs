//! Access lists of tenants: a service that drops packets which the list of their tenant does not
//! permit. Packets of a tenant without a list pass, and so do ICMP errors about a session.

use acl::{Action, List, Matched, User};

use net::prelude::*;

use super::error::Error;
use super::lifecycle::{Error as Drop, Next};
use super::lookup::go_on;
use super::packet::{PLACE, leave};
use super::session::Core;
use super::{Sfdp, service, tenant};

/// Access lists of tenants.
pub const FEATURE: Feature = Feature {
    name: "sfdp_services_acl",
    about: "SFDP access list service",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["sfdp_services", "acl"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// Node.
const NAME: &str = "sfdp-acl-sample";

/// Asks the list of their tenant about packets.
#[derive(Clone)]
struct Permit {
    core: Core,
    from: usize,
    lists: SlabReader<List>,
}

impl Permit {
    /// Whether a list lets a packet pass, which begins with its IP header.
    #[inline(always)]
    fn passes(&self, list: u32, packet: &[u8], epoch: Epoch<'_>) -> bool {
        let Some(list) = self.lists.read(list, epoch) else { return false };
        let verdict = match packet.first().map(|first| first >> 4) {
            Some(4) => V4::find(list, &V4::read(packet)),
            Some(6) => V6::find(list, &V6::read(packet)),
            _ => None,
        };
        verdict.is_some_and(|verdict| verdict.action != Action::Deny)
    }
}

impl Node for Permit {
    const NAME: &'static str = NAME;
    type Next = Next;
    type Error = Drop;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let edges = self.core.edges.read(epoch);
        frame.each(|p| {
            let mut passing = p.metadata(&PLACE).ok_or(Drop::Drop)?;
            if !passing.is_error() {
                let tenant = self.core.tenants.read(passing.tenant, epoch);
                let tenant = tenant.ok_or(Drop::Drop).inspect_err(|_| leave(p))?;
                let passes = tenant.list.is_none_or(|list| self.passes(list, p.bytes(), epoch));
                if !passes {
                    leave(p);
                    return Err(Drop::Drop);
                }
            }
            Ok(Next::To(go_on(p, &self.core, (edges, self.from, thread), &mut passing)))
        });
    }
}

/// Set or remove the access list of a tenant.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set sfdp acl")]
struct SetList {
    /// tenant
    tenant: u32,
    /// the access list
    #[keyword("acl_index")]
    acl_index: u32,
    /// no longer
    disable: bool,
}

fn set(router: &mut Router, c: &SetList) -> Result<(), Error> {
    let (_, tenant) = tenant::tenant(router, c.tenant)?;
    if c.disable && tenant.list != Some(c.acl_index) {
        return Err(Error::OtherList(c.tenant, c.acl_index));
    }
    if acl::all(router).at(c.acl_index).is_none() {
        return Err(Error::NoList(c.acl_index));
    }
    tenant::change(router, c.tenant, |tenant| tenant.list = (!c.disable).then_some(c.acl_index))
}

/// Tenants that have a list, with it.
fn lists(router: &Router) -> impl Iterator<Item = (u32, u32)> {
    let tenants = router.own::<Sfdp>().tenants.iter();
    tenants.filter_map(|(_, tenant)| Some((tenant.id, tenant.list?)))
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (tenant, list) in lists(router) {
        lines.push(&SetList { tenant, acl_index: list, disable: false });
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let (core, from) = (router.own::<Sfdp>().core.clone(), service::next_sender(router));
    let lists_seen = acl::all(router).reader();
    router.engine.add(Permit { core, from, lists: lists_seen }).map_err(refuse)?;
    service::add_sender(router, NAME).map_err(refuse)?;
    service::add(router, NAME).map_err(refuse)?;
    acl::add_user(
        router,
        User {
            name: "SFDP",
            labels: ["tenant", "lists"],
            uses: |router| lists(router).map(|(id, list)| ([id, 1], vec![list])).collect(),
        },
    );
    let cli: &mut Cli<Router> = &mut parts.cli;
    cli.command(|router: &mut Router, c: SetList| Ok(set(router, &c)?));
    Ok(())
}
