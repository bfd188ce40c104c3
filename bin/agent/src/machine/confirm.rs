//! Confirmation of changes: by the store, which a change may have cut off.

use super::failure::Failed;
use super::{BACK, Busy, Machine};
use crate::desired::{Goal, Refusal};
use crate::difference::{key, name, texts};
use crate::state::{Order, Own};

/// A change that waits to be confirmed.
pub(super) struct Unconfirmed {
    /// When it was made, when it can be confirmed at last, and when the router has gone back if it
    /// was not.
    pub(super) since: f64,
    pub(super) last: f64,
    pub(super) until: f64,
    /// Whether the router has reported that it was made.
    pub(super) is_made: bool,
}

impl Unconfirmed {
    pub(super) fn new(now: f64, minutes: f64) -> Self {
        let last = now + minutes * 60.0;
        Self { since: now, last, until: last + BACK, is_made: false }
    }
}

impl Machine {
    /// Confirms a change once the store has answered a request sent after it.
    pub(super) fn confirm(&mut self, asked: f64, orders: &mut Vec<Order>) {
        let now = self.now;
        let is_due = self.unconfirmed.as_ref().is_some_and(|u| asked >= u.since && now < u.last);
        let pending = self.own.pending.as_ref().filter(|_| is_due && self.busy.is_none());
        if let Some(pending) = pending {
            orders.push(Order::Confirm(name(pending)));
            self.busy = Some(Busy::Confirming);
        }
    }

    pub(super) fn confirmed(&mut self, orders: &mut Vec<Order>) {
        let unconfirmed = self.unconfirmed.take();
        self.is_confirmed = unconfirmed.is_some_and(|unconfirmed| unconfirmed.is_made);
        (self.busy, self.running) = (None, None);
        // Whether it exists at all, the next look at the router says.
        let pending = self.own.pending.clone().map(|goal| Goal { confirm: None, ..goal });
        self.keep(Own { pending, ..self.own.clone() }, orders);
    }

    /// Determines from the running configuration how a change ended whose reply was lost.
    pub(super) fn settle(&mut self, orders: &mut Vec<Order>) {
        let (Some(running), Some(pending)) = (&self.running, self.own.pending.clone()) else {
            self.unconfirmed = None;
            return;
        };
        let is_over = self.unconfirmed.take_if(|u| self.now >= u.until).is_some();
        // A change that was made and confirmed and is missing had been undone just before.
        let is_undone = std::mem::take(&mut self.is_confirmed) || is_over;
        if self.unconfirmed.is_some() {
            return;
        }
        let (lines, instance) = (texts(&pending), running.instance.clone());
        let is_there = lines.iter().all(|line| running.lines.contains(line))
            && !self.own.lines.difference(&lines).any(|line| running.lines.contains(line));
        if is_there {
            self.keep(Own::applied(pending, instance), orders);
        } else if is_undone {
            // The lines that may be the fleet's and exist.
            let is_there = |line: &&String| running.lines.contains(*line);
            let lines = self.own.lines.iter().filter(is_there).cloned().collect();
            let refusal = Refusal::new("not confirmed: the store was unreachable");
            let retry = f64::INFINITY;
            self.failed = Some(Failed { key: key(&pending), refusal, retry, pause: retry });
            self.keep(Own { pending: None, lines, ..self.own.clone() }, orders);
        }
    }
}
