//! Bytes between one client and its [`Dialog`].

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::time::{sleep, timeout};

use super::Server;
use super::dialog::Dialog;

/// Longest wait for a client to name its terminal.
const UNDECIDED: Duration = Duration::from_secs(1);
/// Longest time that a client which sends nothing more may take to read the rest.
const LINGER: Duration = Duration::from_secs(5);

/// One session. Dropping it cancels what is in progress.
pub(super) struct Connection<C: 'static, S> {
    dialog: Dialog<C>,
    reader: ReadHalf<S>,
    writer: WriteHalf<S>,
}

impl<C: 'static, S: AsyncRead + AsyncWrite> Connection<C, S> {
    /// A session that starts in telnet.
    pub fn telnet(server: &Server<C>, stream: S, peer: String, user: &str) -> Self {
        Self::new(Dialog::telnet(server, peer, user), stream)
    }

    /// A session of plain lines with a prompt.
    pub fn lines(server: &Server<C>, stream: S) -> Self {
        Self::new(Dialog::lines(server), stream)
    }

    fn new(dialog: Dialog<C>, stream: S) -> Self {
        let (reader, writer) = split(stream);
        Self { dialog, reader, writer }
    }

    /// Serves the client until either side has had enough.
    pub async fn run(mut self) {
        let mut buffer = vec![0; 8192];
        let undecided = sleep(UNDECIDED);
        tokio::pin!(undecided);
        let killed = self.dialog.killed();
        loop {
            self.dialog.act();
            if self.dialog.is_over() {
                return;
            }
            let dialog = &mut self.dialog;
            let (reads, writes) = (dialog.wants_input(), !dialog.output().is_empty());
            let patience = if dialog.has_ended() { LINGER } else { Duration::MAX };
            tokio::select! {
                read = self.reader.read(&mut buffer), if reads => match read {
                    Ok(0) | Err(_) => self.dialog.end(),
                    Ok(count) => self.dialog.receive(&buffer[..count]),
                },
                sent = timeout(patience, self.writer.write(dialog.output())), if writes => {
                    match sent {
                        Ok(Ok(count)) if count > 0 => self.dialog.sent(count),
                        _ => return,
                    }
                }
                () = dialog.ready(), if dialog.wants_step() => self.dialog.step(),
                () = killed.notified() => self.dialog.close(),
                () = &mut undecided, if dialog.is_undecided() => self.dialog.decide(),
            }
        }
    }
}
