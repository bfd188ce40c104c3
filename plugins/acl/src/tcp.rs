//! TCP for sessions: which of the two timeouts a connection has, and which packets restart it.
//!
//! A connection is established once each end has sent a SYN and an ACK, until both have sent a FIN
//! or one a RST. In other states only packets of its initiator, or those that advance it, restart
//! the timeout: the remote end alone keeps no session open. A closed one ends whatever is sent,
//! unless its initiator sends another SYN.

use sessions::Direction;
use wire::tcp::Flags;
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// Flags that each end has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, KnownLayout, Immutable)]
#[repr(transparent)]
pub struct Connection([u8; 2]);

/// Flags that count.
const COUNT: u8 = Flags::SYN.0 | Flags::ACK.0 | Flags::FIN.0 | Flags::RST.0;
/// Flags that open an end.
const OPEN: u8 = Flags::SYN.0 | Flags::ACK.0;

impl Connection {
    /// Processes a packet with these flags; returns whether its timeout restarts.
    #[inline(always)]
    pub fn pass(&mut self, flags: Flags, from: Direction) -> bool {
        let before = *self;
        let is_forward = from == Direction::Forward;
        if self.is_closed() && is_forward && flags.0 & COUNT == Flags::SYN.0 {
            self.0 = [0; 2];
        }
        self.0[from as usize] |= flags.0 & COUNT;
        self.is_established() || *self != before || (is_forward && !self.is_closed())
    }
    /// Whether the timeout of established connections is its.
    #[inline(always)]
    pub fn is_established(self) -> bool {
        self.0[0] & self.0[1] & OPEN == OPEN && !self.is_closed()
    }
    /// Whether both ends have closed it, or one by force.
    #[inline(always)]
    fn is_closed(self) -> bool {
        self.0[0] & self.0[1] & Flags::FIN.0 != 0 || (self.0[0] | self.0[1]) & Flags::RST.0 != 0
    }
    /// A word for operators.
    pub fn name(self) -> &'static str {
        match (self.is_closed(), self.is_established()) {
            (true, _) => "closing",
            (_, true) => "established",
            _ => "transitory",
        }
    }
}

#[cfg(test)]
mod tests {
    use Direction::{Forward, Reverse};

    use super::*;

    const SYN: Flags = Flags::SYN;
    const ACK: Flags = Flags::ACK;
    const SYN_ACK: Flags = Flags(0x12);
    const FIN_ACK: Flags = Flags(0x11);

    /// Processes packets; whether each restarts the timeout.
    fn pass(connection: &mut Connection, steps: &[(Flags, Direction)]) -> Vec<bool> {
        steps.iter().map(|(flags, from)| connection.pass(*flags, *from)).collect()
    }

    const OPENING: [(Flags, Direction); 3] = [(SYN, Forward), (SYN_ACK, Reverse), (ACK, Forward)];

    #[test]
    fn the_last_acknowledgment_of_the_handshake_establishes() {
        let mut connection = Connection::default();
        assert_eq!(pass(&mut connection, &OPENING[..2]), [true, true]);
        assert!(!connection.is_established());
        assert_eq!(pass(&mut connection, &[OPENING[1], (ACK, Reverse)]), [false, false]);
        assert_eq!(pass(&mut connection, &[(SYN, Forward)]), [true], "it tries again");
        pass(&mut connection, &OPENING[2..]);
        assert!(connection.is_established());
        assert_eq!(pass(&mut connection, &[(ACK, Reverse), (ACK, Forward)]), [true, true]);
    }

    #[test]
    fn what_is_closed_ends_unless_its_initiator_opens_it_again() {
        for ends in [&[(FIN_ACK, Forward), (FIN_ACK, Reverse)][..], &[(Flags::RST, Reverse)]] {
            let mut connection = Connection::default();
            pass(&mut connection, &OPENING);
            assert!(pass(&mut connection, ends).into_iter().all(|anew| anew));
            assert!(!connection.is_established());
            let more = [(ACK, Forward), (ACK, Reverse), (FIN_ACK, Reverse)];
            pass(&mut connection, &more);
            assert_eq!(pass(&mut connection, &more), [false; 3]);
            pass(&mut connection, &[(SYN, Reverse)]);
            assert_eq!(connection.name(), "closing");
            pass(&mut connection, &OPENING);
            assert!(connection.is_established());
        }
    }

    #[test]
    fn one_end_that_is_closed_leaves_the_other_open() {
        let mut connection = Connection::default();
        pass(&mut connection, &OPENING);
        pass(&mut connection, &[(FIN_ACK, Forward)]);
        assert_eq!(pass(&mut connection, &[(ACK, Reverse)]), [true]);
        assert!(connection.is_established());
    }
}
