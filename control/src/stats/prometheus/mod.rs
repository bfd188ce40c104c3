//! The statistics for Prometheus: the segment's numbers as text, over HTTP.
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
use std::thread;

use super::reader::Reader;

pub use text::Format;

/// Starts to answer at `address` from a segment's descriptor, until the process ends; returns the
/// address with the port the system chose.
///
/// # Errors
/// The kernel's.
pub fn start(address: SocketAddr, segment: OwnedFd) -> io::Result<SocketAddr> {
    let reader = Reader::new(segment)?;
    let socket = TcpListener::bind(address)?;
    socket.set_nonblocking(true)?;
    let bound = socket.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let serve = move || runtime.block_on(http::serve(socket, reader));
    thread::Builder::new().name("prometheus".to_owned()).spawn(serve)?;
    Ok(bound)
}

/// All numbers as text.
///
/// # Errors
/// As [`Reader::snapshot`].
pub fn render(reader: &Reader, format: Format) -> io::Result<String> {
    Ok(text::write(&families::of(&reader.snapshot()?), format))
}

#[cfg(test)]
mod tests;
