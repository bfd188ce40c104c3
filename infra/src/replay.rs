//! Sequence numbers of protected packets: those sent, and a window of those received that lets
//! each through once (RFC 4303 sections 3.3.3 and 3.4.3, appendix A).
//!
//! One thread at a time works with them, and any may look at them: each number is read and stored
//! whole, and without a locked instruction.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bits of a word of a window.
const WORD: u64 = 64;
/// Distance below the newest number from which on, without a window, a lower half that is smaller
/// stands for the next upper half.
const HALF: u64 = 1 << 30;

/// Numbers that one thread gives to packets.
#[derive(Debug, Default)]
pub struct Numbers(AtomicU64);

impl Numbers {
    /// The next number, from 1 on; `None` when all up to `most` are used up.
    #[inline(always)]
    pub fn take(&self, most: u64) -> Option<u64> {
        let next = self.0.load(Relaxed).checked_add(1).filter(|next| *next <= most)?;
        self.0.store(next, Relaxed);
        Some(next)
    }
    /// The next `count` numbers: the first of them. `None`, and none is taken, when there are less
    /// up to `most`.
    #[inline(always)]
    pub fn take_run(&self, count: u64, most: u64) -> Option<u64> {
        let last = self.0.load(Relaxed);
        let end = last.checked_add(count).filter(|end| *end <= most)?;
        self.0.store(end, Relaxed);
        Some(last + 1)
    }
    /// The last one taken; 0 for none.
    pub fn last(&self) -> u64 {
        self.0.load(Relaxed)
    }
    /// Makes the number after this one the next.
    pub fn set(&self, last: u64) {
        self.0.store(last, Relaxed);
    }
}

/// A window of received numbers.
#[derive(Debug)]
pub struct Window {
    newest: AtomicU64,
    /// Bit `n` modulo the size is set when `n` was received.
    words: Box<[AtomicU64]>,
}

impl Window {
    /// The smallest window.
    pub const LEAST: u32 = 64;
    /// The largest window.
    pub const MOST: u32 = 1 << 20;

    /// A window of at least this size; a power of two. Nothing counts as lost that is older than
    /// the first packet.
    pub fn new(size: u32) -> Self {
        let size = size.clamp(Self::LEAST, Self::MOST).next_power_of_two();
        let words = (0..u64::from(size) / WORD).map(|_| AtomicU64::new(u64::MAX)).collect();
        Self { newest: AtomicU64::new(0), words }
    }
    /// Numbers it holds.
    pub fn size(&self) -> u64 {
        self.words.len() as u64 * WORD
    }
    /// The newest number received.
    pub fn newest(&self) -> u64 {
        self.newest.load(Relaxed)
    }
    /// Makes this the newest number; none in the window was received.
    pub fn set(&self, newest: u64) {
        self.newest.store(newest, Relaxed);
        self.words.iter().for_each(|word| word.store(0, Relaxed));
    }
    /// The 64 newest numbers, the newest in the lowest bit: whether they were received.
    pub fn latest(&self) -> u64 {
        let newest = self.newest();
        (0..WORD).fold(0, |bits, age| {
            let was = newest.checked_sub(age).is_none_or(|number| self.has(number));
            bits | u64::from(was) << age
        })
    }
    /// Received numbers of the window.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
    }
    /// The whole number of a packet that carries its lower half (RFC 4303, appendix A2.2), without
    /// `is_strict` as if the window were half of a quarter of all lower halves. `None`: it is from
    /// before the first.
    #[inline(always)]
    pub fn whole(&self, low: u32, is_strict: bool) -> Option<u64> {
        self.whole_behind(self.newest(), low, is_strict)
    }
    /// The same if this were the newest number. It is never smaller than for an older one.
    #[inline(always)]
    pub fn whole_behind(&self, newest: u64, low: u32, is_strict: bool) -> Option<u64> {
        let (high, top) = (newest >> 32, newest as u32);
        let size = if is_strict { self.size() } else { HALF };
        let bottom = top.wrapping_sub((size - 1) as u32);
        let high = match (u64::from(top) >= size - 1, low >= bottom) {
            (true, true) | (false, false) => high,
            (true, false) => high + 1,
            (false, true) => high.checked_sub(1)?,
        };
        Some(high << 32 | u64::from(low))
    }
    /// Whether a number was received, or is too old to tell.
    #[inline(always)]
    pub fn is_seen(&self, number: u64) -> bool {
        let newest = self.newest();
        number <= newest && (newest - number >= self.size() || self.has(number))
    }
    /// Notes that a number is received; the count of numbers that can no longer be, because the
    /// window has passed them.
    #[inline(always)]
    pub fn take(&self, number: u64) -> u64 {
        let newest = self.newest();
        if number <= newest {
            if newest - number < self.size() {
                self.put(number, true);
            }
            return 0;
        }
        let lost = self.advance(newest, number);
        self.put(number, true);
        self.newest.store(number, Relaxed);
        lost
    }
    fn advance(&self, newest: u64, number: u64) -> u64 {
        if number - newest >= self.size() {
            let lost = self.size() - self.count() + (number - newest - self.size());
            self.words.iter().for_each(|word| word.store(0, Relaxed));
            return lost;
        }
        (newest + 1..=number).fold(0, |lost, new| {
            let was = self.has(new);
            self.put(new, false);
            lost + u64::from(!was)
        })
    }
    #[inline(always)]
    fn place(&self, number: u64) -> (Option<&AtomicU64>, u64) {
        let at = number & (self.size() - 1);
        (self.words.get((at / WORD) as usize), 1 << (at % WORD))
    }
    #[inline(always)]
    fn has(&self, number: u64) -> bool {
        let (word, bit) = self.place(number);
        word.is_some_and(|word| word.load(Relaxed) & bit != 0)
    }
    #[inline(always)]
    fn put(&self, number: u64, is_set: bool) {
        let (Some(word), bit) = self.place(number) else { return };
        let old = word.load(Relaxed);
        word.store(if is_set { old | bit } else { old & !bit }, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_they_are_told_to() {
        let numbers = Numbers::default();
        assert_eq!((numbers.take(2), numbers.take(2), numbers.take(2)), (Some(1), Some(2), None));
        numbers.set(u64::MAX);
        assert_eq!(numbers.take(u64::MAX), None);
        assert_eq!(numbers.take_run(1, u64::MAX), None);
        numbers.set(7);
        assert_eq!((numbers.take_run(3, 9), numbers.take_run(2, 9)), (None, Some(8)));
        assert_eq!((numbers.last(), numbers.take(9)), (9, None));
    }

    #[test]
    fn each_number_is_new_once_and_those_behind_the_window_never() {
        let window = Window::new(64);
        for number in 1..=100 {
            assert!(!window.is_seen(number));
            assert_eq!(window.take(number), 0);
            assert!(window.is_seen(number));
        }
        assert_eq!(window.latest(), u64::MAX);
        window.take(200);
        assert!(window.is_seen(136) && !window.is_seen(137) && !window.is_seen(201));
    }

    #[test]
    fn what_the_window_passes_is_lost() {
        let window = Window::new(64);
        let taken = |numbers: Vec<u64>| numbers.into_iter().map(|n| window.take(n)).sum::<u64>();
        assert_eq!(taken(vec![1, 2, 4, 5]), 0);
        assert_eq!(taken((6..100).collect()), 1);
        assert_eq!(taken((100..200).step_by(2).collect()) + taken((200..300).collect()), 50);
        assert_eq!(taken((400..500).collect()), 100);
    }

    #[test]
    fn the_upper_half_follows_from_the_window() {
        let window = Window::new(64);
        window.set(1 << 32 | 104);
        assert_eq!(window.whole(41, true), Some(1 << 32 | 41));
        assert_eq!(window.whole(40, true), Some(2 << 32 | 40));
        window.set(2 << 32 | 30);
        assert_eq!(window.whole(31, true), Some(2 << 32 | 31));
        assert_eq!(window.whole(u32::MAX, true), Some(1 << 32 | u64::from(u32::MAX)));
        assert_eq!(Window::new(64).whole(u32::MAX, true), None);
    }
}
