//! Requests and answers of clients that speak frames.

use super::super::frame::{Answer, Request};
use super::super::telnet::LONGEST;
use super::{Dialog, Form};
use crate::cli::{Candidate, Error, Output};

/// Bytes of a text in a frame at most: receivers pass over frames longer than [`LONGEST`].
const PIECE: usize = 256 << 10;
const _: () = assert!(PIECE < LONGEST);

impl<C: 'static> Dialog<C> {
    pub(super) fn request(&mut self, frame: &[u8]) {
        let Some((number, request)) = Request::decode(frame) else { return };
        match request {
            Request::Run { json, text } => {
                let first = text.split_whitespace().next();
                let shows = first.is_some_and(|first| "show".starts_with(first));
                let form = match json {
                    true => Form::Json(number, Output::none(), shows),
                    false => Form::Text(number),
                };
                self.start(&text, form);
            }
            Request::Complete { line } => {
                let pair = |candidate: Candidate| (candidate.word, candidate.help);
                let mut room = PIECE;
                let has_room = |(word, help): &(String, String)| {
                    room = room.saturating_sub(word.len() + help.len() + 2);
                    room > 0
                };
                let words = self.candidates(&line).into_iter().map(pair).take_while(has_room);
                let words = words.collect();
                self.answer(number, &Answer::Candidates { words });
            }
            Request::Cancel => {}
        }
    }

    pub(super) fn answer(&mut self, number: u32, answer: &Answer) {
        self.out.bytes.extend(answer.encode(number));
    }

    /// Sends a command's output, in as many frames as it takes.
    pub(super) fn answer_output(&mut self, number: u32, text: &str) {
        let mut rest = text;
        while rest.len() > PIECE {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
            self.answer(number, &Answer::Output { text: piece.to_owned() });
            rest = behind;
        }
        self.answer(number, &Answer::Output { text: rest.to_owned() });
    }

    /// Says that a command has ended; an error that repeats a long command is cut.
    pub(super) fn answer_done(&mut self, number: u32, result: Result<(), Error>) {
        let (code, mut error) = match result {
            Ok(()) => (0, String::new()),
            Err(e) => (e.code(), e.marked()),
        };
        if error.len() > PIECE {
            error.truncate(error.floor_char_boundary(PIECE));
            error.push_str("...");
        }
        self.answer(number, &Answer::Done { code, error });
    }
}

/// Whether a frame is a request to stop the command in progress.
pub(super) fn is_cancel(frame: &[u8]) -> bool {
    matches!(Request::decode(frame), Some((_, Request::Cancel)))
}
