//! `nat44-ei-classify`: packets of interfaces that are both inside and outside.

use graph::{Frame, Node};
use translation::ARRIVED;

use crate::core::Core;
use crate::node::look;

/// Sends packets of interfaces that are both inside and outside to the node of their direction.
#[derive(Clone)]
pub struct Classify(pub Core);

/// Edges of [`Classify`].
#[derive(Clone, Copy, graph::Next)]
pub enum NextWay {
    /// From inside.
    #[to("nat44-ei-in2out")]
    In2Out,
    /// From outside.
    #[to("nat44-ei-out2in")]
    Out2In,
    /// It has been there.
    #[along]
    Along,
}

/// Counters of [`Classify`].
#[derive(Clone, Copy, graph::Count)]
pub enum Classified {
    /// next in2out.
    #[name("next in2out")]
    In2Out,
    /// next out2in.
    #[name("next out2in")]
    Out2In,
    #[expect(dead_code, reason = "clients know the counter; fragments wait elsewhere")]
    /// fragment cached.
    #[name("fragment cached")]
    Fragment,
}

impl Node for Classify {
    const NAME: &'static str = "nat44-ei-classify";
    const EXPLAINABLE: bool = true;
    type Next = NextWay;
    type Error = std::convert::Infallible;
    type Count = Classified;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let config = self.0.config.read(epoch);
        let mut counts = [0, 0];
        frame.each(
            #[inline(always)]
            |p| {
                if p.flags().has(ARRIVED) {
                    p.clear_flags(ARRIVED);
                    return Ok(NextWay::Along);
                }
                p.add_flags(ARRIVED);
                let is_inward = look(p, 0).is_some_and(|seen| config.is_external(&seen.flow));
                counts[usize::from(is_inward)] += 1;
                Ok(if is_inward { NextWay::Out2In } else { NextWay::In2Out })
            },
        );
        frame.count(Classified::In2Out, counts[0]);
        frame.count(Classified::Out2In, counts[1]);
    }
}
