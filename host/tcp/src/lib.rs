//! TCP (RFC 9293) as a state machine without I/O, clock or memory of its own.
//!
//! A [`Connection`] is plain data. Segments, time and the state of the thread ([`Machine`]) are
//! arguments; results are [`Effects`], and segments passed to an [`Emit`]. Payload is never stored
//! here: a [`Sink`] gets the position of received data, and [`Outgoing`] tells which bytes of the
//! source to send.
//!
//! For each connection, call
//! * [`Connection::open`], or [`HalfOpen::new`] or [`cookie_for`] for a SYN at a listener;
//! * [`Connection::segment`] for each segment; then apply [`Effects::acked`] to the source;
//! * [`Connection::send`] once for all segments of a frame if the effects have [`Events::SEND`],
//!   and when the application has written;
//! * [`Connection::consumed`] when it has read;
//! * [`Connection::timer`] not before [`Connection::deadline`]. The deadline moves with every call,
//!   mostly forward: a timer may fire early and be set again;
//! * [`Connection::release`] at the end.
#![forbid(unsafe_code)]

mod config;
mod congestion;
mod connection;
mod cookie;
mod counters;
mod effects;
mod flight;
mod half_open;
mod holes;
mod machine;
mod pool;
mod rtt;
mod secret;
mod segment;
mod seq;
mod state;
mod time;
mod time_wait;

pub use config::{Config, Settings};
pub use congestion::{Algorithm, Controller, Cubic, NewReno, Sample, Window};
pub use connection::{Connection, Details, Statistics};
pub use cookie::{cookie_for, cookie_of};
pub use counters::Counters;
pub use effects::{Effects, Emit, Error, Events, Sink, Verdict};
pub use half_open::{Answer, HalfOpen};
pub use machine::{Flow, Machine};
pub use segment::{MAX_HEADER, Outgoing, Segment, reset_for};
pub use seq::Seq;
pub use state::{State, Timer};
pub use time::Time;
pub use time_wait::{Late, TimeWait};
pub use wire::tcp::{Flags, Options, Timestamp};
