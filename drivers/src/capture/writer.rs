//! The writer of a capture: a thread that takes copies from the lanes and writes them to a file, a
//! ring of files, or a socket.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use control::private_file;
use control::socket::SocketFile;
use infra::ring;
use infra::time::Clock;
use serde::Serialize;

use super::captures::Error;
use super::copies::{Lanes, PacketCopy};
use super::form::{Form, Names};
use crate::pcap;

/// Interval of looks at the lanes.
const LOOK: Duration = Duration::from_millis(2);
/// Longest wait for the one who looks on, in seconds.
const PATIENCE: f64 = 10.0;
/// Bytes that are written at once.
const BURST: usize = 1 << 18;
/// Copies that are taken out of a lane at once.
const BATCH: usize = 4096;

/// Limits of a capture; it ends at the first one that is reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Packets.
    pub packets: Option<u64>,
    /// Bytes in files.
    pub bytes: Option<u64>,
    /// Seconds.
    pub seconds: Option<u64>,
}

/// The destination of copies.
pub enum Sink {
    /// A file that is created with the first packet, and replaces a file of the same name.
    Late(PathBuf),
    /// An open file, and the following ones of a ring.
    Files(Files),
    /// The first to connect.
    Listener(UnixListener, SocketFile),
    /// A reader.
    Stream(UnixStream),
    /// Closed.
    Closed,
}

/// A ring of files, or one alone.
pub struct Files {
    path: PathBuf,
    file: File,
    /// Bytes in the file.
    len: u64,
    /// Bytes at which the next one begins.
    size: Option<u64>,
    /// Files that are kept at most.
    most: usize,
    /// Number of the file, and those before it that are kept.
    number: usize,
    kept: VecDeque<PathBuf>,
}

impl Files {
    /// Makes the first file, in place of one of that name; a file alone unless `size` says when
    /// the next one begins.
    ///
    /// # Errors
    /// The system's.
    pub fn create(path: &Path, size: Option<u64>, most: usize) -> io::Result<Self> {
        let first = if size.is_some() { numbered(path, 1) } else { path.to_owned() };
        let file = replace(&first)?;
        let (path, kept) = (path.to_owned(), VecDeque::from([first]));
        Ok(Self { path, file, len: 0, size, most, number: 1, kept })
    }
    fn next(&mut self) -> io::Result<()> {
        self.number += 1;
        let path = numbered(&self.path, self.number);
        self.file = replace(&path)?;
        self.len = 0;
        self.kept.push_back(path);
        while self.kept.len() > self.most {
            let oldest = self.kept.pop_front().unwrap_or_default();
            fs::remove_file(oldest)?;
        }
        Ok(())
    }
}

/// `folder/name-00001.ext`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}-{number:05}");
    if let Some(extension) = path.extension() {
        name = format!("{name}.{}", extension.to_string_lossy());
    }
    path.with_file_name(name)
}

/// A new file, in place of an earlier capture of that name only.
fn replace(path: &Path) -> io::Result<File> {
    private_file::replace(path, pcap::is_capture)
}

/// Course of a capture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Progress {
    /// Packets in files.
    pub packets: u64,
    /// Bytes in files.
    pub bytes: u64,
    /// Files so far.
    pub files: u64,
    /// The reason of its end, once it has ended by itself.
    pub ended: Option<String>,
}

/// Progress that control and the writer share.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Progress>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// As it is now.
    pub fn now(&self) -> Progress {
        self.lock().clone()
    }
}

/// The writer of a capture.
pub struct Writer {
    /// New names; the capture ends when no more can come.
    pub orders: Receiver<Arc<Names>>,
    /// The ends of lanes.
    pub receivers: Vec<ring::Receiver<PacketCopy>>,
    /// Its lanes, for what is lost.
    pub lanes: Arc<Lanes>,
    /// The form of files.
    pub form: Form,
    /// The destination.
    pub sink: Sink,
    /// Limits.
    pub limits: Limits,
    /// Course.
    pub progress: Shared,
    /// The router's clock.
    pub clock: Clock,
}

impl Writer {
    /// Writes until the capture ends; how many packets there are then.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn run(mut self) -> Result<u64, Error> {
        let began = self.clock.now();
        let mut done = self.open(began);
        loop {
            let is_over = match self.orders.recv_timeout(LOOK) {
                Ok(names) => {
                    self.form.names = names;
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            let is_late = {
                let most = self.limits.seconds;
                most.is_some_and(|most| self.clock.now() - began >= most as f64)
            };
            if done.is_ok() {
                done = self.drain(is_over || is_late);
            } else {
                self.discard();
            }
            if done.is_ok() && is_late && !is_over {
                self.close("time is over");
            }
            if let Err(e) = &done
                && !matches!(self.sink, Sink::Closed)
            {
                self.give_up(&e.to_string());
            }
            if is_over {
                if done.is_ok() {
                    self.close("");
                }
                return done.map(|()| self.progress.lock().packets);
            }
        }
    }
    /// Begins the first file.
    fn open(&mut self, began: f64) -> Result<(), Error> {
        if let Sink::Listener(listener, _) = &self.sink {
            let stream = loop {
                match listener.accept() {
                    Ok((stream, _)) => break stream,
                    Err(e) if e.kind() != io::ErrorKind::WouldBlock => return Err(e.into()),
                    Err(_) => match self.orders.recv_timeout(LOOK) {
                        Ok(names) => self.form.names = names,
                        Err(RecvTimeoutError::Timeout) if self.clock.now() - began < PATIENCE => {}
                        Err(_) => return Err(Error::NoReader),
                    },
                }
            };
            stream.set_nonblocking(false)?;
            stream.set_write_timeout(Some(LOOK))?;
            self.sink = Sink::Stream(stream);
        }
        if matches!(self.sink, Sink::Late(_)) {
            return Ok(());
        }
        self.begin()
    }
    /// The start of a file.
    fn begin(&mut self) -> Result<(), Error> {
        let mut out = Vec::new();
        self.form.begin(&mut out);
        self.progress.lock().files += 1;
        self.write(&out)
    }
    fn discard(&mut self) {
        self.receivers.iter_mut().for_each(|from| while from.try_recv().is_some() {});
    }
    /// Writes what is in the lanes: all of it, if it is the last time.
    fn drain(&mut self, is_last: bool) -> Result<(), Error> {
        loop {
            let mut copies: Vec<PacketCopy> = Vec::new();
            for from in &mut self.receivers {
                copies.extend(std::iter::from_fn(|| from.try_recv()).take(BATCH));
            }
            if copies.is_empty() {
                return Ok(());
            }
            // Each lane is in order.
            copies.sort_by_key(|copy| copy.at);
            self.put(&copies)?;
            if !is_last {
                return Ok(());
            }
        }
    }
    fn put(&mut self, copies: &[PacketCopy]) -> Result<(), Error> {
        let (mut out, mut packets) = (Vec::new(), self.progress.lock().packets);
        for copy in copies {
            if self.limits.packets == Some(0) {
                self.close("no packets");
            }
            if matches!(self.sink, Sink::Closed) {
                return Ok(());
            }
            if let Sink::Late(path) = &self.sink {
                let file = Files::create(path, None, 1).map_err(|e| Error::of(path, e))?;
                self.sink = Sink::Files(file);
                self.begin()?;
            }
            let is_full = match &self.sink {
                Sink::Files(files) => {
                    files.size.is_some_and(|size| files.len + out.len() as u64 >= size)
                }
                _ => false,
            };
            if is_full {
                self.finish(&mut out)?;
                self.progress.lock().packets = packets;
                if let Sink::Files(files) = &mut self.sink {
                    files.next().map_err(|e| Error::of(&files.path, e))?;
                }
                self.begin()?;
            }
            self.form.packet(&mut out, copy);
            packets += 1;
            let bytes = self.progress.lock().bytes + out.len() as u64;
            let is_enough = self.limits.packets.is_some_and(|most| packets >= most);
            if is_enough || self.limits.bytes.is_some_and(|most| bytes >= most) {
                self.write_packets(&mut out, packets)?;
                self.close(if is_enough { "that many packets" } else { "that many bytes" });
            } else if out.len() >= BURST {
                self.write_packets(&mut out, packets)?;
            }
        }
        self.write_packets(&mut out, packets)
    }
    /// Writes packets; there are as many then.
    fn write_packets(&mut self, out: &mut Vec<u8>, packets: u64) -> Result<(), Error> {
        self.write(&std::mem::take(out))?;
        self.progress.lock().packets = packets;
        Ok(())
    }
    /// Writes the end of a file after what is to be written.
    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let now = super::points::nanoseconds(self.clock.now());
        self.form.end(out, now, self.lanes.lost());
        self.write(&std::mem::take(out))
    }
    /// Ends the last file, for a reason of the capture's own unless it is empty.
    fn close(&mut self, why: &str) {
        if !matches!(self.sink, Sink::Closed) {
            // A file without its last block is a good one.
            let _ = self.finish(&mut Vec::new());
            self.give_up(why);
        }
    }
    fn give_up(&mut self, why: &str) {
        self.sink = Sink::Closed;
        if !why.is_empty() {
            self.progress.lock().ended = Some(why.to_owned());
        }
    }
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.sink {
            Sink::Files(files) => {
                files.file.write_all(bytes).map_err(|e| Error::of(&files.path, e))?;
                files.len += bytes.len() as u64;
            }
            Sink::Stream(stream) => {
                write_patiently(stream, bytes, &self.clock, || match self.orders.try_recv() {
                    Ok(names) => {
                        self.form.names = names;
                        false
                    }
                    Err(e) => e == TryRecvError::Disconnected,
                })?
            }
            Sink::Late(_) | Sink::Listener(..) | Sink::Closed => return Ok(()),
        }
        self.progress.lock().bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Writes to a reader that may be slow. When the capture is over, slow ones have [`PATIENCE`].
fn write_patiently(
    stream: &mut UnixStream,
    mut bytes: &[u8],
    clock: &Clock,
    mut is_over: impl FnMut() -> bool,
) -> Result<(), Error> {
    let mut over_since: Option<f64> = None;
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(len) => {
                bytes = &bytes[len..];
                continue;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => (),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => (),
            Err(_) => return Err(Error::NoReader),
        }
        if over_since.is_some() || is_over() {
            let since = *over_since.get_or_insert_with(|| clock.now());
            if clock.now() - since > PATIENCE {
                return Err(Error::NoReader);
            }
        }
    }
    Ok(())
}
