//! Whether what runs is what will be loaded at the next start.

use std::collections::HashSet;
use std::fs;

use control::configuration::Collection;
use net::Router;
use net::health::{Check, Findings, Severity};

use crate::{StartupFile, commands};

/// Slices of a configuration that are gathered for a look, beside one of each feature; larger
/// configurations are not compared.
const MOST_SLICES: usize = 50;
/// Longest file that is compared, in bytes.
const MOST_BYTES: u64 = 1 << 22;

pub(super) fn register(router: &mut Router) {
    router.check_health(Check {
        name: "configuration",
        about: "what runs is what is saved for the next start",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    let Some(StartupFile(file)) = router.state::<StartupFile>() else { return };
    let name = file.display().to_string();
    let mut collection = Collection::new(router.configured.clone());
    let most = router.configured.len() + MOST_SLICES;
    for slice in 0.. {
        if slice == most {
            return;
        }
        if !collection.advance(router) {
            break;
        }
    }
    let running: HashSet<_> = collection.rows().into_iter().map(|row| row.command).collect();
    let about = fs::metadata(file).ok().filter(|about| about.is_file());
    if about.as_ref().is_some_and(|about| about.len() > MOST_BYTES) {
        return;
    }
    let Some(text) = about.and_then(|_| fs::read_to_string(file).ok()) else {
        if !running.is_empty() {
            let text = format!("{} commands are not saved (see `save')", running.len());
            found.add(Severity::Note, name, text);
        }
        return;
    };
    let saved: HashSet<_> = commands(&text).into_iter().map(|(_, command)| command).collect();
    let (new, gone) = (running.difference(&saved).count(), saved.difference(&running).count());
    if new + gone > 0 {
        let text = format!(
            "{new} commands that run are not in it, and {gone} that are in it do not run (see \
             `show configuration diff {name}')"
        );
        found.add(Severity::Note, name, text);
    }
}
