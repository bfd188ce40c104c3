//! The thread that reads files, and their cache.
//!
//! The kernel resolves paths below the folder (`openat2` with `RESOLVE_BENEATH`), so neither `..`
//! nor links lead out of it. Only regular files are read. Each request checks the cache against the
//! file, so it is never stale.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::{io, thread};

use http_core::{Response, Ticket};
use rustix::fs::{Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use rustix::io::Errno;

use crate::types::content_type;

/// Limit of queued requests.
const WAITING: usize = 1024;
/// Largest file in bytes.
pub const MOST_FILE: u64 = 256 << 20;
/// Limit of files in the cache.
const MOST_CACHED: usize = 4096;
/// Size from which on files being sent are counted and shared, in bytes.
const LARGE: u64 = 64 << 10;
/// File that is served for a folder.
const INDEX: &str = "index.html";

/// A request for a file.
pub struct Ask {
    /// Decoded path below the folder: `/a/b.html`.
    pub path: String,
    /// Value of `If-Modified-Since`.
    pub since: Option<String>,
    /// Whether only the header is requested.
    pub is_head: bool,
    /// Ticket for the response.
    pub ticket: Ticket,
    /// Also gets the file, if it was found: the site may serve it again for a moment.
    pub found: SyncSender<(String, Response)>,
}

/// Statistics of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Bytes of cached files.
    pub bytes: u64,
    /// Number of cached files.
    pub files: usize,
    /// Requests served from the cache.
    pub hits: u64,
    /// Requests that read the file.
    pub reads: u64,
    /// Evicted files.
    pub evictions: u64,
    /// Whether the cache is to be cleared.
    clear: bool,
}

/// The statistics, shared by the thread and the control thread; clones share them.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<Numbers>>);

impl Ledger {
    fn change<R>(&self, change: impl FnOnce(&mut Numbers) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
    /// The current statistics.
    pub fn numbers(&self) -> Numbers {
        self.change(|numbers| *numbers)
    }
    /// Clears the cache before the next file.
    pub fn clear(&self) {
        self.change(|numbers| (numbers.bytes, numbers.files, numbers.clear) = (0, 0, true));
    }
}

/// Starts the thread; it ends with the last site.
///
/// # Errors
/// The folder does not exist, or the thread cannot be created.
pub fn start(
    folder: &str,
    cache_size: u64,
    max_age: u32,
    ledger: Ledger,
) -> io::Result<SyncSender<Ask>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(folder, flags, Mode::empty())?;
    let (asks, taken) = sync_channel(WAITING);
    let cache = Cache {
        files: HashMap::new(),
        bytes: 0,
        limit: cache_size,
        clock: 0,
        held: Vec::new(),
        ledger,
    };
    let mut reader = Reader { root, cache, max_age };
    let name = "http_static".to_owned();
    thread::Builder::new().name(name).spawn(move || reader.serve(&taken))?;
    Ok(asks)
}

struct Reader {
    root: OwnedFd,
    cache: Cache,
    max_age: u32,
}

/// A cached file.
struct Entry {
    body: Arc<[u8]>,
    /// Its version: inode, length, and time of its last change in seconds and nanoseconds.
    stamp: Stamp,
    used: u64,
}

type Stamp = (u64, u64, i64, u64);

struct Cache {
    files: HashMap<String, Entry>,
    bytes: u64,
    limit: u64,
    clock: u64,
    /// Large files that have been read; some are in the cache or being sent.
    held: Vec<(String, Stamp, Weak<[u8]>)>,
    ledger: Ledger,
}

impl Reader {
    fn serve(&mut self, asks: &Receiver<Ask>) {
        while let Ok(ask) = asks.recv() {
            if self.cache.ledger.change(|numbers| std::mem::take(&mut numbers.clear)) {
                (self.cache.files, self.cache.bytes) = (HashMap::new(), 0);
            }
            if !ask.ticket.is_awaited() {
                continue;
            }
            let response = self.answer(&ask).unwrap_or_else(Response::status);
            if response.status == 200 && (1..=LARGE).contains(&(response.body.len() as u64)) {
                // If the site's queue is full, it will ask again.
                let _ = ask.found.try_send((ask.path, response.clone()));
            }
            ask.ticket.fill(response);
        }
    }

    /// The response with a file, or an error status.
    fn answer(&mut self, ask: &Ask) -> Result<Response, u16> {
        let path = match ask.path.strip_suffix('/') {
            Some(folder) => format!("{folder}/{INDEX}"),
            None => ask.path.clone(),
        };
        let file = open(&self.root, &path)?;
        let stat = fstat(&file).map_err(status)?;
        let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
        if kind.is_dir() {
            let mut response = Response::status(301);
            // A location with two leading slashes would name another host.
            let path = encoded(path.trim_matches('/'));
            response.headers.push(("Location", format!("/{path}/")));
            return Ok(response);
        }
        if !kind.is_file() {
            return Err(403);
        }
        let modified = date(stat.st_mtime);
        let headers = vec![
            ("Cache-Control", format!("max-age={}", self.max_age)),
            ("Last-Modified", modified.clone()),
        ];
        if ask.since.as_deref() == Some(&modified) {
            return Ok(Response { headers, ..Response::new(304, "", []) });
        }
        let left_out = if ask.is_head { stat.st_size.unsigned_abs() } else { 0 };
        let body = match ask.is_head {
            true => Arc::from([]),
            false => self.cache.body(&path, file, &stat)?,
        };
        Ok(Response { headers, left_out, ..Response::new(200, content_type(&path), body) })
    }
}

impl Cache {
    fn body(&mut self, path: &str, file: OwnedFd, stat: &Stat) -> Result<Arc<[u8]>, u16> {
        let len = u64::try_from(stat.st_size).unwrap_or_default();
        let stamp = (stat.st_ino, len, stat.st_mtime, stat.st_mtime_nsec);
        self.clock += 1;
        if let Some(entry) = self.files.get_mut(path)
            && entry.stamp == stamp
        {
            entry.used = self.clock;
            self.ledger.change(|numbers| numbers.hits += 1);
            return Ok(Arc::clone(&entry.body));
        }
        if let Some(body) = self.held(path, stamp) {
            self.ledger.change(|numbers| numbers.hits += 1);
            return Ok(body);
        }
        if len > MOST_FILE {
            return Err(413);
        }
        if len > LARGE && !self.may_hold(len) {
            return Err(503);
        }
        let mut bytes = Vec::with_capacity(len as usize);
        File::from(file).take(len).read_to_end(&mut bytes).map_err(|_| 500_u16)?;
        let body: Arc<[u8]> = bytes.into();
        if len > LARGE {
            self.held.push((path.to_owned(), stamp, Arc::downgrade(&body)));
        }
        self.forget(path);
        if len <= self.limit {
            self.make_room(len);
            let entry = Entry { body: Arc::clone(&body), stamp, used: self.clock };
            self.files.insert(path.to_owned(), entry);
            self.bytes += len;
        }
        let (bytes, files) = (self.bytes, self.files.len());
        self.ledger.change(|numbers| {
            numbers.reads += 1;
            (numbers.bytes, numbers.files) = (bytes, files);
        });
        Ok(body)
    }

    /// A large file that is being sent to another client.
    fn held(&self, path: &str, stamp: Stamp) -> Option<Arc<[u8]>> {
        let is = |(of, version, _): &&(String, Stamp, _)| of == path && *version == stamp;
        self.held.iter().filter(is).find_map(|(.., body)| body.upgrade())
    }

    /// Whether a file of `len` bytes may be read in addition to those in the cache or being sent.
    /// The limit is the cache size plus one file of the largest size, even with slow clients.
    fn may_hold(&mut self, len: u64) -> bool {
        self.held.retain(|(.., body)| body.strong_count() > 0);
        let held: u64 = self.held.iter().map(|(_, (_, len, ..), _)| len).sum();
        held + len <= self.limit + MOST_FILE
    }

    fn forget(&mut self, path: &str) {
        if let Some(old) = self.files.remove(path) {
            self.bytes -= old.body.len() as u64;
        }
    }

    /// Evicts the least recently used files.
    fn make_room(&mut self, len: u64) {
        while self.bytes + len > self.limit || self.files.len() >= MOST_CACHED {
            let oldest = self.files.iter().min_by_key(|(_, entry)| entry.used);
            let Some(path) = oldest.map(|(path, _)| path.clone()) else { return };
            self.forget(&path);
            self.ledger.change(|numbers| numbers.evictions += 1);
        }
    }
}

/// Opens a file below the folder for reading.
fn open(root: &OwnedFd, path: &str) -> Result<OwnedFd, u16> {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "." } else { path };
    // Without NONBLOCK, opening a pipe would block the thread until another program writes.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path, flags, Mode::empty(), resolve).map_err(status)
}

fn status(why: Errno) -> u16 {
    match why {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => 404,
        Errno::ACCESS | Errno::PERM | Errno::XDEV | Errno::LOOP | Errno::NXIO => 403,
        _ => 500,
    }
}

/// Percent-encodes a path for a URI in a header.
fn encoded(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

/// A date in HTTP format (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let since = seconds.max(0).unsigned_abs();
    let (days, second) = (since / 86_400, since % 86_400);
    // Days of the civil calendar, counted from 1 March of year 0.
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let (name, month) = (DAYS[(days % 7) as usize], MONTHS[month as usize - 1]);
    format!("{name}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}
