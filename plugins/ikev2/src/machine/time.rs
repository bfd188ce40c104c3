//! Timers: retransmissions, liveness checks, rekeying of associations and child SAs (RFC 7296
//! section 2.4).

use super::ask::{Ask, GROWTH, TRIES, Task};
use super::{Act, Machine, Sa, State};

/// Seconds between NAT keepalives (RFC 3948 section 4).
const KEEPALIVE: f64 = 20.0;

impl Machine {
    /// Handles all timers that have expired.
    pub fn tick(&mut self, now: f64) {
        let all: Vec<_> = self.sas.keys().copied().collect();
        for index in all {
            self.drive(index, |machine, sa| machine.look(now, sa));
        }
    }
    fn look(&mut self, now: f64, sa: &mut Sa) {
        if sa.goes_at.is_some_and(|time| time <= now) {
            if sa.state == State::Init {
                let (profile, remote) = (&sa.profile, sa.ends.remote.0);
                self.log(format!("{profile}: {remote}: association timed out"));
            }
            return sa.state = State::Dead;
        }
        if let Some((_, job)) = sa.put_off.take_if(|(at, _)| *at <= now) {
            self.acts.push(Act::Compute(sa.index, job, None));
        }
        self.repeat(now, sa);
        if sa.state != State::Established {
            return;
        }
        self.look_at_children(now, sa);
        if sa.rekey_at <= now {
            sa.rekey_at = f64::INFINITY;
            sa.tasks.push_back(Task::Rekey);
        }
        let settings = self.settings;
        let is_silent = now - sa.heard >= f64::from(settings.period.max(1));
        if settings.asks_silent && is_silent && sa.request.is_none() && sa.tasks.is_empty() {
            sa.tasks.push_back(Task::Probe);
        }
        if sa.nat.0 && now - sa.sent >= KEEPALIVE {
            sa.sent = now;
            self.acts.push(Act::Keepalive(sa.ends));
        }
        self.ask_next(now, sa);
    }
    /// Retransmits the outstanding request, or gives up.
    fn repeat(&mut self, now: f64, sa: &mut Sa) {
        let Some(request) = &mut sa.request else { return };
        if request.again > now {
            return;
        }
        let is_probe = matches!(request.ask, Ask::Probe);
        let most = if is_probe { self.settings.retries.max(1) } else { TRIES };
        if request.tries >= most {
            if sa.state != State::Closing {
                let (profile, remote) = (&sa.profile, sa.ends.remote.0);
                let text = format!("{profile}: {remote} does not answer");
                self.log(text);
                if matches!(sa.state, State::Established | State::Replaced) {
                    self.note_silent(now, sa);
                }
            }
            return sa.state = State::Dead;
        }
        let wait = match is_probe {
            true => f64::from(self.settings.period.max(1)),
            false => super::ask::RETRY * GROWTH.powi(request.tries as i32),
        };
        request.again = now + wait;
        request.tries += 1;
        let packets = request.packets.clone();
        self.send(now, sa, packets);
    }
}
