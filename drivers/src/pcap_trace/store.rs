//! Packets that threads leave for a file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::pcap;

/// Packets in memory, shared by the threads that see them; each with a note `N` of what is written
/// around it.
#[derive(Debug)]
pub struct Store<N> {
    most: usize,
    most_bytes: usize,
    kept: Mutex<Captured<N>>,
}

#[derive(Debug)]
struct Captured<N> {
    packets: Vec<Packet<N>>,
    /// Kept bytes of all packets, one behind the other.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Packet<N> {
    /// Router time in seconds.
    at: f64,
    /// Length of the whole packet in bytes.
    len: usize,
    /// End of its bytes.
    end: usize,
    note: N,
}

/// Bytes in front of a packet, and behind it.
pub type Registries = (Vec<u8>, Vec<u8>);

/// The form of a file.
pub struct Form<'a, N> {
    /// Type of what its packets start with.
    pub link: u32,
    /// Seconds from 1970 to the start of the router's clock.
    pub epoch: f64,
    /// Registries around a packet with this note.
    pub around: &'a dyn Fn(&N, &[u8]) -> Registries,
}

impl<N> Store<N> {
    /// Room for `most` packets and `most_bytes` of each; memory is taken as it is needed, or at
    /// once.
    ///
    /// # Errors
    /// There is not as much memory.
    pub fn new(
        most: usize,
        most_bytes: usize,
        at_once: bool,
    ) -> Result<Self, std::collections::TryReserveError> {
        let mut kept = Captured { packets: Vec::new(), bytes: Vec::new() };
        if at_once {
            kept.packets.try_reserve(most)?;
            kept.bytes.try_reserve(most.saturating_mul(most_bytes))?;
        }
        Ok(Self { most, most_bytes, kept: Mutex::new(kept) })
    }
    fn lock(&self) -> MutexGuard<'_, Captured<N>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Packets so far, and how many there may be.
    pub fn count(&self) -> (usize, usize) {
        (self.lock().packets.len(), self.most)
    }
    /// Keeps a packet of `len` bytes, seen at router time `at`; not when there are enough.
    pub fn keep<'p>(&self, at: f64, note: N, len: usize, parts: impl Iterator<Item = &'p [u8]>) {
        let Captured { packets, bytes } = &mut *self.lock();
        if packets.len() >= self.most {
            return;
        }
        let end = bytes.len() + self.most_bytes;
        for part in parts {
            let room = end - bytes.len();
            bytes.extend_from_slice(&part[..part.len().min(room)]);
        }
        packets.push(Packet { at, len, end: bytes.len(), note });
    }
    /// Writes the file, in place of one of that name; none without packets. Returns how many
    /// packets it holds.
    ///
    /// # Errors
    /// The system's; the file may be there in part then.
    pub fn write(&self, path: &Path, form: &Form<'_, N>) -> io::Result<usize> {
        let kept = self.lock();
        if kept.packets.is_empty() {
            return Ok(0);
        }
        // Whatever has this name is replaced, not followed: the folder may be everybody's.
        match fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => (),
        }
        let mut file = BufWriter::new(File::create_new(path)?);
        file.write_all(&pcap::header(form.link))?;
        let (mut from, mut record) = (0, Vec::new());
        for packet in &kept.packets {
            let bytes = &kept.bytes[from..packet.end];
            let (front, behind) = (form.around)(&packet.note, bytes);
            let len = packet.len + front.len() + behind.len();
            record.clear();
            let parts = [front.as_slice(), bytes, behind.as_slice()];
            pcap::append(&mut record, form.epoch + packet.at, len, parts.into_iter());
            file.write_all(&record)?;
            from = packet.end;
        }
        file.flush()?;
        Ok(kept.packets.len())
    }
}
