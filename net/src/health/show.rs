//! `show health`.

use std::fmt;

use control::cli::{Cli, Command, Error, Output, Step, Task};

use super::{Finding, Health, Severity};
use crate::router::Router;

/// Show current problems of the router.
#[derive(Command)]
#[command("show health")]
struct ShowHealth {
    /// include passed checks
    verbose: bool,
    /// exit status nonzero on errors, for scripts
    strict: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(|_, show: ShowHealth| Ok(Box::new(show) as _));
}

impl Task<Router> for ShowHealth {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        let health = Health { is_verbose: self.verbose, ..router.health() };
        let errors = health.errors();
        out.append(Output::of(health));
        Step::Done(match errors {
            count if count > 0 && self.strict => {
                Err(Error::new(format!("{count} of these are errors")))
            }
            _ => Ok(()),
        })
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { severity, check, subject, text } in &self.findings {
            let severity = match severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            writeln!(f, "{severity:<8} {check:<14} {subject}: {text}")?;
        }
        if self.healthy {
            writeln!(f, "healthy: {} checks find nothing wrong", self.checks.len())?;
        }
        for (name, about) in self.checks.iter().filter(|_| self.is_verbose) {
            writeln!(f, "checked  {name:<14} {about}")?;
        }
        Ok(())
    }
}
