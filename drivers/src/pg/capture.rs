//! Writing what an interface sends into a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use control::private_file;
use graph::Buffer;
use infra::time::Clock;

use crate::pcap;

/// Bytes of a packet that a capture has at most.
const MOST_BYTES: usize = 9216;

/// A capture, shared by the threads that send. The file appears with the first packet.
#[derive(Debug)]
pub struct Capture {
    inner: Mutex<Writer>,
}

/// The file under the lock.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    link: u32,
    /// Seconds from 1970 to the start of the router's clock.
    epoch: f64,
    /// Packets still to be written.
    left: u64,
    state: State,
    /// Bytes that are written next, whole records only.
    burst: Vec<u8>,
    /// Number of packets in these.
    waiting: u64,
    /// Number of packets that could not be written.
    lost: u64,
}

#[derive(Debug)]
enum State {
    Armed,
    Open { file: File, len: u64 },
    Failed(io::Error),
}

impl Capture {
    /// Prepares a capture of at most `count` packets with headers of type `link` into `path`.
    ///
    /// # Errors
    /// There is a file with this name, or none can be made.
    pub fn arm(path: PathBuf, link: u32, count: Option<u64>, clock: &Clock) -> io::Result<Self> {
        use rustix::fs::{Access, access};
        if std::fs::symlink_metadata(&path).is_ok() {
            return Err(io::Error::from_raw_os_error(rustix::io::Errno::EXIST.raw_os_error()));
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        access(folder.unwrap_or(".".as_ref()), Access::WRITE_OK | Access::EXEC_OK)?;
        let since = clock.started_at().duration_since(UNIX_EPOCH).unwrap_or_default();
        let writer = Writer {
            path,
            link,
            epoch: since.as_secs_f64(),
            left: count.unwrap_or(u64::MAX),
            state: State::Armed,
            burst: Vec::new(),
            waiting: 0,
            lost: 0,
        };
        Ok(Self { inner: Mutex::new(writer) })
    }
    /// The file, for one frame.
    pub fn lock(&self) -> MutexGuard<'_, Writer> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Reason why packets are missing in the file, if any are.
    pub fn failure(&self) -> Option<String> {
        let writer = self.lock();
        let State::Failed(why) = &writer.state else { return None };
        let (path, why, lost) = (writer.path.display(), control::cli::io_text(why), writer.lost);
        Some(format!("write `{path}': {why}; {lost} packets are not in it"))
    }
}

impl Writer {
    /// Adds a packet sent at router time `now`.
    pub fn add(&mut self, p: &Buffer<'_>, now: f64) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        self.waiting += 1;
        if matches!(self.state, State::Failed(_)) {
            return;
        }
        let len = (p.total_len(), MOST_BYTES);
        pcap::append_most(&mut self.burst, self.epoch + now, len, p.segments());
    }
    /// Writes what was added, all of it or nothing. Returns how many packets could not be written.
    pub fn write_out(&mut self) -> u64 {
        let count = std::mem::take(&mut self.waiting);
        if count == 0 {
            return 0;
        }
        if !matches!(self.state, State::Failed(_)) {
            let done = self.open().and_then(|()| self.write_burst());
            self.burst.clear();
            match done {
                Ok(()) => return 0,
                Err(e) => self.state = State::Failed(e),
            }
        }
        self.lost += count;
        count
    }
    fn open(&mut self) -> io::Result<()> {
        if matches!(self.state, State::Armed) {
            let file = private_file::create(&self.path)?;
            self.state = State::Open { file, len: 0 };
            self.burst.splice(0..0, pcap::header(self.link));
        }
        Ok(())
    }
    fn write_burst(&mut self) -> io::Result<()> {
        let State::Open { file, len } = &mut self.state else { return Ok(()) };
        if let Err(e) = file.write_all(&self.burst) {
            // Half a record would spoil what is there, and a file without a header says nothing.
            let _ = file.set_len(*len);
            if *len == 0 {
                let _ = std::fs::remove_file(&self.path);
            }
            return Err(e);
        }
        *len += self.burst.len() as u64;
        Ok(())
    }
}
