//! Trees of cuts, for patterns that share the bits of their group.
#![forbid(unsafe_code)]

use super::build::write_run;
use super::{Cut, Field, Pattern, Rules, To};

/// Patterns that are compared one after the other.
const FEW: usize = 8;
/// Patterns of which ends are tried as cuts.
const SAMPLE: usize = 128;
/// Cuts one below the other at most.
const DEEPEST: u8 = 40;
/// Entries for each pattern at most, beyond some: patterns that lie across cuts are in both parts.
const COPIES: usize = 8;

/// The values of each field that keys in a part of a tree have, both ends included.
#[derive(Clone, Debug)]
pub(super) struct Region(Vec<(u64, u64)>);

/// Place of a finished part.
#[derive(Clone, Copy, Debug)]
pub(super) enum Link {
    /// A place of a line of a hash table.
    Place(usize, usize),
    /// The part below a cut (0), or from it on (1).
    Side(usize, usize),
}

/// A part that is to be cut or written.
pub(super) struct Job<const W: usize> {
    /// Its patterns in order.
    pub numbers: Vec<u32>,
    pub region: Region,
    pub link: Link,
    pub depth: u8,
}

/// State while a part is made.
pub(super) struct Cutting<'b, const W: usize> {
    pub patterns: &'b [Pattern<W>],
    pub fields: &'static [Field],
    /// The bits of the group.
    pub mask: &'b [u64; W],
}

/// The values of a field that fit a value under a mask, and whether these are all that fit.
fn extent<const W: usize>(value: &[u64; W], mask: &[u64; W], field: &Field) -> ((u64, u64), bool) {
    let (value, mask) = (field.of(value), field.of(mask));
    let len = (mask << (64 - field.bits)).leading_ones();
    if mask.count_ones() == len {
        ((value, value | field.most() & !mask), true)
    } else {
        ((0, field.most()), false)
    }
}

impl Region {
    /// Of the keys of a bucket.
    pub fn of<const W: usize>(key: &[u64; W], mask: &[u64; W], fields: &[Field]) -> Self {
        Self(fields.iter().map(|field| extent(key, mask, field).0).collect())
    }
}

impl<const W: usize> Cutting<'_, W> {
    /// The values of a field that a pattern takes.
    fn extent(&self, number: u32, field: &Field) -> ((u64, u64), bool) {
        let pattern = &self.patterns[number as usize];
        if field.word == W - 1 && field.bits == 16 && field.shift <= 16 {
            let (low, high) = pattern.ranges[usize::from(field.shift == 0)];
            if (low, high) != (0, u16::MAX) {
                return ((low.into(), high.into()), true);
            }
        }
        extent(&pattern.value, &pattern.mask, field)
    }
    /// Whether all keys of a region are like a pattern: nothing after it counts there.
    fn covers(&self, number: u32, region: &Region) -> bool {
        let pattern = &self.patterns[number as usize];
        let (mut fields, mut known) = (self.fields.iter().zip(&region.0), *self.mask);
        self.fields.iter().for_each(|field| known[field.word] |= field.mask());
        let is_known = pattern.mask.iter().zip(&known).all(|(mask, known)| mask & !known == 0);
        pattern.flags.0 == 0
            && is_known
            && fields.all(|(field, (low, high))| {
                let ((first, last), is_all) = self.extent(number, field);
                let is_hashed = field.of(&pattern.mask) & !field.of(self.mask) == 0;
                is_all && first <= *low && *high <= last || !is_all && is_hashed
            })
    }
    /// Writes a part, or cuts it in two, which become jobs.
    pub fn carry_out(&self, mut job: Job<W>, jobs: &mut Vec<Job<W>>, made: &mut Rules<W>) {
        let first_cover = job.numbers.iter().position(|n| self.covers(*n, &job.region));
        if let Some(at) = first_cover {
            job.numbers.truncate(at + 1);
        }
        let has_room = made.entries.len() < (self.patterns.len() + 1024) * COPIES;
        let may_cut = job.numbers.len() > FEW && job.depth < DEEPEST && has_room;
        let Some((which, at)) = may_cut.then(|| self.best(&job)).flatten() else {
            let to = write_run(&job.numbers, self.patterns, made);
            return hang(job.link, to, made);
        };
        let field = self.fields[which];
        let part = |takes: &dyn Fn((u64, u64)) -> bool| -> Vec<u32> {
            let takes = |number: &&u32| takes(self.extent(**number, &field).0);
            job.numbers.iter().filter(takes).copied().collect()
        };
        let (below, from) = (part(&|(low, _)| low < at), part(&|(_, high)| high >= at));
        if below.len().min(from.len()) == job.numbers.len() {
            let to = write_run(&job.numbers, self.patterns, made);
            return hang(job.link, to, made);
        }
        let cut = made.cuts.len();
        made.cuts.push(Cut::new(&field, at));
        hang(job.link, To(cut as u32 | To::CUT), made);
        let mut parts = [job.region.clone(), job.region];
        parts[0].0[which].1 = at - 1;
        parts[1].0[which].0 = at;
        let [low, high] = parts;
        let depth = job.depth + 1;
        jobs.push(Job { numbers: from, region: high, link: Link::Side(cut, 1), depth });
        jobs.push(Job { numbers: below, region: low, link: Link::Side(cut, 0), depth });
    }
    /// The field and value where a cut leaves least on both sides; `None` when none is of use.
    fn best(&self, job: &Job<W>) -> Option<(usize, u64)> {
        let step = job.numbers.len().div_ceil(SAMPLE);
        let sample: Vec<u32> = job.numbers.iter().step_by(step).copied().collect();
        let mut best: Option<(usize, usize, u64)> = None;
        for (which, (field, (low, high))) in self.fields.iter().zip(&job.region.0).enumerate() {
            let extents: Vec<_> = sample.iter().map(|n| self.extent(*n, field).0).collect();
            let starts = extents.iter().map(|e| e.0).filter(|at| at > low);
            let ends = extents.iter().map(|e| e.1).filter(|at| at < high).map(|at| at + 1);
            let mut ends: Vec<u64> = starts.chain(ends).filter(|at| at <= high).collect();
            if ends.is_empty() {
                continue;
            }
            let middle = ends.len() / 2;
            let at = *ends.select_nth_unstable(middle).1;
            let below = extents.iter().filter(|(low, _)| *low < at).count();
            let from = extents.iter().filter(|(_, high)| *high >= at).count();
            let cost = below + from + below.max(from);
            // Rather more copies than a long run.
            let is_of_use = below.max(from) < sample.len() || below + from < 2 * sample.len();
            if is_of_use && best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, which, at));
            }
        }
        best.map(|(_, which, at)| (which, at))
    }
}

fn hang<const W: usize>(link: Link, to: To, made: &mut Rules<W>) {
    match link {
        Link::Place(line, place) => made.lines[line].to[place] = to,
        Link::Side(at, side) => made.cuts[at].to[side] = to,
    }
}
