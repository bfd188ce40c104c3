//! Making [`Rules`] of a list, a slice at a time.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use super::cuts::{Cutting, Job, Region};
use super::{Entry, Field, GROUPS, Group, Line, PLACES, Pattern, Rules, To, hash};

/// Patterns that a slice is about: well below a millisecond.
const SLICE: usize = 1024;

/// A list that is being made ready, slice by slice.
pub struct Builder<const W: usize> {
    patterns: Vec<Pattern<W>>,
    fields: &'static [Field],
    stage: Stage<W>,
    /// The next pattern of the stage.
    at: usize,
    made: Rules<W>,
}

/// Patterns by the bits of their group.
type Buckets<const W: usize> = HashMap<[u64; W], Vec<u32>>;

/// Patterns by mask: exactly, as long as these are few, and rounded to steps.
#[derive(Default)]
struct Counting<const W: usize> {
    exact: HashMap<[u64; W], u64>,
    coarse: HashMap<[u64; W], u64>,
}

/// Groups that are being filled.
struct Sorting<const W: usize> {
    /// The group of each mask, which is rounded where there are many.
    group_of: HashMap<[u64; W], usize>,
    is_rounded: bool,
    groups: Vec<([u64; W], Buckets<W>)>,
}

enum Stage<const W: usize> {
    /// Masks are counted.
    Counting(Counting<W>),
    /// Patterns are sorted into groups.
    Sorting(Sorting<W>),
    /// Groups are written, the last one first; the buckets of one that is being written.
    Writing(Vec<([u64; W], Buckets<W>)>, Option<Writing<W>>),
}

struct Writing<const W: usize> {
    group: Group<W>,
    buckets: std::vec::IntoIter<([u64; W], Vec<u32>)>,
    jobs: Vec<Job<W>>,
}

impl<const W: usize> Builder<W> {
    /// Begins with a list of patterns. The fields cover all bits that patterns compare.
    pub fn new(patterns: Vec<Pattern<W>>, fields: &'static [Field]) -> Self {
        let mut patterns: Vec<_> = patterns.into_iter().map(Pattern::with_exact_ranges).collect();
        let stage = Stage::Counting(Counting::default());
        let mut made = Rules::default();
        // Nothing comes after a pattern of all keys.
        if let Some(any) = patterns.iter().position(|pattern| *pattern == Pattern::ANY) {
            patterns.truncate(any);
            made.any = any as u32;
        }
        Self { patterns, fields, stage, at: 0, made }
    }
    /// Runs a slice; returns the result after the last one.
    pub fn step(&mut self) -> Option<Rules<W>> {
        let end = (self.at + SLICE).min(self.patterns.len());
        match &mut self.stage {
            Stage::Counting(counting) => {
                for pattern in &self.patterns[self.at..end] {
                    counting.add(&pattern.mask, self.fields);
                }
                self.at = end;
                if end == self.patterns.len() {
                    self.at = 0;
                    self.stage = Stage::Sorting(Sorting::of(std::mem::take(counting)));
                }
                None
            }
            Stage::Sorting(sorting) => {
                for (number, pattern) in (self.at..end).zip(&self.patterns[self.at..end]) {
                    sorting.add(number as u32, pattern, self.fields);
                }
                self.at = end;
                if end == self.patterns.len() {
                    let groups = std::mem::take(&mut sorting.groups);
                    self.stage = Stage::Writing(groups, None);
                }
                None
            }
            Stage::Writing(groups, writing) => {
                if writing.is_none() {
                    let Some((mask, buckets)) = groups.pop() else {
                        let count = self.patterns.len();
                        self.made.groups.sort_by_key(|group| order(group, count));
                        return Some(std::mem::take(&mut self.made));
                    };
                    *writing = Some(Writing::begin(mask, buckets, &mut self.made));
                }
                let is_done = writing.as_mut().is_none_or(|writing| {
                    writing.step(&self.patterns, self.fields, &mut self.made)
                });
                if is_done && let Some(done) = writing.take() {
                    self.made.groups.push(done.group);
                }
                None
            }
        }
    }
}

impl<const W: usize> Counting<W> {
    fn add(&mut self, mask: &[u64; W], fields: &[Field]) {
        if self.exact.len() <= GROUPS {
            *self.exact.entry(*mask).or_default() += 1;
        }
        *self.coarse.entry(rounded(mask, fields)).or_default() += 1;
    }
}

impl<const W: usize> Sorting<W> {
    /// Chooses groups for masks with so many patterns each.
    fn of(counting: Counting<W>) -> Self {
        let is_rounded = counting.exact.len() > GROUPS;
        let counts = if is_rounded { counting.coarse } else { counting.exact };
        // In an order of their own, so that like lists are made alike.
        let mut masks: Vec<_> = counts.iter().map(|(mask, count)| (*mask, *count)).collect();
        masks.sort_unstable();
        let into = merge(&mut masks);
        let groups = masks.iter().map(|(mask, _)| (*mask, HashMap::new())).collect();
        let final_of = |mask: &[u64; W]| {
            let merged =
                into.iter().fold(*mask, |now, (from, to)| if now == *from { *to } else { now });
            masks.iter().position(|(mask, _)| *mask == merged).unwrap_or_default()
        };
        let group_of = counts.keys().map(|mask| (*mask, final_of(mask))).collect();
        Self { group_of, is_rounded, groups }
    }
    fn add(&mut self, number: u32, pattern: &Pattern<W>, fields: &[Field]) {
        let mask = pattern.mask;
        let mask = if self.is_rounded { rounded(&mask, fields) } else { mask };
        let group = self.group_of.get(&mask).copied().unwrap_or_default();
        let Some((mask, buckets)) = self.groups.get_mut(group) else { return };
        buckets.entry(masked(&pattern.value, mask)).or_default().push(number);
    }
}

/// The order in which groups are asked: what comes first in the list comes first. Of those that
/// begin at about the same place the coarser ones do: they have the first pattern of most keys, and
/// then the others have little to say.
fn order<const W: usize>(group: &Group<W>, count: usize) -> (usize, u32) {
    const PARTS: usize = 16;
    let bits = group.mask.iter().map(|word| word.count_ones()).sum();
    (group.first as usize * PARTS / count.max(1), bits)
}

fn masked<const W: usize>(value: &[u64; W], mask: &[u64; W]) -> [u64; W] {
    std::array::from_fn(|word| value[word] & mask[word])
}

/// A mask of prefixes that are as long as steps allow. There are few of them, whatever the masks.
fn rounded<const W: usize>(mask: &[u64; W], fields: &[Field]) -> [u64; W] {
    let mut rounded = [0; W];
    for field in fields {
        let len = (field.of(mask) << (64 - field.bits)).leading_ones();
        let kept = len / field.step * field.step;
        let prefix = if kept == 0 { 0 } else { field.most() << (field.bits - kept) };
        rounded[field.word] |= (prefix & field.most()) << field.shift;
    }
    rounded
}

/// Makes the smallest groups share masks with those they have most in common with, until there are
/// no more than [`GROUPS`]; returns the masks that are replaced, one after the other.
fn merge<const W: usize>(masks: &mut Vec<([u64; W], u64)>) -> Vec<([u64; W], [u64; W])> {
    let mut into = Vec::new();
    while masks.len() > GROUPS {
        let Some(smallest) = (0..masks.len()).min_by_key(|at| masks[*at].1) else { break };
        let (small, count) = masks.swap_remove(smallest);
        let common = |mask: &[u64; W]| -> [u64; W] { masked(&small, mask) };
        let lost = |mask: &[u64; W], common: &[u64; W]| -> u64 {
            mask.iter().zip(common).map(|(m, c)| u64::from((m & !c).count_ones())).sum()
        };
        let cost = |(mask, of): &([u64; W], u64)| {
            let common = common(mask);
            lost(&small, &common) * count + lost(mask, &common) * of
        };
        let Some(best) = (0..masks.len()).min_by_key(|at| cost(&masks[*at])) else { break };
        let (other, of) = masks.swap_remove(best);
        let common = common(&other);
        into.extend([small, other].into_iter().filter(|m| *m != common).map(|m| (m, common)));
        match masks.iter_mut().find(|(mask, _)| *mask == common) {
            Some((_, all)) => *all += count + of,
            None => masks.push((common, count + of)),
        }
    }
    into
}

impl<const W: usize> Writing<W> {
    fn begin(mask: [u64; W], buckets: Buckets<W>, made: &mut Rules<W>) -> Self {
        let first = buckets.values().filter_map(|numbers| numbers.first()).min();
        let lines = (buckets.len() * 2).div_ceil(PLACES).next_power_of_two();
        let start = made.lines.len();
        made.lines.resize(start + lines, Line::FREE);
        let group = Group {
            mask,
            first: first.copied().unwrap_or(u32::MAX),
            last_line: lines as u32 - 1,
            start: start as u32,
        };
        let mut buckets: Vec<_> = buckets.into_iter().collect();
        buckets.sort_unstable();
        Self { group, buckets: buckets.into_iter(), jobs: Vec::new() }
    }
    /// Writes some buckets; whether that was all.
    fn step(
        &mut self,
        patterns: &[Pattern<W>],
        fields: &'static [Field],
        made: &mut Rules<W>,
    ) -> bool {
        let mut left = SLICE;
        while left > 0 {
            let job = match self.jobs.pop() {
                Some(job) => job,
                None => match self.buckets.next() {
                    Some((key, numbers)) => self.begin_bucket(&key, numbers, fields, made),
                    None => return true,
                },
            };
            left = left.saturating_sub(job.numbers.len().max(1));
            let cutting = Cutting { patterns, fields, mask: &self.group.mask };
            cutting.carry_out(job, &mut self.jobs, made);
        }
        false
    }
    /// Takes a place for a bucket.
    fn begin_bucket(
        &self,
        key: &[u64; W],
        numbers: Vec<u32>,
        fields: &[Field],
        made: &mut Rules<W>,
    ) -> Job<W> {
        let hash = hash(key, &self.group.mask);
        let first = numbers.first().copied().unwrap_or(u32::MAX);
        let mut further = 0;
        let (line, place) = loop {
            let at = self.group.line(hash, further);
            match made.lines[at].take(hash, first) {
                Some(place) => break (at, place),
                None => made.lines[at].tags[1] |= Line::MORE,
            }
            further += 1;
        };
        let region = Region::of(key, &self.group.mask, fields);
        Job { numbers, region, link: super::cuts::Link::Place(line, place), depth: 0 }
    }
}

/// Appends a run of entries; returns its position.
pub(super) fn write_run<const W: usize>(
    numbers: &[u32],
    patterns: &[Pattern<W>],
    made: &mut Rules<W>,
) -> To {
    let Some(last) = numbers.last() else { return To::NOWHERE };
    let at = made.entries.len() as u32;
    made.entries.extend(numbers.iter().map(|number| Entry {
        pattern: patterns[*number as usize],
        number: *number,
        is_last: number == last,
    }));
    To(at)
}
