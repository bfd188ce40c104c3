//! The statistics for Prometheus: the segment's numbers as text, over HTTP.
//!
//! State beside the counters comes from [`Published`](super::gauges::Published).
//!
//! A thread of its own reads the segment as any other client does, so a scrape of however many
//! numbers keeps neither control nor forwarding waiting. `GET /metrics` answers in the text format
//! 0.0.4, or as OpenMetrics 1.0 for those who ask for it. Of HTTP (RFC 9112) only the request line
//! and one header matter here, so there is no library for it.

mod families;
mod http;
mod text;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

use super::gauges::{Gauges, Published};
use super::reader::Reader;

pub use text::Format;

/// The numbers that are served.
#[derive(Debug)]
pub struct Source {
    reader: Reader,
    state: Published,
}

impl Source {
    /// A segment's, and the state beside it.
    ///
    /// # Errors
    /// As [`Reader::new`].
    pub fn new(segment: OwnedFd, state: Published) -> io::Result<Self> {
        Ok(Self { reader: Reader::new(segment)?, state })
    }
    /// The state beside the counters.
    pub fn state(&self) -> Arc<Gauges> {
        self.state.read()
    }
    /// All numbers as text.
    ///
    /// # Errors
    /// As [`Reader::snapshot`].
    pub fn render(&self, format: Format) -> io::Result<String> {
        Ok(text::write(&families::of(&self.reader.snapshot()?, &self.state.read()), format))
    }
}

/// Starts to answer at `address`, until the process ends; returns the address with the port the
/// system chose.
///
/// # Errors
/// The kernel's.
pub fn start(address: SocketAddr, source: Source) -> io::Result<SocketAddr> {
    let socket = TcpListener::bind(address)?;
    socket.set_nonblocking(true)?;
    let bound = socket.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let serve = move || runtime.block_on(http::serve(socket, source));
    thread::Builder::new().name("prometheus".to_owned()).spawn(serve)?;
    Ok(bound)
}

#[cfg(test)]
mod tests;
