//! `show features` and `show interface features`: what is on the arcs.

use std::fmt;

use control::cli::{Command, Error, Output, Word};
use serde::Serialize;

use crate::interface::{InterfaceIndex, find};
use crate::router::{Parts, Router};

/// Show the arcs and the features that may be enabled on them.
#[derive(Command)]
#[command("show features")]
struct ShowFeatures {
    /// accepted, prints the same
    verbose: bool,
}

/// Show the features that are enabled on interfaces.
#[derive(Command)]
#[command("show interface features")]
struct ShowInterfaceFeatures {
    /// interfaces; all when none is given
    #[positional]
    #[values("interface")]
    interfaces: Vec<Word>,
}

/// Switch a feature of an arc on for an interface, or off.
#[derive(Command)]
#[command("set interface feature")]
struct SetFeature {
    /// interface
    #[positional]
    interface: Word,
    /// one of the features that `show features` lists below the arc
    #[positional]
    feature: Word,
    /// the arc it is on
    arc: Word,
    /// switch it off
    disable: bool,
}

/// Reasons why a feature cannot be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no such interface.
    NoInterface,
    /// There is no such arc.
    NoArc,
    /// The arc has no such feature.
    NotOnArc,
}

impl Router {
    /// Switches a feature of an arc on or off for an interface.
    ///
    /// # Errors
    /// An interface, arc or feature that is not there.
    pub(super) fn switch_feature(
        &mut self,
        interface: InterfaceIndex,
        arc: &str,
        feature: &str,
        on: bool,
    ) -> Result<(), Refusal> {
        self.interfaces.at(interface).ok_or(Refusal::NoInterface)?;
        let arc = self.engine.arc_named(arc).ok_or(Refusal::NoArc)?;
        let done = self.engine.set_feature(arc, feature, interface.0, on);
        done.map_err(|_| Refusal::NotOnArc)
    }
}

/// The order of arcs in listings; others come behind these, as they were declared.
const ORDER: [&str; 16] = [
    "arp",
    "ip6-drop",
    "ip6-punt",
    "ip6-local",
    "ip6-output",
    "ip6-multicast",
    "ip6-unicast",
    "ip4-drop",
    "ip4-punt",
    "ip4-local",
    "ip4-output",
    "ip4-multicast",
    "ip4-unicast",
    "error-drop",
    "interface-output",
    "device-input",
];

pub(super) fn register(parts: &mut Parts) {
    let cli = &mut parts.cli;
    cli.values("arc", |router: &Router| {
        router.engine.arcs().map(|(name, ..)| name.to_owned()).collect()
    });
    cli.values("feature", |router: &Router| {
        let all = router.engine.arcs().flat_map(|(_, features, _)| features.iter());
        all.map(|name| (*name).to_owned()).collect()
    });
    cli.command(|router, set: SetFeature| {
        let interface = find(router, &set.interface)?;
        let done = router.switch_feature(interface, &set.arc, &set.feature, !set.disable);
        done.map_err(|why| match why {
            Refusal::NoInterface => set.interface.unknown("interface"),
            Refusal::NoArc => set.arc.unknown("arc"),
            Refusal::NotOnArc => Error::new(format!(
                "arc `{}' has no feature `{}'; see show features",
                &*set.arc, &*set.feature
            )),
        })
    });
    cli.command(|router, show: ShowFeatures| {
        let _ = show.verbose;
        let arcs = router.engine.arcs().map(|(name, features, end)| Arc {
            name,
            features: features.iter().chain([&end]).copied().collect(),
        });
        Ok(Output::of(Arcs::in_order(None, arcs.collect())))
    });
    cli.command(|router, show: ShowInterfaceFeatures| {
        let named = show.interfaces.iter().map(|name| find(router, name));
        let mut chosen = named.collect::<Result<Vec<_>, _>>()?;
        if chosen.is_empty() {
            chosen.extend(router.interfaces.iter().map(|i| i.index));
        }
        let mut output = Output::none();
        for InterfaceIndex(index) in chosen {
            let arcs = router.engine.features_of(index).into_iter();
            let arcs = arcs.map(|(name, features)| Arc { name, features }).collect();
            let name = router.interfaces.name(index).to_owned();
            output.append(Output::of(Arcs::in_order(Some(name), arcs)));
        }
        Ok(output)
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

impl Arcs {
    fn in_order(interface: Option<String>, mut arcs: Vec<Arc>) -> Self {
        let place = |arc: &Arc| ORDER.iter().position(|name| *name == arc.name);
        arcs.sort_by_key(|arc| place(arc).unwrap_or(ORDER.len()));
        Self { interface, arcs }
    }
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
