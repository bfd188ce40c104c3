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
/// The FIN of the initiator and of the responder is acknowledged by the other.
const FIN_ACKED: [u32; 2] = [1 << 6, 1 << 5];
/// Both SYNs are acknowledged.
pub const ESTABLISHED: u32 = 1 << 7;
/// It was reset, or both ends have closed it.
pub const REMOVING: u32 = 1 << 8;
/// It did not begin with a SYN.
pub const BLOCKED: u32 = 1 << 9;
/// Something has passed.
const BEGUN: u32 = 1 << 31;

/// Pending segments of a handshake that has begun.
const OPENING: u32 = WAIT_RESP_SYN | WAIT_RESP_ACK;
/// All that may be pending.
pub const WAITING: u32 = OPENING | WAIT_INIT_ACK;

/// Treatment of a session whose first packet is not a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, control::cli::Words)]
pub enum NonSyn {
    /// block it for the timeout `security`
    Security,
    /// it ends with the packet
    #[default]
    Remove,
}

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
        self.flags & !BEGUN
    }
    /// Whether any of these flags is set.
    #[inline(always)]
    pub fn is(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }
    /// Notes a segment, which makes no difference when another service has noted it before.
    #[inline(always)]
    pub fn pass(&mut self, segment: &Segment, direction: Direction, non_syn: NonSyn) {
        const RARE: u8 = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        let is_usual = self.flags == BEGUN | ESTABLISHED && segment.flags.0 & RARE == 0;
        if !is_usual {
            self.note(segment, direction, non_syn);
        }
    }
    fn note(&mut self, segment: &Segment, direction: Direction, non_syn: NonSyn) {
        let (flags, from) = (segment.flags, direction as usize);
        let begins = segment.begins();
        let is_first = self.flags & BEGUN == 0;
        if is_first || (begins && from == 0 && self.is(REMOVING)) {
            let first = match non_syn {
                _ if begins => OPENING,
                NonSyn::Security => BLOCKED,
                NonSyn::Remove => REMOVING,
            };
            *self = Self { flags: BEGUN | first, ends: [0; 2] };
        }
        if self.is(BLOCKED | REMOVING) {
            return;
        }
        if flags.contains(Flags::RST) {
            self.flags = BEGUN | REMOVING;
            return;
        }
        self.shake(flags, from);
        if flags.contains(Flags::FIN) {
            self.flags = self.flags & !ESTABLISHED | FIN[from];
            self.ends[from] = segment.seq.wrapping_add(segment.len).wrapping_add(1);
        }
        let other = 1 - from;
        let is_acked = segment.ack.wrapping_sub(self.ends[other]) < 1 << 31;
        if flags.contains(Flags::ACK) && self.is(FIN[other]) && is_acked {
            self.flags |= FIN_ACKED[other];
        }
        if self.is(FIN_ACKED[0]) && self.is(FIN_ACKED[1]) {
            self.flags = BEGUN | REMOVING;
        }
    }
    /// Notes a step of the handshake.
    fn shake(&mut self, flags: Flags, from: usize) {
        if !self.is(WAITING) {
            return;
        }
        if from == 1 {
            if flags.contains(Flags::SYN) && self.is(WAIT_RESP_SYN) {
                self.flags = self.flags & !WAIT_RESP_SYN | WAIT_INIT_ACK;
            }
            if flags.contains(Flags::ACK) {
                self.flags &= !WAIT_RESP_ACK;
            }
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
        after_as(NonSyn::Remove, steps)
    }

    fn after_as(non_syn: NonSyn, steps: &[(Direction, u8, u32, u32)]) -> Connection {
        let mut connection = Connection::default();
        for (direction, flags, seq, ack) in steps {
            let (flags, seq, ack) = (Flags(*flags), *seq, *ack);
            let segment = Segment { flags, seq, ack, len: 0 };
            connection.pass(&segment, *direction, non_syn);
            let before = connection;
            connection.pass(&segment, *direction, non_syn);
            assert_eq!(connection, before, "another service notes it, too");
        }
        connection
    }

    const OPEN: [(Direction, u8, u32, u32); 3] =
        [(Forward, SYN, 100, 0), (Reverse, SYN | ACK, 900, 101), (Forward, ACK, 101, 901)];

    #[test]
    fn a_handshake_establishes_step_by_step() {
        assert_eq!(after(&OPEN[..1]).flags(), OPENING);
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
        assert_eq!(after(&steps).flags(), OPENING);
    }

    #[test]
    fn flags_say_whose_fin_came_and_who_has_acknowledged_one() {
        for (from, to, fin, ack) in [(Forward, Reverse, 8, 64), (Reverse, Forward, 16, 32)] {
            let (seq, next) = if from == Forward { (101, 901) } else { (901, 101) };
            let mut steps = [OPEN.as_slice(), &[(from, FIN_ACK, seq, next)]].concat();
            assert_eq!(after(&steps).flags(), fin);
            steps.push((to, ACK, next, seq + 1));
            assert_eq!(after(&steps).flags(), fin | ack);
            steps.push((to, FIN_ACK, next, seq + 1));
            assert_eq!(after(&steps).flags(), 8 | 16 | ack);
            steps.push((from, ACK, seq + 1, next + 1));
            assert_eq!(after(&steps).flags(), REMOVING);
        }
    }

    #[test]
    fn a_reset_ends_it_and_so_does_a_beginning_without_a_syn_unless_it_is_blocked() {
        for from in [Forward, Reverse] {
            let reset = [OPEN.as_slice(), &[(from, RST, 901, 0)]].concat();
            assert_eq!(after(&reset).flags(), REMOVING);
        }
        for first in [OPEN[1], OPEN[2], (Forward, RST, 1, 0), (Forward, FIN_ACK, 1, 1)] {
            assert_eq!(after(&[first]).flags(), REMOVING);
            assert_eq!(after(&[first, (Forward, SYN, 7, 0)]).flags(), OPENING);
            let later = [first, (Forward, SYN, 7, 0), (Reverse, RST, 7, 0)];
            assert_eq!(after_as(NonSyn::Security, &later).flags(), BLOCKED);
        }
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
