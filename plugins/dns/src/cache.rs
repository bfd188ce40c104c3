//! Known names: answers until they expire, configured ones, and pending questions to name servers.

use std::collections::BTreeMap;

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
pub struct Cache(pub BTreeMap<Question, Answer>);

impl Cache {
    /// The answer to a question that is good now. Where the operator gave addresses for a name,
    /// there are no others.
    pub fn find(&self, question: &Question, now: f64) -> Option<Answer> {
        if let Some(answer) = self.0.get(question).filter(|answer| now < answer.until) {
            return Some(answer.clone());
        }
        let is_given = self.statics(&question.name).next().is_some();
        let none = Answer { code: code::NONE, records: Vec::new(), until: f64::INFINITY };
        is_given.then_some(none)
    }
    /// Configured addresses of a name.
    pub fn statics(&self, name: &str) -> impl Iterator<Item = (&Question, &Answer)> {
        let from = Question { name: name.to_owned(), kind: 0 };
        let of_name = self.0.range(from..).take_while(move |(q, _)| q.name == name);
        of_name.filter(|(_, answer)| answer.is_static())
    }
    /// Remembers an answer. True unless all others are the operator's.
    pub fn put(&mut self, question: Question, answer: Answer) -> bool {
        if self.0.len() >= MOST && !self.0.contains_key(&question) {
            let ends = self.0.iter().min_by(|a, b| a.1.until.total_cmp(&b.1.until));
            let first = ends.filter(|(_, answer)| !answer.is_static()).map(|(q, _)| q.clone());
            let Some(first) = first else { return false };
            self.0.remove(&first);
        }
        self.0.insert(question, answer);
        true
    }
}

/// The record of a name with an address, or a name for an address.
pub fn record(name: &str, data: Data) -> Record {
    Record { name: name.to_owned(), ttl: LONGEST, data }
}
