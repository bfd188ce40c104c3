//! `sfdp-l4-lifecycle`: how long a session lasts follows from what has passed of it.
//!
//! Until a reply arrives it has its initial timeout, then each packet restarts another one. One of
//! TCP follows its connection, as with `sfdp-tcp-check`.

use net::prelude::*;
use sessions::Direction;

use super::lookup::go_on;
use super::packet::{PLACE, leave};
use super::service::{DROPPED, sender};
use super::session::{Core, Data, ESTABLISHED, Timer};
use super::tcp::{NonSyn, Segment};
use super::tcp_check::judge;
use super::tenant::{self, Tenant};

/// Node.
pub const NAME: &str = "sfdp-l4-lifecycle";

/// Sets timeouts.
#[derive(Clone)]
pub struct Lifecycle {
    core: Core,
    non_syn: Reader<NonSyn>,
}

/// Edges of a service.
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The next service.
    #[dynamic]
    To(Slot),
}

/// Drops of a service.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// drop.
    #[name("drop")]
    Drop,
}

/// The timeout of a session after a packet, and whether that passes.
#[inline(always)]
fn after(
    data: &mut Data,
    (segment, direction): (Option<Segment>, Direction),
    (tenant, non_syn): (&Tenant, NonSyn),
) -> (Timer, bool) {
    if let Some(segment) = segment {
        return judge(data, (&segment, direction), (tenant, non_syn));
    }
    if direction == Direction::Reverse {
        data.state = ESTABLISHED;
    }
    match data.state {
        ESTABLISHED => (Timer::Renew(tenant.classes[tenant::ESTABLISHED]), true),
        _ => (Timer::Keep, true),
    }
}

impl Node for Lifecycle {
    const NAME: &'static str = NAME;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let Self { core, non_syn } = self;
        let (edges, non_syn) = (core.edges.read(epoch), *non_syn.read(epoch));
        let mut tables = core.tables(thread);
        frame.each(|p| {
            let mut passing = p.metadata(&PLACE).ok_or(Error::Drop)?;
            let found = passing.found();
            if !passing.is_error() {
                let tenant = core.tenants.read(passing.tenant, epoch);
                let tenant = tenant.ok_or(Error::Drop).inspect_err(|_| leave(p))?;
                let passes = tables.update(&found, now, |data, protocol| {
                    let segment = passing.segment(p, protocol);
                    after(data, (segment, found.direction), (tenant, non_syn))
                });
                if !passes.ok_or(Error::Drop).inspect_err(|_| leave(p))? {
                    passing.services = DROPPED;
                }
            }
            let from = const { sender(NAME) };
            Ok(Next::To(go_on(p, core, (edges, from, thread), &mut passing)))
        });
    }
}

/// Adds the node.
pub(super) fn add(
    router: &mut Router,
    core: &Core,
    non_syn: Reader<NonSyn>,
) -> Result<(), BuildError> {
    router.engine.add(Lifecycle { core: core.clone(), non_syn })?;
    Ok(())
}
