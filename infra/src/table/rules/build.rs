//! Making [`Rules`] of a list, a slice at a time.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use super::cuts::{Cutting, Job, Region};
use super::{Entry, Field, GROUPS, Group, Pattern, Place, Rules, To, hash};

/// Patterns that a slice is about: well below a millisecond.
const SLICE: usize = 1024;

/// A list that is being made ready, slice by slice.
pub struct Builder<const W: usize> {
    patterns: Vec<Pattern<W>>,
    fields: &'static [Field],
    stage: Stage<W>,
    /// The next pattern of the stage.
    at: usize,
    counts: HashMap<[u64; W], u32>,
    made: Rules<W>,
}

/// Patterns by the bits of their group.
type Buckets<const W: usize> = HashMap<[u64; W], Vec<u32>>;

/// Groups that are being filled.
struct Sorting<const W: usize> {
    /// The group of each mask.
    group_of: HashMap<[u64; W], usize>,
    groups: Vec<([u64; W], Buckets<W>)>,
}

enum Stage<const W: usize> {
    /// Masks are counted.
    Counting,
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
        let patterns = patterns.into_iter().map(Pattern::with_exact_ranges).collect();
        let (stage, counts) = (Stage::Counting, HashMap::new());
        Self { patterns, fields, stage, at: 0, counts, made: Rules::default() }
    }
    /// Does a slice; gives the result after the last one.
    pub fn step(&mut self) -> Option<Rules<W>> {
        let end = (self.at + SLICE).min(self.patterns.len());
        match &mut self.stage {
            Stage::Counting => {
                for pattern in &self.patterns[self.at..end] {
                    *self.counts.entry(pattern.mask).or_default() += 1;
                }
                self.at = end;
                if end == self.patterns.len() {
                    self.at = 0;
                    let counts = std::mem::take(&mut self.counts);
                    self.stage = Stage::Sorting(Sorting::of(counts, self.fields));
                }
                None
            }
            Stage::Sorting(sorting) => {
                for (number, pattern) in (self.at..end).zip(&self.patterns[self.at..end]) {
                    sorting.add(number as u32, pattern);
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
                        self.made.groups.sort_by_key(|group| group.first);
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

impl<const W: usize> Sorting<W> {
    /// Chooses groups for masks with so many patterns each.
    fn of(counts: HashMap<[u64; W], u32>, fields: &[Field]) -> Self {
        let is_many = counts.len() > GROUPS;
        let group_of = |mask: &[u64; W]| if is_many { rounded(mask, fields) } else { *mask };
        let mut coarse: HashMap<[u64; W], u64> = HashMap::new();
        for (mask, count) in &counts {
            *coarse.entry(group_of(mask)).or_default() += u64::from(*count);
        }
        // In an order of their own, so that like lists are made alike.
        let mut masks: Vec<_> = coarse.into_iter().collect();
        masks.sort_unstable();
        let into = merge(&mut masks);
        let groups = masks.iter().map(|(mask, _)| (*mask, HashMap::new())).collect();
        let final_of = |mask: &[u64; W]| {
            let coarse = group_of(mask);
            let merged =
                into.iter().fold(coarse, |now, (from, to)| if now == *from { *to } else { now });
            masks.iter().position(|(mask, _)| *mask == merged).unwrap_or_default()
        };
        Self { group_of: counts.keys().map(|mask| (*mask, final_of(mask))).collect(), groups }
    }
    fn add(&mut self, number: u32, pattern: &Pattern<W>) {
        let group = self.group_of.get(&pattern.mask).copied().unwrap_or_default();
        let Some((mask, buckets)) = self.groups.get_mut(group) else { return };
        buckets.entry(masked(&pattern.value, mask)).or_default().push(number);
    }
}

fn masked<const W: usize>(value: &[u64; W], mask: &[u64; W]) -> [u64; W] {
    std::array::from_fn(|word| value[word] & mask[word])
}

/// A mask whose prefixes are as long as steps allow.
fn rounded<const W: usize>(mask: &[u64; W], fields: &[Field]) -> [u64; W] {
    let mut rounded = *mask;
    for field in fields {
        let bits = field.of(mask);
        let len = (bits << (64 - field.bits)).leading_ones();
        if bits.count_ones() == len {
            let kept = len / field.step * field.step;
            let prefix = if kept == 0 { 0 } else { field.most() << (field.bits - kept) };
            rounded[field.word] &= !field.mask() | (prefix & field.most()) << field.shift;
        }
    }
    rounded
}

/// Has the smallest groups share masks with those they have most in common with, until there are
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
        // A table with one bucket has a free place beside it, as all have.
        let places = (buckets.len() * 2).next_power_of_two().max(2);
        let start = made.places.len();
        made.places.resize(start + places, Place { tag: 0, to: To::NOWHERE });
        let group = Group {
            mask,
            first: first.copied().unwrap_or(u32::MAX),
            last_place: places as u32 - 1,
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
        let mut at = self.group.place(hash);
        while made.places[at].to != To::NOWHERE {
            at = self.group.place((at as u64 - u64::from(self.group.start)) + 1);
        }
        // Any value for as long as it is not known.
        made.places[at] = Place { tag: (hash >> 32) as u32, to: To(0) };
        let region = Region::of(key, &self.group.mask, fields);
        Job { numbers, region, link: super::cuts::Link::Place(at), depth: 0 }
    }
}

/// Puts a run of entries behind the others; where it begins.
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
