//! Cross-connects of layer 2 with a rewrite: frames of an interface go to a node, with bytes in
//! front of them.
#![forbid(unsafe_code)]

mod cli;

use graph::Cpu;
use graph::arc::Beside;
use net::interface::DEVICE_INPUT;
use net::prelude::*;

/// Node.
const NODE: &str = "l2-xcrw";
/// Longest bytes that are put in front.
const LONGEST: usize = 128;

/// Cross-connects of layer 2 with a rewrite.
pub const FEATURE: Feature = Feature {
    name: "l2xcrw",
    about: "Layer 2 cross-connects with a rewrite",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Cross-connect of the frames of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossConnect {
    /// The edge to the node.
    slot: Slot,
    /// Node.
    node: String,
    /// The interface whose output it is.
    tx: Option<u32>,
    /// Bytes that are put in front.
    front: Box<[u8]>,
}

/// The way of the frames of an interface, if they have one of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten(Option<CrossConnect>);

/// Reasons why a cross-connect is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no such node: {0}
    #[retval(NO_SUCH_NODE)]
    NoNode(String),
    /// at most 128 bytes can be prepended, not {0}
    #[retval(INVALID_VALUE)]
    TooLong(usize),
    /// the interface has no such cross-connect
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
}

impl CrossConnect {
    /// The name of the node: that of an interface is called as it is now.
    fn node(&self, router: &Router) -> String {
        let suffix = self.node.rsplit_once('-').map_or("", |(_, suffix)| suffix);
        self.tx.map_or_else(
            || self.node.clone(),
            |tx| format!("{}-{suffix}", router.interfaces.name(tx)),
        )
    }
}

/// Sends frames of an interface to a node with these bytes in front.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    node: &str,
    front: &[u8],
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if front.len() > LONGEST {
        return Err(Error::TooLong(front.len()));
    }
    let unknown = || Error::NoNode(node.to_owned());
    router.engine.index_of(node).filter(|_| node != NODE).ok_or_else(unknown)?;
    let slot = router.engine.connect(NODE, node).map_err(|_| unknown())?;
    let of_output = node.strip_suffix("-output").or_else(|| node.strip_suffix("-tx"));
    let tx = of_output.and_then(|name| router.interfaces.named(name)).map(|i| i.index.0);
    let connect = CrossConnect { slot, node: node.to_owned(), tx, front: front.into() };
    Ok(router.put(interface, Rewritten(Some(connect)))?)
}

/// Restores the usual path of an interface's frames.
///
/// # Errors
/// [`Error::Unknown`].
pub fn unset(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    router.setting::<Rewritten>(interface).0.ok_or(Error::Unknown)?;
    Ok(router.put(interface, Rewritten(None))?)
}

/// Drops of [`Xcrw`].
#[derive(Clone, Copy, graph::Reason)]
enum Drop {
    /// Packets dropped.
    #[name("Packets dropped")]
    Dropped,
}

/// Counters of [`Xcrw`].
#[derive(Clone, Copy, graph::Count)]
enum Count {
    /// Packets forwarded.
    #[name("Packets forwarded")]
    Forwarded,
}

/// Edges of [`Xcrw`].
#[derive(Clone, Copy, graph::Next)]
enum Next {
    /// The node that was named.
    #[dynamic]
    To(Slot),
}

/// Gives frames to the node of their interface.
#[derive(Clone)]
struct Xcrw(SlabReader<Rewritten>);

impl Node for Xcrw {
    const NAME: &'static str = NODE;
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Drop;
    type Count = Count;

    #[inline(always)]
    fn process<On: Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut count = 0;
        frame.each(|p| {
            let connect = self.0.read(p.rx(), epoch).and_then(|of| of.0.as_ref());
            let connect = connect.ok_or(Drop::Dropped)?;
            if !connect.front.is_empty() {
                p.make_room(connect.front.len())
                    .ok_or(Drop::Dropped)?
                    .copy_from_slice(&connect.front);
            }
            connect.tx.into_iter().for_each(|tx| p.set_tx(tx));
            count += 1;
            p.trace(|_| Given { bytes: connect.front.len() });
            Ok(Next::To(connect.slot))
        });
        frame.count(Count::Forwarded, count);
    }
}

struct Given {
    bytes: usize,
}

impl Record for Given {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  L2_XCRW: {} bytes in front", self.bytes)
    }
}

/// Frames that leave by an interface which is deleted are dropped from then on.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    let leaves =
        |of: &Rewritten| of.0.as_ref().is_some_and(|connect| connect.tx == Some(interface.0));
    let all = router.settings::<Rewritten>().filter(|(_, of)| leaves(of));
    for on in all.map(|(on, _)| on).collect::<Vec<_>>() {
        // It was there just now.
        let _ = router.put(on, Rewritten(None));
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let ways = router.attach::<Rewritten>().map_err(refuse)?;
    router.engine.add(Xcrw(ways)).map_err(refuse)?;
    let beside = Beside::Before("l2-patch");
    router.engine.place_beside(&DEVICE_INPUT, NODE, beside).map_err(refuse)?;
    let is_on = |of: &Rewritten| of.0.is_some();
    router.attach_at::<Rewritten, _>([AttachedAt { arc: &DEVICE_INPUT, node: NODE, is_on }]);
    router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    Ok(())
}
