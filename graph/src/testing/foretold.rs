//! Compares the explanation of a packet with its fate: for each packet that a test sends alone, so
//! that every drop in a test is explained with its reason.
//!
//! With `FERROVIA_FATES` in the environment a line for each drop reason that a node which may be
//! explained has, and for each that was met as foretold, is added to the file of that name:
//! `tools/fates.sh`. Small frames are explained as well then. Packets of a frame may change what
//! those behind them meet, so what was foretold for a frame counts where it is all that moved, and
//! is nothing that a test fails for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;

use crate::control::Engine;
use crate::explain::End;
use crate::{Buffer, NodeIndex};

/// Counters as they were, and what a packet is to add.
pub(super) struct Foretold {
    before: Vec<(u32, u64)>,
    counts: BTreeMap<u32, u64>,
    /// It was one packet: nothing else can have moved them.
    is_alone: bool,
}

/// Packets of a frame that is explained at most.
const FRAME: usize = 16;

impl Foretold {
    /// Explains packets. `None` where the explanation ends before the packet does: at a node that
    /// may not be run for it, other than a sink; and for frames, unless it is noted what was met.
    pub fn of(
        engine: &mut Engine,
        sinks: &[&'static str],
        at: NodeIndex,
        packets: &[Vec<u8>],
        prepare: impl FnOnce(&mut Buffer<'_>) + Clone,
    ) -> Option<Self> {
        let most = if is_noted() { FRAME } else { 1 };
        if packets.is_empty() || packets.len() > most {
            return None;
        }
        // Handing over is counted as it depends on the thread, and an explanation is on none.
        if engine.data_threads().len() > 1 {
            return None;
        }
        let mut counts = BTreeMap::new();
        for bytes in packets {
            explained(engine, sinks, at, bytes, prepare.clone(), &mut counts)?;
        }
        let before = engine.counters().map(|(index, _, _, n)| (index, n)).collect();
        Some(Self { before, counts, is_alone: packets.len() == 1 })
    }
    /// Checks that this is what has moved since.
    ///
    /// # Panics
    /// When it is not: that is a failed test.
    #[track_caller]
    pub fn expect(&self, engine: &Engine) {
        let before: BTreeMap<_, _> = self.before.iter().copied().collect();
        let mut met = String::new();
        for (index, node, text, now) in engine.counters() {
            let said = self.counts.get(&index).copied().unwrap_or(0);
            let moved = now.wrapping_sub(before.get(&index).copied().unwrap_or(0));
            if !self.is_alone && moved != said {
                return;
            }
            assert_eq!(moved, said, "{node}: {}: counted (left) and explained (right)", text.name);
            if said > 0 && text.severity == "error" {
                met += &format!("met\t{node}\t{}\n", text.name);
            }
        }
        note(&met);
    }
}

/// Adds up what packets made of this one would count; `None` where that is not known.
fn explained(
    engine: &mut Engine,
    sinks: &[&'static str],
    at: NodeIndex,
    bytes: &[u8],
    prepare: impl FnOnce(&mut Buffer<'_>) + Clone,
    counts: &mut BTreeMap<u32, u64>,
) -> Option<()> {
    let packets = engine.explain(at, bytes, prepare);
    for packet in &packets {
        let last = packet.steps.last()?;
        match packet.end {
            End::Ended => {}
            End::Stopped if sinks.contains(&engine.name_of(last.node)) => {}
            _ => return None,
        }
        for counted in packet.steps.iter().flat_map(|step| &step.counted) {
            *counts.entry(counted.index).or_default() += counted.by;
        }
    }
    (!packets.is_empty()).then_some(())
}

/// Notes the drop reasons of the nodes that may be explained.
pub(super) fn note_reasons(engine: &Engine) {
    if !is_noted() {
        return;
    }
    let explainable: BTreeSet<_> = engine.explainable().collect();
    let rows = engine
        .counters()
        .filter(|(_, node, text, _)| text.severity == "error" && explainable.contains(node));
    note(
        &rows.map(|(_, node, text, _)| format!("has\t{node}\t{}\n", text.name)).collect::<String>(),
    );
}

fn is_noted() -> bool {
    std::env::var_os("FERROVIA_FATES").is_some()
}

fn note(lines: &str) {
    let Some(path) = std::env::var_os("FERROVIA_FATES") else { return };
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(lines.as_bytes()));
    assert!(written.is_ok(), "FERROVIA_FATES: {written:?}");
}
