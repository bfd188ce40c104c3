//! Faults of the router now, in words: `show health`.
//!
//! A feature declares checks ([`Router::check_health`]), which run on request. A check that
//! compares with an earlier state keeps that itself, so "since the last check" is the last `show
//! health`.

mod show;
mod start;
#[cfg(test)]
mod tests;

use infra::order::Order;
use serde::Serialize;

use crate::router::{Configuration, Feature, Origin, Parts, Router};

/// Health of the router.
pub const FEATURE: Feature = Feature {
    name: "health",
    about: "What is wrong with the router now",
    origin: Origin::Core,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::None("nothing can be set"),
};

/// A check that a feature declares.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name, in one word: `interfaces`.
    pub name: &'static str,
    /// Statement of a check that finds nothing: a line for `show health verbose`.
    pub about: &'static str,
    /// Runs the check, within about a millisecond, and adds its findings.
    pub look: fn(&mut Router, &mut Findings),
}

/// When a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Also every few seconds, for Prometheus and the console.
    Always,
    /// Only for `show health` itself: it takes longer than others.
    Asked,
}

/// Weights of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Packets are lost or do not reach their destination.
    Error,
    /// This may become an error.
    Warning,
    /// Worth knowing.
    Note,
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its weight.
    pub severity: Severity,
    /// Name of the check.
    pub check: &'static str,
    /// The object it is about: an interface, a prefix, a thread.
    pub subject: String,
    /// The fault, and where it is known the remedy: a sentence without its full stop.
    pub text: String,
}

/// Findings of a check.
#[derive(Debug)]
pub struct Findings {
    check: &'static str,
    all: Vec<Finding>,
}

/// Findings of one check that are named; of others only the number is.
const NAMED: usize = 20;

impl Findings {
    /// Adds one.
    pub fn add(&mut self, severity: Severity, subject: impl ToString, text: impl Into<String>) {
        let (subject, text) = (subject.to_string(), text.into());
        self.all.push(Finding { severity, check: self.check, subject, text });
    }
    /// The worst first, those after the first ones counted.
    fn sorted(mut self) -> Vec<Finding> {
        self.all.order_by_key(|finding| finding.severity);
        let more = self.all.len().saturating_sub(NAMED);
        if more > 0 {
            let severity = self.all[NAMED].severity;
            self.all.truncate(NAMED);
            self.add(severity, format!("{more} more"), "are like these");
        }
        self.all
    }
}

/// Losses of the last minute, independent of how often health is checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lately {
    count: u64,
    noticed: f64,
}

impl Lately {
    /// Seconds for which a loss is a finding.
    const TIME: f64 = 60.0;

    /// Adds losses noticed now; those of the last minute.
    pub fn add(&mut self, count: u64, now: f64) -> u64 {
        if now - self.noticed > Self::TIME {
            self.count = 0;
        }
        if count > 0 {
            *self = Self { count: self.count + count, noticed: now };
        }
        self.count
    }
}

/// Everything that the checks found.
#[derive(Clone, Debug, Serialize)]
pub struct Health {
    /// Whether there is neither an error nor a warning.
    pub healthy: bool,
    /// The worst first.
    pub findings: Vec<Finding>,
    /// Names and purposes of the checks.
    pub checks: Vec<(&'static str, &'static str)>,
    #[serde(skip)]
    is_verbose: bool,
}

impl Health {
    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error).count()
    }
}

impl Router {
    /// Declares a check, for the lifetime of its feature.
    pub fn check_health(&mut self, check: Check) {
        self.checks.push((check, When::Always));
    }
    /// Declares a check that runs only for `show health` itself.
    pub fn check_health_when_asked(&mut self, check: Check) {
        self.checks.push((check, When::Asked));
    }
    /// Findings of one check, the worst first.
    pub(crate) fn look(&mut self, check: Check) -> Vec<Finding> {
        let mut found = Findings { check: check.name, all: Vec::new() };
        (check.look)(self, &mut found);
        found.sorted()
    }
    /// Runs all checks.
    pub fn health(&mut self) -> Health {
        let checks: Vec<_> = self.checks.iter().map(|(check, _)| *check).collect();
        let mut findings = Vec::new();
        for check in &checks {
            findings.append(&mut self.look(*check));
        }
        findings.order_by_key(|finding| finding.severity);
        let healthy = findings.iter().all(|finding| finding.severity == Severity::Note);
        let checks = checks.iter().map(|check| (check.name, check.about)).collect();
        Health { healthy, findings, checks, is_verbose: false }
    }
}

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    show::register(&mut parts.cli);
    start::register(parts.router);
    Ok(())
}
