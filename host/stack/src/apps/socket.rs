//! App sockets: one for each namespace, of sequenced packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use control::cli::io_text;
use control::socket::SocketFile;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with, sockopt,
};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;
/// Folder of sockets without a name of their own.
const FOLDER: &str = "app_ns_sockets";

/// A socket that programs connect to.
pub struct Socket {
    socket: OwnedFd,
    /// Goes away with the socket; without one the name is abstract.
    file: Option<SocketFile>,
}

fn new_socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

fn bound(address: &SocketAddrUnix) -> io::Result<OwnedFd> {
    let socket = new_socket()?;
    bind(&socket, address)?;
    listen(&socket, BACKLOG)?;
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
    /// The socket of a namespace. A name that starts with `@` is abstract.
    ///
    /// # Errors
    /// The reason.
    pub fn new(folder: Option<&Path>, id: &str, name: &str) -> Result<Self, String> {
        let failed = |e: io::Error| format!("app socket of namespace {id}: {}", io_text(&e));
        if let Some(name) = name.strip_prefix('@') {
            let address = SocketAddrUnix::new_abstract_name(name.as_bytes());
            let socket = bound(&address.map_err(|e| failed(e.into()))?).map_err(failed)?;
            return Ok(Self { socket, file: None });
        }
        let path = path_of(folder, id, name)?;
        let is_served = |path: &Path| {
            let there =
                new_socket().and_then(|socket| connect(&socket, &SocketAddrUnix::new(path)?));
            there.is_ok()
        };
        let made = SocketFile::appear(&path, is_served, |path| bound(&SocketAddrUnix::new(path)?));
        let (socket, file) = made.map_err(failed)?;
        Ok(Self { socket, file: Some(file) })
    }
    /// Its descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
    /// The next connection and the number of its process, if one waits. At an abstract name only
    /// this user's and root's are accepted: there is no file whose mode could say so.
    pub fn accept(&self) -> Option<(OwnedFd, u32)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let socket = accept_with(&self.socket, flags).ok()?;
            let Ok(who) = sockopt::socket_peercred(&socket) else { continue };
            if self.file.is_some() || who.uid.is_root() || who.uid == rustix::process::geteuid() {
                return Some((socket, who.pid.as_raw_nonzero().get().cast_unsigned()));
            }
        }
    }
}
