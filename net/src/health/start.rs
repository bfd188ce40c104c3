//! Findings of the start, which stay until they are forgotten.

use super::{Check, Finding, Findings, Severity};
use crate::router::Router;

/// Name of the check.
const NAME: &str = "start";

/// Problems at the start.
#[derive(Default)]
struct Start(Vec<Finding>);

pub(super) fn register(router: &mut Router) {
    router.check_health(Check {
        name: NAME,
        about: "the start did all that its configuration says",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    let Some(Start(all)) = router.state::<Start>() else { return };
    for Finding { severity, subject, text, .. } in all {
        found.add(*severity, subject, text.clone());
    }
}

impl Router {
    /// Adds a problem at the start to `show health`.
    pub fn note_start(&mut self, severity: Severity, subject: impl ToString, text: impl ToString) {
        if self.state::<Start>().is_none() {
            self.insert(Start::default());
        }
        let (subject, text) = (subject.to_string(), text.to_string());
        self.own_mut::<Start>().0.push(Finding { severity, check: NAME, subject, text });
    }
    /// Forgets what was noted about subjects that `is_it` says.
    pub fn forget_start(&mut self, is_it: impl Fn(&str) -> bool) {
        if let Some(Start(all)) = self.state_mut::<Start>() {
            all.retain(|finding| !is_it(&finding.subject));
        }
    }
}
