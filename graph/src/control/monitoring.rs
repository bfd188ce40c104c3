//! Monitoring of nodes on all threads.

use super::{Engine, NodeIndex};
use crate::engine::{Handled, Monitored};
use crate::worker::NoAnswer;

impl Engine {
    /// Enables or disables a monitored subject on all threads, from the next loop on; findings
    /// stay.
    pub fn monitor(&mut self, what: Monitored, on: bool) {
        self.monitored[what as usize] = on;
        self.post_all(|_| Box::new(move |core| core.monitor(what, on)));
    }
    /// Whether a subject is monitored.
    pub fn is_monitored(&self, what: Monitored) -> bool {
        self.monitored[what as usize]
    }
    /// Forgets what was found about a subject.
    pub fn clear_handled(&mut self, what: Monitored) {
        self.post_all(|_| Box::new(move |core| core.clear_handled(what)));
    }
    /// Packets and buffers of nodes while they were monitored, all threads together.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn handled(&mut self) -> Result<Vec<(NodeIndex, Handled)>, NoAnswer> {
        let mut all: Vec<Handled> = Vec::new();
        for thread in self.data_threads() {
            let nodes = self.ask(thread, |core| core.handled())?;
            all.resize(all.len().max(nodes.len()), Handled::default());
            all.iter_mut().zip(&nodes).for_each(|(sum, one)| sum.add(one));
        }
        Ok((0..).map(NodeIndex).zip(all).collect())
    }
}
