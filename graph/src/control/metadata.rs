//! The register of metadata slots: owners of bits and bytes.

use super::BuildError;
use super::spec::Engine;
use crate::buffer::{Claim, Flags, Inner, LINE, Ports};

/// Claims, each with its owner.
pub(super) struct Claims(Vec<(u32, Claim)>);

impl Claims {
    /// The claims of the router itself.
    pub fn new() -> Self {
        let places = [Ports::PLACE.claim(), Inner::PLACE.claim()];
        let has_place = |flags| places.iter().any(|place| place.flags == flags);
        let flags = Flags::OF_ROUTER.iter().filter(|(_, flags)| !has_place(*flags));
        let flags: Vec<_> = flags.map(|(name, flags)| Claim::of(name, *flags)).collect();
        Self(flags.into_iter().chain(places).map(|claim| (0, claim)).collect())
    }
    pub fn remove_all_of(&mut self, owner: u32) {
        self.0.retain(|(whose, _)| *whose != owner);
    }
}

impl Engine {
    /// Claims bits and bytes of the metadata of packets for a feature.
    ///
    /// # Errors
    /// Another feature has one of them.
    pub fn claim(&mut self, claim: Claim) -> Result<(), BuildError> {
        if let Some((_, other)) = self.claims.0.iter().find(|(_, other)| other.collides(&claim)) {
            return Err(BuildError::Metadata { name: claim.name, other: other.name });
        }
        self.claims.0.push((self.owner, claim));
        Ok(())
    }
    /// Claims a free bit and so many bytes, aligned for any number.
    ///
    /// # Errors
    /// There are no more.
    pub fn claim_any(&mut self, name: &'static str, bytes: usize) -> Result<Claim, BuildError> {
        let is_free = |claim: &Claim| !self.claims.0.iter().any(|(_, other)| other.collides(claim));
        let full = || BuildError::NoMetadata(name);
        let bits = (0..32).map(|bit| Flags(1 << bit)).filter(|bit| bit.has(Flags::OF_FEATURES));
        let mut flags = bits.map(|bit| Claim::of(name, bit)).filter(is_free);
        let flags = flags.next().ok_or_else(full)?.flags;
        let end = LINE.checked_sub(bytes).ok_or_else(full)?;
        let places = (0..=end).step_by(8).map(|at| Claim { name, flags, bytes: at..at + bytes });
        let claim = { places }.find(is_free).ok_or_else(full)?;
        self.claims.0.push((self.owner, claim.clone()));
        Ok(claim)
    }
    /// All claims.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.claims.0.iter().map(|(_, claim)| claim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::buffer::Metadata;

    #[test]
    fn nobody_gets_the_bit_or_byte_of_another() {
        let mut engine = Engine::new(Settings { buffers: 64, ..Settings::default() }).unwrap();
        let mut claim = |claim| engine.claim(claim).map_err(|e| e.to_string());
        assert_eq!(claim(Claim::of("mirrored", Flags::feature(0))), Ok(()));
        let taken = "marked uses packet metadata of mirrored";
        assert_eq!(claim(Claim::of("marked", Flags::feature(0))), Err(taken.to_owned()));
        let place = |at, number| Metadata::<u32>::new("colour", at, Flags::feature(number)).claim();
        let taken = "colour uses packet metadata of ports";
        assert_eq!(claim(place(0, 1)), Err(taken.to_owned()));
        assert_eq!(claim(place(32, 1)), Ok(()));
        assert!(claim(Claim::of("again", Flags::POPPED.with(Flags::feature(2)))).is_err());
    }

    #[test]
    fn who_asks_for_any_gets_what_is_free_and_gives_it_back() {
        let mut engine = Engine::new(Settings { buffers: 64, ..Settings::default() }).unwrap();
        engine.set_owner(7);
        let mut all: Vec<Claim> = Vec::new();
        for name in ["a", "b", "c"] {
            let new = engine.claim_any(name, 16).unwrap();
            assert!(new.bytes.start.is_multiple_of(8) && new.bytes.len() == 16);
            assert!(!all.iter().any(|other| other.collides(&new)));
            all.push(new);
        }
        assert_eq!(engine.claim_any("d", 16), Err(BuildError::NoMetadata("d")), "8 to 56 are had");
        assert!(engine.claim_any("e", 0).is_ok());
        assert_eq!(engine.claim_any("f", 65), Err(BuildError::NoMetadata("f")));
        engine.remove_all_of(7).unwrap();
        engine.set_owner(0);
        assert_eq!(engine.claim_any("g", 16).as_ref(), Ok(&Claim { name: "g", ..all[0].clone() }));
    }
}
