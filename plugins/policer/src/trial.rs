//! `test policing`: the verdicts of a policer on a stream of packets of one size at a steady rate.
//!
//! The stream exists in numbers only, and so does its time: it begins with full buckets, and those
//! of the policer stay as they are. What is found is counted as if the packets had come.

use control::cli::{Args, Cli, Command, Error};
use infra::meter::{Color, Meter};

use super::cli::Named;
use net::Router;

/// Bytes of each packet.
const PACKET: usize = 500;
/// Packets at most.
const MOST: f64 = 1e6;
const COLORS: [Color; 3] = [Color::Green, Color::Yellow, Color::Red];

/// `test policing [name NAME | index INDEX] rate RATE burst BURST [colour COLOUR]`.
struct TestPolicing {
    policer: Named,
    kbps: f64,
    ms: f64,
    before: Color,
}

impl Command for TestPolicing {
    const PATHS: &'static [&'static str] = &["test policing"];
    const ABOUT: &'static str = "Count the verdicts of a policer on packets of 500 bytes at a rate \
        in kbit/s, for a time in ms, that were green (0), yellow (1) or red (2) before";
    const USAGE: &'static str = "[name <policer> | index <policer-index>] rate <kbps> burst <ms> \
        [colour <colour:0-2>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut policer, mut kbps, mut ms, mut before) = (None, None, None, Color::Green);
        while !args.is_empty() {
            if let Some(named) = Named::take(args)? {
                policer = Some(named);
            } else if args.keyword("rate") {
                kbps = Some(args.value::<u32>("rate")?);
            } else if args.keyword("burst") {
                ms = Some(args.value::<u32>("burst")?);
            } else if args.keyword("colour") {
                let at = *args;
                let color = COLORS.get(args.value::<usize>("colour")?);
                before = *color.ok_or_else(|| at.error("no colour but 0, 1 and 2:"))?;
            } else {
                return Err(args.unknown());
            }
        }
        let policer = policer.ok_or_else(|| args.error("expected name or index"))?;
        let kbps = kbps.filter(|kbps| *kbps > 0).ok_or_else(|| args.error("expected rate"))?;
        let ms = ms.ok_or_else(|| args.error("expected burst"))?;
        let (kbps, ms) = (f64::from(kbps), f64::from(ms));
        if kbps * ms / 8.0 / PACKET as f64 > MOST {
            return Err(Error::new(format!("more than {MOST:.0} packets")));
        }
        Ok(Self { policer, kbps, ms, before })
    }
}

impl TestPolicing {
    fn run(&self, router: &mut Router) -> Result<(), Error> {
        let index = self.policer.find(router)?;
        let config = super::at(router, index)?.config;
        let profile = config.profile().map_err(super::Error::Unfit)?;
        let meter = Meter::new(profile, 0.0);
        let seconds = PACKET as f64 * 8.0 / (self.kbps * 1e3); // from one packet to the next
        let count = (self.ms / 1e3 / seconds).round() as u64;
        let mut found = [0; 3];
        for i in 0..count {
            let color = config.color(&meter, i as f64 * seconds, PACKET, self.before);
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
