//! Ends of the forwarding path: drop, punt, and IP that is not enabled.

use std::convert::Infallible;

use graph::{Frame, Node, Slot};

use super::{Forwarding, Version};

/// `ip4-drop`, `ip6-drop`: drops of their family's nodes.
#[derive(Clone)]
pub struct DropPacket<V>(pub V);

/// `ip4-punt`, `ip6-punt`: packets for control.
#[derive(Clone)]
pub struct Punt<V>(pub V);

/// `ip4-not-enabled`, `ip6-not-enabled`: packets of interfaces without the protocol.
#[derive(Clone)]
pub struct NotEnabled<V>(pub V);

/// Edges of [`DropPacket`].
#[derive(Clone, Copy, graph::Next)]
pub enum Dropping {
    /// Counted by interface.
    #[to("error-drop")]
    ErrorDrop,
    /// A feature.
    #[dynamic]
    Feature(Slot),
}

/// Edges of [`Punt`].
#[derive(Clone, Copy, graph::Next)]
pub enum Punting {
    /// Counted by interface.
    #[to("error-punt")]
    ErrorPunt,
    /// A feature.
    #[dynamic]
    Feature(Slot),
}

/// Drops of [`NotEnabled`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// protocol not enabled on the interface.
    NotEnabled,
}

impl<V: Version> Node for DropPacket<V> {
    const NAME: &'static str = V::NODES.drop;
    const EXPLAINABLE: bool = true;
    type Next = Dropping;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let arc = frame.start(V::DROP_ARC);
        frame.each(|p| {
            p.trace(Forwarding::<V>::of);
            let rx = p.rx();
            Ok(arc.first(rx).map_or(Dropping::ErrorDrop, Dropping::Feature))
        });
    }
}

impl<V: Version> Node for Punt<V> {
    const NAME: &'static str = V::NODES.punt;
    const EXPLAINABLE: bool = true;
    type Next = Punting;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let arc = frame.start(V::PUNT_ARC);
        frame.each(|p| {
            p.trace(Forwarding::<V>::of);
            let rx = p.rx();
            Ok(arc.first(rx).map_or(Punting::ErrorPunt, Punting::Feature))
        });
    }
}

impl<V: Version> Node for NotEnabled<V> {
    const NAME: &'static str = V::NODES.not_enabled;
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.trace(Forwarding::<V>::of);
            Err(Error::NotEnabled)
        });
    }
}
