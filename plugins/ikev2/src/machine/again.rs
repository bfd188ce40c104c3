//! Repeated initiation: a peer that became silent gets another association, as soon as it answers
//! again. Attempts come at growing intervals, one at a time for a profile.

use std::net::IpAddr;

use super::{Machine, Profile, Sa, State};

/// Seconds until the first attempt. The interval doubles with each.
const FIRST: f64 = 5.0;
/// Longest interval in seconds.
const LONGEST: f64 = 300.0;

/// A silent peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Silent {
    /// Its address when it was heard last.
    pub peer: IpAddr,
    /// Number of attempts so far.
    pub tries: u32,
    /// Time of the next attempt.
    pub at: f64,
}

fn is_initiator(profile: Option<&Profile>) -> bool {
    profile.is_some_and(|profile| profile.responder.is_some())
}

impl Machine {
    /// Notes the end of an association whose peer does not answer.
    pub(super) fn note_silent(&mut self, now: f64, sa: &Sa) {
        if is_initiator(self.profiles.get(&sa.profile)) {
            let new = Silent { peer: sa.ends.remote.0, tries: 0, at: now + FIRST };
            self.silent.entry(sa.profile.clone()).or_insert(new);
        }
    }
    /// Silent peers by profile.
    pub fn silent(&self) -> impl Iterator<Item = (&str, &Silent)> {
        self.silent.iter().map(|(name, silent)| (name.as_str(), silent))
    }
    /// Profiles whose association is to be initiated again now.
    pub fn due(&mut self, now: f64) -> Vec<String> {
        let Self { profiles, sas, silent, .. } = self;
        let has = |name: &str, state: State| {
            sas.values().any(|sa| sa.state == state && sa.profile == name)
        };
        silent.retain(|name, _| is_initiator(profiles.get(name)) && !has(name, State::Established));
        let mut due = Vec::new();
        for (name, silent) in silent {
            if silent.at <= now && !has(name, State::Init) {
                let wait = FIRST * 2_f64.powi(silent.tries.min(16) as i32 + 1);
                silent.at = now + wait.min(LONGEST);
                silent.tries = silent.tries.saturating_add(1);
                due.push((name.clone(), silent.tries));
            }
        }
        for (name, tries) in &due {
            self.log(format!("{name}: its peer was silent: attempt {tries} to reach it again"));
        }
        due.into_iter().map(|(name, _)| name).collect()
    }
}
