//! The network: two directions, each with a rate, a queue, a delay and faults.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tcp_machine::{Segment, Time};

use super::Random;

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub segment: Segment,
    /// Position of the payload in its stream.
    pub position: u64,
    /// Number of the connection that it is of.
    pub generation: u32,
}

/// One direction.
#[derive(Clone, Debug, Default)]
pub struct Link {
    pub delay_us: u64,
    pub jitter_us: u64,
    pub bytes_per_ms: u64,
    pub queue_us: u64,
    pub loss: u64,
    pub burst: u64,
    pub duplicates: u64,
    pub reorder: u64,
    pub late: u64,
    pub corrupt: u64,
    /// Nothing passes until then.
    pub down_until: Time,
    pub busy_until: Time,
    pub burst_until: Time,
}

/// Both directions, by receiver.
pub struct Network {
    pub links: [Link; 2],
    heap: BinaryHeap<Reverse<(Time, u64, usize, usize)>>,
    packets: Vec<Packet>,
    free: Vec<usize>,
    count: u64,
}

impl Network {
    pub fn new(random: &mut Random) -> Self {
        let links = [Link::random(random), Link::random(random)];
        let heap = BinaryHeap::new();
        Self { links, heap, packets: Vec::new(), free: Vec::new(), count: 0 }
    }

    /// A new round: other faults, on the same paths.
    pub fn change(&mut self, random: &mut Random, now: Time) {
        for link in &mut self.links {
            link.fail(random);
            if random.permille(20) {
                link.down_until = now + random.below(120_000_000);
            }
        }
    }

    pub fn send(&mut self, now: Time, to: usize, packet: Packet, random: &mut Random) {
        let link = &mut self.links[to];
        let Some(at) = link.pass(now, &packet, random) else { return };
        let again = random.permille(link.duplicates);
        let late = random.permille(link.late);
        let delay = random.below(link.delay_us * 3 + 1000);
        // An old copy may come when its connection is long gone.
        let later = random.below(30_000_000);
        self.put(at, to, packet);
        if again {
            self.put(at + delay, to, packet);
        }
        if late {
            self.put(at + later, to, packet);
        }
    }

    fn put(&mut self, at: Time, to: usize, packet: Packet) {
        let place = if let Some(place) = self.free.pop() {
            self.packets[place] = packet;
            place
        } else {
            self.packets.push(packet);
            self.packets.len() - 1
        };
        self.count += 1;
        self.heap.push(Reverse((at, self.count, to, place)));
    }

    /// All packets have died of old age.
    pub fn clear(&mut self) {
        self.heap.clear();
        self.packets.clear();
        self.free.clear();
    }

    pub fn next_event(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(entry)| entry.0)
    }

    pub fn arrived(&mut self, now: Time) -> Option<(usize, Packet)> {
        if self.next_event() > now {
            return None;
        }
        let Reverse((_, _, to, place)) = self.heap.pop()?;
        self.free.push(place);
        Some((to, self.packets[place]))
    }
}

impl Link {
    fn random(random: &mut Random) -> Self {
        let delay_us = random.one_of(&[10, 100, 1000, 10_000, 50_000, 200_000]);
        let bytes_per_ms = random.one_of(&[100, 1000, 10_000, 100_000, 1_000_000]);
        let queue_us = random.one_of(&[2_000, 20_000, 200_000, 1_000_000]);
        Self { delay_us, bytes_per_ms, queue_us, ..Self::default() }
    }

    fn fail(&mut self, random: &mut Random) {
        let mut rate = |most: u64| if random.permille(600) { 0 } else { random.below(most) };
        self.loss = rate(150);
        self.burst = rate(20);
        self.duplicates = rate(100);
        self.reorder = rate(200);
        self.late = rate(10);
        self.corrupt = rate(30);
        let jitter = rate(1000);
        self.jitter_us = self.delay_us * jitter / 1000;
    }

    /// Time of arrival; `None` if it is lost.
    fn pass(&mut self, now: Time, packet: &Packet, random: &mut Random) -> Option<Time> {
        let len = u64::from(packet.segment.len) + 60;
        let begin = now.max(self.busy_until);
        if (begin - now).as_micros() as u64 > self.queue_us || now < self.down_until {
            return None;
        }
        self.busy_until = begin + (len * 1000 / self.bytes_per_ms).max(1);
        if now < self.burst_until {
            return None;
        }
        if random.permille(self.burst) {
            self.burst_until = now + random.below(2 * self.delay_us + 10_000);
        }
        // What is corrupt has a wrong checksum.
        if random.permille(self.loss) || random.permille(self.corrupt) {
            return None;
        }
        let mut at = self.busy_until + self.delay_us + random.below(self.jitter_us + 1);
        if random.permille(self.reorder) {
            at = at + random.below(self.delay_us + 1000);
        }
        Some(at)
    }
}
