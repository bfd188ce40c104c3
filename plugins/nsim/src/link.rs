//! Parameters of simulated links, and the words for them.

use net::prelude::*;

use super::api::one_of;

/// Packets that wait at most, on each thread.
pub(super) const MOST: f64 = (1 << 20) as f64;
/// Units of time, in seconds.
const TIMES: [(&str, f64); 6] =
    [("us", 1e-6), ("usec", 1e-6), ("ms", 1e-3), ("msec", 1e-3), ("s", 1.0), ("sec", 1.0)];
/// Units of bandwidth, in bits per second.
const BANDWIDTHS: [(&str, f64); 11] = [
    ("gbit", 1e9),
    ("gbps", 1e9),
    ("mbps", 1e6),
    ("kbps", 1e3),
    ("bps", 1.0),
    ("mbit", 1e6),
    ("kbit", 1e3),
    ("bit", 1.0),
    ("gbyte", 8e9),
    ("mbyte", 8e6),
    ("kbyte", 8e3),
];

/// A number and its unit.
fn quantity(
    args: &mut Args<'_>,
    what: &str,
    units: &[(&str, f64)],
    usual: f64,
) -> Result<f64, Error> {
    let number: f64 = args.value(what)?;
    let unit = units.iter().find(|(word, _)| args.keyword(word)).map_or(usual, |(_, unit)| *unit);
    Ok(number * unit)
}

/// A link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Seconds that a packet takes.
    pub delay: f64,
    /// Bits per second.
    pub bandwidth: u64,
    /// Usual length of a packet, in bytes.
    pub packet_size: u32,
    /// Part of the packets that is lost.
    pub drop_fraction: f64,
    /// Part of the packets that is not late, or later than others.
    pub reorder_fraction: f64,
    /// Seconds that those are later than others; 0 where they are not late.
    pub reorder_delay: f64,
    /// Longest wait for the link, in seconds. Packets leave one by one then, as fast as the
    /// bandwidth allows; without it they only take the delay.
    pub buffer: Option<f64>,
    /// Probability at each packet that all are lost, and for how many seconds.
    pub burst: Option<(f64, f64)>,
    /// Seconds after the first packet when all are lost once, and for how many.
    pub outage: Option<(f64, f64)>,
    /// Bandwidth that the link falls to, how often in seconds, and for how many.
    pub stall: Option<(u64, f64, f64)>,
}

impl Link {
    /// Packets that are on the link at once.
    pub fn capacity(&self) -> usize {
        let bytes = self.bandwidth as f64 / 8.0 * self.buffer.unwrap_or(self.delay);
        (bytes / f64::from(self.packet_size.max(1)) + 1.0).min(MOST) as usize
    }
    /// Bandwidth at a time since the first packet.
    pub(super) fn bandwidth_at(&self, seconds: f64) -> f64 {
        let is_stalled =
            |(_, every, long): &(u64, f64, f64)| seconds >= *every && seconds % every < *long;
        let stall = self.stall.filter(is_stalled);
        stall.map_or(self.bandwidth, |(bandwidth, ..)| bandwidth) as f64
    }
    /// Reads its words.
    pub(super) fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut link = Self { packet_size: 1500, ..Self::default() };
        while !args.is_empty() {
            if args.keyword("delay") {
                link.delay = quantity(args, "delay", &TIMES, 1.0)?;
            } else if args.keyword("bandwidth") {
                link.bandwidth = quantity(args, "bandwidth", &BANDWIDTHS, 1.0)? as u64;
            } else if args.keyword("packet-size") {
                link.packet_size = args.value("packet size")?;
            } else if args.keyword("packets-per-drop") {
                let count = args.value("number of packets")?;
                // Beside a fraction, 0 is that none was given.
                if count > 0 || link.drop_fraction == 0.0 {
                    link.drop_fraction = one_of(count);
                }
            } else if args.keyword("drop-fraction") {
                link.drop_fraction = args.value("fraction")?;
            } else if args.keyword("packets-per-reorder") {
                link.reorder_fraction = one_of(args.value("number of packets")?);
            } else if args.keyword("reorder-fraction") {
                link.reorder_fraction = args.value("fraction")?;
            } else if !take_more(&mut link, args)? {
                return Err(args.unknown());
            }
        }
        if link.burst.is_some_and(|(_, long)| long == 0.0) {
            return Err(args.error("expected burst-duration with burst-loss-prob"));
        }
        Ok(link)
    }
    /// Writes its words.
    pub(super) fn print(&self, line: &mut Line<'_>) {
        line.option("delay", Some(&self.delay)).option("bandwidth", Some(&self.bandwidth));
        line.option("packet-size", Some(&self.packet_size));
        let fractions =
            [("drop-fraction", &self.drop_fraction), ("reorder-fraction", &self.reorder_fraction)];
        for (word, fraction) in fractions {
            line.option(word, Some(fraction).filter(|f| **f > 0.0));
        }
        line.option("reorder-delay", Some(&self.reorder_delay).filter(|time| **time > 0.0));
        line.option("buffer", self.buffer.as_ref());
        if let Some((probability, long)) = &self.burst {
            line.keyword("burst-loss-prob", probability).keyword("burst-duration", long);
        }
        if let Some((after, long)) = &self.outage {
            line.word("drop-once").keyword("after", after).keyword("for", long);
        }
        if let Some((bandwidth, every, long)) = &self.stall {
            line.word("rate-stall").keyword("bandwidth", bandwidth).keyword("every", every);
            line.keyword("for", long);
        }
    }
}

fn time(args: &mut Args<'_>) -> Result<f64, Error> {
    quantity(args, "time", &TIMES, 1.0)
}

/// A keyword, and the time behind it.
fn time_behind(keyword: &str, args: &mut Args<'_>) -> Result<f64, Error> {
    if !args.keyword(keyword) {
        return Err(args.error(format_args!("expected {keyword}")));
    }
    time(args)
}

/// Takes a word about queues, bursts or times; false if it is none.
fn take_more(link: &mut Link, args: &mut Args<'_>) -> Result<bool, Error> {
    let burst = link.burst.unwrap_or_default();
    if args.keyword("buffer") {
        link.buffer = Some(time(args)?);
    } else if args.keyword("reorder-delay") {
        link.reorder_delay = time(args)?;
    } else if args.keyword("burst-loss-prob") {
        link.burst = Some((args.value("probability")?, burst.1));
    } else if args.keyword("burst-duration") {
        link.burst = Some((burst.0, time(args)?));
    } else if args.keyword("drop-once") {
        link.outage = Some((time_behind("after", args)?, time_behind("for", args)?));
    } else if args.keyword("rate-stall") {
        if !args.keyword("bandwidth") {
            return Err(args.error("expected bandwidth"));
        }
        let bandwidth = quantity(args, "bandwidth", &BANDWIDTHS, 1.0)? as u64;
        link.stall = Some((bandwidth, time_behind("every", args)?, time_behind("for", args)?));
    } else if args.keyword("poll-main-thread") {
        // The link is on the threads of its packets.
    } else if matches!(args.peek(), Some("drop-seq" | "wifi")) {
        return Err(args.error("losses are at random, in bursts or once, not"));
    } else {
        return Ok(false);
    }
    Ok(true)
}
