//! ESP for contiguous packets (RFC 4303): with AEAD ciphers (RFC 4106, 4543, 7634), and with a
//! cipher and an integrity algorithm (RFC 3602, 3686, 2451, 2404, 4868).

use crypto::{Cipher, MAX_IV, Mac, Mode, TAG};

/// Length of the header in bytes: SPI and sequence number.
pub const HEADER: usize = 8;
/// Length of the trailer without padding in bytes: pad length and next header.
pub const TRAILER: usize = 2;
/// Alignment of the end of the trailer.
pub const ALIGNMENT: usize = 4;

/// The keys of a security association, ready for use.
pub struct Keys {
    /// Encryption algorithm.
    pub cipher: Cipher,
    /// Integrity algorithm.
    pub mac: Mac,
    /// Salt that precedes the initialization vector in the nonce.
    pub salt: [u8; 4],
    /// Whether sequence numbers have 64 bits, of which packets carry the lower half.
    pub has_esn: bool,
}

/// Flaws of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The packet is too short.
    Runt,
    /// The integrity check failed.
    Integrity,
    /// The AEAD tag is wrong.
    Decryption,
    /// A length field exceeds the packet.
    Length,
}

/// A decrypted packet: its position and protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// First byte.
    pub start: usize,
    /// End, exclusive.
    pub end: usize,
    /// Protocol of the payload.
    pub next_header: u8,
}

impl Keys {
    fn has_tag(&self) -> bool {
        matches!(self.cipher.algorithm.mode, Mode::Aead | Mode::Gmac)
    }
    /// Length of the integrity check value in bytes.
    #[inline(always)]
    pub fn icv(&self) -> usize {
        if self.has_tag() { TAG } else { self.mac.algorithm.icv }
    }
    /// Length of the initialization vector in bytes.
    #[inline(always)]
    pub fn iv(&self) -> usize {
        self.cipher.algorithm.iv
    }
    /// Number of bytes after a payload of `len` bytes: padding, trailer, integrity check value.
    #[inline(always)]
    pub fn behind(&self, len: usize) -> usize {
        let to = self.cipher.algorithm.block.max(ALIGNMENT);
        (len + TRAILER).next_multiple_of(to) - len + self.icv()
    }
    /// The upper half of a sequence number for authentication; empty without ESN.
    pub fn upper(&self, number: u64) -> ([u8; 4], usize) {
        (((number >> 32) as u32).to_be_bytes(), if self.has_esn { 4 } else { 0 })
    }
    fn nonce(&self, iv: &[u8]) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.salt);
        if let Some(place) = nonce.get_mut(4..4 + iv.len()) {
            place.copy_from_slice(iv);
        }
        nonce
    }
    /// The first block of CBC or of a counter.
    pub fn first_block(&self, iv: &[u8]) -> [u8; MAX_IV] {
        let mut block = [0; MAX_IV];
        if self.cipher.algorithm.mode == Mode::Ctr {
            block[..12].copy_from_slice(&self.nonce(iv));
            block[15] = 1;
        } else if let Some(place) = block.get_mut(..iv.len()) {
            place.copy_from_slice(iv);
        }
        block
    }
    /// Additional data of an AEAD: SPI and whole sequence number.
    fn additional(&self, header: &[u8], number: u64) -> ([u8; 12], usize) {
        let mut aad = [0; 12];
        let (upper, len) = self.upper(number);
        let (spi, low) = header.split_at_checked(4).unwrap_or_default();
        for (at, part) in [(0, spi), (4, &upper[..len]), (4 + len, low)] {
            if let Some(place) = aad.get_mut(at..at + part.len()) {
                place.copy_from_slice(part);
            }
        }
        (aad, HEADER + len)
    }
    /// Calls `work` with the bytes from the header to `end`, with the upper half of the sequence
    /// number between SPI and lower half, as GMAC needs it; the SPI is moved during the call.
    fn with_upper<R>(
        &self,
        bytes: &mut [u8],
        (esp, end): (usize, usize),
        number: u64,
        work: impl FnOnce(&[u8], &mut [u8]) -> R,
    ) -> Option<R> {
        let (upper, len) = self.upper(number);
        let from = esp.checked_sub(len)?;
        let (whole, rest) = bytes.split_at_mut_checked(end)?;
        let part = whole.get_mut(from..)?;
        let mut saved = [0; 4];
        saved[..len].copy_from_slice(part.get(..len)?);
        part.copy_within(len..len + 4, 0);
        part.get_mut(4..4 + len)?.copy_from_slice(&upper[..len]);
        let done = work(part, rest);
        part.copy_within(..4, len);
        part.get_mut(..len)?.copy_from_slice(&saved[..len]);
        Some(done)
    }
    /// Encrypts a packet: `bytes` has the header at `esp`, space for the vector, the payload up to
    /// `end`, and [`Keys::behind`] more bytes. `unique` is a number that has not been used with
    /// these keys before. `None` if lengths do not fit, or the library fails.
    #[inline]
    pub fn seal(
        &self,
        bytes: &mut [u8],
        (esp, end): (usize, usize),
        next_header: u8,
        (number, unique): (u64, u64),
    ) -> Option<()> {
        let start = esp + HEADER + self.iv();
        let padded = bytes.len().checked_sub(self.icv())?;
        let padding = padded.checked_sub(end + TRAILER)?;
        let tail = bytes.get_mut(end..padded)?;
        for (at, byte) in tail.iter_mut().enumerate() {
            *byte = at as u8 + 1;
        }
        if let [.., len, next] = tail {
            (*len, *next) = (padding as u8, next_header);
        }
        let iv = match self.cipher.algorithm.mode {
            Mode::Null => [0; MAX_IV],
            Mode::Cbc => self.cipher.unforeseen_iv(unique),
            _ => {
                let mut iv = [0; MAX_IV];
                iv[..8].copy_from_slice(&unique.to_be_bytes());
                iv
            }
        };
        let iv = iv.get(..self.iv())?;
        bytes.get_mut(esp + HEADER..start)?.copy_from_slice(iv);
        if self.cipher.algorithm.mode == Mode::Gmac {
            let nonce = self.nonce(iv);
            return self.with_upper(bytes, (esp, padded), number, |all, icv| {
                icv.copy_from_slice(&self.cipher.seal(&nonce, all, &mut [])?);
                Some(())
            })?;
        }
        let (front, icv) = bytes.split_at_mut(padded);
        let (front, data) = front.split_at_mut_checked(start)?;
        let header = front.get(esp..esp + HEADER)?;
        if self.cipher.algorithm.mode == Mode::Aead {
            let (aad, len) = self.additional(header, number);
            icv.copy_from_slice(&self.cipher.seal(&self.nonce(iv), &aad[..len], data)?);
            return Some(());
        }
        if self.cipher.algorithm.mode != Mode::Null {
            self.cipher.encrypt(&self.first_block(iv), data);
        }
        let (upper, len) = self.upper(number);
        let hash = self.mac.hash(&[front.get(esp..)?, data, &upper[..len]]);
        icv.copy_from_slice(hash.get(..icv.len())?);
        Some(())
    }
    /// Verifies and decrypts the packet whose ESP header is at `esp` and that ends with `bytes`.
    ///
    /// # Errors
    /// The reason why the packet is invalid.
    #[inline]
    pub fn open(&self, bytes: &mut [u8], esp: usize, number: u64) -> Result<Opened, Flaw> {
        let start = esp + HEADER + self.iv();
        let padded = bytes.len().checked_sub(self.icv()).ok_or(Flaw::Runt)?;
        let len = padded.checked_sub(start).filter(|len| *len >= TRAILER).ok_or(Flaw::Runt)?;
        if len % self.cipher.algorithm.block != 0 {
            return Err(Flaw::Runt);
        }
        let mut block = [0; MAX_IV];
        let iv = block.get_mut(..self.iv()).ok_or(Flaw::Runt)?;
        iv.copy_from_slice(bytes.get(esp + HEADER..start).ok_or(Flaw::Runt)?);
        let iv = &*iv;
        self.unseal(bytes, (esp, start, padded), iv, number)?;
        self.opened(bytes, esp)
    }
    /// The content of a decrypted packet whose header is at `esp`, and which ends with `bytes`.
    ///
    /// # Errors
    /// The flaw of the packet.
    #[inline(always)]
    pub fn opened(&self, bytes: &[u8], esp: usize) -> Result<Opened, Flaw> {
        let start = esp + HEADER + self.iv();
        let padded = bytes.len().checked_sub(self.icv()).ok_or(Flaw::Runt)?;
        let (end, next_header) = match bytes.get(start..padded) {
            Some([.., padding, next]) => {
                ((padded - TRAILER).checked_sub(usize::from(*padding)), *next)
            }
            _ => return Err(Flaw::Runt),
        };
        let end = end.filter(|end| *end >= start).ok_or(Flaw::Length)?;
        Ok(Opened { start, end, next_header })
    }
    /// Decrypts data that has a separate integrity check.
    #[inline(always)]
    pub fn decipher(&self, iv: &[u8], data: &mut [u8]) {
        if self.cipher.algorithm.mode != Mode::Null {
            self.cipher.decrypt(&self.first_block(iv), data);
        }
    }
    #[inline(always)]
    fn unseal(
        &self,
        bytes: &mut [u8],
        (esp, start, padded): (usize, usize, usize),
        iv: &[u8],
        number: u64,
    ) -> Result<(), Flaw> {
        let nonce = self.nonce(if self.has_tag() { iv } else { &[] });
        if self.cipher.algorithm.mode == Mode::Gmac {
            let is_right = self.with_upper(bytes, (esp, padded), number, |all, icv| {
                let mut tag = [0; TAG];
                tag.copy_from_slice(icv.get(..TAG)?);
                Some(self.cipher.open(&nonce, all, &mut tag))
            });
            return is_right.flatten().filter(|right| *right).map(drop).ok_or(Flaw::Decryption);
        }
        let (front, data) = bytes.split_at_mut(start);
        let header = front.get(esp..esp + HEADER).ok_or(Flaw::Runt)?;
        if self.cipher.algorithm.mode == Mode::Aead {
            let (aad, len) = self.additional(header, number);
            let is_right = self.cipher.open(&nonce, &aad[..len], data);
            return is_right.then_some(()).ok_or(Flaw::Decryption);
        }
        let (data, icv) = data.split_at_mut(padded - start);
        if !icv.is_empty() {
            let (upper, len) = self.upper(number);
            let front = front.get(esp..).unwrap_or(&[]);
            if !self.mac.verify(&[front, data, &upper[..len]], icv) {
                return Err(Flaw::Integrity);
            }
        }
        self.decipher(iv, data);
        Ok(())
    }
}
