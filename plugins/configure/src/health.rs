//! Whether what runs is what will be loaded at the next start.

use std::collections::HashSet;
use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};

use net::Router;
use net::health::{Check, Findings, Severity};

use crate::{StartupFile, commands};

/// Slices of a configuration that are gathered for a look, beside one of each feature; larger
/// configurations are not compared.
const MOST_SLICES: usize = 50;
/// Longest file that is compared, in bytes.
const MOST_BYTES: u64 = 1 << 22;

pub(super) fn register(router: &mut Router) {
    router.check_health_when_asked(Check {
        name: "configuration",
        about: "what runs is what is saved for the next start",
        look,
    });
}

/// The configuration as the start made it: what its files mean.
struct Baseline {
    /// Files that were run, with hashes of their texts.
    files: Vec<(PathBuf, Option<u64>)>,
    /// Hashes of commands.
    rows: HashSet<u64>,
}

/// Notes what the files of the start have made.
pub fn started(router: &mut Router, files: Vec<PathBuf>) {
    let Some(rows) = running(router) else { return };
    let rows = rows.iter().map(|row| hash(row)).collect();
    let files = files.into_iter().map(|file| (hash_of(&file), file));
    let files = files.map(|(hash, file)| (file, hash)).collect();
    router.insert(Baseline { files, rows });
}

fn hash(text: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(text)
}

/// Hash of a file's text; `None` when it cannot be read or is too long.
fn hash_of(file: &Path) -> Option<u64> {
    Some(hash(&text_of(file)?))
}

fn text_of(file: &Path) -> Option<String> {
    let about = fs::metadata(file).ok().filter(|about| about.is_file())?;
    if about.len() > MOST_BYTES { None } else { fs::read_to_string(file).ok() }
}

/// The commands of the configuration that runs; `None` when there are too many to look at.
fn running(router: &mut Router) -> Option<HashSet<String>> {
    let mut collection = router.collect();
    let most = router.configured.len() + MOST_SLICES;
    let is_whole = (0..most).any(|_| !collection.advance(router));
    let rows = || collection.rows().into_iter().map(|row| row.command).collect();
    is_whole.then(rows)
}

fn look(router: &mut Router, found: &mut Findings) {
    let Some(StartupFile(file)) = router.state::<StartupFile>() else { return };
    let (file, name) = (file.clone(), file.display().to_string());
    let Some(running) = running(router) else { return };
    let saved = text_of(&file);
    if saved.is_none() && file.exists() {
        return;
    }
    let saved: Option<HashSet<String>> =
        saved.map(|text| commands(&text).into_iter().map(|(_, command)| command).collect());
    if saved.as_ref() == Some(&running) {
        return;
    }
    // The same in other words is the same: what the files of the start have made.
    let baseline = router.state::<Baseline>();
    let baseline = baseline.filter(|b| b.files.iter().all(|(f, hash)| hash_of(f) == *hash));
    let is_of_start = |b: &&Baseline| saved.is_none() || b.files.iter().any(|(f, _)| *f == file);
    let (new, gone) = match (baseline.filter(is_of_start), &saved) {
        (Some(Baseline { rows, .. }), _) => {
            let now: HashSet<_> = running.iter().map(|row| hash(row)).collect();
            (now.difference(rows).count(), rows.difference(&now).count())
        }
        (None, Some(saved)) => {
            (running.difference(saved).count(), saved.difference(&running).count())
        }
        (None, None) => (running.len(), 0),
    };
    let text = match (new + gone, &saved) {
        (0, _) => return,
        (_, None) => format!("{new} commands are not saved (see `save')"),
        _ => format!(
            "{new} running commands are not in it, and {gone} of its commands are not running \
                (see `show configuration diff {name}')"
        ),
    };
    found.add(Severity::Note, name, text);
}
