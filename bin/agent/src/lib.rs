//! The agent of a fleet: it holds a router to the state that a store desires.
//!
//! [`desired`] reads what the store has, [`machine`] decides, both without I/O; the rest talks to
//! etcd and to the router.
#![forbid(unsafe_code)]

pub mod desired;
mod difference;
mod disk;
pub mod etcd;
pub mod http;
pub mod machine;
pub mod router;
pub mod run;
pub mod settings;
pub mod signature;
mod state;
pub mod tool;

#[cfg(test)]
mod simulation;
