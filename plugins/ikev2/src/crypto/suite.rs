//! Algorithms of associations: the supported ones, their key lengths, and choice from a proposal.

use crypto::{CIPHERS, CipherAlgorithm, Mode};
use infra::order::Order;

use super::group::Group;
use crate::codec::number::{protocol, transform};
use crate::codec::{Proposal, Transform};

/// ENCR_NULL.
pub const NULL: u16 = 11;

/// A cipher of IKE or ESP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encr {
    /// Transform ID.
    pub id: u16,
    /// Key length attribute in bits; 0 for none.
    pub bits: u16,
    /// Index in [`CIPHERS`].
    pub cipher: u32,
    /// Length of the salt behind the key in bytes.
    pub salt: usize,
}

impl Encr {
    /// The cipher of a transform.
    pub fn of(id: u16, bits: Option<u16>) -> Option<Self> {
        let by_bits = |first: u32| match bits {
            Some(128) => Some(first),
            Some(192) => Some(first + 1),
            Some(256) => Some(first + 2),
            _ => None,
        };
        let (cipher, salt) = match id {
            3 => (11, 0),
            NULL => (0, 0),
            12 => (by_bits(1)?, 0),
            13 => (by_bits(4)?, 4),
            20 => (by_bits(7)?, 4),
            // The key has a fixed length (RFC 7634), but VPP sends the attribute nevertheless.
            28 if matches!(bits, None | Some(256)) => (12, 4),
            _ => return None,
        };
        Some(Self { id, bits: bits.unwrap_or(0), cipher, salt })
    }
    /// The cipher and its parameters.
    pub fn algorithm(self) -> CipherAlgorithm {
        CIPHERS[self.cipher as usize % CIPHERS.len()]
    }
    /// Whether it provides integrity as well.
    pub fn is_aead(self) -> bool {
        self.algorithm().mode == Mode::Aead
    }
    fn transform(self) -> Transform {
        Transform::cipher(self.id, self.bits)
    }
}

/// Key length and check value length of an integrity algorithm in bytes, and its number in ESP;
/// `None` if it is not supported.
pub fn integ(id: u16) -> Option<(usize, usize, Option<u32>)> {
    match id {
        2 => Some((20, 12, Some(2))),
        8 => Some((16, 12, None)),
        12 => Some((32, 16, Some(4))),
        13 => Some((48, 24, Some(5))),
        14 => Some((64, 32, Some(6))),
        _ => None,
    }
}

/// Key length of GMAC in bytes and its cipher, for ESP with integrity but without encryption.
pub fn gmac(id: u16) -> Option<(usize, u32)> {
    match id {
        9 => Some((16, 13)),
        10 => Some((24, 14)),
        11 => Some((32, 15)),
        _ => None,
    }
}

/// IKE algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The cipher.
    pub encr: Encr,
    /// The pseudorandom function.
    pub prf: u16,
    /// The keyed hash, where the cipher does not authenticate.
    pub integ: Option<u16>,
    /// The group.
    pub group: Group,
}

/// ESP algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EspSuite {
    /// The cipher.
    pub encr: Encr,
    /// The keyed hash.
    pub integ: Option<u16>,
    /// Sequence numbers of 64 bits.
    pub has_esn: bool,
    /// The group of a key exchange of its own.
    pub group: Option<Group>,
}

/// Configured IKE algorithms; 0 for any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IkeWish {
    /// The cipher.
    pub encr: u16,
    /// Bits of its key.
    pub bits: u16,
    /// The keyed hash.
    pub integ: u16,
    /// The pseudorandom function.
    pub prf: u16,
    /// The group.
    pub group: u16,
}

/// Configured ESP algorithms; 0 for any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EspWish {
    /// The cipher.
    pub encr: u16,
    /// Bits of its key.
    pub bits: u16,
    /// The keyed hash.
    pub integ: u16,
}

fn is_wanted(wish: u16, id: u16) -> bool {
    wish == 0 || wish == id
}

fn is_cipher_wanted((wish, bits): (u16, u16), encr: Encr) -> bool {
    is_wanted(wish, encr.id) && (wish == 0 || encr.bits == 0 || is_wanted(bits, encr.bits))
}

const PRFS: [u16; 5] = [5, 6, 7, 2, 8];
const MACS: [u16; 5] = [12, 13, 14, 2, 8];

/// Whether a pseudorandom function is supported.
pub fn has_prf(id: u16) -> bool {
    PRFS.contains(&id)
}

impl IkeWish {
    /// The proposals to offer: one with the configured algorithms, or two with the recommended ones
    /// (RFC 8247).
    ///
    /// # Errors
    /// A configured algorithm that is not supported, as text.
    pub fn offer(&self) -> Result<Vec<Proposal>, String> {
        let of = |number, ciphers: &[(u16, u16)], macs: &[u16]| {
            let mut all: Vec<_> =
                ciphers.iter().map(|(id, bits)| Transform::cipher(*id, *bits)).collect();
            let prfs: &[u16] = match (self.prf, self.encr) {
                (0, 0) => &[5, 6],
                (0, _) => &[5],
                _ => &[self.prf],
            };
            all.extend(prfs.iter().map(|id| Transform::plain(transform::PRF, *id)));
            all.extend(macs.iter().map(|id| Transform::plain(transform::INTEG, *id)));
            let own = [self.group];
            let groups: &[u16] = if self.group == 0 { &[31, 19, 20, 14] } else { &own };
            all.extend(groups.iter().map(|id| Transform::plain(transform::GROUP, *id)));
            Proposal { number, protocol: protocol::IKE, spi: Vec::new(), transforms: all }
        };
        if self.encr == 0 {
            return Ok(vec![
                of(1, &[(20, 256), (20, 128), (28, 0)], &[]),
                of(2, &[(12, 256), (12, 128)], &[12, 13]),
            ]);
        }
        let bits = Some(self.bits).filter(|bits| *bits > 0);
        let unknown = |kind: &str, id| format!("IKE {kind} {id} is not supported");
        let encr = Encr::of(self.encr, bits).filter(|encr| encr.id != NULL);
        let encr = encr.ok_or_else(|| unknown("cipher", self.encr))?;
        if self.prf != 0 && !has_prf(self.prf) {
            return Err(unknown("pseudorandom function", self.prf));
        }
        if self.group != 0 {
            Group::of(self.group).ok_or_else(|| unknown("group", self.group))?;
        }
        let bits = if encr.id == 28 { 0 } else { encr.bits };
        let macs = match (encr.is_aead(), self.integ) {
            (true, _) => vec![],
            (false, 0) => vec![12, 13],
            (false, id) => vec![integ(id).map(|_| id).ok_or_else(|| unknown("hash", id))?],
        };
        Ok(vec![of(1, &[(encr.id, bits)], &macs)])
    }
    /// Whether the configuration allows these algorithms.
    pub fn allows(&self, suite: &Suite) -> bool {
        is_cipher_wanted((self.encr, self.bits), suite.encr)
            && is_wanted(self.prf, suite.prf)
            && is_wanted(self.group, suite.group.number())
            && suite.integ.is_none_or(|id| is_wanted(self.integ, id))
    }
}

/// Whether an AEAD cipher has a key at least as long as the configured cipher.
fn is_as_strong(bits: u16, encr: Encr) -> bool {
    encr.is_aead() && encr.algorithm().key * 8 >= usize::from(bits)
}

impl Suite {
    /// The first supported combination of a proposal that is `is_good`; `preferred` groups (that of
    /// an available public value) are tried first.
    pub fn choose(
        proposal: &Proposal,
        preferred: Option<u16>,
        is_good: impl Fn(&Self) -> bool,
    ) -> Option<Self> {
        if proposal.protocol != protocol::IKE {
            return None;
        }
        let mut groups: Vec<_> =
            proposal.of(transform::GROUP).filter_map(|t| Group::of(t.id)).collect();
        groups.order_by_key(|group| Some(group.number()) != preferred);
        for encr in proposal.of(transform::ENCR).filter_map(|t| Encr::of(t.id, t.key_bits)) {
            let macs: Vec<_> = match encr.is_aead() {
                true => vec![None],
                false => proposal.of(transform::INTEG).map(|t| Some(t.id)).collect(),
            };
            let macs = macs.into_iter().filter(|id| id.is_none_or(|id| MACS.contains(&id)));
            for integ in macs {
                for prf in proposal.of(transform::PRF).map(|t| t.id).filter(|id| has_prf(*id)) {
                    let suites =
                        groups.iter().map(|group| Self { encr, prf, integ, group: *group });
                    if let Some(found) =
                        suites.filter(|suite| suite.encr.id != NULL).find(|suite| is_good(suite))
                    {
                        return Some(found);
                    }
                }
            }
        }
        None
    }
    /// The proposal that accepts these algorithms.
    pub fn accept(&self, number: u8, spi: Vec<u8>) -> Proposal {
        let mut transforms = vec![self.encr.transform()];
        transforms.push(Transform::plain(transform::PRF, self.prf));
        transforms.extend(self.integ.map(|id| Transform::plain(transform::INTEG, id)));
        transforms.push(Transform::plain(transform::GROUP, self.group.number()));
        Proposal { number, protocol: protocol::IKE, spi, transforms }
    }
}

impl EspWish {
    /// The proposals to offer for a child SA with our SPI; `group` asks for its own key exchange.
    ///
    /// # Errors
    /// A configured algorithm that is not supported, as text.
    pub fn offer(&self, spi: u32, group: Option<Group>) -> Result<Vec<Proposal>, String> {
        let of = |number, ciphers: &[(u16, u16)], macs: &[u16]| {
            let mut all: Vec<_> =
                ciphers.iter().map(|(id, bits)| Transform::cipher(*id, *bits)).collect();
            all.extend(macs.iter().map(|id| Transform::plain(transform::INTEG, *id)));
            all.extend(group.map(|group| Transform::plain(transform::GROUP, group.number())));
            // Long numbers rather than short ones.
            all.extend([1, 0].map(|esn| Transform::plain(transform::ESN, esn)));
            let spi = spi.to_be_bytes().to_vec();
            Proposal { number, protocol: protocol::ESP, spi, transforms: all }
        };
        if self.encr == 0 {
            return Ok(vec![
                of(1, &[(20, 256), (20, 128), (28, 0)], &[]),
                of(2, &[(12, 256), (12, 128)], &[12, 13]),
            ]);
        }
        let unknown = |kind: &str, id| format!("ESP {kind} {id} is not supported");
        let bits = Some(self.bits).filter(|bits| *bits > 0 && self.encr != NULL);
        let encr = Encr::of(self.encr, bits).ok_or_else(|| unknown("cipher", self.encr))?;
        let bits = if encr.id == 28 { 0 } else { encr.bits };
        let macs = match (encr.is_aead(), self.integ) {
            (true, _) => vec![],
            (false, 0) => vec![12, 13],
            (false, id) => {
                let is_there = integ(id).is_some_and(|(.., esp)| esp.is_some());
                let is_gmac = encr.id == NULL && gmac(id).is_some();
                let id = Some(id).filter(|_| is_there || is_gmac);
                vec![id.ok_or_else(|| unknown("hash", self.integ))?]
            }
        };
        Ok(vec![of(1, &[(encr.id, bits)], &macs)])
    }
    /// Whether an offer of these algorithms is accepted: the configured ones, or stronger ones.
    pub fn accepts(&self, suite: &EspSuite) -> bool {
        self.allows(suite) || is_as_strong(self.bits, suite.encr)
    }
    /// Whether the configuration allows these algorithms.
    pub fn allows(&self, suite: &EspSuite) -> bool {
        is_cipher_wanted((self.encr, self.bits), suite.encr)
            && suite.integ.is_none_or(|id| is_wanted(self.integ, id))
    }
}

impl EspSuite {
    /// The first supported combination of a proposal that is `is_good`. With a public value, its
    /// group must be in the proposal; without one, no group is chosen.
    pub fn choose(
        proposal: &Proposal,
        group: Option<u16>,
        is_good: impl Fn(&Self) -> bool,
    ) -> Option<Self> {
        if proposal.protocol != protocol::ESP || proposal.spi.len() != 4 {
            return None;
        }
        let mut groups = proposal.of(transform::GROUP).map(|t| t.id).peekable();
        let group = match (group, groups.peek().is_some()) {
            (Some(group), true) => Some(Group::of(groups.find(|id| *id == group)?)?),
            _ => None,
        };
        let has_esn = proposal.of(transform::ESN).any(|t| t.id == 1);
        for encr in proposal.of(transform::ENCR).filter_map(|t| Encr::of(t.id, t.key_bits)) {
            let macs: Vec<_> = match encr.is_aead() {
                true => vec![None],
                false => proposal.of(transform::INTEG).map(|t| Some(t.id)).collect(),
            };
            let is_there = |id: &Option<u16>| {
                let esp = |id| integ(id).is_some_and(|(.., esp)| esp.is_some());
                id.is_none_or(|id| esp(id) || (encr.id == NULL && gmac(id).is_some()))
            };
            let suites = macs.into_iter().filter(is_there);
            let mut suites = suites.map(|integ| Self { encr, integ, has_esn, group });
            if let Some(found) = suites.find(|suite| is_good(suite)) {
                return Some(found);
            }
        }
        None
    }
    /// The proposal that accepts these algorithms.
    pub fn accept(&self, number: u8, spi: u32) -> Proposal {
        let mut transforms = vec![self.encr.transform()];
        transforms.extend(self.integ.map(|id| Transform::plain(transform::INTEG, id)));
        transforms
            .extend(self.group.map(|group| Transform::plain(transform::GROUP, group.number())));
        transforms.push(Transform::plain(transform::ESN, self.has_esn.into()));
        let spi = spi.to_be_bytes().to_vec();
        Proposal { number, protocol: protocol::ESP, spi, transforms }
    }
    /// Lengths of the encryption key, the salt and the integrity key in bytes.
    pub fn lens(&self) -> (usize, usize, usize) {
        let key = self.encr.algorithm().key;
        match self.integ {
            None => (key, self.encr.salt, 0),
            Some(id) => match gmac(id) {
                Some((len, _)) => (key, 4, len),
                None => (key, self.encr.salt, integ(id).map_or(0, |(len, ..)| len)),
            },
        }
    }
}
