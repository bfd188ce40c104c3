//! Applications inside the daemon.
//!
//! An application has a part on every thread ([`Application`]), made when it is attached
//! ([`attach`](super::attach)). The part is called on its thread with a [`Stream`], the handle of a
//! session for as long as the call lasts; what it does there takes effect at once, and nothing it
//! does calls it again before it has returned.
//!
//! * A stream begins with [`Application::on_accept`] or [`Application::on_connected`] and ends,
//!   for the application, with its own [`Stream::close`] or [`Stream::reset`], or with
//!   [`Application::on_reset`]: after one of these it is not called for the stream again.
//! * [`Application::on_readable`] is called when bytes have come, not again before more come: read
//!   all, or ask to be called again ([`Stream::wake`], [`Stream::wake_in`]).
//! * [`Application::on_writable`] is called when there is room again after [`Stream::write`] took
//!   less than it was given.
//! * Datagrams are read and written whole ([`Stream::receive`], [`Stream::send`]).
//!
//! Calls are made between packets: an application that works for long delays forwarding.

use std::any::Any;
use std::net::SocketAddr;

use super::endpoint::Transport;
use super::session::{Failure, SessionId};
pub use super::stream::{Stream, Turn};

/// The part of an application on one thread.
pub trait Application: Any + Send {
    /// A session came to a listener. False refuses it: it is reset.
    fn on_accept(&mut self, stream: &mut Stream<'_>) -> bool;

    /// A session that was asked for is there.
    fn on_connected(&mut self, _stream: &mut Stream<'_>) {}

    /// A session that was asked for is not to be; `opaque` is that of the request.
    fn on_refused(&mut self, _opaque: u64, _why: Failure) {}

    /// Bytes have come.
    fn on_readable(&mut self, stream: &mut Stream<'_>);

    /// There is room again.
    fn on_writable(&mut self, _stream: &mut Stream<'_>) {}

    /// The peer sends no more than what is there to read. The application closes the stream when it
    /// has sent all it has to say.
    fn on_close(&mut self, stream: &mut Stream<'_>) {
        stream.close();
    }

    /// The session has ended, and not by the application.
    fn on_reset(&mut self, _id: SessionId, _data: u64, _why: Failure) {}

    /// The time of [`Stream::wake_in`] has come.
    fn on_timer(&mut self, _stream: &mut Stream<'_>) {}

    /// Whether [`Application::on_turn`] is called; asked once.
    fn has_turns(&self) -> bool {
        false
    }

    /// A turn of the thread, for work that no session gives reason for. True to have another one
    /// soon, without waiting for something to happen.
    fn on_turn(&mut self, _turn: &mut Turn<'_>) -> bool {
        false
    }
}

/// Both ends of a stream, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Transport.
    pub transport: Transport,
    /// Our address and port.
    pub local: SocketAddr,
    /// The peer's.
    pub peer: SocketAddr,
    /// The table of addresses: index of the FIB.
    pub fib: u16,
    /// The namespace of the application.
    pub namespace: u32,
}
