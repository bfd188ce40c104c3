//! The ends of packets: `error-drop` and `drop`, `error-punt` and `punt`; and the [`Problem`] that
//! a packet takes along to where its sender gets an ICMP error. `show drops` says what is dropped,
//! where, why and how fast.

mod health;
mod nodes;
mod problem;
mod punt;
mod show;
mod tally;
#[cfg(test)]
mod tests;

use graph::arc::{FeatureArc, Side};

use crate::router::{Configuration, Feature, Origin, Parts, refuse};

pub use nodes::{Drop, ErrorDrop};
pub use problem::Problem;
pub use punt::{ErrorPunt, Punt};
pub use show::{Dropped, Reason as DropReason};
pub use tally::Sample;

/// Features on everything that is dropped.
pub static ERROR_DROP: FeatureArc = FeatureArc {
    name: "error-drop",
    starts: &["error-drop"],
    order: &["sflow-drop"],
    end: "drop",
    side: Side::Receive,
};

/// The drop nodes.
pub const FEATURE: Feature = Feature {
    name: "drops",
    about: "Where dropped and punted packets end",
    origin: Origin::Core,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::None("nothing can be set"),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut *parts.router;
    router.engine.declare(&ERROR_DROP);
    router.engine.add(ErrorDrop::new(&router.interfaces)).map_err(refuse)?;
    let samples = router.events.sender();
    router.engine.add(Drop::new(samples)).map_err(refuse)?;
    router.engine.add(ErrorPunt::new(&router.interfaces)).map_err(refuse)?;
    router.engine.add(Punt).map_err(refuse)?;
    show::register(parts);
    health::register(parts.router);
    Ok(())
}
