//! The socket at which clients get the segment: who connects is sent its descriptor in a packet
//! without data, and that is all.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use tokio::net::UnixListener;

use crate::socket::{Accepting, SocketFile, receive_with, send_with};

/// Connections that wait to be accepted, as far as the kernel allows it (`somaxconn`): who connects
/// without blocking is refused at once when there are more.
const BACKLOG: i32 = 4096;

/// The listening socket.
#[derive(Debug)]
pub struct Server {
    /// A socket of sequenced packets; its type is that of streams, as accepting is the same.
    socket: Accepting,
    _file: SocketFile,
}

impl Server {
    /// Listens at `path`; needs a tokio runtime.
    ///
    /// # Errors
    /// The kernel's; `AddrInUse` if it is being served.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let is_served = |path: &Path| seqpacket_to(path).is_ok();
        let (socket, file) = SocketFile::appear(path, is_served, |path| {
            let socket = seqpacket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
            bind(&socket, &SocketAddrUnix::new(path)?)?;
            listen(&socket, BACKLOG)?;
            Ok(socket)
        })?;
        let socket = Accepting::new(UnixListener::from_std(socket.into())?);
        Ok(Self { socket, _file: file })
    }
    /// Gives `segment` to each connection.
    ///
    /// # Errors
    /// The kernel's, when the socket fails.
    pub async fn serve(self, segment: OwnedFd) -> io::Result<()> {
        loop {
            match self.socket.accept().await {
                // A disconnected client needs nothing.
                Ok(client) => drop(send_with(&client, &[], &segment)),
                // The client has disconnected, or no descriptor is free.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

/// Gets the descriptor of the segment from the router that serves `path`.
///
/// # Errors
/// The kernel's, and `UnexpectedEof` when it sends none.
pub fn fetch(path: &Path) -> io::Result<OwnedFd> {
    let socket = seqpacket_to(path)?;
    let (_, descriptor) = receive_with(&socket, &mut [])?;
    descriptor.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn seqpacket(flags: SocketFlags) -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

fn seqpacket_to(path: &Path) -> io::Result<OwnedFd> {
    let socket = seqpacket(SocketFlags::CLOEXEC)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reader::Reader;
    use crate::stats::{Columns, Segment};

    #[tokio::test]
    async fn clients_get_the_segment_and_the_socket_goes_with_its_owner() {
        let path = std::env::temp_dir().join(format!("stats-{}.sock", std::process::id()));
        let mut segment = Segment::new(1, None).unwrap();
        let rows = segment.simple("/a", Columns::fixed(2)).unwrap();
        let server = Server::bind(&path).unwrap();
        assert!(Server::bind(&path).is_err(), "it is served");
        let serving = tokio::spawn(server.serve(segment.readable().unwrap()));
        let fetched = |path| tokio::task::spawn_blocking(move || fetch(path).unwrap());
        for _ in 0..50 {
            let kept: &'static Path = Box::leak(path.clone().into_boxed_path());
            let reader = Reader::new(fetched(kept).await.unwrap()).unwrap();
            rows.row(0)[1].add(1);
            let counted = rows.row(0)[1].value();
            assert_eq!(reader.read("/a").unwrap().unwrap().sum(1), counted);
        }
        serving.abort();
        let _ = serving.await;
        assert!(!path.exists());
    }
}
