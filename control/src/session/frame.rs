//! Commands and answers of the framed dialect.
//!
//! A frame is the contents of a subnegotiation of option 203, with byte 255 doubled: kind (u8),
//! request number (u32, network order), then the rest by kind. Text is UTF-8. Numbers are the
//! client's; every [`Request`] but `Cancel` is answered by one closing [`Answer`] with its number.

use super::telnet::{FRAMES, IAC, SB, SE};
use crate::cli::SessionRequest;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Kind 1 (text) or 2 (JSON): run a command.
    Run {
        /// The answer's form.
        json: bool,
        /// The command.
        text: String,
    },
    /// Kind 3: what may stand where this line ends?
    Complete {
        /// The line up to the cursor.
        line: String,
    },
    /// Kind 4: stop the command in progress.
    Cancel,
}

/// An answer of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Kind 128, with number 0, once: the prompt for interactive use.
    Hello {
        /// With its blank.
        prompt: String,
    },
    /// Kind 129: some of a command's output, or all of it as one JSON value.
    Output {
        /// In the form that was asked for.
        text: String,
    },
    /// Kind 130: the command has ended; an i32 in network order, then the error's text.
    Done {
        /// 0, or the error's negative number.
        code: i32,
        /// Empty unless it failed.
        error: String,
    },
    /// Kind 131: lines of `word TAB help`.
    Candidates {
        /// Words and what they mean.
        words: Vec<(String, String)>,
    },
    /// Kind 132, before `Done`: the session ends after this command.
    Bye,
    /// Kind 133, before `Done`: what the command asks of the client, which has the terminal.
    SessionRequest {
        /// As [`SessionRequest`] prints itself.
        session_request: SessionRequest,
    },
}

impl Request {
    /// The bytes to send.
    pub fn encode(&self, number: u32) -> Vec<u8> {
        match self {
            Self::Run { json: false, text } => wrap(1, number, text.as_bytes()),
            Self::Run { json: true, text } => wrap(2, number, text.as_bytes()),
            Self::Complete { line } => wrap(3, number, line.as_bytes()),
            Self::Cancel => wrap(4, number, &[]),
        }
    }

    /// Reads a frame; `None` if it makes no sense.
    pub fn decode(frame: &[u8]) -> Option<(u32, Self)> {
        let (kind, number, rest) = unwrap(frame)?;
        let text = || String::from_utf8(rest.to_vec()).ok();
        let request = match kind {
            1 => Self::Run { json: false, text: text()? },
            2 => Self::Run { json: true, text: text()? },
            3 => Self::Complete { line: text()? },
            4 => Self::Cancel,
            _ => return None,
        };
        Some((number, request))
    }
}

impl Answer {
    /// The bytes to send.
    pub fn encode(&self, number: u32) -> Vec<u8> {
        match self {
            Self::Hello { prompt } => wrap(128, number, prompt.as_bytes()),
            Self::Output { text } => wrap(129, number, text.as_bytes()),
            Self::Done { code, error } => {
                wrap(130, number, &[&code.to_be_bytes(), error.as_bytes()].concat())
            }
            Self::Candidates { words } => {
                let lines: Vec<_> = words.iter().map(|(w, h)| format!("{w}\t{h}\n")).collect();
                wrap(131, number, lines.concat().as_bytes())
            }
            Self::Bye => wrap(132, number, &[]),
            Self::SessionRequest { session_request } => {
                wrap(133, number, session_request.to_string().as_bytes())
            }
        }
    }

    /// Reads a frame; `None` if it makes no sense.
    pub fn decode(frame: &[u8]) -> Option<(u32, Self)> {
        let (kind, number, rest) = unwrap(frame)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let answer = match kind {
            128 => Self::Hello { prompt: text(rest)? },
            129 => Self::Output { text: text(rest)? },
            130 => {
                let (code, error) = rest.split_first_chunk()?;
                Self::Done { code: i32::from_be_bytes(*code), error: text(error)? }
            }
            131 => {
                let text = text(rest)?;
                let words = text.lines().filter_map(|line| line.split_once('\t'));
                let words = words.map(|(word, help)| (word.to_owned(), help.to_owned())).collect();
                Self::Candidates { words }
            }
            132 => Self::Bye,
            133 => Self::SessionRequest { session_request: text(rest)?.parse().ok()? },
            _ => return None,
        };
        Some((number, answer))
    }
}

fn wrap(kind: u8, number: u32, rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rest.len() + 10);
    bytes.extend([IAC, SB, FRAMES, kind]);
    for byte in number.to_be_bytes().iter().chain(rest) {
        bytes.push(*byte);
        if *byte == IAC {
            bytes.push(IAC);
        }
    }
    bytes.extend([IAC, SE]);
    bytes
}

fn unwrap(frame: &[u8]) -> Option<(u8, u32, &[u8])> {
    let (kind, rest) = frame.split_first()?;
    let (number, rest) = rest.split_first_chunk()?;
    Some((*kind, u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::telnet::{Decoder, Event};
    use super::*;

    fn sent(bytes: &[u8]) -> Vec<u8> {
        let mut decoder = Decoder::default();
        let mut events: Vec<_> = bytes.iter().filter_map(|b| decoder.byte(*b)).collect();
        assert_eq!(events.len(), 1);
        let Some(Event::Frame(frame)) = events.pop() else { panic!("not a frame") };
        frame
    }

    proptest! {
        #[test]
        fn requests_survive_the_wire(number: u32, json: bool, text: String) {
            for request in [
                Request::Run { json, text: text.clone() },
                Request::Complete { line: text },
                Request::Cancel,
            ] {
                let frame = sent(&request.encode(number));
                prop_assert_eq!(Request::decode(&frame), Some((number, request)));
            }
        }

        #[test]
        fn answers_survive_the_wire(number: u32, code: i32, text: String, word in "[a-z]{1,9}") {
            let asks = |session_request| Answer::SessionRequest { session_request };
            for answer in [
                Answer::Hello { prompt: text.clone() },
                Answer::Output { text: text.clone() },
                Answer::Done { code, error: text },
                Answer::Candidates { words: vec![(word.clone(), word)] },
                Answer::Bye,
                asks(SessionRequest::History),
                asks(SessionRequest::Terminal),
                asks(SessionRequest::KeepHistory(number as usize)),
                asks(SessionRequest::Ansi(code > 0)),
                asks(SessionRequest::Pager(code > 0)),
            ] {
                let frame = sent(&answer.encode(number));
                prop_assert_eq!(Answer::decode(&frame), Some((number, answer)));
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (Request::decode(&bytes), Answer::decode(&bytes));
        }
    }
}
