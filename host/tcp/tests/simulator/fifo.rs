//! FIFOs of positions: what they would hold is known, so only lengths are kept.

use tcp_machine::Sink;

/// Bytes that an application writes.
#[derive(Clone, Debug, Default)]
pub struct Source {
    written: u64,
    acked: u64,
    goal: u64,
}

impl Source {
    pub fn new(goal: u64) -> Self {
        Self { goal, ..Self::default() }
    }
    pub fn available(&self) -> u32 {
        u32::try_from(self.written - self.acked).unwrap()
    }
    pub fn write(&mut self, len: u64) {
        self.written = (self.written + len).min(self.goal);
    }
    pub fn is_finished(&self) -> bool {
        self.written == self.goal
    }
    pub fn acked(&mut self, len: u32) {
        self.acked += u64::from(len);
        assert!(self.acked <= self.written, "more is acknowledged than was written");
    }
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Position in the stream of a payload.
    pub fn position(&self, ahead: u32) -> u64 {
        self.acked + u64::from(ahead)
    }
}

/// Bytes that an application reads.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    next: u64,
    read: u64,
    capacity: u32,
    /// Ranges kept out of order, sorted.
    kept: Vec<(u64, u64)>,
    /// Position and connection of the payload that is being received, and of this side.
    pub payload: (u64, u32),
    pub generation: u32,
    /// Memory is short: nothing is kept out of order.
    pub is_short: bool,
}

impl Stream {
    pub fn new(capacity: u32, generation: u32) -> Self {
        Self { capacity, generation, ..Self::default() }
    }
    pub fn next(&self) -> u64 {
        self.next
    }
    pub fn read(&mut self, len: u64) -> u64 {
        let len = len.min(self.next - self.read);
        self.read += len;
        len
    }
}

impl Sink for Stream {
    fn space(&self) -> u32 {
        self.capacity - (self.next - self.read) as u32
    }

    fn unread(&self) -> u32 {
        (self.next - self.read) as u32
    }

    fn keep(&mut self, ahead: u32, from: u32, len: u32) -> bool {
        let start = self.next + u64::from(ahead);
        assert_eq!(self.payload.1, self.generation, "data of another connection");
        assert_eq!(self.payload.0 + u64::from(from), start, "data of another place");
        assert!(len > 0 && ahead + len <= self.space(), "beyond the room");
        if self.is_short && ahead > 0 {
            return false;
        }
        let (mut start, mut end) = (start, start + u64::from(len));
        self.kept.retain(|range| {
            let touches = range.0 <= end && start <= range.1;
            if touches {
                (start, end) = (start.min(range.0), end.max(range.1));
            }
            !touches
        });
        let at = self.kept.partition_point(|range| range.0 < start);
        self.kept.insert(at, (start, end));
        true
    }

    fn deliver(&mut self, len: u32) {
        self.next += u64::from(len);
        let (start, end) = self.kept[0];
        assert!(start <= self.next - u64::from(len) && self.next <= end, "nothing is there");
        if end == self.next {
            self.kept.remove(0);
        } else {
            panic!("more is there than is delivered: {:?}, {}", self.kept, self.next);
        }
    }
}
