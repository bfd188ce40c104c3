//! `sfdp-tcp-check`: a connection of TCP begins with a handshake, or does not pass.

use std::convert::Infallible;

use graph::{BuildError, Frame, Node};
use infra::rcu::Reader;
use net::Router;
use wire::Protocol;

use super::lifecycle::{Error, Next};
use super::lookup::go_on;
use super::packet::{PLACE, Passing, leave};
use super::service::sender;
use super::session::{Core, ESTABLISHED, TIME_WAIT, Timer};
use super::tcp::{self, BLOCKED, REMOVING};
use super::tenant::{AT_ONCE, EMBRYONIC, SECURITY, TCP_ESTABLISHED, Tenant};

/// Node.
pub const NAME: &str = "sfdp-tcp-check";

/// Treatment of a session whose first packet is not a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, control::cli::Words)]
pub enum NonSyn {
    /// block it for the timeout `security`
    #[default]
    Security,
    /// it ends with the packet
    Remove,
}

/// Checks handshakes.
#[derive(Clone)]
pub struct TcpCheck {
    core: Core,
    non_syn: Reader<NonSyn>,
}

/// Notes a packet in its session; whether it passes.
#[inline(always)]
fn judge(
    data: &mut super::session::Data,
    protocol: Protocol,
    (passing, segment): (&Passing, Option<tcp::Segment>),
    (tenant, non_syn): (&Tenant, NonSyn),
) -> (Timer, bool) {
    if protocol != Protocol::TCP {
        return (Timer::Keep, true);
    }
    if let Some(segment) = segment {
        data.tcp.pass(&segment, passing.found().direction);
    }
    if data.tcp.is(BLOCKED) {
        let class = match non_syn {
            NonSyn::Security => tenant.classes[SECURITY],
            NonSyn::Remove => AT_ONCE,
        };
        return (if data.tcp.refuse() { Timer::Renew(class) } else { Timer::Keep }, false);
    }
    if data.tcp.is(REMOVING) {
        data.state = TIME_WAIT;
        return (Timer::Renew(AT_ONCE), true);
    }
    if data.tcp.is(tcp::ESTABLISHED) {
        data.state = ESTABLISHED;
        return (Timer::Renew(tenant.classes[TCP_ESTABLISHED]), true);
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
                let passes = tables.update(&passing.found(), now, |data, protocol| {
                    let segment = passing.segment(p, protocol);
                    judge(data, protocol, (&passing, segment), (tenant, non_syn))
                });
                if passes != Some(true) {
                    leave(p);
                    return Err(Error::Drop);
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
