//! OSI protocols: frames of LLC whose first byte says which protocol of ISO's network layer they
//! carry (ISO/IEC TR 9577), such as IS-IS. Features register for a protocol; nothing is done with
//! the others.

use std::collections::HashSet;

use graph::NodeIndex;
use net::prelude::*;

/// OSI protocols.
pub const FEATURE: Feature = Feature {
    name: "osi",
    about: "OSI protocols in LLC",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::None("features register for protocols"),
};

/// Service access point of LLC.
const POINT: u8 = 0xfe;
/// The numbers that are protocols.
const KNOWN: &[u8] = &[
    0x00, 0x01, 0x03, 0x08, 0x81, 0x82, 0x83, 0x85, 0x8a, 0x8c, 0x8d, 0x8e, 0xb0, 0xc1, 0xcc, 0xcf,
];

/// Whether a number is that of a protocol.
pub fn is_known(protocol: u8) -> bool {
    KNOWN.contains(&protocol)
}

/// Edges of [`Input`] by protocol.
type Edges = Vec<(u8, Slot)>;

/// The protocols that features registered for.
struct Protocols(Shared<Edges>);

/// Sends frames to the node that registered for their protocol.
#[derive(Clone)]
pub struct Input(Reader<Edges>);

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The node that registered.
    #[dynamic]
    To(Slot),
}

/// Drops of [`Input`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no error.
    #[name("no error")]
    None,
    /// unknown osi protocol.
    #[name("unknown osi protocol")]
    Unknown,
}

impl Node for Input {
    const NAME: &'static str = "osi-input";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let edges = self.0.read(frame.epoch());
        frame.each(|p| {
            let protocol = p.bytes().first().copied().ok_or(Error::Unknown)?;
            p.trace(|_| Seen(protocol));
            let edge = edges.iter().find(|(of, _)| *of == protocol);
            edge.map(|(_, slot)| Next::To(*slot)).ok_or(Error::Unknown)
        });
    }
}

/// Trace of a packet in the node.
struct Seen(u8);

impl Record for Seen {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  OSI protocol {:#04x}", self.0)
    }
}

/// Sends frames of a protocol to `node`, layer 2 headers stripped.
///
/// # Errors
/// A missing node.
pub fn register_protocol(router: &mut Router, protocol: u8, node: &str) -> Result<(), BuildError> {
    let slot = router.engine.connect(Input::NAME, node)?;
    let Protocols(edges) = router.own_mut();
    let mut all = edges.current().clone();
    all.retain(|(of, _)| *of != protocol);
    all.push((protocol, slot));
    edges.publish(all);
    Ok(())
}

/// Drops packets of a protocol again.
pub fn release_protocol(router: &mut Router, protocol: u8) {
    let Some(Protocols(edges)) = router.state_mut() else { return };
    let mut all = edges.current().clone();
    all.retain(|(of, _)| *of != protocol);
    edges.publish(all);
}

/// Forgets protocols whose nodes leave the graph.
fn forget(router: &mut Router, gone: &HashSet<NodeIndex>) {
    let Some(Protocols(edges)) = router.state() else { return };
    let mut all = edges.current().clone();
    all.retain(|(_, slot)| {
        let node = router.engine.target_of(Input::NAME, *slot);
        !node.is_some_and(|node| gone.contains(&node))
    });
    router.own_mut::<Protocols>().0.publish(all);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let edges = Shared::new(Edges::new());
    router.engine.add(Input(edges.reader())).map_err(refuse)?;
    router.register_llc(POINT, Input::NAME).map_err(refuse)?;
    router.insert(Protocols(edges));
    router.on_leaving.push(forget);
    Ok(())
}
