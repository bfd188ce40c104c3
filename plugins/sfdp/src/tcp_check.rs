//! `sfdp-tcp-check`: a connection of TCP begins with a handshake, and its session ends with it.

use net::prelude::*;
use sessions::Direction;

use super::lifecycle::{Error, Next};
use super::lookup::go_on;
use super::packet::{PLACE, leave};
use super::service::{DROPPED, sender};
use super::session::{Core, Data, ESTABLISHED, FSOL, Timer};
use super::tcp::{self, BLOCKED, NonSyn, REMOVING, Segment, WAITING};
use super::tenant::{AT_ONCE, EMBRYONIC, SECURITY, TCP_ESTABLISHED, Tenant};

/// Node.
pub const NAME: &str = "sfdp-tcp-check";

/// Checks handshakes.
#[derive(Clone)]
pub struct TcpCheck {
    core: Core,
    non_syn: Reader<NonSyn>,
}

/// Notes a segment in its session; the timeout that follows, and whether the segment passes. Until
/// the handshake is done, and from the first FIN on, that is the one of what has just begun.
#[inline(always)]
pub(super) fn judge(
    data: &mut Data,
    (segment, direction): (&Segment, Direction),
    (tenant, non_syn): (&Tenant, NonSyn),
) -> (Timer, bool) {
    data.tcp.pass(segment, direction, non_syn);
    if data.tcp.is(BLOCKED) {
        // Packets that follow are dropped without a look at it.
        data.services = [DROPPED; 2];
        return (Timer::Renew(tenant.classes[SECURITY]), false);
    }
    if data.tcp.is(REMOVING) {
        return (Timer::Renew(AT_ONCE), true);
    }
    if data.tcp.is(tcp::ESTABLISHED) {
        data.state = ESTABLISHED;
        return (Timer::Renew(tenant.classes[TCP_ESTABLISHED]), true);
    }
    if data.tcp.is(WAITING) {
        data.state = FSOL;
    }
    (Timer::Renew(tenant.classes[EMBRYONIC]), true)
}

impl Node for TcpCheck {
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
            if !passing.is_error() {
                let tenant = core.tenants.read(passing.tenant, epoch);
                let tenant = tenant.ok_or(Error::Drop).inspect_err(|_| leave(p))?;
                let found = passing.found();
                let passes = tables.update(&found, now, |data, protocol| {
                    match passing.segment(p, protocol) {
                        Some(segment) => {
                            judge(data, (&segment, found.direction), (tenant, non_syn))
                        }
                        None => (Timer::Keep, true),
                    }
                });
                match passes {
                    Some(true) => {}
                    Some(false) => passing.services = DROPPED,
                    None => {
                        leave(p);
                        return Err(Error::Drop);
                    }
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
    router.engine.add(TcpCheck { core: core.clone(), non_syn })?;
    Ok(())
}
