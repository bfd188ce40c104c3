//! Segments in flight: the scoreboard of RFC 6675, with the transmission times of RFC 8985.
//!
//! Bytes sent at the same time form an extent. The number of extents is limited; if more are
//! needed, adjacent ones are merged. That makes times coarser and loses SACK reports of the peer,
//! which at worst causes an unnecessary retransmission.

use crate::Seq;
use crate::pool::Clear;

/// Limit of extents of a connection.
pub(crate) const MAX_EXTENTS: usize = 64;

/// Selectively acknowledged.
const SACKED: u8 = 1;
/// Lost; to be retransmitted.
const LOST: u8 = 2;
/// Sent more than once.
const RESENT: u8 = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    /// End, exclusive; it starts at the end of the previous extent.
    end: Seq,
    /// Time of the last transmission, in microseconds modulo 2^32.
    sent: u32,
    marks: u8,
}

impl Extent {
    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }
}

/// Extents from the oldest unacknowledged byte to the last one sent.
#[derive(Debug)]
pub(crate) struct Flight {
    extents: [Extent; MAX_EXTENTS],
    first: u8,
    last: u8,
}

impl Default for Flight {
    fn default() -> Self {
        Self { extents: [Extent::default(); MAX_EXTENTS], first: 0, last: 0 }
    }
}

impl Clear for Flight {
    fn clear(&mut self) {
        (self.first, self.last) = (0, 0);
    }
}

/// Number of bytes by state; stored in the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Selectively acknowledged bytes.
    pub(crate) sacked: u32,
    /// Lost bytes, to be retransmitted.
    pub(crate) lost: u32,
}

/// Data delivered by an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Now, in microseconds modulo 2^32.
    pub(crate) now: u32,
    /// Minimum round-trip time: an earlier acknowledgment of a retransmission is for the original.
    pub(crate) min_rtt: u32,
    /// Highest byte delivered so far.
    pub(crate) highest: Seq,
    /// Bytes newly delivered.
    pub(crate) bytes: u32,
    /// Of these, newly selectively acknowledged bytes.
    pub(crate) sacked: u32,
    /// Transmission time of the latest data that was sent once and not considered lost.
    pub(crate) sent: Option<u32>,
    /// Whether some data had been retransmitted; other data may have waited for it at the peer.
    pub(crate) has_resent: bool,
    /// Whether some data was sent only once.
    pub(crate) has_once: bool,
    /// The latest transmission: time, and end.
    pub(crate) newest: Option<(u32, Seq)>,
    /// Whether data that was sent once was delivered after data that was sent later.
    pub(crate) is_reordered: bool,
}

impl Delivery {
    pub(crate) fn new(now: u32, min_rtt: u32, highest: Seq) -> Self {
        Self {
            now,
            min_rtt,
            highest,
            bytes: 0,
            sacked: 0,
            sent: None,
            has_resent: false,
            has_once: false,
            newest: None,
            is_reordered: false,
        }
    }

    #[inline]
    fn add(&mut self, extent: &Extent, len: u32, end: Seq) {
        self.bytes += len;
        if extent.is(RESENT) {
            self.has_resent = true;
            if self.now.wrapping_sub(extent.sent) < self.min_rtt {
                return;
            }
        } else {
            self.has_once = true;
            self.is_reordered |= end.is_before(self.highest);
            if !extent.is(LOST) && self.sent.is_none_or(|sent| is_later(extent.sent, sent)) {
                self.sent = Some(extent.sent);
            }
        }
        self.highest = self.highest.max(end);
        if self.newest.is_none_or(|newest| !was_before(extent.sent, end, newest)) {
            self.newest = Some((extent.sent, end));
        }
    }
}

fn is_later(time: u32, than: u32) -> bool {
    time.wrapping_sub(than).cast_signed() > 0
}

/// Whether data was sent before other data: by time, then by position (RFC 8985 section 6.2).
pub(crate) fn was_before(sent: u32, end: Seq, other: (u32, Seq)) -> bool {
    is_later(other.0, sent) || (other.0 == sent && end.is_before(other.1))
}

impl Flight {
    #[inline]
    fn extents(&self) -> &[Extent] {
        &self.extents[usize::from(self.first)..usize::from(self.last)]
    }

    #[inline]
    fn extents_mut(&mut self) -> &mut [Extent] {
        &mut self.extents[usize::from(self.first)..usize::from(self.last)]
    }

    #[inline]
    fn len(&self) -> usize {
        usize::from(self.last - self.first)
    }

    /// Records transmission of new bytes up to `end`.
    #[inline]
    pub(crate) fn push(&mut self, una: Seq, end: Seq, now: u32, totals: &mut Totals) {
        if let Some(newest) = self.extents_mut().last_mut()
            && newest.marks == 0
            && newest.sent == now
        {
            newest.end = end;
            return;
        }
        self.make_room(1, una, totals);
        self.extents[usize::from(self.last)] = Extent { end, sent: now, marks: 0 };
        self.last += 1;
    }

    /// Records a cumulative acknowledgment.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        una: Seq,
        ack: Seq,
        totals: &mut Totals,
        delivery: &mut Delivery,
    ) {
        let mut start = una;
        while self.first < self.last {
            let extent = self.extents[usize::from(self.first)];
            let end = extent.end.min(ack);
            let len = end.beyond(start);
            if extent.is(SACKED) {
                totals.sacked -= len;
            } else if len > 0 {
                delivery.add(&extent, len, end);
                totals.lost -= if extent.is(LOST) { len } else { 0 };
            }
            if extent.end.is_after(ack) {
                return;
            }
            start = end;
            self.first += 1;
        }
        self.clear();
    }

    /// Records a selective acknowledgment of `from` to `to`, which is in flight.
    pub(crate) fn sack(
        &mut self,
        una: Seq,
        (from, to): (Seq, Seq),
        totals: &mut Totals,
        delivery: &mut Delivery,
    ) {
        if self.len() + 2 > MAX_EXTENTS {
            self.join(|a, b| a.marks == b.marks || (a.is(SACKED) && b.is(SACKED)), false);
        }
        let (mut start, mut at) = (una, 0);
        let before = totals.sacked;
        while at < self.len() && start.is_before(to) {
            let extent = self.extents()[at];
            if extent.is(SACKED) || !from.is_before(extent.end) {
                (start, at) = (extent.end, at + 1);
                continue;
            }
            let is_cut = start.is_before(from);
            if is_cut && self.split(at, from) {
                (start, at) = (from, at + 1);
                continue;
            }
            let is_long = to.is_before(extent.end);
            if !is_cut && (!is_long || self.split(at, to)) {
                let extent = self.extents()[at];
                let len = extent.end - start;
                delivery.add(&extent, len, extent.end);
                delivery.sacked += len;
                totals.sacked += len;
                totals.lost -= if extent.is(LOST) { len } else { 0 };
                self.extents_mut()[at].marks = extent.marks & !LOST | SACKED;
            }
            (start, at) = (self.extents()[at].end, at + 1);
        }
        if totals.sacked != before {
            self.join(|a, b| a.is(SACKED) && b.is(SACKED), false);
        }
    }

    /// Marks data as lost that was sent before `newest`, which is delivered, and at least `window`
    /// microseconds ago (RFC 8985 section 6.2 step 5). Returns the number of bytes, and the time
    /// until more data is that old.
    pub(crate) fn detect(
        &mut self,
        una: Seq,
        newest: (u32, Seq),
        now: u32,
        window: u32,
        totals: &mut Totals,
    ) -> (u32, Option<u32>) {
        let (mut start, mut lost, mut wait) = (una, 0, None);
        for extent in self.extents_mut() {
            if !extent.is(SACKED | LOST) && was_before(extent.sent, extent.end, newest) {
                let age = now.wrapping_sub(extent.sent);
                if age >= window {
                    extent.marks |= LOST;
                    lost += extent.end - start;
                } else {
                    wait = wait.max(Some(window - age));
                }
            }
            start = extent.end;
        }
        totals.lost += lost;
        (lost, wait)
    }

    /// Marks all undelivered data as lost (RFC 6298 section 5.4).
    pub(crate) fn lose_all(&mut self, una: Seq, totals: &mut Totals) {
        let mut start = una;
        for extent in self.extents_mut() {
            if !extent.is(SACKED | LOST) {
                extent.marks |= LOST;
                totals.lost += extent.end - start;
            }
            start = extent.end;
        }
    }

    /// Marks the first `len` bytes as lost (RFC 6582).
    pub(crate) fn lose_first(&mut self, una: Seq, len: u32, totals: &mut Totals) {
        self.make_room(1, una, totals);
        let Some(first) = self.extents().first() else { return };
        if first.is(SACKED | LOST) {
            return;
        }
        if (una + len).is_before(first.end) {
            self.split(0, una + len);
        }
        let first = &mut self.extents_mut()[0];
        first.marks |= LOST;
        totals.lost += first.end - una;
    }

    /// Clears all loss marks: the data was delivered, or is still in flight.
    pub(crate) fn lose_none(&mut self, totals: &mut Totals) {
        self.extents_mut().iter_mut().for_each(|extent| extent.marks &= !LOST);
        totals.lost = 0;
    }

    /// Discards SACK reports if the peer has reneged: the first byte is among the reported ones
    /// (RFC 2018 section 8).
    pub(crate) fn forget_if_reneged(&mut self, totals: &mut Totals) {
        if self.extents().first().is_some_and(|first| first.is(SACKED)) {
            self.extents_mut().iter_mut().for_each(|extent| extent.marks &= !SACKED);
            totals.sacked = 0;
        }
    }

    /// The first lost bytes.
    pub(crate) fn next_lost(&self, una: Seq) -> Option<(Seq, Seq)> {
        let mut start = una;
        for extent in self.extents() {
            if extent.is(LOST) {
                return Some((start, extent.end));
            }
            start = extent.end;
        }
        None
    }

    /// The last bytes, at most `len`, for a tail loss probe.
    pub(crate) fn tail(&self, una: Seq, len: u32) -> Option<(Seq, Seq)> {
        let [before @ .., last] = self.extents() else { return None };
        let start = before.last().map_or(una, |extent| extent.end);
        Some((start.max(last.end - len), last.end))
    }

    /// Records a retransmission of an extent, or a part of one.
    pub(crate) fn resend(
        &mut self,
        una: Seq,
        (from, to): (Seq, Seq),
        now: u32,
        totals: &mut Totals,
    ) {
        self.make_room(2, una, totals);
        for edge in [from, to] {
            let extents = self.extents();
            let at = extents.iter().position(|extent| extent.end.is_after(edge));
            let Some(at) = at else { continue };
            let start = if at == 0 { una } else { extents[at - 1].end };
            if start.is_before(edge) {
                self.split(at, edge);
            }
        }
        let mut start = una;
        for extent in self.extents_mut() {
            let is_inside = !start.is_before(from) && !extent.end.is_after(to);
            if is_inside && !extent.is(SACKED) {
                totals.lost -= if extent.is(LOST) { extent.end - start } else { 0 };
                extent.marks = RESENT;
                extent.sent = now;
            }
            start = extent.end;
        }
    }

    /// Checks that the extents cover the flight, and that the totals match.
    pub(crate) fn check(&self, una: Seq, nxt: Seq, totals: Totals) -> Result<(), String> {
        let (mut start, mut sum) = (una, Totals::default());
        for extent in self.extents() {
            if !start.is_before(extent.end) {
                return Err("an empty extent".into());
            }
            let len = extent.end - start;
            sum.sacked += if extent.is(SACKED) { len } else { 0 };
            sum.lost += if extent.is(LOST) { len } else { 0 };
            if extent.is(SACKED) && extent.is(LOST) {
                return Err("an extent is received and lost".into());
            }
            start = extent.end;
        }
        if start != nxt || sum != totals {
            return Err(format!("extents are {sum:?} to {start:?}, not {totals:?} to {nxt:?}"));
        }
        Ok(())
    }

    /// Splits an extent; false if there is no free entry.
    fn split(&mut self, at: usize, edge: Seq) -> bool {
        if self.len() == MAX_EXTENTS {
            return false;
        }
        self.close_up();
        let (at, last) = (usize::from(self.first) + at, usize::from(self.last));
        self.extents.copy_within(at..last, at + 1);
        self.extents[at].end = edge;
        self.last += 1;
        true
    }

    /// Moves the extents to the front of the array.
    #[inline]
    fn close_up(&mut self) {
        if usize::from(self.last) == MAX_EXTENTS {
            self.extents.copy_within(usize::from(self.first).., 0);
            (self.first, self.last) = (0, self.last - self.first);
        }
    }

    /// Makes room for `count` more extents.
    #[inline]
    fn make_room(&mut self, count: usize, una: Seq, totals: &mut Totals) {
        if self.len() + count > MAX_EXTENTS {
            self.join(|a, b| a.marks == b.marks, true);
            while self.len() + count > MAX_EXTENTS {
                self.forget(una, totals);
            }
        }
        self.close_up();
    }

    /// Merges adjacent extents that `may` be merged; `in_pairs` merges only pairs, so that more
    /// times are kept.
    fn join(&mut self, may: impl Fn(&Extent, &Extent) -> bool, in_pairs: bool) {
        let (first, last) = (usize::from(self.first), usize::from(self.last));
        let (mut to, mut is_joined) = (first, false);
        for at in first + 1..last {
            let extent = self.extents[at];
            let before = &mut self.extents[to];
            if may(before, &extent) && !(in_pairs && is_joined) {
                // Use the later time: losses may be detected late, but never falsely.
                if is_later(extent.sent, before.sent) {
                    before.sent = extent.sent;
                }
                before.end = extent.end;
                before.marks |= extent.marks;
                is_joined = true;
            } else {
                to += 1;
                self.extents[to] = extent;
                is_joined = false;
            }
        }
        if first < last {
            self.last = (to + 1) as u8;
        }
    }

    /// Merges two extents with different marks, if these alternate and no entry is free: drops the
    /// last SACK report, or marks the last bytes like the adjacent ones.
    fn forget(&mut self, una: Seq, totals: &mut Totals) {
        let extents = self.extents();
        let reported = extents.iter().rposition(|extent| extent.is(SACKED));
        let at = reported.unwrap_or(extents.len() - 1).max(1) - 1;
        let start = if at == 0 { una } else { extents[at - 1].end };
        let [a, b] = [extents[at], extents[at + 1]];
        let marks = (a.marks | b.marks) & !SACKED;
        for (extent, len) in [(a, a.end - start), (b, b.end - a.end)] {
            totals.sacked -= if extent.is(SACKED) { len } else { 0 };
            totals.lost += if marks & LOST & !extent.marks != 0 { len } else { 0 };
        }
        let sent = if is_later(b.sent, a.sent) { b.sent } else { a.sent };
        let (first, last) = (usize::from(self.first), usize::from(self.last));
        self.extents[first + at] = Extent { end: b.end, sent, marks };
        self.extents.copy_within(first + at + 2..last, first + at + 1);
        self.last -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a flight by their marks, one by one.
    fn marks(flight: &Flight, una: Seq) -> Vec<u8> {
        let mut start = una;
        let mut all = Vec::new();
        for extent in flight.extents() {
            assert!(start.is_before(extent.end), "an empty extent");
            all.extend((0..extent.end - start).map(|_| extent.marks));
            start = extent.end;
        }
        all
    }

    fn check(flight: &Flight, una: Seq, nxt: Seq, totals: &Totals) {
        let marks = marks(flight, una);
        let count = |mark: u8| marks.iter().filter(|m| *m & mark != 0).count() as u32;
        assert_eq!(marks.len() as u32, nxt - una);
        assert_eq!((count(SACKED), count(LOST)), (totals.sacked, totals.lost));
    }

    #[test]
    fn what_is_reported_is_marked_once() {
        let (mut flight, mut totals, una) =
            (Flight::default(), Totals::default(), Seq(u32::MAX - 9));
        flight.push(una, una + 10, 5, &mut totals);
        flight.push(una, una + 30, 5, &mut totals);
        flight.push(una, una + 40, 9, &mut totals);
        assert_eq!(flight.len(), 2);
        let mut delivery = Delivery::new(20, 0, una);
        flight.sack(una, (una + 15, una + 35), &mut totals, &mut delivery);
        flight.sack(una, (una + 20, una + 35), &mut totals, &mut delivery);
        assert_eq!((delivery.bytes, delivery.sacked, totals.sacked), (20, 20, 20));
        assert_eq!((delivery.newest, delivery.sent), (Some((9, una + 35)), Some(9)));
        assert!(!delivery.is_reordered);
        let (lost, wait) = flight.detect(una, (9, una + 35), 20, 14, &mut totals);
        assert_eq!((lost, wait, totals.lost), (15, None, 15));
        assert_eq!(flight.next_lost(una), Some((una, una + 15)));
        flight.resend(una, (una, una + 4), 21, &mut totals);
        assert_eq!((flight.next_lost(una), totals.lost), (Some((una + 4, una + 15)), 11));
        check(&flight, una, una + 40, &totals);
        flight.acknowledge(una, una + 36, &mut totals, &mut delivery);
        check(&flight, una + 36, una + 40, &totals);
        assert_eq!((delivery.bytes, totals), (36, Totals::default()));
    }

    #[test]
    fn sent_before_and_not_old_enough_waits() {
        let (mut flight, mut totals, una) = (Flight::default(), Totals::default(), Seq(0));
        flight.push(una, Seq(10), 100, &mut totals);
        flight.push(una, Seq(20), 110, &mut totals);
        assert_eq!(flight.detect(una, (110, Seq(20)), 120, 30, &mut totals), (0, Some(10)));
        assert_eq!(flight.detect(una, (110, Seq(20)), 130, 30, &mut totals), (10, None));
    }

    /// Random calls, against marks of single bytes where nothing is joined.
    #[test]
    fn totals_are_right_whatever_comes() {
        let mut random = 7_u64;
        let mut number = |below: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as u32 % below.max(1)
        };
        for round in 0..60 {
            let (mut flight, mut totals) = (Flight::default(), Totals::default());
            let mut una = Seq(number(u32::MAX));
            let mut nxt = una;
            for now in 0..400 {
                let range = |number: &mut dyn FnMut(u32) -> u32| {
                    let from = una + number(nxt - una);
                    (from, (from + 1 + number(30)).min(nxt))
                };
                let mut delivery = Delivery::new(now, 0, una);
                match number(8) {
                    0..=2 if nxt - una < 3000 => {
                        let end = nxt + 1 + number(100);
                        flight.push(una, end, now, &mut totals);
                        nxt = end;
                    }
                    3 | 4 if una != nxt => {
                        let range = range(&mut number);
                        flight.sack(una, range, &mut totals, &mut delivery);
                    }
                    5 if una != nxt && round % 3 == 0 => {
                        let ack = una + number(nxt - una + 1);
                        flight.acknowledge(una, ack, &mut totals, &mut delivery);
                        una = ack;
                    }
                    6 if una != nxt => {
                        if let Some((from, to)) = flight.next_lost(una) {
                            let to = to.min(from + 1 + number(40));
                            flight.resend(una, (from, to), now, &mut totals);
                        } else {
                            let range = flight.tail(una, 20).unwrap();
                            flight.resend(una, range, now, &mut totals);
                        }
                    }
                    7 => match number(12) {
                        0 => flight.lose_all(una, &mut totals),
                        1 => flight.lose_none(&mut totals),
                        2 => flight.forget_if_reneged(&mut totals),
                        3 => flight.lose_first(una, 10, &mut totals),
                        _ => drop(flight.detect(una, (now, nxt), now, 20, &mut totals)),
                    },
                    _ => {}
                }
                check(&flight, una, nxt, &totals);
            }
        }
    }
}
