//! The ways in which the two sides of a session talk.

/// Dialect of client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Undecided,
    /// The original's client: no prompt, no echo, NUL after each command.
    Plain,
    /// A person at a terminal that leaves echo and editing to us.
    Terminal,
    /// A person at a terminal that echoes and edits itself.
    Lines,
    /// Frames of option 203.
    Framed,
}

impl Dialect {
    /// Name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Undecided => "",
            Self::Plain => "plain",
            Self::Terminal => "terminal",
            Self::Lines => "lines",
            Self::Framed => "framed",
        }
    }
}
