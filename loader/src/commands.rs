//! `plugin load`, `plugin unload`.
#![forbid(unsafe_code)]

use std::path::Path;

use control::cli::{Cli, Command, Error, Output, Print};
use control::configuration::Lines;
use net::Router;

use crate::plugin::{self, Loader};

/// Load a plugin from a file while packets flow.
#[derive(Command, Print, Debug, PartialEq)]
#[command("plugin load")]
#[stage(Objects)]
struct Load {
    /// path of the shared object, or its name in a folder of plugins
    #[positional]
    #[values("file")]
    file: String,
}

/// Unload a plugin that was loaded from a file.
#[derive(Command)]
#[command("plugin unload")]
struct Unload {
    /// name of the plugin
    #[positional]
    #[values("plugin")]
    name: String,
}

/// The files that are loaded.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for plugin in &router.own::<Loader>().loaded {
        lines.push(&Load { file: plugin.file.display().to_string() });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("plugin", |router: &Router| {
        let loaded = router.own::<Loader>().loaded.iter();
        loaded.map(|plugin| plugin.stamp.name.clone()).collect()
    });
    cli.command(|router: &mut Router, load: Load| {
        plugin::load(router, Path::new(&load.file)).map_err(|e| Error::new(e.to_string()))?;
        Ok(())
    });
    cli.command(|router: &mut Router, unload: Unload| {
        let said = plugin::unload(router, &unload.name);
        said.map(|said| Output::text(said.unwrap_or_default()))
            .map_err(|e| Error::new(e.to_string()))
    });
}
