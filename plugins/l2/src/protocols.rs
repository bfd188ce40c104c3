//! `l2-input-feat-arc` and `l2-output-feat-arc`: frames take the features of an arc of their own
//! each for IPv4, IPv6 and everything else, and go on behind them at nodes called `…-end`.

use graph::Engine;
use graph::arc::{Beside, FeatureArc};
use net::ethernet::{
    L2_INPUT, L2_INPUT_IP4, L2_INPUT_IP6, L2_INPUT_NONIP, L2_OUTPUT, L2_OUTPUT_IP4, L2_OUTPUT_IP6,
    L2_OUTPUT_NONIP,
};
use net::prelude::*;
use wire::upper;

/// The arcs of received (0) and sent (1) frames, by protocol.
const ARCS: [[&FeatureArc; 3]; 2] = [
    [&L2_INPUT_IP4, &L2_INPUT_IP6, &L2_INPUT_NONIP],
    [&L2_OUTPUT_IP4, &L2_OUTPUT_IP6, &L2_OUTPUT_NONIP],
];
/// The arcs that these are a part of.
const AROUND: [&FeatureArc; 2] = [&L2_INPUT, &L2_OUTPUT];

/// Sorts received (`DIRECTION` 0) or sent (1) frames by protocol.
#[derive(Clone)]
pub struct Sort<const DIRECTION: usize>;

/// Ends of the arcs by protocol.
#[derive(Clone)]
pub struct End<const DIRECTION: usize>;

/// Edges of [`Sort`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// No feature by protocol.
    #[along]
    Continue,
    /// The first feature of the protocol.
    #[dynamic]
    First(Slot),
}

impl<const DIRECTION: usize> Node for Sort<DIRECTION> {
    const NAME: &'static str = ["l2-input-feat-arc", "l2-output-feat-arc"][DIRECTION];
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let starts = ARCS[DIRECTION].map(|arc| frame.start(arc));
        frame.each(|p| {
            // What was copied or made here knows no offsets.
            let which = match upper::payload(p.bytes()) {
                Some((EtherType::IP4, _)) => 0,
                Some((EtherType::IP6, _)) => 1,
                _ => 2,
            };
            let interface = if DIRECTION == 0 { p.rx() } else { p.tx() };
            Ok(starts[which].first(interface).map_or(Next::Continue, Next::First))
        });
    }
}

impl<const DIRECTION: usize> Node for End<DIRECTION> {
    const NAME: &'static str = ["l2-input-feat-arc-end", "l2-output-feat-arc-end"][DIRECTION];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.forward_all(Continue);
    }
}

fn add_direction<const DIRECTION: usize>(engine: &mut Engine) -> Result<(), BuildError> {
    engine.add_feature(AROUND[DIRECTION], Sort::<DIRECTION>)?;
    let behind = Beside::After(Sort::<DIRECTION>::NAME);
    engine.place_beside(AROUND[DIRECTION], End::<DIRECTION>::NAME, behind)?;
    engine.add(End::<DIRECTION>)?;
    ARCS[DIRECTION].iter().for_each(|arc| engine.declare(arc));
    Ok(())
}

pub(super) fn add(engine: &mut Engine) -> Result<(), BuildError> {
    add_direction::<0>(engine)?;
    add_direction::<1>(engine)
}
