//! Fragments that are held, in lists through one bounded store.
#![forbid(unsafe_code)]

use graph::Held;

use super::shares::Shares;

const NONE: u32 = u32::MAX;

/// Fragments that one node holds on one thread.
const MOST: usize = 8192;

/// A fragment that is held.
pub(super) struct Piece {
    /// Place of its data in the whole, in bytes.
    pub from: u32,
    /// The end of its data.
    pub to: u32,
    /// Place of its data, in bytes from the IP header.
    pub start: u32,
    /// The packet.
    pub packet: Held,
}

/// The store.
pub(super) struct Pieces {
    slots: Vec<(Option<Piece>, u32)>,
    free: Vec<u32>,
    count: usize,
    shares: Shares,
}

/// One list in a store.
#[derive(Clone, Copy)]
pub(super) struct List {
    first: u32,
    last: u32,
}

/// A place in a list: after an element, or at the front.
#[derive(Clone, Copy)]
pub(super) struct Place(u32);

impl List {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };
    pub(super) const FRONT: Place = Place(NONE);
}

impl Pieces {
    pub(super) fn new() -> Self {
        let (slots, free) = (Vec::with_capacity(MOST), Vec::with_capacity(MOST));
        Self { slots, free, count: 0, shares: Shares::new(MOST) }
    }
    /// Number of fragments held.
    pub(super) fn len(&self) -> usize {
        self.count
    }
    pub(super) fn is_full(&self) -> bool {
        self.count == MOST
    }
    /// Fragments held by receive interface.
    pub(super) fn shares(&self) -> &Shares {
        &self.shares
    }
    /// The share of an interface.
    pub(super) fn share(&self, rx: u32) -> usize {
        self.shares.share(rx, MOST)
    }
    /// The element after a place, and its own place.
    pub(super) fn after(&self, list: &List, place: Place) -> Option<(Place, &Piece)> {
        let at = match place.0 {
            NONE => list.first,
            before => self.slots[before as usize].1,
        };
        self.slots.get(at as usize)?.0.as_ref().map(|piece| (Place(at), piece))
    }
    /// The last element.
    pub(super) fn last(&self, list: &List) -> Option<&Piece> {
        self.slots.get(list.last as usize)?.0.as_ref()
    }
    /// Inserts an element after a place. The store is not full.
    pub(super) fn insert(&mut self, list: &mut List, place: Place, mut piece: Piece) {
        self.shares.add(piece.packet.buffer().rx());
        let next = match place.0 {
            NONE => list.first,
            before => self.slots[before as usize].1,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = (Some(piece), next);
                at
            }
            None => {
                self.slots.push((Some(piece), next));
                self.slots.len() as u32 - 1
            }
        };
        match place.0 {
            NONE => list.first = at,
            before => self.slots[before as usize].1 = at,
        }
        if next == NONE {
            list.last = at;
        }
        self.count += 1;
    }
    /// Appends an element. The store is not full.
    pub(super) fn push(&mut self, list: &mut List, piece: Piece) {
        self.insert(list, Place(list.last), piece);
    }
    /// Removes the element after a place.
    pub(super) fn remove(&mut self, list: &mut List, place: Place) -> Option<Piece> {
        let (at, _) = self.after(list, place)?;
        let slot = &mut self.slots[at.0 as usize];
        let (mut piece, next) = (slot.0.take(), slot.1);
        if let Some(piece) = &mut piece {
            self.shares.remove(piece.packet.buffer().rx());
        }
        match place.0 {
            NONE => list.first = next,
            before => self.slots[before as usize].1 = next,
        }
        if next == NONE {
            list.last = place.0;
        }
        self.free.push(at.0);
        self.count -= 1;
        piece
    }
    /// Whether there is such an element.
    pub(super) fn any(&mut self, list: &List, is_meant: impl Fn(&mut Piece) -> bool) -> bool {
        let mut at = list.first;
        while let Some((piece, next)) = self.slots.get_mut(at as usize) {
            if piece.as_mut().is_some_and(&is_meant) {
                return true;
            }
            at = *next;
        }
        false
    }
    /// Takes out the first element.
    pub(super) fn pop(&mut self, list: &mut List) -> Option<Piece> {
        self.remove(list, List::FRONT)
    }
}
