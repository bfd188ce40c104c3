//! `trace-filtering`.

use graph::arc::Along;
use graph::{Cpu, Edge};
use net::prelude::*;

pub const NAME: &str = "trace-filtering";

/// Starts traces.
#[derive(Clone)]
pub struct Filtering;

/// To the next feature of the packet's arc: of IPv4, or of IPv6.
#[derive(Clone, Copy)]
pub struct Next {
    is_ip6: bool,
}

impl graph::Next for Next {
    const EDGES: &'static [Edge] = &[];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        along.next_on(if self.is_ip6 { &IP6_UNICAST } else { &IP4_UNICAST }, p)
    }
}

impl Node for Filtering {
    const NAME: &'static str = NAME;
    const STARTS_TRACES: bool = true;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(
            #[inline(always)]
            |p| {
                p.start_trace_inside(epoch);
                Ok(Next { is_ip6: p.bytes().first().is_some_and(|byte| byte >> 4 == 6) })
            },
        );
    }
}
