//! Messages of the module `ping`: asking a host for echoes without waiting for them.
#![forbid(unsafe_code)]

use control::api::types::Address;
use control::api::{Api, Message, Retval};
use control::cli::{Output, Step, Task};

use super::Pings;
use super::origin::Origin;
use super::task::{Ping, Plan};
use crate::router::Router;

/// Bytes of data in a request.
const SIZE: usize = 60;

/// Ask a host for echoes, and for an event when they have come or not.
#[derive(Message)]
#[events(PingFinishedEvent)]
struct WantPingFinishedEvents {
    address: Address,
    /// how often
    #[preset(1)]
    repeat: u32,
    /// seconds between two requests
    #[preset(1.0)]
    interval: f64,
}

/// Echoes have come or not.
#[derive(Message)]
#[head(index)]
struct PingFinishedEvent {
    request_count: u32,
    reply_count: u32,
}

/// Who waits for a ping to finish.
pub(super) struct Waiting {
    client: u32,
    ping: Ping,
}

fn start(router: &mut Router, client: u32, m: &WantPingFinishedEvents) -> Result<(), Retval> {
    let dst = m.address.native()?;
    if !(0.0..=86_400.0).contains(&m.interval) {
        return Err(Retval::INVALID_VALUE);
    }
    let origin = Origin::towards(dst, None, None, router)?;
    let (interval, repeat) = (m.interval, m.repeat);
    // Clients expect the event one interval after the last request.
    let plan = Plan { origin, size: SIZE, interval, repeat, burst: 1, wait: interval };
    let ping = Ping::start(plan, router);
    let pings = router.own_mut::<Pings>();
    pings.last_key += 1;
    let key = pings.last_key;
    pings.in_background.insert(key, Waiting { client, ping });
    router.after(0.0, step, key);
    Ok(())
}

/// Goes on with a ping.
fn step(router: &mut Router, key: u64) {
    let pings = router.state_mut::<Pings>();
    let Some(mut waiting) = pings.and_then(|p| p.in_background.remove(&key)) else { return };
    match waiting.ping.step(router, &mut Output::none()) {
        Step::Sleep(time) => {
            let pings = router.state_mut::<Pings>().expect("it was there just now");
            pings.in_background.insert(key, waiting);
            router.after(time.as_secs_f64(), step, key);
        }
        _ => {
            let (request_count, reply_count) = waiting.ping.counts();
            let event = PingFinishedEvent { request_count, reply_count };
            router.clients.send_to(waiting.client, 0, &event);
        }
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("ping", "0.1.0").call_by(
        |router: &mut Router, caller, m: WantPingFinishedEvents| start(router, caller.client, &m),
    );
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use control::process::Processes;

    use super::*;
    use crate::neighbor::testing::Bench;

    #[test]
    fn a_client_hears_how_many_were_answered() {
        let mut b = Bench::new();
        b.talk(|local, router| {
            let want = |address: &str, interval| WantPingFinishedEvents {
                address: address.parse::<IpAddr>().unwrap().into(),
                repeat: 2,
                interval,
            };
            for host in ["10.0.1.2", "2001:db8:1::2"] {
                local.call(router, &want(host, 0.2)).unwrap();
                // The event comes one interval after the last request.
                for _ in 0..9 {
                    router.engine.clock().adjust(0.05);
                    let now = router.now();
                    Processes::run_due(router, |r| &mut r.processes, now);
                }
                let seen = local.events::<PingFinishedEvent>();
                let counts: Vec<_> =
                    seen.iter().map(|e| (e.request_count, e.reply_count)).collect();
                assert_eq!(counts, [(2, 0)], "{host}");
            }
            let far = local.call(router, &want("192.0.2.1", 1.0)).err();
            assert_eq!(far, Some(Retval::INVALID_DST_ADDRESS));
            let never = local.call(router, &want("10.0.1.2", -1.0)).err();
            assert_eq!(never, Some(Retval::INVALID_VALUE));
        });
    }
}
