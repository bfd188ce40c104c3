//! One `traceroute` in progress.

use control::cli::{Step, Task};
use net::prelude::*;

use super::probe::{HopResult, Kind};
use super::{Answer, Key, Traces};
use net::ip::Error;
use ping::{self, Header, Origin, stamp};

/// Interval of looks for answers.
const LOOK: Duration = Duration::from_millis(5);
/// Seconds after which the next hop is asked although this one has not answered. All hops at once
/// would use up what a near host may send of errors, and it would seem to be far.
const PACE: f64 = 0.25;
/// Factor by which a probe is waited for longer than others of the hop, or of later hops, took,
/// when no wait is given.
const NEAR: f64 = 3.0;
const FAR: f64 = 10.0;
/// Seconds that a probe is waited for at least.
const LEAST: f64 = 0.5;
/// Seconds that a probe is waited for at most.
const MOST: f64 = 5.0;

/// Parameters of the command.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// From where to where.
    pub origin: Origin,
    pub kind: Kind,
    /// Hops that the first probes may go.
    pub first: u8,
    /// Hops that the last probes may go.
    pub last: u8,
    /// Probes for each.
    pub queries: usize,
    /// Seconds to wait for each answer; `None` for what others suggest.
    pub wait: Option<f64>,
    /// Bytes behind the headers of a probe.
    pub data: usize,
}

/// A running plan.
pub(super) struct Trace {
    plan: Plan,
    key: Key,
    /// Identifier of the probes for `ping`.
    ping: u16,
    probes: Vec<Probe>,
    /// Hops printed so far.
    shown: usize,
    /// Hops there are: up to the last, or the first that the way ends at.
    hops: usize,
    is_over: bool,
}

/// One probe that was sent.
struct Probe {
    sent: f64,
    answer: Option<Answer>,
}

impl Probe {
    /// Seconds until it was answered.
    fn seconds(&self) -> Option<f64> {
        self.answer.map(|answer| (answer.at - self.sent).max(0.0))
    }
}

impl Trace {
    pub(super) fn start(plan: Plan, router: &mut Router) -> Result<Self, Error> {
        // Identifiers of echo requests are those of `ping`, which has the echoes; source ports have
        // the highest bit set besides.
        let ping = ping::begin(router);
        let is_udp = plan.kind != Kind::Echo;
        let key = Key { is_udp, id: if is_udp { ping | 1 << 15 } else { ping } };
        if let Err(why) = super::begin(router, key) {
            ping::end(router, ping);
            return Err(why);
        }
        let hops = usize::from(plan.last - plan.first) + 1;
        Ok(Self { plan, key, ping, probes: Vec::new(), shown: 0, hops, is_over: false })
    }
    /// The probes of a hop that were sent.
    fn hop(&self, hop: usize) -> &[Probe] {
        let of = self.plan.queries * hop..(self.plan.queries * (hop + 1)).min(self.probes.len());
        self.probes.get(of).unwrap_or(&[])
    }
    /// Whether the next probe is due: with the others of its hop, the first of them when the hop
    /// before has answered or had time to.
    fn may_send(&self, now: f64) -> bool {
        let (sent, queries) = (self.probes.len(), self.plan.queries);
        let Some(last) = self.probes.last().filter(|_| sent.is_multiple_of(queries)) else {
            return sent < self.hops * queries;
        };
        let is_time = now - last.sent >= PACE || self.is_settled(sent / queries - 1, now);
        sent < self.hops * queries && is_time
    }
    fn send(&mut self, router: &mut Router) {
        let (number, now) = (self.probes.len(), router.now());
        let Plan { origin, kind, first, queries, data, .. } = self.plan;
        let hops = first + (number / queries) as u8;
        let (src, dst, seq) = (origin.src, origin.dst, kind.seq(number));
        let packet = kind.packet(Header { src, dst, hops, id: seq }, self.key.id, seq, data);
        let clock = router.engine.clock().clone();
        origin.send(router, packet, move |p| {
            if kind == Kind::Echo {
                stamp(p.bytes_mut(), clock.now());
            }
        });
        self.probes.push(Probe { sent: now, answer: None });
    }
    /// Notes what came since the last look.
    fn read(&mut self, router: &mut Router) {
        // What has come is in time, though control may have been busy.
        router.handle_events();
        while let Some(answer) = router.own_mut::<Traces>().0.next(self.key) {
            self.note(answer);
        }
        while let Some(echo) = ping::next(router, self.ping) {
            let number = usize::from(echo.seq);
            let sent = self.probes.get(number).map_or(0.0, |probe| probe.sent);
            let at = sent + echo.seconds;
            let ping::EchoReply { seq, from, .. } = echo;
            self.note(Answer { key: self.key, seq, from, error: None, at });
        }
    }
    fn note(&mut self, answer: Answer) {
        let number = usize::from(answer.seq.wrapping_sub(self.plan.kind.seq(0)));
        let Some(probe) = self.probes.get_mut(number) else { return };
        if probe.answer.is_some() {
            return;
        }
        probe.answer = Some(answer);
        if HopResult::of(&answer, self.plan.origin.dst) != HopResult::OnTheWay {
            self.hops = self.hops.min(number / self.plan.queries + 1);
        }
    }
    /// Whether nothing more is waited for at a hop, all of whose probes were sent.
    fn is_settled(&self, hop: usize, now: f64) -> bool {
        let probes = self.hop(hop);
        let longest = |of: &[Probe]| of.iter().filter_map(Probe::seconds).reduce(f64::max);
        let later = &self.probes[self.plan.queries * hop + probes.len()..];
        let near = longest(probes).map(|seconds| seconds * NEAR);
        let patience = near.or_else(|| longest(later).map(|seconds| seconds * FAR));
        let patience = self.plan.wait.or(patience.map(|p| p.clamp(LEAST, MOST))).unwrap_or(MOST);
        let is_settled = |p: &Probe| p.answer.is_some() || now - p.sent >= patience;
        probes.len() == self.plan.queries && probes.iter().all(is_settled)
    }
    /// Prints the hops that nothing more is waited for at.
    fn show(&mut self, now: f64, out: &mut Output) {
        while self.shown < self.hops && self.is_settled(self.shown, now) {
            let answers = self.hop(self.shown).iter().map(|probe| self.shown_answer(probe));
            let hop = usize::from(self.plan.first) + self.shown;
            out.append(Output::of(Hop { hop, answers: answers.collect() }));
            self.shown += 1;
        }
    }
    fn shown_answer(&self, probe: &Probe) -> Option<Shown> {
        let (answer, seconds) = (probe.answer?, probe.seconds()?);
        let meaning = HopResult::of(&answer, self.plan.origin.dst);
        Some(Shown { from: answer.from, ms: seconds * 1e3, meaning })
    }
    fn finish(&mut self, router: &mut Router) {
        self.is_over = true;
        super::end(router, self.key);
        ping::end(router, self.ping);
    }
}

impl Task<Router> for Trace {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        self.read(router);
        let now = router.now();
        self.show(now, out);
        if self.shown == self.hops {
            self.finish(router);
            return Step::Done(Ok(()));
        }
        while self.may_send(now) {
            self.send(router);
        }
        Step::Sleep(LOOK)
    }

    fn cancel(&mut self, router: &mut Router, _: &mut Output) {
        if !self.is_over {
            self.finish(router);
        }
    }
}

/// Line of a hop.
#[derive(Serialize)]
struct Hop {
    hop: usize,
    /// By probe; `None` where nothing came.
    answers: Vec<Option<Shown>>,
}

#[derive(Serialize)]
struct Shown {
    from: IpAddr,
    ms: f64,
    meaning: HopResult,
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:2} ", self.hop)?;
        let mut from = None;
        for answer in &self.answers {
            let Some(Shown { from: who, ms, meaning }) = answer else {
                f.write_str(" *")?;
                continue;
            };
            if from.replace(who) != Some(who) {
                write!(f, " {who}")?;
            }
            write!(f, "  {ms:.3} ms{}", meaning.mark())?;
        }
        Ok(())
    }
}
