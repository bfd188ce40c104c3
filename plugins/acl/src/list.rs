//! Access lists, as nodes have them: made ready for lookups in slices, then published whole.

use std::collections::hash_map::Entry;
use std::mem::take;

use infra::counter::Rows;
use infra::table::rules::{Builder, Field, KEYS, Pattern, Rules, Size};
use net::prelude::*;

use super::packet::Tuple;
use super::rule::{Action, FIELDS4, FIELDS6, Rule};

/// Rules that a slice is about.
const SLICE: usize = 1024;

/// The rule that was found, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Its place in the list.
    pub rule: u32,
    /// Its action.
    pub action: Action,
}

/// The rules about packets of one version of IP.
#[derive(Debug, Default)]
pub struct Half<const W: usize> {
    sharp: Rules<W>,
    verdicts: Vec<Verdict>,
    /// For packets whose ports are not known.
    blunt: Rules<W>,
    blunt_verdicts: Vec<Verdict>,
}

impl<const W: usize> Half<W> {
    /// The first rule about a packet.
    #[inline(always)]
    pub fn find(&self, tuple: &Tuple<W>) -> Option<Verdict> {
        if tuple.is_blunt {
            return self.find_blunt(tuple);
        }
        let found = self.sharp.find(&tuple.key, tuple.flags)?;
        self.verdicts.get(found as usize).copied()
    }
    /// The first rules about a block of packets, with their places.
    #[inline(always)]
    pub fn find_all(&self, tuples: &[Tuple<W>], mut found: impl FnMut(usize, Verdict)) {
        // Often all of them are of one flow.
        let Some((first, others)) = tuples.split_first() else { return };
        if others.iter().all(|tuple| tuple == first) {
            let verdict = self.find(first);
            verdict.into_iter().for_each(|v| (0..tuples.len()).for_each(|n| found(n, v)));
            return;
        }
        for (block, tuples) in tuples.chunks(KEYS).enumerate() {
            let mut rules = [u32::MAX; KEYS];
            let rules = &mut rules[..tuples.len()];
            self.sharp.find_all(
                #[inline(always)]
                |n| (&tuples[n].key, tuples[n].flags),
                rules,
            );
            for (n, (tuple, rule)) in tuples.iter().zip(rules).enumerate() {
                let verdict = match tuple.is_blunt {
                    false => self.verdicts.get(*rule as usize).copied(),
                    true => self.find_blunt(tuple),
                };
                verdict.into_iter().for_each(|verdict| found(block * KEYS + n, verdict));
            }
        }
    }
    #[inline(never)]
    fn find_blunt(&self, tuple: &Tuple<W>) -> Option<Verdict> {
        let found = self.blunt.find(&tuple.key, 0)?;
        self.blunt_verdicts.get(found as usize).copied()
    }
    /// The sizes of its two structures, the one for packets without ports last.
    pub fn sizes(&self) -> [Size; 2] {
        [self.sharp.size(), self.blunt.size()]
    }
    /// Masks of the groups in which packets are sought, with the first rule and the places of each.
    pub fn groups(&self) -> impl Iterator<Item = (&[u64; W], u32, u32)> {
        let rule = |n: u32| self.verdicts.get(n as usize).map_or(u32::MAX, |v| v.rule);
        self.sharp.groups().map(move |(mask, first, places)| (mask, rule(first), places))
    }
}

/// An access list.
#[derive(Debug)]
pub struct List {
    /// Its identifier, as operators give it.
    pub tag: String,
    /// Rules, in order.
    pub rules: Arc<[Rule]>,
    pub(crate) v4: Half<2>,
    pub(crate) v6: Half<5>,
    /// Packets by rule.
    pub(crate) matches: Rows<VolumeCounter>,
    /// Whether a rule lets answers pass.
    pub is_stateful: bool,
}

impl List {
    /// Its halves' sizes: IPv4, then IPv6.
    pub fn sizes(&self) -> [[Size; 2]; 2] {
        [self.v4.sizes(), self.v6.sizes()]
    }
}

/// A half that is being made.
#[derive(Default)]
struct HalfBuilder<const W: usize> {
    patterns: Vec<Pattern<W>>,
    blunt: Vec<Pattern<W>>,
    seen: HashMap<([u64; W], [u64; W]), ()>,
    half: Half<W>,
    builder: Option<Builder<W>>,
    is_sharp_done: bool,
}

impl<const W: usize> HalfBuilder<W> {
    fn add(&mut self, verdict: Verdict, sharp: Pattern<W>, blunt: Pattern<W>) {
        self.patterns.push(sharp);
        self.half.verdicts.push(verdict);
        // Without ports many rules are alike, and the first of them counts.
        if let Entry::Vacant(new) = self.seen.entry((blunt.mask, blunt.value)) {
            new.insert(());
            self.blunt.push(blunt);
            self.half.blunt_verdicts.push(verdict);
        }
    }
    /// Does a slice; whether that was all.
    fn step(&mut self, fields: &'static [Field]) -> bool {
        if self.builder.is_none() {
            self.seen = HashMap::new();
        }
        let next = if self.is_sharp_done { &mut self.blunt } else { &mut self.patterns };
        let builder = self.builder.get_or_insert_with(|| Builder::new(take(next), fields));
        let Some(made) = builder.step() else { return false };
        self.builder = None;
        if self.is_sharp_done {
            self.half.blunt = made;
            return true;
        }
        (self.half.sharp, self.is_sharp_done) = (made, true);
        false
    }
}

/// A list that is being made ready.
pub struct ListBuilder {
    rules: Arc<[Rule]>,
    at: usize,
    v4: HalfBuilder<2>,
    v6: HalfBuilder<5>,
    is_v4_done: bool,
}

impl ListBuilder {
    /// Of rules that were checked.
    pub fn new(rules: Vec<Rule>) -> Self {
        let (v4, v6) = (HalfBuilder::default(), HalfBuilder::default());
        Self { rules: rules.into(), at: 0, v4, v6, is_v4_done: false }
    }
    /// The number of rules.
    pub fn count(&self) -> usize {
        self.rules.len()
    }
    /// Does a slice; whether that was all.
    pub fn step(&mut self) -> bool {
        if self.at < self.rules.len() {
            let end = (self.at + SLICE).min(self.rules.len());
            for (number, rule) in (self.at..end).zip(&self.rules[self.at..end]) {
                let verdict = Verdict { rule: number as u32, action: rule.action };
                if rule.is_6() {
                    self.v6.add(verdict, rule.pattern6(false), rule.pattern6(true));
                } else {
                    self.v4.add(verdict, rule.pattern4(false), rule.pattern4(true));
                }
            }
            self.at = end;
            return false;
        }
        if !self.is_v4_done {
            self.is_v4_done = self.v4.step(&FIELDS4);
            return false;
        }
        self.v6.step(&FIELDS6)
    }
    /// The list, after the last slice.
    pub fn finish(self, tag: String, matches: Rows<VolumeCounter>) -> List {
        let is_stateful = self.rules.iter().any(|rule| rule.action == Action::Reflect);
        let (v4, v6) = (self.v4.half, self.v6.half);
        List { tag, rules: self.rules, v4, v6, matches, is_stateful }
    }
}
