//! Requests and answers of clients that speak frames.

use super::super::frame::{Answer, Request};
use super::{Dialog, Form};
use crate::cli::{Candidate, Output};

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
                let words = self.candidates(&line).into_iter().map(pair).collect();
                self.answer(number, &Answer::Candidates { words });
            }
            Request::Cancel => {}
        }
    }

    pub(super) fn answer(&mut self, number: u32, answer: &Answer) {
        self.out.bytes.extend(answer.encode(number));
    }
}

/// Whether a frame is a request to stop the command in progress.
pub(super) fn is_cancel(frame: &[u8]) -> bool {
    matches!(Request::decode(frame), Some((_, Request::Cancel)))
}
