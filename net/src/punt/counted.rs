//! Counters of the nodes of punt sockets and ports: each under all of these names, as clients know
//! them.

/// Counters of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Counted {
    /// no error.
    #[name("no error")]
    #[severity("info")]
    Fine,
    /// invalid packet descriptor.
    #[name("invalid packet descriptor")]
    Descriptor,
    /// buffer allocation failure.
    #[name("buffer allocation failure")]
    NoBuffers,
    /// socket read failure.
    #[name("socket read failure")]
    Read,
    /// Socket RX.
    #[name("Socket RX")]
    #[severity("info")]
    Received,
    /// Socket RX error.
    #[name("Socket RX error")]
    Unreceived,
    /// Socket TX.
    #[name("Socket TX")]
    #[severity("info")]
    Sent,
    /// Socket TX error.
    #[name("Socket TX error")]
    Unsent,
    /// udp port punt.
    #[name("udp port punt")]
    #[severity("info")]
    Port,
}
