//! `mactime`, `mactime-tx`: frames of devices that may not pass are dropped.

use net::interface::{DEVICE_INPUT, INTERFACE_OUTPUT};
use net::prelude::*;
use wire::upper::{Upper, ip_offset};

use super::device::{Counters, Rule, Table, Verdict};

/// The nodes: of what interfaces receive, and of what they send.
pub const NAMES: [&str; 2] = ["mactime", "mactime-tx"];
/// The port that some devices look for each other at.
const PORT: [u8; 2] = 10_001u16.to_be_bytes();

/// Judges frames.
#[derive(Clone)]
pub struct Judge<const TX: usize> {
    table: Reader<Table>,
    counters: Counters,
}

/// Edges of [`Judge`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// It passes.
    #[along]
    On,
}

/// Drops.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// Static drop packets.
    #[name("Static drop packets")]
    Static,
    /// Range drop packets.
    #[name("Range drop packets")]
    Range,
    /// Data quota drop packets.
    #[name("Data quota drop packets")]
    Quota,
    /// Dropped UDP DST-port 10001.
    #[name("Dropped UDP DST-port 10001")]
    Udp,
}

/// Counters besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// Permitted packets.
    #[name("Permitted packets")]
    Permitted,
}

/// Whether a frame is UDP to [`PORT`].
#[cold]
fn is_udp_10001(frame: &[u8]) -> bool {
    let packet = ip_offset(frame).and_then(|at| frame.get(at..)).unwrap_or(&[]);
    let upper = Upper::of(packet).filter(|upper| upper.protocol == Protocol::UDP);
    let port = upper.and_then(|upper| packet.get(upper.offset + 2..upper.offset + 4));
    port == Some(&PORT)
}

/// Why a frame of a device does not pass.
#[inline(always)]
fn judge(rule: &Rule, counters: &Counters, frame: &[u8]) -> Result<(), Error> {
    match rule.verdict {
        Verdict::DropStatic => return Err(Error::Static),
        Verdict::DropRange => return Err(Error::Range),
        Verdict::AllowUpTo(most) if counters.allowed.sum(rule.column as usize).bytes >= most => {
            return Err(Error::Quota);
        }
        _ => {}
    }
    if rule.no_udp_10001 && is_udp_10001(frame) { Err(Error::Udp) } else { Ok(()) }
}

impl<const TX: usize> Node for Judge<TX> {
    const NAME: &'static str = NAMES[TX];
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let Self { table, counters } = self;
        let table = table.read(epoch);
        let rows = (counters.allowed.row(thread), counters.dropped.row(thread));
        let mut permitted = 0;
        frame.each(|p| {
            // The destination is in front of the source.
            let at = if TX == 0 { 6 } else { 0 };
            let mac = p.bytes().get(at..).and_then(|bytes| bytes.first_chunk());
            let rule = mac.and_then(|mac| table.get(&MacAddr(*mac)));
            let Some(rule) = rule else {
                permitted += 1;
                return Ok(Next::On);
            };
            let judged = judge(rule, counters, p.bytes());
            let row = if judged.is_ok() { rows.0 } else { rows.1 };
            if let Some(counter) = row.get(rule.column as usize) {
                counter.add(1, p.total_len() as u64);
            }
            judged?;
            permitted += 1;
            Ok(Next::On)
        });
        frame.count(Count::Permitted, permitted);
    }
}

/// Adds the nodes.
pub(super) fn add(
    router: &mut Router,
    table: &Shared<Table>,
    counters: &Counters,
) -> Result<(), BuildError> {
    let engine = &mut router.engine;
    let input = Judge::<0> { table: table.reader(), counters: counters.clone() };
    let output = Judge::<1> { table: table.reader(), counters: counters.clone() };
    engine.add_feature(&DEVICE_INPUT, input)?;
    engine.add_feature(&INTERFACE_OUTPUT, output)?;
    Ok(())
}
