//! Memory of a machine: the stretches that the front end has handed over, with their addresses in
//! the machine, which descriptors have, and in the front end, which rings have.
#![forbid(unsafe_code)]

use std::os::fd::AsFd;
use std::sync::Arc;

use wire::vhost_user::MemoryRegion;

use super::ring::Bad;
use crate::shared::{Memory, Piece, Region, Words};

/// Stretches at most.
pub const MOST_AREAS: usize = 32;
/// Stretches of a buffer at most; each of its descriptors is one, whatever its length.
pub const MOST_PIECES: usize = 128;

/// One stretch.
#[derive(Clone, Debug)]
pub struct Area {
    /// As the front end describes it.
    pub said: MemoryRegion,
    /// Region that it is mapped in.
    pub region: Arc<Region>,
    /// Its start there.
    pub at: usize,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Table(pub Vec<Area>);

/// Stretches of one buffer or of several.
#[derive(Debug)]
pub struct Pieces {
    list: [Piece; MOST_PIECES],
    count: usize,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { list: [Piece::default(); MOST_PIECES], count: 0 }
    }
}

impl Pieces {
    /// All of them.
    #[inline(always)]
    pub fn all(&self) -> &[Piece] {
        &self.list[..self.count]
    }
    /// Forgets them.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.count = 0;
    }
    #[inline(always)]
    fn push(&mut self, piece: Piece) -> Option<()> {
        *self.list.get_mut(self.count)? = piece;
        self.count += 1;
        Some(())
    }
}

impl Area {
    /// Maps a stretch.
    ///
    /// # Errors
    /// See [`Region::map`].
    pub fn new(said: MemoryRegion, file: impl AsFd) -> std::io::Result<Self> {
        let (region, at) = Region::map(file, said.offset.get(), said.size.get())?;
        Ok(Self { said, region: Arc::new(region), at })
    }
    /// Bytes from the start `from` to `address`, if that is within the stretch.
    #[inline(always)]
    fn distance(&self, from: u64, address: u64) -> Option<u64> {
        let distance = address.wrapping_sub(from);
        (distance < self.said.size.get()).then_some(distance)
    }
}

impl Memory for Table {
    #[inline(always)]
    fn region(&self, number: u16) -> Option<&Region> {
        self.0.get(usize::from(number)).map(|area| &*area.region)
    }
}

impl Table {
    /// The longest stretch from an address in the machine on that is in one piece, no longer than
    /// `len`.
    #[inline(always)]
    fn find(&self, address: u64, len: u32) -> Option<Piece> {
        self.0.iter().enumerate().find_map(|(number, area)| {
            let distance = area.distance(area.said.guest.get(), address)?;
            let left = area.said.size.get() - distance;
            let len = left.min(len.into()) as u32;
            Some(Piece { region: number as u16, offset: area.at + distance as usize, len })
        })
    }
    /// The stretch of `len` bytes from an address in the machine on, if it is in one piece.
    pub fn whole(&self, address: u64, len: u32) -> Option<Piece> {
        self.find(address, len).filter(|piece| piece.len == len)
    }
    /// Adds the stretch of `len` bytes from an address in the machine on, which may lie in several
    /// pieces. An empty one is a piece, too: descriptors are counted by their pieces.
    ///
    /// # Errors
    /// A part of it does not exist, or there are too many pieces.
    #[inline(always)]
    pub fn add(&self, mut address: u64, mut len: u32, pieces: &mut Pieces) -> Result<(), Bad> {
        loop {
            let piece = self.find(address, len).ok_or(Bad::Address)?;
            pieces.push(piece).ok_or(Bad::Chain)?;
            len -= piece.len;
            if len == 0 {
                return Ok(());
            }
            address = address.checked_add(piece.len.into()).ok_or(Bad::Address)?;
        }
    }
    /// The words of `len` bytes from an address in the front end on.
    pub fn words(&self, address: u64, len: usize, align: usize) -> Option<Words> {
        self.0.iter().find_map(|area| {
            let distance = area.distance(area.said.user.get(), address)?;
            if len as u64 > area.said.size.get() - distance {
                return None;
            }
            Words::new(Arc::clone(&area.region), area.at + distance as usize, len, align)
        })
    }
    /// Whether some of it was removed.
    pub fn is_lost(&self) -> bool {
        self.0.iter().any(|area| area.region.is_lost())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(guest: u64, size: u64, user: u64) -> Area {
        let (_, file) = Region::create(size as usize + 4096).unwrap();
        let said = MemoryRegion {
            guest: guest.into(),
            size: size.into(),
            user: user.into(),
            offset: 4096.into(),
        };
        Area::new(said, file).unwrap()
    }

    #[test]
    fn addresses_are_found_in_what_was_handed_over_only() {
        let table = Table(vec![
            area(0x1000, 0x1000, 0x70_0000),
            area(0x2000, 0x1000, 0x90_0000),
            area(u64::MAX - 0xfff, 0x1000, 0xa0_0000),
        ]);
        let pieces = |address, len| {
            let mut pieces = Pieces::default();
            table.add(address, len, &mut pieces).ok().map(|()| pieces.all().to_vec())
        };
        let one = pieces(0x1ff0, 16).unwrap();
        assert_eq!(one, [Piece { region: 0, offset: 0xff0, len: 16 }]);
        let two: Vec<_> = pieces(0x1ff0, 32).unwrap().iter().map(|p| (p.region, p.len)).collect();
        assert_eq!(two, [(0, 16), (1, 16)]);
        assert!(table.whole(0x1ff0, 32).is_none() && table.whole(0x1ff0, 16).is_some());
        for (address, len) in [
            (0xfff, 1),
            (0x2ff0, 17),
            (0x3000, 1),
            (0, u32::MAX),
            (0x1000, u32::MAX),
            (u64::MAX, 2),
            (u64::MAX - 4, 100),
        ] {
            assert!(pieces(address, len).is_none(), "{address:#x} {len}");
        }
        assert!(pieces(u64::MAX - 0xfff, 0xfff).is_some());
        assert!(table.words(0x70_0ff0, 16, 16).is_some());
        assert!(table.words(0x70_0ff0, 17, 16).is_none());
        assert!(table.words(0x70_0ff1, 2, 2).is_none());
        assert!(table.words(0x1000, 2, 2).is_none());
    }
}
