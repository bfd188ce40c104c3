//! `show version`, `show plugins`, `show cpu`: the program and its machine.

use std::fmt;

use control::cli::{Cli, Command, Error, Output};
use infra::cpu::Description;
use serde::Serialize;

use crate::router::Router;

/// Name and version of the program; the daemon puts it into the router.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Program {
    /// Name, version, who built it, where and when, on one line.
    pub version: String,
    /// Date of the build.
    pub build_date: String,
    /// User who built it.
    pub built_by: &'static str,
    /// The machine that built it.
    pub built_on: &'static str,
    /// Folders in which plugins are looked for.
    pub folders: Vec<String>,
    /// Loaded plugins, in the order of loading.
    pub plugins: Vec<Plugin>,
}

/// A loaded plugin.
#[derive(Clone, Debug, Serialize)]
pub struct Plugin {
    /// The file it comes from, or of what is built in the name it has in the original.
    pub file: String,
    /// Version.
    pub version: String,
    /// One line about it.
    pub about: String,
}

impl Plugin {
    /// One that is built in.
    pub fn built_in(file: String, about: &str) -> Self {
        Self { file, version: env!("CARGO_PKG_VERSION").to_owned(), about: about.to_owned() }
    }
}

/// Show the program's version.
#[derive(Command)]
#[command("show version")]
struct ShowVersion {
    /// include details of the running process
    verbose: bool,
    /// the command line of the process
    cmdline: bool,
}

/// Show plugins: built in and loaded from files.
#[derive(Command)]
#[command("show plugins")]
struct ShowPlugins {
    /// accepted; the output is the same
    #[keyword("verbose")]
    _verbose: bool,
}

/// Show the processor.
#[derive(Command)]
#[command("show cpu")]
struct ShowCpu;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowVersion| Ok(Output::of(version(router, &show))));
    cli.command(|router, _: ShowPlugins| Ok(Output::written(program(router), write_plugins)));
    cli.command(|router, _: ShowCpu| -> Result<_, Error> {
        Ok(Output::of(Cpu::from(Description::of_this_cpu(router.engine.clock().hz()))))
    });
}

pub(super) fn program(router: &Router) -> Program {
    router.state::<Program>().cloned().unwrap_or_default()
}

#[derive(Serialize)]
struct Version {
    version: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    more: Vec<(&'static str, String)>,
}

fn version(router: &Router, show: &ShowVersion) -> Version {
    let mut more = Vec::new();
    if show.verbose {
        let path = |link| {
            std::fs::read_link(link).map_or_else(
                |_| "unknown".to_owned(),
                |path: std::path::PathBuf| path.display().to_string(),
            )
        };
        let program = program(router);
        more.push(("Compiled by", program.built_by.to_owned()));
        more.push(("Compile host", program.built_on.to_owned()));
        more.push(("Compile date", program.build_date));
        more.push(("Program", path("/proc/self/exe")));
        more.push(("Current PID", std::process::id().to_string()));
        more.push(("Uptime", format!("{:.1} seconds", router.now())));
    }
    if show.cmdline {
        let words: Vec<_> = std::env::args().collect();
        more.push(("Command line", words.join(" ")));
    }
    Version { version: program(router).version, more }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.more.is_empty() {
            return writeln!(f, "{}", self.version);
        }
        writeln!(f, "{:<26}{}", "Version:", self.version)?;
        self.more
            .iter()
            .try_for_each(|(what, text)| writeln!(f, "{:<26}{text}", format!("{what}:")))
    }
}

fn write_plugins(program: &Program, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let folders = program.folders.join(":");
    let path = if folders.is_empty() { "built in" } else { &folders };
    writeln!(f, " Plugin path is: {path} plugins shown in load order\n")?;
    writeln!(f, "     {:<40} {:<32} Description", "Plugin", "Version")?;
    for (number, Plugin { file, version, about }) in program.plugins.iter().enumerate() {
        writeln!(f, "{:>3}. {file:<40} {version:<32} {about}", number + 1)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Cpu {
    #[serde(skip)]
    text: String,
    model_name: String,
    microarchitecture: String,
    flags: Vec<String>,
    base_frequency_hz: f64,
}

impl From<Description> for Cpu {
    fn from(cpu: Description) -> Self {
        Self {
            text: cpu.to_string(),
            model_name: cpu.model_name,
            microarchitecture: cpu.microarchitecture,
            flags: cpu.flags,
            base_frequency_hz: cpu.base_frequency_hz,
        }
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
