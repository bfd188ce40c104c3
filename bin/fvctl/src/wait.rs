//! Watching for Ctrl-C while a command runs, without signal handlers: the terminal delivers the
//! key as a byte.

use std::io::{self, Read};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

const CTRL_C: u8 = 3;

/// The terminal with keys delivered at once and without echo, until dropped.
pub struct Keys {
    before: Termios,
}

impl Keys {
    /// Changes the terminal on standard input.
    pub fn watch() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut modes = before.clone();
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        Ok(Self { before })
    }

    /// Waits for the next key.
    pub fn key() -> io::Result<u8> {
        let mut key = [0];
        io::stdin().lock().read_exact(&mut key)?;
        Ok(key[0])
    }

    /// Waits until `socket` has something to read (false) or Ctrl-C is pressed (true).
    pub fn wait(&self, socket: &dyn AsFd) -> io::Result<bool> {
        let stdin = io::stdin();
        loop {
            let mut both = [
                PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
            ];
            match poll(&mut both, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            if !both[1].revents().is_empty() {
                let mut keys = [0; 64];
                let count = stdin.lock().read(&mut keys)?;
                if count == 0 || keys[..count].contains(&CTRL_C) {
                    return Ok(true);
                }
            }
            if !both[0].revents().is_empty() {
                return Ok(false);
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // Nobody could be told that the terminal is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
