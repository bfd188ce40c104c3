//! One `ping` in progress.

use control::cli::{Step, Task};
use net::prelude::*;

use super::EchoReply;
use super::origin::Origin;
use super::packet::{Header, echo_request, stamp};

/// Interval of looks for echoes.
const LOOK: Duration = Duration::from_millis(5);
/// Hops that requests may go. Hosts that ask for a distance of one count on the original's.
pub(super) const HOPS: u8 = 255;
/// Bytes that the length of an echo counts beyond its data, as operators know it.
const OVERHEAD: usize = 56;

/// Parameters of the command or message.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// From where to where.
    pub origin: Origin,
    /// Bytes of data.
    pub size: usize,
    /// Seconds between bursts.
    pub interval: f64,
    /// Number of bursts.
    pub repeat: u32,
    /// Requests in each, all with one sequence number.
    pub burst: u32,
    /// Seconds that the last echoes are waited for.
    pub wait: f64,
}

/// A running plan.
pub(super) struct Ping {
    plan: Plan,
    id: u16,
    bursts: u32,
    sent: u32,
    received: u32,
    /// Echoes of each burst by its sequence number, the last 65,536.
    answered: HashMap<u16, u32>,
    /// Time of the next burst, or end of the wait for the last one.
    due: f64,
    is_over: bool,
}

impl Ping {
    pub(super) fn start(plan: Plan, router: &mut Router) -> Self {
        let (id, due) = (super::begin(router), router.now());
        let (bursts, sent, received) = (0, 0, 0);
        Self { plan, id, bursts, sent, received, answered: HashMap::new(), due, is_over: false }
    }
    /// Requests sent and answered.
    pub(super) fn counts(&self) -> (u32, u32) {
        (self.sent, self.received)
    }
    fn send(&mut self, router: &mut Router) {
        let Plan { origin, size, .. } = self.plan;
        let seq = self.bursts as u16;
        self.answered.remove(&seq);
        for _ in 0..self.plan.burst {
            self.sent += 1;
            let header =
                Header { src: origin.src, dst: origin.dst, hops: HOPS, id: self.sent as u16 };
            let clock = router.engine.clock().clone();
            let packet = echo_request(header, self.id, seq, size);
            origin.send(router, packet, move |p| stamp(p.bytes_mut(), clock.now()));
        }
    }
    /// Prints what came since the last look.
    fn read(&mut self, router: &mut Router, out: &mut Output) {
        // What has come is in time, though control may have been busy.
        router.handle_events();
        while let Some(reply) = super::next(router, self.id) {
            let count = self.answered.entry(reply.seq).or_default();
            *count += 1;
            let is_duplicate = *count > self.plan.burst;
            self.received += u32::from(!is_duplicate);
            let EchoReply { seq, from, ttl, seconds, .. } = reply;
            let bytes = self.plan.size + OVERHEAD;
            let ms = seconds * 1e3;
            out.append(Output::of(Echo { bytes, from, seq, ttl, ms, is_duplicate }));
        }
    }
    fn finish(&mut self, router: &mut Router, out: &mut Output) {
        self.is_over = true;
        super::end(router, self.id);
        self.plan.origin.end(router);
        out.append(Output::of(Statistics { sent: self.sent, received: self.received }));
    }
}

impl Task<Router> for Ping {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        self.read(router, out);
        let now = router.now();
        let is_sent = self.bursts == self.plan.repeat;
        if is_sent && (self.received == self.sent || now >= self.due) {
            self.finish(router, out);
            return Step::Done(Ok(()));
        }
        if !is_sent && now >= self.due {
            self.bursts += 1;
            let is_last = self.bursts == self.plan.repeat;
            self.due = now + if is_last { self.plan.wait } else { self.plan.interval };
            self.send(router);
        }
        let left = Duration::from_secs_f64((self.due - router.now()).clamp(0.0, 1.0));
        Step::Sleep(left.min(LOOK))
    }

    fn cancel(&mut self, router: &mut Router, out: &mut Output) {
        if !self.is_over {
            self.read(router, out);
            self.finish(router, out);
        }
    }
}

/// The line of an echo.
#[derive(Serialize)]
pub struct Echo {
    /// Length.
    pub bytes: usize,
    /// Sender.
    pub from: IpAddr,
    /// Its sequence number.
    pub seq: u16,
    /// Its TTL or hop limit.
    pub ttl: u8,
    /// Milliseconds from the request.
    pub ms: f64,
    /// Whether there were as many echoes as requests before.
    pub is_duplicate: bool,
}

impl fmt::Display for Echo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, from, seq, ttl, ms, is_duplicate } = self;
        let ms = format!("{ms:.4}");
        let ms = ms.strip_prefix('0').unwrap_or(&ms);
        write!(f, "{bytes} bytes from {from}: icmp_seq={seq} ttl={ttl} time={ms} ms")?;
        if *is_duplicate { f.write_str(" (duplicate)") } else { Ok(()) }
    }
}

/// The last line.
#[derive(Serialize)]
pub struct Statistics {
    /// Requests.
    pub sent: u32,
    /// Echoes, without duplicates.
    pub received: u32,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, received } = self;
        let lost = u64::from(sent - received) * 100;
        let loss = lost.checked_div((*sent).into()).unwrap_or(0);
        write!(f, "\nStatistics: {sent} sent, {received} received, {loss}% packet loss")
    }
}
