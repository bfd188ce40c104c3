//! Sessions: one end of a connection, with the bytes that wait in it.

use std::fmt;

use infra::timer::Handle;
use serde::Serialize;
use tcp_machine::{Connection, HalfOpen, Time, TimeWait};

use super::fifo::Fifo;
use super::key::Key;

/// No session, application part or listener.
pub const NONE: u32 = u32::MAX;

/// Names a session as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SessionId {
    /// Thread.
    pub thread: u16,
    /// Its place there.
    pub index: u32,
    /// Uses of the place before.
    pub generation: u32,
}

/// Reasons for which a session is not to be, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The peer refuses, or nothing listens.
    Refused,
    /// The peer does not answer.
    TimedOut,
    /// The peer has reset it.
    Reset,
    /// The peer cannot be reached.
    Unreachable,
    /// There is no memory, or there are as many sessions as there may be.
    Full,
    /// All ports are in use.
    NoPort,
    /// A rule forbids it.
    Filtered,
    /// The layer was disabled, an address or a table deleted, or the application detached.
    Withdrawn,
}

impl Failure {
    /// Its number in messages of the module `session`.
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

/// State of a session between transport and application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Life {
    /// It exists.
    Created,
    /// Datagrams of all peers come to it.
    Listening,
    /// The peer has not answered.
    Connecting,
    /// The application has not seen it.
    Accepting,
    /// Bytes flow.
    Ready,
    /// The peer has closed its direction.
    TransportClosing,
    /// The application has closed it; the transport has not ended.
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

/// Work that waits for the next visit of a session, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending(pub u16);

impl Pending {
    /// The application is to see a session that came.
    pub const ACCEPT: Self = Self(1);
    /// The application is to see that a session that it asked for is there.
    pub const CONNECTED: Self = Self(1 << 1);
    /// Bytes have come.
    pub const READABLE: Self = Self(1 << 2);
    /// There is room again.
    pub const WRITABLE: Self = Self(1 << 3);
    /// The peer has closed its direction.
    pub const FINISHED: Self = Self(1 << 4);
    /// The application asked to be called at this time.
    pub const ALARM: Self = Self(1 << 5);
    /// The transport may have something to send.
    pub const SEND: Self = Self(1 << 6);
    /// The application has read.
    pub const CONSUMED: Self = Self(1 << 7);
    /// The application has closed its direction.
    pub const SHUT: Self = Self(1 << 8);
    /// The application has closed both directions.
    pub const CLOSE: Self = Self(1 << 9);
    /// The application wants it to end now.
    pub const RESET: Self = Self(1 << 10);
    /// The transport has ended.
    pub const ENDED: Self = Self(1 << 11);
    /// A deadline of the transport may have passed.
    pub const TIMER: Self = Self(1 << 12);
    /// The session becomes one in TIME_WAIT when what is due was sent.
    pub const TIME_WAIT: Self = Self(1 << 13);

    /// Whether any of these waits.
    #[inline(always)]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Adds these.
    #[inline(always)]
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
    /// Takes these out; whether any waited.
    #[inline(always)]
    pub fn take(&mut self, other: Self) -> bool {
        let was = self.has(other);
        self.0 &= !other.0;
        was
    }
}

/// The transport of a session.
#[derive(Debug, Default)]
#[expect(clippy::large_enum_variant, reason = "records are of one size, as are their places")]
pub enum Inner {
    /// The place is not used.
    #[default]
    Free,
    /// TCP: a SYN was received.
    Half(HalfOpen),
    /// TCP.
    Tcp(Connection),
    /// TCP: late segments are waited for.
    Wait(TimeWait),
    /// UDP.
    Udp,
    /// Cut-through: the other end, on the same thread.
    Cut(u32),
}

/// One session.
#[derive(Debug)]
pub struct Session {
    /// Common fields of its packets.
    pub key: Key,
    /// Its transport.
    pub inner: Inner,
    /// Bytes received.
    pub rx: Fifo,
    /// Bytes to send.
    pub tx: Fifo,
    /// Number of the application.
    pub app: u32,
    /// The application's part, of those on the thread.
    pub part: u32,
    /// Listener that it came to.
    pub listener: u32,
    /// Namespace of the application.
    pub namespace: u32,
    /// A word of the application's own.
    pub data: u64,
    /// State.
    pub life: Life,
    /// Work that waits.
    pub pending: Pending,
    /// Whether it is in the queue of the thread.
    pub is_queued: bool,
    /// The next one there; of an unused place, the next unused one.
    pub next: u32,
    /// Uses of the place before.
    pub generation: u32,
    /// Whether the application waits for room.
    pub wants_room: bool,
    /// Whether the peer has closed its direction.
    pub is_finished: bool,
    /// Why the transport has ended.
    pub failure: Option<Failure>,
    /// When the application wants to be called.
    pub alarm: Time,
    /// When the transport wants to be called though it has no deadline of its own.
    pub retry: Time,
    /// The entry in the wheel, and when it fires.
    pub timer: Option<(Handle, Time)>,
    /// Received datagrams that had no room.
    pub refused: u64,
}

impl Session {
    /// When it is to be looked at.
    pub fn deadline(&self) -> Time {
        let own = match &self.inner {
            Inner::Half(half) => half.deadline(),
            Inner::Tcp(connection) => connection.deadline(),
            Inner::Wait(wait) => wait.deadline(),
            Inner::Free | Inner::Udp | Inner::Cut(_) => Time::NEVER,
        };
        own.min(self.alarm).min(self.retry)
    }
    /// Whether the application is still called for it.
    pub fn is_seen(&self) -> bool {
        matches!(
            self.life,
            Life::Ready | Life::TransportClosing | Life::Listening | Life::Connecting
        )
    }
}
