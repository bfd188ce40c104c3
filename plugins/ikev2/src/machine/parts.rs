//! Reassembly of message fragments (RFC 7383 section 2.6).

/// Limit of fragments of a message.
const MOST_PARTS: u16 = 32;
/// Limit of a reassembled message in bytes.
pub const MOST_BYTES: usize = 1 << 16;
/// The same while the other end's identity is not proved.
pub const MOST_UNPROVED: usize = 1 << 14;

/// Received fragments of one message.
#[derive(Debug, Default)]
pub struct Parts {
    /// Message ID, and whether it is a response.
    of: Option<(u32, bool)>,
    first: u8,
    all: Vec<Option<Vec<u8>>>,
}

impl Parts {
    /// Adds the decrypted fragment `number` of `count`. With the last one, returns the type of the
    /// first payload and all bytes.
    pub fn put(
        &mut self,
        of: (u32, bool),
        (number, count): (u16, u16),
        (first, bytes): (u8, Vec<u8>),
        most: usize,
    ) -> Option<(u8, Vec<u8>)> {
        if number == 0 || number > count || count > MOST_PARTS {
            return None;
        }
        let known = self.all.len();
        // A message may be retransmitted in more fragments; then the old ones are dropped.
        if self.of != Some(of) || usize::from(count) > known {
            *self = Self { of: Some(of), first: 0, all: vec![None; count.into()] };
        } else if usize::from(count) < known {
            return None;
        }
        if number == 1 {
            self.first = first;
        }
        let len: usize = self.all.iter().flatten().map(Vec::len).sum();
        if len + bytes.len() > most {
            *self = Self::default();
            return None;
        }
        self.all.get_mut(usize::from(number) - 1)?.get_or_insert(bytes);
        if self.all.iter().any(Option::is_none) {
            return None;
        }
        let done = std::mem::take(self);
        Some((done.first, done.all.into_iter().flatten().flatten().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: (u32, bool) = (3, false);

    fn put(parts: &mut Parts, part: (u16, u16), payload: (u8, Vec<u8>)) -> Option<(u8, Vec<u8>)> {
        parts.put(OF, part, payload, MOST_BYTES)
    }

    #[test]
    fn parts_come_in_any_order_and_twice() {
        let mut parts = Parts::default();
        assert_eq!(put(&mut parts, (3, 3), (9, vec![5])), None);
        assert_eq!(put(&mut parts, (1, 3), (7, vec![1, 2])), None);
        assert_eq!(put(&mut parts, (1, 3), (7, vec![1, 2])), None);
        assert_eq!(put(&mut parts, (2, 3), (9, vec![3, 4])), Some((7, vec![1, 2, 3, 4, 5])));
        assert_eq!(put(&mut parts, (2, 3), (9, vec![3, 4])), None);
    }

    #[test]
    fn a_message_in_more_parts_begins_anew_and_lies_are_dropped() {
        let mut parts = Parts::default();
        assert_eq!(put(&mut parts, (1, 2), (7, vec![1])), None);
        assert_eq!(put(&mut parts, (1, 3), (7, vec![1])), None);
        assert_eq!(put(&mut parts, (2, 2), (7, vec![2])), None);
        for lie in [(0, 1), (2, 1), (1, 33), (65535, 65535)] {
            assert_eq!(put(&mut parts, lie, (7, vec![1])), None);
        }
        assert_eq!(put(&mut parts, (1, 1), (7, vec![0; 1 << 17])), None);
    }

    #[test]
    fn who_proved_nothing_gets_less_room() {
        let mut parts = Parts::default();
        assert_eq!(parts.put(OF, (1, 3), (7, vec![0; MOST_UNPROVED]), MOST_UNPROVED), None);
        assert_eq!(parts.put(OF, (2, 3), (7, vec![0]), MOST_UNPROVED), None);
        assert_eq!(parts.all.len(), 0, "nothing is kept");
    }
}
