//! Certificates (RFC 5280, RFC 4945): parsing, and chains of trust.

use std::net::IpAddr;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

use super::der::{INTEGER, OCTETS, OID, Reader, SEQUENCE};
use super::signature::PublicKey;
use crate::codec::Id;
use crate::codec::number::id;

/// Extended key usages accepted for IKE: IKE's own, and those of TLS servers and clients, which are
/// what many authorities issue. A certificate without the extension is accepted too.
const USES: [&[u8]; 4] = [
    &[0x2b, 6, 1, 5, 5, 7, 3, 17],
    &[0x2b, 6, 1, 5, 5, 8, 2, 2],
    &[0x2b, 6, 1, 5, 5, 7, 3, 1],
    &[0x2b, 6, 1, 5, 5, 7, 3, 2],
];
/// Uses for which one certificate is checked at most.
const MOST_USES: usize = 2;
const EXTENDED_USES: &[u8] = &[0x55, 0x1d, 0x25];
const ALT_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
const CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The whole certificate in DER.
    pub der: Vec<u8>,
    /// Distinguished name of the subject, in DER.
    pub subject: Vec<u8>,
    /// Alternative names of the subject.
    pub names: Vec<Id>,
    /// The public key.
    pub key: PublicKey,
    /// SHA-1 of the key; certificate requests identify authorities by it.
    pub key_hash: Vec<u8>,
    /// Whether it may sign other certificates.
    pub is_authority: bool,
    /// Uses that it is for; none for any.
    pub uses: Vec<Vec<u8>>,
}

impl Certificate {
    /// Parses a certificate; `None` if it is malformed or its type of key is not supported.
    pub fn read(der: &[u8]) -> Option<Self> {
        let mut inside = Reader(der).inside(SEQUENCE)?.inside(SEQUENCE)?;
        inside.take(0xa0);
        inside.take(INTEGER)?;
        for _ in 0..3 {
            inside.take(SEQUENCE)?;
        }
        let subject = inside.take(SEQUENCE)?.whole.to_vec();
        let info = inside.take(SEQUENCE)?;
        let key = PublicKey::read(info.whole)?;
        let bits = {
            let mut parts = Reader(info.content);
            parts.take(SEQUENCE)?;
            parts.bits()?
        };
        let key_hash = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, bits);
        let key_hash = key_hash.as_ref().to_vec();
        let (der, names, uses) = (der.to_vec(), vec![], vec![]);
        let mut found = Self { der, subject, names, key, key_hash, is_authority: false, uses };
        while let Some(value) = inside.any() {
            if value.tag == 0xa3 {
                found.take_extensions(Reader(value.content));
            }
        }
        Some(found)
    }
    fn take_extensions(&mut self, mut all: Reader<'_>) -> Option<()> {
        let mut all = all.inside(SEQUENCE)?;
        while let Some(mut extension) = all.inside(SEQUENCE) {
            let Some(oid) = extension.take(OID) else { continue };
            extension.take(1);
            let Some(value) = extension.take(OCTETS) else { continue };
            let mut inside = Reader(value.content);
            match oid.content {
                CONSTRAINTS => {
                    let flag = inside.inside(SEQUENCE).and_then(|mut of| of.take(1));
                    self.is_authority = flag.is_some_and(|flag| flag.content == [0xff]);
                }
                EXTENDED_USES => {
                    let mut uses = inside.inside(SEQUENCE)?;
                    while let Some(usage) = uses.take(OID) {
                        self.uses.push(usage.content.to_vec());
                    }
                }
                ALT_NAMES => {
                    let mut names = inside.inside(SEQUENCE)?;
                    while let Some(name) = names.any() {
                        let kind = match (name.tag, name.content.len()) {
                            (0x81, _) => id::RFC822,
                            (0x82, _) => id::FQDN,
                            (0x87, 4) => id::IP4,
                            (0x87, 16) => id::IP6,
                            _ => continue,
                        };
                        self.names.push(Id { kind, data: name.content.to_vec() });
                    }
                }
                _ => (),
            }
        }
        Some(())
    }
    /// Whether it names the given identity.
    pub fn is_of(&self, identity: &Id) -> bool {
        match identity.kind {
            id::DN => self.subject == identity.data,
            id::FQDN | id::RFC822 => self.names.iter().any(|name| {
                name.kind == identity.kind && name.data.eq_ignore_ascii_case(&identity.data)
            }),
            _ => self.names.contains(identity),
        }
    }
}

/// Parses all certificates of a PEM file.
///
/// # Errors
/// The reason, as text.
pub fn read_all(pem: &[u8]) -> Result<Vec<Certificate>, &'static str> {
    let mut all = Vec::new();
    for der in CertificateDer::pem_slice_iter(pem) {
        let der = der.map_err(|_| "the file is not in PEM")?;
        let read = Certificate::read(&der);
        all.push(read.ok_or("a certificate in the file has a kind of key that is not supported")?);
    }
    Ok(all)
}

/// The key to verify the peer's signature with: that of the first certificate it sent, if that is
/// trusted, or of a configured certificate with the peer's identity if it sent none.
///
/// # Errors
/// The reason why there is none, as text.
pub fn trusted(trusted: &[Certificate], sent: &[&[u8]], of: &Id) -> Result<PublicKey, String> {
    let own = trusted.iter().find(|c| !c.is_authority);
    let Some((first, others)) = sent.split_first() else {
        let known = own.map(|c| c.key.clone());
        return known.ok_or_else(|| "the peer sent no certificate".to_owned());
    };
    if let Some(known) = trusted.iter().find(|c| c.der == *first) {
        return Ok(known.key.clone());
    }
    let read = Certificate::read(first).ok_or("the peer's certificate is unsupported")?;
    let anchors: Vec<_> = trusted.iter().filter(|c| c.is_authority).collect();
    if anchors.is_empty() {
        return Err("the peer's certificate is not the one that is expected".to_owned());
    }
    if !read.is_of(of) {
        return Err("the peer's certificate does not name its identity".to_owned());
    }
    verify(&anchors, &read, others)?;
    Ok(read.key)
}

/// Checks a chain. It is looked through again for another use only where an authority in it is not
/// for the first one: each time may cost a hundred signatures.
fn verify(anchors: &[&Certificate], first: &Certificate, others: &[&[u8]]) -> Result<(), String> {
    let ders: Vec<_> = anchors.iter().map(|c| CertificateDer::from(&c.der[..])).collect();
    let roots: Vec<_> =
        ders.iter().filter_map(|der| webpki::anchor_from_trusted_cert(der).ok()).collect();
    let between: Vec<_> = others.iter().map(|der| CertificateDer::from(*der)).collect();
    let end = CertificateDer::from(&first.der[..]);
    let end = EndEntityCert::try_from(&end).map_err(|e| format!("certificate: {e}"))?;
    let now = UnixTime::now();
    let is_its = |usage: &&[u8]| first.uses.is_empty() || first.uses.iter().any(|u| u == usage);
    let mut last = "certificate: it is not for IKE".to_owned();
    for usage in USES.into_iter().filter(is_its).take(MOST_USES) {
        let usage = KeyUsage::required_if_present(usage);
        let algorithms = webpki::ALL_VERIFICATION_ALGS;
        match end.verify_for_usage(algorithms, &roots, &between, now, usage, None, None) {
            Ok(_) => return Ok(()),
            Err(e @ webpki::Error::RequiredEkuNotFoundContext(_)) => {
                last = format!("certificate: {e}");
            }
            Err(e) => return Err(format!("certificate: {e}")),
        }
    }
    Err(last)
}

/// The identity of an address.
pub fn id_of(addr: IpAddr) -> Id {
    match addr {
        IpAddr::V4(addr) => Id { kind: id::IP4, data: addr.octets().to_vec() },
        IpAddr::V6(addr) => Id { kind: id::IP6, data: addr.octets().to_vec() },
    }
}
