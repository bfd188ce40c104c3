//! `tcp4-output`, `tcp6-output`: pass the router's own segments to the lookup; `tcp4-drop`,
//! `tcp6-drop`.

use std::convert::Infallible;

use graph::{Frame, Node};
use net::ip::Headers;

use super::super::stack::Stack;
use super::super::version::HostVersion;
use super::counted::Counted;

/// Sends segments to the lookup.
#[derive(Clone)]
pub struct Output<V> {
    /// Version.
    pub version: V,
    /// State of the threads, for work that the control thread runs at this node.
    pub stack: Stack,
}

/// Edges of [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: HostVersion> {
    /// The lookup.
    #[to(V::NODES.lookup)]
    Lookup(V),
}

impl<V: HostVersion> Node for Output<V> {
    const NAME: &'static str = super::OUTPUT[V::INDEX];
    type Next = Next<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = super::output::DROPS[V::INDEX];

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let sent = frame.len() as u64;
        frame.each(|p| {
            p.trace(Headers::<V>::of);
            Ok(Next::Lookup(self.version))
        });
        frame.count_as(Counted::PktsSent, sent);
    }
}

/// Names of the nodes where segments are dropped.
pub const DROPS: [&str; 2] = ["tcp4-drop", "tcp6-drop"];

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
    const NAME: &'static str = DROPS[V::INDEX];
    type Next = Dropped<V>;
    type Error = Counted;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.forward_all(Dropped::Drop(self.0));
    }
}
