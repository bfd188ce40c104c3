//! The agent's decisions, without I/O: events in, orders out.
//!
//! At most one order to the router is under way. What the router has is looked at before each
//! change and named by its hash, so a change is never made on top of something unknown; and what
//! the agent may take away later is on the disk before it is asked for.

mod confirm;
mod failure;
mod status;

use confirm::Unconfirmed;
use failure::Failed;

use crate::desired::{Goal, Line, Refusal};
use crate::difference::{Difference, key, name, shown, texts};
pub use crate::state::{Drift, Event, Order, Orphan, Own, Running, State, Status, Trouble};

/// Interval for checking the router in seconds.
pub const POLL: f64 = 5.0;
/// Seconds of quiet before drift is repaired.
pub const QUIET: f64 = 10.0;
/// Seconds after which a refused state is tried again: at first, and at most.
const RETRY: (f64, f64) = (5.0, 60.0);
/// Seconds between two attempts to reach the router.
const AGAIN: f64 = 1.0;
/// Seconds after the confirmation deadline until the router has certainly rolled back.
const BACK: f64 = 10.0;
/// Lines of drift that are reported.
const MOST_DRIFT: usize = 20;

/// An order to the router that is under way.
#[expect(clippy::large_enum_variant, reason = "there is one")]
enum Busy {
    Reading,
    Patching {
        goal: Goal,
        /// Lines of the patch: whether each adds, and where it comes from.
        lines: Vec<(bool, Line)>,
        before: Own,
        instance: String,
        confirm: Option<f64>,
    },
    Confirming,
}

/// The holder of the router's name in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Unknown,
    Ours,
    Other(String),
}

/// The agent of a router.
pub struct Machine {
    orphan: Orphan,
    drift: Drift,
    own: Own,
    wanted: Option<Goal>,
    problem: Option<Refusal>,
    is_orphan: bool,
    /// Why the store does not answer.
    lost: Option<String>,
    name: Name,
    running: Option<Running>,
    busy: Option<Busy>,
    unconfirmed: Option<Unconfirmed>,
    /// Whether the change that was made was confirmed since the last look.
    is_confirmed: bool,
    failed: Option<Failed>,
    /// When drift was seen first, and of what.
    drifted: Option<(f64, Vec<String>)>,
    /// Why the router does not answer, and when it is asked again.
    gone: Option<(f64, String)>,
    looked: f64,
    now: f64,
    /// Time of the next order after the configuration was not the expected one, and how
    /// often that was so.
    pause: (f64, u32),
}

impl Machine {
    /// Creates the agent with the knowledge of an earlier run.
    pub fn new(now: f64, (orphan, drift): (Orphan, Drift), own: Own) -> Self {
        let minutes = own.pending.as_ref().and_then(|pending| pending.confirm);
        let unconfirmed = minutes.map(|minutes| Unconfirmed::new(now, minutes));
        Self {
            orphan,
            drift,
            own,
            wanted: None,
            problem: None,
            is_orphan: false,
            lost: Some("not reached yet".to_owned()),
            name: Name::Unknown,
            running: None,
            busy: None,
            unconfirmed,
            is_confirmed: false,
            failed: None,
            drifted: None,
            gone: None,
            looked: 0.0,
            now,
            pause: (now, 0),
        }
    }

    /// Handles an event; returns orders, in sequence.
    pub fn take(&mut self, now: f64, event: Event) -> Vec<Order> {
        let mut orders = Vec::new();
        self.now = now;
        match event {
            Event::Desired(goal) => {
                (self.problem, self.is_orphan, self.wanted) = (None, false, Some(goal));
            }
            Event::Wrong(refusal) => {
                (self.problem, self.is_orphan, self.wanted) = (Some(refusal), false, None);
            }
            Event::Nothing => (self.problem, self.is_orphan, self.wanted) = (None, true, None),
            Event::Alive(asked) => {
                (self.lost, self.name) = (None, Name::Ours);
                self.confirm(asked, &mut orders);
            }
            Event::Taken(by) => (self.lost, self.name) = (None, Name::Other(by)),
            Event::Lost(why) => self.lost = Some(why),
            Event::Stale => (self.lost, self.name, self.running) = (None, Name::Unknown, None),
            Event::Running(running) => {
                self.busy = None;
                (self.gone, self.looked) = (None, now);
                self.running = Some(running);
                self.settle(&mut orders);
            }
            Event::Same => {
                self.busy = None;
                (self.gone, self.looked) = (None, now);
            }
            Event::Patched(hash) => self.patched(hash, &mut orders),
            Event::Confirmed => self.confirmed(&mut orders),
            Event::Trouble(trouble) => self.trouble(trouble, &mut orders),
            Event::Tick => {}
        }
        self.advance(&mut orders);
        orders
    }

    /// The knowledge that outlasts it.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// Whether a state may follow the one that was applied last.
    fn fits(&self, goal: &Goal) -> Result<(), Refusal> {
        let Some(last) = self.own.goal.as_ref().filter(|_| !goal.force) else { return Ok(()) };
        let (new, old) = (goal.revision, last.revision);
        if new < old {
            return Err(Refusal::new(format!(
                "revision {new} is older than {old}, which was applied: use `force' to apply it"
            )));
        }
        if new == old && goal.digest != last.digest {
            return Err(Refusal::new(format!(
                "revision {new} was applied with other lines: changes need a higher revision"
            )));
        }
        Ok(())
    }

    /// The state that the router is to have now: not one that was just refused.
    fn goal(&self) -> Option<&Goal> {
        let is_tried = |goal: &&Goal| {
            let failed = self.failed.as_ref().filter(|failed| failed.key == key(goal));
            self.fits(goal).is_ok() && failed.is_none_or(|failed| self.now >= failed.retry)
        };
        self.wanted.as_ref().filter(is_tried).or(self.own.goal.as_ref())
    }

    /// Whether the agent may change the router: it has the name, or the store cannot say.
    fn may_act(&self) -> bool {
        match self.name {
            Name::Ours => true,
            Name::Unknown => self.lost.is_some(),
            Name::Other(_) => false,
        }
    }

    fn read(&mut self, orders: &mut Vec<Order>) {
        let known = self.running.as_ref();
        let known = known.map(|running| (running.instance.clone(), running.hash.clone()));
        self.busy = Some(Busy::Reading);
        orders.push(Order::Read(known));
    }

    /// Takes the next step, unless an order is pending.
    fn advance(&mut self, orders: &mut Vec<Order>) {
        let now = self.now;
        let is_gone = self.gone.as_ref().is_some_and(|(again, _)| now < *again);
        if self.busy.is_some() || is_gone || now < self.pause.0 {
            return;
        }
        if self.unconfirmed.as_ref().is_some_and(|u| now >= u.until) {
            // The router has gone back, or the answer to the confirmation was lost.
            self.running = None;
        }
        let Some(running) = self.running.as_ref().filter(|_| now - self.looked < POLL) else {
            return self.read(orders);
        };
        if !self.may_act() || self.unconfirmed.is_some() {
            return;
        }
        let goal = match (self.is_orphan, self.orphan, self.goal()) {
            (true, Orphan::Empty, Some(last)) => Goal { lines: Vec::new(), ..last.clone() },
            (_, _, Some(goal)) => goal.clone(),
            (_, _, None) => return,
        };
        let failed = self.failed.as_ref().filter(|failed| failed.key == key(&goal));
        if failed.is_some_and(|failed| now < failed.retry) {
            return;
        }
        let difference = Difference::of(&goal, &self.own.lines, running);
        let is_change = self.own.goal.as_ref() != Some(&goal)
            || self.own.pending.is_some()
            || self.own.instance != running.instance;
        if difference.is_none() {
            self.drifted = None;
            self.failed.take_if(|failed| failed.key == key(&goal));
            if is_change {
                let instance = running.instance.clone();
                self.keep(Own::applied(goal, instance), orders);
            }
        } else if is_change || self.is_repaired(&difference) {
            let is_new = self.own.goal.as_ref().is_none_or(|last| key(last) != key(&goal));
            let confirm = goal.confirm.filter(|_| is_new);
            // What has to be confirmed by the store waits for it.
            if confirm.is_none() || self.lost.is_none() {
                self.patch(goal, &difference, confirm, orders);
            }
        }
    }

    fn keep(&mut self, own: Own, orders: &mut Vec<Order>) {
        if self.own != own {
            self.own = own;
            orders.push(Order::Keep(self.own.clone()));
        }
    }

    /// Whether drift is repaired, which is noted otherwise.
    fn is_repaired(&mut self, difference: &Difference) -> bool {
        let lines = difference.added.iter().take(MOST_DRIFT).map(shown);
        let lines: Vec<_> = lines.collect();
        let since = match &self.drifted {
            Some((since, known)) if *known == lines => *since,
            _ => self.now,
        };
        self.drifted = Some((since, lines));
        self.drift == Drift::Repair && self.now - since >= QUIET
    }

    fn patch(
        &mut self,
        goal: Goal,
        difference: &Difference,
        confirm: Option<f64>,
        orders: &mut Vec<Order>,
    ) {
        let Some(running) = &self.running else { return };
        let (base, instance) = (running.hash.clone(), running.instance.clone());
        let before = self.own.clone();
        // Lines that may exist afterwards are on disk before.
        let lines = before.lines.iter().cloned().chain(texts(&goal)).collect();
        let pending = Some(Goal { confirm, ..goal.clone() });
        self.keep(Own { pending, lines, ..before.clone() }, orders);
        // Even if no reply arrives.
        self.unconfirmed = confirm.map(|minutes| Unconfirmed::new(self.now, minutes));
        let text = difference.text();
        let named = confirm.map(|minutes| (minutes, name(&goal)));
        orders.push(Order::Patch { text, base, confirm: named });
        let lines = difference.lines();
        self.busy = Some(Busy::Patching { goal, lines, before, instance, confirm });
    }

    fn patched(&mut self, hash: Option<String>, orders: &mut Vec<Order>) {
        let Some(Busy::Patching { goal, instance, confirm, lines, .. }) = self.busy.take() else {
            return;
        };
        (self.failed, self.drifted, self.pause.1) = (None, None, 0);
        if let Some(running) = self.running.as_mut() {
            for (is_added, line) in lines {
                match is_added {
                    true => drop(running.lines.insert(line.text)),
                    false => drop(running.lines.remove(&line.text)),
                }
            }
            running.hash = hash.clone().unwrap_or_default();
        }
        if hash.is_none() {
            self.running = None;
        }
        match confirm {
            Some(minutes) => {
                let new = Unconfirmed::new(self.now, minutes);
                self.unconfirmed = Some(Unconfirmed { is_made: true, ..new });
            }
            None => self.keep(Own::applied(goal, instance), orders),
        }
    }
}
