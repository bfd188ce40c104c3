//! A client of etcd by its JSON gateway (API version 3).
//!
//! Replies are bounded and validated: the store may be of another version, faulty or hostile.

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
/// Limit of bytes of an invalid reply that are shown.
const SHOWN: usize = 100;
/// Keys of a page of [`Etcd::all`]: with their values, and alone.
const PAGE: (usize, usize) = (1000, 10_000);
/// Pages of [`Etcd::all`] at most.
const MOST_PAGES: usize = 1000;
/// Characters of an error of the store that are shown.
const MOST_WHY: usize = 300;
/// Bytes of a notice of a watch at most.
const MOST_NOTICE: usize = 32 << 20;
/// Values in the JSON of a reply at most: a small one in a text takes much more memory as a value.
const MOST_VALUES: usize = 1 << 20;

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
    lines: Lines,
}

/// Bytes that arrive in pieces, as lines.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Bytes of lines that were taken, and those without another end of a line.
    taken: usize,
    searched: usize,
}

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        (self.searched, self.taken) = (self.searched - self.taken, 0);
        self.bytes.extend_from_slice(bytes);
    }

    /// The next line that is complete.
    fn next(&mut self) -> Option<&[u8]> {
        let Some(at) = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            return None;
        };
        let start = self.taken;
        self.taken = self.searched + at + 1;
        self.searched = self.taken;
        Some(&self.bytes[start..self.taken])
    }
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    BASE64.decode(value.as_str().unwrap_or_default()).ok()
}

/// The JSON of a text, unless it is none or has too many values.
fn json_of(text: &[u8]) -> Option<Value> {
    let begins = |byte: &&u8| matches!(byte, b',' | b'[' | b'{');
    let is_small = text.iter().filter(begins).count() <= MOST_VALUES;
    is_small.then(|| serde_json::from_slice(text).ok()).flatten()
}

fn nonsense() -> Problem {
    Problem::Unreachable("not a valid reply of etcd".to_owned())
}

impl Etcd {
    /// Creates a client of these endpoints; keys are below `prefix`.
    pub fn new(peers: Vec<Peer>, user: Option<(String, String)>, prefix: String) -> Self {
        Self { peers, at: Cell::new(0), user, token: RefCell::default(), prefix }
    }

    /// The current endpoint.
    pub fn peer(&self) -> &Peer {
        &self.peers[self.at.get() % self.peers.len().max(1)]
    }

    /// Switches to the next endpoint.
    pub fn turn(&self) {
        self.at.set(self.at.get().wrapping_add(1));
    }

    fn key(&self, key: &str) -> String {
        BASE64.encode(format!("{}{key}", self.prefix))
    }

    /// First key after all keys with this prefix.
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
        let is_asked = |found: &str| if is_prefix { found.starts_with(key) } else { found == key };
        self.records(body, &is_asked).await
    }

    /// Answer of a request for a range, which has no other keys.
    async fn records(
        &self,
        body: Value,
        is_asked: &dyn Fn(&str) -> bool,
    ) -> Result<Found, Problem> {
        let answer = self.call("/v3/kv/range", &body).await?;
        let revision = number(&answer["header"]["revision"]).ok_or_else(nonsense)?;
        let mut records = Records::new();
        for pair in answer["kvs"].as_array().into_iter().flatten() {
            let found = self.record(pair).filter(|(key, _)| is_asked(key));
            let (key, record) = found.ok_or_else(nonsense)?;
            records.insert(key, record);
        }
        let is_cut = answer["more"].as_bool().unwrap_or(false);
        Ok(Found { revision, records, is_cut })
    }

    /// All keys that begin with `prefix`, in pages. Without `with_values` their values are empty.
    ///
    /// # Errors
    /// [`Problem`].
    pub async fn all(&self, prefix: &str, with_values: bool) -> Result<Records, Problem> {
        let page = if with_values { PAGE.0 } else { PAGE.1 };
        let (mut all, mut first) = (Records::new(), self.key(prefix));
        for _ in 0..MOST_PAGES {
            let body = json!({
                "key": first, "range_end": self.end(prefix), "limit": page.to_string(),
                "keys_only": !with_values
            });
            let found = self.records(body, &|key| key.starts_with(prefix)).await?;
            let Some((last, _)) = found.records.last_key_value().filter(|_| found.is_cut) else {
                all.extend(found.records);
                return Ok(all);
            };
            first = self.key(&format!("{last}\0"));
            all.extend(found.records);
        }
        Err(Problem::Refused(format!("it has more keys below {prefix} than are read")))
    }

    fn record(&self, pair: &Value) -> Option<(String, Record)> {
        let key = bytes(&pair["key"])?;
        let key = String::from_utf8_lossy(key.strip_prefix(self.prefix.as_bytes())?).into_owned();
        let modified = number(&pair["mod_revision"])?;
        Some((key, Record { value: bytes(&pair["value"])?, modified }))
    }

    /// Applies changes if all conditions hold; returns whether they did.
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
        Ok(Watch { body: answer.into_body(), lines: Lines::default() })
    }
}

/// The JSON of an answer, or what is wrong.
fn checked(status: u16, answer: &[u8]) -> Result<Value, Problem> {
    let value = json_of(answer).ok_or_else(|| {
        // The beginning may identify the other program.
        let text = String::from_utf8_lossy(&answer[..answer.len().min(SHOWN)]).into_owned();
        let text = text.escape_debug().to_string();
        Problem::Unreachable(format!("not a valid reply of etcd: status {status}, {text}"))
    })?;
    match text_of(&value["error"]) {
        None if status == 200 => Ok(value),
        Some(why) => Err(problem(why)),
        None => Err(nonsense()),
    }
}

/// Text of an error of the gateway.
fn text_of(error: &Value) -> Option<&str> {
    error.as_str().or_else(|| error["message"].as_str())
}

/// The problem that the store means by this text.
fn problem(why: &str) -> Problem {
    let why: String = why.chars().take(MOST_WHY).flat_map(char::escape_debug).collect();
    match why.as_str() {
        why if why.contains("compacted") => Problem::Compacted,
        // No leader, or too much to do: another end may do better.
        text if ["leader", "unavailable", "timed out"].iter().any(|w| text.contains(w)) => {
            Problem::Unreachable(why)
        }
        _ => Problem::Refused(why),
    }
}

/// Whether a notice of a watch has changes.
fn has_changes(notice: &Value) -> Result<bool, Problem> {
    let result = &notice["result"];
    if let Some(error) = notice.get("error") {
        return Err(text_of(error).map_or_else(nonsense, problem));
    }
    if number(&result["compact_revision"]).is_some_and(|revision| revision > 0) {
        return Err(Problem::Compacted);
    }
    if result["canceled"].as_bool() == Some(true) {
        return Err(problem(result["cancel_reason"].as_str().unwrap_or("the watch was cancelled")));
    }
    Ok(result["events"].as_array().is_some_and(|events| !events.is_empty()))
}

impl Watch {
    /// Waits until something has changed; an error when the watch has ended.
    ///
    /// # Errors
    /// [`Problem`].
    pub async fn changed(&mut self) -> Result<(), Problem> {
        loop {
            while let Some(line) = self.lines.next() {
                if has_changes(&json_of(line).ok_or_else(nonsense)?)? {
                    return Ok(());
                }
            }
            let frame = self.body.frame().await;
            let ended = || Problem::Unreachable("the watch has ended".to_owned());
            let frame = frame.ok_or_else(ended)?.map_err(|_| ended())?;
            if let Some(data) = frame.data_ref() {
                self.lines.push(data);
            }
            if self.lines.bytes.len() > MOST_NOTICE {
                return Err(nonsense());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves a store of `count` keys, in pages of at most 7, until it is asked no more.
    fn serve(count: usize) -> Etcd {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, mut asked) = (stream.unwrap(), Vec::new());
                let body = loop {
                    let mut part = [0; 4096];
                    let len = stream.read(&mut part).unwrap();
                    asked.extend_from_slice(&part[..len]);
                    let text = String::from_utf8_lossy(&asked);
                    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
                    if let Some(body) = body.filter(|body| body.ends_with('}') || len == 0) {
                        break body;
                    }
                };
                let body: Value = serde_json::from_str(&body).unwrap();
                let first = bytes(&body["key"]).unwrap();
                let keys = (0..count).map(|n| format!("/t/status/{n:04}").into_bytes());
                let mut keys: Vec<_> = keys.filter(|key| *key >= first).collect();
                let more = keys.len() > 7;
                keys.truncate(7);
                let pair = |key| json!({ "key": BASE64.encode(key), "mod_revision": "1" });
                let pairs: Vec<_> = keys.iter().map(pair).collect();
                let answer = json!({ "header": { "revision": "9" }, "kvs": pairs, "more": more });
                let answer = answer.to_string();
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
                write!(stream, "{head} {}\r\n\r\n{answer}", answer.len()).unwrap();
            }
        });
        Etcd::new(vec![Peer::Tcp("127.0.0.1".to_owned(), port, None)], None, "/t/".to_owned())
    }

    #[tokio::test]
    async fn all_keys_are_read_in_pages() {
        for count in [0, 7, 50] {
            let store = serve(count);
            let all = store.all("status/", false).await.unwrap();
            assert_eq!(all.len(), count);
            assert!(all.keys().all(|key| key.starts_with("status/")));
            // It always answers with keys below `status/'.
            let others = store.range("sets/edge/", true, (None, 10)).await;
            assert_eq!(others.is_err(), count > 0);
        }
    }

    #[test]
    fn a_reply_of_very_many_values_is_none() {
        let usual = format!("[{}1]", "[],".repeat(1000));
        assert!(checked(200, usual.as_bytes()).is_ok());
        for many in ["[],", "0,", "{},"] {
            let bomb = format!("[{}1]", many.repeat(MOST_VALUES));
            assert!(checked(200, bomb.as_bytes()).is_err(), "{many}");
        }
    }

    #[test]
    fn lines_are_the_same_in_any_pieces() {
        let text = b"one\n\nthree\nfour\nrest";
        for len in 1..=text.len() {
            let (mut lines, mut found) = (Lines::default(), Vec::new());
            for piece in text.chunks(len) {
                lines.push(piece);
                while let Some(line) = lines.next() {
                    found.push(line.to_vec());
                }
                assert_eq!(lines.searched, lines.bytes.len(), "nothing is searched twice");
            }
            assert_eq!(found, [&b"one\n"[..], b"\n", b"three\n", b"four\n"]);
        }
    }

    #[test]
    fn a_watch_that_ends_says_why() {
        let changes = |text: &str| has_changes(&serde_json::from_str(text).unwrap());
        assert_eq!(changes(r#"{"result": {"created": true}}"#), Ok(false));
        assert_eq!(changes(r#"{"result": {"events": [{}]}}"#), Ok(true));
        let compacted = r#"{"result": {"canceled": true, "compact_revision": "7"}}"#;
        assert_eq!(changes(compacted), Err(Problem::Compacted));
        let denied = r#"{"result": {"canceled": true, "cancel_reason": "permission denied"}}"#;
        assert_eq!(changes(denied), Err(Problem::Refused("permission denied".to_owned())));
        let alone = r#"{"error": {"message": "etcdserver: no leader"}}"#;
        let expected = Problem::Unreachable("etcdserver: no leader".to_owned());
        assert_eq!(changes(alone), Err(expected));
        assert!(changes(r#"{"error": 7}"#).is_err());
        assert!(changes(r#"{"result": {"canceled": true}}"#).is_err());
    }
}
