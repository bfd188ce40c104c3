//! The socket sessions come from.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener};

use crate::config::Listen;
use crate::socket::{Accepting, Client, SocketFile};

/// A bound socket. A socket in the file system appears under its name only when it accepts, and
/// is deleted when this is dropped, unless it [lasts](Listener::lasting).
pub struct Listener {
    socket: Socket,
}

enum Socket {
    Unix {
        listener: Accepting,
        /// `None` if the file outlasts the listener.
        _file: Option<SocketFile>,
    },
    Tcp(TcpListener),
}

/// An accepted session.
pub(crate) enum Stream {
    Unix(Client),
    Tcp(TcpStream),
}

impl Listener {
    /// Binds; a stale socket is replaced.
    pub async fn bind(address: &Listen) -> io::Result<Self> {
        let socket = match address {
            Listen::Unix(path) => {
                let (listener, file) = bind_unix(path)?;
                Socket::Unix { listener, _file: Some(file) }
            }
            Listen::Tcp(address) => Socket::Tcp(TcpListener::bind(address).await?),
        };
        Ok(Self { socket })
    }

    /// Binds a socket in the file system whose name stays behind, as clients that wait for a
    /// restart expect. All users may see it, its group may connect.
    pub fn lasting(path: &Path) -> io::Result<Self> {
        let (listener, file) = bind_unix(path)?;
        file.stay(0o775)?;
        Ok(Self { socket: Socket::Unix { listener, _file: None } })
    }

    /// The address of a TCP socket, with the port the system chose.
    pub fn tcp_address(&self) -> Option<std::net::SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Unix { .. } => None,
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        loop {
            let accepted = match &self.socket {
                Socket::Unix { listener, .. } => listener.accept().await.map(Stream::Unix),
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

/// A client that has disconnected, or a lack of descriptors.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted};
    let no_files = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE, rustix::io::Errno::NOMEM];
    matches!(error.kind(), ConnectionAborted | Interrupted)
        || no_files.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn bind_unix(path: &Path) -> io::Result<(Accepting, SocketFile)> {
    let is_served = |path: &Path| std::os::unix::net::UnixStream::connect(path).is_ok();
    SocketFile::appear(path, is_served, |path| UnixListener::bind(path).map(Accepting::new))
}
