//! Listening sockets and the connections that come from them.

use std::io;
use std::path::Path;

use control::socket::SocketFile;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use crate::settings::Listen;

/// A connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// A bound socket, before there is an event loop; one in the file system goes with it.
pub enum Bound {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener, SocketFile),
}

/// A listening socket.
pub enum Socket {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        /// Removes the socket's name when it is dropped.
        _file: SocketFile,
    },
}

impl Bound {
    pub fn bind(listen: &Listen) -> io::Result<Self> {
        match listen {
            Listen::Tcp(address) => {
                let socket = std::net::TcpListener::bind(address)?;
                socket.set_nonblocking(true)?;
                Ok(Self::Tcp(socket))
            }
            Listen::Unix(path) => {
                let is_served = |p: &Path| std::os::unix::net::UnixStream::connect(p).is_ok();
                let (socket, file) = SocketFile::appear(path, is_served, |p| {
                    std::os::unix::net::UnixListener::bind(p)
                })?;
                socket.set_nonblocking(true)?;
                Ok(Self::Unix(socket, file))
            }
        }
    }

    /// The address, with the port that the system chose.
    pub fn address(&self, listen: &Listen) -> String {
        match self {
            Self::Tcp(socket) => socket.local_addr().map_or(listen.text(), |a| a.to_string()),
            Self::Unix(..) => listen.text(),
        }
    }

    /// Listens; needs a tokio runtime.
    pub fn listen(self) -> io::Result<Socket> {
        match self {
            Self::Tcp(socket) => TcpListener::from_std(socket).map(Socket::Tcp),
            Self::Unix(socket, file) => {
                Ok(Socket::Unix { listener: UnixListener::from_std(socket)?, _file: file })
            }
        }
    }
}

impl Socket {
    pub async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(socket) => {
                let (stream, _) = socket.accept().await?;
                // Samples are small, and watched live.
                let _ = stream.set_nodelay(true);
                Box::new(stream)
            }
            Self::Unix { listener, .. } => Box::new(listener.accept().await?.0),
        })
    }
}
