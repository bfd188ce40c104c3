//! The terminal while commands run: Ctrl-C is a signal, whatever else is typed or pasted stays
//! where it is for the next prompt.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::SIGINT;
use signal_hook::low_level::pipe;

const CTRL_C: u8 = 3;

/// The terminal on standard input with keys delivered at once, as they are and without echo, until
/// dropped.
pub struct Keys {
    before: Termios,
    /// Socket on which Ctrl-C arrives.
    interrupts: UnixStream,
}

impl Keys {
    /// Changes the terminal and takes SIGINT from now on.
    pub fn take() -> io::Result<Self> {
        let (interrupts, signal) = UnixStream::pair()?;
        interrupts.set_nonblocking(true)?;
        pipe::register(SIGINT, signal)?;
        let before = tcgetattr(io::stdin())?;
        let mut modes = before.clone();
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        modes.local_modes |= LocalModes::ISIG;
        // The editor, whose mode the terminal has in between, knows Enter as it is only.
        modes.input_modes -= InputModes::ICRNL;
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        Ok(Self { before, interrupts })
    }

    /// Forgets that Ctrl-C was pressed. False when it was not.
    pub fn clear(&self) -> bool {
        let (mut bytes, mut came) = ([0; 64], false);
        while (&self.interrupts).read(&mut bytes).is_ok_and(|count| count > 0) {
            came = true;
        }
        came
    }

    /// Waits for the next key, and takes no more than that.
    pub fn key(&self) -> io::Result<u8> {
        if self.wait(&io::stdin())? {
            return Ok(CTRL_C);
        }
        let mut key = [0];
        match rustix::io::read(io::stdin(), &mut key)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(key[0]),
        }
    }

    /// Waits until `source` has something to read (false) or Ctrl-C is pressed (true).
    pub fn wait(&self, source: &dyn AsFd) -> io::Result<bool> {
        loop {
            let mut both = [
                PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.interrupts.as_fd(), PollFlags::IN),
            ];
            match poll(&mut both, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            let has_more = !both[0].revents().is_empty();
            if self.clear() {
                return Ok(true);
            }
            if has_more {
                return Ok(false);
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // The terminal is closed: nowhere to report this.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
