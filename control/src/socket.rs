//! Files of sockets that others connect to, and descriptors that pass through them.

mod client;
mod closing;

use std::fs::{self, Metadata};
use std::io;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, accept, recvmsg, sendmsg, shutdown,
};

pub use client::{Accepting, Client};
pub use closing::{ClosedElsewhere, close_elsewhere, close_of_others, elsewhere};

/// Descriptors that a message can have: all that the kernel lets through (`SCM_MAX_FD`). With room
/// for fewer, the kernel closes the others, and the receiver waits for that.
const MOST_DESCRIPTORS: usize = 253;

/// A Unix socket that listens. Its name is free when this is dropped, and connections that were not
/// accepted, with all that is in their queues, are closed elsewhere.
#[derive(Debug)]
pub struct Listening(OwnedFd);

impl Listening {
    /// Wraps a listening socket.
    pub fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }
}

impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        refuse_waiting(&self.0);
    }
}

/// Closes the connections that wait at a socket, with all that is in their queues, elsewhere.
fn refuse_waiting(socket: impl AsFd) {
    // No connection arrives any longer, and `accept` does not block.
    if shutdown(&socket, Shutdown::Both).is_err() {
        return;
    }
    let waiting: Vec<_> = std::iter::from_fn(|| accept(&socket).ok()).collect();
    if !waiting.is_empty() {
        close_of_others(waiting);
    }
}

/// Sends bytes with a descriptor; returns the number of bytes sent.
///
/// # Errors
/// The kernel's.
pub fn send_with(
    socket: impl AsFd,
    bytes: &[u8],
    descriptor: impl AsFd,
) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)
}

/// Receives bytes and at most one descriptor; further descriptors are closed elsewhere.
///
/// # Errors
/// The kernel's.
pub fn receive_with(
    socket: impl AsFd,
    bytes: &mut [u8],
) -> rustix::io::Result<(usize, Option<OwnedFd>)> {
    let mut descriptors = Vec::new();
    let len = receive_with_many(socket, bytes, &mut descriptors)?;
    let mut descriptors = descriptors.into_iter();
    let first = descriptors.next();
    if descriptors.len() > 0 {
        close_of_others(descriptors);
    }
    Ok((len, first))
}

/// Receives bytes, and appends descriptors that accompany them. Those of peers may be
/// anything: [`close_of_others`].
///
/// # Errors
/// The kernel's.
pub fn receive_with_many(
    socket: impl AsFd,
    bytes: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let into = &mut [IoSliceMut::new(bytes)];
    let got = recvmsg(socket, into, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok(got.bytes)
}

/// Checks that a default folder may be used for sockets: it must belong to this user or to root.
/// Below `/tmp`, where another user could have created it first, it must belong to this user, and
/// no other user may write to it.
///
/// # Errors
/// The reason why it may not be used.
pub fn is_trusted_folder(folder: &Path) -> Result<(), String> {
    let is_shared = folder.starts_with("/tmp");
    let failed = |e| format!("{}: {}", folder.display(), crate::cli::io_text(&e));
    // Elsewhere a link is as good as its owner and that of what it leads to.
    let link = fs::symlink_metadata(folder).map_err(failed)?;
    let about = if is_shared { link.clone() } else { fs::metadata(folder).map_err(failed)? };
    let user = rustix::process::geteuid().as_raw();
    let is_ours = |about: &Metadata| about.uid() == user || !is_shared && about.uid() == 0;
    let why = if !about.is_dir() {
        "is no folder"
    } else if !is_ours(&link) || !is_ours(&about) {
        "belongs to another user"
    } else if is_shared && about.mode() & 0o022 != 0 {
        "is open to other users: its mode allows them to write"
    } else {
        return Ok(());
    };
    Err(format!("{} {why}", folder.display()))
}

/// A socket in the file system, deleted on drop.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFile {
    /// Takes ownership of a socket that was bound to a path.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bound(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), inode: inode(path)? })
    }
    /// Creates with `bind` a listening socket that appears as `path` only when it accepts. Folders
    /// below `/run` are created, others must exist; a stale socket is replaced.
    ///
    /// # Errors
    /// The kernel's; `AddrInUse` if it is being served, as `is_served` finds; `AlreadyExists` if it
    /// is not a socket.
    pub fn appear<S>(
        path: &Path,
        is_served: impl FnOnce(&Path) -> bool,
        bind: impl FnOnce(&Path) -> io::Result<S>,
    ) -> io::Result<(S, Self)> {
        if is_served(path) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let there = fs::symlink_metadata(path).map(|about| about.file_type());
        if there.is_ok_and(|kind| !kind.is_socket() && !kind.is_symlink()) {
            let why = "the file exists and is not a socket";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        let folder = path.parent().filter(|folder| folder.starts_with("/run"));
        folder.map_or(Ok(()), fs::create_dir_all)?;
        // Paths of sockets have 107 bytes at most: this one is no longer than that of `cli.sock`.
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        let initial: String = name.chars().take(1).collect();
        let temporary = path.with_file_name(format!("{initial}{}", std::process::id()));
        let _ = fs::remove_file(&temporary);
        let socket = bind(&temporary)?;
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o770))?;
        fs::rename(&temporary, path)?;
        Ok((socket, Self { path: path.to_owned(), inode: inode(path)? }))
    }

    /// Leaves the file behind, with this mode.
    ///
    /// # Errors
    /// The kernel's.
    pub fn stay(mut self, mode: u32) -> io::Result<()> {
        self.inode = (0, 0); // no file has this number
        fs::set_permissions(&self.path, fs::Permissions::from_mode(mode))
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let meta = fs::symlink_metadata(path)?;
    Ok((meta.dev(), meta.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another router's socket of the same name stays.
        if inode(&self.path).is_ok_and(|now| now == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn appear(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
        SocketFile::appear(path, |p| UnixStream::connect(p).is_ok(), |p| UnixListener::bind(p))
    }

    #[test]
    fn folders_of_others_are_not_used() {
        let folder = std::env::temp_dir().join(format!("control-folder-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let set = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        assert_eq!(is_trusted_folder(&folder), Ok(()));
        set(0o777);
        assert!(is_trusted_folder(&folder).unwrap_err().contains("open to other users"));
        let link = folder.with_extension("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(is_trusted_folder(&link).unwrap_err().ends_with("is no folder"));
        assert!(is_trusted_folder(&folder.join("none")).unwrap_err().contains("No such file"));
        fs::remove_file(link).unwrap();
        fs::remove_dir(folder).unwrap();
        assert_eq!(is_trusted_folder(Path::new("/run")), Ok(()), "root may do as it likes");
        // One of a user elsewhere than in /tmp.
        if rustix::process::geteuid().is_root() {
            let folder = PathBuf::from(format!("/run/control-folder-{}", std::process::id()));
            fs::create_dir(&folder).unwrap();
            assert_eq!(is_trusted_folder(&folder), Ok(()));
            std::os::unix::fs::chown(&folder, Some(65_534), None).unwrap();
            let refused = is_trusted_folder(&folder);
            fs::remove_dir(&folder).unwrap();
            assert!(refused.unwrap_err().ends_with("belongs to another user"));
        }
    }

    #[test]
    fn paths_may_be_as_long_as_the_kernel_takes() {
        let folder = std::env::temp_dir().join(format!("control-socket-{}", std::process::id()));
        let deep = "x".repeat(107 - "/cli.sock".len() - 1 - folder.as_os_str().len());
        let folder = folder.join(deep);
        let path = folder.join("cli.sock");
        assert_eq!(path.as_os_str().len(), 107);
        let missing = appear(&path).map(drop).map_err(|e| e.kind());
        assert_eq!(missing, Err(io::ErrorKind::NotFound), "the folder is not made");
        fs::create_dir_all(&folder).unwrap();
        let (_listener, file) = appear(&path).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        assert_eq!(appear(&path).map(drop).map_err(|e| e.kind()), Err(io::ErrorKind::AddrInUse));
        drop(file);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left behind");
        fs::write(&path, "root").unwrap();
        let kind = appear(&path).map(drop).map_err(|e| e.kind());
        assert_eq!(kind, Err(io::ErrorKind::AlreadyExists), "files are not replaced");
        assert_eq!(fs::read(&path).unwrap(), b"root");
        fs::remove_dir_all(folder.parent().unwrap()).unwrap();
    }

    #[test]
    fn all_descriptors_of_a_message_are_received_and_close_elsewhere() {
        let (here, there) = UnixStream::pair().unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        let all = [file.as_fd(); 200];
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(200))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&all)));
        sendmsg(&here, &[IoSlice::new(b"x")], &mut control, SendFlags::NOSIGNAL).unwrap();
        let mut found = Vec::new();
        assert_eq!(receive_with_many(&there, &mut [0; 8], &mut found), Ok(1));
        assert_eq!(found.len(), 200);
        let (ended, rx) = std::sync::mpsc::channel();
        struct Last(std::sync::mpsc::Sender<std::thread::ThreadId>);
        impl Drop for Last {
            fn drop(&mut self) {
                self.0.send(std::thread::current().id()).unwrap();
            }
        }
        drop(ClosedElsewhere::new((found, Last(ended))));
        assert_ne!(rx.recv().unwrap(), std::thread::current().id());
    }
}
