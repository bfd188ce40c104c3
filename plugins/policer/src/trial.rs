//! `test policing`: the verdicts of a policer on a stream of packets of one size at a steady rate.
//!
//! The stream exists in numbers only, and so does its time: it begins with full buckets, and those
//! of the policer stay as they are. What is found is counted as if the packets had come.

use infra::meter::{Color, Meter};
use net::prelude::*;

use super::cli::Named;

/// Bytes of each packet.
const PACKET: usize = 500;
/// Maximum packets.
const MOST: f64 = 1e6;

/// Test a policer with 500-byte packets of an initial color (0 green, 1 yellow, 2 red), at a rate
/// in kbit/s for a time in ms.
#[derive(Command)]
#[command("test policing")]
struct TestPolicing {
    #[flatten]
    policer: Named,
    /// rate in kbit/s
    rate: u32,
    /// time in ms
    burst: u32,
    /// initial color: 0, 1 or 2
    #[default]
    colour: u32,
}

impl TestPolicing {
    fn run(&self, router: &mut Router) -> Result<(), Error> {
        let index = self.policer.find(router)?;
        let color = Color::ALL.get(self.colour as usize);
        let before = *color.ok_or_else(|| format!("no color but 0, 1 and 2: {}", self.colour))?;
        let (kbps, ms) = (f64::from(self.rate), f64::from(self.burst));
        if self.rate == 0 {
            return Err("rate is 0".into());
        }
        if kbps * ms / 8.0 / PACKET as f64 > MOST {
            return Err(Error::new(format!("more than {MOST:.0} packets")));
        }
        let config = super::at(router, index)?.config;
        let profile = config.profile().map_err(super::Error::Unfit)?;
        let meter = Meter::new(profile, 0.0);
        let seconds = PACKET as f64 * 8.0 / (kbps * 1e3); // from one packet to the next
        let count = (ms / 1e3 / seconds).round() as u64;
        let mut found = [0; 3];
        for i in 0..count {
            let color = config.color(&meter, i as f64 * seconds, PACKET, before);
            found[color as usize] += 1;
        }
        let counters = super::counters(router).clone();
        // Row 0 may be a thread's that counts there right now.
        let counted = router.engine.on_threads(move |row| {
            for (counters, packets) in counters.iter().zip(found).filter(|_| row == 0) {
                counters.row(row)[index as usize].add(packets, packets * PACKET as u64);
            }
        });
        counted.map_err(net::engine::no_answer)
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, test: TestPolicing| test.run(router));
}
