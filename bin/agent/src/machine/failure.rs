//! Changes that the router did not make.

use super::{AGAIN, Busy, Machine, RETRY};
use crate::desired::Refusal;
use crate::difference::key;
use crate::state::{Order, Trouble};

/// A refused state, until it is tried again.
pub(super) struct Failed {
    pub(super) key: (u64, String),
    pub(super) refusal: Refusal,
    pub(super) retry: f64,
    pub(super) pause: f64,
}

impl Machine {
    pub(super) fn trouble(&mut self, trouble: Trouble, orders: &mut Vec<Order>) {
        let busy = self.busy.take();
        match (trouble, busy) {
            (Trouble::Refused(line, text), Some(Busy::Patching { goal, lines, before, .. })) => {
                let place = line.and_then(|n| lines.get(n.checked_sub(1)?)).map(|(_, line)| line);
                let section = place.map(|line| line.section.clone()).filter(|s| !s.is_empty());
                let line = section.as_ref().and(place).map(|line| line.number);
                let key = key(&goal);
                let last = self.failed.take().filter(|failed| failed.key == key);
                let pause = last.map_or(RETRY.0, |last| (last.pause * 2.0).min(RETRY.1));
                let retry = self.now + pause;
                let refusal = Refusal { section, line, text };
                self.unconfirmed = None;
                self.failed = Some(Failed { key, refusal, retry, pause });
                // Secrets may differ from those that were read, which no hash shows.
                self.running = None;
                self.keep(before, orders);
            }
            (Trouble::Refused(_, text), Some(Busy::Confirming)) => {
                // Nothing waits for it any more; what is there says which way it went.
                self.running = None;
                self.unconfirmed.iter_mut().for_each(|u| u.until = self.now);
                self.gone = Some((self.now + AGAIN, text));
            }
            (Trouble::Changed, busy) => {
                self.running = None;
                let pause = 0.05 * f64::from(1 << self.pause.1.min(7));
                self.pause = (self.now + pause, self.pause.1 + 1);
                if let Some(Busy::Patching { before, .. }) = busy {
                    self.unconfirmed = None;
                    self.keep(before, orders);
                }
            }
            (Trouble::Refused(_, why) | Trouble::Gone(why), _) => {
                self.running = None;
                // The change may have been made just now: answers from before say nothing.
                self.unconfirmed.iter_mut().for_each(|u| u.since = self.now);
                self.gone = Some((self.now + AGAIN, why));
            }
        }
    }
}
