//! `bier-lookup`: a copy for each path that a packet's positions take (RFC 8279 section 6.5).

use net::fib::Popped;
use net::prelude::*;
use wire::bier::{self, Header};

use super::table::{Bift, Choice, Mask, Onward};

/// Longest packet that is copied, in bytes.
const LONGEST: usize = 1 << 16;

/// Drops of [`Lookup`], and copies that could not be made.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no error: no bit position has a path.
    #[name("no error")]
    None,
    /// fmask unresolved.
    #[name("fmask unresolved")]
    Unresolved,
    /// Buffer Allocation Failure.
    #[name("Buffer Allocation Failure")]
    NoBuffer,
}

/// Edges of [`Lookup`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To another router.
    #[to("bier-output")]
    Output,
    /// To this one.
    #[to("bier-disp-lookup")]
    Disposition,
}

/// Makes copies.
#[derive(Clone)]
pub(super) struct Lookup {
    bifts: SlabReader<Bift>,
    /// The packet being copied.
    bytes: Box<[u8]>,
    /// The positions that are left of it.
    left: Box<[u8]>,
}

impl Lookup {
    pub fn new(bifts: SlabReader<Bift>) -> Self {
        Self { bifts, bytes: vec![0; LONGEST].into(), left: vec![0; bier::LONGEST].into() }
    }
}

/// Takes the next path of the positions that are left.
#[inline(always)]
fn take<'e>(choice: &'e Choice, left: &mut [u8]) -> Option<&'e Mask> {
    let len = left.len();
    let mut at = len;
    while let Some(byte) = at.checked_sub(1).and_then(|at| left.get_mut(at)) {
        if *byte == 0 {
            at -= 1;
            continue;
        }
        let bit = byte.trailing_zeros();
        *byte &= *byte - 1;
        if let Some(mask) = choice.of((len - at) as u32 * 8 + bit + 1) {
            left.iter_mut().zip(&mask.bits).for_each(|(left, bits)| *left &= !bits);
            return Some(mask);
        }
    }
    None
}

/// Leaves a packet the positions of a path, and notes where it goes.
#[inline(always)]
fn lead(p: &mut Buffer<'_>, mask: &Mask, popped: Popped) -> Next {
    let string = p.bytes_mut().get_mut(size_of::<Header>()..);
    string.into_iter().flatten().zip(&mask.bits).for_each(|(byte, bits)| *byte &= bits);
    p.set_payload(popped);
    p.add_flags(Flags::POPPED);
    match mask.to {
        Onward::Output(index) => {
            p.set_adjacency(index);
            Next::Output
        }
        Onward::Disposition(index) => {
            p.set_adjacency(index);
            Next::Disposition
        }
    }
}

impl Node for Lookup {
    const NAME: &'static str = "bier-lookup";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "bier-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let Self { bifts, bytes, left } = self;
        frame.each(|p| {
            let index = p.adjacency();
            let popped = Popped::of(p).ok_or(Error::None)?;
            let table = bifts.read(index, epoch).ok_or(Error::None)?;
            let (header, string, _) = bier::parse(p.bytes()).ok_or(Error::None)?;
            let choice = table.choice(header.entropy()).ok_or(Error::None)?;
            let left = left.get_mut(..string.len()).ok_or(Error::None)?;
            left.copy_from_slice(string);
            let mut last = take(choice, left).ok_or(Error::None)?;
            let (mut count, mut len) = (1, 0);
            while let Some(mask) = take(choice, left) {
                if len == 0 {
                    for segment in p.segments() {
                        let place = bytes.get_mut(len..len + segment.len());
                        place.ok_or(Error::NoBuffer)?.copy_from_slice(segment);
                        len += segment.len();
                    }
                }
                let made = p.fresh().and_then(|mut new| {
                    new.extend(bytes.get(..len)?)?;
                    let next = lead(&mut new, last, popped);
                    new.send(next);
                    Some(())
                });
                if made.is_none() {
                    p.error(Error::NoBuffer);
                }
                last = mask;
                count += 1;
            }
            p.trace(|_| Made { index, count });
            Ok(lead(p, last, popped))
        });
    }
}

struct Made {
    index: u32,
    count: u32,
}

impl Record for Made {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  bier-table {} copies {}", self.index, self.count)
    }
}
