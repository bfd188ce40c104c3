//! Control channels: sockets of sequenced packets on which messages and files go.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use control::socket::{ClosedElsewhere, Listening, SocketFile, receive_with, send_with};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind,
    connect, listen, send, shutdown, socket_with,
};
use wire::memif::{MESSAGE, Message};

use crate::host::namespace::within;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;

/// A place to listen or to connect to: a file, or an abstract name after `@` or `abstract:`, in
/// which case `,netns_name=` may say in which network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(pub String);

/// A socket that slaves connect to.
#[derive(Debug)]
pub struct Listener {
    socket: Listening,
    /// Goes away with the listener.
    _file: Option<SocketFile>,
}

/// One connection.
#[derive(Debug)]
pub struct Channel {
    socket: ClosedElsewhere<OwnedFd>,
}

/// State of a channel.
#[derive(Debug)]
pub enum Heard {
    /// Nothing yet.
    Nothing,
    /// A message, and the file that came along.
    Message(Message, Option<ClosedElsewhere<OwnedFd>>),
    /// Bytes that are no message.
    Nonsense,
    /// The peer is gone.
    Closed,
}

fn new_socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

impl Address {
    /// The abstract name and the namespace it is in; `None` for a file.
    fn name(&self) -> Option<(&str, Option<&str>)> {
        let name = self.0.strip_prefix('@').or_else(|| self.0.strip_prefix("abstract:"))?;
        match name.split_once(",netns_name=") {
            Some((name, namespace)) => Some((name, Some(namespace))),
            None => Some((name, None)),
        }
    }
    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        self.name().is_none()
    }
    fn path(&self) -> &Path {
        Path::new(&self.0)
    }
    /// Listens there. A stale socket is replaced.
    ///
    /// # Errors
    /// The kernel's.
    pub fn listen(&self) -> io::Result<Listener> {
        let bound = |address: &SocketAddrUnix| {
            let socket = new_socket()?;
            bind(&socket, address)?;
            listen(&socket, BACKLOG)?;
            Ok(socket)
        };
        let (socket, file) = match self.name() {
            Some((name, namespace)) => {
                let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
                (within(namespace, || bound(&address))?, None)
            }
            None => {
                let is_served = |_: &Path| self.connect().is_ok();
                let bind = |path: &Path| bound(&SocketAddrUnix::new(path)?);
                let (socket, file) = SocketFile::appear(self.path(), is_served, bind)?;
                (socket, Some(file))
            }
        };
        Ok(Listener { socket: Listening::new(socket), _file: file })
    }
    /// Connects to the listener at a path.
    ///
    /// # Errors
    /// The kernel's; no listener.
    pub fn connect(&self) -> io::Result<Channel> {
        let connected = |address: &SocketAddrUnix| {
            let socket = new_socket()?;
            connect(&socket, address)?;
            Ok(Channel { socket: ClosedElsewhere::new(socket) })
        };
        match self.name() {
            Some((name, namespace)) => {
                let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
                within(namespace, || connected(&address))
            }
            None => connected(&SocketAddrUnix::new(self.path())?),
        }
    }
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

impl Drop for Channel {
    fn drop(&mut self) {
        // The peer knows at once, however long it takes to close.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}

impl Listener {
    /// The next connection, if one waits.
    pub fn accept(&self) -> Option<Channel> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = accept_with(&self.socket, flags).ok()?;
        Some(Channel { socket: ClosedElsewhere::new(socket) })
    }
}

impl Channel {
    /// Sends a message, with a file.
    ///
    /// # Errors
    /// The peer is gone, or does not read.
    pub fn say(&self, message: &Message, file: Option<Arc<OwnedFd>>) -> io::Result<()> {
        let bytes = message.to_bytes();
        match file {
            Some(file) => send_with(&self.socket, &bytes, file.as_fd())?,
            None => send(&self.socket, &bytes, SendFlags::NOSIGNAL)?,
        };
        Ok(())
    }
    /// The next message.
    pub fn hear(&self) -> Heard {
        // A longer one is cut off here, and is none.
        let mut bytes = [0; MESSAGE + 1];
        match receive_with(&self.socket, &mut bytes) {
            Err(Errno::AGAIN | Errno::INTR) => Heard::Nothing,
            Ok((0, _)) | Err(_) => Heard::Closed,
            Ok((len, file)) => {
                let file = file.map(ClosedElsewhere::new);
                match bytes.get(..len).and_then(Message::parse) {
                    Some(message) => Heard::Message(message, file),
                    None => Heard::Nonsense,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_files_or_abstract() {
        let address = |text: &str| Address(text.to_owned());
        assert!(address("/run/x").is_file());
        assert_eq!(address("@x").name(), Some(("x", None)));
        let far = address("abstract:x,netns_name=/proc/1/ns/net");
        assert_eq!(far.name(), Some(("x", Some("/proc/1/ns/net"))));
    }

    #[test]
    fn messages_go_both_ways_until_one_end_closes() {
        let address = Address(format!("@memif-channel-{}", std::process::id()));
        assert!(address.connect().is_err());
        let listener = address.listen().unwrap();
        assert!(address.listen().is_err() && listener.accept().is_none());
        let there = address.connect().unwrap();
        let here = listener.accept().unwrap();
        assert!(matches!(here.hear(), Heard::Nothing));
        let (file, _) = rustix::pipe::pipe().unwrap();
        there.say(&Message::Ack, Some(Arc::new(file))).unwrap();
        assert!(matches!(here.hear(), Heard::Message(Message::Ack, Some(_))));
        here.say(&Message::Ack, None).unwrap();
        assert!(matches!(there.hear(), Heard::Message(Message::Ack, None)));
        send(&there.socket, &[1; MESSAGE + 1], SendFlags::NOSIGNAL).unwrap();
        assert!(matches!(here.hear(), Heard::Nonsense));
        drop(there);
        assert!(matches!(here.hear(), Heard::Closed));
    }
}
