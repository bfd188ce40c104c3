//! Authentication by signatures (RFC 7296 section 2.15, RFC 4754, RFC 7427, RFC 8420).

use std::fmt;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, RsaKeyPair, UnparsedPublicKey};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;

use super::der::{self, INTEGER, OCTETS, OID, Reader, SEQUENCE};
use super::keys::Hidden;
use crate::codec::number::auth;

/// Supported hash algorithms for signatures (RFC 7427): SHA-256, SHA-384, SHA-512, and "identity"
/// for algorithms with a hash of their own.
pub const HASHES: [u16; 4] = [2, 3, 4, 5];

const RSA_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const EC_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const P256_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const P384_OID: &[u8] = &[0x2b, 0x81, 4, 0, 34];
const ED25519_OID: &[u8] = &[0x2b, 0x65, 0x70];

/// Signature schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    RsaSha1,
    Rsa256,
    Rsa384,
    Rsa512,
    Pss256,
    Pss384,
    Pss512,
    Ecdsa256,
    Ecdsa384,
    /// ECDSA on P-256 with r and s concatenated (RFC 4754).
    Fixed256,
    Fixed384,
    Ed25519,
}

const NULL: &[u8] = &[5, 0];
const RSA_PSS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10];
/// Prefix of SHA-2 object identifiers in RSASSA-PSS parameters.
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2];

/// Schemes by the rest of their object identifiers, behind the prefixes of RSA and of ECDSA.
const NAMED: [(&[u8], Scheme); 6] = [
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11], Scheme::Rsa256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12], Scheme::Rsa384),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13], Scheme::Rsa512),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2], Scheme::Ecdsa256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3], Scheme::Ecdsa384),
    (ED25519_OID, Scheme::Ed25519),
];

impl Scheme {
    /// The scheme of an `AlgorithmIdentifier`.
    fn of(identifier: &[u8]) -> Option<Self> {
        let mut inside = Reader(identifier).inside(SEQUENCE)?;
        let oid = inside.take(OID)?.content;
        if oid == RSA_PSS {
            let mut parameters = inside.inside(SEQUENCE)?;
            let hash = parameters.inside(0xa0)?.inside(SEQUENCE)?.take(OID)?.content;
            return match hash.strip_prefix(SHA2)? {
                [1] => Some(Self::Pss256),
                [2] => Some(Self::Pss384),
                [3] => Some(Self::Pss512),
                _ => None,
            };
        }
        NAMED.iter().find(|(name, _)| *name == oid).map(|(_, scheme)| *scheme)
    }
    /// The `AlgorithmIdentifier` of a scheme used for signing.
    fn identifier(self) -> Vec<u8> {
        let oid = NAMED.iter().find(|(_, scheme)| *scheme == self).map_or(&[][..], |(oid, _)| oid);
        let is_rsa = oid.starts_with(&RSA_OID[..8]);
        let parameters = if is_rsa { NULL } else { &[] };
        der::value(SEQUENCE, &[&der::value(OID, oid), parameters].concat())
    }
    fn algorithm(self) -> &'static dyn signature::VerificationAlgorithm {
        match self {
            Self::RsaSha1 => &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Rsa256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Self::Rsa384 => &signature::RSA_PKCS1_2048_8192_SHA384,
            Self::Rsa512 => &signature::RSA_PKCS1_2048_8192_SHA512,
            Self::Pss256 => &signature::RSA_PSS_2048_8192_SHA256,
            Self::Pss384 => &signature::RSA_PSS_2048_8192_SHA384,
            Self::Pss512 => &signature::RSA_PSS_2048_8192_SHA512,
            Self::Ecdsa256 => &signature::ECDSA_P256_SHA256_ASN1,
            Self::Ecdsa384 => &signature::ECDSA_P384_SHA384_ASN1,
            Self::Fixed256 => &signature::ECDSA_P256_SHA256_FIXED,
            Self::Fixed384 => &signature::ECDSA_P384_SHA384_FIXED,
            Self::Ed25519 => &signature::ED25519,
        }
    }
    fn kind(self) -> Kind {
        match self {
            Self::Ecdsa256 | Self::Fixed256 => Kind::P256,
            Self::Ecdsa384 | Self::Fixed384 => Kind::P384,
            Self::Ed25519 => Kind::Ed25519,
            _ => Kind::Rsa,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    kind: Kind,
    bytes: Vec<u8>,
}

impl PublicKey {
    /// Parses a `SubjectPublicKeyInfo`; `None` for an unsupported type of key.
    pub fn read(info: &[u8]) -> Option<Self> {
        let mut inside = Reader(info).inside(SEQUENCE)?;
        let mut algorithm = inside.inside(SEQUENCE)?;
        let oid = algorithm.take(OID)?.content;
        let curve = || Reader(algorithm.0).take(OID).map(|curve| curve.content);
        let kind = match oid {
            RSA_OID => Kind::Rsa,
            ED25519_OID => Kind::Ed25519,
            EC_OID if curve() == Some(P256_OID) => Kind::P256,
            EC_OID if curve() == Some(P384_OID) => Kind::P384,
            _ => return None,
        };
        Some(Self { kind, bytes: inside.bits()?.to_vec() })
    }
    /// Verifies a signature over `signed`, made with an authentication method.
    pub fn verify(&self, method: u8, proof: &[u8], signed: &[u8]) -> bool {
        let split = || {
            let (len, rest) = proof.split_first()?;
            let (identifier, proof) = rest.split_at_checked(usize::from(*len))?;
            Some((Scheme::of(identifier)?, proof))
        };
        let found = match method {
            auth::RSA => Some((Scheme::RsaSha1, proof)),
            auth::ECDSA_256 => Some((Scheme::Fixed256, proof)),
            auth::ECDSA_384 => Some((Scheme::Fixed384, proof)),
            auth::SIGNATURE => split(),
            _ => None,
        };
        let Some((scheme, proof)) = found.filter(|(scheme, _)| scheme.kind() == self.kind) else {
            return false;
        };
        UnparsedPublicKey::new(scheme.algorithm(), &self.bytes).verify(signed, proof).is_ok()
    }
}

enum Pair {
    Rsa(Box<RsaKeyPair>, Box<Raw>),
    P256(Box<EcdsaKeyPair>, Box<EcdsaKeyPair>),
    P384(Box<EcdsaKeyPair>, Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

/// A private key.
pub struct PrivateKey(Pair);

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(control::HIDDEN)
    }
}

/// Signing algorithms of a curve: with signatures in DER, and with signatures of fixed length.
type Curve = [&'static signature::EcdsaSigningAlgorithm; 2];
const P256: Curve =
    [&signature::ECDSA_P256_SHA256_ASN1_SIGNING, &signature::ECDSA_P256_SHA256_FIXED_SIGNING];
const P384: Curve =
    [&signature::ECDSA_P384_SHA384_ASN1_SIGNING, &signature::ECDSA_P384_SHA384_FIXED_SIGNING];

fn pairs(of: Curve, der: &[u8]) -> Option<[Box<EcdsaKeyPair>; 2]> {
    let random = SystemRandom::new();
    let one = |with| EcdsaKeyPair::from_pkcs8(with, der, &random).ok().map(Box::new);
    Some([one(of[0])?, one(of[1])?])
}

/// Wraps an elliptic curve key (SEC 1) in PKCS #8.
fn enclosed(sec1: &[u8]) -> Vec<u8> {
    let is_named = |oid: &[u8]| sec1.windows(oid.len()).any(|part| part == oid);
    let curve = if is_named(P384_OID) { P384_OID } else { P256_OID };
    let names = [der::value(OID, EC_OID), der::value(OID, curve)].concat();
    let parts = [der::value(INTEGER, &[0]), der::value(SEQUENCE, &names), der::value(OCTETS, sec1)];
    der::value(SEQUENCE, &parts.concat())
}

impl PrivateKey {
    /// Parses a key in PEM (PKCS #8, PKCS #1 or SEC 1).
    ///
    /// # Errors
    /// The reason, as text.
    pub fn read(pem: &[u8]) -> Result<Self, &'static str> {
        const NONE: &str = "the file has no RSA, ECDSA (P-256, P-384) or Ed25519 private key";
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| NONE)?;
        let der = match &key {
            PrivateKeyDer::Pkcs1(der) => {
                return rsa(der.secret_pkcs1_der()).ok_or(NONE);
            }
            PrivateKeyDer::Sec1(der) => enclosed(der.secret_sec1_der()),
            PrivateKeyDer::Pkcs8(der) => der.secret_pkcs8_der().to_vec(),
            _ => return Err(NONE),
        };
        let der = Hidden(der);
        if let Some(inside) = pkcs8(&der.0).and_then(rsa) {
            return Ok(inside);
        }
        if let Some([asn1, fixed]) = pairs(P256, &der.0) {
            return Ok(Self(Pair::P256(asn1, fixed)));
        }
        if let Some([asn1, fixed]) = pairs(P384, &der.0) {
            return Ok(Self(Pair::P384(asn1, fixed)));
        }
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der.0).map_err(|_| NONE)?;
        Ok(Self(Pair::Ed25519(Box::new(pair))))
    }
    /// Signs `signed`; returns the authentication method and the signature. For a peer that has
    /// announced no hashes this is RSA with SHA-1 or ECDSA as in RFC 4754, which all support.
    pub fn sign(&self, signed: &[u8], hashes: &[u16]) -> Option<(u8, Vec<u8>)> {
        let random = SystemRandom::new();
        let named = |scheme: Scheme, proof: &[u8]| {
            let identifier = scheme.identifier();
            (auth::SIGNATURE, [&[identifier.len() as u8], &identifier[..], proof].concat())
        };
        let ecdsa = |pair: &EcdsaKeyPair| {
            pair.sign(&random, signed).ok().map(|proof| proof.as_ref().to_vec())
        };
        match &self.0 {
            Pair::Rsa(pair, _) if hashes.contains(&2) => {
                let mut proof = vec![0; pair.public().modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &random, signed, &mut proof).ok()?;
                Some(named(Scheme::Rsa256, &proof))
            }
            Pair::Rsa(_, raw) => Some((auth::RSA, raw.sign_sha1(signed)?)),
            Pair::P256(pair, _) if hashes.contains(&2) => {
                Some(named(Scheme::Ecdsa256, &ecdsa(pair)?))
            }
            Pair::P384(pair, _) if hashes.contains(&3) => {
                Some(named(Scheme::Ecdsa384, &ecdsa(pair)?))
            }
            Pair::P256(_, pair) => Some((auth::ECDSA_256, ecdsa(pair)?)),
            Pair::P384(_, pair) => Some((auth::ECDSA_384, ecdsa(pair)?)),
            Pair::Ed25519(pair) => Some(named(Scheme::Ed25519, pair.sign(signed).as_ref())),
        }
    }
}

/// The key inside a PKCS #8 structure.
fn pkcs8(der: &[u8]) -> Option<&[u8]> {
    let mut inside = Reader(der).inside(SEQUENCE)?;
    inside.take(INTEGER)?;
    let oid = inside.inside(SEQUENCE)?.take(OID)?.content;
    (oid == RSA_OID).then_some(inside.take(OCTETS)?.content)
}

fn rsa(pkcs1: &[u8]) -> Option<PrivateKey> {
    let pair = RsaKeyPair::from_der(pkcs1).ok()?;
    let mut inside = Reader(pkcs1).inside(SEQUENCE)?;
    inside.take(INTEGER)?;
    let modulus = inside.take(INTEGER)?.content.to_vec();
    inside.take(INTEGER)?;
    let exponent = Hidden(inside.take(INTEGER)?.content.to_vec());
    let raw = Raw { modulus, exponent };
    Some(PrivateKey(Pair::Rsa(Box::new(pair), Box::new(raw))))
}

/// The numbers of an RSA key, for signing with SHA-1: ring only verifies such signatures.
struct Raw {
    modulus: Vec<u8>,
    exponent: Hidden,
}

impl Raw {
    /// Constant-time RSASSA-PKCS1-v1_5 (RFC 8017 section 8.2).
    fn sign_sha1(&self, signed: &[u8]) -> Option<Vec<u8>> {
        const NAMED: [u8; 15] =
            [0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 3, 2, 0x1a, 5, 0, 4, 0x14];
        let modulus = self.modulus.strip_prefix(&[0]).unwrap_or(&self.modulus);
        let hash = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, signed);
        let pad = modulus.len().checked_sub(3 + NAMED.len() + hash.as_ref().len())?;
        let block = [&[0, 1], &vec![0xff; pad][..], &[0], &NAMED, hash.as_ref()].concat();
        let bits = u32::try_from(modulus.len() * 8).ok()?;
        let number = |bytes: &[u8]| BoxedUint::from_be_slice(bytes, bits).ok();
        let odd: Odd<BoxedUint> = Option::from(Odd::new(number(modulus)?))?;
        let field = BoxedMontyParams::new_vartime(odd);
        let exponent = self.exponent.0.strip_prefix(&[0]).unwrap_or(&self.exponent.0);
        let power = BoxedMontyForm::new(number(&block)?, &field).pow(&number(exponent)?);
        let proof = power.retrieve().to_be_bytes();
        proof.get(proof.len().checked_sub(modulus.len())?..).map(<[u8]>::to_vec)
    }
}
