//! Deadlines of a thread's sessions.

use tcp_machine::Time;

use super::session::Pending;
use super::worker::{Worker, time};

impl Worker {
    /// Timers that run.
    pub fn timers(&self) -> usize {
        self.wheel.len()
    }
    /// Sees to it that a session is visited at its deadline.
    pub fn arm(&mut self, index: u32) {
        let Self { sessions, wheel, .. } = self;
        let session = &mut sessions[index as usize];
        let deadline = session.deadline();
        let is_early = session.timer.is_some_and(|(_, at)| at <= deadline);
        if is_early || deadline.is_never() {
            return;
        }
        if let Some((handle, _)) = session.timer.take() {
            wheel.stop(handle);
        }
        let tick = wheel.deadline_at(deadline.us() as f64 / 1e6);
        let handle = wheel.start(tick, (index, session.generation));
        session.timer = Some((handle, deadline));
    }
    /// Queues sessions whose time has come, `most` at most.
    pub fn expire(&mut self, most: usize) {
        if self.wheel.is_empty() {
            return;
        }
        let (tick, now) = (self.wheel.tick_at(self.now), time(self.now));
        for _ in 0..most {
            let Some((index, generation)) = self.wheel.pop(tick) else { return };
            let Some(session) = self.sessions.get_mut(index as usize) else { continue };
            if session.generation != generation {
                continue;
            }
            session.timer = None;
            let mut due = Pending::default();
            if session.alarm <= now {
                session.alarm = Time::NEVER;
                due.add(Pending::ALARM);
            }
            if session.retry <= now {
                session.retry = Time::NEVER;
                due.add(Pending::SEND);
            }
            if session.deadline() <= now {
                due.add(Pending::TIMER);
            }
            if due == Pending::default() {
                self.arm(index);
            } else {
                self.queue(index, due);
            }
        }
    }
    /// Seconds until the next timer.
    pub fn until_next(&self) -> Option<f64> {
        let next = self.wheel.next_deadline()?;
        Some((self.wheel.seconds_at(next) - self.now).max(0.0))
    }
}
