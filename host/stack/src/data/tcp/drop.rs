//! `tcp4-drop`, `tcp6-drop`: where segments are dropped.

use std::convert::Infallible;

use graph::{Frame, Node};

use super::super::version::HostVersion;
use super::counted::Counted;

/// Drops segments.
#[derive(Clone)]
pub struct Drop<V>(pub V);

/// Edges of [`Drop`].
#[derive(Clone, Copy, graph::Next)]
pub enum Dropped<V: HostVersion> {
    /// Dropped packets of the version.
    #[to(V::NODES.drop)]
    Drop(V),
}

impl<V: HostVersion> Node for Drop<V> {
    const NAME: &'static str = super::DROPS[V::INDEX];
    type Next = Dropped<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.forward_all(Dropped::Drop(self.0));
    }
}
