//! Shares of interfaces in something bounded: what each holds of it. Where nothing is left, those
//! with more than an equal share give way to those with less, so that a flood of fragments on one
//! interface leaves room for the others.
#![forbid(unsafe_code)]

use hashbrown::HashMap;

/// Usage of each interface.
pub(super) struct Shares(HashMap<u32, usize>);

impl Shares {
    /// Of so many things at most.
    pub(super) fn new(most: usize) -> Self {
        Self(HashMap::with_capacity(most))
    }
    pub(super) fn reserve(&mut self, most: usize) {
        self.0.reserve(most.saturating_sub(self.0.len()));
    }
    pub(super) fn add(&mut self, interface: u32) {
        *self.0.entry(interface).or_default() += 1;
    }
    pub(super) fn remove(&mut self, interface: u32) {
        if let Some(count) = self.0.get_mut(&interface) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&interface);
            }
        }
    }
    /// The share of each interface in `limit` things, where this one has or wants some.
    pub(super) fn share(&self, interface: u32, limit: usize) -> usize {
        limit / (self.0.len() + usize::from(!self.0.contains_key(&interface)))
    }
    pub(super) fn count(&self, interface: u32) -> usize {
        self.0.get(&interface).copied().unwrap_or(0)
    }
}
