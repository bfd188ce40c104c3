//! App sockets: one SOCK_SEQPACKET socket per namespace, and its twin for streams.
//!
//! Each process that may connect can put descriptors into a socket's queue, which the kernel closes
//! with it: so sockets are closed elsewhere, as that takes as long as the sender likes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use control::cli::io_text;
use control::socket::{ClosedElsewhere, Listening, SocketFile};
use lanes::socket::twin;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with, sockopt,
};

/// Backlog of connections.
const BACKLOG: i32 = 64;
/// The same for streams: a program that connects must not wait, and has one for each session.
const STREAMS: i32 = 4096;
/// Folder of sockets with default names.
const FOLDER: &str = "app_ns_sockets";

/// A socket that programs connect to.
pub struct Socket {
    socket: Listening,
    /// The file, deleted with the socket; `None` for an abstract name.
    file: Option<SocketFile>,
}

fn new_socket(of: SocketType) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, of, flags, None)
}

fn bound(address: &SocketAddrUnix, of: SocketType) -> io::Result<OwnedFd> {
    let socket = new_socket(of)?;
    bind(&socket, address)?;
    listen(&socket, if of == SocketType::STREAM { STREAMS } else { BACKLOG })?;
    Ok(socket)
}

/// The path of a namespace's socket.
fn path_of(folder: Option<&Path>, id: &str, name: &str) -> Result<PathBuf, String> {
    if !name.is_empty() {
        return Ok(PathBuf::from(name));
    }
    if id.contains('/') {
        return Err(format!("namespace {id} needs a socket name"));
    }
    let folder = folder.ok_or("the daemon has no folder for sockets")?.join(FOLDER);
    match std::fs::create_dir(&folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("{}: {}", folder.display(), io_text(&e)))
        }
        _ => Ok(folder.join(id)),
    }
}

impl Socket {
    /// Creates the socket of a namespace and its twin. A name that starts with `@` is abstract.
    ///
    /// # Errors
    /// The reason.
    pub fn pair(folder: Option<&Path>, id: &str, name: &str) -> Result<[Self; 2], String> {
        let failed = |e: io::Error| format!("app socket of namespace {id}: {}", io_text(&e));
        let path = match name.strip_prefix('@') {
            Some(_) => PathBuf::from(name),
            None => path_of(folder, id, name)?,
        };
        let first = Self::new(&path, SocketType::SEQPACKET).map_err(failed)?;
        Ok([first, Self::new(&twin(&path), SocketType::STREAM).map_err(failed)?])
    }
    fn new(path: &Path, of: SocketType) -> io::Result<Self> {
        if let Some(name) = path.to_str().and_then(|name| name.strip_prefix('@')) {
            let socket = bound(&SocketAddrUnix::new_abstract_name(name.as_bytes())?, of)?;
            return Ok(Self { socket: Listening::new(socket), file: None });
        }
        let is_served = |path: &Path| {
            let there =
                new_socket(of).and_then(|socket| connect(&socket, &SocketAddrUnix::new(path)?));
            there.is_ok()
        };
        let make = |path: &Path| bound(&SocketAddrUnix::new(path)?, of);
        let (socket, file) = SocketFile::appear(path, is_served, make)?;
        Ok(Self { socket: Listening::new(socket), file: Some(file) })
    }
    /// Its file descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
    /// The next connection, and the numbers of its process and user, if one waits. At an abstract
    /// name only this user's and root's are accepted: there is no file whose mode could say so.
    pub fn accept(&self) -> Option<(ClosedElsewhere<OwnedFd>, u32, u32)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let socket = ClosedElsewhere::new(accept_with(&self.socket, flags).ok()?);
            let Ok(who) = sockopt::socket_peercred(&socket) else { continue };
            if self.file.is_some() || who.uid.is_root() || who.uid == rustix::process::geteuid() {
                let pid = who.pid.as_raw_nonzero().get().cast_unsigned();
                return Some((socket, pid, who.uid.as_raw()));
            }
        }
    }
}
