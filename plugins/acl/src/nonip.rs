//! `acl-plugin-in-nonip-l2`, `acl-plugin-out-nonip-l2`: frames other than IP pass by their type.

use graph::CounterText;
use net::ethernet::{L2_INPUT_NONIP, L2_OUTPUT_NONIP};
use net::prelude::*;
use wire::upper;

use super::Applied;

/// Names of the nodes for received and sent frames.
pub(super) const NAMES: [&str; 2] = ["acl-plugin-in-nonip-l2", "acl-plugin-out-nonip-l2"];

/// Lets frames of some types pass, received (`DIRECTION` 0) or sent (1) ones.
#[derive(Clone)]
pub struct Types<const DIRECTION: usize> {
    settings: SlabReader<Applied>,
}

/// Drops of [`Types`].
#[derive(Clone, Copy)]
pub enum Error<const DIRECTION: usize> {
    /// Their type is none of those.
    Dropped,
}

/// Counters of [`Types`] besides drops.
#[derive(Clone, Copy)]
pub enum Count<const DIRECTION: usize> {
    /// Their type is one of those.
    Permitted,
}

const fn counted(name: &'static str, severity: &'static str) -> CounterText {
    CounterText { name, text: name, severity }
}

impl<const DIRECTION: usize> graph::Reason for Error<DIRECTION> {
    const TEXTS: &'static [CounterText] = match DIRECTION {
        0 => &[counted("dropped inbound non-whitelisted non-ip packets", "error")],
        _ => &[counted("dropped outbound non-whitelisted non-ip packets", "error")],
    };
    fn index(self) -> usize {
        0
    }
}

impl<const DIRECTION: usize> graph::Count for Count<DIRECTION> {
    const TEXTS: &'static [CounterText] = match DIRECTION {
        0 => &[counted("permitted inbound whitelisted non-ip packets", "info")],
        _ => &[counted("permitted outbound whitelisted non-ip packets", "info")],
    };
    fn index(self) -> usize {
        0
    }
}

impl<const DIRECTION: usize> Node for Types<DIRECTION> {
    const NAME: &'static str = NAMES[DIRECTION];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Error<DIRECTION>;
    type Count = Count<DIRECTION>;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, mut permitted) = (frame.epoch(), 0);
        frame.each(|p| {
            let interface = if DIRECTION == 0 { p.rx() } else { p.tx() };
            let kind = upper::payload(p.bytes()).map_or(0, |(kind, _)| kind.get());
            let types =
                self.settings.read(interface, epoch).map(|applied| &applied.types[DIRECTION]);
            let passes = types.is_none_or(|types| types.is_empty() || types.contains(&kind));
            p.trace(|_| Sorted { interface, kind, passes });
            permitted += u64::from(passes);
            if passes { Ok(Continue) } else { Err(Error::Dropped) }
        });
        frame.count(Count::Permitted, permitted);
    }
}

/// The trace record of a node.
struct Sorted {
    interface: u32,
    kind: u16,
    passes: bool,
}

impl Record for Sorted {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, kind, passes } = self;
        let action = u8::from(*passes);
        write!(f, "  acl-plugin: sw_if_index {interface}, ethertype {kind:04x}, action: {action}")
    }
}

pub(super) fn add(router: &mut Router, settings: &SlabReader<Applied>) -> Result<(), BuildError> {
    let (input, output) =
        (Types::<0> { settings: settings.clone() }, Types::<1> { settings: settings.clone() });
    router.engine.add_feature(&L2_INPUT_NONIP, input)?;
    router.engine.add_feature(&L2_OUTPUT_NONIP, output)?;
    Ok(())
}
