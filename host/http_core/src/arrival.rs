//! Arrival of a request in pieces: its header is parsed once the empty line after it has arrived,
//! and the request once all of it has.

use host_stack::Stream;

use crate::request::{self, MOST_HEAD, Outcome, Refused, Request};

/// Bytes that are searched at a time.
const PIECE: usize = 256;

/// How much of a request has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// Bytes that were searched for the empty line.
    searched: usize,
    /// Length of the line end just before them.
    line_end: u8,
    /// Bytes to be received before the request is parsed; 0 until the empty line has been found.
    need: usize,
}

impl Arrival {
    /// Parses the request if all of it has arrived, and passes it to `answer`. One that is in
    /// several pieces is copied to `scratch`.
    pub fn advance<R>(
        &mut self,
        stream: &mut Stream<'_>,
        most_body: usize,
        scratch: &mut [u8],
        answer: impl FnOnce(&Request<'_>) -> R,
    ) -> Outcome<R> {
        let is_new = self.searched == 0;
        if is_new {
            skip_empty_lines(stream);
        }
        self.search(|at, piece| stream.copy(at, piece));
        let readable = stream.readable();
        if self.need == 0 && self.searched >= MOST_HEAD {
            return Outcome::Refused(Refused(431));
        }
        if self.need == 0 || readable < self.need {
            // What cannot be the beginning of a request is refused at once.
            let refused = if is_new { request::refused(stream.peek()) } else { None };
            return refused.map_or(Outcome::Partial(None), Outcome::Refused);
        }
        let len = readable.min(scratch.len());
        let bytes = if stream.peek().len() < len {
            let copied = stream.copy(0, &mut scratch[..len]);
            &scratch[..copied]
        } else {
            &stream.peek()[..len]
        };
        match request::read(bytes, most_body, answer) {
            Outcome::Partial(Some(need)) => {
                self.need = need;
                Outcome::Partial(None)
            }
            Outcome::Partial(None) => Outcome::Refused(Refused(400)),
            outcome => outcome,
        }
    }
    /// Searches new bytes for the empty line; `copy` copies bytes from an offset, and returns how
    /// many there were.
    fn search(&mut self, copy: impl Fn(usize, &mut [u8]) -> usize) {
        let mut piece = [0; PIECE];
        while self.need == 0 && self.searched < MOST_HEAD {
            let len = copy(self.searched, &mut piece);
            if len == 0 {
                return;
            }
            for byte in &piece[..len] {
                self.searched += 1;
                self.line_end = match (byte, self.line_end) {
                    (b'\n', 1..) => {
                        self.need = self.searched;
                        return;
                    }
                    (b'\n', 0) => 1,
                    (b'\r', 1) => 2,
                    _ => 0,
                };
            }
        }
    }
}

/// Discards empty lines before a request (RFC 9112 2.2).
fn skip_empty_lines(stream: &mut Stream<'_>) {
    loop {
        let empty = stream.peek().iter().take_while(|byte| b"\r\n".contains(byte)).count();
        if empty == 0 {
            return;
        }
        stream.consume(empty);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_of_a_header_is_searched_once() {
        let text = format!("GET /{} HTTP/1.1\r\na: b\r\n\r\nbody", "x".repeat(1000));
        let searched = std::cell::Cell::new(0);
        let mut arrival = Arrival::default();
        for end in 1..=text.len() {
            arrival.search(|at, piece| {
                let bytes = &text.as_bytes()[at..end];
                let len = bytes.len().min(piece.len());
                piece[..len].copy_from_slice(&bytes[..len]);
                searched.set(searched.get() + len);
                len
            });
        }
        let head = text.len() - "body".len();
        assert_eq!((arrival.need, arrival.searched, searched.get()), (head, head, head));
    }

    #[test]
    fn an_empty_line_has_any_line_ends() {
        for (text, need) in [
            ("GET /\r\n\r\n", 9),
            ("GET /\n\n", 7),
            ("GET /\n\r\nx", 8),
            ("GET /\r\n\rx\r\n", 0),
            ("GET /\r\na\r\n", 0),
        ] {
            let mut arrival = Arrival::default();
            arrival.search(|at, piece| {
                let bytes = &text.as_bytes()[at..];
                piece[..bytes.len()].copy_from_slice(bytes);
                bytes.len()
            });
            assert_eq!(arrival.need, need, "{text:?}");
        }
    }
}
