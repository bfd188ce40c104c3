//! Sessions: one end of a connection with its FIFOs.

use std::net::IpAddr;

use std::fmt;
use std::ops::BitOr;

use infra::timer::Handle;
use serde::Serialize;
use tcp_machine::{Connection, HalfOpen, Time, TimeWait};

use super::fifo::Fifo;
use super::key::Key;

/// No session, application part or listener.
pub const NONE: u32 = u32::MAX;

/// Identifies a session during its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SessionId {
    /// Thread.
    pub thread: u16,
    /// Index on the thread.
    pub index: u32,
    /// Generation of the entry: how often it has been used before.
    pub generation: u32,
}

/// Reasons why a session has failed or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// Refused by the peer, or no listener.
    Refused,
    /// The peer does not answer.
    TimedOut,
    /// The peer has reset it.
    Reset,
    /// The peer cannot be reached.
    Unreachable,
    /// Out of memory, or the limit of sessions is reached.
    Full,
    /// All ports are in use.
    NoPort,
    /// A rule forbids it.
    Filtered,
    /// The layer was disabled, an address or a table deleted, or the application detached.
    Withdrawn,
}

impl Failure {
    /// Its error number in messages of the module `session`.
    pub fn retval(self) -> i32 {
        match self {
            Self::Refused | Self::Reset => -2,
            Self::TimedOut => -3,
            Self::Full => -4,
            Self::Unreachable => -6,
            Self::NoPort => -9,
            Self::Withdrawn => -13,
            Self::Filtered => -26,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "connection refused",
            Self::TimedOut => "connection timed out",
            Self::Reset => "connection reset by peer",
            Self::Unreachable => "peer unreachable",
            Self::Full => "no memory for sessions",
            Self::NoPort => "no free port",
            Self::Filtered => "forbidden by a rule",
            Self::Withdrawn => "withdrawn",
        })
    }
}

impl std::error::Error for Failure {}

impl From<tcp_machine::Error> for Failure {
    fn from(why: tcp_machine::Error) -> Self {
        match why {
            tcp_machine::Error::Refused => Self::Refused,
            tcp_machine::Error::Reset => Self::Reset,
            tcp_machine::Error::TimedOut => Self::TimedOut,
            tcp_machine::Error::Aborted => Self::Withdrawn,
            tcp_machine::Error::Unreachable => Self::Unreachable,
        }
    }
}

/// State of a session as seen by the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Life {
    /// Created.
    Created,
    /// Receives datagrams of all peers.
    Listening,
    /// Waiting for the peer.
    Connecting,
    /// Not yet accepted by the application.
    Accepting,
    /// Connected.
    Ready,
    /// The peer has closed its direction.
    TransportClosing,
    /// The application has closed it; the transport is still closing.
    AppClosed,
    /// Both have ended.
    Closed,
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Created => "created",
            Self::Listening => "listening",
            Self::Connecting => "connecting",
            Self::Accepting => "accepting",
            Self::Ready => "ready",
            Self::TransportClosing => "transport-closing",
            Self::AppClosed => "app-closed",
            Self::Closed => "closed",
        })
    }
}

/// Pending work of a session, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending(pub u16);

impl Pending {
    /// Notify the application of a new session.
    pub const ACCEPT: Self = Self(1);
    /// Notify the application that its session is connected.
    pub const CONNECTED: Self = Self(1 << 1);
    /// Data has arrived.
    pub const READABLE: Self = Self(1 << 2);
    /// There is space for writing again.
    pub const WRITABLE: Self = Self(1 << 3);
    /// The peer has closed its direction.
    pub const FINISHED: Self = Self(1 << 4);
    /// The application's timer has expired.
    pub const ALARM: Self = Self(1 << 5);
    /// The transport may have something to send.
    pub const SEND: Self = Self(1 << 6);
    /// The application has read data.
    pub const CONSUMED: Self = Self(1 << 7);
    /// The application has closed its direction.
    pub const SHUT: Self = Self(1 << 8);
    /// The application has closed both directions.
    pub const CLOSE: Self = Self(1 << 9);
    /// The application has reset the session.
    pub const RESET: Self = Self(1 << 10);
    /// The transport has ended.
    pub const ENDED: Self = Self(1 << 11);
    /// A deadline of the transport may have passed.
    pub const TIMER: Self = Self(1 << 12);
    /// The session enters TIME_WAIT when pending segments have been sent.
    pub const TIME_WAIT: Self = Self(1 << 13);

    /// Whether any of these bits is set.
    #[inline(always)]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Sets these bits.
    #[inline(always)]
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
    /// Clears these bits; returns whether any was set.
    #[inline(always)]
    pub fn take(&mut self, other: Self) -> bool {
        let was = self.has(other);
        self.0 &= !other.0;
        was
    }
}

impl BitOr for Pending {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The transport of a session.
#[derive(Debug, Default)]
#[expect(clippy::large_enum_variant, reason = "records are of one size, as are their places")]
pub enum Inner {
    /// The entry is free.
    #[default]
    Free,
    /// TCP: a SYN was received.
    Half(HalfOpen),
    /// TCP.
    Tcp(Connection),
    /// TCP: in TIME_WAIT.
    Wait(TimeWait),
    /// UDP.
    Udp,
    /// Cut-through: the other end, on the same thread.
    Cut(u32),
    /// None: the transport has ended normally, and the application has not closed the session.
    Over,
}

/// One session.
#[derive(Debug)]
pub struct Session {
    /// Common fields of its packets.
    pub key: Key,
    /// Its transport.
    pub inner: Inner,
    /// Receive FIFO.
    pub rx: Fifo,
    /// Transmit FIFO.
    pub tx: Fifo,
    /// Number of the application.
    pub app: u32,
    /// Index of the application's part on the thread.
    pub part: u32,
    /// The listener that accepted it.
    pub listener: u32,
    /// Namespace of the application.
    pub namespace: u32,
    /// The application's own value.
    pub data: u64,
    /// State.
    pub life: Life,
    /// Pending work.
    pub pending: Pending,
    /// Whether it is in the queue of the thread.
    pub is_queued: bool,
    /// The next session in the queue; for a free entry, the next free entry.
    pub next: u32,
    /// Generation of the entry: how often it has been used before.
    pub generation: u32,
    /// Whether the application waits for space.
    pub wants_room: bool,
    /// Whether the peer has closed its direction.
    pub is_finished: bool,
    /// Why the transport has ended.
    pub failure: Option<Failure>,
    /// Time of the application's timer.
    pub alarm: Time,
    /// Time at which the transport is to be called in addition to its own deadlines.
    pub retry: Time,
    /// The entry in the timing wheel, and its time.
    pub timer: Option<(Handle, Time)>,
    /// Number of received datagrams that did not fit.
    pub refused: u64,
    /// Whether it counts among those that its application is connecting.
    pub is_under_way: bool,
    /// Whether datagrams have come since its place in the row of [`super::peers`] was last looked
    /// at.
    pub is_heard: bool,
    /// The own address at which the last datagram came, of a session for all of them: answers are
    /// from there.
    pub reached_at: Option<IpAddr>,
}

impl Session {
    /// The next deadline.
    pub fn deadline(&self) -> Time {
        let own = match &self.inner {
            Inner::Half(half) => half.deadline(),
            Inner::Tcp(connection) => connection.deadline(),
            Inner::Wait(wait) => wait.deadline(),
            Inner::Free | Inner::Udp | Inner::Cut(_) | Inner::Over => Time::NEVER,
        };
        own.min(self.alarm).min(self.retry)
    }
    /// Whether its packets find it.
    pub fn is_found(&self) -> bool {
        !matches!(self.inner, Inner::Free | Inner::Cut(_) | Inner::Over)
            && self.life != Life::Listening
    }
    /// Whether the application still gets calls for the session.
    pub fn is_seen(&self) -> bool {
        matches!(
            self.life,
            Life::Ready | Life::TransportClosing | Life::Listening | Life::Connecting
        )
    }
}
