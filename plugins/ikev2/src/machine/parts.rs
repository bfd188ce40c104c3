//! Messages that come in parts (RFC 7383 section 2.6).

/// Parts of a message at most.
const MOST_PARTS: u16 = 32;
/// Bytes of a message at most.
const MOST_BYTES: usize = 1 << 16;

/// Parts of one message: those that came.
#[derive(Debug, Default)]
pub struct Parts {
    /// Number of the message, and whether it is an answer.
    of: Option<(u32, bool)>,
    first: u8,
    all: Vec<Option<Vec<u8>>>,
}

impl Parts {
    /// Puts in the part `number` of `count`, opened; the first kind of payload and all bytes once
    /// they are there.
    pub fn put(
        &mut self,
        of: (u32, bool),
        (number, count): (u16, u16),
        first: u8,
        bytes: Vec<u8>,
    ) -> Option<(u8, Vec<u8>)> {
        if number == 0 || number > count || count > MOST_PARTS {
            return None;
        }
        let known = self.all.len();
        // Of a message that is sent anew in more parts only these count.
        if self.of != Some(of) || usize::from(count) > known {
            *self = Self { of: Some(of), first: 0, all: vec![None; count.into()] };
        } else if usize::from(count) < known {
            return None;
        }
        if number == 1 {
            self.first = first;
        }
        let len: usize = self.all.iter().flatten().map(Vec::len).sum();
        if len + bytes.len() > MOST_BYTES {
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

    #[test]
    fn parts_come_in_any_order_and_twice() {
        let mut parts = Parts::default();
        let of = (3, false);
        assert_eq!(parts.put(of, (3, 3), 9, vec![5]), None);
        assert_eq!(parts.put(of, (1, 3), 7, vec![1, 2]), None);
        assert_eq!(parts.put(of, (1, 3), 7, vec![1, 2]), None);
        assert_eq!(parts.put(of, (2, 3), 9, vec![3, 4]), Some((7, vec![1, 2, 3, 4, 5])));
        assert_eq!(parts.put(of, (2, 3), 9, vec![3, 4]), None);
    }

    #[test]
    fn a_message_in_more_parts_begins_anew_and_lies_are_dropped() {
        let mut parts = Parts::default();
        let of = (3, false);
        assert_eq!(parts.put(of, (1, 2), 7, vec![1]), None);
        assert_eq!(parts.put(of, (1, 3), 7, vec![1]), None);
        assert_eq!(parts.put(of, (2, 2), 7, vec![2]), None);
        for lie in [(0, 1), (2, 1), (1, 33), (65535, 65535)] {
            assert_eq!(parts.put(of, lie, 7, vec![1]), None);
        }
        assert_eq!(parts.put(of, (1, 1), 7, vec![0; 1 << 17]), None);
    }
}
