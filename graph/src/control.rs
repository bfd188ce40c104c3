//! The control side of the engine: the graph as it is described, checked, and handed to the
//! threads.
#![forbid(unsafe_code)]

mod arcs;
mod build;
mod change;
mod counting;
mod errors;
mod give_back;
mod metadata;
mod monitoring;
mod run;
mod sample;
mod spec;
mod threads;
mod until_done;

pub use build::BuildError;
pub use errors::{CounterChange, MOST_COUNTERS};
pub(crate) use errors::{DELETED, IN_CIRCLES};
pub use run::Settings;
pub use sample::{MOST_NODES, NodeSamples, Samples};
pub use spec::{Engine, NodeIndex};
pub use threads::Plan;
pub use until_done::UntilDone;
