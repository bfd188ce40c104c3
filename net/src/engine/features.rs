//! `show features` and `show interface features`: what is on the arcs.

use std::fmt;

use control::cli::{Command, Error, Output, Word};
use infra::order::Order;
use serde::Serialize;

use crate::interface::{InterfaceIndex, find};
use crate::router::{Parts, Router};

/// Show feature arcs and the features available on them.
#[derive(Command)]
#[command("show features")]
struct ShowFeatures {
    /// accepted; the output is the same
    verbose: bool,
}

/// Show the features enabled on interfaces; `feat` for short.
#[derive(Command)]
#[command("show interface features")]
struct ShowInterfaceFeatures {
    /// interfaces; default all
    #[positional]
    #[values("interface")]
    interfaces: Vec<Word>,
    /// with their places on the arc
    verbose: bool,
}

/// Enable or disable a feature on an interface.
#[derive(Command)]
#[command("set interface feature")]
struct SetFeature {
    /// interface
    #[positional]
    interface: Word,
    /// a feature listed below the arc by `show features`
    #[positional]
    feature: Word,
    /// feature arc
    arc: Word,
    /// disable
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
    /// A missing interface, arc or feature.
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

/// The order of arcs in listings; others follow in the order of declaration.
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
            places: Vec::new(),
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
            let place = |arc: &str, feature: &str| {
                let all = router.engine.arcs().find(|(name, ..)| *name == arc)?;
                all.1.iter().position(|name| *name == feature)
            };
            let arc = |(name, features): (&'static str, Vec<&'static str>)| Arc {
                name,
                places: match show.verbose {
                    true => features.iter().map(|feature| place(name, feature)).collect(),
                    false => Vec::new(),
                },
                features,
            };
            let arcs = arcs.map(arc).collect();
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
    /// Their places on the arc, if these are shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<Option<usize>>,
}

impl Arcs {
    fn in_order(interface: Option<String>, mut arcs: Vec<Arc>) -> Self {
        let place = |arc: &Arc| ORDER.iter().position(|name| *name == arc.name);
        arcs.order_by_key(|arc| place(arc).unwrap_or(ORDER.len()));
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
            for (at, feature) in arc.features.iter().enumerate() {
                match arc.places.get(at) {
                    Some(Some(place)) => writeln!(f, "  [{place:>2}] {feature}")?,
                    Some(None) => writeln!(f, "  [end] {feature}")?,
                    None => writeln!(f, "  {feature}")?,
                }
            }
            if arc.features.is_empty() {
                writeln!(f, "  none configured")?;
            }
        }
        Ok(())
    }
}
