//! Known names: answers until they expire, configured ones, and pending questions to name servers.

use std::collections::{BTreeMap, BTreeSet};

use super::message::{Data, Question, Record, code};

/// Most entries; those that end first make room.
pub const MOST: usize = 16384;
/// Longest time in seconds that an answer is good, and of one that there is nothing.
const LONGEST: u32 = 86_400;
const LONGEST_NEGATIVE: u32 = 300;
/// The time of an answer that there is nothing, where it does not say.
const NEGATIVE: u32 = 60;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// [`code`].
    pub code: u8,
    /// Records.
    pub records: Vec<Record>,
    /// When it ends; never, where the operator gave it.
    pub until: f64,
}

impl Answer {
    /// Of a name server, at this time. The times of its records are those that are left.
    pub fn of(code: u8, records: Vec<Record>, negative: Option<u32>, now: f64) -> Self {
        let seconds = match records.iter().map(|record| record.ttl).min() {
            Some(ttl) => ttl.min(LONGEST),
            None => negative.unwrap_or(NEGATIVE).min(LONGEST_NEGATIVE),
        };
        Self { code, records, until: now + f64::from(seconds.max(1)) }
    }
    /// The records with the seconds they are good for still.
    pub fn records_at(&self, now: f64) -> Vec<Record> {
        let left = (self.until - now).clamp(0.0, f64::from(LONGEST)) as u32;
        self.records.iter().map(|record| Record { ttl: left, ..record.clone() }).collect()
    }
    /// Whether the operator gave it.
    pub fn is_static(&self) -> bool {
        self.until.is_infinite()
    }
}

/// All answers.
#[derive(Default)]
pub struct Cache {
    answers: BTreeMap<Question, Answer>,
    /// Those that make room for others, in this order: answers that there is nothing, which cost
    /// nothing to make up, and then those that end first.
    order: BTreeSet<Turn>,
}

/// The turn of an answer to make room.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    has_records: bool,
    /// The bits of its end, which are in the order of the times, as those are not negative.
    until: u64,
    question: Question,
}

impl Turn {
    fn of(question: &Question, answer: &Answer) -> Self {
        let until = answer.until.max(0.0).to_bits();
        Self { has_records: !answer.records.is_empty(), until, question: question.clone() }
    }
}

impl Cache {
    /// All questions with their answers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Question, &Answer)> {
        self.answers.iter()
    }
    /// Number of answers.
    pub fn len(&self) -> usize {
        self.answers.len()
    }
    /// Forgets all answers.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
    /// Forgets the answers about a name; how many there were.
    pub fn remove_name(&mut self, name: &str) -> usize {
        let from = Question { name: name.to_owned(), kind: 0 };
        let of_name = self.answers.range(from..).take_while(|(q, _)| q.name == name);
        let all: Vec<_> = of_name.map(|(question, _)| question.clone()).collect();
        all.iter().for_each(|question| self.remove(question));
        all.len()
    }
    fn remove(&mut self, question: &Question) {
        if let Some(gone) = self.answers.remove(question) {
            self.order.remove(&Turn::of(question, &gone));
        }
    }
    /// The answer to a question that is good now. Where the operator gave addresses for a name,
    /// there are no others.
    pub fn find(&self, question: &Question, now: f64) -> Option<Answer> {
        if let Some(answer) = self.answers.get(question).filter(|answer| now < answer.until) {
            return Some(answer.clone());
        }
        let is_given = self.statics(&question.name).next().is_some();
        let none = Answer { code: code::NONE, records: Vec::new(), until: f64::INFINITY };
        is_given.then_some(none)
    }
    /// Configured addresses of a name.
    pub fn statics(&self, name: &str) -> impl Iterator<Item = (&Question, &Answer)> {
        let from = Question { name: name.to_owned(), kind: 0 };
        let of_name = self.answers.range(from..).take_while(move |(q, _)| q.name == name);
        of_name.filter(|(_, answer)| answer.is_static())
    }
    /// Remembers an answer. True unless all others are the operator's.
    pub fn put(&mut self, question: Question, answer: Answer) -> bool {
        self.remove(&question);
        if self.answers.len() >= MOST {
            let Some(first) = self.order.pop_first() else { return false };
            self.answers.remove(&first.question);
        }
        if !answer.is_static() {
            self.order.insert(Turn::of(&question, &answer));
        }
        self.answers.insert(question, answer);
        true
    }
}

/// The record of a name with an address, or a name for an address.
pub fn record(name: &str, data: Data) -> Record {
    Record { name: name.to_owned(), ttl: LONGEST, data }
}
