//! Sessions and bindings of a thread, changed together.

use infra::rcu::Epoch;
use nat_log::{Log, Record};
use sessions::{Flow4, Flow6, New, Refused, SessionIndex};

use crate::core::{Bindings, Data, NatTable, class_of, ended, outside_end};
use crate::log::{of_binding, of_session};

/// Tables in which a thread changes sessions.
pub struct Tables<'a> {
    /// Its sessions.
    pub table: &'a mut NatTable,
    /// Its bindings.
    pub bindings: &'a mut Bindings,
    /// Log of the changes.
    pub log: &'a mut Log,
    /// The epoch of the frame.
    pub epoch: Epoch<'a>,
    /// The time in seconds.
    pub now: f64,
}

impl Tables<'_> {
    /// Ends a session, and its binding with the last.
    pub fn remove(&mut self, at: Option<SessionIndex>) {
        let Some(gone) = at.and_then(|at| self.table.remove(at)) else { return };
        self.log.send(self.epoch, || of_session(false, &gone));
        if let Some(binding) = ended(self.bindings, &gone) {
            self.log.send(self.epoch, || of_binding(false, &binding));
        }
    }
    /// Binds the end of a host to one outside; `None` without room.
    pub fn bind(&mut self, forward: Flow6, reverse: Flow4) -> Option<()> {
        let new = New { forward, reverse, data: 0, class: 0 };
        match self.bindings.insert(new, self.now, |_, _| ()) {
            Ok(at) => {
                let binding = self.bindings.with_counts(at)?;
                self.log.send(self.epoch, || of_binding(true, &binding));
                Some(())
            }
            Err(Refused::Full) => {
                let full = Record::MaxBindings(self.bindings.usage().limit as u32);
                self.log.limit(full, self.now, self.epoch);
                None
            }
            Err(Refused::Clash) => None,
        }
    }
    /// Adds a session, and counts it at its binding; without room (`None`) neither stays.
    pub fn insert(&mut self, forward: Flow6, reverse: Flow4, data: Data) -> Option<SessionIndex> {
        let Self { table, bindings, log, epoch, now } = self;
        let end = outside_end((reverse.dst, reverse.dst_port), reverse.protocol());
        // Counted first: a session that is over and goes now may have the same binding.
        if let Some(at) = bindings.find_reverse(&end)
            && let Some(count) = bindings.data_mut(at)
        {
            *count += 1;
        }
        let class = class_of(reverse.protocol());
        let new = New { forward, reverse, data, class };
        let done = table.insert(new, *now, |_, gone| {
            log.send(*epoch, || of_session(false, gone));
            if let Some(binding) = ended(bindings, gone) {
                log.send(*epoch, || of_binding(false, &binding));
            }
        });
        match done {
            Ok(at) => {
                let session = table.with_counts(at)?;
                log.send(*epoch, || of_session(true, &session));
                Some(at)
            }
            Err(refused) => {
                if refused == Refused::Full {
                    let full = Record::MaxSessions(table.usage().limit as u32);
                    log.limit(full, *now, *epoch);
                }
                let at = bindings.find_reverse(&end)?;
                let count = bindings.data_mut(at)?;
                *count -= 1;
                if *count == 0
                    && let Some(binding) = bindings.remove(at)
                {
                    log.send(*epoch, || of_binding(false, &binding));
                }
                None
            }
        }
    }
}
