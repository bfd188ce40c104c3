//! Deferred work of control: named processes that wait for time or for events, and timers by the
//! thousand, on one wheel of the router's own clock.
//!
//! The main loop calls [`Processes::run_due`] with the router's time; moving that clock moves
//! every process and timer: what became due runs in the order of its time. Times are seconds as
//! `f64`, kept to the millisecond, never early. A process may also wait for descriptors, such as
//! sockets on which others speak: what comes there is an event ([`Processes::watch`]).

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use infra::timer::{Handle, MILLISECOND, Wheel};

use crate::descriptors::Descriptors;
use crate::events::{EventLog, Topic};
use crate::feature::Owner;
use crate::log::Logger;

/// Limit of processes and timers per turn; other work of control runs between turns.
const MAX_TURN: usize = 256;
/// Most events one process may have waiting.
const MAX_EVENTS: usize = 256;

/// A random number of seconds between two, so that routers do not speak all at once.
pub fn between(least: f64, most: f64) -> f64 {
    let random = RandomState::new().hash_one(()) >> 11;
    least + (most - least) * random as f64 / (1_u64 << 53) as f64
}

/// Reasons why a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// For the first time.
    Start,
    /// The time it asked for has come.
    Timeout,
    /// Sent by another part, with this number.
    Signal(u64),
}

/// The next run of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// After this time; events wait until then.
    After(Duration),
    /// After this time, or when an event comes.
    AfterOrEvent(Duration),
    /// At an event.
    OnEvent,
    /// Never.
    Done,
}

/// The body of a process, called each time it runs.
pub type Body<C> = Box<dyn FnMut(&mut C, Event) -> Wake>;

/// The action of a timer, called with its key when it fires.
pub type Action<C> = fn(&mut C, u64);

/// Names a timer until it fires or is cancelled; afterwards it names nothing.
pub type Timer = Handle;

/// The status of a process, as `show runtime` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Name.
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

/// All processes and timers of the router.
pub struct Processes<C> {
    list: Vec<Process<C>>,
    wheel: Wheel<Due<C>>,
    /// First tick that is not in the turn under way; 0 between turns.
    next_turn: u64,
    /// Tick of the next turn, as far as the main loop knows.
    expected: u64,
    /// Place in the list of the process with signals that comes first in the next turn.
    first: usize,
    clocks: fn() -> u64,
    log: Logger,
    noted: EventLog,
    waker: Box<dyn Fn()>,
    /// Descriptors with the places of processes in the list, from the first one on.
    descriptors: Option<Descriptors>,
}

/// An entry of the wheel.
enum Due<C> {
    /// The process at this place of the list.
    Process(usize),
    Timer(Action<C>, u64),
}

struct Process<C> {
    name: &'static str,
    owner: Owner,
    /// Taken out while it runs.
    body: Option<Body<C>>,
    state: State,
    /// The time it waits for, if for any.
    timer: Option<Handle>,
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
    /// No processes. What runs is noted in `noted`; `clocks` reads the CPU's clock counter.
    pub fn new(log: Logger, noted: EventLog, clocks: fn() -> u64) -> Self {
        Self {
            list: Vec::new(),
            wheel: Wheel::new(MILLISECOND),
            next_turn: 0,
            expected: u64::MAX,
            first: 0,
            clocks,
            log,
            noted,
            waker: Box::new(|| ()),
            descriptors: None,
        }
    }

    /// Calls `waker` when a process may have become due earlier than [`run_due`](Self::run_due)
    /// returned.
    pub fn on_change(&mut self, waker: impl Fn() + 'static) {
        self.waker = Box::new(waker);
    }

    /// Says that the router's clock was moved.
    pub fn clock_moved(&self) {
        (self.waker)();
    }

    /// Adds a process that starts at the next [`run_due`](Self::run_due).
    pub fn spawn(&mut self, name: &'static str, body: Body<C>) {
        let gone = self.list.iter().position(|p| !p.owner.is_there());
        let at = gone.unwrap_or(self.list.len());
        let timer = self.start(0.0, Due::Process(at));
        let new = Process {
            name,
            owner: Owner::current(),
            body: Some(body),
            state: State::NotStarted,
            timer: Some(timer),
            events: Vec::new(),
            calls: 0,
            suspends: 0,
            clocks: 0,
        };
        match self.list.get_mut(at) {
            Some(gone) => *gone = new,
            None => self.list.push(new),
        }
    }

    /// Ends the processes of an owner.
    pub fn remove_all_of(&mut self, owner: Owner) {
        for process in self.list.iter_mut().filter(|p| p.owner == owner) {
            process.end();
            process.timer.take().map(|timer| self.wheel.stop(timer));
        }
    }

    /// Calls `action` with `key` when the router's clock reads `time` or later, once.
    pub fn at(&mut self, time: f64, action: Action<C>, key: u64) -> Timer {
        self.start(time, Due::Timer(action, key))
    }

    /// Stops a timer. False when it has fired or was cancelled before.
    pub fn cancel(&mut self, timer: Timer) -> bool {
        self.wheel.stop(timer).is_some()
    }

    fn start(&mut self, time: f64, due: Due<C>) -> Handle {
        // What is started in a turn waits for the next one, so that turns end.
        let deadline = self.wheel.deadline_at(time).max(self.next_turn);
        if deadline < self.expected {
            self.expected = deadline;
            (self.waker)();
        }
        self.wheel.start(deadline, due)
    }

    /// Sends `signal` to the process called `name`. False when there is none or when too many
    /// signals wait for it.
    pub fn signal(&mut self, name: &str, signal: u64) -> bool {
        let mut all = self.list.iter_mut().filter(|p| p.owner.is_there());
        let Some(process) = all.find(|p| p.name == name) else { return false };
        if process.state == State::Done || process.events.len() == MAX_EVENTS {
            return false;
        }
        process.events.push(signal);
        (self.waker)();
        true
    }

    /// Runs the process called `name`, as for a signal, whenever a descriptor becomes readable,
    /// until that is closed. The process reads until nothing is left: remaining data is not
    /// reported again.
    ///
    /// # Errors
    /// There is no such process, or the kernel's: the descriptor cannot be waited for.
    pub fn watch(&mut self, name: &str, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let is_it = |p: &Process<C>| p.owner.is_there() && p.name == name;
        let place = self.list.iter().position(is_it).ok_or(io::ErrorKind::NotFound)?;
        let all = match self.descriptors.take() {
            Some(all) => all,
            None => Descriptors::new()?,
        };
        let added = all.add(descriptor, place as u64);
        self.descriptors = Some(all);
        // The main loop may not know yet that there are some.
        (self.waker)();
        added
    }

    /// Readable when something has come at a descriptor that a process waits for; `None` while
    /// none does.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.descriptors.as_ref().map(AsFd::as_fd)
    }

    /// Makes [`Self::descriptor`] readable after a time, too; false if that is impossible.
    pub fn set_alarm(&self, after: Duration) -> bool {
        self.descriptors.as_ref().is_some_and(|all| all.set_alarm(after).is_ok())
    }

    /// Signals to processes at whose descriptors something has come.
    fn hear(&mut self) {
        let ready = self.descriptors.as_ref().map(Descriptors::ready);
        for place in ready.into_iter().flatten() {
            let process = self.list.get_mut(place as usize);
            let process = process.filter(|p| p.state != State::Done && p.owner.is_there());
            // One signal is as good as many.
            if let Some(process) = process.filter(|p| p.events.is_empty()) {
                process.events.push(0);
            }
        }
    }

    /// State and counters of all, in the order they were added.
    pub fn status(&self) -> impl Iterator<Item = Status> + '_ {
        self.list.iter().filter(|p| p.owner.is_there()).map(|p| Status {
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

    /// Runs every process and timer that is due at router time `now` once, the longest due first,
    /// and processes with signals; returns when the next one is: `None` if none waits for time.
    ///
    /// When very many are due, the rest is left for the next call: the time returned is past then.
    /// `of` finds the processes in the context, so that all of them may reach them too.
    pub fn run_due(cx: &mut C, of: fn(&mut C) -> &mut Self, now: f64) -> Option<f64> {
        Self::run_some(cx, of, now, || false)
    }

    /// The same until `is_over` says, after a process or timer, that it took long enough: the rest
    /// is left for the next call.
    pub fn run_some(
        cx: &mut C,
        of: fn(&mut C) -> &mut Self,
        now: f64,
        is_over: impl Fn() -> bool,
    ) -> Option<f64> {
        let this = of(cx);
        let tick = this.wheel.tick_at(now);
        this.next_turn = tick + 1;
        // Reported at the end of the next run: nothing in between wakes the loop.
        this.expected = 0;
        this.hear();
        let mut signalled: Vec<_> = this.signalled().collect();
        let first = signalled.partition_point(|index| *index < this.first);
        signalled.rotate_left(first);
        for _ in 0..MAX_TURN {
            match of(cx).wheel.pop(tick) {
                Some(Due::Process(index)) => Self::run_one(cx, of, index, now, true),
                Some(Due::Timer(action, key)) => Self::fire(cx, of, action, key),
                None => break,
            }
            if is_over() {
                break;
            }
        }
        for index in signalled {
            if of(cx).list[index].has_signals() {
                Self::run_one(cx, of, index, now, false);
            }
            of(cx).first = index + 1;
            if is_over() {
                break;
            }
        }
        let this = of(cx);
        this.next_turn = 0;
        let deadline = this.wheel.next_deadline();
        this.expected = deadline.unwrap_or(u64::MAX);
        let time = deadline.map(|tick| this.wheel.seconds_at(tick));
        if this.signalled().next().is_some() { Some(now) } else { time }
    }

    fn signalled(&self) -> impl Iterator<Item = usize> {
        let list = self.list.iter().enumerate();
        list.filter(|(_, p)| p.has_signals()).map(|(index, _)| index)
    }

    fn fire(cx: &mut C, of: fn(&mut C) -> &mut Self, action: Action<C>, key: u64) {
        of(cx).noted.note(Topic::Timer, format_args!("key {key:#x}"));
        if catch_unwind(AssertUnwindSafe(|| action(cx, key))).is_err() {
            of(cx).log.error(format_args!("a timer panicked; its key was {key}"));
        }
    }

    fn run_one(
        cx: &mut C,
        of: fn(&mut C) -> &mut Self,
        index: usize,
        now: f64,
        has_timed_out: bool,
    ) {
        let processes = of(cx);
        let clocks = processes.clocks;
        let process = &mut processes.list[index];
        let Some(mut body) = process.body.take() else { return };
        let events = process.take_events(has_timed_out);
        processes.noted.note(Topic::Dispatch, format_args!("{}: {events:?}", process.name));
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
            processes.log.error(format_args!("process {} panicked and was stopped", process.name));
            wake = Wake::Done;
        }
        let (state, delay) = match wake {
            Wake::After(time) => (State::Suspended, Some(time)),
            Wake::AfterOrEvent(time) => (State::AnyWait, Some(time)),
            Wake::OnEvent => (State::EventWait, None),
            Wake::Done => (State::Done, None),
        };
        process.state = state;
        if state == State::Done {
            process.end();
        }
        let old = process.timer.take();
        old.and_then(|timer| processes.wheel.stop(timer));
        let due = delay.map(|d| processes.start(now + d.as_secs_f64(), Due::Process(index)));
        processes.list[index].timer = due;
    }
}

impl<C> Process<C> {
    fn end(&mut self) {
        self.state = State::Done;
        self.body = None;
        self.events.clear();
    }

    /// Whether signals wait that it takes.
    fn has_signals(&self) -> bool {
        let takes_them = matches!(self.state, State::AnyWait | State::EventWait);
        takes_them && !self.events.is_empty()
    }

    fn take_events(&mut self, has_timed_out: bool) -> Vec<Event> {
        if self.state == State::NotStarted {
            return vec![Event::Start];
        }
        let mut events = Vec::new();
        if has_timed_out {
            events.push(Event::Timeout);
        }
        if self.state != State::Suspended {
            events.extend(self.events.drain(..).map(Event::Signal));
        }
        events
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
        Router { processes: Processes::new(log, EventLog::default(), || 0), seen: Vec::new() }
    }

    fn run(router: &mut Router, now: f64) -> Option<f64> {
        Processes::run_due(router, |r| &mut r.processes, now)
    }

    /// Runs at `now`, and returns whether the main loop got a wake-up time later than that and in
    /// time for `next`.
    fn run_for(router: &mut Router, now: f64, next: f64) -> bool {
        run(router, now).is_some_and(|time| time > now && time <= next)
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
        assert!(run_for(&mut r, 0.0, 1.0) && run_for(&mut r, 0.9, 1.0));
        r.seen.clear();
        assert!(run_for(&mut r, 0.999, 1.0) && r.seen.is_empty());
        assert!(run_for(&mut r, 100.0, 101.0));
        assert_eq!(r.seen, [("fast", Event::Timeout), ("slow", Event::Timeout)]);
        assert_eq!((state(&r, 0), state(&r, 1)), ("suspended", "any wait"));
        let status = r.processes.status().next().unwrap();
        assert_eq!((status.calls, status.suspends), (2, 2));
    }

    /// Note of a timer in the tests.
    fn note(r: &mut Router, key: u64) {
        r.seen.push(("timer", Event::Signal(key)));
    }

    #[test]
    fn a_moved_clock_fires_timers_and_processes_in_the_order_of_their_times() {
        let mut r = router();
        spawn(&mut r, "minute", Wake::After(Duration::from_secs(60)));
        assert!(run_for(&mut r, 0.0, 60.0));
        for time in [50.0, 70.0, 0.0015, 61.0] {
            r.processes.at(time, note, (time * 10_000.0) as u64);
        }
        assert_eq!(run(&mut r, 0.001), Some(0.002));
        r.seen.clear();
        run(&mut r, 65.0);
        let timer = |key| ("timer", Event::Signal(key));
        let order = [timer(15), timer(500_000), ("minute", Event::Timeout), timer(610_000)];
        assert_eq!(r.seen, order);
    }

    #[test]
    fn a_timer_may_cancel_another_that_is_due_and_start_itself_again() {
        fn again(r: &mut Router, key: u64) {
            r.seen.push(("again", Event::Signal(key)));
            r.processes.at(0.0, again, key + 1);
        }
        let mut r = router();
        let first = r.processes.at(1.0, note, 1);
        assert!(r.processes.cancel(first) && !r.processes.cancel(first));
        r.processes.at(1.0, again, 7);
        let next = run(&mut r, 5.0);
        assert_eq!(r.seen, [("again", Event::Signal(7))], "once a turn");
        assert_eq!(next, Some(5.001));
    }

    #[test]
    fn many_timers_take_several_turns() {
        let mut r = router();
        for key in 0..1000 {
            r.processes.at(1.0, note, key);
        }
        assert!(run(&mut r, 2.0).is_some_and(|next| next <= 2.0));
        assert_eq!(r.seen.len(), MAX_TURN);
        while run(&mut r, 2.0).is_some() {}
        let keys = r.seen.iter().map(|s| s.1);
        assert!(keys.eq((0..1000).map(Event::Signal)));
    }

    #[test]
    fn a_turn_that_takes_long_enough_leaves_the_rest_for_the_next() {
        let mut r = router();
        for key in 0..10 {
            r.processes.at(1.0, note, key);
        }
        let turns = std::cell::Cell::new(0);
        let third = || turns.replace(turns.get() + 1) % 3 == 2;
        let next = Processes::run_some(&mut r, |r| &mut r.processes, 2.0, third);
        assert!(next.is_some_and(|next| next <= 2.0));
        assert_eq!(r.seen.len(), 3);
        while Processes::run_some(&mut r, |r| &mut r.processes, 2.0, third).is_some() {}
        assert!(r.seen.iter().map(|s| s.1).eq((0..10).map(Event::Signal)));
    }

    #[test]
    fn processes_that_signal_themselves_for_ever_all_have_their_turns() {
        let mut r = router();
        for name in ["first", "second", "third"] {
            let body = move |r: &mut Router, event| {
                r.seen.push((name, event));
                r.processes.signal(name, 1);
                Wake::OnEvent
            };
            r.processes.spawn(name, Box::new(body));
        }
        run(&mut r, 0.0);
        r.seen.clear();
        for turn in 0..9 {
            // Each turn is over at once.
            let next = Processes::run_some(&mut r, |r| &mut r.processes, 1.0, || true);
            assert_eq!((next, r.seen.len()), (Some(1.0), turn + 1));
        }
        let count = |name| r.seen.iter().filter(|seen| seen.0 == name).count();
        assert_eq!(["first", "second", "third"].map(count), [3; 3]);
    }

    #[test]
    fn a_timer_that_panics_ends_alone() {
        let mut r = router();
        r.processes.at(1.0, |_, _| panic!("on purpose"), 0);
        r.processes.at(1.0, note, 1);
        assert_eq!(run(&mut r, 1.0), None);
        assert_eq!(r.seen.len(), 1);
    }

    #[test]
    fn events_wake_those_who_wait_for_them() {
        let mut r = router();
        spawn(&mut r, "event", Wake::OnEvent);
        spawn(&mut r, "sleeper", Wake::After(Duration::from_secs(10)));
        assert!(run_for(&mut r, 0.0, 10.0));
        r.seen.clear();
        assert!(r.processes.signal("event", 7) && r.processes.signal("sleeper", 8));
        assert!(!r.processes.signal("nobody", 7));
        assert!(run_for(&mut r, 1.0, 10.0));
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

    #[test]
    fn random_times_lie_between() {
        let all: Vec<_> = (0..1000).map(|_| between(3.0, 4.0)).collect();
        assert!(all.iter().all(|t| (3.0..4.0).contains(t)));
        assert!(all.iter().any(|t| *t < 3.1) && all.iter().any(|t| *t > 3.9));
    }

    #[test]
    fn what_comes_at_a_descriptor_is_an_event() {
        let mut r = router();
        spawn(&mut r, "listener", Wake::OnEvent);
        run(&mut r, 0.0);
        assert!(r.processes.descriptor().is_none());
        let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(r.processes.watch("nobody", here.as_fd()).is_err());
        r.processes.watch("listener", here.as_fd()).unwrap();
        assert!(r.processes.descriptor().is_some());
        r.seen.clear();
        run(&mut r, 1.0);
        assert_eq!(r.seen, []);
        std::io::Write::write_all(&mut &there, &[1]).unwrap();
        run(&mut r, 2.0);
        assert_eq!(r.seen, [("listener", Event::Signal(0))]);
        run(&mut r, 3.0);
        assert_eq!(r.seen.len(), 1, "it is no news any more");
        drop(there);
        run(&mut r, 4.0);
        assert_eq!(r.seen.len(), 2);
    }
}
