//! `plugin load`, `plugin unload`.
#![forbid(unsafe_code)]

use std::path::Path;

use control::cli::{Cli, Command, Error, Output, Print};
use control::configuration::Lines;
use net::Router;

use crate::built_in;
use crate::host;
use crate::plugin::{self, Loader};

/// Load a plugin, built in or from a file, while forwarding.
#[derive(Command, Print, Debug, PartialEq)]
#[command("plugin load")]
#[undo("plugin unload {1}")]
#[stage(Objects)]
struct Load {
    /// name of a built-in plugin, path of a shared object, or its name in a plugin directory
    #[positional]
    #[values("absent plugin")]
    file: String,
}

/// Unload a plugin while forwarding.
#[derive(Command, Print, Debug, PartialEq)]
#[command("plugin unload")]
#[undo("plugin load {1}")]
#[stage(Objects)]
struct Unload {
    /// plugin name
    #[positional]
    #[values("plugin")]
    name: String,
}

/// Built-in plugins loaded or unloaded since the start, loaded files, and the settings of their
/// plugins.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let loader = router.own::<Loader>();
    loader.gone.iter().for_each(|name| lines.push(&Unload { name: (*name).to_owned() }));
    loader.came.iter().for_each(|name| lines.push(&Load { file: (*name).to_owned() }));
    for plugin in &router.own::<Loader>().loaded {
        lines.push(&Load { file: plugin.file.display().to_string() });
        for (stage, line) in host::configuration(router, plugin.owner, &plugin.configured) {
            lines.push_text(stage, &line);
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("plugin", |router: &Router| {
        let loaded = router.own::<Loader>().loaded.iter();
        let loaded = loaded.map(|plugin| plugin.stamp.name.clone());
        loaded.chain(built_in::present(router).map(str::to_owned)).collect()
    });
    cli.values("absent plugin", |router: &Router| {
        built_in::absent(router).map(str::to_owned).collect()
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
