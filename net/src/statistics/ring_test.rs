//! `test stats ring-buffer-gen`: entries for a ring of the statistics segment, to try its readers.

use std::collections::BTreeMap;
use std::time::Duration;

use control::cli::{Command, Error, Output, Step, Task};
use control::stats::{Ring, RingSize};

use crate::router::{Parts, Router};

/// An entry is a number of 64 bits, and the time as a double.
const ENTRY: u32 = 16;
/// Description of an entry.
const SCHEMA: (u32, &str) = (1, "seq: u64, time: f64");
/// The most entries of a ring: 16 MB.
const MAX_RING: u32 = 1 << 20;

/// Write numbered entries with timestamps to a ring of the statistics segment.
#[derive(Command)]
#[command("test stats ring-buffer-gen")]
struct Generate {
    /// ring name; created if necessary
    #[positional]
    name: String,
    /// entries to write
    #[positional]
    count: u32,
    /// microseconds between entries
    #[positional]
    interval_usec: u32,
    /// ring size in entries: 1 to 1048576
    #[positional]
    ring_size: u32,
}

/// Rings by name, with their sizes.
#[derive(Default)]
struct Rings(BTreeMap<String, (u32, Ring)>);

/// Entries that are being written.
struct Writing {
    ring: Ring,
    wanted: Generate,
    next: u32,
}

impl Task<Router> for Writing {
    fn step(&mut self, router: &mut Router, output: &mut Output) -> Step {
        if self.next == self.wanted.count {
            let Generate { name, count, .. } = &self.wanted;
            output.append(format!("Generated {count} messages in ring buffer {name}\n").into());
            return Step::Done(Ok(()));
        }
        let (number, time) = (u64::from(self.next), router.now());
        self.ring.push(0, &[number.to_ne_bytes(), time.to_ne_bytes()].concat());
        self.next += 1;
        match self.wanted.interval_usec {
            0 => Step::Again,
            pause => Step::Sleep(Duration::from_micros(pause.into())),
        }
    }
}

fn ring(router: &mut Router, wanted: &Generate) -> Result<Ring, Error> {
    let (name, size) = (&wanted.name, wanted.ring_size);
    match router.own::<Rings>().0.get(name) {
        Some((has, ring)) if *has == size => return Ok(ring.clone()),
        Some((has, _)) => return Err(Error::new(format!("ring `{name}' has {has} entries"))),
        None => {}
    }
    if !(1..=MAX_RING).contains(&size) {
        return Err(Error::new(format!("invalid ring-size `{size}': 1 to {MAX_RING}")));
    }
    let sizes = RingSize { entry: ENTRY, ring: size, threads: 1 };
    let ring = router.stats.change(|stats| stats.ring(name, sizes, SCHEMA));
    let ring = ring.map_err(|e| Error::new(e.to_string()))?;
    router.own_mut::<Rings>().0.insert(name.clone(), (size, ring.clone()));
    Ok(ring)
}

pub(super) fn register(parts: &mut Parts) {
    parts.router.insert(Rings::default());
    parts.cli.task(|router: &mut Router, wanted: Generate| {
        let ring = ring(router, &wanted)?;
        Ok(Box::new(Writing { ring, wanted, next: 0 }))
    });
}
