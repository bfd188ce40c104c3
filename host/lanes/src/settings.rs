//! Settings of client libraries from `vcl.conf` and the environment.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;

/// Default configuration file; `VCL_CONFIG` overrides it.
const FILE: &str = "/etc/vpp/vcl.conf";
/// Default app socket of the router.
const SOCKET: &str = "/run/vpp/app_ns_sockets/default";
/// Default FIFO size in bytes.
const FIFO: u32 = 1 << 22;

/// Settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Path of the app socket; `@` marks an abstract name.
    pub socket: PathBuf,
    /// Namespace; empty for the socket's own.
    pub namespace: String,
    /// Secret of the namespace.
    pub secret: u64,
    /// Whether sessions with programs of the same namespace are allowed.
    pub is_local: bool,
    /// Whether sessions with hosts are allowed.
    pub is_global: bool,
    /// Size of the router's receive FIFO of a session in bytes.
    pub rx_fifo: u32,
    /// Size of its transmit FIFO in bytes.
    pub tx_fifo: u32,
    /// Seconds to wait for answers of the router.
    pub app_timeout: f64,
    /// Seconds to wait for a session.
    pub session_timeout: f64,
    /// Whether errors are printed to standard error.
    pub is_verbose: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            socket: SOCKET.into(),
            namespace: String::new(),
            secret: 0,
            is_local: false,
            is_global: false,
            rx_fifo: FIFO,
            tx_fifo: FIFO,
            app_timeout: 600.0,
            session_timeout: 600.0,
            is_verbose: false,
        }
    }
}

/// Parses a decimal or hexadecimal number with an optional suffix K, M or G.
fn number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    let (digits, shift) = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => (&text[..text.len() - 1], 10),
        b'm' => (&text[..text.len() - 1], 20),
        b'g' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn size(text: &str, old: u32) -> u32 {
    number(text).map_or(old, |n| n.min(u32::MAX.into()) as u32)
}

impl Config {
    /// The settings of this process.
    pub fn read() -> Self {
        let mut config = Self::default();
        let file = env::var_os("VCL_CONFIG").map_or(FILE.into(), PathBuf::from);
        if let Ok(text) = std::fs::read_to_string(file) {
            config.apply(&text);
        }
        config.apply_environment(|name| env::var(name).ok());
        config
    }
    /// Applies the settings in `vcl { }` of a file; unknown words are ignored.
    fn apply(&mut self, text: &str) {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let text = lines.collect::<Vec<_>>().join(" ").replace('{', " { ").replace('}', " } ");
        let mut words = text.split_whitespace().peekable();
        let mut is_inside = false;
        while let Some(word) = words.next() {
            match word {
                "vcl" if words.peek() == Some(&"{") => is_inside = true,
                "}" => is_inside = false,
                _ if !is_inside => {}
                "app-scope-local" => self.is_local = true,
                "app-scope-global" => self.is_global = true,
                _ => {
                    // The value may be missing; then the next word is no setting either.
                    let value = words.peek().copied().unwrap_or_default();
                    if self.set(word, value) {
                        words.next();
                    }
                }
            }
        }
    }
    /// Applies a setting; false if it is unknown.
    fn set(&mut self, word: &str, value: &str) -> bool {
        let seconds = |old: f64| value.parse().ok().filter(|n: &f64| *n >= 0.0).unwrap_or(old);
        match word {
            "app-socket-api" => self.socket = value.into(),
            "namespace-id" => self.namespace = value.to_owned(),
            "namespace-secret" => self.secret = number(value).unwrap_or(self.secret),
            "rx-fifo-size" => self.rx_fifo = size(value, self.rx_fifo),
            "tx-fifo-size" => self.tx_fifo = size(value, self.tx_fifo),
            "app-timeout" => self.app_timeout = seconds(self.app_timeout),
            "session-timeout" => self.session_timeout = seconds(self.session_timeout),
            _ => return false,
        }
        true
    }
    fn apply_environment(&mut self, value: impl Fn(&str) -> Option<String>) {
        for (name, word) in [
            ("VCL_APP_NAMESPACE_ID", "namespace-id"),
            ("VCL_APP_NAMESPACE_SECRET", "namespace-secret"),
            ("VCL_VPP_SAPI_SOCKET", "app-socket-api"),
        ] {
            if let Some(value) = value(name) {
                self.set(word, &value);
            }
        }
        self.is_local |= value("VCL_APP_SCOPE_LOCAL").is_some();
        self.is_global |= value("VCL_APP_SCOPE_GLOBAL").is_some();
        let level = value("VCL_DEBUG").and_then(|level| number(&level)).unwrap_or(0);
        self.is_verbose |= level > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_obeyed_in_its_block_and_unknown_words_are_passed_over() {
        let mut config = Config::default();
        config.apply(
            "# a comment with app-scope-local\nother { rx-fifo-size 1 }\nvcl {\n heapsize 64M\n \
             segment-size 0x10000\n rx-fifo-size 4000000\n tx-fifo-size 2m # two\n \
             app-scope-global use-mq-eventfd\n app-socket-api /tmp/x\n namespace-id ns \
             namespace-secret 0x4d2\n app-timeout 2.5 session-timeout no\n}\napp-scope-local\n",
        );
        let expected = Config {
            socket: "/tmp/x".into(),
            namespace: "ns".to_owned(),
            secret: 1234,
            is_global: true,
            rx_fifo: 4_000_000,
            tx_fifo: 2 << 20,
            app_timeout: 2.5,
            ..Config::default()
        };
        assert_eq!(config, expected);
    }

    #[test]
    fn the_environment_wins() {
        let mut config = Config { namespace: "file".to_owned(), ..Config::default() };
        config.apply_environment(|name| match name {
            "VCL_APP_NAMESPACE_ID" => Some("env".to_owned()),
            "VCL_APP_NAMESPACE_SECRET" => Some("5678".to_owned()),
            "VCL_APP_SCOPE_LOCAL" => Some(String::new()),
            "VCL_DEBUG" => Some("2".to_owned()),
            _ => None,
        });
        assert_eq!((config.namespace.as_str(), config.secret), ("env", 5678));
        assert!(config.is_local && !config.is_global && config.is_verbose);
    }
}
