//! Record of a connection in TIME_WAIT, in 64 bytes (RFC 9293 section 3.3.2, RFC 6191, RFC 1337).

use wire::tcp::{Flags, Options, Timestamp};

use crate::{Machine, Outgoing, Segment, Seq, Time};

/// Distance of a new connection's sequence numbers from the old ones: more than an unscaled window.
const REOPENED: u32 = 0x1_0001;
/// Limit of acknowledgments per second.
const ANSWERS: u8 = 10;

/// A connection in TIME_WAIT.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct TimeWait {
    pub(crate) until: Time,
    pub(crate) snd_nxt: Seq,
    pub(crate) rcv_nxt: Seq,
    pub(crate) window: u32,
    pub(crate) ts_recent: Option<u32>,
    pub(crate) ts_offset: u32,
    pub(crate) shift: u8,
    pub(crate) challenges: (u32, u8),
}

/// Answer to a late segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// Nothing.
    Ignore,
    /// An acknowledgment.
    Answer(Outgoing),
    /// The SYN of a new connection: free the record, and pass the SYN to a listener with this
    /// minimum initial sequence number. Without a listener, answer the SYN with
    /// [`crate::reset_for`] and keep the record.
    Reopen(Seq),
}

impl TimeWait {
    /// Handles a late segment. [`TimeWait::deadline`] may move. Resets are ignored (RFC 1337).
    pub fn segment(&mut self, machine: &mut Machine, now: Time, segment: &Segment) -> Late {
        machine.counters.in_segs += 1;
        if segment.has(Flags::RST) {
            return Late::Ignore;
        }
        let stamp = segment.options.timestamp.map(|timestamp| timestamp.value);
        let age = |stamp: u32, recent: u32| stamp.wrapping_sub(recent).cast_signed();
        if segment.flags.0 & (Flags::SYN | Flags::ACK).0 == Flags::SYN.0 {
            // RFC 6191: the SYN is newer by its timestamp, or by its sequence number.
            let is_newer = match (stamp, self.ts_recent) {
                (Some(stamp), Some(recent)) if stamp != recent => age(stamp, recent) > 0,
                _ => segment.seq.is_after(self.rcv_nxt),
            };
            if is_newer {
                return Late::Reopen(self.snd_nxt + REOPENED);
            }
        } else if let (Some(stamp), Some(recent)) = (stamp, self.ts_recent)
            && age(stamp, recent) >= 0
            && segment.has(Flags::FIN)
        {
            self.ts_recent = Some(stamp);
        }
        if segment.has(Flags::FIN) && segment.seq + segment.seq_len() == self.rcv_nxt {
            // Its acknowledgment was lost.
            self.until = now + machine.config.timewait_time;
        } else if segment.seq_len() == 0 && segment.seq == self.rcv_nxt {
            return Late::Ignore;
        }
        if !self.may_answer(now) {
            return Late::Ignore;
        }
        machine.counters.out_segs += 1;
        Late::Answer(self.acknowledgment(now))
    }

    fn may_answer(&mut self, now: Time) -> bool {
        let second = (now.us() / 1_000_000) as u32;
        if self.challenges.0 != second {
            self.challenges = (second, 0);
        }
        self.challenges.1 = self.challenges.1.saturating_add(1);
        self.challenges.1 <= ANSWERS
    }

    fn acknowledgment(&self, now: Time) -> Outgoing {
        let value = now.ms().wrapping_add(self.ts_offset);
        let timestamp = self.ts_recent.map(|echo| Timestamp { value, echo });
        let segment = Segment {
            seq: self.snd_nxt,
            ack: self.rcv_nxt,
            flags: Flags::ACK,
            window: (self.window >> self.shift).min(0xffff) as u16,
            options: Options { timestamp, ..Options::default() },
            ..Segment::default()
        };
        Outgoing { segment, ..Outgoing::default() }
    }

    /// Time at which the record is freed.
    pub fn deadline(&self) -> Time {
        self.until
    }
}
