//! `http { listen ADDRESS token-file FILE certificate FILE key FILE name NAME }`.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use control::cli::{Args, io_text};
use control::config::{Endpoint, Stanza};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::tokens::Tokens;

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// TCP.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// The stanza.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Addresses; none: nothing is served.
    pub listen: Vec<Listen>,
    tokens: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    names: Vec<String>,
}

/// The contents of the files that the stanza names.
#[derive(Clone, Default)]
pub struct Loaded {
    /// Tokens; `None` when one has to be made up.
    pub tokens: Option<Tokens>,
    /// TLS, where it is used.
    pub tls: Option<Arc<ServerConfig>>,
    /// Names by which clients may call the router.
    pub names: Vec<String>,
}

impl Settings {
    /// Reads all stanzas of this name.
    pub fn read(stanzas: &[Stanza]) -> Result<Self, String> {
        let mut all = Self::default();
        for stanza in stanzas.iter().filter(|stanza| stanza.word == "http") {
            let located = |why: String| format!("http: {why} (line {})", stanza.line);
            let mut args = stanza.args();
            while let Some(word) = args.word() {
                if !all.take(word, &mut args).map_err(located)? {
                    return Err(located(format!("unknown word '{word}'")));
                }
            }
        }
        all.check().map(|()| all)
    }

    /// Takes a word and its value; false when the word is not known.
    fn take(&mut self, word: &str, args: &mut Args<'_>) -> Result<bool, String> {
        let mut path = |what: &str| args.value::<PathBuf>(what).map_err(|e| e.to_string());
        match word {
            "listen" => self.listen.push(listen(args)?),
            "token-file" => self.tokens = Some(path(word)?),
            "certificate" => self.certificate = Some(path(word)?),
            "key" => self.key = Some(path(word)?),
            "name" => {
                let name: String = args.value(word).map_err(|e| e.to_string())?;
                self.names.push(name.to_ascii_lowercase());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check(&self) -> Result<(), String> {
        if self.certificate.is_some() != self.key.is_some() {
            return Err("http: certificate and key are both needed".to_owned());
        }
        let is_open = |l: &&Listen| matches!(l, Listen::Tcp(a) if !a.ip().is_loopback());
        let Some(open) = self.listen.iter().find(is_open) else { return Ok(()) };
        let missing = [
            ("a token-file", self.tokens.is_none()),
            ("TLS (certificate and key)", self.certificate.is_none()),
        ];
        let missing: Vec<_> = missing.iter().filter(|(_, is)| *is).map(|(what, _)| *what).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "http: listen {}: other machines can reach this address, which needs {}",
            open.text(),
            missing.join(" and ")
        ))
    }

    /// Reads the files.
    pub fn load(&self) -> Result<Loaded, String> {
        if self.listen.is_empty() {
            return Ok(Loaded::default());
        }
        let tokens = self.tokens.as_deref().map(Tokens::read).transpose()?;
        let tls = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some(tls(certificate, key)?),
            _ => None,
        };
        Ok(Loaded { tokens, tls, names: self.names.clone() })
    }
}

impl Listen {
    /// As an operator writes it.
    pub fn text(&self) -> String {
        match self {
            Self::Tcp(address) => address.to_string(),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }
}

/// `PORT`, `ADDRESS:PORT`, `unix PATH` or a path.
fn listen(args: &mut Args<'_>) -> Result<Listen, String> {
    let word = args.word().ok_or("expected an address after listen")?;
    if word == "unix" {
        let path = args.word().ok_or("expected a path after listen unix")?;
        return Ok(Listen::Unix(path.into()));
    }
    if word.contains('/') {
        return Ok(Listen::Unix(word.into()));
    }
    let address: Result<Endpoint, _> = word.parse();
    let address = address.map_err(|_| format!("listen '{word}' is not an address with a port"))?;
    Ok(Listen::Tcp(address.0))
}

fn tls(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let read = |path: &Path| {
        fs::read(path).map_err(|e| format!("http: cannot read {}: {}", path.display(), io_text(&e)))
    };
    let wrong =
        |path: &Path, why: &dyn std::fmt::Display| format!("http: {}: {why}", path.display());
    let chain = CertificateDer::pem_slice_iter(&read(certificate)?).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|e| wrong(certificate, &e))?;
    if chain.is_empty() {
        return Err(wrong(certificate, &"there is no certificate (PEM) in it"));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|e| wrong(key, &e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| format!("http: {e}"))?
        .with_no_client_auth()
        .with_single_cert(chain, secret);
    let mut config = config.map_err(|e| wrong(certificate, &e))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use control::config::Config;

    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        Settings::read(&Config::parse(text, &[]).map_err(|e| e.to_string())?.others)
    }

    #[test]
    fn nothing_is_served_unless_told() {
        assert!(read("").unwrap().listen.is_empty());
        let original = "http { first-segment-size 32m }";
        assert_eq!(read(original), Ok(Settings::default()), "the original's stanza");
    }

    #[test]
    fn ports_are_of_this_machine() {
        let all = read("http { listen 8080 listen [::1]:81 listen unix /a/b listen /c }").unwrap();
        let text: Vec<_> = all.listen.iter().map(Listen::text).collect();
        assert_eq!(text, ["127.0.0.1:8080", "[::1]:81", "unix:/a/b", "unix:/c"]);
    }

    #[test]
    fn other_machines_need_a_token_and_tls() {
        let why = |text: &str| read(text).unwrap_err();
        let listen = "listen 0.0.0.0:443";
        let both = why(&format!("http {{ {listen} }}"));
        assert!(both.contains("0.0.0.0:443"), "{both}");
        assert!(both.ends_with("needs a token-file and TLS (certificate and key)"), "{both}");
        let tls = "certificate /c key /k";
        assert!(why(&format!("http {{ {listen} {tls} }}")).ends_with("needs a token-file"));
        assert!(why(&format!("http {{ {listen} token-file /t }}")).ends_with("and key)"));
        assert!(why("http { listen [2001:db8::1]:80 }").contains("other machines"));
        assert!(read(&format!("http {{ {listen} token-file /t {tls} }}")).is_ok());
        assert!(why("http { listen 80 key /k }").contains("both needed"));
    }

    #[test]
    fn wrong_words_are_named() {
        let why = |text: &str| read(text).unwrap_err();
        let text = "unix { }\nhttp { listen 80 tokn-file /t }";
        let said = "unknown word 'tokn-file' in stanza 'http' (line 2): did you mean `token-file'?";
        assert_eq!(why(text), said);
        assert!(why("http { listen nowhere }").contains("'nowhere' is not an address"));
    }

    #[test]
    fn missing_files_are_named() {
        let all = read("http { listen 80 token-file /nosuch/t }").unwrap();
        assert!(all.load().err().unwrap().contains("/nosuch/t"));
        let all = read("http { listen 80 certificate /nosuch/c key /nosuch/k }").unwrap();
        assert!(all.load().err().unwrap().contains("/nosuch/c"));
    }
}
