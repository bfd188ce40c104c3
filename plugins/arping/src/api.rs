//! Messages of the module `arping`.

use control::api::types::Address;
use control::api::{Slice, Task};
use net::prelude::*;

use super::task::{Arping, Outcome, Plan};

/// Send ARP or ND requests to a neighbor, or announce an address; replies after the last interval.
#[derive(Message)]
#[reply(ArpingReply)]
#[name("arping")]
pub struct ArpingRequest {
    /// neighbor address, or the address to announce
    pub address: Address,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// announce the address instead
    pub is_garp: bool,
    /// number of requests
    #[preset(1)]
    pub repeat: u32,
    /// seconds between requests
    #[preset(1.0)]
    pub interval: f64,
}

/// Number of answers.
#[derive(Message)]
pub struct ArpingReply {
    /// answers
    pub reply_count: u32,
}

/// Check whether an address is in use before assigning it.
#[derive(Message)]
#[reply(ArpingAcdReply)]
pub struct ArpingAcd {
    /// the address
    pub address: Address,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// announce the address instead
    pub is_garp: bool,
    /// number of requests
    #[preset(1)]
    pub repeat: u32,
    /// seconds between requests
    #[preset(1.0)]
    pub interval: f64,
}

/// Number of answers and the MAC address of the last one.
#[derive(Message)]
pub struct ArpingAcdReply {
    /// answers
    pub reply_count: u32,
    /// MAC address of the last answer; zero if there was none
    pub mac_address: MacAddr,
}

/// An `arping` whose outcome is replied as `R`.
struct ReplyTask<R>(Arping, fn(Outcome) -> R);

impl<R> Task<Router> for ReplyTask<R> {
    type Reply = R;

    fn step(&mut self, router: &mut Router) -> Slice<R> {
        match self.0.step(router) {
            Ok(time) => Slice::Sleep(time),
            Err(outcome) => Slice::Done(Ok(self.1(outcome))),
        }
    }
    fn cancel(&mut self, router: &mut Router) {
        self.0.finish(router);
    }
}

fn start(router: &mut Router, m: &ArpingRequest) -> Result<Arping, Retval> {
    let ArpingRequest { address, sw_if_index: interface, is_garp, repeat, interval } = *m;
    let addr = address.native()?;
    let plan = Plan { interface, addr, is_gratuitous: is_garp, repeat, interval };
    Ok(Arping::start(plan, router)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("arping", "1.0.0")
        .task(|router: &mut Router, _, m: ArpingRequest| {
            Ok(ReplyTask(start(router, &m)?, |o| ArpingReply { reply_count: o.replies }))
        })
        .task(|router: &mut Router, _, m: ArpingAcd| {
            let ArpingAcd { address, sw_if_index, is_garp, repeat, interval } = m;
            let ask = ArpingRequest { address, sw_if_index, is_garp, repeat, interval };
            let reply = |o: Outcome| ArpingAcdReply {
                reply_count: o.replies,
                mac_address: o.from.unwrap_or_default(),
            };
            Ok(ReplyTask(start(router, &ask)?, reply))
        });
}
