//! Proposals of SAs (RFC 7296 section 3.3).

use super::Flaw;
use super::number::transform;

/// Limit of proposals in a payload.
pub const MOST_PROPOSALS: usize = 16;
/// Limit of transforms in a proposal.
pub const MOST_TRANSFORMS: usize = 64;
/// Another proposal follows.
const MORE: u8 = 2;
/// Key length attribute, in the two-byte format.
const KEY_LENGTH: u16 = 0x8000 | 14;

/// An algorithm and its transform type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transform {
    /// Its type, one of [`transform`].
    pub kind: u8,
    /// The algorithm.
    pub id: u16,
    /// Key length in bits, if the attribute is present.
    pub key_bits: Option<u16>,
}

impl Transform {
    /// An algorithm without a key length.
    pub fn plain(kind: u8, id: u16) -> Self {
        Self { kind, id, key_bits: None }
    }
    /// A cipher with its key length in bits; 0 for no key length attribute.
    pub fn cipher(id: u16, bits: u16) -> Self {
        Self { kind: transform::ENCR, id, key_bits: Some(bits).filter(|bits| *bits > 0) }
    }
    /// Parses the content of a transform; `None` if it has an unknown attribute, which means that
    /// it must not be chosen (section 3.3.6).
    fn read(body: &[u8]) -> Result<Option<Self>, Flaw> {
        let (header, mut attributes) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
        let id = u16::from_be_bytes([header[2], header[3]]);
        let mut found = Self { kind: header[0], id, key_bits: None };
        let mut is_known = true;
        while !attributes.is_empty() {
            let (attribute, rest) = attributes.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
            let kind = u16::from_be_bytes([attribute[0], attribute[1]]);
            let value = u16::from_be_bytes([attribute[2], attribute[3]]);
            attributes = rest;
            if kind == KEY_LENGTH {
                found.key_bits = Some(value);
                continue;
            }
            is_known = false;
            if kind & 0x8000 == 0 {
                attributes = attributes.get(usize::from(value)..).ok_or(Flaw::Malformed)?;
            }
        }
        Ok(is_known.then_some(found))
    }
}

/// A proposal: algorithms, of which the responder chooses one of each type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Its number.
    pub number: u8,
    /// The protocol.
    pub protocol: u8,
    /// SPI of the sender; empty in the first exchange.
    pub spi: Vec<u8>,
    /// The algorithms.
    pub transforms: Vec<Transform>,
}

impl Proposal {
    /// The algorithms of the given type.
    pub fn of(&self, kind: u8) -> impl Iterator<Item = &Transform> {
        self.transforms.iter().filter(move |t| t.kind == kind)
    }
    /// Parses all proposals of a payload.
    ///
    /// # Errors
    /// [`Flaw`].
    pub fn read_all(mut body: &[u8]) -> Result<Vec<Self>, Flaw> {
        let mut all = Vec::new();
        loop {
            if all.len() >= MOST_PROPOSALS {
                return Err(Flaw::TooMany);
            }
            let (header, _) = body.split_first_chunk::<8>().ok_or(Flaw::Malformed)?;
            let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let inside = body.get(8..len).ok_or(Flaw::Malformed)?;
            let (spi, inside) = inside.split_at_checked(header[6].into()).ok_or(Flaw::Malformed)?;
            let transforms = read_transforms(inside, header[7].into())?;
            let (number, protocol) = (header[4], header[5]);
            all.push(Self { number, protocol, spi: spi.to_vec(), transforms });
            body = &body[len..];
            match (header[0], body.is_empty()) {
                (0, true) => return Ok(all),
                (MORE, false) => (),
                _ => return Err(Flaw::Malformed),
            }
        }
    }
    fn write(&self, out: &mut Vec<u8>, is_last: bool) {
        let start = out.len();
        out.extend([if is_last { 0 } else { MORE }, 0, 0, 0, self.number, self.protocol]);
        out.extend([self.spi.len() as u8, self.transforms.len() as u8]);
        out.extend(&self.spi);
        for (at, transform) in self.transforms.iter().enumerate() {
            let is_last = at + 1 == self.transforms.len();
            let len: u16 = if transform.key_bits.is_some() { 12 } else { 8 };
            out.extend([if is_last { 0 } else { 3 }, 0]);
            out.extend(len.to_be_bytes());
            out.extend([transform.kind, 0]);
            out.extend(transform.id.to_be_bytes());
            if let Some(bits) = transform.key_bits {
                out.extend(KEY_LENGTH.to_be_bytes());
                out.extend(bits.to_be_bytes());
            }
        }
        let len = (out.len() - start) as u16;
        out[start + 2..start + 4].copy_from_slice(&len.to_be_bytes());
    }
    /// Payload body with the given proposals.
    pub fn body(all: &[Self]) -> Vec<u8> {
        let mut out = Vec::new();
        for (at, proposal) in all.iter().enumerate() {
            proposal.write(&mut out, at + 1 == all.len());
        }
        out
    }
}

fn read_transforms(mut body: &[u8], count: usize) -> Result<Vec<Transform>, Flaw> {
    if count > MOST_TRANSFORMS {
        return Err(Flaw::TooMany);
    }
    let mut all = Vec::new();
    for _ in 0..count {
        let (header, _) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        all.extend(Transform::read(body.get(4..len).ok_or(Flaw::Malformed)?)?);
        body = &body[len..];
    }
    if body.is_empty() { Ok(all) } else { Err(Flaw::Malformed) }
}
