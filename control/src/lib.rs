//! The control plane's front: command line, binary API, configuration, log, statistics.
//!
//! Everything here is generic over the context `C`, which owns all control-plane state; this crate
//! knows neither packets nor interfaces. Single-threaded: nothing in it locks.
#![forbid(unsafe_code)]

extern crate self as control;

pub mod api;
pub mod cli;
pub mod config;
pub mod configuration;
mod descriptors;
pub mod events;
pub mod feature;
pub mod log;
pub mod origin;
pub mod private_file;
pub mod process;
mod secret;
pub mod session;
pub mod socket;
pub mod stats;
mod turn;
pub mod wall;

pub use secret::{HIDDEN, Secret, Secrets};
