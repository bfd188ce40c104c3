//! One `arping` in progress.

use infra::rcu::Participant;
use net::interface::Kind;
use net::neighbor::{self, Family};
use net::prelude::*;

use super::Arpings;

/// Interval at which a task looks at the clock.
const LOOK: Duration = Duration::from_millis(5);

/// Parameters of the command or message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub interface: InterfaceIndex,
    /// The neighbour, or the address that is announced.
    pub addr: IpAddr,
    /// Announce the address as ours instead of asking.
    pub is_gratuitous: bool,
    /// Questions or announcements.
    pub repeat: u32,
    /// Seconds between two, and after the last.
    pub interval: f64,
}

/// Reasons why a plan cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub(super) enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// the interface has no neighbors
    #[retval(INVALID_INTERFACE)]
    WithoutNeighbors,
    /// not a valid neighbor address
    #[retval(INVALID_DST_ADDRESS)]
    InvalidAddress,
    /// not a valid interval
    #[retval(INVALID_VALUE)]
    InvalidInterval,
}

/// A running plan.
pub(super) struct Arping {
    pub plan: Plan,
    key: u64,
    sent: u32,
    due: f64,
}

/// Its outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub replies: u32,
    /// The neighbour that answered last.
    pub from: Option<MacAddr>,
}

impl Arping {
    /// Begins.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(plan: Plan, router: &mut Router) -> Result<Self, Error> {
        let i = router.interfaces.at(plan.interface).ok_or(Error::NoInterface)?;
        if i.kind != Kind::Ethernet {
            return Err(Error::WithoutNeighbors);
        }
        let addr = plan.addr;
        if addr.is_multicast() || addr.is_unspecified() || addr == Ipv4Addr::BROADCAST {
            return Err(Error::InvalidAddress);
        }
        if !(0.0..=86_400.0).contains(&plan.interval) {
            return Err(Error::InvalidInterval);
        }
        let (key, due) = (super::begin(router, (plan.interface, addr)), router.now());
        Ok(Self { plan, key, sent: 0, due })
    }
    /// Runs due actions; returns the time until the next one, or the outcome.
    pub fn step(&mut self, router: &mut Router) -> Result<Duration, Outcome> {
        let now = router.now();
        if now >= self.due {
            if self.sent == self.plan.repeat {
                return Err(self.finish(router));
            }
            self.sent += 1;
            self.due = now + self.plan.interval;
            self.send(router);
        }
        let left = Duration::from_secs_f64((self.due - router.now()).clamp(0.0, 1.0));
        Ok(left.min(LOOK))
    }
    /// Ends, now or in time.
    pub fn finish(&mut self, router: &mut Router) -> Outcome {
        let asking = router.own::<Arpings>().asking.get(&self.key);
        let outcome = asking.map(|a| Outcome { replies: a.replies, from: a.from });
        super::end(router, self.key);
        outcome.unwrap_or_default()
    }
    fn send(&self, router: &mut Router) {
        let Plan { interface, addr, is_gratuitous, .. } = self.plan;
        let Some(mac) = router.interfaces.at(interface).map(|i| i.mac) else { return };
        let (ours, me) = (router.addresses.reader(), Participant::join());
        let frame = match addr {
            IpAddr::V6(addr) if is_gratuitous => neighbor::announcement6(mac, addr),
            IpAddr::V6(addr) => {
                let source = ours.source6(interface.0, addr, me.epoch());
                let source = source.unwrap_or(Ipv6Addr::UNSPECIFIED);
                V6::question(mac, source, addr).as_bytes().to_vec()
            }
            IpAddr::V4(addr) => {
                let source = V4::source(&ours, interface.0, addr, me.epoch());
                // Without an address of ours it is a probe (RFC 5227 section 2.1.1).
                let source = source.unwrap_or(Ipv4Addr::UNSPECIFIED);
                let source = if is_gratuitous { addr } else { source };
                V4::question(mac, source, addr).as_bytes().to_vec()
            }
        };
        neighbor::send(router, interface, frame);
    }
}
