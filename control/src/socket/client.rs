//! Connections of clients to a stream socket. A client can send descriptors with its bytes, though
//! nothing here takes any: the kernel would close them where the bytes are read, or where the
//! connection is closed. So they are received, and closed elsewhere, and such a connection ends.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{UnixListener, UnixStream};

use super::{close_of_others, receive_with_many, refuse_waiting};

/// Size of the buffer for bytes of a closed connection.
const CHUNK: usize = 4 << 10;

/// A listening stream socket. Connections that were not accepted are closed elsewhere when this is
/// dropped.
#[derive(Debug)]
pub struct Accepting(UnixListener);

impl Accepting {
    /// Accepts the connections of a socket that listens.
    pub fn new(listener: UnixListener) -> Self {
        Self(listener)
    }
    /// The next connection.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn accept(&self) -> io::Result<Client> {
        self.0.accept().await.map(|(stream, _)| Client(stream))
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        refuse_waiting(&self.0);
    }
}

/// The connection of a client.
#[derive(Debug)]
pub struct Client(UnixStream);

impl Client {
    /// Process and user of the client, as far as they are known.
    pub fn process_and_user(&self) -> (Option<i32>, Option<u32>) {
        let peer = self.0.peer_cred().ok();
        (peer.and_then(|peer| peer.pid()), peer.map(|peer| peer.uid()))
    }
    /// Reads bytes that have arrived; 0 at the end.
    ///
    /// # Errors
    /// `WouldBlock` when there are none, `InvalidData` when descriptors came with them, or the
    /// kernel's.
    pub fn try_read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.try_io(Interest::READABLE, || receive(&self.0, bytes))
    }
    /// Writes as many bytes as there is room for.
    ///
    /// # Errors
    /// `WouldBlock` when there is none, or the kernel's.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }
    /// Waits until it can be read or written.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.0.ready(interest).await
    }
}

fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<usize> {
    let mut descriptors = Vec::new();
    let read = receive_with_many(socket, bytes, &mut descriptors);
    if descriptors.is_empty() {
        return Ok(read?);
    }
    close_of_others(descriptors);
    Err(io::Error::new(io::ErrorKind::InvalidData, "descriptors are not accepted"))
}

impl Drop for Client {
    fn drop(&mut self) {
        // Nothing more comes, so what is received now is all that is in the queue.
        if shutdown(&self.0, Shutdown::Both).is_err() {
            return;
        }
        let mut descriptors = Vec::new();
        let mut bytes = [0; CHUNK];
        while receive_with_many(&self.0, &mut bytes, &mut descriptors).is_ok_and(|len| len > 0) {}
        if !descriptors.is_empty() {
            close_of_others(descriptors);
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsyncRead for Client {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.try_read(buf.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => {
                    buf.advance(read?);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for Client {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream as StdStream;
    use std::time::{Duration, Instant};

    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::socket::send_with;

    /// A connection with unread bytes: closing its last descriptor takes the given time.
    fn slow(linger: Duration) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let theirs = listener.accept().unwrap().0;
        rustix::net::sockopt::set_socket_linger(&ours, Some(linger)).unwrap();
        ours.set_nonblocking(true).unwrap();
        while io::Write::write(&mut &ours, &[0; 1 << 16]).is_ok() {}
        ours.set_nonblocking(false).unwrap();
        (ours, theirs)
    }

    /// The time that closing what a client sent takes here, of a read or else of a drop.
    fn time_to_close(reads: bool) -> Duration {
        let (there, here) = StdStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let (sent, _peer) = slow(Duration::from_secs(60));
        send_with(&there, b"x", &sent).unwrap();
        drop(sent);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = Client(UnixStream::from_std(here).unwrap());
            let begin = Instant::now();
            if reads {
                let read = client.read(&mut [0; 8]).await;
                assert_eq!(read.map_err(|e| e.kind()), Err(io::ErrorKind::InvalidData));
            }
            drop(client);
            begin.elapsed()
        })
    }

    #[test]
    fn descriptors_that_take_long_to_close_keep_nobody() {
        // Closing takes a minute here.
        for reads in [true, false] {
            let took = time_to_close(reads);
            assert!(took < Duration::from_secs(30), "{took:?} with reads: {reads}");
        }
    }
}
