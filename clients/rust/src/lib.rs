//! Drives a router through its binary API: requests, tables, events, and many requests at once
//! without waiting for each reply.
//!
//! ```no_run
//! use ferrovia_client::{Client, messages::*};
//!
//! let mut client = Client::connect("/run/vpp/api.sock", "example")?;
//! let loopback = client.call(&CreateLoopback::default())?.sw_if_index;
//! let all = SwInterfaceDump { sw_if_index: u32::MAX, ..Default::default() };
//! for row in client.dump(&all)? {
//!     println!("{} {}", row.sw_if_index, row.interface_name);
//! }
//! // Thousands of routes: replies are counted, not waited for one by one.
//! let prefixes = (0..100_000_u32).map(|n| route(0x1000_0000 + (n << 8), loopback));
//! let failed = client.calls(prefixes, |_, _| ())?;
//! assert_eq!(failed, 0);
//! # fn route(_: u32, _: u32) -> IpRouteAddDelV2 { IpRouteAddDelV2::default() }
//! # Ok::<(), ferrovia_client::Error>(())
//! ```
//!
//! Messages are declared in the router; this crate's [`messages`] are generated from their
//! descriptions in `docs/reference/api`. The table that a router sends on connection shows whether
//! it lacks a message, or has it with other fields: using such a message is [`Error::Unknown`].
#![forbid(unsafe_code)]

mod client;
mod codec;
mod error;
mod link;
pub mod messages;

pub use client::{Client, Event};
pub use codec::{Codec, Short};
pub use error::Error;

/// Counters, read without asking: `stats::Reader::new(stats::fetch(path)?)?`.
pub mod stats {
    pub use control::stats::reader::{Reader, Sample, Snapshot};
    pub use control::stats::server::fetch;
}

/// A message.
pub trait Message: Codec + 'static {
    /// Its name, `_` and the CRC of its fields.
    const NAME: &'static str;
    /// Count of numbers in front of its own fields: the client's and the request's, or the latter.
    const HEAD: usize;
    /// The error number of a reply; 0 when there is none.
    fn retval(&self) -> i32;
}

/// A request with one reply.
pub trait Call: Message {
    /// The reply.
    type Reply: Message;
}

/// A request for the rows of a table.
pub trait Dump: Message {
    /// A row.
    type Details: Message;
}

/// A request for the rows of a table with a reply behind them.
pub trait Stream: Message {
    /// A row.
    type Details: Message;
    /// The message behind them.
    type Reply: Message;
}
