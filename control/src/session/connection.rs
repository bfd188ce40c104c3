//! Bytes between one client and its [`Dialog`].

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

use super::Server;
use super::dialog::Dialog;
use crate::turn::Turn;

/// Longest wait for a client to name its terminal.
const UNDECIDED: Duration = Duration::from_secs(1);
/// Longest time that a client which sends nothing more may take to read the rest.
const LINGER: Duration = Duration::from_secs(5);

/// One session. Dropping it cancels what is in progress.
pub(super) struct Connection<C: 'static, S> {
    dialog: Dialog<C>,
    reader: ReadHalf<S>,
    writer: WriteHalf<S>,
    turn: Turn,
}

/// Event that a session waits for.
enum Event {
    /// So many bytes have come.
    Read(io::Result<usize>),
    /// So many are sent; `None` when the client takes none.
    Sent(Option<usize>),
    /// The command in progress may go on.
    Step,
    /// Others have had their turn.
    Turn,
    /// Another session ends this one.
    Killed,
    /// The client does not identify itself.
    Undecided,
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
        Self { dialog, reader, writer, turn: Turn::new() }
    }

    /// Serves the client until either side has had enough.
    pub async fn run(mut self) {
        let mut buffer = vec![0; 8192];
        let undecided = sleep(UNDECIDED);
        tokio::pin!(undecided);
        let killed = self.dialog.killed();
        loop {
            let Self { dialog, reader, writer, turn } = &mut self;
            dialog.act(turn);
            if dialog.is_over() {
                return;
            }
            let (reads, writes) = (dialog.wants_input(), !dialog.output().is_empty());
            let patience = if dialog.has_ended() { LINGER } else { Duration::MAX };
            let event = async {
                tokio::select! {
                    read = reader.read(&mut buffer), if reads => Event::Read(read),
                    sent = timeout(patience, writer.write(dialog.output())), if writes =>
                        Event::Sent(sent.ok().and_then(Result::ok)),
                    () = dialog.ready(), if dialog.wants_step() => Event::Step,
                    () = yield_now(), if dialog.wants_turn() => Event::Turn,
                    () = killed.notified() => Event::Killed,
                    () = &mut undecided, if dialog.is_undecided() => Event::Undecided,
                }
            };
            match turn.wait(event).await {
                Event::Read(Ok(0) | Err(_)) => dialog.end(),
                Event::Read(Ok(count)) => dialog.receive(&buffer[..count], turn),
                Event::Sent(None | Some(0)) => return,
                Event::Sent(Some(count)) => dialog.sent(count),
                Event::Step => dialog.step(),
                Event::Turn => {}
                Event::Killed => dialog.close(),
                Event::Undecided => dialog.decide(),
            }
        }
    }
}
