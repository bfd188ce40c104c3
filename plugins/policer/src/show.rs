//! Policers as `show policer` prints them.

use infra::meter::Fill;
use net::prelude::*;

use super::{Config, Policer};

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
    #[serde(flatten)]
    config: Config,
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
        let profile = policer.config.profile().expect("it was looked at when the policer was made");
        let ((committed, excess), updated) = policer.levels();
        let bucket = |Fill { rate, burst: limit, .. }: Fill, tokens| Bucket { rate, limit, tokens };
        let counted = |Volume { packets, bytes }| Counted { packets, bytes };
        let [conform, exceed, violate] = super::counted(router, index).map(counted);
        Self {
            index,
            name: policer.name.clone(),
            config: policer.config,
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

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, c) = (&self.name, &self.config);
        let Config { kind, cir, eir, cb, eb, rate, round, .. } = c;
        writeln!(f, "Name \"{name}\" type {kind} cir {cir} eir {eir} cb {cb} eb {eb}")?;
        writeln!(f, "rate type {rate}, round type {round}")?;
        let [conform, exceed, violate] = c.actions();
        writeln!(f, "conform action {conform}, exceed action {exceed}, violate action {violate}")?;
        let rates = if c.has_one_rate() { "single" } else { "dual" };
        let aware = if c.color_aware { "is" } else { "not" };
        write!(f, "\nPolicer at index {}: {rates} rate, {aware} color-aware", self.index)?;
        match self.thread {
            Some(thread) => writeln!(f, ", thread {thread}")?,
            None => f.write_str("\n")?,
        }
        // A period is a second.
        let [(cir, cur_lim, cur), (pir, ext_lim, ext)] = [&self.committed, &self.excess]
            .map(|b| (b.rate.round(), b.limit.round(), b.tokens.round()));
        writeln!(f, "cir {cir} tok/period, pir {pir} tok/period, scale 0")?;
        writeln!(f, "cur lim {cur_lim}, cur bkt {cur}, ext lim {ext_lim}, ext bkt {ext}")?;
        writeln!(f, "last update {:.6}", self.updated)?;
        let all =
            [("conform", &self.conform), ("exceed", &self.exceed), ("violate", &self.violate)];
        for (what, Counted { packets, bytes }) in all {
            writeln!(f, "{what} {packets} packets, {bytes} bytes")?;
        }
        writeln!(f, "-----------")
    }
}
