//! Certificates and their keys, for TLS. A key is neither shown nor saved, and is overwritten in
//! memory when its certificate is deleted.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use net::Router;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs1KeyDer};
use rustls::pki_types::{PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use super::error::Error;
use super::{Control, check_enabled};

/// Limit of certificates.
pub const MOST_CERTIFICATES: usize = 1024;
/// Limit of certificates in a chain.
const MOST_IN_CHAIN: usize = 16;
/// The first index; clients treat 0 as none.
const FIRST: u32 = 1;

/// Formats of private keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Pkcs1,
    Sec1,
    Pkcs8,
}

/// A private key, overwritten when it is dropped.
struct Key {
    format: Format,
    der: Zeroizing<Vec<u8>>,
}

impl Key {
    fn read(pem: &[u8]) -> Result<Self, Error> {
        let bad = |_| Error::BadCertificate("the key is not in PEM");
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(bad)?;
        let format = match &key {
            PrivateKeyDer::Pkcs1(_) => Format::Pkcs1,
            PrivateKeyDer::Sec1(_) => Format::Sec1,
            PrivateKeyDer::Pkcs8(_) => Format::Pkcs8,
            _ => return Err(Error::BadCertificate("the key has an unknown format")),
        };
        Ok(Self { format, der: Zeroizing::new(key.secret_der().to_vec()) })
    }
    fn borrowed(&self) -> PrivateKeyDer<'_> {
        match self.format {
            Format::Pkcs1 => PrivatePkcs1KeyDer::from(self.der.as_slice()).into(),
            Format::Sec1 => PrivateSec1KeyDer::from(self.der.as_slice()).into(),
            Format::Pkcs8 => PrivatePkcs8KeyDer::from(self.der.as_slice()).into(),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(control::HIDDEN)
    }
}

/// A chain of certificates and the key of the first.
#[derive(Debug)]
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: Key,
}

impl Certificate {
    /// Parses both from PEM.
    ///
    /// # Errors
    /// [`Error::BadCertificate`].
    pub fn read(chain: &[u8], key: &[u8]) -> Result<Self, Error> {
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(chain).take(MOST_IN_CHAIN + 1).collect();
        let chain = chain.map_err(|_| Error::BadCertificate("the certificate is not in PEM"))?;
        if chain.is_empty() {
            return Err(Error::BadCertificate("the PEM text has no certificate"));
        }
        if chain.len() > MOST_IN_CHAIN {
            return Err(Error::BadCertificate("a chain has at most 16 certificates"));
        }
        let read = Self { chain, key: Key::read(key)? };
        read.certified()?;
        Ok(read)
    }

    /// The pair, ready for signing in TLS.
    ///
    /// # Errors
    /// [`Error::BadCertificate`]: the key type is not supported, or the key belongs to another
    /// certificate.
    pub fn certified(&self) -> Result<CertifiedKey, Error> {
        let key = any_supported_type(&self.key.borrowed()).map_err(|_| {
            Error::BadCertificate("the key is not RSA, ECDSA on P-256 or P-384, or Ed25519")
        })?;
        let pair = CertifiedKey::new(self.chain.clone(), key);
        match pair.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {
                Ok(pair)
            }
            Err(rustls::Error::InconsistentKeys(_)) => {
                Err(Error::BadCertificate("the key belongs to another certificate"))
            }
            Err(_) => Err(Error::BadCertificate("the certificate is malformed")),
        }
    }

    /// SHA-256 of the first certificate.
    pub fn fingerprint(&self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.chain[0]);
        let bytes: Vec<_> = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.join(":")
    }

    /// Number of certificates in the chain.
    pub fn chain_len(&self) -> usize {
        self.chain.len()
    }
}

/// All certificates by number.
#[derive(Debug, Default)]
pub(super) struct Certificates(BTreeMap<u32, Arc<Certificate>>);

impl Certificates {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Adds a certificate with its key, both in PEM, and returns its index.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, chain: &[u8], key: &[u8]) -> Result<u32, Error> {
    check_enabled(router)?;
    let all = &mut router.own_mut::<Control>().certificates.0;
    if all.len() >= MOST_CERTIFICATES {
        return Err(Error::TooManyCertificates);
    }
    let new = Certificate::read(chain, key)?;
    let used = all.keys().zip(FIRST..).take_while(|(used, index)| *used == index).count();
    let index = FIRST + used as u32;
    all.insert(index, Arc::new(new));
    Ok(index)
}

/// Deletes a certificate; connections that use it continue.
///
/// # Errors
/// [`Error::NoCertificate`].
pub fn remove(router: &mut Router, index: u32) -> Result<(), Error> {
    check_enabled(router)?;
    let all = &mut router.own_mut::<Control>().certificates.0;
    all.remove(&index).map(drop).ok_or(Error::NoCertificate(index))
}

/// A certificate.
pub fn at(router: &Router, index: u32) -> Option<&Arc<Certificate>> {
    router.own::<Control>().certificates.0.get(&index)
}

/// All certificates by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Arc<Certificate>)> {
    router.own::<Control>().certificates.0.iter().map(|(index, found)| (*index, found))
}
