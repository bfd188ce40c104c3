//! A whole router that receives anything.

use std::sync::atomic::{AtomicBool, Ordering};

use control::process::Processes;
use net::{Parts, Router};

use super::packets;
use crate::Target;

/// Packets put in before it is looked whether all buffers are back.
const BATCH: u64 = 512;
/// Buffers that packets waiting for neighbours or for their other fragments may keep.
const MAY_WAIT: usize = 4096;

/// Set when a node panics: the engine catches that.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// The first byte of an input says what is set right before it is received: bit 0 the checksums,
/// bit 1 the destination MAC address; bit 2 has it traced.
pub struct Graphs {
    parts: Parts,
    pg0: u32,
    count: u64,
}

impl Graphs {
    /// A router with two interfaces, that forwards.
    pub fn new() -> Self {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICKED.store(true, Ordering::Relaxed);
            before(info);
        }));
        let mut parts = super::router();
        super::set_up(&mut parts);
        let pg0 = parts.router.interfaces.named("pg0").expect("it was made").index.0;
        Self { parts, pg0, count: 0 }
    }

    /// Packets dropped, counted by interface, and those that the drop nodes have seen.
    fn drops(&mut self) -> Result<(u64, u64), String> {
        let router = &mut self.parts.router;
        let interfaces: Vec<_> = router.interfaces.iter().map(|i| i.index).collect();
        let counted = interfaces.into_iter().map(|i| router.interfaces.values(i).drops).sum();
        let rows = router.engine.runtime_rows().map_err(|e| e.to_string())?;
        let nodes = rows.iter().flat_map(|row| &row.nodes);
        let seen = nodes.filter(|node| node.name == "drop").map(|node| node.stats.vectors).sum();
        Ok((counted, seen))
    }

    /// What must hold whenever nothing moves.
    fn check(&mut self) -> Result<(), String> {
        let router = &mut self.parts.router;
        let used = router.engine.pool_usage().map_err(|e| e.to_string())?.used;
        if used > MAY_WAIT {
            return Err(format!("{used} buffers do not come back"));
        }
        let (counted, seen) = self.drops()?;
        if counted != seen {
            return Err(format!("{counted} drops counted, {seen} packets dropped"));
        }
        let reply = self.parts.cli.run(&mut self.parts.router, "show trace\nclear trace");
        reply.result.map_err(|e| e.to_string())
    }

    /// Everything that waits is given up after a while; then all buffers must be back.
    fn let_time_pass(&mut self) -> Result<(), String> {
        for _ in 0..10 {
            let reply = self.parts.cli.run(&mut self.parts.router, "set clock adjust 100");
            reply.result.map_err(|e| e.to_string())?;
            self.settle();
        }
        let used = self.parts.router.engine.pool_usage().map_err(|e| e.to_string())?.used;
        if used > 0 { Err(format!("{used} buffers are never given back")) } else { Ok(()) }
    }

    fn settle(&mut self) {
        let router = &mut self.parts.router;
        for _ in 0..4 {
            router.engine.run_inline(8);
            router.handle_events();
            let now = router.now();
            Processes::run_due(router, |r: &mut Router| &mut r.processes, now);
        }
    }
}

impl Default for Graphs {
    fn default() -> Self {
        Self::new()
    }
}

impl Target for Graphs {
    const NAME: &'static str = "graphs";

    fn seeds(&self) -> Vec<Vec<u8>> {
        packets::all().into_iter().map(|packet| [&[7], packet.as_slice()].concat()).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let Some((how, frame)) = input.split_first() else { return Ok(()) };
        let mut frame = frame.to_vec();
        if how & 1 != 0 {
            packets::complete(&mut frame);
        }
        if how & 2 != 0
            && let Some(to) = frame.first_chunk_mut()
            && to[0] & 1 == 0
        {
            *to = [2, 0, 0, 0, 0, 0xaa];
        }
        let router = &mut self.parts.router;
        let node = router.engine.index_of("ethernet-input").ok_or("no ethernet-input")?;
        let (pg0, traced) = (self.pg0, how & 4 != 0);
        router.engine.inject(0, node, frame, move |p| {
            p.set_rx(pg0);
            if traced {
                p.add_flags(graph::Flags::TRACED);
            }
        });
        self.settle();
        if PANICKED.swap(false, Ordering::Relaxed) {
            return Err("a node panicked".to_owned());
        }
        self.count += 1;
        if self.count.is_multiple_of(BATCH) {
            self.check()?;
        }
        if self.count.is_multiple_of(BATCH * 32) {
            self.let_time_pass()?;
        }
        Ok(())
    }
}
