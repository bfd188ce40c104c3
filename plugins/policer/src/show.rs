//! Policers as `show policer` prints them.

use std::fmt;

use infra::counter::Volume;
use serde::Serialize;

use super::Policer;
use super::cli::{RATES, ROUNDINGS, TYPES, word_of};
use net::Router;

#[derive(Serialize)]
struct Bucket {
    /// Tokens a second.
    rate: f64,
    limit: f64,
    tokens: f64,
}

#[derive(Serialize)]
struct Counted {
    packets: u64,
    bytes: u64,
}

#[derive(Serialize)]
pub(super) struct Shown {
    index: u32,
    name: String,
    #[serde(rename = "type")]
    algorithm: &'static str,
    cir: u32,
    eir: u32,
    cb: u64,
    eb: u64,
    rate: &'static str,
    round: &'static str,
    color_aware: bool,
    conform_action: String,
    exceed_action: String,
    violate_action: String,
    thread: Option<usize>,
    committed: Bucket,
    excess: Bucket,
    updated: f64,
    conform: Counted,
    exceed: Counted,
    violate: Counted,
}

impl Shown {
    pub fn of(router: &Router, index: u32, policer: &Policer) -> Self {
        let c = &policer.config;
        let profile = c.profile().expect("it was looked at when the policer was made");
        let ((committed, excess), updated) = policer.levels();
        let bucket = |fill: infra::meter::Fill, tokens| Bucket {
            rate: fill.rate,
            limit: fill.burst,
            tokens,
        };
        let counted = |Volume { packets, bytes }| Counted { packets, bytes };
        let [conform, exceed, violate] = super::counted(router, index).map(counted);
        let [conform_action, exceed_action, violate_action] = c.actions.map(|a| a.to_string());
        Self {
            index,
            name: policer.name.clone(),
            algorithm: word_of(c.algorithm, &TYPES),
            cir: c.cir,
            eir: c.eir,
            cb: c.cb,
            eb: c.eb,
            rate: word_of(c.unit, &RATES),
            round: word_of(c.rounding, &ROUNDINGS),
            color_aware: c.is_color_aware,
            conform_action,
            exceed_action,
            violate_action,
            thread: policer.thread(),
            committed: bucket(profile.committed, committed),
            excess: bucket(profile.excess, excess),
            updated,
            conform,
            exceed,
            violate,
        }
    }
}

#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct All(pub Vec<Shown>);

impl fmt::Display for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|shown| shown.fmt(f))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, algorithm, cir, eir, cb, eb, .. } = self;
        writeln!(f, "Name \"{name}\" type {algorithm} cir {cir} eir {eir} cb {cb} eb {eb}")?;
        writeln!(f, "rate type {}, round type {}", self.rate, self.round)?;
        let Self { conform_action, exceed_action, violate_action, .. } = self;
        write!(f, "conform action {conform_action}, exceed action {exceed_action}")?;
        writeln!(f, ", violate action {violate_action}")?;
        let rates = if matches!(*algorithm, "1r2c" | "1r3c") { "single" } else { "dual" };
        let aware = if self.color_aware { "" } else { "not " };
        write!(f, "policer at index {}: {rates} rate, {aware}color-aware", self.index)?;
        match self.thread {
            Some(thread) => writeln!(f, ", thread {thread}")?,
            None => f.write_str("\n")?,
        }
        for (what, b) in [("committed", &self.committed), ("excess", &self.excess)] {
            let Bucket { rate, limit, tokens } = b;
            writeln!(f, "{what} {rate:.0} tok/s, limit {limit:.0}, bucket {tokens:.0}")?;
        }
        writeln!(f, "last update {:.6}", self.updated)?;
        let all =
            [("conform", &self.conform), ("exceed", &self.exceed), ("violate", &self.violate)];
        for (what, Counted { packets, bytes }) in all {
            writeln!(f, "{what} {packets} packets, {bytes} bytes")?;
        }
        writeln!(f, "-----------")
    }
}
