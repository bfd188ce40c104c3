//! Comparisons of configurations by those who may only look.

use std::cell::Cell;

/// The reason for which one is refused.
pub const WHY: &str = "another comparison is under way";

/// A comparison for a holder of a read-only token. There is one at a time.
pub struct Comparison<'a>(&'a Cell<bool>);

impl<'a> Comparison<'a> {
    /// Begins one; `None` while there is another.
    pub fn begin(is_comparing: &'a Cell<bool>) -> Option<Self> {
        (!is_comparing.replace(true)).then_some(Self(is_comparing))
    }
}

impl Drop for Comparison<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
