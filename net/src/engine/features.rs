//! `show features` and `show interface features`: what is on the arcs.

use std::fmt;

use control::cli::{Cli, Command, Output, Word};
use serde::Serialize;

use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Show the arcs and the features that may be enabled on them.
#[derive(Command)]
#[command("show features")]
struct ShowFeatures {
    /// accepted, prints the same
    verbose: bool,
}

/// Show the features that are enabled on an interface.
#[derive(Command)]
#[command("show interface features")]
struct ShowInterfaceFeatures {
    /// interface
    #[positional]
    #[values("interface")]
    interface: Word,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowFeatures| {
        let _ = show.verbose;
        let arcs = router.engine.arcs().map(|(name, features, end)| Arc {
            name,
            features: features.iter().chain([&end]).copied().collect(),
        });
        Ok(Output::of(Arcs { interface: None, arcs: arcs.collect() }))
    });
    cli.command(|router, show: ShowInterfaceFeatures| {
        let interface = router.interfaces.named(&show.interface);
        let interface = interface.ok_or_else(|| show.interface.unknown("interface"))?;
        let InterfaceIndex(index) = interface.index;
        let arcs = router.engine.features_of(index).into_iter();
        Ok(Output::of(Arcs {
            interface: Some(interface.name.clone()),
            arcs: arcs.map(|(name, features)| Arc { name, features }).collect(),
        }))
    });
}

#[derive(Serialize)]
struct Arcs {
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<String>,
    arcs: Vec<Arc>,
}

#[derive(Serialize)]
struct Arc {
    name: &'static str,
    features: Vec<&'static str>,
}

impl fmt::Display for Arcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interface {
            None => writeln!(f, "Available feature paths")?,
            Some(name) => writeln!(f, "Feature paths configured on {name}...")?,
        }
        for arc in &self.arcs {
            if self.interface.is_some() {
                writeln!(f)?;
            }
            writeln!(f, "{}:", arc.name)?;
            arc.features.iter().try_for_each(|feature| writeln!(f, "  {feature}"))?;
            if arc.features.is_empty() {
                writeln!(f, "  none configured")?;
            }
        }
        Ok(())
    }
}
