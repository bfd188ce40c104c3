//! State of the router in numbers, beside the counters of the segment: links, routes, sessions and
//! their limits, protocols, health. Prometheus and the console read it.
//!
//! Control takes it now and then, as long as there are readers, and publishes it whole: a reader
//! never waits for control, and control never for a reader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

/// Labels and the value they belong to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Labeled {
    /// Names and values of the labels.
    pub labels: BTreeMap<&'static str, String>,
    /// The number.
    pub value: f64,
}

/// Numbers of one name.
#[derive(Clone, Debug, Serialize)]
pub struct Family {
    /// Its purpose, in a sentence.
    #[serde(skip)]
    pub help: &'static str,
    /// Whether it only rises.
    #[serde(skip)]
    pub is_counter: bool,
    /// The numbers.
    pub samples: Vec<Labeled>,
}

/// Everything at one moment.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// Families by name, without the program's.
    pub families: BTreeMap<&'static str, Family>,
    /// Findings of the health checks, in words.
    pub health: serde_json::Value,
    /// Vectors of the segment whose columns are interfaces.
    pub by_interface: BTreeSet<String>,
}

impl Gauges {
    /// Adds a number that rises and falls. `help` is a sentence.
    pub fn gauge(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
        value: f64,
    ) {
        self.add(name, (help, false), labels, value);
    }
    /// Adds a number that only rises.
    pub fn counter(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
        value: f64,
    ) {
        self.add(name, (help, true), labels, value);
    }
    fn add(
        &mut self,
        name: &'static str,
        (help, is_counter): (&'static str, bool),
        labels: &[(&'static str, &str)],
        value: f64,
    ) {
        let labels = labels.iter().map(|(name, of)| (*name, (*of).to_owned())).collect();
        let new = || Family { help, is_counter, samples: Vec::new() };
        self.families.entry(name).or_insert_with(new).samples.push(Labeled { labels, value });
    }
}

/// The last [`Gauges`]; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Published(Arc<Mutex<Arc<Gauges>>>);

impl Published {
    /// Replaces them.
    pub fn publish(&self, new: Gauges) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
    }
    /// The last ones.
    pub fn read(&self) -> Arc<Gauges> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
    /// Whether there are readers.
    pub fn is_read(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauges_are_published_whole_and_only_readers_count() {
        let published = Published::default();
        assert!(!published.is_read());
        let reader = published.clone();
        assert!(published.is_read() && reader.read().families.is_empty());
        let mut gauges = Gauges::default();
        gauges.gauge("link_up", "Whether it is up.", &[("interface", "a")], 1.0);
        gauges.gauge("link_up", "Whether it is up.", &[("interface", "b")], 0.0);
        gauges.counter("made", "Made.", &[], 7.0);
        let old = reader.read();
        published.publish(gauges);
        assert!(old.families.is_empty(), "a reader keeps what it has");
        let now = reader.read();
        let link = &now.families["link_up"];
        assert_eq!(link.samples.iter().map(|s| s.value).collect::<Vec<_>>(), [1.0, 0.0]);
        assert_eq!(link.samples[1].labels["interface"], "b");
        assert!(now.families["made"].is_counter && !link.is_counter);
    }
}
