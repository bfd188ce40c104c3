//! Messages of the module `arping`.
#![forbid(unsafe_code)]

use control::api::types::Address;
use control::api::{Api, Message, Retval, Slice, Task};
use wire::MacAddr;

use super::task::{Arping, Outcome, Plan};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Ask a neighbor, or announce an address; how many answered is told in the end.
#[derive(Message)]
#[reply(ArpingReply)]
#[name("arping")]
struct Ask {
    address: Address,
    sw_if_index: InterfaceIndex,
    /// announce it instead
    is_garp: bool,
    /// how often
    #[preset(1)]
    repeat: u32,
    /// seconds between two questions
    #[preset(1.0)]
    interval: f64,
}

/// How many answered.
#[derive(Message)]
struct ArpingReply {
    reply_count: u32,
}

/// Ask whether somebody has an address that one wants.
#[derive(Message)]
#[reply(ArpingAcdReply)]
struct ArpingAcd {
    address: Address,
    sw_if_index: InterfaceIndex,
    /// announce it instead
    is_garp: bool,
    /// how often
    #[preset(1)]
    repeat: u32,
    /// seconds between two questions
    #[preset(1.0)]
    interval: f64,
}

/// How many have it, and the last of them.
#[derive(Message)]
struct ArpingAcdReply {
    reply_count: u32,
    mac_address: MacAddr,
}

/// A question whose outcome is told as `R`.
struct Told<R>(Arping, fn(Outcome) -> R);

impl<R> Task<Router> for Told<R> {
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

fn start(router: &mut Router, m: &Ask) -> Result<Arping, Retval> {
    let Ask { address, sw_if_index: interface, is_garp: is_gratuitous, repeat, interval } = *m;
    let plan = Plan { interface, addr: address.native()?, is_gratuitous, repeat, interval };
    Ok(Arping::start(plan, router)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("arping", "1.0.0")
        .task(|router: &mut Router, _, m: Ask| {
            Ok(Told(start(router, &m)?, |o| ArpingReply { reply_count: o.replies }))
        })
        .task(|router: &mut Router, _, m: ArpingAcd| {
            let ArpingAcd { address, sw_if_index, is_garp, repeat, interval } = m;
            let ask = Ask { address, sw_if_index, is_garp, repeat, interval };
            let reply = |o: Outcome| ArpingAcdReply {
                reply_count: o.replies,
                mac_address: o.from.unwrap_or_default(),
            };
            Ok(Told(start(router, &ask)?, reply))
        });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor::testing::Bench;

    #[test]
    fn questions_are_counted_and_wrong_ones_refused() {
        let mut b = Bench::new();
        let pg0 = b.pg0;
        b.talk(|local, router| {
            let ask = |addr: &str, sw_if_index, interval| Ask {
                address: addr.parse::<std::net::IpAddr>().unwrap().into(),
                sw_if_index,
                is_garp: false,
                repeat: 2,
                interval,
            };
            // Nobody runs the graph meanwhile.
            assert_eq!(local.call(router, &ask("10.0.0.2", pg0, 0.0)).unwrap().reply_count, 0);
            for (addr, on, interval, error) in [
                ("10.0.0.2", InterfaceIndex(99), 0.0, Retval::INVALID_SW_IF_INDEX),
                ("10.0.0.2", InterfaceIndex(0), 0.0, Retval::INVALID_INTERFACE),
                ("224.0.0.1", pg0, 0.0, Retval::INVALID_DST_ADDRESS),
                ("2001:db8::2", pg0, -1.0, Retval::INVALID_VALUE),
            ] {
                assert_eq!(local.call(router, &ask(addr, on, interval)).err(), Some(error));
            }
            let Ask { address, sw_if_index, is_garp, repeat, .. } = ask("2001:db8::2", pg0, 0.0);
            let acd = ArpingAcd { address, sw_if_index, is_garp, repeat, interval: 0.0 };
            let reply = local.call(router, &acd).unwrap();
            assert_eq!((reply.reply_count, reply.mac_address), (0, MacAddr::ZERO));
            assert!(router.arpings().asking.is_empty());
        });
        assert_eq!(b.graph.run().len(), 4);
    }
}
