//! The router's ends of sockets of programs: system calls that never wait.
//!
//! A program may put descriptors of anything into a socket. They are received together with the
//! bytes, so that none is closed by the kernel on a thread of the data plane, which may take as
//! long as their sender likes; a program that sends some loses the socket. Sockets into which
//! programs can still put some are closed by a thread of their own.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};

use lanes::socket::{ANSWER, Answer};
use lanes::talk;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, send, sendmsg, socketpair,
};

/// Most descriptors that a message can have (SCM_MAX_FD).
const MOST_FILES: usize = 253;

/// A thread that closes sockets.
#[derive(Clone, Debug)]
pub struct Closer(Sender<OwnedFd>);

impl Closer {
    /// Starts it; it ends with the last clone.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start() -> std::io::Result<Self> {
        let (sender, all) = channel::<OwnedFd>();
        let run = move || all.into_iter().for_each(drop);
        std::thread::Builder::new().name("session-closer".to_owned()).spawn(run)?;
        Ok(Self(sender))
    }
    fn close(&self, socket: OwnedFd) {
        // The thread lives as long as this.
        let _ = self.0.send(socket);
    }
}

/// A socket, closed by its closer.
#[derive(Debug)]
pub struct Socket {
    fd: Option<OwnedFd>,
    closer: Closer,
    /// Counts sockets.
    _ticket: Arc<()>,
}

impl Socket {
    /// Wraps a descriptor.
    pub fn new(fd: OwnedFd, closer: Closer, ticket: Arc<()>) -> Self {
        Self { fd: Some(fd), closer, _ticket: ticket }
    }
    /// Closes it here. Its other end is closed, and its queue has been read.
    pub fn close_now(mut self) {
        self.fd = None;
    }
    /// Its descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_ref().expect("it is taken last").as_fd()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(fd) = self.fd.take() {
            self.closer.close(fd);
        }
    }
}

/// A socket that listens, or that is bound for datagrams.
#[derive(Debug)]
pub struct Door {
    /// Its number.
    pub number: u32,
    /// The socket.
    pub socket: Socket,
    /// Its listeners in the router.
    pub listeners: Vec<u32>,
    /// Whether it is for datagrams.
    pub is_udp: bool,
    /// The only peer whose datagrams it gets, if the program has connected it.
    pub peer: OnceLock<SocketAddr>,
}

/// Results of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// Bytes.
    Bytes(usize),
    /// It would wait.
    Nothing,
    /// The other side has finished.
    End,
    /// The other side has closed with unread data, or broke the rules.
    Broken,
}

/// Reads without waiting.
pub fn read(from: BorrowedFd<'_>, to: &mut [u8]) -> Got {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let got = recvmsg(from, &mut [IoSliceMut::new(to)], &mut control, flags);
    let mut files: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    if !files.is_empty() {
        control::socket::close_elsewhere(files);
        return Got::Broken;
    }
    match got {
        Ok(got) if got.bytes > 0 => Got::Bytes(got.bytes),
        Ok(_) => Got::End,
        Err(Errno::AGAIN | Errno::INTR) => Got::Nothing,
        Err(_) => Got::Broken,
    }
}

/// Writes without waiting.
pub fn write(to: BorrowedFd<'_>, bytes: &[u8]) -> Got {
    match send(to, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Ok(n) => Got::Bytes(n),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Got::Nothing,
        Err(_) => Got::Broken,
    }
}

/// Writes a datagram without waiting.
pub fn write_datagram(to: BorrowedFd<'_>, from: SocketAddr, bytes: &[u8]) -> Got {
    let head = talk::datagram(bytes.len(), from);
    let parts = [IoSlice::new(&head), IoSlice::new(bytes)];
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match sendmsg(to, &parts, &mut SendAncillaryBuffer::default(), flags) {
        Ok(n) => Got::Bytes(n),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Got::Nothing,
        Err(_) => Got::Broken,
    }
}

/// A pair of sockets for an accepted connection: the router's end and the program's.
///
/// # Errors
/// The kernel's.
pub fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// Gives an accepted connection to a program that listens.
pub fn offer(door: &Door, connection: &OwnedFd, answer: Answer) -> Got {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = [connection.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&files));
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match sendmsg(door.socket.fd(), &[IoSlice::new(&answer.to_bytes())], &mut control, flags) {
        Ok(ANSWER) => Got::Bytes(ANSWER),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::TOOMANYREFS) => Got::Nothing,
        _ => Got::Broken,
    }
}
