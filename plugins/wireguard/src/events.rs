//! Events from nodes to control.

use net::events::Event;
use wire::wireguard::Handshake;

use super::Endpoint;

/// A handshake message was received.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// The message.
    pub message: Handshake,
    /// Sender.
    pub from: Endpoint,
    /// The port it was for.
    pub port: u16,
    /// Time, in seconds on the router's clock.
    pub at: f64,
}

impl Event for Arrived {
    const ROOM: usize = 512;
}

/// Something about a peer.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    /// Peer.
    pub peer: u32,
    /// The event.
    pub what: What,
}

impl Event for Notice {}

/// Event noticed by a node.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// There should be new keys.
    Wanted,
    /// The first message of a session was received: the peer has the keys as well.
    Confirmed {
        /// Own number of the session.
        local: u32,
    },
    /// A message came from elsewhere.
    Roamed {
        /// From there.
        to: Endpoint,
    },
}
