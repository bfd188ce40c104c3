//! Packets put together again.
//!
//! Fragments are held until all have arrived. The whole packet continues in the buffer of the one
//! that arrived last, whose place on the arc is known.
#![forbid(unsafe_code)]

use graph::{Buffer, Frame, Held};

use super::gather::{Entry, Gather, Method, New, Next, UNKNOWN};
use super::partial::{AddResult, Partial};
use super::pieces::{List, Piece};
use super::version::Reassemble;
use crate::drops::Problem;

/// Longest packet in bytes.
const LONGEST: usize = 40 + 65535;
/// Fragments that one can make superfluous, at most.
const REPLACED: usize = 256;

/// Puts packets together.
pub(super) struct Full {
    /// The packet at hand.
    whole: Vec<u8>,
    replaced: Vec<Held>,
}

/// Nothing is kept between two fragments.
impl Clone for Full {
    fn clone(&self) -> Self {
        Self { whole: Vec::with_capacity(LONGEST), replaced: Vec::with_capacity(REPLACED) }
    }
}

impl Entry for Partial {
    fn list(&mut self) -> &mut List {
        &mut self.list
    }
    fn since(&self) -> f64 {
        self.since
    }
    fn text(&self) -> String {
        format!("{} fragments since {:.3}", self.count, self.since)
    }
}

impl<V: Reassemble> Method<V> for Full {
    const TIMEOUT_PROBLEM: Option<Problem> = V::TIMEOUT_PROBLEM;
    type Packet = Partial;
    const PASSES_FIRST: bool = false;

    fn new() -> Self {
        Self { whole: Vec::new(), replaced: Vec::new() }.clone()
    }
    fn take_in<const PLACE: usize, On: graph::Cpu>(
        node: &mut Gather<V, Self, PLACE>,
        frame: &mut Frame<'_, Gather<V, Self, PLACE>, On>,
        new: New<V>,
    ) {
        let Some(at) = find_or_make(node, frame, &new) else {
            return frame.discard(new.piece.packet, V::LIMIT);
        };
        if node.table.at(at).is_some_and(|partial| partial.count >= new.config.longest) {
            return node.refuse(frame, at, new.piece.packet, V::TOO_MANY);
        }
        if !node.has_room(frame, new.rx, at) {
            return frame.discard(new.piece.packet, V::NO_BUFFERS);
        }
        let Some(partial) = node.table.at(at) else { return };
        let mut piece = new.piece;
        let carrier = piece.packet.buffer().index();
        let (may, replaced) = (V::MAY_OVERLAP, &mut node.method.replaced);
        match partial.add(&mut node.pieces, piece, new.is_last, may, replaced) {
            AddResult::Kept => {
                replaced.drain(..).for_each(|held| frame.release(held));
                if let Some(len) = partial.complete() {
                    finish(node, frame, at, carrier, len as usize);
                }
            }
            AddResult::Duplicate(held) => frame.discard(held, V::DUPLICATE),
            AddResult::Overlapping(held) => node.refuse(frame, at, held, V::OVERLAPPING),
            AddResult::Inconsistent(held) => node.refuse(frame, at, held, V::INCONSISTENT),
        }
    }
    fn take_only(p: &mut Buffer<'_>) {
        V::unwrap(p);
    }
}

/// The packet that a fragment belongs to. Where there is no room for a new one, an interface below
/// its share gets the place of the latest packet of one that has more. `None` when there may be
/// none.
fn find_or_make<V: Reassemble, const PLACE: usize, On: graph::Cpu>(
    node: &mut Gather<V, Full, PLACE>,
    frame: &mut Frame<'_, Gather<V, Full, PLACE>, On>,
    new: &New<V>,
) -> Option<u32> {
    if let Some(at) = node.find(frame, new) {
        return Some(at);
    }
    let limit = node.limit(&new.config);
    if node.table.len() >= limit {
        let (shares, share) = (node.table.shares(), node.table.shares().share(new.rx, limit));
        let may = node.table.len() == limit && shares.count(new.rx) < share;
        let gone = node.table.giving_way(shares, share, false).filter(|_| may)?;
        node.give_up(frame, gone, None, V::LIMIT, None);
    }
    Some(node.table.insert(new.key, new.rx, Partial::new(new.now)))
}

/// Sends on a packet that is complete, in the buffer `carrier`; `len` bytes of data.
fn finish<V: Reassemble, const PLACE: usize, On: graph::Cpu>(
    node: &mut Gather<V, Full, PLACE>,
    frame: &mut Frame<'_, Gather<V, Full, PLACE>, On>,
    at: u32,
    carrier: u32,
    len: usize,
) {
    let Some(mut partial) = node.table.remove(at) else { return };
    let whole = &mut node.method.whole;
    whole.clear();
    let (mut kept, mut fits) = (None, Some(()));
    while let Some(mut piece) = node.pieces.pop(&mut partial.list) {
        if piece.from == 0 {
            let p = piece.packet.buffer();
            let first = p.bytes().get(..piece.start as usize);
            fits = first.and_then(|first| V::header(first, len, whole));
        }
        copy(&mut piece, whole);
        if piece.packet.buffer().index() == carrier {
            kept = Some(piece.packet);
        } else {
            frame.release(piece.packet);
        }
    }
    let mut held = kept.expect("the fragment that was just added is in the list");
    if fits.is_none() {
        return frame.discard(held, V::INCONSISTENT);
    }
    let mut p = frame.packet_of(&mut held);
    p.truncate_chain(0);
    p.clear_flags(UNKNOWN);
    if p.extend(whole).is_none() {
        return frame.discard(held, V::NO_BUFFERS);
    }
    frame.count_as(V::SUCCESS, 1);
    frame.count_as(V::REASSEMBLED, partial.count.into());
    frame.send(held, Next::On(node.version));
}

/// Appends the data of a fragment.
fn copy(piece: &mut Piece, whole: &mut Vec<u8>) {
    let (mut skip, mut left) = (piece.start as usize, (piece.to - piece.from) as usize);
    for segment in piece.packet.buffer().segments() {
        let data = segment.get(skip..).unwrap_or(&[]);
        skip = skip.saturating_sub(segment.len());
        let data = &data[..data.len().min(left)];
        left -= data.len();
        whole.extend_from_slice(data);
    }
}
