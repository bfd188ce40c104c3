//! Messages of the module `ping`: echo requests whose end is an event.

use control::api::types::Address;
use control::cli::{Step, Task};
use net::prelude::*;

use super::Pings;
use super::origin::Origin;
use super::task::{Ping, Plan};

/// Bytes of data in a request.
const SIZE: usize = 60;

/// Send echo requests to a host; an event reports the result.
#[derive(Message)]
#[events(PingFinishedEvent)]
pub struct WantPingFinishedEvents {
    /// the host
    pub address: Address,
    /// number of requests
    #[preset(1)]
    pub repeat: u32,
    /// seconds between requests
    #[preset(1.0)]
    pub interval: f64,
}

/// A ping finished.
#[derive(Message)]
#[head(index)]
pub struct PingFinishedEvent {
    /// requests sent
    pub request_count: u32,
    /// replies received
    pub reply_count: u32,
}

/// A ping whose end a client waits for.
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
