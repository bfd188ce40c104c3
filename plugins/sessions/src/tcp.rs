//! TCP as it passes (RFC 7857 section 2, RFC 5382 section 5): which of the two timeouts of TCP a
//! session has.
//!
//! A session is transitory until both ends have sent a SYN, and established then. It is transitory
//! again after a RST, or when both ends have sent a FIN; only a SYN from each end establishes it
//! again, so that neither end alone keeps a closed one alive. The acknowledgment after these starts
//! another connection ([`State::begins_again`]). A RST does not end a session at once: it may be
//! forged, and data that both ends still send after it show so and establish it again (RFC 7857
//! section 2.2).

use wire::tcp::Flags;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::flow::Direction;

/// Connection flags.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable,
)]
#[repr(transparent)]
pub struct State(u8);

const SYN: [u8; 2] = [1, 1 << 1];
/// A FIN of either end; after a RST, whatever either has sent since.
const FIN: [u8; 2] = [1 << 2, 1 << 3];
const RST: u8 = 1 << 4;
/// A SYN of either end since it was closed.
const AGAIN: [u8; 2] = [1 << 5, 1 << 6];
/// Both ends have sent a SYN since it was closed, and no acknowledgment yet.
const OPENED: u8 = 1 << 7;

impl State {
    /// Of a connection of which nothing has passed.
    pub const NEW: Self = Self(0);
    /// Of a connection that was there before the session: both ends may send.
    pub const ESTABLISHED: Self = Self(SYN[0] | SYN[1]);

    /// After a packet with these flags that went in a direction.
    #[inline(always)]
    #[must_use]
    pub fn after(self, flags: Flags, direction: Direction) -> Self {
        let is_plain = flags.0 & (Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0) == 0;
        if is_plain && self.0 & (OPENED | RST) == 0 {
            return self;
        }
        self.changed(flags, direction)
    }
    fn changed(self, flags: Flags, direction: Direction) -> Self {
        let (mut now, from) = (self.0, direction as usize);
        if self.begins_again(flags) {
            now &= !OPENED;
        }
        if flags.contains(Flags::SYN) {
            if self.is_closed() {
                now |= AGAIN[from];
                if now & AGAIN[0] != 0 && now & AGAIN[1] != 0 {
                    now = Self::ESTABLISHED.0 | OPENED;
                }
            } else {
                now |= SYN[from];
            }
        }
        if flags.contains(Flags::RST) {
            return Self(now & !(FIN[0] | FIN[1]) | RST);
        }
        let is_reset = now & RST != 0;
        if flags.contains(Flags::FIN) && !is_reset
            || is_reset && flags.0 & (Flags::SYN.0 | Flags::FIN.0) == 0
        {
            now |= FIN[from];
        }
        if is_reset && now & FIN[0] != 0 && now & FIN[1] != 0 {
            now &= !(RST | FIN[0] | FIN[1]);
        }
        Self(now)
    }
    /// Whether the timeout of established connections is its.
    #[inline(always)]
    pub fn is_established(self) -> bool {
        self.0 & SYN[0] != 0 && self.0 & SYN[1] != 0 && !self.is_closed()
    }
    /// Whether both ends have reopened it, without an acknowledgment yet.
    #[inline(always)]
    pub fn is_opened_again(self) -> bool {
        self.0 & OPENED != 0
    }
    /// Whether a packet with these flags is the acknowledgment with which another connection of the
    /// same ends begins.
    #[inline(always)]
    pub fn begins_again(self, flags: Flags) -> bool {
        let ends = flags.0 & (Flags::SYN.0 | Flags::RST.0) != 0;
        self.is_opened_again() && flags.contains(Flags::ACK) && !ends
    }
    /// Whether it was closed, by both ends or by force.
    #[inline(always)]
    pub fn is_closed(self) -> bool {
        self.0 & RST != 0 || (self.0 & FIN[0] != 0 && self.0 & FIN[1] != 0)
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

    fn after(steps: &[(Flags, Direction)]) -> State {
        steps.iter().fold(State::NEW, |state, (flags, from)| state.after(*flags, *from))
    }

    const OPEN: [(Flags, Direction); 3] =
        [(Flags::SYN, Forward), (Flags(0x12), Reverse), (Flags::ACK, Forward)];

    #[test]
    fn a_connection_is_established_by_a_syn_from_each_end() {
        assert!(!after(&OPEN[..1]).is_established());
        assert!(!after(&[OPEN[0], OPEN[0]]).is_established());
        assert!(after(&OPEN).is_established());
        assert!(after(&[OPEN[0], OPEN[1], OPEN[1]]).is_established());
    }

    #[test]
    fn it_is_transitory_once_both_ends_have_closed_and_not_before() {
        let mut steps = OPEN.to_vec();
        steps.push((Flags(0x11), Reverse));
        assert!(after(&steps).is_established());
        steps.push((Flags(0x11), Forward));
        assert!(!after(&steps).is_established());
        steps.push((Flags::ACK, Forward));
        assert_eq!(after(&steps).name(), "closing");
    }

    #[test]
    fn only_both_ends_open_a_closed_connection_again() {
        let closed = [OPEN.as_slice(), &[(Flags::FIN, Forward), (Flags::FIN, Reverse)]].concat();
        let half = [closed.as_slice(), &[(Flags::SYN, Forward), (Flags::SYN, Forward)]].concat();
        assert!(!after(&half).is_established());
        let whole = [half.as_slice(), &[(Flags(0x12), Reverse)]].concat();
        assert!(after(&whole).is_established());
    }

    #[test]
    fn another_connection_begins_with_the_acknowledgment_of_both_openings() {
        let ends = [(Flags::FIN, Forward), (Flags::FIN, Reverse)];
        let again = [OPEN.as_slice(), &ends, &OPEN[..2]].concat();
        let (first, opened) = (after(&OPEN[..2]), after(&again));
        assert!(!first.begins_again(Flags::ACK) && !after(&again[..6]).begins_again(Flags::ACK));
        let others = [Flags::SYN, Flags::RST, Flags::FIN, Flags(0x12), Flags(0x14)];
        assert!(opened.begins_again(Flags::ACK) && opened.begins_again(Flags(0x18)));
        assert!(others.iter().all(|flags| !opened.begins_again(*flags)));
        let whole = opened.after(Flags::ACK, Forward);
        assert!(whole.is_established() && !whole.begins_again(Flags::ACK));
        assert!(!opened.after(Flags::RST, Reverse).is_established());
    }

    #[test]
    fn a_reset_makes_it_transitory_until_both_ends_go_on() {
        let data = Flags(0x18);
        let then = |more: &[(Flags, Direction)]| {
            after(&[OPEN.as_slice(), &[(Flags::RST, Reverse)], more].concat())
        };
        assert!(!then(&[(data, Forward), (data, Forward)]).is_established());
        assert!(!then(&[(data, Reverse), (Flags::FIN, Forward)]).is_established());
        assert!(then(&[(data, Forward), (data, Reverse)]).is_established());
        // Each RST requires that again, and what is closed by both ends stays so.
        assert!(!then(&[(data, Forward), (Flags::RST, Forward), (data, Reverse)]).is_established());
        let closed = [(Flags::FIN, Forward), (Flags::FIN, Reverse)];
        let again = then(&[(data, Forward), (data, Reverse), closed[0], closed[1]]);
        assert_eq!(again.name(), "closing");
        assert!(!again.after(data, Forward).after(data, Reverse).is_established());
        // A connection that was never open is not opened so.
        let never = [OPEN[0], (Flags::RST, Reverse), (data, Forward), (data, Reverse)];
        assert!(!after(&never).is_established());
    }
}
