//! The control side of the engine: the graph as it is described, checked, and handed to the
//! threads.
#![forbid(unsafe_code)]

mod build;
mod errors;
mod run;
mod spec;

pub use build::BuildError;
pub use run::Settings;
pub use spec::{Engine, NodeIndex};
