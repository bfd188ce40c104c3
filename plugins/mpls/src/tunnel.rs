//! Tunnels of labels: interfaces whose packets get labels and go over paths (RFC 4379 calls them
//! LSPs), one to one or one to many; those of layer 2 carry frames, pseudowires (RFC 4448).

use std::rc::Rc;

use net::adjacency::chain::Fixup;
use net::fib::{
    Followed, Forwarding4, NewKind, Object, ObjectEdges, ObjectKind, Path, Pop, RouteOf, Via, next,
};
use net::interface::{Counters, Kind, MAX_INTERFACES, NewInterface, Offloads};
use net::ip::{Chain, Encapsulation, Underlay};
use net::prelude::*;

use super::replicate::{self, Copies};
use super::{Error, Mpls};

/// Default MTU of a tunnel.
const MTU: u32 = 9000;
/// Length of a control word in bytes.
const CONTROL_WORD: usize = 4;

/// A tunnel.
pub struct Tunnel {
    /// Its number in its name.
    pub instance: u32,
    /// Its identifier, as operators give it.
    pub tag: String,
    /// Paths of its packets.
    pub paths: Vec<Path>,
    /// Whether all paths get them.
    pub is_multicast: bool,
    /// True to carry Ethernet frames.
    pub is_l2: bool,
    copies: Option<Copies>,
    /// The route that frames follow.
    frames: Option<Followed>,
}

/// All tunnels.
#[derive(Default)]
pub struct Tunnels {
    /// By interface.
    pub all: BTreeMap<InterfaceIndex, Tunnel>,
}

/// Parameters of a new tunnel.
pub struct NewTunnel {
    /// Its identifier, as operators give it.
    pub tag: String,
    /// Paths of its packets.
    pub paths: Vec<Path>,
    /// Whether all paths get them.
    pub is_multicast: bool,
    /// True to carry Ethernet frames.
    pub is_l2: bool,
    /// Its number in its name; the first that is free unless given.
    pub instance: Option<u32>,
}

/// Headers in front of packets of a tunnel: none, they get labels on their paths.
struct Labels {
    paths: Box<[Path]>,
}

impl Encapsulation for Labels {
    fn chain(&self, link: Link, _: IpAddr) -> Option<Chain> {
        if link == Link::Ethernet {
            return None;
        }
        let paths = self.paths.iter().map(|p| p.with_link(link)).collect();
        let (header, fixup) = (Box::default(), Fixup::Own(|_, _| (), 0));
        let to = Underlay::Paths(link, paths);
        Some(Chain { header, fixup, carries_offloads: false, to })
    }
}

/// The load balance that frames of each interface follow.
struct Frames(SharedSlab<u32>);

/// The frames of which interface, and whether a control word is in front of them, by the number of
/// the object; how many hold it.
struct Received {
    kind: ObjectKind,
    all: super::objects::Interned<(u32, bool)>,
}

/// Makes a tunnel.
///
/// # Errors
/// No room, paths that cannot be.
pub fn add(router: &mut Router, new: NewTunnel) -> Result<(InterfaceIndex, u32), Error> {
    let used: Vec<u32> = router.own::<Mpls>().tunnels.all.values().map(|t| t.instance).collect();
    let free = || (0..).find(|i| !used.contains(i)).unwrap_or_default();
    let instance = new.instance.unwrap_or_else(free);
    if used.contains(&instance) {
        return Err(Error::InUse(instance));
    }
    let kind = if new.is_l2 { Kind::Ethernet } else { Kind::Ip };
    let [.., high, low] = instance.to_be_bytes();
    let mac = if new.is_l2 { MacAddr([2, 0xfe, 0, 0x4d, high, low]) } else { MacAddr::ZERO };
    let interface = NewInterface {
        name: format!("mpls-tunnel{instance}"),
        kind,
        hardware: "mpls-tunnel",
        mac,
        mtu: MTU,
        offloads: Offloads::default(),
        link_follows_admin: true,
    };
    let tx = Transmit(router.own::<Frames>().0.reader());
    let made = router.add_interface(interface, tx);
    let index = made.map_err(|_| Error::Fib(net::fib::Error::Full))?;
    let NewTunnel { tag, is_multicast, is_l2, paths, .. } = new;
    let tunnel = Tunnel {
        instance,
        tag,
        paths: Vec::new(),
        is_multicast,
        is_l2,
        copies: None,
        frames: None,
    };
    router.own_mut::<Mpls>().tunnels.all.insert(index, tunnel);
    if !paths.is_empty()
        && let Err(e) = set_paths(router, index, paths)
    {
        router.remove_interface(index);
        return Err(e);
    }
    Ok((index, instance))
}

/// Sets the paths of a tunnel's packets.
///
/// # Errors
/// A missing tunnel, no room.
pub fn set_paths(
    router: &mut Router,
    interface: InterfaceIndex,
    paths: Vec<Path>,
) -> Result<(), Error> {
    let tunnel = router.own::<Mpls>().tunnels.all.get(&interface).ok_or(Error::NoTunnel)?;
    let (is_multicast, is_l2) = (tunnel.is_multicast, tunnel.is_l2);
    let copies = is_multicast.then(|| replicate::make(router, Link::Mpls, &paths));
    let copies = copies.transpose()?;
    let own = match &copies {
        Some(copies) => vec![Path::to(Target::Object(copies.object))],
        None => paths.clone(),
    };
    if is_l2 {
        let followed = router.follow_paths(&own, None)?;
        let balance = followed.load_balance();
        router.own_mut::<Frames>().0.put(interface.0, Some(balance));
        let tunnel = router.own_mut::<Mpls>().tunnels.all.get_mut(&interface);
        let old = tunnel.and_then(|t| t.frames.replace(followed));
        old.into_iter().for_each(|old| router.unfollow(old));
    } else {
        router.encapsulate(interface, Rc::new(Labels { paths: own.into() }));
    }
    let tunnel = router.own_mut::<Mpls>().tunnels.all.get_mut(&interface);
    let old = tunnel.and_then(|t| {
        t.paths = paths;
        std::mem::replace(&mut t.copies, copies)
    });
    old.into_iter().for_each(|old| replicate::end(router, old));
    Ok(())
}

/// Gives a tunnel further paths.
///
/// # Errors
/// As for [`set_paths`].
pub fn add_paths(
    router: &mut Router,
    interface: InterfaceIndex,
    new: Vec<Path>,
) -> Result<(), Error> {
    let tunnel = router.own::<Mpls>().tunnels.all.get(&interface).ok_or(Error::NoTunnel)?;
    let mut paths = tunnel.paths.clone();
    paths.retain(|p| new.iter().all(|n| n.target != p.target));
    paths.extend(new);
    set_paths(router, interface, paths)
}

/// Whether a tunnel carries frames.
///
/// # Errors
/// A missing tunnel.
pub fn is_l2(router: &Router, interface: InterfaceIndex) -> Result<bool, Error> {
    let tunnel = router.own::<Mpls>().tunnels.all.get(&interface);
    tunnel.map(|t| t.is_l2).ok_or(Error::NoTunnel)
}

/// Deletes a tunnel.
///
/// # Errors
/// A missing tunnel.
pub fn remove(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    if !router.own::<Mpls>().tunnels.all.contains_key(&interface) {
        return Err(Error::NoTunnel);
    }
    router.remove_interface(interface);
    Ok(())
}

/// Forgets the tunnel of an interface that is deleted.
fn forget(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Deleting {
        return;
    }
    let Some(gone) = router.own_mut::<Mpls>().tunnels.all.remove(&interface) else { return };
    router.own_mut::<Frames>().0.put(interface.0, None);
    gone.frames.into_iter().for_each(|followed| router.unfollow(followed));
    gone.copies.into_iter().for_each(|copies| replicate::end(router, copies));
}

/// Purpose of the paths of a tunnel.
pub fn route_of(is_l2: bool) -> RouteOf {
    RouteOf::Link(if is_l2 { Link::Ethernet } else { Link::Ip4 })
}

/// Object that has frames below a label received on an interface.
pub fn receive(router: &mut Router, path: &Path, pop: Pop) -> Option<Via> {
    let Target::InterfaceRx { interface } = path.target else { return Some(Via::Drop) };
    let received = router.own_mut::<Received>();
    let index = received.all.hold((interface.0, pop.has_control_word))?;
    Some(Via::Object(Object { kind: received.kind, index }))
}

/// Gives up what [`receive`] gave; false for what is none of it.
pub fn release(router: &mut Router, wrap: Via) -> bool {
    let received = router.own_mut::<Received>();
    match wrap {
        Via::Object(Object { kind, index }) if kind == received.kind => {
            received.all.release(index);
            true
        }
        _ => false,
    }
}

/// The end of a tunnel's output: frames follow its paths.
#[derive(Clone)]
struct Transmit(SlabReader<u32>);

/// Edges of [`Transmit`].
#[derive(Clone, Copy, graph::Next)]
enum Sent {
    /// Frames of a tunnel of layer 2.
    #[to("l2-load-balance")]
    Frames,
}

/// Drops of [`Transmit`].
#[derive(Clone, Copy, graph::Reason)]
enum TransmitError {
    /// not a tunnel for frames.
    #[name("not a tunnel for frames")]
    NoFrames,
}

impl Node for Transmit {
    const NAME: &'static str = "mpls-tunnel-tx";
    const EXPLAINABLE: bool = true;
    type Next = Sent;
    type Error = TransmitError;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let balance = self.0.read(p.tx(), epoch).ok_or(TransmitError::NoFrames)?;
            p.set_adjacency(*balance);
            p.clear_flags(Flags::POPPED);
            Ok(Sent::Frames)
        });
    }
}

/// `l2-load-balance`: frames on to objects.
#[derive(Clone)]
struct Balance {
    balances: Forwarding4,
    objects: ObjectEdges,
}

/// Edges of [`Balance`].
#[derive(Clone, Copy, graph::Next)]
enum BalanceNext {
    /// Nowhere.
    #[to("error-drop")]
    Drop,
    /// To an object.
    #[dynamic]
    Object(Slot),
}

impl Node for Balance {
    const NAME: &'static str = "l2-load-balance";
    const EXPLAINABLE: bool = true;
    type Next = BalanceNext;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let balance = self.balances.load_balance(p.adjacency(), epoch);
            let hash = p.bytes().iter().take(12).fold(0, |h, b| next(h ^ u32::from(*b)));
            let Via::Object(object) = balance.choose(hash) else { return Ok(BalanceNext::Drop) };
            p.set_adjacency(object.index);
            Ok(self.objects.slot(object.kind, epoch).map_or(BalanceNext::Drop, BalanceNext::Object))
        });
    }
}

/// `interface-rx-dpo-l2`: frames below labels are received on a tunnel.
#[derive(Clone)]
struct Receive {
    all: SlabReader<(u32, bool)>,
    counters: Arc<Counters>,
}

/// The edge of [`Receive`].
#[derive(Clone, Copy, graph::Next)]
enum Input {
    /// As frames of any interface.
    #[to("ethernet-input")]
    Ethernet,
}

/// Drops of [`Receive`].
#[derive(Clone, Copy, graph::Reason)]
enum ReceiveError {
    /// too short.
    #[name("too short")]
    TooShort,
}

impl Node for Receive {
    const NAME: &'static str = "interface-rx-dpo-l2";
    const EXPLAINABLE: bool = true;
    type Next = Input;
    type Error = ReceiveError;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let received = self.counters.rx.row(frame.thread());
        frame.each(|p| {
            let (rx, has_control_word) =
                *self.all.read(p.adjacency(), epoch).ok_or(ReceiveError::TooShort)?;
            p.clear_flags(Flags::POPPED);
            if has_control_word {
                p.advance(CONTROL_WORD).ok_or(ReceiveError::TooShort)?;
            }
            p.set_rx(rx);
            if let Some(counter) = received.get(rx as usize) {
                counter.add(1, p.total_len() as u64);
            }
            p.trace(|_| Entered(rx));
            Ok(Input::Ethernet)
        });
    }
}

struct Entered(u32);

impl Record for Entered {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", names.name("interface", self.0))
    }
}

fn describe(router: &Router, index: u32) -> String {
    let interface = router.own::<Received>().all.at(index).map_or(0, |of| of.0);
    format!("interface-rx-dpo: l2: {}", router.interfaces.name(interface))
}

pub(super) fn register(router: &mut Router) -> Result<(), BuildError> {
    let no_memory = |_: std::io::Error| BuildError::NoMemory("mpls");
    let all = super::objects::Interned::new().map_err(no_memory)?;
    let counters = router.interfaces.counters();
    router.engine.add(Receive { all: all.reader(), counters })?;
    router.add_forwarder(Link::Ethernet, <Balance as Node>::NAME, |router, objects| Balance {
        balances: router.fib.forwarding(),
        objects,
    })?;
    let nodes = vec![(Link::Mpls, <Receive as Node>::NAME.to_owned())];
    let kind = router.add_object_kind(NewKind { nodes, describe })?;
    router.insert(Received { kind, all });
    router.insert(Frames(SharedSlab::new(MAX_INTERFACES).map_err(no_memory)?));
    router.interfaces.observe(forget);
    Ok(())
}
