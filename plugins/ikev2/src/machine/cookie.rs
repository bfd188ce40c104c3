//! Cookies (RFC 7296 section 2.6): the initiator proves that it receives at its address before any
//! state is kept for it.

use std::net::IpAddr;

use ring::hmac;
use subtle::ConstantTimeEq;

/// Seconds for which a secret makes cookies; the cookies are valid for as long again.
const LIFE: f64 = 60.0;

/// The current and the previous secret.
#[derive(Default)]
pub struct Cookies {
    secrets: [Option<(u8, hmac::Key)>; 2],
    since: f64,
    made: u8,
}

impl Cookies {
    fn renew(&mut self, now: f64, random: fn(&mut [u8]) -> bool) {
        let is_old = (now - self.since).abs() >= LIFE || self.secrets[0].is_none();
        let mut secret = [0; 32];
        if is_old && random(&mut secret) {
            self.made = self.made.wrapping_add(1);
            self.secrets[1] = self.secrets[0].take();
            let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
            self.secrets[0] = Some((self.made, key));
            self.since = now;
        }
    }
    /// The cookie for an initiator's address, SPI and nonce.
    pub fn make(
        &mut self,
        (addr, spi, nonce): (IpAddr, u64, &[u8]),
        now: f64,
        random: fn(&mut [u8]) -> bool,
    ) -> Option<Vec<u8>> {
        self.renew(now, random);
        let (number, key) = self.secrets[0].as_ref()?;
        Some(cookie(*number, key, (addr, spi, nonce)))
    }
    /// Whether a cookie is valid.
    pub fn is_right(
        &mut self,
        found: &[u8],
        from: (IpAddr, u64, &[u8]),
        now: f64,
        random: fn(&mut [u8]) -> bool,
    ) -> bool {
        self.renew(now, random);
        let Some(number) = found.first() else { return false };
        let known = self.secrets.iter().flatten().find(|(known, _)| known == number);
        known.is_some_and(|(number, key)| cookie(*number, key, from).ct_eq(found).into())
    }
}

fn cookie(number: u8, key: &hmac::Key, (addr, spi, nonce): (IpAddr, u64, &[u8])) -> Vec<u8> {
    let mut context = hmac::Context::with_key(key);
    match addr {
        IpAddr::V4(addr) => context.update(&addr.octets()),
        IpAddr::V6(addr) => context.update(&addr.octets()),
    }
    context.update(&spi.to_be_bytes());
    context.update(nonce);
    [&[number], context.sign().as_ref()].concat()
}
