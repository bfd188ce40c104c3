//! Lists of numbers that are linked through a table: nothing is allocated while they change.

/// No number.
pub const NONE: u32 = u32::MAX;

/// A list, first in first out; a number is in one list of a table at a time.
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl List {
    /// The first number.
    #[inline(always)]
    pub fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
    /// Puts a number at the end.
    #[inline(always)]
    pub fn push(&mut self, links: &mut [u32], at: u32) {
        links[at as usize] = NONE;
        match self.tail {
            NONE => self.head = at,
            tail => links[tail as usize] = at,
        }
        self.tail = at;
    }
    /// Takes the first number off.
    #[inline(always)]
    pub fn pop(&mut self, links: &[u32]) -> Option<u32> {
        let first = self.first()?;
        self.head = links[first as usize];
        if self.head == NONE {
            self.tail = NONE;
        }
        Some(first)
    }
}
