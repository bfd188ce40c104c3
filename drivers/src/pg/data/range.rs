//! A value in the text of a stream: fixed `x`, counting through `a-b`, or drawn at random from
//! `a+b`.

use std::str::FromStr;

use control::cli::Args;

/// The order of a field's values, packet by packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the lowest to the highest, and again.
    Increment,
    /// Any, all alike.
    Random,
}

/// A range of values, both ends included, as numbers in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest, or the only one.
    pub low: u128,
    /// The highest.
    pub high: u128,
    /// In what order they come.
    pub order: Order,
}

/// Reasons why a text is no range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not of the form `x`, `a-b` or `a+b`.
    Form,
    /// The first value is above the second.
    Backwards,
    /// There are more than 2^64 values.
    Wide,
}

impl Range {
    /// Only `value`.
    pub fn fixed(value: u128) -> Self {
        Self { low: value, high: value, order: Order::Increment }
    }
    /// Whether there is but one value.
    pub fn is_fixed(&self) -> bool {
        self.low == self.high
    }
    /// Reads `x`, `a-b` or `a+b`, where the values are `T`s that `number` makes comparable.
    ///
    /// # Errors
    /// Text of another form, and ranges that are not.
    pub fn parse<T: FromStr>(text: &str, number: impl Fn(T) -> u128) -> Result<Self, Error> {
        let value = |t: &str| t.parse().map(&number).map_err(|_| Error::Form);
        if let Ok(only) = value(text) {
            return Ok(Self::fixed(only));
        }
        let (order, (low, high)) = match (text.split_once('-'), text.split_once('+')) {
            (Some(ends), None) => (Order::Increment, ends),
            (None, Some(ends)) => (Order::Random, ends),
            _ => return Err(Error::Form),
        };
        let range = Self { low: value(low)?, high: value(high)?, order };
        if range.low > range.high {
            return Err(Error::Backwards);
        }
        if range.high - range.low > u128::from(u64::MAX) {
            return Err(Error::Wide);
        }
        Ok(range)
    }
}

/// The next word, with those that its range goes on with where blanks are around its sign.
pub fn joined(args: &mut Args<'_>) -> Option<String> {
    const SIGNS: [char; 2] = ['-', '+'];
    let mut word = args.word()?.to_owned();
    let goes_on = |args: &Args<'_>, word: &str| {
        let next = args.peek().unwrap_or("->");
        next != "->" && (word.ends_with(SIGNS) || next.starts_with(SIGNS))
    };
    while goes_on(args, &word) {
        word.push_str(args.word().unwrap_or_default());
    }
    Some(word)
}

/// The values of a [`Range`], one after the other.
#[derive(Clone, Debug)]
pub struct Values {
    low: u128,
    /// Distance of the highest.
    span: u64,
    /// Distance of the next one that is counted.
    next: u64,
    order: Order,
}

impl Values {
    /// From the first.
    pub fn new(range: Range) -> Self {
        let span = (range.high - range.low) as u64;
        Self { low: range.low, span, next: 0, order: range.order }
    }
    /// The next one; `random` is used for those drawn.
    #[inline(always)]
    pub fn draw(&mut self, random: &mut Random) -> u128 {
        self.low + u128::from(self.step(random))
    }
    /// The next one of a field of at most 8 bytes.
    #[inline(always)]
    pub fn draw_short(&mut self, random: &mut Random) -> u64 {
        (self.low as u64).wrapping_add(self.step(random))
    }
    #[inline(always)]
    fn step(&mut self, random: &mut Random) -> u64 {
        if self.order == Order::Random {
            let (number, span) = (u128::from(random.number()), u128::from(self.span));
            return ((number * (span + 1)) >> 64) as u64;
        }
        let step = self.next;
        self.next = if step == self.span { 0 } else { step + 1 };
        step
    }
}

/// Random numbers, the same in every run (xorshift64, Marsaglia 2003).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence number `which`.
    pub fn new(which: u32) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ u64::from(which).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }
    /// The next number, any but 0.
    #[inline(always)]
    pub fn number(&mut self) -> u64 {
        let mut x = self.0;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0 = x;
        x
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn port(text: &str) -> Result<Range, Error> {
        Range::parse(text, |n: u16| n.into())
    }

    #[test]
    fn three_forms() {
        assert_eq!(port("7"), Ok(Range::fixed(7)));
        let range = |order| Ok(Range { low: 7, high: 9, order });
        assert_eq!(port("7-9"), range(Order::Increment));
        assert_eq!(port("7+9"), range(Order::Random));
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "x", "7-", "-9", "7-9-11", "7+9-11", "70000", "7-70000"] {
            assert_eq!(port(text), Err(Error::Form), "{text}");
        }
        assert_eq!((port("9-7"), port("9+7")), (Err(Error::Backwards), Err(Error::Backwards)));
        let wide = Range::parse("0-18446744073709551616", |n: u128| n);
        assert_eq!(wide, Err(Error::Wide));
    }

    #[test]
    fn counting_starts_again_at_the_lowest() {
        let mut values = Values::new(port("7-9").unwrap());
        let mut random = Random::new(0);
        let seen: Vec<_> = (0..7).map(|_| values.draw(&mut random)).collect();
        assert_eq!(seen, [7, 8, 9, 7, 8, 9, 7]);
    }

    #[test]
    fn all_values_are_drawn() {
        let mut values = Values::new(port("100+115").unwrap());
        let mut random = Random::new(3);
        let mut seen = [0; 16];
        (0..16_000).for_each(|_| seen[values.draw(&mut random) as usize - 100] += 1);
        assert!(seen.iter().all(|n| (800..1200).contains(n)), "{seen:?}");
    }

    proptest! {
        #[test]
        fn values_stay_inside(low: u64, span: u64, random: bool) {
            let order = if random { Order::Random } else { Order::Increment };
            let range = Range { low: low.into(), high: u128::from(low) + u128::from(span), order };
            let (mut values, mut random) = (Values::new(range), Random::new(9));
            for _ in 0..20 {
                let value = values.draw(&mut random);
                prop_assert!(range.low <= value && value <= range.high);
            }
        }
    }
}
