//! `mpls-replicate` and its siblings: a copy of a packet for each path of a multicast route
//! (RFC 5332), or of a tunnel to many.

use net::fib::{Error, Followed, Object, Path, Popped};
use net::ip::{Balanced, Linked};
use net::prelude::*;

use super::Mpls;
use super::impose::Labelled;

/// Longest packet that is copied, in bytes.
const LONGEST: usize = 1 << 16;

/// The load balances of a packet's copies, each of which follows one path.
#[derive(Debug)]
pub struct Copies {
    /// The object that makes them.
    pub object: Object,
    paths: Vec<Followed>,
}

/// Makes an object that sends a copy over each path.
///
/// # Errors
/// No room, a missing table.
pub fn make(router: &mut Router, _: Link, paths: &[Path]) -> Result<Copies, Error> {
    let mut followed = Vec::with_capacity(paths.len());
    for path in paths {
        match router.follow_paths(std::slice::from_ref(path), None) {
            Ok(one) => followed.push(one),
            Err(e) => {
                followed.into_iter().for_each(|one| router.unfollow(one));
                return Err(e);
            }
        }
    }
    let balances: Box<[u32]> = followed.iter().map(Followed::load_balance).collect();
    let mpls = router.own_mut::<Mpls>();
    let kind = mpls.objects.kinds.replicate;
    match mpls.copies.insert(balances) {
        Ok(index) => Ok(Copies { object: Object { kind, index }, paths: followed }),
        Err(_) => {
            followed.into_iter().for_each(|one| router.unfollow(one));
            Err(Error::Full)
        }
    }
}

/// Gives it up.
pub fn end(router: &mut Router, copies: Copies) {
    router.own_mut::<Mpls>().copies.remove(copies.object.index);
    copies.paths.into_iter().for_each(|one| router.unfollow(one));
}

/// The kind of packets that are copied.
pub trait Copied: Linked {
    /// The node that copies.
    const REPLICATE: &'static str;
}

impl Copied for V4 {
    const REPLICATE: &'static str = "ip4-mpls-replicate";
}
impl Copied for V6 {
    const REPLICATE: &'static str = "ip6-mpls-replicate";
}
impl Copied for Labelled {
    const REPLICATE: &'static str = "mpls-replicate";
}

/// Makes copies.
#[derive(Clone)]
pub struct Replicate<C> {
    copies: SlabReader<Box<[u32]>>,
    /// The packet being copied.
    bytes: Box<[u8]>,
    kind: C,
}

/// Drops of [`Replicate`], and copies that could not be made.
#[derive(Clone, Copy, graph::Reason)]
pub enum ReplicateError {
    /// Buffer Allocation Failure.
    #[name("Buffer Allocation Failure")]
    NoBuffer,
}

impl<C: Copied> Node for Replicate<C> {
    const NAME: &'static str = C::REPLICATE;
    const EXPLAINABLE: bool = true;
    type Next = Balanced<C>;
    type Error = ReplicateError;
    type Count = Infallible;
    const DROP: &'static str = "error-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let (bytes, kind) = (&mut self.bytes, self.kind);
        frame.each(|p| {
            let index = p.adjacency();
            let copies = self.copies.read(index, epoch).map_or(&[][..], |all| all);
            let (last, others) = copies.split_last().ok_or(ReplicateError::NoBuffer)?;
            p.trace(|_| ReplicateTrace { index, count: copies.len() });
            let (popped, flags, hash) = (Popped::of(p), p.flags(), p.flow_hash());
            let mut len = 0;
            for segment in p.segments().take_while(|_| !others.is_empty()) {
                let place = bytes.get_mut(len..len + segment.len());
                place.ok_or(ReplicateError::NoBuffer)?.copy_from_slice(segment);
                len += segment.len();
            }
            for balance in others {
                let made = p.fresh().and_then(|mut new| {
                    new.extend(bytes.get(..len)?)?;
                    new.set_adjacency(*balance);
                    new.add_flags(Flags(flags.0 & Flags::LOCAL.with(Flags::HASH).0));
                    new.set_flow_hash(hash);
                    if let Some(popped) = popped {
                        new.set_payload(popped);
                        new.add_flags(Flags::POPPED);
                    }
                    new.send(Balanced::Onward(kind));
                    Some(())
                });
                if made.is_none() {
                    p.error(ReplicateError::NoBuffer);
                }
            }
            p.set_adjacency(*last);
            Ok(Balanced::Onward(kind))
        });
    }
}

struct ReplicateTrace {
    index: u32,
    count: usize,
}

impl Record for ReplicateTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  replicate: {} buckets:{}", self.index, self.count)
    }
}

/// Adds the node for packets of a link.
pub(super) fn add<C: Copied>(
    router: &mut Router,
    kind: C,
    copies: SlabReader<Box<[u32]>>,
) -> Result<(), BuildError> {
    let bytes = vec![0; LONGEST].into();
    router.engine.add(Replicate { copies, bytes, kind })?;
    Ok(())
}
