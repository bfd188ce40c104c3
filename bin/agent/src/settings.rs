//! The agent's settings: `agent { etcd { … } name NAME … }`, in the notation of `startup.conf`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use control::cli::{Args, io_text};
use control::config::Config;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::desired::is_name;
use crate::etcd::Etcd;
use crate::http::Peer;
use crate::machine::{Drift, Orphan};
use crate::signature::PublicKey;

/// Largest file of settings in bytes.
const MOST: u64 = 256 << 10;

/// The settings.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    endpoints: Vec<String>,
    prefix: String,
    ca: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    user: Option<String>,
    password: Option<PathBuf>,
    /// Name of the router.
    pub name: String,
    /// Socket of the router's API over HTTP.
    pub router: PathBuf,
    /// Folder of what the agent has to know after a restart.
    pub state: PathBuf,
    /// Reaction to a missing desired state.
    pub orphan: Orphan,
    /// Reaction to drift.
    pub drift: Drift,
    signed_by: Option<PathBuf>,
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or has something wrong in it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |why: String| format!("{}: {why}", path.display());
        let about = fs::metadata(path).map_err(|e| failed(io_text(&e)))?;
        if !about.is_file() || about.len() > MOST {
            return Err(failed("no file of at most 256 KiB".to_owned()));
        }
        let text = fs::read_to_string(path).map_err(|e| failed(io_text(&e)))?;
        Self::of(&text).map_err(failed)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(text: &str) -> Result<Self, String> {
        let config = Config::parse_file(text, &["agent"]).map_err(|e| e.to_string())?;
        let mut settings = Self {
            router: "/run/vpp/http.sock".into(),
            state: "/var/lib/ferrovia-agent".into(),
            prefix: "/ferrovia/v1/".to_owned(),
            ..Self::default()
        };
        for stanza in config.stanzas("agent") {
            let located = |why: String| format!("{why} (agent, line {})", stanza.line);
            let mut args = stanza.args();
            while let Some(word) = args.word() {
                settings.take(word, &mut args).map_err(located)?;
            }
        }
        if settings.endpoints.is_empty() {
            return Err("agent { etcd { endpoints … } } is missing".to_owned());
        }
        if !settings.prefix.ends_with('/') {
            settings.prefix.push('/');
        }
        if settings.certificate.is_some() != settings.key.is_some() {
            return Err("certificate and key are both needed".to_owned());
        }
        if settings.user.is_some() != settings.password.is_some() {
            return Err("user and password-file are both needed".to_owned());
        }
        if settings.signed_by.is_some() && settings.orphan == Orphan::Empty {
            return Err(
                "`on-orphan empty' needs no signature: it cannot be with `signed-by'".to_owned()
            );
        }
        if settings.name.is_empty() {
            let host = rustix::system::uname();
            settings.name = host.nodename().to_string_lossy().into_owned();
        }
        match is_name(&settings.name) {
            true => Ok(settings),
            false => Err(format!("`{}' is no name of a router", settings.name)),
        }
    }

    fn take(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), String> {
        if word == "etcd" {
            let block = args.block().map_err(|e| e.to_string())?;
            let mut block = block.ok_or("expected `{' after etcd")?;
            while let Some(word) = block.word() {
                self.take_etcd(word, &mut block)?;
            }
            return Ok(());
        }
        let value = value(word, args)?;
        match (word, value.as_str()) {
            ("name", _) => self.name = value,
            ("router", _) => self.router = value.strip_prefix("unix:").unwrap_or(&value).into(),
            ("state", _) => self.state = value.into(),
            ("on-orphan", "keep") => self.orphan = Orphan::Keep,
            ("on-orphan", "empty") => self.orphan = Orphan::Empty,
            ("drift", "report") => self.drift = Drift::Report,
            ("drift", "repair") => self.drift = Drift::Repair,
            ("on-orphan" | "drift", _) => return Err(format!("unknown word '{value}'")),
            ("signed-by", _) => self.signed_by = Some(value.into()),
            _ => return Err(format!("unknown word '{word}'")),
        }
        Ok(())
    }

    fn take_etcd(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), String> {
        let value = value(word, args)?;
        match word {
            "endpoints" => self.endpoints = value.split(',').map(str::to_owned).collect(),
            "prefix" => self.prefix = value,
            "ca" => self.ca = Some(value.into()),
            "certificate" => self.certificate = Some(value.into()),
            "key" => self.key = Some(value.into()),
            "user" => self.user = Some(value),
            "password-file" => self.password = Some(value.into()),
            _ => return Err(format!("unknown word '{word}'")),
        }
        Ok(())
    }

    /// Beginning of all keys of the fleet.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The store.
    ///
    /// # Errors
    /// A file that it needs, or an address, is wrong.
    pub fn store(&self) -> Result<Etcd, String> {
        let tls = self.tls()?;
        let peer = |text: &String| {
            let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
            let rest = rest.trim_end_matches('/');
            // Colons of an IPv6 address stand in brackets.
            let port = rest.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
            let (host, port) = port.unwrap_or((rest, "2379"));
            let port = port.parse().map_err(|_| format!("`{text}' is no address of etcd"))?;
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            match scheme {
                "https" => Ok(Peer::Tcp(host, port, Some(Arc::clone(&tls)))),
                "http" if self.ca.is_some() => {
                    Err(format!("`{text}' has no TLS, but `ca' asks for it"))
                }
                "http" => Ok(Peer::Tcp(host, port, None)),
                _ => Err(format!("`{text}' is no address of etcd")),
            }
        };
        let peers = self.endpoints.iter().map(peer).collect::<Result<Vec<_>, _>>()?;
        let user = match (&self.user, &self.password) {
            (Some(user), Some(file)) => {
                let password = fs::read_to_string(file);
                let password =
                    password.map_err(|e| format!("{}: {}", file.display(), io_text(&e)))?;
                Some((user.clone(), password.trim_end_matches(['\r', '\n']).to_owned()))
            }
            _ => None,
        };
        Ok(Etcd::new(peers, user, self.prefix.clone()))
    }

    /// The key that signs desired states, if they have to be signed.
    ///
    /// # Errors
    /// The file has no key.
    pub fn signer(&self) -> Result<Option<PublicKey>, String> {
        self.signed_by.as_deref().map(PublicKey::read).transpose()
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        let read = |path: &Path| {
            fs::read(path).map_err(|e| format!("{}: {}", path.display(), io_text(&e)))
        };
        let mut roots = RootCertStore::empty();
        if let Some(path) = &self.ca {
            let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
            for certificate in CertificateDer::pem_slice_iter(&read(path)?) {
                let certificate = certificate.map_err(|e| wrong(&e))?;
                roots.add(certificate).map_err(|e| wrong(&e))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"there is no certificate (PEM) in it"));
            }
        }
        let config = ClientConfig::builder().with_root_certificates(roots);
        let (Some(certificate), Some(key)) = (&self.certificate, &self.key) else {
            return Ok(Arc::new(config.with_no_client_auth()));
        };
        let wrong = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let chain = read(certificate)?;
        let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|e| wrong(certificate, &e))?;
        let secret = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|e| wrong(key, &e))?;
        let config = config.with_client_auth_cert(chain, secret);
        config.map(Arc::new).map_err(|e| wrong(certificate, &e))
    }
}

fn value(word: &str, args: &mut Args<'_>) -> Result<String, String> {
    args.word().map(str::to_owned).ok_or_else(|| format!("expected a value after {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "agent { # the edge
        etcd { endpoints http://10.0.0.1:2379,http://10.0.0.2 prefix /ferrovia/v1/edge }
        name r17  router unix:/run/vpp/http.sock  on-orphan keep  drift repair }";

    #[test]
    fn settings_are_read_and_wrong_words_named() {
        let settings = Settings::of(GOOD).unwrap();
        assert_eq!((settings.name.as_str(), settings.drift), ("r17", Drift::Repair));
        assert_eq!(settings.prefix, "/ferrovia/v1/edge/");
        let store = settings.store().unwrap();
        assert_eq!(store.peer().name(), "10.0.0.1:2379");
        store.turn();
        assert_eq!(store.peer().name(), "10.0.0.2:2379");
        for (address, name) in [
            ("http://[2001:db8::1]", "2001:db8::1:2379"),
            ("http://[2001:db8::1]:80/", "2001:db8::1:80"),
            ("db.example", "db.example:2379"),
        ] {
            let text = GOOD.replace("http://10.0.0.1:2379", address);
            assert_eq!(Settings::of(&text).unwrap().store().unwrap().peer().name(), name);
        }
        for (from, to, why) in [
            ("r17", "r/17", "no name of a router"),
            ("r17", "..%", "no name of a router"),
            ("drift repair", "drift mend", "unknown word 'mend' (agent, line 1)"),
            ("on-orphan", "on-order", "unknown word 'on-order'"),
            ("prefix", "prefixes", "unknown word 'prefixes'"),
            ("endpoints http://10.0.0.1:2379,http://10.0.0.2", "", "endpoints"),
            ("on-orphan keep", "on-orphan empty signed-by /k", "needs no signature"),
        ] {
            let said = Settings::of(&GOOD.replace(from, to)).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
        for wrong in ["ftp://10.0.0.1", "http://10.0.0.1:x", "http://10.0.0.1:99999"] {
            let text = GOOD.replace("http://10.0.0.1:2379", wrong);
            assert!(Settings::of(&text).unwrap().store().is_err(), "{wrong}");
        }
    }
}
