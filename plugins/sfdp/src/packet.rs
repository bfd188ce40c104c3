//! Metadata of a packet on its way through services.

use graph::Metadata;
use net::prelude::*;
use sessions::{Direction, SessionIndex};
use wire::tcp::Header;

use super::tcp::Segment;

/// The upper layer's offset of a packet that is an ICMP error about its session.
const ERROR: u16 = u16::MAX;
/// The upper layer's offset of a packet that does not have that header.
const NONE: u16 = 0;

/// A packet on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Passing {
    /// Services that it has still to pass, by bit.
    pub services: u64,
    /// Its session, kind of session and direction, once it is looked up.
    at: u32,
    /// The low bits of the session's id: its number may be another's by now.
    version: u32,
    /// The number of its tenant.
    pub tenant: u32,
    /// One more than the thread that it was handed to; 0 while it was not.
    handed: u16,
    /// Where the header of its upper layer is.
    upper: u16,
}

/// The place of a packet's metadata.
pub const PLACE: Metadata<Passing> = Metadata::new("sfdp", 16, Flags::feature(3));
/// The bit that says that it has some.
const FLAG: Flags = Flags::feature(3);

/// The session that a packet belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Number.
    pub number: u32,
    /// The kind of its table.
    pub kind: u8,
    /// The packet's direction.
    pub direction: Direction,
    /// The low bits of its id.
    pub version: u32,
}

impl Passing {
    /// A packet of a tenant that is not looked up yet.
    pub fn of(tenant: u32) -> Self {
        Self { tenant, ..Self::default() }
    }
    /// With its session, and where its upper layer is; `None` for an ICMP error about it.
    #[inline(always)]
    #[must_use]
    pub fn with(
        self,
        (at, direction): (SessionIndex, Direction),
        (kind, id): (u8, u64),
        upper: Option<usize>,
    ) -> Self {
        let upper = upper.map_or(ERROR, |at| at.min(usize::from(ERROR - 1)) as u16);
        let at = at.number() << 3 | u32::from(kind) << 1 | direction as u32;
        Self { at, version: id as u32, upper, ..self }
    }
    /// Session.
    #[inline(always)]
    pub fn found(&self) -> Found {
        let direction = if self.at & 1 == 0 { Direction::Forward } else { Direction::Reverse };
        let kind = (self.at >> 1 & 3) as u8;
        Found { number: self.at >> 3, kind, direction, version: self.version }
    }
    /// The thread that it was handed to, if it was.
    #[inline(always)]
    pub fn handed(&self) -> Option<usize> {
        usize::from(self.handed).checked_sub(1)
    }
    /// Handed to a thread, to be looked up there as of a kind.
    #[inline(always)]
    #[must_use]
    pub fn to_thread(self, thread: usize, kind: u8) -> Self {
        Self { handed: thread as u16 + 1, at: u32::from(kind) << 1, ..self }
    }
    /// Whether it is an ICMP error about its session.
    #[inline(always)]
    pub fn is_error(&self) -> bool {
        self.upper == ERROR
    }
    /// Its segment of TCP, if it has one.
    #[inline(always)]
    pub fn segment(&self, p: &Buffer<'_>, protocol: Protocol) -> Option<Segment> {
        if protocol != Protocol::TCP || matches!(self.upper, NONE | ERROR) {
            return None;
        }
        let upper = usize::from(self.upper);
        let (header, _) = Header::ref_from_prefix(p.bytes().get(upper..)?).ok()?;
        let end = p.total_len().checked_sub(upper + header.header_len())?;
        Some(Segment {
            flags: header.flags,
            seq: header.seq.get(),
            ack: header.ack.get(),
            len: end as u32,
        })
    }
}

/// Sends a packet on without services.
#[inline(always)]
pub fn leave(p: &mut Buffer<'_>) {
    p.clear_flags(FLAG);
}
