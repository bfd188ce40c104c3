//! Calling nodes again that wait for time to pass, such as those that hold packets for less than
//! control could be bothered with.
#![forbid(unsafe_code)]

use infra::rcu::Epoch;

use super::Frame;
use super::core::{Core, stamp};
use crate::node::Node;

/// Nodes that are to be called again, and when.
pub(super) struct Recalls(Vec<Recall>);

struct Recall {
    node: u32,
    /// Seconds on the router's clock.
    at: f64,
}

impl Recalls {
    pub fn new() -> Self {
        Self(Vec::with_capacity(64))
    }
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Node, On> Frame<'_, N, On> {
    /// Calls the node after `seconds`, with a frame without packets. Of several requests the
    /// earliest counts.
    pub fn recall_in(&mut self, seconds: f64) {
        let (node, at) = (self.node, self.core.clock.now() + seconds);
        let all = &mut self.core.recalls.0;
        match all.iter_mut().find(|r| r.node == node) {
            Some(recall) => recall.at = recall.at.min(at),
            None => all.push(Recall { node, at }),
        }
    }
}

impl Core {
    /// Calls the nodes whose time has come, and sees that the thread is awake for the others.
    #[cold]
    pub(super) fn recall(&mut self, epoch: Epoch<'_>) {
        let now = self.clock.now();
        let mut at = 0;
        while let Some(recall) = self.recalls.0.get(at) {
            if recall.at <= now {
                let node = self.recalls.0.swap_remove(at).node;
                self.call_empty(node, epoch);
            } else {
                let clocks = (recall.at - now) * self.clock.hz();
                self.wake_at = self.wake_at.min(stamp() + clocks as u64);
                at += 1;
            }
        }
        self.drain(epoch);
    }
}
