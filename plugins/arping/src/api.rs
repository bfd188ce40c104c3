//! Messages of the module `arping`.

use control::api::types::Address;
use control::api::{Api, Message, Retval, Slice, Task};
use wire::MacAddr;

use super::task::{Arping, Outcome, Plan};
use net::InterfaceIndex;
use net::Router;

/// Send requests to a neighbor, or announce an address; the reply comes after the last interval.
#[derive(Message)]
#[reply(ArpingReply)]
#[name("arping")]
pub struct ArpingRequest {
    /// the neighbor, or the address to announce
    pub address: Address,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// announce it instead
    pub is_garp: bool,
    /// number of requests
    #[preset(1)]
    pub repeat: u32,
    /// seconds between two requests
    #[preset(1.0)]
    pub interval: f64,
}

/// The number of answers.
#[derive(Message)]
pub struct ArpingReply {
    /// answers
    pub reply_count: u32,
}

/// Detect whether an address is in use, before taking it.
#[derive(Message)]
#[reply(ArpingAcdReply)]
pub struct ArpingAcd {
    /// the address
    pub address: Address,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// announce it instead
    pub is_garp: bool,
    /// number of requests
    #[preset(1)]
    pub repeat: u32,
    /// seconds between two requests
    #[preset(1.0)]
    pub interval: f64,
}

/// The number of answers, and the MAC address of the last one.
#[derive(Message)]
pub struct ArpingAcdReply {
    /// answers
    pub reply_count: u32,
    /// sender of the last one; zero without answers
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
