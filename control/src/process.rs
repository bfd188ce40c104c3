//! Named control processes: work that waits for time or for events, on the router's own clock.
//!
//! The main loop calls [`Processes::run_due`] with the router's time; moving that clock moves
//! every process. Times are seconds as `f64`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::log::Logger;

/// Most events one process may have waiting.
const MAX_EVENTS: usize = 256;

/// Why a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// For the first time.
    Start,
    /// The time it asked for has come.
    Timeout,
    /// Somebody sent it this number.
    Signal(u64),
}

/// When a process runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// After this time; events wait until then.
    After(Duration),
    /// After this time, or when an event comes.
    AfterOrEvent(Duration),
    /// When an event comes.
    OnEvent,
    /// Never.
    Done,
}

/// What a process does each time it runs.
pub type Body<C> = Box<dyn FnMut(&mut C, Event) -> Wake>;

/// How a process stands, as `show runtime` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub name: &'static str,
    /// `any wait`, `event wait`, `suspended`, `not started` or `done`.
    pub state: &'static str,
    /// Events it was given.
    pub calls: u64,
    /// Times it gave control back.
    pub suspends: u64,
    /// CPU clocks it has used.
    pub clocks: u64,
}

/// All processes of the router.
pub struct Processes<C> {
    list: Vec<Process<C>>,
    clocks: fn() -> u64,
    log: Logger,
    waker: Box<dyn Fn()>,
}

struct Process<C> {
    name: &'static str,
    /// Taken out while it runs.
    body: Option<Body<C>>,
    state: State,
    /// Router time it wants to run at, if at all.
    due: Option<f64>,
    events: Vec<u64>,
    calls: u64,
    suspends: u64,
    clocks: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    NotStarted,
    Suspended,
    AnyWait,
    EventWait,
    Done,
}

impl<C> Processes<C> {
    /// No processes. `clocks` reads the CPU's clock counter.
    pub fn new(log: Logger, clocks: fn() -> u64) -> Self {
        Self { list: Vec::new(), clocks, log, waker: Box::new(|| ()) }
    }

    /// Has `waker` called when a process may have become due earlier than
    /// [`run_due`](Self::run_due) said.
    pub fn on_change(&mut self, waker: impl Fn() + 'static) {
        self.waker = Box::new(waker);
    }

    /// Says that the router's clock was moved.
    pub fn clock_moved(&self) {
        (self.waker)();
    }

    /// Adds a process that starts at the next [`run_due`](Self::run_due).
    pub fn spawn(&mut self, name: &'static str, body: Body<C>) {
        self.list.push(Process {
            name,
            body: Some(body),
            state: State::NotStarted,
            due: Some(f64::NEG_INFINITY),
            events: Vec::new(),
            calls: 0,
            suspends: 0,
            clocks: 0,
        });
        (self.waker)();
    }

    /// Sends `signal` to the process called `name`. False when there is none or when too many
    /// signals wait for it.
    pub fn signal(&mut self, name: &str, signal: u64) -> bool {
        let Some(process) = self.list.iter_mut().find(|p| p.name == name) else { return false };
        if process.state == State::Done || process.events.len() == MAX_EVENTS {
            return false;
        }
        process.events.push(signal);
        (self.waker)();
        true
    }

    /// State and counters of all, in the order they were added.
    pub fn status(&self) -> impl Iterator<Item = Status> + '_ {
        self.list.iter().map(|p| Status {
            name: p.name,
            state: match p.state {
                State::NotStarted => "not started",
                State::Suspended => "suspended",
                State::AnyWait => "any wait",
                State::EventWait => "event wait",
                State::Done => "done",
            },
            calls: p.calls,
            suspends: p.suspends,
            clocks: p.clocks,
        })
    }

    /// Zeroes all counters.
    pub fn clear_counters(&mut self) {
        for process in &mut self.list {
            (process.calls, process.suspends, process.clocks) = (0, 0, 0);
        }
    }

    /// Runs every process that is due at router time `now` once, the longest due first, and
    /// returns when the next one is: `None` if none waits for time.
    ///
    /// `of` finds the processes in the context, so that a process may reach them too.
    pub fn run_due(cx: &mut C, of: fn(&mut C) -> &mut Self, now: f64) -> Option<f64> {
        let list = &of(cx).list;
        let mut ready: Vec<_> = (0..list.len()).filter(|i| list[*i].is_ready(now)).collect();
        ready.sort_by(|a, b| list[*a].order().total_cmp(&list[*b].order()));
        for index in ready {
            Self::run_one(cx, of, index, now);
        }
        let list = &of(cx).list;
        let pending = list.iter().any(|p| p.is_ready(now));
        let times = list.iter().filter_map(|p| p.due);
        if pending { Some(now) } else { times.min_by(f64::total_cmp) }
    }

    fn run_one(cx: &mut C, of: fn(&mut C) -> &mut Self, index: usize, now: f64) {
        let processes = of(cx);
        let clocks = processes.clocks;
        let process = &mut processes.list[index];
        let Some(mut body) = process.body.take() else { return };
        let events = process.take_events(now);
        let (count, start) = (events.len() as u64, clocks());
        let mut wake = Wake::OnEvent;
        let run = catch_unwind(AssertUnwindSafe(|| {
            for event in events {
                wake = body(cx, event);
                if wake == Wake::Done {
                    break;
                }
            }
        }));
        let used = clocks().wrapping_sub(start);
        let processes = of(cx);
        let process = &mut processes.list[index];
        process.calls += count;
        process.suspends += 1;
        process.clocks += used;
        process.body = Some(body);
        if run.is_err() {
            processes.log.error(format_args!("process {} panicked and was ended", process.name));
            wake = Wake::Done;
        }
        process.wait(wake, now);
    }
}

impl<C> Process<C> {
    fn is_ready(&self, now: f64) -> bool {
        let takes_events = matches!(self.state, State::AnyWait | State::EventWait);
        self.due.is_some_and(|due| due <= now) || (takes_events && !self.events.is_empty())
    }

    /// Sort key: time it has been due since.
    fn order(&self) -> f64 {
        self.due.unwrap_or(f64::NEG_INFINITY)
    }

    fn take_events(&mut self, now: f64) -> Vec<Event> {
        if self.state == State::NotStarted {
            return vec![Event::Start];
        }
        let mut events = Vec::new();
        if self.due.is_some_and(|due| due <= now) {
            events.push(Event::Timeout);
        }
        if self.state != State::Suspended {
            events.extend(self.events.drain(..).map(Event::Signal));
        }
        events
    }

    fn wait(&mut self, wake: Wake, now: f64) {
        (self.state, self.due) = match wake {
            Wake::After(time) => (State::Suspended, Some(now + time.as_secs_f64())),
            Wake::AfterOrEvent(time) => (State::AnyWait, Some(now + time.as_secs_f64())),
            Wake::OnEvent => (State::EventWait, None),
            Wake::Done => (State::Done, None),
        };
        if self.state == State::Done {
            self.body = None;
            self.events.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;

    struct Router {
        processes: Processes<Router>,
        seen: Vec<(&'static str, Event)>,
    }

    fn router() -> Router {
        let log = Log::new().class("process", "test");
        Router { processes: Processes::new(log, || 0), seen: Vec::new() }
    }

    fn run(router: &mut Router, now: f64) -> Option<f64> {
        Processes::run_due(router, |r| &mut r.processes, now)
    }

    fn spawn(router: &mut Router, name: &'static str, wake: Wake) {
        let body = move |r: &mut Router, event| {
            r.seen.push((name, event));
            wake
        };
        router.processes.spawn(name, Box::new(body));
    }

    fn state(router: &Router, index: usize) -> &'static str {
        router.processes.status().nth(index).unwrap().state
    }

    #[test]
    fn processes_run_when_due_and_no_earlier() {
        let mut r = router();
        spawn(&mut r, "slow", Wake::After(Duration::from_secs(10)));
        spawn(&mut r, "fast", Wake::AfterOrEvent(Duration::from_secs(1)));
        assert_eq!(run(&mut r, 0.0), Some(1.0));
        assert_eq!(run(&mut r, 0.5), Some(1.0));
        r.seen.clear();
        assert_eq!(run(&mut r, 100.0), Some(101.0));
        assert_eq!(r.seen, [("fast", Event::Timeout), ("slow", Event::Timeout)]);
        assert_eq!((state(&r, 0), state(&r, 1)), ("suspended", "any wait"));
        let status = r.processes.status().next().unwrap();
        assert_eq!((status.calls, status.suspends), (2, 2));
    }

    #[test]
    fn events_wake_those_who_wait_for_them() {
        let mut r = router();
        spawn(&mut r, "event", Wake::OnEvent);
        spawn(&mut r, "sleeper", Wake::After(Duration::from_secs(10)));
        assert_eq!(run(&mut r, 0.0), Some(10.0));
        r.seen.clear();
        assert!(r.processes.signal("event", 7) && r.processes.signal("sleeper", 8));
        assert!(!r.processes.signal("nobody", 7));
        assert_eq!(run(&mut r, 1.0), Some(10.0));
        assert_eq!(r.seen, [("event", Event::Signal(7))]);
        assert_eq!(state(&r, 0), "event wait");
    }

    #[test]
    fn changes_wake_the_main_loop() {
        let mut r = router();
        let woken = std::rc::Rc::new(std::cell::Cell::new(0));
        let count = woken.clone();
        r.processes.on_change(move || count.set(count.get() + 1));
        spawn(&mut r, "event", Wake::OnEvent);
        assert!(r.processes.signal("event", 7) && !r.processes.signal("nobody", 7));
        r.processes.clock_moved();
        assert_eq!(woken.get(), 3);
    }

    #[test]
    fn a_panic_ends_one_process() {
        let mut r = router();
        r.processes.spawn("bad", Box::new(|_, _| panic!("on purpose")));
        spawn(&mut r, "good", Wake::OnEvent);
        assert_eq!(run(&mut r, 0.0), None);
        assert_eq!((state(&r, 0), r.seen.len()), ("done", 1));
        assert!(!r.processes.signal("bad", 1));
    }

    #[test]
    fn a_process_may_signal_another() {
        let mut r = router();
        spawn(&mut r, "second", Wake::OnEvent);
        let body = |r: &mut Router, _| {
            assert!(r.processes.signal("second", 1));
            Wake::Done
        };
        r.processes.spawn("first", Box::new(body));
        assert_eq!(run(&mut r, 0.0), Some(0.0), "the signal is for the next turn");
        assert_eq!(run(&mut r, 0.0), None);
        assert_eq!(r.seen.last(), Some(&("second", Event::Signal(1))));
    }
}
