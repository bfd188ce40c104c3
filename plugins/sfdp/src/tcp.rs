//! TCP as it passes: handshake and end of a connection (RFC 9293 section 3.3.2), in the flags that
//! clients know.

use sessions::Direction;
use wire::tcp::Flags;
use zerocopy::FromZeros;

/// A SYN of the responder is waited for.
pub const WAIT_RESP_SYN: u32 = 1;
/// The initiator's acknowledgment of the responder's SYN is waited for.
pub const WAIT_INIT_ACK: u32 = 1 << 1;
/// The responder's acknowledgment of the initiator's SYN is waited for.
pub const WAIT_RESP_ACK: u32 = 1 << 2;
/// The initiator and the responder have sent a FIN.
const FIN: [u32; 2] = [1 << 3, 1 << 4];
/// The FIN of the initiator and of the responder is acknowledged.
const FIN_ACKED: [u32; 2] = [1 << 5, 1 << 6];
/// Both SYNs are acknowledged.
pub const ESTABLISHED: u32 = 1 << 7;
/// It was reset, or both ends have closed it.
pub const REMOVING: u32 = 1 << 8;
/// It did not begin with a SYN.
pub const BLOCKED: u32 = 1 << 9;
/// The check has blocked it.
const REFUSED: u32 = 1 << 30;
/// Something has passed.
const BEGUN: u32 = 1 << 31;

/// Pending segments of the handshake.
const WAITING: u32 = WAIT_RESP_SYN | WAIT_INIT_ACK | WAIT_RESP_ACK;

/// Relevant fields of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its control bits.
    pub flags: Flags,
    /// Its sequence number.
    pub seq: u32,
    /// The next sequence number that its sender expects.
    pub ack: u32,
    /// Bytes of data.
    pub len: u32,
}

impl Segment {
    /// Whether it begins a connection.
    #[inline(always)]
    pub fn begins(&self) -> bool {
        const COUNT: u8 = Flags::SYN.0 | Flags::ACK.0 | Flags::RST.0 | Flags::FIN.0;
        self.flags.0 & COUNT == Flags::SYN.0
    }
}

/// Connection flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub struct Connection {
    flags: u32,
    /// The sequence numbers behind the FINs.
    ends: [u32; 2],
}

impl Connection {
    /// The flags that clients know.
    pub fn flags(&self) -> u32 {
        self.flags & !(BEGUN | REFUSED)
    }
    /// Makes the check block it; returns whether this is new.
    #[inline(always)]
    pub fn refuse(&mut self) -> bool {
        let is_new = !self.is_refused();
        self.flags |= REFUSED;
        is_new
    }
    /// Whether the check has blocked it.
    #[inline(always)]
    pub fn is_refused(&self) -> bool {
        self.is(REFUSED)
    }
    /// Whether any of these flags is set.
    #[inline(always)]
    pub fn is(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }
    /// Notes a segment, which makes no difference when another service has noted it before.
    #[inline(always)]
    pub fn pass(&mut self, segment: &Segment, direction: Direction) {
        const RARE: u8 = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        let is_usual = self.flags == BEGUN | ESTABLISHED && segment.flags.0 & RARE == 0;
        if !is_usual {
            self.note(segment, direction);
        }
    }
    fn note(&mut self, segment: &Segment, direction: Direction) {
        let (flags, from) = (segment.flags, direction as usize);
        let begins = segment.begins();
        let is_first = self.flags & BEGUN == 0;
        if is_first || (begins && from == 0 && self.is(REMOVING)) {
            *self = Self { flags: BEGUN | if begins { WAITING } else { BLOCKED }, ends: [0; 2] };
            if begins {
                return;
            }
        }
        if flags.contains(Flags::RST) {
            self.flags |= REMOVING;
            return;
        }
        self.shake(flags, from);
        if flags.contains(Flags::FIN) {
            self.flags |= FIN[from];
            self.ends[from] = segment.seq.wrapping_add(segment.len).wrapping_add(1);
        }
        let other = 1 - from;
        let is_acked = segment.ack.wrapping_sub(self.ends[other]) < 1 << 31;
        if flags.contains(Flags::ACK) && self.is(FIN[other]) && is_acked {
            self.flags |= FIN_ACKED[other];
        }
        if self.is(FIN_ACKED[0]) && self.is(FIN_ACKED[1]) {
            self.flags |= REMOVING;
        }
    }
    /// Notes a step of the handshake.
    fn shake(&mut self, flags: Flags, from: usize) {
        if !self.is(WAITING) {
            return;
        }
        if from == 1 {
            let done = [(Flags::SYN, WAIT_RESP_SYN), (Flags::ACK, WAIT_RESP_ACK)];
            let done = done.into_iter().filter(|(flag, _)| flags.contains(*flag));
            self.flags &= !done.fold(0, |all, (_, bit)| all | bit);
        } else if flags.contains(Flags::ACK) && !self.is(WAIT_RESP_SYN) {
            self.flags &= !WAIT_INIT_ACK;
        }
        if !self.is(WAITING) {
            self.flags |= ESTABLISHED;
        }
    }
}

#[cfg(test)]
mod tests {
    use Direction::{Forward, Reverse};

    use super::*;

    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;
    const FIN_ACK: u8 = 0x11;
    const RST: u8 = 0x04;

    fn after(steps: &[(Direction, u8, u32, u32)]) -> Connection {
        let mut connection = Connection::default();
        for (direction, flags, seq, ack) in steps {
            let (flags, seq, ack) = (Flags(*flags), *seq, *ack);
            let segment = Segment { flags, seq, ack, len: 0 };
            connection.pass(&segment, *direction);
            let before = connection;
            connection.pass(&segment, *direction);
            assert_eq!(connection, before, "another service notes it, too");
        }
        connection
    }

    const OPEN: [(Direction, u8, u32, u32); 3] =
        [(Forward, SYN, 100, 0), (Reverse, SYN | ACK, 900, 101), (Forward, ACK, 101, 901)];

    #[test]
    fn a_handshake_establishes_step_by_step() {
        assert_eq!(after(&OPEN[..1]).flags(), WAITING);
        assert_eq!(after(&OPEN[..2]).flags(), WAIT_INIT_ACK);
        assert_eq!(after(&OPEN).flags(), ESTABLISHED);
        assert_eq!(after(&[OPEN[0], OPEN[0], OPEN[1], OPEN[2]]).flags(), ESTABLISHED);
        // Both send a SYN at once.
        let both =
            [OPEN[0], (Reverse, SYN, 900, 0), (Forward, ACK, 101, 901), (Reverse, ACK, 901, 101)];
        assert_eq!(after(&both).flags(), ESTABLISHED);
    }

    #[test]
    fn it_is_over_once_both_fins_are_acknowledged_and_not_before() {
        let mut steps = OPEN.to_vec();
        for (step, is_over) in [
            ((Forward, FIN_ACK, 101, 901), false),
            ((Reverse, ACK, 901, 101), false),
            ((Reverse, ACK, 901, 102), false),
            ((Reverse, FIN_ACK, 901, 102), false),
            ((Forward, ACK, 102, 901), false),
            ((Forward, ACK, 102, 902), true),
        ] {
            steps.push(step);
            assert_eq!(after(&steps).is(REMOVING), is_over, "{step:?}");
        }
        steps.push((Reverse, SYN, 5, 0));
        assert!(after(&steps).is(REMOVING), "only who began it begins it anew");
        steps.push((Forward, SYN, 7, 0));
        assert_eq!(after(&steps).flags(), WAITING);
    }

    #[test]
    fn a_reset_ends_it_and_what_begins_without_a_syn_is_blocked() {
        let reset = [OPEN.as_slice(), &[(Reverse, RST, 901, 0)]].concat();
        assert!(after(&reset).is(REMOVING));
        assert!(after(&OPEN[2..]).is(BLOCKED));
        assert!(after(&[(Forward, RST, 1, 0)]).is(BLOCKED | REMOVING));
        assert!(after(&[OPEN[1]]).is(BLOCKED), "an answer begins nothing");
    }

    #[test]
    fn sequence_numbers_begin_anew_behind_the_highest() {
        let last = u32::MAX;
        let steps = [
            (Forward, SYN, last - 1, 0),
            (Reverse, SYN | ACK, last, last),
            (Forward, ACK, last, 0),
            (Forward, FIN_ACK, last, 0),
            (Reverse, FIN_ACK, 0, 0),
            (Forward, ACK, 0, 1),
        ];
        assert!(after(&steps).is(REMOVING));
    }
}
