//! Places of the nodes, and the reasons for which each drops packets.

use crate::core::Traffic;
use crate::slow::Fault;

/// A place of the nodes.
pub trait Place: Copy + Send + 'static {
    /// Which.
    const TRAFFIC: Traffic;
    /// The node of the fast path.
    const FAST: &'static str;
    /// The node of the slow path.
    const SLOW: &'static str;
    /// The slow path where a mapping leads inside.
    const SLOW_INWARD: &'static str;
    /// Drops.
    type Error: graph::Reason + From<Fault>;
}

/// Received from inside.
#[derive(Clone, Copy)]
pub struct In2Out;
/// Received from outside.
#[derive(Clone, Copy)]
pub struct Out2In;
/// Sent outside.
#[derive(Clone, Copy)]
pub struct Output;
/// Received where both may be.
#[derive(Clone, Copy)]
pub struct Either;

impl Place for In2Out {
    const TRAFFIC: Traffic = Traffic::In2Out;
    const FAST: &'static str = "nat44-ed-in2out";
    const SLOW: &'static str = "nat44-ed-in2out-slowpath";
    const SLOW_INWARD: &'static str = "nat44-ed-in2out-slowpath";
    type Error = Outward;
}
impl Place for Out2In {
    const TRAFFIC: Traffic = Traffic::Out2In;
    const FAST: &'static str = "nat44-ed-out2in";
    const SLOW: &'static str = "nat44-ed-out2in-slowpath";
    const SLOW_INWARD: &'static str = "nat44-ed-out2in-slowpath";
    type Error = Inward;
}
impl Place for Output {
    const TRAFFIC: Traffic = Traffic::Output;
    const FAST: &'static str = "nat44-ed-in2out-output";
    const SLOW: &'static str = "nat44-ed-in2out-output-slowpath";
    const SLOW_INWARD: &'static str = "nat44-ed-in2out-output-slowpath";
    type Error = Outward;
}
impl Place for Either {
    const TRAFFIC: Traffic = Traffic::Either;
    const FAST: &'static str = "nat44-ed-classify";
    const SLOW: &'static str = "nat44-ed-in2out-slowpath";
    const SLOW_INWARD: &'static str = "nat44-ed-out2in-slowpath";
    type Error = Classified;
}

/// Drops of packets from inside.
#[derive(Clone, Copy, graph::Reason)]
pub enum Outward {
    #[expect(dead_code, reason = "clients know the counter; such packets are translated")]
    /// unsupported protocol.
    #[name("unsupported protocol")]
    Protocol,
    /// out of ports.
    #[name("out of ports")]
    OutOfPorts,
    /// unsupported ICMP type.
    #[name("unsupported ICMP type")]
    IcmpType,
    /// maximum sessions exceeded.
    #[name("maximum sessions exceeded")]
    MaxSessions,
    /// non-SYN packet try to create session.
    #[name("non-SYN packet try to create session")]
    NonSyn,
    /// couldn't translate packet.
    #[name("couldn't translate packet")]
    CannotTranslate,
}

impl From<Fault> for Outward {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::OutOfPorts => Self::OutOfPorts,
            Fault::IcmpType => Self::IcmpType,
            Fault::MaxSessions => Self::MaxSessions,
            Fault::NonSyn => Self::NonSyn,
            Fault::CannotTranslate | Fault::NoTranslation | Fault::HashAddFailed => {
                Self::CannotTranslate
            }
        }
    }
}

/// Drops of packets from outside.
#[derive(Clone, Copy, graph::Reason)]
pub enum Inward {
    #[expect(dead_code, reason = "clients know the counter; such packets are translated")]
    /// unsupported protocol.
    #[name("unsupported protocol")]
    Protocol,
    /// out of ports.
    #[name("out of ports")]
    OutOfPorts,
    /// unsupported ICMP type.
    #[name("unsupported ICMP type")]
    IcmpType,
    /// no translation.
    #[name("no translation")]
    NoTranslation,
    /// maximum sessions exceeded.
    #[name("maximum sessions exceeded")]
    MaxSessions,
    /// non-SYN packet try to create session.
    #[name("non-SYN packet try to create session")]
    NonSyn,
    #[expect(dead_code, reason = "clients know the counter; such packets count as non-SYN")]
    /// drops due to TCP in transitory timeout.
    #[name("drops due to TCP in transitory timeout")]
    Transitory,
    /// hash table add failed.
    #[name("hash table add failed")]
    HashAddFailed,
    /// couldn't translate packet.
    #[name("couldn't translate packet")]
    CannotTranslate,
}

impl From<Fault> for Inward {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::OutOfPorts => Self::OutOfPorts,
            Fault::IcmpType => Self::IcmpType,
            Fault::MaxSessions => Self::MaxSessions,
            Fault::NonSyn => Self::NonSyn,
            Fault::NoTranslation => Self::NoTranslation,
            Fault::HashAddFailed => Self::HashAddFailed,
            Fault::CannotTranslate => Self::CannotTranslate,
        }
    }
}

/// Drops where packets of both kinds come: the slow paths have them.
#[derive(Clone, Copy, graph::Reason)]
pub enum Classified {
    /// couldn't translate packet.
    #[name("couldn't translate packet")]
    CannotTranslate,
}

impl From<Fault> for Classified {
    fn from(_: Fault) -> Self {
        Self::CannotTranslate
    }
}
