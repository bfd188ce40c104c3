//! Texts of nodes for traced and explained packets.

use net::prelude::*;

use super::policy::Action;

/// How a packet was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// By its session.
    Session,
    /// By the rules; it begins a session.
    Begins,
    /// By the rules.
    Alone,
    /// Not yet: another thread has its session.
    Elsewhere,
}

/// The trace record of a node.
pub(super) struct Judged {
    /// Names of the zones.
    pub zones: [String; 2],
    /// The action; `None` without a policy.
    pub action: Option<Action>,
    /// The place of the rule; `None` for none.
    pub rule: Option<u32>,
    pub met: Met,
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { zones: [from, to], action, rule, met } = self;
        write!(f, "{from} -> {to}: ")?;
        match (met, rule) {
            (Met::Elsewhere, _) => return f.write_str("its session is on another thread"),
            (Met::Session, Some(rule)) => write!(f, "a session permitted by rule {rule}"),
            (Met::Session, None) => f.write_str("a session without a rule"),
            (_, Some(rule)) => write!(f, "rule {rule}"),
            (_, None) => f.write_str("no rule matches"),
        }?;
        match action {
            Some(action) => write!(f, ": {action}")?,
            None => f.write_str(": no policy")?,
        }
        f.write_str(if *met == Met::Begins { ", a new session" } else { "" })
    }
}

impl Record for Judged {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  firewall: {self}")
    }
    fn explain(&self, _: &dyn Names) -> Option<Vec<String>> {
        Some(vec![format!("firewall: {self}")])
    }
}
