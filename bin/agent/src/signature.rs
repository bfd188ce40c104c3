//! Ed25519 signatures (RFC 8032) of desired states: a store that lies cannot command a router.

use std::fs;
use std::path::Path;

use control::cli::io_text;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

/// A key that signatures are checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

/// A key that signs.
pub struct PrivateKey(Ed25519KeyPair);

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    if !text.is_ascii() || text.len() % 2 == 1 {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok());
    pairs.collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {}", path.display(), io_text(&e)))
}

impl PublicKey {
    /// Reads a file with 64 hexadecimal digits.
    ///
    /// # Errors
    /// The file is missing or has something else in it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let key = bytes(&read(path)?).and_then(|bytes| bytes.try_into().ok());
        key.map(Self).ok_or_else(|| format!("{}: a key is 64 hexadecimal digits", path.display()))
    }

    /// Whether a signature, in hexadecimal digits, is of this message.
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        bytes(signature).is_some_and(|signature| key.verify(message, &signature).is_ok())
    }
}

impl PrivateKey {
    /// A new key as the text of its file.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<String, String> {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        made.map(|der| hex(der.as_ref())).map_err(|_| "no random numbers".to_owned())
    }

    /// Reads the file of a key.
    ///
    /// # Errors
    /// The file is missing or has something else in it.
    pub fn read(path: &Path) -> Result<Self, String> {
        Self::of(&read(path)?).ok_or_else(|| format!("{}: not a private key", path.display()))
    }

    /// The key in the text of a file.
    pub fn of(text: &str) -> Option<Self> {
        Ed25519KeyPair::from_pkcs8(&bytes(text)?).ok().map(Self)
    }

    /// The key that checks what this one signs.
    pub fn public(&self) -> PublicKey {
        let key = self.0.public_key().as_ref().try_into();
        PublicKey(key.expect("a public key of Ed25519 has 32 bytes"))
    }

    /// A signature in hexadecimal digits.
    pub fn sign(&self, message: &[u8]) -> String {
        hex(self.0.sign(message).as_ref())
    }
}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_message_only() {
        let key = PrivateKey::of(&PrivateKey::generate().unwrap()).unwrap();
        let signature = key.sign(b"a");
        assert!(key.public().verifies(b"a", &signature));
        let other = PrivateKey::of(&PrivateKey::generate().unwrap()).unwrap();
        assert!(!other.public().verifies(b"a", &signature));
        assert!(!key.public().verifies(b"b", &signature));
        for wrong in ["", "0", "zz", "é0", &signature[2..], &"0".repeat(128)] {
            assert!(!key.public().verifies(b"a", wrong), "{wrong}");
        }
    }
}
