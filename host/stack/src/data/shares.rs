//! Shares of what a thread has a bounded number of: sessions, and chunks for their bytes.
//!
//! An application may have [`FAVOR`] times as many as are free. So one alone gets nearly all of
//! them, several get equal shares, and whatever they do, some are left for the next.

use crate::control::apps::MOST_APPS;

/// How many more one may have than are free.
const FAVOR: usize = 8;

/// Places by application; the last row is of sessions whose application is gone.
#[derive(Debug)]
pub struct Shares(Vec<u32>);

/// Row of an application.
fn row(app: u32) -> usize {
    (app as usize).min(MOST_APPS)
}

impl Shares {
    /// Without any.
    pub fn new() -> Self {
        Self(vec![0; MOST_APPS + 1])
    }
    /// How many an application has.
    pub fn of(&self, app: u32) -> usize {
        self.0[row(app)] as usize
    }
    /// How many more an application may have when so many are free.
    pub fn left(&self, app: u32, free: usize) -> usize {
        (FAVOR * free).saturating_sub(self.of(app)).min(free)
    }
    /// Counts one more.
    pub fn add(&mut self, app: u32) {
        self.0[row(app)] += 1;
    }
    /// Counts one less.
    pub fn sub(&mut self, app: u32) {
        let of = &mut self.0[row(app)];
        *of = of.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_gets_most_and_something_is_left_for_others() {
        let (mut shares, mut free) = (Shares::new(), 9000);
        let take = |shares: &mut Shares, free: &mut usize, app| {
            while shares.left(app, *free) > 0 {
                shares.add(app);
                *free -= 1;
            }
            shares.of(app)
        };
        assert_eq!(take(&mut shares, &mut free, 3), 8000);
        assert_eq!(take(&mut shares, &mut free, 4), 889);
        assert_eq!((take(&mut shares, &mut free, u32::MAX), free > 0), (99, true));
        for _ in 0..8000 {
            shares.sub(3);
        }
        assert_eq!((shares.of(3), shares.left(3, 12)), (0, 12));
    }
}
