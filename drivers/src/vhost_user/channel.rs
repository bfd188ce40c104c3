//! Sockets on which front ends speak: streams of requests, some with files.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use control::socket::{ClosedElsewhere, Listening, SocketFile, close_of_others, receive_with_many};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind,
    connect, listen, send, shutdown, socket_with,
};
use wire::vhost_user::{HEADER, Header, MOST_BYTES, MOST_FILES, Request};
use wire::zerocopy::FromBytes;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 8;

/// A socket that front ends connect to.
#[derive(Debug)]
pub struct Listener {
    socket: Listening,
    /// Goes away with the listener.
    _file: SocketFile,
}

/// One connection.
#[derive(Debug)]
pub struct Channel {
    socket: ClosedElsewhere<OwnedFd>,
    /// Bytes that have come of the next request.
    bytes: Vec<u8>,
    files: Vec<OwnedFd>,
}

/// Next thing on a channel.
#[derive(Debug)]
pub enum Heard {
    /// Nothing yet.
    Nothing,
    /// A request, and the files that came along.
    Request(Request, Vec<OwnedFd>),
    /// Bytes that are no request.
    Nonsense,
    /// The front end is gone.
    Closed,
}

fn new_socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Listener {
    /// Listens at a file. A stale socket is replaced.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(path: &Path) -> io::Result<Self> {
        let is_served = |path: &Path| Channel::connect(path).is_ok();
        let bind = |path: &Path| {
            let socket = new_socket()?;
            bind(&socket, &SocketAddrUnix::new(path)?)?;
            listen(&socket, BACKLOG)?;
            Ok(socket)
        };
        let (socket, file) = SocketFile::appear(path, is_served, bind)?;
        Ok(Self { socket: Listening::new(socket), _file: file })
    }
    /// The next connection, if one waits.
    pub fn accept(&self) -> Option<Channel> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        accept_with(&self.socket, flags).ok().map(Channel::new)
    }
}

impl Channel {
    fn new(socket: OwnedFd) -> Self {
        let socket = ClosedElsewhere::new(socket);
        Self { socket, bytes: Vec::new(), files: Vec::new() }
    }
    /// Connects to a front end that listens.
    ///
    /// # Errors
    /// The kernel's; no listener.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let socket = new_socket()?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Self::new(socket))
    }
    /// Sends bytes.
    ///
    /// # Errors
    /// The front end is gone, or does not read.
    pub fn say(&self, bytes: &[u8]) -> io::Result<()> {
        let sent = send(&self.socket, bytes, SendFlags::NOSIGNAL)?;
        if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }
    /// The next thing, if there is one.
    pub fn hear(&mut self) -> Heard {
        loop {
            let mut wanted = HEADER;
            if let Ok((header, _)) = Header::ref_from_prefix(&self.bytes) {
                if !header.is_request() {
                    return Heard::Nonsense;
                }
                wanted += header.size.get() as usize;
                if wanted == self.bytes.len() {
                    let request = Request::parse(header, &self.bytes[HEADER..]);
                    self.bytes.clear();
                    let files = std::mem::take(&mut self.files);
                    let heard = |request| Heard::Request(request, files);
                    return request.map_or(Heard::Nonsense, heard);
                }
            }
            let mut bytes = [0; HEADER + MOST_BYTES];
            let room = &mut bytes[..wanted - self.bytes.len()];
            match receive_with_many(&self.socket, room, &mut self.files) {
                Err(Errno::AGAIN | Errno::INTR) => return Heard::Nothing,
                Ok(0) | Err(_) => return Heard::Closed,
                Ok(len) => self.bytes.extend_from_slice(&room[..len]),
            }
            if self.files.len() > MOST_FILES {
                return Heard::Nonsense;
            }
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // The peer knows at once, however long it takes to close.
        let _ = shutdown(&self.socket, Shutdown::Both);
        // They may be anything, and take long to close.
        if !self.files.is_empty() {
            close_of_others(std::mem::take(&mut self.files));
        }
    }
}
