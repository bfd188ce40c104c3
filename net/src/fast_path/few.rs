//! A few things of a frame, which are few enough to be looked for one after the other.

/// At most so many things of a frame.
#[derive(Clone, Copy)]
pub(super) struct Few<T, const MOST: usize> {
    all: [T; MOST],
    len: usize,
}

impl<T: Copy, const MOST: usize> Few<T, MOST> {
    /// None yet, with room that looks like `blank`.
    pub const fn new(blank: T) -> Self {
        Self { all: [blank; MOST], len: 0 }
    }
    /// The place of what is meant, or of `new`, which is added; `None` where there is no room.
    pub fn place(&mut self, is_meant: impl Fn(&T) -> bool, new: T) -> Option<usize> {
        let known = self.all[..self.len].iter().position(is_meant);
        if known.is_some() {
            return known;
        }
        *self.all.get_mut(self.len)? = new;
        self.len += 1;
        Some(self.len - 1)
    }
    /// The item at a place.
    #[inline(always)]
    pub fn at(&mut self, place: usize) -> Option<&mut T> {
        self.all.get_mut(place)
    }
    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.all[..self.len].iter()
    }
}
