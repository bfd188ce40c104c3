//! A client of etcd by its JSON gateway (API version 3).
//!
//! Whatever the store answers is bounded and checked: it may be another version, broken, or lying.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::desired::{Record, Records};
use crate::http::{Ask, Peer};

/// Time of a request.
const TIME: Duration = Duration::from_secs(5);
/// Bytes of an answer at most.
const MOST: usize = 32 << 20;
/// Bytes of an answer that is none that are shown.
const SHOWN: usize = 100;
/// Bytes of a notice of a watch at most.
const MOST_NOTICE: usize = 32 << 20;

/// Why the store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It does not answer as etcd does.
    Unreachable(String),
    /// It no longer has the revision.
    Compacted,
    /// It refuses.
    Refused(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => f.write_str(why),
            Self::Compacted => f.write_str("the store no longer has this revision"),
            Self::Refused(why) => write!(f, "the store refuses: {why}"),
        }
    }
}

/// A store of a fleet.
pub struct Etcd {
    peers: Vec<Peer>,
    at: Cell<usize>,
    user: Option<(String, String)>,
    token: RefCell<Option<String>>,
    prefix: String,
}

/// The contents of a range.
#[derive(Debug)]
pub struct Found {
    /// Revision of the store.
    pub revision: u64,
    /// Values by key below the prefix.
    pub records: Records,
    /// Whether there are more.
    pub is_cut: bool,
}

/// A change of a key below the prefix.
pub enum Change<'a> {
    /// Writes a value, which lasts as long as a lease if there is one.
    Put(&'a str, &'a [u8], Option<i64>),
    /// Removes a key.
    Delete(&'a str),
    /// Removes all keys that begin so.
    DeleteAll(&'a str),
}

/// A condition of changes.
pub enum If<'a> {
    /// There is no such key.
    Absent(&'a str),
    /// The key was last written at this revision; 0: it is absent.
    Modified(&'a str, u64),
    /// The key has this lease.
    Leased(&'a str, i64),
}

/// Notices of a watch.
pub struct Watch {
    body: Incoming,
    bytes: Vec<u8>,
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    BASE64.decode(value.as_str().unwrap_or_default()).ok()
}

fn nonsense() -> Problem {
    Problem::Unreachable("it does not answer as etcd does".to_owned())
}

impl Etcd {
    /// One with these ends; keys are below `prefix`.
    pub fn new(peers: Vec<Peer>, user: Option<(String, String)>, prefix: String) -> Self {
        Self { peers, at: Cell::new(0), user, token: RefCell::default(), prefix }
    }

    /// The end that is asked now.
    pub fn peer(&self) -> &Peer {
        &self.peers[self.at.get() % self.peers.len().max(1)]
    }

    /// Asks another end from now on.
    pub fn turn(&self) {
        self.at.set(self.at.get().wrapping_add(1));
    }

    fn key(&self, key: &str) -> String {
        BASE64.encode(format!("{}{key}", self.prefix))
    }

    /// First key behind all that begin so.
    fn end(&self, key: &str) -> String {
        let mut bytes = format!("{}{key}", self.prefix).into_bytes();
        if let Some(last) = bytes.last_mut() {
            *last += 1; // a byte of a name in ASCII
        }
        BASE64.encode(bytes)
    }

    async fn send(&self, path: &str, body: &Value) -> Result<(u16, Vec<u8>), Problem> {
        let token = self.token.borrow().clone();
        let body = Some(body.to_string().into_bytes());
        let ask = Ask { path, body, token: token.as_deref() };
        let peer = self.peer();
        let answer = peer.ask(ask, MOST, TIME).await;
        answer.map_err(|why| Problem::Unreachable(format!("{}: {why}", peer.name())))
    }

    async fn log_in(&self) -> Result<(), Problem> {
        let Some((name, password)) = &self.user else { return Ok(()) };
        *self.token.borrow_mut() = None;
        let body = json!({ "name": name, "password": password });
        let (status, answer) = self.send("/v3/auth/authenticate", &body).await?;
        let answer = checked(status, &answer)?;
        let token = answer["token"].as_str().ok_or_else(nonsense)?;
        *self.token.borrow_mut() = Some(token.to_owned());
        Ok(())
    }

    async fn call(&self, path: &str, body: &Value) -> Result<Value, Problem> {
        if self.user.is_some() && self.token.borrow().is_none() {
            self.log_in().await?;
        }
        let (status, answer) = self.send(path, body).await?;
        let result = checked(status, &answer);
        let is_old = matches!(&result, Err(Problem::Refused(why)) if why.contains("auth token"));
        if !is_old || self.user.is_none() {
            return result;
        }
        self.log_in().await?;
        let (status, answer) = self.send(path, body).await?;
        checked(status, &answer)
    }

    /// Values of all keys that begin with `key`, or of that key alone, as they were at a revision
    /// or are now.
    ///
    /// # Errors
    /// [`Problem`].
    pub async fn range(
        &self,
        key: &str,
        is_prefix: bool,
        (revision, limit): (Option<u64>, usize),
    ) -> Result<Found, Problem> {
        let mut body = json!({ "key": self.key(key), "limit": limit.to_string() });
        if is_prefix {
            body["range_end"] = self.end(key).into();
        }
        if let Some(revision) = revision {
            body["revision"] = revision.to_string().into();
        }
        let answer = self.call("/v3/kv/range", &body).await?;
        let revision = number(&answer["header"]["revision"]).ok_or_else(nonsense)?;
        let mut records = Records::new();
        for pair in answer["kvs"].as_array().into_iter().flatten() {
            let (key, record) = self.record(pair).ok_or_else(nonsense)?;
            records.insert(key, record);
        }
        let is_cut = answer["more"].as_bool().unwrap_or(false);
        Ok(Found { revision, records, is_cut })
    }

    fn record(&self, pair: &Value) -> Option<(String, Record)> {
        let key = bytes(&pair["key"])?;
        let key = String::from_utf8_lossy(key.strip_prefix(self.prefix.as_bytes())?).into_owned();
        let modified = number(&pair["mod_revision"])?;
        Some((key, Record { value: bytes(&pair["value"])?, modified }))
    }

    /// Makes changes if everything holds; whether it did.
    ///
    /// # Errors
    /// [`Problem`].
    pub async fn change(&self, holds: &[If<'_>], all: &[Change<'_>]) -> Result<bool, Problem> {
        let holds: Vec<_> = holds
            .iter()
            .map(|holds| match holds {
                If::Absent(key) => json!({
                    "key": self.key(key), "target": "VERSION", "result": "EQUAL", "version": "0"
                }),
                If::Modified(key, at) => json!({
                    "key": self.key(key), "target": "MOD", "result": "EQUAL",
                    "mod_revision": at.to_string()
                }),
                If::Leased(key, lease) => json!({
                    "key": self.key(key), "target": "LEASE", "result": "EQUAL",
                    "lease": lease.to_string()
                }),
            })
            .collect();
        let all: Vec<_> = all
            .iter()
            .map(|change| match change {
                Change::Put(key, value, lease) => json!({ "requestPut": {
                    "key": self.key(key), "value": BASE64.encode(value),
                    "lease": lease.unwrap_or(0).to_string()
                }}),
                Change::Delete(key) => json!({ "requestDeleteRange": { "key": self.key(key) } }),
                Change::DeleteAll(key) => json!({ "requestDeleteRange": {
                    "key": self.key(key), "range_end": self.end(key)
                }}),
            })
            .collect();
        let answer = self.call("/v3/kv/txn", &json!({ "compare": holds, "success": all })).await?;
        Ok(answer["succeeded"].as_bool().unwrap_or(false))
    }

    /// A lease of so many seconds.
    ///
    /// # Errors
    /// [`Problem`].
    pub async fn lease(&self, seconds: u32) -> Result<i64, Problem> {
        let answer = self.call("/v3/lease/grant", &json!({ "TTL": seconds.to_string() })).await?;
        let id = number(&answer["ID"]).and_then(|id| i64::try_from(id).ok());
        id.filter(|id| *id != 0).ok_or_else(nonsense)
    }

    /// Keeps a lease alive; false if it has expired.
    ///
    /// # Errors
    /// [`Problem`].
    pub async fn keep(&self, lease: i64) -> Result<bool, Problem> {
        let answer = self.call("/v3/lease/keepalive", &json!({ "ID": lease.to_string() })).await?;
        Ok(number(&answer["result"]["TTL"]).is_some_and(|seconds| seconds > 0))
    }

    /// Ends a lease, and with it the keys that have it.
    ///
    /// # Errors
    /// [`Problem`].
    pub async fn revoke(&self, lease: i64) -> Result<(), Problem> {
        self.call("/v3/lease/revoke", &json!({ "ID": lease.to_string() })).await.map(drop)
    }

    /// Begins to watch all keys that begin with `key`, from a revision on.
    ///
    /// # Errors
    /// [`Problem`].
    pub async fn watch(&self, key: &str, from: u64) -> Result<Watch, Problem> {
        let create = json!({
            "key": self.key(key), "range_end": self.end(key), "start_revision": from.to_string()
        });
        let body = json!({ "create_request": create }).to_string().into_bytes();
        let token = self.token.borrow().clone();
        let ask = Ask { path: "/v3/watch", body: Some(body), token: token.as_deref() };
        let answer = self.peer().open(ask, TIME).await.map_err(Problem::Unreachable)?;
        if !answer.status().is_success() {
            return Err(Problem::Refused(format!("status {}", answer.status())));
        }
        Ok(Watch { body: answer.into_body(), bytes: Vec::new() })
    }
}

/// The JSON of an answer, or what is wrong.
fn checked(status: u16, answer: &[u8]) -> Result<Value, Problem> {
    let value: Result<Value, _> = serde_json::from_slice(answer);
    let value = value.map_err(|_| {
        // The beginning may say what it is instead.
        let text = String::from_utf8_lossy(&answer[..answer.len().min(SHOWN)]).into_owned();
        let text = text.escape_debug().to_string();
        Problem::Unreachable(format!("it does not answer as etcd does: status {status}, {text}"))
    })?;
    let error = value["error"].as_str().or_else(|| value["error"]["message"].as_str());
    match error {
        None if status == 200 => Ok(value),
        Some(why) if why.contains("compacted") => Err(Problem::Compacted),
        // No leader, or too much to do: another end may do better.
        Some(why) if ["leader", "unavailable", "timed out"].iter().any(|w| why.contains(w)) => {
            Err(Problem::Unreachable(why.to_owned()))
        }
        Some(why) => Err(Problem::Refused(why.to_owned())),
        None => Err(nonsense()),
    }
}

impl Watch {
    /// Waits until something has changed; an error when the watch has ended.
    ///
    /// # Errors
    /// [`Problem`].
    pub async fn changed(&mut self) -> Result<(), Problem> {
        loop {
            while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                let value: Result<Value, _> = serde_json::from_slice(&line);
                let value = value.map_err(|_| nonsense())?;
                let result = &value["result"];
                if value.get("error").is_some() || result["canceled"].as_bool() == Some(true) {
                    return Err(Problem::Compacted);
                }
                if result["events"].as_array().is_some_and(|events| !events.is_empty()) {
                    return Ok(());
                }
            }
            let frame = self.body.frame().await;
            let ended = || Problem::Unreachable("the watch has ended".to_owned());
            let frame = frame.ok_or_else(ended)?.map_err(|_| ended())?;
            if let Some(data) = frame.data_ref() {
                self.bytes.extend_from_slice(data);
            }
            if self.bytes.len() > MOST_NOTICE {
                return Err(nonsense());
            }
        }
    }
}
