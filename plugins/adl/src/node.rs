//! `adl-input`: counts what is looked at; `ip4-adl-allowlist`, `ip6-adl-allowlist`: drop packets
//! from sources that are not listed; `default-adl-allowlist`: lets all other protocols pass.

use graph::arc::Beside;
use net::ethernet::Tagged;
use net::interface::DEVICE_INPUT;
use net::ip::{ReversePath, ReversePaths, SourceFamily};
use net::prelude::*;

use super::Lists;

/// The nodes, in the order of the arc.
pub(super) const NAMES: [&str; 4] =
    ["adl-input", "ip4-adl-allowlist", "ip6-adl-allowlist", "default-adl-allowlist"];

/// Counts what is looked at.
#[derive(Clone)]
pub struct Input;

/// Counters of [`Input`].
#[derive(Clone, Copy, graph::Count)]
pub enum InputCount {
    /// Allow/Deny packets processed.
    #[name("Allow/Deny packets processed")]
    Processed,
}

impl Node for Input {
    const NAME: &'static str = NAMES[0];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Infallible;
    type Count = InputCount;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let count = frame.len() as u64;
        frame.each(|_| Ok(Continue));
        frame.count(InputCount::Processed, count);
    }
}

/// Lets other protocols pass.
#[derive(Clone)]
pub struct Default;

impl Node for Default {
    const NAME: &'static str = NAMES[3];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Ok(Continue));
    }
}

/// A version whose sources are listed.
pub trait Listed: SourceFamily {
    /// Position of the table in [`Lists`], and of the node behind the first name.
    const PLACE: usize;
    /// The type of its frames.
    const TYPE: EtherType;
    /// Its drops.
    type Dropped: graph::Reason;
    /// Its counters.
    type Allowed: graph::Count;
    /// The drop.
    const DROPPED: Self::Dropped;
    /// The counter.
    const ALLOWED: Self::Allowed;
}

/// Drops of IPv4.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error4 {
    /// ip4 allowlist dropped.
    #[name("ip4 allowlist dropped")]
    Dropped,
}

/// Counters of IPv4.
#[derive(Clone, Copy, graph::Count)]
pub enum Count4 {
    /// ip4 allowlist allowed.
    #[name("ip4 allowlist allowed")]
    Allowed,
}

/// Drops of IPv6.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error6 {
    /// ip6 allowlist dropped.
    #[name("ip6 allowlist dropped")]
    Dropped,
}

/// Counters of IPv6.
#[derive(Clone, Copy, graph::Count)]
pub enum Count6 {
    /// ip6 allowlist allowed.
    #[name("ip6 allowlist allowed")]
    Allowed,
}

impl Listed for Ip4 {
    const PLACE: usize = 0;
    const TYPE: EtherType = EtherType::IP4;
    type Dropped = Error4;
    type Allowed = Count4;
    const DROPPED: Error4 = Error4::Dropped;
    const ALLOWED: Count4 = Count4::Allowed;
}

impl Listed for Ip6 {
    const PLACE: usize = 1;
    const TYPE: EtherType = EtherType::IP6;
    type Dropped = Error6;
    type Allowed = Count6;
    const DROPPED: Error6 = Error6::Dropped;
    const ALLOWED: Count6 = Count6::Allowed;
}

/// Drops packets from sources that are not listed.
#[derive(Clone)]
pub struct Allowlist<F: Listed> {
    lists: SlabReader<Lists>,
    paths: ReversePaths<F>,
}

impl<F: Listed> Node for Allowlist<F> {
    const NAME: &'static str = NAMES[1 + F::PLACE];
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = F::Dropped;
    type Count = F::Allowed;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut allowed = 0;
        frame.each(|p| {
            let lists = self.lists.read(p.rx(), epoch);
            let Some((_, table)) = lists.and_then(|l| l.tables[F::PLACE]) else {
                return Ok(Continue);
            };
            let tagged = Tagged::read(p.bytes()).filter(|t| t.ethertype == F::TYPE);
            let Some(tagged) = tagged else { return Ok(Continue) };
            let packet = p.bytes().get(tagged.header_len()..).unwrap_or_default();
            let source = F::source_in(packet).ok_or(F::DROPPED)?;
            let path = self.paths.find(table.0, source, None, epoch);
            let is_allowed = matches!(path, ReversePath::Here | ReversePath::Proxied);
            p.trace(|_| Looked(is_allowed));
            if !is_allowed {
                return Err(F::DROPPED);
            }
            allowed += 1;
            Ok(Continue)
        });
        frame.count(F::ALLOWED, allowed);
    }
}

/// The trace record of the nodes.
struct Looked(bool);

impl Record for Looked {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "  adl: allowed" } else { "  adl: not listed" })
    }
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, lists: &SlabReader<Lists>) -> Result<(), BuildError> {
    let ip4 = Allowlist::<Ip4> { lists: lists.clone(), paths: ReversePaths::new(router) };
    let ip6 = Allowlist::<Ip6> { lists: lists.clone(), paths: ReversePaths::new(router) };
    let engine = &mut router.engine;
    engine.add_feature(&DEVICE_INPUT, Input)?;
    for pair in NAMES.windows(2) {
        engine.place_beside(&DEVICE_INPUT, pair[1], Beside::After(pair[0]))?;
    }
    engine.add(ip4)?;
    engine.add(ip6)?;
    engine.add(Default)?;
    Ok(())
}
