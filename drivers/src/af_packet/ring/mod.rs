//! The unsafe parts of AF_PACKET: the mapped receive ring, sending many packets in one call, and
//! the socket options of packet(7) that no safe library knows.
//!
//! Safety contract:
//! * A [`Ring`] owns its mapping. The kernel writes to a slot only while the slot's status word is
//!   0 (`TP_STATUS_KERNEL`); [`Slot`] exists only for a slot with another status, gives it back
//!   when dropped, and borrows the ring mutably, so there is one at a time. Status words are read
//!   and written atomically. Offsets and lengths found in a slot are checked against the slot.
//! * An [`Outbox`] holds pointers to packet bytes and headers only while [`Outbox::send`] runs,
//!   which is inside one `Frame::consume`: that gives no packet back before the last one has been
//!   seen.
//! * Option values passed to the kernel are plain data of the size the option expects.

mod map;
mod options;
mod send;

pub use map::Ring;
pub use options::{Device, Fanout, Options, open, set_qdisc_bypass, take_lost};
pub use send::Outbox;
