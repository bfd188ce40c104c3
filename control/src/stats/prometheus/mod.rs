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
use super::reader::{Reader, Sample};

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
    /// A part of the numbers as text.
    ///
    /// # Errors
    /// As [`Reader::snapshot`].
    pub fn render_selected(&self, format: Format, of: &Selection<'_>) -> io::Result<String> {
        let mut snapshot = self.reader.snapshot()?;
        let is_name = |sample: &Sample| matches!(sample, Sample::Names(_));
        snapshot.entries.retain(|path, sample| is_name(sample) || (of.wants)(path));
        // It says which columns are interfaces as well.
        let mut state = Gauges::clone(&self.state.read());
        state.families.retain(|_, _| of.with_state);
        let families = families::of(&snapshot, &state).into_iter();
        let named = families.map(|(name, family)| match name.strip_prefix("ferrovia") {
            Some(rest) => (format!("{}{rest}", of.prefix), family),
            None => (name, family),
        });
        Ok(text::write(&named.collect(), format))
    }
}

/// A part of the numbers.
pub struct Selection<'s> {
    /// Whether an entry of the segment is in it, by its path.
    pub wants: &'s dyn Fn(&str) -> bool,
    /// Whether state beside the counters is in it.
    pub with_state: bool,
    /// First word of all names, in place of `ferrovia`.
    pub prefix: &'s str,
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
