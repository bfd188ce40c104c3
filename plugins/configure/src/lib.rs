//! The configuration as a whole: saved, checked, compared, replaced, and taken back.
#![forbid(unsafe_code)]

mod cli;
mod health;
mod history;
mod replace;
mod save;
mod trial;

use std::path::PathBuf;

use control::cli::Cli;
use control::feature::Refused;
use net::{Configuration, Feature, Origin, Parts, Router};

use history::{Awaited, History};
pub use save::write_atomically;
pub use trial::{Extra, check, commands};

/// The configuration as a whole.
pub const FEATURE: Feature = Feature {
    name: "configure",
    about: "Saves, compares and replaces the configuration",
    origin: Origin::Core,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::None("it is about the configuration of the others"),
};

/// File that `save` writes when none is named, and that is loaded at start.
#[derive(Clone, Debug)]
pub struct StartupFile(pub PathBuf);

/// State of the feature.
struct Configure {
    /// All commands.
    cli: Cli<Router>,
    history: History,
    /// The commit that is undone unless it is confirmed.
    awaited: Option<Awaited>,
    /// Whether the configuration is being replaced or saved.
    is_busy: bool,
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let cli = parts.cli.clone();
    let (history, awaited) = (History::default(), None);
    parts.router.insert(Configure { cli, history, awaited, is_busy: false });
    health::register(parts.router);
    cli::register(&mut parts.cli);
    Ok(())
}
