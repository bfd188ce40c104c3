//! Nodes of several tests.
#![allow(dead_code, reason = "no test has all of them")]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use graph::arc::FeatureArc;
use graph::{Frame, Node, Slot};

/// Edges of nodes that packets enter by.
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    #[to("end")]
    End,
    #[dynamic]
    To(Slot),
}

/// Takes packets along an arc.
#[derive(Clone)]
pub struct Start(pub &'static FeatureArc);

impl Node for Start {
    const NAME: &'static str = "start";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let arc = frame.start(self.0);
        frame.each(|p| Ok(arc.first(p.rx()).map_or(Next::End, Next::To)));
    }
}

/// Counts packets where all threads see it.
#[derive(Clone, Default)]
pub struct Tally(pub Arc<AtomicU64>);

impl Node for Tally {
    const NAME: &'static str = "tally";
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        self.0.fetch_add(frame.len() as u64, Relaxed);
        frame.consume(|_| Ok(()));
    }
}
