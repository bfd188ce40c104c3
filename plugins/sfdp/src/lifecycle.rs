//! `sfdp-l4-lifecycle`: how long a session lasts follows from what has passed of it.
//!
//! Until a reply arrives it has its initial timeout. Then each packet restarts another one: that of
//! TCP or that of all else, and a short one once its connection is closed.

use std::convert::Infallible;

use graph::{BuildError, Frame, Node, Slot};
use net::Router;
use sessions::Direction;
use wire::Protocol;

use super::lookup::go_on;
use super::packet::{PLACE, leave};
use super::service::sender;
use super::session::{Core, Data, ESTABLISHED, FSOL, TIME_WAIT, Timer};
use super::tcp::{REMOVING, Segment};
use super::tenant::{self, EMBRYONIC, TCP_ESTABLISHED, Tenant};

/// Node.
pub const NAME: &str = "sfdp-l4-lifecycle";

/// Sets timeouts.
#[derive(Clone)]
pub struct Lifecycle(Core);

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

/// The timeout of a session after a packet.
#[inline(always)]
fn after(
    data: &mut Data,
    protocol: Protocol,
    (direction, segment): (Direction, Option<Segment>),
    tenant: &Tenant,
) -> Timer {
    if let Some(segment) = segment {
        data.tcp.pass(&segment, direction);
    }
    // The check decides how long it lasts.
    if data.tcp.is_refused() {
        return Timer::Keep;
    }
    let is_closed = data.tcp.is(REMOVING);
    data.state = match data.state {
        _ if is_closed => TIME_WAIT,
        // Reopened: it starts again.
        TIME_WAIT => FSOL,
        FSOL if direction == Direction::Reverse => ESTABLISHED,
        state => state,
    };
    match data.state {
        TIME_WAIT => Timer::Renew(tenant.closing()),
        ESTABLISHED if protocol == Protocol::TCP => Timer::Renew(tenant.classes[TCP_ESTABLISHED]),
        ESTABLISHED => Timer::Renew(tenant.classes[tenant::ESTABLISHED]),
        _ if segment.is_some_and(|segment| segment.begins()) => {
            Timer::Renew(tenant.classes[EMBRYONIC])
        }
        _ => Timer::Keep,
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
        let core = &self.0;
        let edges = core.edges.read(epoch);
        let mut tables = core.tables(thread);
        frame.each(|p| {
            let mut passing = p.metadata(&PLACE).ok_or(Error::Drop)?;
            let found = passing.found();
            if !passing.is_error() {
                let tenant = core.tenants.read(passing.tenant, epoch);
                let tenant = tenant.ok_or(Error::Drop).inspect_err(|_| leave(p))?;
                let done = tables.update(&found, now, |data, protocol| {
                    let segment = passing.segment(p, protocol);
                    (after(data, protocol, (found.direction, segment), tenant), ())
                });
                done.ok_or(Error::Drop).inspect_err(|_| leave(p))?;
            }
            let from = const { sender(NAME) };
            Ok(Next::To(go_on(p, core, (edges, from, thread), &mut passing)))
        });
    }
}

/// Adds the node.
pub(super) fn add(router: &mut Router, core: &Core) -> Result<(), BuildError> {
    router.engine.add(Lifecycle(core.clone()))?;
    Ok(())
}
