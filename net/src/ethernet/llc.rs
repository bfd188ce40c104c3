//! `llc-input` and `snap-input`: frames with a length where others have a type (IEEE 802.2, RFC
//! 1042). Features register for service access points, and for protocols of organisations.

use std::collections::HashSet;
use std::convert::Infallible;

use graph::{BuildError, Frame, Node, NodeIndex, Slot};
use infra::rcu::{Reader, Shared};

use crate::router::Router;

/// Node for frames with a length field.
pub(super) const LLC: &str = "llc-input";
const SNAP: &str = "snap-input";

/// Service access point of protocols identified by organization.
const SNAP_ADDRESS: u8 = 0xaa;
/// Unnumbered information.
const CONTROL: u8 = 3;

/// An organisation and its number for a protocol.
pub type SnapProtocol = [u8; 5];

/// Edges of [`SnapInput`] by protocol, in order.
type Edges = Vec<(SnapProtocol, Slot)>;
/// Edges of [`LlcInput`] by service access point.
type Points = Vec<(u8, Slot)>;

/// The protocols that features registered.
pub(super) struct SnapProtocols(Shared<Edges>);
/// The service access points that features registered.
pub(super) struct LlcPoints(Shared<Points>);

/// Reads the header of LLC.
#[derive(Clone)]
pub(super) struct LlcInput {
    points: Reader<Points>,
}

/// Edges of [`LlcInput`].
#[derive(Clone, Copy, graph::Next)]
pub(super) enum LlcNext {
    /// A protocol of an organisation follows.
    #[to("snap-input")]
    Snap,
    /// The node that registered for the service access point.
    #[dynamic]
    Point(Slot),
}

/// Drops of [`LlcInput`].
#[derive(Clone, Copy, graph::Reason)]
pub(super) enum LlcError {
    /// unknown llc ssap/dsap.
    #[name("unknown llc ssap/dsap")]
    UnknownAddress,
    /// control != 0x3.
    #[name("control != 0x3")]
    Control,
}

impl Node for LlcInput {
    const NAME: &'static str = LLC;
    const EXPLAINABLE: bool = true;
    type Next = LlcNext;
    type Error = LlcError;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let points = self.points.read(frame.epoch());
        frame.each(|p| {
            let Some(&[to, from, control]) = p.bytes().first_chunk() else {
                return Err(LlcError::UnknownAddress);
            };
            let next = match points.iter().find(|(point, _)| (*point, *point) == (to, from)) {
                Some((_, slot)) => LlcNext::Point(*slot),
                None if (to, from) == (SNAP_ADDRESS, SNAP_ADDRESS) => LlcNext::Snap,
                None => return Err(LlcError::UnknownAddress),
            };
            if control != CONTROL {
                return Err(LlcError::Control);
            }
            p.advance(3).ok_or(LlcError::UnknownAddress)?;
            Ok(next)
        });
    }
}

/// Sends frames to the protocols of organisations.
#[derive(Clone)]
pub(super) struct SnapInput {
    protocols: Reader<Edges>,
}

/// Edges of [`SnapInput`].
#[derive(Clone, Copy, graph::Next)]
pub(super) enum SnapNext {
    /// The node that registered for it.
    #[dynamic]
    Protocol(Slot),
}

/// Drops of [`SnapInput`].
#[derive(Clone, Copy, graph::Reason)]
pub(super) enum SnapError {
    /// unknown oui/snap protocol.
    #[name("unknown oui/snap protocol")]
    Unknown,
}

impl Node for SnapInput {
    const NAME: &'static str = SNAP;
    const EXPLAINABLE: bool = true;
    type Next = SnapNext;
    type Error = SnapError;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let protocols = self.protocols.read(frame.epoch());
        frame.each(|p| {
            let protocol = p.bytes().first_chunk::<5>().ok_or(SnapError::Unknown)?;
            let at = protocols.binary_search_by_key(protocol, |edge| edge.0);
            let to = protocols[at.map_err(|_| SnapError::Unknown)?].1;
            p.advance(5).ok_or(SnapError::Unknown)?;
            Ok(SnapNext::Protocol(to))
        });
    }
}

/// Forgets protocols whose nodes leave the graph.
fn forget(router: &mut Router, gone: &HashSet<NodeIndex>) {
    let mut edges = router.own::<SnapProtocols>().0.current().clone();
    edges.retain(|edge| {
        let node = router.engine.target_of(SNAP, edge.1);
        !node.is_some_and(|node| gone.contains(&node))
    });
    router.own_mut::<SnapProtocols>().0.publish(edges);
    let mut points = router.own::<LlcPoints>().0.current().clone();
    points.retain(|(_, slot)| {
        let node = router.engine.target_of(LLC, *slot);
        !node.is_some_and(|node| gone.contains(&node))
    });
    router.own_mut::<LlcPoints>().0.publish(points);
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router) -> Result<(), BuildError> {
    let protocols = SnapProtocols(Shared::new(Edges::new()));
    router.engine.add(SnapInput { protocols: protocols.0.reader() })?;
    let points = LlcPoints(Shared::new(Points::new()));
    router.engine.add(LlcInput { points: points.0.reader() })?;
    router.insert(protocols);
    router.insert(points);
    router.on_leaving.push(forget);
    Ok(())
}

impl Router {
    /// Sends frames to and from a service access point to `node`, headers stripped.
    ///
    /// # Errors
    /// A missing node.
    pub fn register_llc(&mut self, point: u8, node: &str) -> Result<(), BuildError> {
        let slot = self.engine.connect(LLC, node)?;
        let LlcPoints(points) = self.own_mut();
        let mut all = points.current().clone();
        all.retain(|(other, _)| *other != point);
        all.push((point, slot));
        points.publish(all);
        Ok(())
    }
    /// Sends frames of a protocol of an organization to `node`, headers stripped.
    ///
    /// # Errors
    /// A missing node.
    pub fn register_snap(&mut self, protocol: SnapProtocol, node: &str) -> Result<(), BuildError> {
        let slot = self.engine.connect(SNAP, node)?;
        let SnapProtocols(protocols) = self.own_mut();
        let mut edges = protocols.current().clone();
        edges.retain(|edge| edge.0 != protocol);
        edges.push((protocol, slot));
        edges.sort_unstable();
        protocols.publish(edges);
        Ok(())
    }
}
