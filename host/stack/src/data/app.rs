//! Applications inside the daemon.
//!
//! An application has a part on every thread ([`Application`]), created when it is attached
//! ([`attach`](super::attach)). The part is called on its thread with a [`Stream`], a handle of a
//! session for the duration of the call. Its actions take effect at once, and never call the part
//! recursively.
//!
//! * A stream begins with [`Application::on_accept`] or [`Application::on_connected`] and ends,
//!   for the application, with its own [`Stream::close`] or [`Stream::reset`], or with
//!   [`Application::on_reset`]: after one of these it is not called for the stream again.
//! * [`Application::on_readable`] is called when data has arrived, and not again before more
//!   arrives: read everything, or ask to be called again ([`Stream::wake`], [`Stream::wake_in`]).
//! * [`Application::on_writable`] is called when there is space again after [`Stream::write`] took
//!   less than it was given.
//! * Datagrams are read and written whole ([`Stream::receive`], [`Stream::send`]).
//!
//! Calls are made between packets: an application that works for a long time delays forwarding.

use std::any::Any;
use std::net::SocketAddr;

use super::endpoint::Transport;
use super::session::{Failure, SessionId};
pub use super::stream::{Offered, Stream, Turn};

/// The part of an application on one thread.
pub trait Application: Any + Send {
    /// A listener has a new session. Return false to refuse it with a reset.
    fn on_accept(&mut self, stream: &mut Stream<'_>) -> bool;

    /// A requested session is connected.
    fn on_connected(&mut self, _stream: &mut Stream<'_>) {}

    /// A requested session has failed; `opaque` is that of the request.
    fn on_refused(&mut self, _opaque: u64, _why: Failure) {}

    /// Data has arrived.
    fn on_readable(&mut self, stream: &mut Stream<'_>);

    /// There is space for writing again.
    fn on_writable(&mut self, _stream: &mut Stream<'_>) {}

    /// The peer has finished sending; the rest can still be read. The application closes the stream
    /// when it has nothing more to send.
    fn on_close(&mut self, stream: &mut Stream<'_>) {
        stream.close();
    }

    /// The session was ended by the peer or the router.
    fn on_reset(&mut self, _id: SessionId, _data: u64, _why: Failure) {}

    /// The time of [`Stream::wake_in`] has expired.
    fn on_timer(&mut self, _stream: &mut Stream<'_>) {}

    /// Whether [`Application::on_turn`] is called; checked once.
    fn has_turns(&self) -> bool {
        false
    }

    /// A turn of the thread, for work that belongs to no session. Return true for another turn
    /// soon, without waiting for an event.
    fn on_turn(&mut self, _turn: &mut Turn<'_>) -> bool {
        false
    }
}

/// Endpoints and properties of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Transport.
    pub transport: Transport,
    /// Local address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub peer: SocketAddr,
    /// FIB index of the addresses.
    pub fib: u16,
    /// The namespace of the application.
    pub namespace: u32,
}
