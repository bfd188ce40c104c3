//! The socket sessions come from.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::config::Listen;

/// A bound socket. A socket in the file system appears under its name only when it accepts, and
/// goes away when this is dropped.
pub struct Listener {
    socket: Socket,
}

enum Socket {
    Unix { listener: UnixListener, path: PathBuf, inode: (u64, u64) },
    Tcp(TcpListener),
}

/// An accepted session.
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Listener {
    /// Binds; folders are made, a socket that nobody serves is replaced.
    pub async fn bind(address: &Listen) -> io::Result<Self> {
        let socket = match address {
            Listen::Unix(path) => bind_unix(path)?,
            Listen::Tcp(address) => Socket::Tcp(TcpListener::bind(address).await?),
        };
        Ok(Self { socket })
    }

    /// The address of a TCP socket, with the port the system chose.
    pub fn tcp_address(&self) -> Option<std::net::SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Unix { .. } => None,
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Stream> {
        loop {
            let accepted = match &self.socket {
                Socket::Unix { listener, .. } => listener.accept().await.map(|a| Stream::Unix(a.0)),
                Socket::Tcp(listener) => listener.accept().await.map(|a| Stream::Tcp(a.0)),
            };
            match accepted {
                Ok(stream) => return Ok(stream),
                Err(error) if is_passing(&error) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// A client that went away, or no descriptors for the moment.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted};
    let no_files = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE, rustix::io::Errno::NOMEM];
    matches!(error.kind(), ConnectionAborted | Interrupted)
        || no_files.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn bind_unix(path: &Path) -> io::Result<Socket> {
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let _ = fs::remove_file(&temporary);
    let listener = UnixListener::bind(&temporary)?;
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o770))?;
    fs::rename(&temporary, path)?;
    Ok(Socket::Unix { listener, path: path.to_owned(), inode: inode(path)? })
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let meta = fs::symlink_metadata(path)?;
    Ok((meta.dev(), meta.ino()))
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Somebody else's socket of the same name stays.
        if let Socket::Unix { path, inode: ours, .. } = &self.socket
            && inode(path).is_ok_and(|now| now == *ours)
        {
            let _ = fs::remove_file(path);
        }
    }
}
