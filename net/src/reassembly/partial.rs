//! A packet some of whose fragments have come.
#![forbid(unsafe_code)]

use graph::Held;

use super::pieces::{List, Piece, Pieces};

/// Fragments of a packet so far: in order, none over another.
pub(super) struct Partial {
    /// Time of the first fragment, in seconds.
    pub since: f64,
    /// Fragments that are held.
    pub count: u32,
    /// The fragments.
    pub list: List,
    /// Number of bytes that have arrived.
    have: u32,
    /// Bytes of the whole, when the last fragment has come.
    total: Option<u32>,
}

/// The outcome of adding a fragment.
pub(super) enum AddResult {
    /// Held.
    Kept,
    /// All of it arrived already.
    Duplicate(Held),
    /// It contradicts a fragment that arrived earlier.
    Overlapping(Held),
    /// It cannot belong to the same packet as the others.
    Inconsistent(Held),
}

impl Partial {
    pub(super) fn new(now: f64) -> Self {
        Self { since: now, count: 0, list: List::EMPTY, have: 0, total: None }
    }
    /// The length of the whole, when all is there.
    pub(super) fn complete(&self) -> Option<u32> {
        self.total.filter(|total| *total == self.have)
    }
    /// Adds a fragment; `is_last` when nothing follows it. Where it overlaps others, either it is
    /// refused or what came first stays, as `may_overlap` says. Fragments that it makes
    /// superfluous go to `replaced`. The store is not full.
    pub(super) fn add(
        &mut self,
        pieces: &mut Pieces,
        mut new: Piece,
        is_last: bool,
        may_overlap: bool,
        replaced: &mut Vec<Held>,
    ) -> AddResult {
        let end = pieces.last(&self.list).map_or(0, |p| p.to);
        let is_right = match self.total {
            Some(total) => new.to <= total && (!is_last || new.to == total),
            None => !is_last || end <= new.to,
        };
        if !is_right {
            return AddResult::Inconsistent(new.packet);
        }
        let total = if is_last { Some(new.to) } else { self.total };
        let mut before = List::FRONT;
        while let Some((place, piece)) = pieces.after(&self.list, before)
            && piece.to <= new.from
        {
            before = place;
        }
        if let Some((place, piece)) = pieces.after(&self.list, before)
            && piece.from < new.to
        {
            let is_there = piece.from <= new.from && new.to <= piece.to;
            let is_same = (piece.from, piece.to) == (new.from, new.to);
            if is_same || is_there && may_overlap {
                return AddResult::Duplicate(new.packet);
            }
            if !may_overlap {
                return AddResult::Overlapping(new.packet);
            }
            if piece.from <= new.from {
                new.start += piece.to - new.from;
                new.from = piece.to;
                before = place;
            }
            while let Some((_, piece)) = pieces.after(&self.list, before)
                && piece.to <= new.to
            {
                self.have -= piece.to - piece.from;
                self.count -= 1;
                replaced.extend(pieces.remove(&mut self.list, before).map(|p| p.packet));
            }
            if let Some((_, piece)) = pieces.after(&self.list, before) {
                new.to = new.to.min(piece.from);
            }
        }
        self.total = total;
        self.have += new.to - new.from;
        self.count += 1;
        pieces.insert(&mut self.list, before, new);
        AddResult::Kept
    }
}
