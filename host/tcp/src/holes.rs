//! Ranges received out of order, and their SACK blocks (RFC 2018, RFC 2883).

use wire::tcp::options::{Blocks, MAX_BLOCKS};

use crate::Seq;
use crate::pool::Clear;

/// Limit of ranges of a connection.
pub(crate) const MAX_RANGES: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Range {
    start: Seq,
    end: Seq,
    /// Number of its last change: recent ranges are reported first.
    touched: u32,
}

/// Sorted ranges that neither touch nor overlap, all after the next expected byte.
#[derive(Debug)]
pub(crate) struct Holes {
    ranges: [Range; MAX_RANGES],
    len: usize,
    changes: u32,
}

impl Default for Holes {
    fn default() -> Self {
        Self { ranges: [Range::default(); MAX_RANGES], len: 0, changes: 0 }
    }
}

impl Clear for Holes {
    fn clear(&mut self) {
        self.len = 0;
        self.changes = 0;
    }
}

/// The limit of ranges is reached; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Holes {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn ranges(&self) -> &[Range] {
        &self.ranges[..self.len]
    }

    /// The first part of a range that was already received: a duplicate (RFC 2883 section 4).
    pub(crate) fn duplicate(&self, start: Seq, end: Seq) -> Option<(Seq, Seq)> {
        let range = self.ranges().iter().find(|r| r.start.is_before(end) && start.is_before(r.end));
        range.map(|range| (range.start.max(start), range.end.min(end)))
    }

    /// Whether `add` would succeed.
    pub(crate) fn has_room(&self, start: Seq, end: Seq) -> bool {
        let touches = |r: &Range| !r.end.is_before(start) && !end.is_before(r.start);
        self.len < MAX_RANGES || self.ranges().iter().any(touches)
    }

    /// Adds a range, and merges it with those that it touches.
    pub(crate) fn add(&mut self, start: Seq, end: Seq) -> Result<(), Full> {
        let first = self.ranges().partition_point(|range| range.end.is_before(start));
        let touched = self.ranges()[first..].partition_point(|range| !end.is_before(range.start));
        self.changes += 1;
        let mut range = Range { start, end, touched: self.changes };
        if touched == 0 {
            if self.len == MAX_RANGES {
                return Err(Full);
            }
            self.ranges.copy_within(first..self.len, first + 1);
            self.len += 1;
        } else {
            let last = first + touched - 1;
            range.start = start.min(self.ranges[first].start);
            range.end = end.max(self.ranges[last].end);
            self.ranges.copy_within(last + 1..self.len, first + 1);
            self.len -= touched - 1;
        }
        self.ranges[first] = range;
        Ok(())
    }

    /// Removes the ranges reached by `next`; returns the next expected byte after them.
    pub(crate) fn advance(&mut self, mut next: Seq) -> Seq {
        let reached = self.ranges().iter().take_while(|range| {
            let is_reached = !range.start.is_after(next);
            if is_reached {
                next = next.max(range.end);
            }
            is_reached
        });
        let count = reached.count();
        self.ranges.copy_within(count..self.len, 0);
        self.len -= count;
        next
    }

    /// Adds recently changed ranges to `blocks`, the newest first, unless already present.
    pub(crate) fn report(&self, blocks: &mut Blocks) {
        let mut before = u32::MAX;
        for _ in 0..MAX_BLOCKS {
            let older = self.ranges().iter().filter(|range| range.touched < before);
            let Some(range) = older.max_by_key(|range| range.touched) else { return };
            before = range.touched;
            blocks.push(range.start.0, range.end.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(holes: &Holes) -> Vec<(u32, u32)> {
        let mut blocks = Blocks::default();
        holes.report(&mut blocks);
        blocks.as_slice().to_vec()
    }

    #[test]
    fn ranges_grow_together_and_the_newest_is_reported_first() {
        let mut holes = Holes::default();
        for (start, end) in [(10, 20), (40, 50), (60, 70), (80, 90), (100, 110)] {
            holes.add(Seq(start), Seq(end)).unwrap();
        }
        assert_eq!(blocks(&holes), [(100, 110), (80, 90), (60, 70), (40, 50)]);
        holes.add(Seq(20), Seq(40)).unwrap();
        assert_eq!(blocks(&holes), [(10, 50), (100, 110), (80, 90), (60, 70)]);
        assert_eq!(holes.duplicate(Seq(45), Seq(65)), Some((Seq(45), Seq(50))));
        assert_eq!(holes.duplicate(Seq(50), Seq(60)), None);
        assert_eq!(holes.advance(Seq(10)), Seq(50));
        assert_eq!(holes.advance(Seq(50)), Seq(50));
        assert_eq!(holes.advance(Seq(65)), Seq(70));
        assert_eq!(blocks(&holes), [(100, 110), (80, 90)]);
    }

    #[test]
    fn a_range_too_many_is_refused_unless_it_touches_another() {
        let mut holes = Holes::default();
        for n in 0..MAX_RANGES as u32 {
            holes.add(Seq(n * 10), Seq(n * 10 + 5)).unwrap();
        }
        assert!(!holes.has_room(Seq(6), Seq(8)));
        assert_eq!(holes.add(Seq(6), Seq(8)), Err(Full));
        assert!(holes.has_room(Seq(5), Seq(10)));
        holes.add(Seq(5), Seq(10)).unwrap();
        assert_eq!(holes.len, MAX_RANGES - 1);
        holes.add(Seq(0), Seq(1000)).unwrap();
        assert_eq!((holes.len, holes.advance(Seq(3))), (1, Seq(1000)));
    }

    #[test]
    fn ranges_are_those_of_a_set_of_bytes() {
        let mut random = 1_u64;
        let mut number = |below: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as u32 % below
        };
        for _ in 0..200 {
            let base = Seq(number(u32::MAX)); // ranges may wrap
            let (mut holes, mut set, mut next) = (Holes::default(), [false; 400], 0);
            for _ in 0..60 {
                if next > 300 {
                    break;
                }
                let (start, len) = (next + 1 + number(340 - next), 1 + number(20));
                let end = (start + len).min(400);
                holes.add(base + start, base + end).unwrap();
                set[start as usize..end as usize].fill(true);
                if number(8) == 0 {
                    next = (next + number(20)).min(250);
                    while set[next as usize] {
                        next += 1;
                    }
                    let to = holes.advance(base + next);
                    assert_eq!(to - base, next);
                }
                let runs: Vec<_> =
                    holes.ranges().iter().map(|r| (r.start - base, r.end - base)).collect();
                let is_set =
                    |at: u32| at >= next && runs.iter().any(|(s, e)| (*s..*e).contains(&at));
                assert!((next..400).all(|at| is_set(at) == set[at as usize]), "{runs:?}");
            }
        }
    }
}
