//! Writing of payloads and messages.

use super::number::payload;
use super::{HEADER, Header};

/// A chain of payloads.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// Type of the first payload.
    pub first: u8,
    /// Their bytes.
    pub bytes: Vec<u8>,
    last: usize,
}

impl Chain {
    /// Adds a payload.
    pub fn push(&mut self, kind: u8, body: &[u8]) {
        match self.bytes.get_mut(self.last) {
            Some(next) => *next = kind,
            None => self.first = kind,
        }
        self.last = self.bytes.len();
        self.bytes.extend([payload::NONE, 0]);
        self.bytes.extend((4 + body.len() as u16).to_be_bytes());
        self.bytes.extend(body);
    }
    /// Adds a notification that is about no SA.
    pub fn notify(&mut self, kind: u16, data: &[u8]) {
        self.notify_about((0, &[]), kind, data);
    }
    /// Adds a notification about an SA, given by protocol and SPI.
    pub fn notify_about(&mut self, (protocol, spi): (u8, &[u8]), kind: u16, data: &[u8]) {
        let mut body = vec![protocol, spi.len() as u8];
        body.extend(kind.to_be_bytes());
        body.extend(spi);
        body.extend(data);
        self.push(payload::NOTIFY, &body);
    }
    /// Adds a payload with a type and data, such as authentication data.
    pub fn typed(&mut self, kind: u8, of: u8, data: &[u8]) {
        self.push(kind, &[&[of, 0, 0, 0], data].concat());
    }
}

/// A message with a header and unencrypted payloads; its length field counts `len` bytes more.
pub fn message(header: &Header, chain: &Chain, len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + chain.bytes.len() + len);
    out.extend(header.spi_i.to_be_bytes());
    out.extend(header.spi_r.to_be_bytes());
    out.extend([chain.first, 0x20, header.exchange, header.flags]);
    out.extend(header.id.to_be_bytes());
    out.extend(((HEADER + chain.bytes.len() + len) as u32).to_be_bytes());
    out.extend(&chain.bytes);
    out
}
